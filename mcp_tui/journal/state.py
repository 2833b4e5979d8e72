"""Where mcp-tui keeps what it makes by itself: journals, tasks that go on, how the screen looked."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """``$MCP_TUI_STATE``, or the folder for state that the system prescribes (``~/.local/state/mcp-tui``)."""
    named = os.environ.get("MCP_TUI_STATE")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_state_path

    return user_state_path("mcp-tui", appauthor=False)


def make_folders(folder: Path) -> None:
    """Make a folder and those above it that are missing, each for its owner only, whatever the umask."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
        each.chmod(0o700)
