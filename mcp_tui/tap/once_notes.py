"""The bytes that the guard of a tap has forwarded and not read yet, in memory that outlives the process.

Reading a call takes longer than forwarding it. So while no call can be a repeat, its bytes are noted here before they leave,
and are read a moment later, which writes the guard's log. If the tap is killed in between, the next tap finds them, because
the memory is a file in ``/dev/shm``. Without ``/dev/shm``, each call is read before it is sent.

A write there can neither block nor fail, because its pages are allocated at the start.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

FOLDER: Final = "/dev/shm"  # noqa: S108 - the files in it are opened as if others had made them
NAME: Final = "mcp-tui-once-"
SIZE: Final = 1 << 16
TEXT_BYTES: Final = 1024
"""The size of the two texts at the start: the path of the log, and the client."""
START: Final = 8 + 2 * TEXT_BYTES
ANSWERS: Final = START + (SIZE - START) // 2
"""The offset of the answers. One thread notes the calls, another one the answers."""
TIME: Final = Struct("=d")


class NoteList:
    """Lines with a time in monotonic seconds, between two offsets of a memory. Each is noted before it is forwarded."""

    def __init__(self, memory: mmap.mmap, start: int, end: int) -> None:
        self._memory = memory
        self._at = self._start = start
        self._end = end
        self.added = self.read = 0
        """How many were added, and how many of them the log has. If it has all, the next one overwrites them. Each number is
        set by one thread, so none overwrites a note that the other has not read.
        """

    def add(self, at: float, data: bytes) -> bool:
        """Adds lines; returns whether they fit."""
        if self.read == self.added:
            TIME.pack_into(self._memory, self._start, at)
            self._at = self._start + TIME.size
        end = self._at + len(data)
        if end >= self._end:
            return False
        self._memory[self._at : end + 1] = data + b"\0"
        self._at = end
        self.added += 1
        return True

    def clear(self) -> None:
        """Removes all lines, because the log has them."""
        self._memory[self._start + TIME.size] = 0
        self.read = self.added


class Notes:
    """The notes of this tap. ``log`` is the file of its guard's log, whose lock shows whether the tap runs."""

    def __init__(self, log: Path) -> None:
        self._path = Path(FOLDER, NAME + log.name)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            os.posix_fallocate(file, 0, SIZE)
            self.memory = mmap.mmap(file, SIZE)
            """The first byte says that the tap has to read the logs of others before it sends the next call, the second one
            that the notes lose what the log has.
            """
            self._write_text(8, os.fsencode(log))
        except (OSError, ValueError):
            self.close()
            raise
        finally:
            os.close(file)
        self.memory[0] = 1
        self.calls = NoteList(self.memory, START, ANSWERS)
        self.answers = NoteList(self.memory, ANSWERS, SIZE)

    @classmethod
    def made(cls, log: Path) -> Notes | None:
        """Returns new notes; ``None`` if there is no memory for them."""
        try:
            return cls(log)
        except (OSError, ValueError, AttributeError):  # no such folder, no space, or no such function
            return None

    def _write_text(self, at: int, text: bytes) -> None:
        if len(text) >= TEXT_BYTES:
            raise ValueError("too long")
        self.memory[at : at + TEXT_BYTES] = text.ljust(TEXT_BYTES, b"\0")

    def set_client(self, client: str) -> bool:
        """Notes the client; returns whether its name fits."""
        try:
            self._write_text(8 + TEXT_BYTES, client.encode())
        except ValueError:  # too long, or not text
            return False
        return True

    def close(self) -> None:
        """Removes the notes."""
        with suppress(OSError):
            self._path.unlink()


class LeftNotes(NamedTuple):
    """The notes of a tap that was killed."""

    log: Path
    client: str
    at: float
    """When the first call was noted, in monotonic seconds."""
    calls: bytes
    answers: bytes
    are_new: bool
    """Whether the log has none of the calls. Then the answers are lines of a log that settle calls, and the lines of these
    calls have the numbers -1, -2, and so on.
    """


def disturb(log: str) -> None:
    """Makes a tap read the logs of other taps before it sends the next call."""
    with suppress(OSError):
        file = _open(Path(FOLDER, f"{NAME}{log}"))
        os.pwrite(file, b"\1", 0)
        os.close(file)


def left_notes(logs: Path) -> Iterator[LeftNotes]:
    """Yields the notes of killed taps whose logs are in one of these folders, and removes them."""
    with suppress(OSError):
        for path in Path(FOLDER).glob(f"{NAME}*"):
            with suppress(OSError, ValueError):
                file = _open(path)
                try:
                    memory = os.pread(file, SIZE, 0)
                finally:
                    os.close(file)
                log = Path(os.fsdecode(memory[8 : 8 + TEXT_BYTES].rstrip(b"\0")))
                if not log.parent.exists():  # no tap can ask for them any more
                    path.unlink()
                elif log.parent.parent == logs and _is_over(log):
                    client = memory[8 + TEXT_BYTES : START].rstrip(b"\0").decode()
                    (at,), calls = TIME.unpack_from(memory, START), _lines(memory[START:ANSWERS])
                    yield LeftNotes(log, client, at, calls, _lines(memory[ANSWERS:]), bool(memory[1]))
                    path.unlink()


def _open(path: Path) -> int:
    file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    status = os.fstat(file)
    if status.st_uid != os.getuid() or status.st_mode & 0o077 or status.st_size != SIZE:
        os.close(file)
        raise PermissionError(path)
    return file


def is_over(log: int) -> bool:
    """Whether the tap with an open log has ended. It asks for a shared lock, because two taps may ask at the same time."""
    try:
        fcntl.flock(log, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_over(log: Path) -> bool:
    try:
        with log.open("rb") as file:
            return is_over(file.fileno())
    except FileNotFoundError:
        return True


def _lines(memory: bytes) -> bytes:
    return memory[TIME.size :].partition(b"\0")[0]
