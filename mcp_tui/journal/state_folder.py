"""The state folder, for files that mcp-tui creates automatically: journals, running tasks, the layout of the screen.

This module imports nothing from the journal, because the workbench loads it before its first frame.
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
"""A part of the names of mcp-tui's unfinished files, which distinguishes them from those of other programs."""


def state_folder() -> Path:
    """Returns ``$MCP_TUI_STATE``, or mcp-tui's folder in the system's state folder (``~/.local/state/mcp-tui``)."""
    named = os.environ.get("MCP_TUI_STATE")
    if named:
        return Path(named).expanduser()
    # Imported here, because it is not needed if the environment names the folder.
    from platformdirs import user_state_path

    return user_state_path("mcp-tui", appauthor=False)


def open_without_waiting(name: str, flags: int) -> int:
    """Opens a file without waiting for the other end if it is a pipe; for the argument ``opener`` of ``open()``."""
    return os.open(name, flags | os.O_NONBLOCK)


def make_folders(folder: Path) -> None:
    """Creates a folder and its missing parents, each for its owner only, regardless of the umask."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
        each.chmod(0o700)
        sync_folder(each.parent)


def sync_folder(folder: Path) -> None:
    """Writes the entries of a folder to the disk, if its file system supports that."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def is_alone(file: int) -> bool:
    """Locks an open file; returns false if another process has the lock. Closing the file releases the lock.

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

    After a crash of the machine, the file has either the old or the new content; once this function has returned, the new
    one. Without ``durable``, the content may be lost in a crash. ``like`` is the status of the replaced file, whose mode
    and owner the new file gets. Unfinished files of killed processes in the folder are removed first.

    Raises:
        OSError: the file cannot be written.
    """
    make_folders(path.parent)
    remove_unfinished(path.parent)
    number, name = _unfinished(path)
    try:
        # Renamed before it is closed, because the lock shows other processes that the file is being written.
        with os.fdopen(number, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
            now = os.fstat(number)
            if like is not None and (like.st_uid, like.st_gid) != (now.st_uid, now.st_gid):
                os.fchown(number, like.st_uid, like.st_gid)
            # Set explicitly, in case the umask denies access even to the owner.
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
    """Removes unfinished files of killed processes in a folder, but none that is being written; returns the number."""
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
    """Creates and locks a temporary file that will replace ``path``; returns its descriptor and its path."""
    import tempfile  # slow to import, and most commands do not need it

    while True:
        # mkstemp() creates the file with mode 0600.
        number, name = tempfile.mkstemp(prefix=f".{path.name}{_UNFINISHED}", dir=path.parent)
        with suppress(OSError):  # some file systems have no locks
            is_alone(number)
        if os.fstat(number).st_nlink:
            return number, name
        os.close(number)  # another process removed the file as unfinished, before it was locked
