"""The files of journals: readable by their owner only, in parts, kept in one folder.

A journal that is too long for one file has parts: ``NAME.jsonl``, ``NAME.2.jsonl``, ``NAME.3.jsonl``, and so on. Each part
starts with the header of the session and the number of the part (``"part":2``). So a part can be read alone, and is not
mistaken for a part of another session.

The oldest parts of a long session are removed while it runs (:mod:`mcp_tui.journal.retention`). ``NAME.jsonl`` then has the
records of these parts that are still needed. Its header has the number of the next part, and a sentence about the removed
messages (``"next":7,"removed":"messages before …"``).
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
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mcp_tui import clock
from mcp_tui.journal.records import RecordingError, read_record, why
from mcp_tui.journal.state_folder import is_alone, is_ours, make_folders, open_without_waiting, state_folder
from mcp_tui.protocol.messages import Json, as_text, encode
from mcp_tui.protocol.patterns import late

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PART_BYTES: Final = 256 * 1024 * 1024
"""Bytes after which a journal continues in another part."""

_JOURNAL_NAME: Final = late(r"(\d{4}-\d\d-\d\dT\d{6}-[A-Za-z0-9._-]+-\d+)(?:\.([1-9]\d*))?\.jsonl", re.ASCII)
"""The file name of a journal or of one of its parts. Its groups are the name of the session and the number of the part."""

_NAME_PARTS: Final = late(r"(\d{4}-\d\d-\d\dT\d{6})-.*-(\d+)", re.ASCII)
"""The name of a session. Its groups are the start of the session and its process id."""

_HEADER_BYTES: Final = 65_536
"""The most bytes of the header of a part."""


def part_path(path: Path, number: int) -> Path:
    """Returns the path of a part; that of the first part is ``path`` itself."""
    return path if number == 1 else path.with_name(f"{path.stem}.{number}{path.suffix}")


def part_header(line: bytes, number: int) -> bytes:
    """Returns the header of a part; ``line`` is the header of the session."""
    return line if number == 1 else b'%s,"part":%d}\n' % (line.rstrip()[:-1], number)


def shortened_header(line: bytes, following: int, removed: str) -> bytes:
    """Returns the header of a session without its parts before ``following``; ``line`` is the original header."""
    return b'%s,"next":%d,"removed":%s}\n' % (line.rstrip()[:-1], following, encode(removed))


def parts_of(path: Path) -> list[Path]:
    """Returns the parts of the session that starts at ``path``, in order. Ignores files that only have a similar name."""
    header = read_header(path)
    parts, session, number = [path], header.get("id"), following_part(header)
    while part := _part(path, session, number):
        parts.append(part)
        number += 1
    return parts


def following_part(header: dict[str, Json]) -> int:
    """Returns the number of the part after the first one; ``header`` is that of the first part."""
    number = header.get("next")
    return number if isinstance(number, int) and number > 2 else 2


def _part(path: Path, session: Json, number: int) -> Path | None:
    """Returns the path of a part of a session; ``None`` if the part does not exist."""
    found = part_path(path, number)
    header = read_header(found) if session else {}
    # A file with the name of a part may be a copy, or belong to another session; it must not be read as a part.
    return found if header and (header.get("id"), header.get("part")) == (session, number) else None


def read_header(path: Path) -> dict[str, Json]:
    """Reads the header of a part; empty if it cannot be read."""
    with suppress(OSError):
        return read_record(read_start(path, _HEADER_BYTES).partition(b"\n")[0]) or {}
    return {}


def _open_no_link(name: str, flags: int) -> int:
    """Opens a file like :func:`open_without_waiting`, but follows no symbolic link."""
    return open_without_waiting(name, flags | os.O_NOFOLLOW)


def read_start(path: Path, size: int) -> bytes:
    """Reads at most ``size`` bytes from the start of a file. A symbolic link is not followed.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb", opener=_open_no_link) as file:
        return file.read(size) or b""  # read() of an empty pipe returns None


# -- reading parts ---------------------------------------------------------------------------------------------


def open_parts(path: Path, last: int | None = None) -> io.BufferedReader:
    """Opens all parts of a recording, or those up to the number ``last``, as one file for reading.

    Raises:
        OSError: the first part cannot be opened.
    """
    joined = _Joined(path, last)
    several = joined.continues()
    while joined.continues():  # all are opened now, because they may be deleted while the first one is read
        pass
    return io.BufferedReader(joined, 1 << 18 if several else io.DEFAULT_BUFFER_SIZE)


def _regular(path: Path) -> io.FileIO:
    """Opens a regular file; a pipe is an error, because it cannot be read twice."""
    file = io.FileIO(path, opener=open_without_waiting)
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "not a regular file, copy it to one first")


