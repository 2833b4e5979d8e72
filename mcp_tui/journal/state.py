"""Where mcp-tui keeps what it makes by itself: journals, tasks that go on, how the screen looked.

The first frame of the workbench waits for this module, so it imports nothing of the journal.
"""

from __future__ import annotations

import os
from contextlib import suppress
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


def replace_file(path: Path, text: str) -> None:
    """Put ``text`` in place of a file, whole or not at all, readable by its owner only (0600, in folders of 0700).

    Raises:
        OSError: it cannot be written.
    """
    import tempfile  # it loads more than most commands need

    make_folders(path.parent)
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # 0600 from the start
    try:
        with os.fdopen(number, "w", encoding="utf-8") as stream:
            os.fchmod(number, 0o600)  # where the umask leaves not even its owner anything
            stream.write(text)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
