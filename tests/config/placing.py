"""Files of the corpus, put where a tool would keep them. There ``dot-`` stands for the dot of a hidden name."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mcp_tui.config.sources import Surroundings

CORPUS = Path(__file__).parent / "corpus"
TOOLS = sorted(folder.name for folder in CORPUS.iterdir() if folder.name != "broken")


def place(source: Path, target: Path, **instead: Path) -> None:
    """Copy a folder of the corpus; ``@NAME@`` in its files becomes a path."""
    for file in source.rglob("*"):
        if not file.is_file():
            continue
        parts = [part.replace("dot-", ".", 1) for part in file.relative_to(source).parts]
        to = target.joinpath(*parts)
        to.parent.mkdir(parents=True, exist_ok=True)
        raw = file.read_bytes()
        for name, path in instead.items():
            raw = raw.replace(f"@{name}@".encode(), str(path).encode())
        to.write_bytes(raw)


def marking(mark: Path, *more: str) -> dict[str, Any]:
    """The definition of a server that creates a file when it is started."""
    code = f"import pathlib, runpy; pathlib.Path({str(mark)!r}).touch(); "
    code += "runpy.run_module('mcp_tui.demo', run_name='__main__')"
    return {"command": sys.executable, "args": ["-c", code, *more]}


def surroundings(
    home: Path, cwd: Path, env: dict[str, str] | None = None, platform: str = "linux"
) -> Surroundings:
    """A machine of its own."""
    known = {"XDG_CONFIG_HOME": str(home / "config"), "PATH": "/usr/bin:/bin"}
    known["GEMINI_CLI_SYSTEM_SETTINGS_PATH"] = str(home / "no-system")
    return Surroundings(known | (env or {}), home, cwd, platform)
