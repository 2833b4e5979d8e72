"""The log of a tap's guard: a file for each running tap, from which the next one with the same command learns what was open.

A line is written before a call leaves, or the call is noted (:mod:`mcp_tui.tap.once_notes`). The file has no arguments, only
a digest of them with a secret of this user; it is not a recording and is never exported. A tap locks its file while it
runs, so an unlocked file belongs to a tap that has ended.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Final

from mcp_tui import clock
from mcp_tui.journal.state_folder import is_alone, make_folders, state_folder
from mcp_tui.protocol.json_values import as_object
from mcp_tui.protocol.observing import party
from mcp_tui.protocol.repeats import WINDOW_SECONDS
from mcp_tui.tap.once import Call, Json, LogLine, client_of, messages_in
from mcp_tui.tap.once_notes import LeftNotes, Notes, disturb, left_notes
from mcp_tui.tap.pipes import warn

_ENCODED: Final = json.JSONEncoder(separators=(",", ":")).encode

_NUMBERS: Final = ("call", "gave_up", "late", "unknown")
"""Members with the number of a call."""

Reading = Callable[[dict[str, Json], str, float], Call | None]
"""Reads a message of a client, at a time: :meth:`OnceGuard.read`."""

KILLED: Final = "the tap that sent it ended before its answer came"


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
        self._seen: dict[str, tuple[int, bool]] = {}
        self._changed = 0
        self._running = False
        """Whether another tap with the same command is running."""
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
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.notes = Notes.made(self._path)
            for entry in os.scandir(self._folder):
                disturb(entry.name)
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
                os.write(self._file, _encoded(lines))
            except OSError as error:
                self._fail(error)

    @staticmethod
    def _complete(folder: Path, reading: Reading) -> None:
        """Completes the logs of killed taps from their notes."""
        since = clock.wall() - monotonic()
        for left in left_notes(folder.parent):
            lines = [*noted(left, _read(left.log), reading, since)]
            with left.log.open("ab") as file:
                file.write(_encoded(lines))

    def others(self) -> Iterator[tuple[str, list[LogLine], str]]:
        """Yields the logs of other taps that changed since the last time: name, lines, and why open calls are unknown.

        The reason is empty for a tap that is running.
        """
        if self._folder is None or (self.notes is not None and not self.notes.memory[0]):
            return  # No other tap runs, and no other one has started since.
        with suppress(OSError):
            changed = self._folder.stat().st_mtime_ns
            # The file of a tap that has ended no longer changes.
            if changed == self._changed and not self._running:
                return
            self._changed, self._running = changed, False
            if self.notes is not None:
                self.notes.memory[0] = 0
            if self.reading is not None:
                self._complete(self._folder, self.reading)
            for entry in os.scandir(self._folder):
                if self._path is not None and entry.name == self._path.name:
                    continue
                status = entry.stat(follow_symlinks=False)
                state = status.st_size, _is_over(entry.path)
                self._running |= not state[1]
                if state[1] and clock.wall() - status.st_mtime > WINDOW_SECONDS:
                    Path(entry.path).unlink()
                elif self._seen.get(entry.name) != state:
                    self._seen[entry.name] = state
                    yield entry.name, _read(Path(entry.path)), KILLED if state[1] else ""
        if self._running and self.notes is not None:
            self.notes.memory[0] = 1

    def close(self, *, empty: bool) -> None:
        """Ends the log; removes the file if no call is open."""
        self._drop_notes()
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            if empty and self._path is not None:
                with suppress(OSError):
                    self._path.unlink()


def _is_over(path: str) -> bool:
    with open(path, "rb") as file:  # noqa: PTH123 - a path of scandir
        return is_alone(file.fileno())


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
    for number, message in enumerate(messages_in(left.calls), 1):
        if message.get("method") == "initialize":
            client = party(as_object(message.get("params")).get("clientInfo"))
        call = reading(message, client_of(message, client), left.at)
        if call is not None:
            line = call.log_line(since)
            if (line["key"], line["id"]) not in written:
                open_[-number] = line | {"call": -number}
                yield open_[-number]
    for message in messages_in(left.answers):
        for number in [each for each, line in open_.items() if line["id"] == message.get("id")]:
            del open_[number]
            yield {"settled": number, "how": "answered"}


def _read(path: Path) -> list[LogLine]:
    found: list[LogLine] = []
    if not path.exists():
        return found
    for line in path.read_bytes().splitlines():
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


def _secret(path: Path) -> bytes:
    """Returns the secret of this user, which is created at the first use."""
    with suppress(FileExistsError):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.write(file, os.urandom(32))
        os.close(file)
    return path.read_bytes()
