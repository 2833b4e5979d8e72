"""``make run`` on a new machine: ``python -m benchmarks.fresh [pip]``, with uv where it is not ``pip``.

The last commit is cloned, and run with an empty home in a terminal. Printed as JSON are the seconds until the first words,
and until the first frame of the workbench. Packages come from the network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.beside import Terminal

PATIENCE = 240.0


def measured(*, uv: bool) -> dict[str, float]:
    """Returns the figures."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        clone, programs, home = (Path(folder, name) for name in ("clone", "bin", "home"))
        subprocess.run(["git", "clone", "--quiet", str(Path(__file__).parents[1]), str(clone)], check=True)
        programs.mkdir()
        home.mkdir()
        path = os.environ["PATH"].split(os.pathsep)
        if uv:
            found = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
            (programs / "uv").symlink_to(found)
            path.insert(0, str(programs))
        else:
            path = [each for each in path if not Path(each, "uv").exists()]
        os.environ["PATH"] = os.pathsep.join(path)
        for name in ("VIRTUAL_ENV", "UV_CACHE_DIR", "PIP_CACHE_DIR", "MAKEFLAGS", "MAKELEVEL"):
            os.environ.pop(name, None)
        began = time.monotonic()
        shown = Terminal([shutil.which("make") or "make", "-C", str(clone), "run"], str(home))
        shown.until("Making" if uv else "Looking", PATIENCE)
        words = time.monotonic() - began
        shown.until("Requests", PATIENCE)
        frame = time.monotonic() - began
        shown.press("q")
        shown.quiet(2.0)
        shown.end()
    return {"words": words, "frame": frame}


if __name__ == "__main__":
    print(json.dumps(measured(uv="pip" not in sys.argv)))
