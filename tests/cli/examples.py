"""The examples of help and man page, as a test runs them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Final

from tests.cli.running import MCP_TUI

_SERVER: Final = "import sys\nfrom mcp_tui.cli import main\nsys.exit(main(['demo']))\n"


def words_of(line: str, url: str = "", session: str = "") -> list[str]:
    """Returns the words of an example after ``mcp-tui``, with a Python, a URL, and a session that are here."""
    ours = " ".join(map(shlex.quote, MCP_TUI))
    line = line.replace("-- mcp-tui", f"-- {ours}").replace(
        "-- python ", f"-- {shlex.quote(sys.executable)} "
    )
    for text, here in (("http://127.0.0.1:3001/mcp", url), ("https://host/mcp", url), ("7bc6", session)):
        line = line.replace(text, here)
    return shlex.split(line)[1:]


def write_server(folder: Path) -> None:
    """Writes ``server.py``, which the examples start."""
    (folder / "server.py").write_text(_SERVER)
