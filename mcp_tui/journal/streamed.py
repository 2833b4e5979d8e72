"""A recording that is gone through and not held: what an export of any length needs of it, in some 40 bytes a frame.

Its events are read from the file each time that they are asked for. Of the requests only those are held that are open or
were cancelled: one that is over and was never cancelled changes no more.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from mcp_tui.journal.codec import UnknownEvent, decode_event
from mcp_tui.journal.frames import FrameHead
from mcp_tui.journal.parts import open_parts
from mcp_tui.journal.projections import cancel_of
from mcp_tui.journal.recording import PEEK, Header, RecordingError, raw_of, read_head, read_record, why
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Event, RequestId
from mcp_tui.protocol.requests import Book, IllegalTransition, Request, State

Made = TypeVar("Made")

_EVENT: Final = b'{"record":"event",'
_FINAL: Final = frozenset({State.COMPLETED, State.FAILED})


def is_final(row: Request) -> bool:
    """Whether nothing can come any more that changes what is told of a row."""
    return row.state in _FINAL and cancel_of(row) is None


class Fold:
    """The requests of a stream of events, each let go when it is final."""

    def __init__(self) -> None:
        self._book = Book()
        self._gone: dict[type, dict[RequestId, str]] = {}

    def take(self, event: ev.RequestEvent) -> Request | None:
        """The row that an event led to; ``None`` where it fits nowhere, or its row was let go."""
        if event.id in self._gone.get(type(event.id), ()):
            return None
        try:
            row = self._book.apply(event)
        except IllegalTransition:
            return None
        self._book.order.clear()
        if row is not None and is_final(row):
            del self._book.rows[type(row.id), row.id]
            self._gone.setdefault(type(row.id), {})[row.id] = sys.intern(row.label)
        return row

    def gone(self, id_: RequestId) -> str | None:
        """What a row was called that was let go."""
        return self._gone.get(type(id_), {}).get(id_)


@dataclass(slots=True, kw_only=True)
class Streamed:
    """A recording in the file at ``path``, gone through once: ``skipped`` counts lines that are no records.

    ``connected`` is its first connection, ``transports`` are those of all.
    """

    path: Path
    header: Header = field(default_factory=Header)
    connected: ev.Connected | None = None
    transports: frozenset[str] = frozenset()
    skipped: int = 0
    _seqs: array[int] = field(default_factory=lambda: array("Q"))
    _offsets: array[int] = field(default_factory=lambda: array("Q"))
    _order: list[int] | None = None

    @classmethod
    def read(cls, path: Path) -> Streamed:
        """Go through a file.

        Raises:
            RecordingError: as :meth:`mcp_tui.journal.recording.Recording.read`.
        """
        made = cls(path=path)
        try:
            with open_parts(path) as file:
                if b'"record":"' not in file.read(PEEK):
                    raise RecordingError(f"{path} is no recording of mcp-tui.")
                file.seek(0)
                offset = 0
                for line in file:
                    if not made._take(line, offset):
                        made.skipped += 1
                    offset += len(line)
        except OSError as error:
            raise RecordingError(f"{path} cannot be read: {why(error)}.") from None
        seqs = made._seqs
        if any(seqs[place] >= seqs[place + 1] for place in range(len(seqs) - 1)):
            made._order = sorted(range(len(seqs)), key=seqs.__getitem__)
        return made

    def _take(self, line: bytes, offset: int) -> bool:
        record = read_record(line)
        if record is None:
            return False
        match record.get("record"):
            case "session":
                header = Header.of(record, self.path)
                self.header = header or self.header
                return header is not None
            case "frame":
                head = read_head(record)
                if head is not None:
                    self._seqs.append(head.seq)
                    self._offsets.append(offset)
                return head is not None
            case "event":
                try:
                    event = decode_event(record)
                except UnknownEvent:
                    return True
                except ValueError:
                    return False
                if isinstance(event, ev.Connected):
                    self.transports |= {event.transport}
                    self.connected = self.connected or event
                return True
            case kind:
                return isinstance(kind, str)

    # -- what is in it ---------------------------------------------------------------------------------------

    def events(self) -> Iterator[Event]:
        """Every event, in the order in which they happened."""
        with open_parts(self.path) as file:
            for line in file:
                if line.startswith(b'{"record":"frame",'):
                    continue
                record = read_record(line)
                if record is None or record.get("record") != "event":
                    continue
                try:
                    yield decode_event(record)
                except (UnknownEvent, ValueError):
                    continue

    def rows(self, make: Callable[[Request], Made | None]) -> Iterator[Made]:
        """What ``make`` makes of each request, in the order in which they were called; nothing where that is ``None``."""
        fold = Fold()
        made: list[Made | None] = []
        open_: dict[tuple[type, RequestId], tuple[int, Request]] = {}
        for event in self.events():
            row = fold.take(event) if isinstance(event, ev.RequestEvent) else None
            if row is None:
                continue
            key = type(row.id), row.id
            if isinstance(event, ev.Called):
                open_[key] = len(made), row
                made.append(None)
            if is_final(row):
                made[open_.pop(key)[0]] = make(row)
        for place, row in open_.values():
            made[place] = make(row)
        return (each for each in made if each is not None)

    def frames(self) -> Iterator[tuple[int, FrameHead]]:
        """Where each frame stands in the file, and its head."""
        with open_parts(self.path) as file:
            offset = 0
            for line in file:
                record = None if line.startswith(_EVENT) else read_record(line)
                if record is not None and record.get("record") == "frame":
                    head = read_head(record)
                    if head is not None:
                        yield offset, head
                offset += len(line)

    def payload(self, seq: int) -> bytes | None:
        """The bytes of frame ``seq``, or ``None`` when there is none or the file is gone."""
        order, seqs = self._order, self._seqs
        if order is None:
            place = bisect_left(seqs, seq)
        else:
            at = bisect_left(order, seq, key=seqs.__getitem__)
            place = order[at] if at < len(order) else len(seqs)
        if place >= len(seqs) or seqs[place] != seq:
            return None
        try:
            with open_parts(self.path) as file:
                file.seek(self._offsets[place])
                return raw_of(file.readline())
        except OSError:
            return None

    def wall(self, at: float) -> float:
        """The wall time, in seconds since the epoch, of a moment of the recording."""
        return self.header.wall + (at - self.header.mono)
