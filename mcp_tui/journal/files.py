"""Files that mcp-tui makes by itself, each for its owner only; the parts of a journal; and who still writes one.

A journal that outgrew one file has parts: ``NAME.jsonl`` is followed by ``NAME.2.jsonl``, ``NAME.3.jsonl`` and so on.
Each begins with the header of the session and its own number in it (``"part":2``), so that each can be read alone and none
is taken for another session's.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import stat
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mcp_tui.journal.records import RecordingError, read_record, why
from mcp_tui.journal.state import make_folders
from mcp_tui.protocol.messages import Json

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_HEAD: Final = 65_536
"""Bytes at the beginning of a part within which its header ends."""


def part_path(path: Path, number: int) -> Path:
    """The path of a part; the first is ``path`` itself."""
    return path if number == 1 else path.with_name(f"{path.stem}.{number}{path.suffix}")


def part_header(line: bytes, number: int) -> bytes:
    """The header of a part, made of the session's."""
    return line if number == 1 else b'%s,"part":%d}\n' % (line.rstrip()[:-1], number)


def parts_of(path: Path) -> list[Path]:
    """The parts of the session that begins at ``path``, in order: what is only named like a part is none."""
    parts, session = [path], _session(path)[0]
    while session:
        number = len(parts) + 1
        part = part_path(path, number)
        if _session(part) != (session, number):
            break
        parts.append(part)
    return parts


def _session(path: Path) -> tuple[object, object]:
    """The session's id and the part's number, as the first line has them."""
    header: dict[str, Json] = {}
    with suppress(OSError):
        header = read_record(read_start(path, _HEAD).partition(b"\n")[0]) or {}
    return header.get("id"), header.get("part", 1)


_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def read_start(path: Path, size: int) -> bytes:
    """The first bytes of a file, at most ``size``. A symbolic link is not followed.

    Raises:
        OSError: it cannot be read.
    """
    with os.fdopen(os.open(path, _FLAGS), "rb") as file:
        return file.read(size) or b""  # nothing is there yet where it is no regular file


# -- read as one -----------------------------------------------------------------------------------------------


def open_parts(path: Path) -> io.BufferedReader:
    """Open a recording for reading, all its parts as if they were one file.

    Raises:
        OSError: a part cannot be opened.
    """
    paths = parts_of(path)
    if len(paths) == 1:
        return io.BufferedReader(_regular(path))
    return io.BufferedReader(_Joined(paths), 1 << 18)


def _regular(path: Path) -> io.FileIO:
    """Open a regular file: what is read twice is no pipe, and opening one would wait for whoever writes to it."""

    def opener(name: str, flags: int) -> int:
        return os.open(name, flags | os.O_NONBLOCK)

    file = io.FileIO(path, opener=opener)
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "not a regular file, copy it to one first")


class _Joined(io.RawIOBase):
    """Files in a row. What is appended to the last one is seen; the others are finished."""

    def __init__(self, paths: Sequence[Path]) -> None:
        super().__init__()
        self._files: list[io.FileIO] = []
        self._starts: list[int] = []
        self._at = 0
        start = 0
        try:
            for path in paths:
                self._files.append(_regular(path))
                self._starts.append(start)
                start += os.fstat(self._files[-1].fileno()).st_size
        except OSError:
            self.close()
            raise

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_CUR:
            offset += self._at
        elif whence == os.SEEK_END:
            offset += self._starts[-1] + os.fstat(self._files[-1].fileno()).st_size
        self._at = max(0, offset)
        return self._at

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        index = bisect_right(self._starts, self._at) - 1
        while True:
            file, start = self._files[index], self._starts[index]
            file.seek(self._at - start)
            count = file.readinto(buffer) or 0
            self._at += count
            if count or index + 1 == len(self._files):
                return count
            index += 1

    def close(self) -> None:
        for file in self._files:
            file.close()
        super().close()


# -- who writes ------------------------------------------------------------------------------------------------


def hold(file: int) -> None:
    """Say, as long as ``file`` is open, that it is being written. The system takes that back when the process ends."""
    with suppress(OSError):  # some file systems have no locks
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)  # somebody else's lock is no reason to wait


def is_others(file: int) -> bool:
    """Whether somebody else holds ``file``, which is open and not held yet. A lock that shuts everybody out is no hold."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


def is_held(path: Path) -> bool | None:
    """Whether a living process writes there; ``None`` where the file system cannot say."""
    try:
        file = os.open(path, _FLAGS)
    except OSError:
        return None
    try:
        return not is_alone(file)
    except OSError:
        return None
    finally:
        os.close(file)


def is_alone(file: int) -> bool:
    """Whether nobody else has the lock of an open file, which is ours then until it is closed.

    Raises:
        OSError: the file system has no locks.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# -- ours alone ------------------------------------------------------------------------------------------------


def make_private(folder: Path) -> None:
    """Make a folder and its parents, each new one for its owner only, whatever the umask; the last one always so."""
    try:
        make_folders(folder)
        status = folder.stat()
        if not is_ours(status):
            raise RecordingError(f"The journal folder {folder} belongs to another user.")
        if status.st_mode & 0o077:
            folder.chmod(0o700)
    except OSError as error:
        raise RecordingError(f"Cannot create the journal folder {folder}: {why(error)}.") from None


def is_ours(status: os.stat_result) -> bool:
    """Whether a file or folder belongs to the user of this process."""
    return status.st_uid == os.getuid()


def open_private(path: Path, *, replace: bool) -> int:
    """Open a file for writing, for its owner only, whatever the umask. A symbolic link is not followed.

    Raises:
        RecordingError: it cannot be, or is there and must not be replaced, or somebody is writing it.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | (0 if replace else os.O_EXCL)
    flags |= os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        file = os.open(path, flags, 0o600)
    except OSError as error:
        why_not = "it is a symbolic link" if error.errno == errno.ELOOP else why(error)
        raise RecordingError(f"Cannot write {path}: {why_not}.") from None
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISCHR(mode):
        os.close(file)
        raise RecordingError(f"Cannot write {path}: not a regular file.")
    if stat.S_ISREG(mode):
        with suppress(OSError):  # some file systems have no modes
            os.fchmod(file, 0o600)
        if replace and is_others(file):
            os.close(file)
            raise RecordingError(f"Cannot write {path}: another mcp-tui is writing to it.")
        hold(file)
        if replace:
            os.ftruncate(file, 0)
    return file
