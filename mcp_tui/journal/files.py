"""Files that mcp-tui makes by itself, each for its owner only: where journals are, for how long, in parts; who writes one.

A journal that outgrew one file has parts: ``NAME.jsonl`` is followed by ``NAME.2.jsonl``, ``NAME.3.jsonl`` and so on.
Each begins with the header of the session and its own number in it (``"part":2``), so that each can be read alone and none
is taken for another session's.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import re
import stat
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_tui import clock
from mcp_tui.journal.records import RecordingError, read_record, why
from mcp_tui.journal.state import make_folders, state_folder
from mcp_tui.protocol.messages import Json, as_text

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PART_BYTES: Final = 256 * 1024 * 1024
"""Bytes from which on a journal goes on in another file."""

FRESH: Final = 24 * 3600.0
"""Seconds since its last record in which a journal may still be written, where the file system has no lock that says so."""

_OURS: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d{6}-[A-Za-z0-9._-]+-\d+)(?:\.([1-9]\d*))?\.jsonl", re.ASCII)
"""The name of a journal, and of a part of one: the name of its session, and the number."""


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
    parts, session = [path], read_header(path).get("id")
    while session:
        number = len(parts) + 1
        header = read_header(part_path(path, number))
        if (header.get("id"), header.get("part")) != (session, number):
            break
        parts.append(part_path(path, number))
    return parts


def read_header(path: Path) -> dict[str, Json]:
    """The header of a part, as its first line has it; empty where that cannot be read."""
    with suppress(OSError):
        return read_record(read_start(path, _HEAD).partition(b"\n")[0]) or {}
    return {}


def _open(name: str, flags: int) -> int:
    """Open without following a symbolic link, and without waiting for who writes to a pipe."""
    return os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def read_start(path: Path, size: int) -> bytes:
    """The first bytes of a file, at most ``size``. A symbolic link is not followed.

    Raises:
        OSError: it cannot be read.
    """
    with open(path, "rb", opener=_open) as file:
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
        return not is_alone(file)
    except OSError:
        return True


def is_held(path: Path) -> bool | None:
    """Whether a living process writes there; ``None`` where the file system cannot say."""
    try:
        with open(path, "rb", opener=_open) as file:
            return not is_alone(file.fileno())
    except OSError:
        return None


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


# -- the folder of journals ------------------------------------------------------------------------------------


def journal_folder() -> Path:
    """Where journals are: ``journal`` in the state folder."""
    return state_folder() / "journal"


def new_journal_path(server_name: str) -> Path:
    """The path of a new journal, ``journal/2026-11-21T031500-everything-4711.jsonl`` in the state folder.

    Makes the folder, readable by its owner only.

    Raises:
        RecordingError: the folder cannot be made, or belongs to somebody else.
    """
    folder = journal_folder()
    make_private(folder)
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", server_name).strip("-.")[:48].strip("-.") or "server"
    stamp = clock.local_stamp(clock.wall()).replace(" ", "T").replace(":", "")
    stem = f"{stamp}-{name}-{os.getpid()}"
    path, number = folder / f"{stem}.jsonl", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.jsonl"
    return path


class Journal(NamedTuple):
    """A journal in the folder: the name of its session, its files in order, and what the system says of them.

    ``written`` is the moment of its last record, in seconds since the epoch; ``size`` its bytes in all; ``inode`` the number
    of its first file.
    """

    name: str
    paths: tuple[Path, ...]
    written: float
    size: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> Journal:
        """A recording anywhere, under the name of its path.

        Raises:
            OSError: there is none.
        """
        return cls.made(str(path), [(each, each.stat()) for each in parts_of(path)])

    @classmethod
    def made(cls, name: str, parts: Sequence[tuple[Path, os.stat_result]]) -> Journal:
        """A journal of its files, in order, and what the system says of each."""
        return cls(
            name=name,
            paths=tuple(path for path, _ in parts),
            written=max(status.st_mtime for _, status in parts),
            size=sum(status.st_size for _, status in parts),
            inode=parts[0][1].st_ino,
        )

    @property
    def purpose(self) -> str:
        """That of :class:`~mcp_tui.journal.records.Header`, read from the file; empty where that cannot be read."""
        return as_text(read_header(self.paths[0]).get("purpose"))


def journals(folder: Path) -> list[Journal]:
    """The journals in a folder, sorted by name, which is oldest first; none where the folder does not exist.

    Files with another name, files that are not regular, and files of another user are left out.

    Raises:
        RecordingError: the folder cannot be read, or belongs to another user.
    """
    found: dict[str, dict[int, tuple[Path, os.stat_result]]] = {}
    try:
        if not is_ours(folder.stat()):
            raise RecordingError(f"The journal folder {folder} belongs to another user.")
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RecordingError(f"Cannot read the journal folder {folder}: {why(error)}.") from None
    for entry in entries:
        match = _OURS.fullmatch(entry.name)
        if match is None:
            continue
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and is_ours(status):
                found.setdefault(match[1], {})[int(match[2] or 1)] = Path(entry.path), status
    return [Journal.made(name, [part for _, part in sorted(found[name].items())]) for name in sorted(found)]


def prune(folder: Path, *, keep_days: float | None = None, keep_bytes: int | None = None) -> None:
    """Delete journals that are too old, and the oldest while all are too large, but none that is being written."""
    now = clock.wall()
    size = 0
    for journal in sorted(journals(folder), key=attrgetter("written"), reverse=True):
        size += journal.size
        old = keep_days is not None and journal.written < now - keep_days * 86_400
        if (old or (keep_bytes is not None and size > keep_bytes)) and not _is_written(journal, now):
            size -= journal.size
            for path in journal.paths:
                with suppress(OSError):
                    path.unlink()


def _is_written(journal: Journal, now: float) -> bool:
    held = is_held(journal.paths[-1])
    return journal.written > now - FRESH if held is None else held