class _Joined(io.RawIOBase):
    """The parts of a recording as one file. The last part may grow, and be followed by another part.

    Parts that are removed later stay readable. A part that was removed before it was opened is missing.
    """

    def __init__(self, path: Path, last: int | None = None) -> None:
        super().__init__()
        self._path, self._last = path, last
        self._files = [_regular(path)]
        self._starts = [0]
        self._at = 0
        # Read from the opened file, because another file may have replaced it.
        header = read_record(os.pread(self._files[0].fileno(), _HEADER_BYTES, 0).partition(b"\n")[0]) or {}
        self._session, self._next = header.get("id"), following_part(header)

    def _size(self) -> int:
        """Returns the number of bytes in all files so far."""
        return self._starts[-1] + os.fstat(self._files[-1].fileno()).st_size

    def continues(self) -> bool:
        """Opens the next part; returns whether there is one."""
        if self._last is not None and self._next > self._last:
            return False
        number = self._next
        if (part := _part(self._path, self._session, number)) is None:
            with suppress(OSError):
                # Parts in between may have been removed: then the first part was replaced.
                if not os.path.samestat(self._path.stat(), os.fstat(self._files[0].fileno())):
                    number = following_part(read_header(self._path))
                    part = _part(self._path, self._session, number) if number > self._next else None
        if part is None:
            return False
        with suppress(FileNotFoundError):  # removed just now; the call below finds the next part
            self._files.append(_regular(part))
            # Only the last part grows, so the size of the part before it is final.
            self._starts.append(self._starts[-1] + os.fstat(self._files[-2].fileno()).st_size)
            self._next = number + 1
            return True
        return self.continues()

    def fileno(self) -> int:
        return self._files[-1].fileno()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_CUR:
            offset += self._at
        elif whence == os.SEEK_END:
            while self.continues():
                pass
            offset += self._size()
        self._at = max(0, offset)
        return self._at

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        while True:
            index = bisect_right(self._starts, self._at) - 1
            # Not by the position of the file, which processes that share the work on a recording have in common.
            data = os.pread(self._files[index].fileno(), len(view), self._at - self._starts[index])
            if data or not self.continues():
                break
        view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        for file in self._files:
            file.close()
        super().close()


# -- locks -----------------------------------------------------------------------------------------------------


def is_locked(path: Path) -> bool | None:
    """Whether a running process writes to a file; ``None`` if the file system has no locks."""
    try:
        with open(path, "rb", opener=_open_no_link) as file:
            return not is_alone(file.fileno())
    except OSError:
        return None


def is_written(path: Path, file: io.IOBase) -> bool:
    """Whether a running process writes to the recording at ``path``, which is open as ``file``."""
    locked = is_locked(parts_of(path)[-1])
    if locked is not None:
        return locked
    with suppress(OSError, ValueError):  # the file system has no locks, or the file is closed
        # A journal gets another name when the server has said its own.
        if not is_alone(number := file.fileno()):
            return True
        fcntl.flock(number, fcntl.LOCK_UN)
    return False


# -- private files ---------------------------------------------------------------------------------------------


def make_private(folder: Path) -> None:
    """Creates a folder and its parents. Each new folder, and ``folder`` itself, is for its owner only.

    Raises:
        OSError: the folder cannot be created, or belongs to another user.
    """
    make_folders(folder)
    status = folder.stat()
    if not is_ours(status):
        raise PermissionError(errno.EPERM, "it belongs to another user")
    if status.st_mode & 0o077:
        folder.chmod(0o700)


def open_private(path: Path, *, replace: bool) -> int:
    """Opens a file for writing, for its owner only, regardless of the umask. A symbolic link is not followed.

    Raises:
        RecordingError: the file cannot be opened, exists and must not be replaced, or another process writes to it.
    """
    try:
        file = _open(path, 0 if replace else os.O_EXCL)
    except OSError as error:
        raise _unwritable(path, error) from None
    if not _is_regular(file):
        return file
    with suppress(OSError):  # some file systems have no locks
        # The lock comes before the truncation, because another mcp-tui may be writing the file. The lock shows that this
        # process writes the file, and is released even if the process is killed.
        if not replace:
            fcntl.flock(file, fcntl.LOCK_EX)  # `is_locked` in another process takes the lock for a moment
        elif not is_alone(file):
            os.close(file)
            raise RecordingError(f"Cannot write {path}: another mcp-tui is writing to it.")
    if replace:
        os.ftruncate(file, 0)
    return file


def open_numbered(path: Path) -> tuple[int, Path]:
    """Opens the first of ``NAME``, ``NAME-2``, ``NAME-3``, and so on that is missing or empty; see :func:`open_private`.

    Returns the descriptor and the path. A file that another process writes is skipped, and no content is ever overwritten.

    Raises:
        RecordingError: no file can be opened.
    """
    for number in count(1):
        each = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
        try:
            file = _open_unused(each)
        except OSError as error:
            raise _unwritable(each, error) from None
        if file is not None:
            return file, each
    raise AssertionError


