"""The log of a tap's guard: a file for each running tap, from which the next one with the same command learns what was open.

A line is written before a call leaves, or the call is noted (:mod:`mcp_tui.tap.once_notes`). The file has no arguments, only
a digest of them with a secret of this user; it is not a recording and is never exported. A tap locks its file while it
runs, so an unlocked file belongs to a tap that has ended.

It is deleted once no call in it can count any more. An open call counts from when the next tap finds its tap dead, because
nobody knows when that died. So that tap then notes in the log that the outcome of the call is unknown.

While another tap with the same command runs, only the calls that its client gave up count. When it writes about them, it
sets a byte in the notes of the others. So before a call, a tap only looks at that byte and at the locks of the others, and
it reads what is new if something has happened.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import monotonic
from typing import Final

from mcp_tui import clock
from mcp_tui.journal.state_folder import make_folders, state_folder
from mcp_tui.protocol.json_values import as_object
from mcp_tui.protocol.observing import party
from mcp_tui.protocol.repeats import WINDOW_SECONDS
from mcp_tui.tap.once import Call, Json, LogLine, client_of, messages_in
from mcp_tui.tap.once_notes import SIZE, LeftNotes, Notes, disturb, is_over, left_notes
from mcp_tui.tap.pipes import warn

_ENCODED: Final = json.JSONEncoder(separators=(",", ":")).encode

_NUMBERS: Final = ("call", "gave_up", "late", "unknown")
"""Members with the number of a call."""

READ_BYTES: Final = 1 << 20

Reading = Callable[[dict[str, Json], str, float], Call | None]
"""Reads a message of a client, at a time: :meth:`OnceGuard.read`."""

KILLED: Final = "the tap that sent it ended before its answer came"


@dataclass(slots=True)
class OtherLog:
    """The log of another tap, which is open here while that tap runs."""

    file: int
    at: int = 0
    """The number of bytes that were read."""

    def news(self) -> list[LogLine]:
        """Returns the lines that were written since the last time."""
        data = b""
        while piece := os.pread(self.file, READ_BYTES, self.at + len(data)):
            data += piece
        whole = data[: data.rfind(b"\n") + 1]
        self.at += len(whole)
        return _decoded(whole)

    def end(self) -> bool:
        """Notes that open calls of a tap that has ended are unknown; returns whether no call in the log counts any more."""
        every = OtherLog(self.file).news()
        numbers = {name: {line.get(name) for line in every} for name in (*_NUMBERS, "settled")}
        if open_ := numbers.pop("call") - {None}.union(*numbers.values()):
            lines: list[LogLine] = [{"unknown": each, "why": KILLED} for each in open_]
            with suppress(OSError):  # This tap knows them without that.
                # The last line may be incomplete.
                os.write(self.file, b"\n" + _encoded([*lines, {"awake": clock.awake()}]))
            return False
        # The wall clock may be set forward at any time. The other clock begins with each start of the machine.
        awake = clock.awake() - max((line["awake"] for line in every if "awake" in line), default=-inf)
        age = clock.wall() - os.fstat(self.file).st_mtime
        return age > WINDOW_SECONDS and not 0 <= awake <= WINDOW_SECONDS


class GuardLog:
    """The log of one tap. ``configuration`` is the command line that its client starts it with.

    Without a writable folder, the tap warns, and the guard knows nothing about earlier taps.
    """

    def __init__(self, configuration: object) -> None:
        self.reading: Reading | None = None
        self._file = -1
        self._folder: Path | None = None
        self._path: Path | None = None
        self.notes: Notes | None = None
        self._later: list[LogLine] | None = None
        """Lines that are written together."""
        self._others: dict[str, OtherLog | None] = {}
        """The logs of other taps with the same command, by their names; ``None`` for taps that have ended."""
        try:
            top = (state_folder() / "once").absolute()
            named = hashlib.sha256(repr(configuration).encode("utf-8", "surrogateescape")).hexdigest()[:32]
            self._folder = top / named
            make_folders(self._folder)
            self.secret = _secret(top / "secret")
            self._path = self._folder / f"{os.getpid()}-{os.urandom(4).hex()}.jsonl"
            self._file = os.open(
                self._path,
                os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW,
                0o600,
            )
            # Another tap may be asking at this moment whether this one runs.
            fcntl.flock(self._file, fcntl.LOCK_EX)
            self.notes = Notes.made(self._path)
            self._disturb()
        except OSError as error:
            self.secret = os.urandom(16)
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        warn(f"--once knows nothing of the calls of earlier taps: {error.strerror}. The traffic continues.")
        self._folder = None
        self._drop_notes()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def write(self, line: LogLine) -> None:
        """Writes a line."""
        if self._later is None:
            self._write([line])
        elif "settled" in line and any(each.get("call") == line["settled"] for each in self._later):
            self._later = [each for each in self._later if line["settled"] not in map(each.get, _NUMBERS)]
        else:
            self._later.append(line)

    def set_client(self, client: str) -> None:
        """Notes the client whose calls are noted from now on."""
        if self.notes is not None and not self.notes.set_client(client):
            self._drop_notes()

    def _drop_notes(self) -> None:
        if self.notes is not None:
            self.notes.close()
            self.notes = None

    @contextmanager
    def together(self) -> Generator[None]:
        """Writes the lines of a block at its end. Omits calls that began and ended within the block."""
        self._later = []
        try:
            yield
        finally:
            lines, self._later = self._later, None
            self._write(lines)

    def _write(self, lines: list[LogLine]) -> None:
        if self._file >= 0 and lines:
            try:
                # An open call, or one that was answered, is nothing to other taps while this one runs.
                if all("call" in each or each.get("how") == "answered" for each in lines):
                    os.write(self._file, _encoded(lines))
                else:
                    os.write(self._file, _encoded([*lines, {"awake": clock.awake()}]))
                    self._disturb()
            except OSError as error:
                self._fail(error)

    def _disturb(self) -> None:
        """Has the other taps read this log before they send the next call."""
        if self._folder is not None and self._path is not None:
            with suppress(OSError):
                for entry in os.scandir(self._folder):
                    if entry.name != self._path.name:
                        disturb(entry.name)

    @property
    def has_news(self) -> bool:
        """Whether another tap may have written something that counts, or has ended, since the last time."""
        # Every call waits for this, so it is short. A tap that is killed tells nobody, but it loses its lock.
        notes = self.notes  # another thread may drop them
        if notes is None or notes.memory[0]:
            return True
        return any(each is not None and is_over(each.file) for each in self._others.values())

    def others(self) -> Iterator[tuple[str, list[LogLine], str]]:
        """Yields what is new of each other tap: its name, the lines since the last time, and why open calls are unknown.

        The reason is empty for a tap that is running.
        """
        if self._folder is None or not self.has_news:
            return
        self._set_disturbed(0)  # Before reading, because other taps set it after writing.
        try:
            yield from self._news(self._folder)
        except OSError:
            self._set_disturbed(1)  # The next call tries again.

    def _set_disturbed(self, value: int) -> None:
        if self.notes is not None:
            self.notes.memory[0] = value

    def _news(self, folder: Path) -> Iterator[tuple[str, list[LogLine], str]]:
        found = {
            each.name for each in os.scandir(folder) if self._path is None or each.name != self._path.name
        }
        for name in [each for each in self._others if each not in found and self._others[each] is None]:
            del self._others[name]
        new = found - self._others.keys()
        for name in new:
            with suppress(FileNotFoundError):
                file = os.open(folder / name, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
                self._others[name] = OtherLog(file)
        open_ = {name: log for name, log in self._others.items() if log is not None}
        # Before their notes are read: the log of a tap that ends later is not complete yet.
        ended = {name for name, log in open_.items() if is_over(log.file)}
        if self.reading is not None:
            self._complete(folder, self.reading)
        for name, log in open_.items():
            if name not in ended:
                if lines := log.news():
                    yield name, lines, ""
                continue
            is_old = log.end()
            lines = log.news()
            self._others[name] = None
            os.close(log.file)
            if name in new and is_old:
                (folder / name).unlink(missing_ok=True)
            elif name in new and not lines:
                del self._others[name]  # It may belong to a tap that has not locked it yet.
            else:
                yield name, lines, KILLED

    @staticmethod
    def _complete(folder: Path, reading: Reading) -> None:
        """Completes the logs of killed taps from their notes."""
        since = clock.wall() - monotonic()
        for left in left_notes(folder.parent):
            with left.log.open("ab+") as file:
                file.seek(0)
                lines = [*noted(left, _decoded(file.read()), reading, since)]
                file.write(b"\n" + _encoded(lines))  # The last line may be incomplete.

    def close(self, *, empty: bool) -> None:
        """Ends the log; removes the file if no call is open."""
        self._drop_notes()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            if empty and self._path is not None:
                with suppress(OSError):
                    self._path.unlink()


def _encoded(lines: Iterable[LogLine]) -> bytes:
    return b"".join(_ENCODED(each).encode() + b"\n" for each in lines)


def noted(left: LeftNotes, log: list[LogLine], reading: Reading, since: float) -> Iterator[LogLine]:
    """Yields the lines that a killed tap had not written to its log.

    ``since`` is the start of monotonic time, in seconds since the epoch.
    """
    open_ = {line["call"]: line for line in log if "call" in line}
    written = [(line["key"], line["id"]) for line in open_.values()]
    for line in log:
        open_.pop(line.get("settled"), None)
    client = left.client
    numbered = [
        (-line - SIZE * member, message)  # A line that is no message has a number, too.
        for line, text in enumerate(left.calls.split(b"\n"), 1)
        for member, message in enumerate(messages_in(text))
    ]
    for number, message in numbered:
        if message.get("method") == "initialize":
            client = party(as_object(message.get("params")).get("clientInfo"))
        call = reading(message, client_of(message, client), left.at)
        if call is not None:
            line = call.log_line(since)
            if left.are_new or (line["key"], line["id"]) not in written:
                open_[number] = line | {"call": number}
                yield open_[number]
    for message in messages_in(left.answers):
        same = [each for each, line in open_.items() if line["id"] == message.get("id")]
        for number in open_.keys() & {message.get("settled")} if left.are_new else same:
            del open_[number]
            yield {"settled": number, "how": "answered"}


def _decoded(data: bytes) -> list[LogLine]:
    found: list[LogLine] = []
    for line in data.split(b"\n"):
        with suppress(ValueError):
            found.append(as_object(json.loads(line)))
    return found


def _secret(path: Path) -> bytes:
    """Returns the secret of this user, which is created at the first use."""
    with suppress(FileExistsError):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.write(file, os.urandom(32))
        os.close(file)
    return path.read_bytes()
