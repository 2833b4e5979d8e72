"""The state folder, for files that mcp-tui creates on its own: journals, running tasks, the layout of the screen.

The first frame of the workbench waits for this module, so it imports nothing from the journal.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def state_folder() -> Path:
    """Returns ``$MCP_TUI_STATE``, or the system's folder for state (``~/.local/state/mcp-tui``)."""
    named = os.environ.get("MCP_TUI_STATE")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_state_path

    return user_state_path("mcp-tui", appauthor=False)


def open_without_waiting(name: str, flags: int) -> int:
    """Opens a file, without waiting for the process at the other end if it is a pipe; an ``opener``."""
    return os.open(name, flags | os.O_NONBLOCK)


def make_folders(folder: Path) -> None:
    """Creates a folder and its missing parents, each for its owner only, whatever the umask."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
        each.chmod(0o700)


def replace_file(path: Path, content: str | bytes, *, like: os.stat_result | None = None) -> None:
    """Replaces a file atomically; only its owner can read it (0600, in folders of 0700).

    ``like`` is the file that it replaces, whose mode and owner it keeps.

    Raises:
        OSError: it cannot be written.
    """
    import tempfile  # slow to import, and most commands do not need it

    make_folders(path.parent)
    number, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # 0600 from the start
    try:
        with os.fdopen(number, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            now = os.fstat(number)
            if like is not None and (like.st_uid, like.st_gid) != (now.st_uid, now.st_gid):
                os.fchown(number, like.st_uid, like.st_gid)
            # set, in case the umask denies even the owner
            os.fchmod(number, 0o600 if like is None else stat.S_IMODE(like.st_mode))
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
