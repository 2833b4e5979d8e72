"""The state folder, for files that mcp-tui creates on its own: journals, running tasks, the layout of the screen.

The first frame of the workbench waits for this module, so it imports nothing from the journal.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

_UNFINISHED: Final = ".mcp-tui-"
"""What stands in the names of our unfinished files: other programs have such files in the same folders."""


def state_folder() -> Path:
    """Returns ``$MCP_TUI_STATE``, or the system's folder for state (``~/.local/state/mcp-tui``)."""
    named = os.environ.get("MCP_TUI_STATE")
    if named:
        return Path(named).expanduser()
    # Not where the environment names the folder.
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
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Writes the names in a folder to the disk, if its file system can do that."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def is_alone(file: int) -> bool:
    """Takes the lock of an open file; returns false if another process has it. It is released when the file is closed.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user of this process."""
    return status.st_uid == os.getuid()


def replace_file(
    path: Path, content: str | bytes, *, like: os.stat_result | None = None, durable: bool = True
) -> None:
    """Replaces a file atomically; only its owner can read it (0600, in folders of 0700).

    After a crash of the machine it is the old file or the new one, and the new one once this has returned. With ``durable``
    false it may be lost then. ``like`` is the file that it replaces, whose mode and owner it keeps.

    The unfinished files that killed processes left in its folder are removed first.

    Raises:
        OSError: it cannot be written.
    """
    make_folders(path.parent)
    remove_unfinished(path.parent)
    number, name = _unfinished(path)
    try:
        # Renamed before it is closed: until then its lock says that it is being written.
        with os.fdopen(number, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            now = os.fstat(number)
            if like is not None and (like.st_uid, like.st_gid) != (now.st_uid, now.st_gid):
                os.fchown(number, like.st_uid, like.st_gid)
            # set, in case the umask denies even the owner
            os.fchmod(number, 0o600 if like is None else stat.S_IMODE(like.st_mode))
            stream.flush()
            if durable:
                os.fsync(number)
            Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    if durable:
        sync_folder(path.parent)


def remove_unfinished(folder: Path) -> int:
    """Removes the unfinished files that killed processes left in a folder, none that is being written; returns how many."""
    name = re.compile(rf"\..+{re.escape(_UNFINISHED)}[a-z0-9_]{{8}}", re.DOTALL)
    removed = 0
    with suppress(OSError), os.scandir(folder) as entries:
        for path in [each.path for each in entries if name.fullmatch(each.name)]:
            with suppress(OSError):
                number = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    status = os.fstat(number)
                    if stat.S_ISREG(status.st_mode) and is_ours(status) and is_alone(number):
                        Path(path).unlink()
                        removed += 1
                finally:
                    os.close(number)
    return removed


def _unfinished(path: Path) -> tuple[int, str]:
    """Creates the file that is to replace another, with a lock; returns its descriptor and its path."""
    import tempfile  # slow to import, and most commands do not need it

    while True:
        # 0600 from the start
        number, name = tempfile.mkstemp(prefix=f".{path.name}{_UNFINISHED}", dir=path.parent)
        with suppress(OSError):  # some file systems have no locks
            is_alone(number)
        if os.fstat(number).st_nlink:
            return number, name
        os.close(number)  # another process took it for a killed one's, before it had its lock
