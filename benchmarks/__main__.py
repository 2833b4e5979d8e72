"""Run every measurement, or those named: ``python -m benchmarks [table stdio_roundtrip …]``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run each in a process of its own, so that none warms another up; the first failure ends it."""
    here = Path(__file__).parent
    known = sorted(path.stem for path in here.glob("*.py") if not path.stem.startswith("_"))
    wanted = sys.argv[1:] or known
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"no measurement {unknown[0]!r}: there are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in wanted:
        print(f"-- {name}", flush=True)
        done = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], cwd=here.parent, check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