def _open_unused(path: Path) -> int | None:
    """Opens a file that is missing or empty; returns ``None`` if it has content, or another process writes to it."""
    try:
        file, made = _open(path, os.O_EXCL), True
    except FileExistsError:
        status = path.stat(follow_symlinks=False)
        if stat.S_ISREG(status.st_mode) and status.st_size:
            return None
        file, made = _open(path, 0), False
    if not _is_regular(file):
        return file
    try:
        alone = is_alone(file)
    except OSError:  # some file systems have no locks
        alone = made
    # Another process may have created the file, and may have written to it and ended since the check above.
    if alone and not os.fstat(file).st_size:
        return file
    os.close(file)
    return None


def _open(path: Path, flags: int) -> int:
    """Opens a regular file or a device for appending; creates the file if it is missing.

    Raises:
        OSError: the file cannot be opened, or is a symbolic link or a pipe.
    """
    # In a folder that others can write to, the name may be a link to another file of the user, or a pipe without a reader.
    flags |= os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    file = os.open(path, flags, 0o600)
    if _is_regular(file):
        # open() sets the mode only for a new file.
        with suppress(OSError):  # some file systems have no modes
            os.fchmod(file, 0o600)
    elif not stat.S_ISCHR(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "not a regular file")
    return file


def _is_regular(file: int) -> bool:
    return stat.S_ISREG(os.fstat(file).st_mode)


def _unwritable(path: Path, error: OSError) -> RecordingError:
    return RecordingError(
        f"Cannot write {path}: {'it is a symbolic link' if error.errno == errno.ELOOP else why(error)}."
    )


# -- the folder of journals ------------------------------------------------------------------------------------


def journal_folder() -> Path:
    """Returns the folder of the journals: ``journal`` in the state folder."""
    return state_folder() / "journal"


def new_journal_path(server_name: str) -> Path:
    """Returns the path of a new journal, ``journal/2026-11-21T031500-everything-4711.jsonl`` in the state folder.

    The folder is created for its owner only.

    Raises:
        RecordingError: the folder cannot be created, or belongs to another user.
    """
    folder = journal_folder()
    try:
        make_private(folder)
    except OSError as error:
        raise RecordingError(f"Cannot use the journal folder {folder}: {why(error)}.") from None
    stamp = clock.local_stamp(clock.wall()).replace(" ", "T").replace(":", "")
    stem = f"{stamp}-{_plain(server_name) or 'server'}-{os.getpid()}"
    path, number = folder / f"{stem}.jsonl", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.jsonl"
    return path


def _plain(server_name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", server_name).strip("-.")[:48].strip("-.")


def server_in(name: str) -> str:
    """Returns the name of the server in the name of a journal."""
    return name[len("2026-11-21T031500-") :].rpartition("-")[0]


def renamed_journal(path: Path, server_name: str) -> Path | None:
    """Returns the path of a journal with another name of the server; ``None`` if the path exists or cannot be made."""
    found = _NAME_PARTS.fullmatch(path.stem)
    if found is None or not _plain(server_name):
        return None
    renamed = path.with_name(f"{found[1]}-{_plain(server_name)}-{found[2]}{path.suffix}")
    return None if renamed.exists() else renamed


class Journal(NamedTuple):
    """A journal on disk: the name of its session, its files in order, and their status.

    ``written`` is the time of the last write, in seconds since the epoch; ``size`` the bytes of all files; ``inode`` the
    number of the first file.
    """

    name: str
    paths: tuple[Path, ...]
    written: float
    size: int
    inode: int

    @classmethod
    def at(cls, path: Path) -> Journal:
        """Returns the recording at a path, with the path as its name.

        Raises:
            OSError: the file does not exist.
        """
        return cls.of(str(path), [(each, each.stat()) for each in parts_of(path)])

    @classmethod
    def of(cls, name: str, parts: Sequence[tuple[Path, os.stat_result]]) -> Journal:
        """Returns a journal; ``parts`` has its files in order, each with its status."""
        return cls(
            name=name,
            paths=tuple(path for path, _ in parts),
            written=max(status.st_mtime for _, status in parts),
            size=sum(status.st_size for _, status in parts),
            inode=parts[0][1].st_ino,
        )

    @property
    def next_path(self) -> Path:
        """The path of the part that will be created next."""
        match = _JOURNAL_NAME.fullmatch(self.paths[-1].name)
        return part_path(self.paths[0], int((match and match[2]) or 1) + 1)

    @property
    def purpose(self) -> str:
        """The purpose in the header (:class:`~mcp_tui.journal.records.Header`); empty if the header cannot be read."""
        return as_text(read_header(self.paths[0]).get("purpose"))


def journals(folder: Path) -> list[Journal]:
    """Returns the journals in a folder, sorted by name, which means the oldest first; none if the folder does not exist.

    Files with another form of name, irregular files, and files of another user are ignored.

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
        match = _JOURNAL_NAME.fullmatch(entry.name)
        # Users may put other files here. Only files with exactly this form of name are listed, so only these are deleted.
        if match is None:
            continue
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and is_ours(status):
                found.setdefault(match[1], {})[int(match[2] or 1)] = Path(entry.path), status
    return [Journal.of(name, [part for _, part in sorted(found[name].items())]) for name in sorted(found)]
