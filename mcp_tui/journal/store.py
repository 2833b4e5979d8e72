"""The store: frames and events of a live session, in memory and on their way into files.

Appending costs a few microseconds and neither encodes, redacts, nor writes. That is done in bulk at the end of the same turn
of the event loop, so a ``kill -9`` loses what came in one turn at most. Views read the store and compare
:attr:`Store.version`; nothing is pushed to them.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final, Protocol

from mcp_tui.journal.records import Direction, FrameHead, texts_of
from mcp_tui.journal.redaction import Member
from mcp_tui.journal.writer import Record, Writer
from mcp_tui.protocol.descriptions import LOGGED
from mcp_tui.protocol.events import Event, Note, RequestId
from mcp_tui.protocol.messages import Json, encode

PAYLOAD_BYTES: Final = 32 * 1024 * 1024
"""Bytes of payloads kept in memory."""

FRAMES: Final = 225_000
"""Frames whose heads are kept."""

LOG_EVENTS: Final = 22_500
"""Events kept for the log."""

LOG_CHARACTERS: Final = 16 * 1024 * 1024
"""Characters of text kept for the log."""

UNWRITTEN_BYTES: Final = 256 * 1024
"""Bytes that may wait to be written, however long a turn of the event loop takes."""

_OVERHEAD_BYTES: Final = 64
"""Bytes of memory that a payload takes in addition to its own."""

_STORABLE: Final = (int, str, float)

_COLUMN_ROWS: Final = 256
"""Frames that are put into columns together: one alone takes three times as long."""

_HEAD_CHARACTERS: Final = 128
"""Characters kept of a method or an id: those of a hostile server may be megabytes."""


class Follower(Protocol):
    """Takes in all records as a :class:`~mcp_tui.journal.writer.Writer` does, but writes no file that can be read back.

    :class:`~mcp_tui.journal.otlp.SpanSender` alone is one.
    """

    news: deque[str]

    def write(self, wanted: Iterable[Record], /) -> Iterator[None]: ...
    def close(self) -> None: ...


class Store:
    """Frames and events of one session, in order.

    With ``writers`` everything is also written: to a journal, a recording, or both; ``None`` is ignored. ``soon`` is
    :meth:`asyncio.loop.call_soon` or similar: it calls back at the end of the turn. Without it, each record is written at
    once. ``followers`` are given the same records.

    ``memory`` limits the payloads in memory, in bytes; the newest one is always kept. With ``unseen`` nothing is kept there
    but notes: nobody looks at it.
    """

    def __init__(
        self,
        *writers: Writer | None,
        memory: int = PAYLOAD_BYTES,
        soon: Callable[[Callable[[], None]], object] | None = None,
        followers: Iterable[Follower] = (),
        unseen: bool = False,
    ) -> None:
        self._unseen = unseen
        self._logged = frozenset({Note}) if unseen else LOGGED
        self.frames = Frames()
        self.log = EventLog()
        self.version = 0
        """Grows with every frame and event."""
        self.problems: list[str] = []
        """Why a journal or recording stopped, and that it continues, in order; each is in the log as well."""
        self.learned: set[str] = set()
        """Secrets of the session itself: tokens of a sign-in."""
        self.hidden: set[Member] = set()
        """Secrets that a person typed into a server's form, with their names."""
        self.writers = tuple(writer for writer in writers if writer is not None)
        self._takers: tuple[Follower, ...] = (*self.writers, *followers)
        self._memory = memory
        self._payloads: deque[bytes] = deque()
        self._payload_bytes = 0
        self._seq = 0
        self._soon = soon
        self._unwritten: list[Record] = []
        self._unwritten_bytes = 0
        self._work: Iterator[None] | None = None
        self._hurries = False
        self._called = False
        self._at = 0.0

    def rename_for(self, server: str) -> None:
        """Names the journal, if there is one, by its server, which was not known when it began."""
        for writer in self.writers:
            writer.rename_for(server)

    # -- append ----------------------------------------------------------------------------------------------

    def frame(
        self,
        direction: Direction,
        raw: bytes,
        *,
        at: float,
        stream: RequestId | None = None,
        method: str = "",
        id: object = None,
        own: bool = False,
    ) -> int:
        """Appends a frame and returns its number, from 1.

        ``at`` is monotonic seconds. ``id`` may have any type; only strings and numbers are kept.
        """
        self._seq += 1
        self.version += 1
        self._at = at
        known = id if isinstance(id, _STORABLE) else None
        size = len(raw)
        if not self._unseen:
            self.frames.append(at, direction, method, known, size, stream)
            self._payloads.append(raw)
            self._payload_bytes += size + _OVERHEAD_BYTES
            # The newest stays even if it alone is larger: it is the one that somebody is about to look at.
            while self._payload_bytes > self._memory and len(self._payloads) > 1:
                self._payload_bytes -= len(self._payloads.popleft()) + _OVERHEAD_BYTES
        if self._takers:
            head = FrameHead(self._seq, at, direction, method, known, size, stream, own)
            self._write((head, raw), size)
        return self._seq

    def event(self, event: Event) -> None:
        """Appends an event."""
        self.version += 1
        self._at = event.at
        if type(event) in self._logged:
            self.log.append(event)
        if self._takers:
            self._write(event, _OVERHEAD_BYTES)

    def learn(self, values: Iterable[str]) -> None:
        """Redacts these secrets in everything that is written from now on."""
        self.learned.update(values)
        for writer in self.writers:
            writer.redactor.learn(self.learned)

    def hide(self, members: Iterable[tuple[str, Json]]) -> None:
        """Hides the values of these members of answers, however short, in everything that is written from now on."""
        new = {(encode(name) + b":", encode(value)) for name, value in members} - self.hidden
        self.hidden |= new
        for writer in self.writers:
            writer.redactor.hide(new)

    # -- read ------------------------------------------------------------------------------------------------

    def payload(self, seq: int) -> bytes | None:
        """Returns the bytes of a frame: unchanged while they are in memory, then from a file, without secrets."""
        index = seq - self._seq + len(self._payloads) - 1
        if 0 <= index < len(self._payloads):
            return self._payloads[index]
        if not 0 < seq <= self._seq:
            return None
        # Only what is not on disk yet is worth a flush: looking at an old frame must not make the session write.
        found = self._written(seq)
        if found is None:
            self.flush()
            found = self._written(seq)
        return found

    def _written(self, seq: int) -> bytes | None:
        found = (writer.payload(seq) for writer in self.writers)
        return next((raw for raw in found if raw is not None), None)

    # -- write -----------------------------------------------------------------------------------------------

    @property
    def is_written(self) -> bool:
        """Whether what is added is also written: to a file that takes it."""
        return any(writer.is_writing for writer in self.writers)

    def flush(self) -> None:
        """Writes everything now."""
        self._run(until_done=True)

    def tend(self) -> None:
        """Has the writers do soon what is due without a record: what has become too old is deleted."""
        if self._soon is not None and not self._called:
            self._called = True
            self._soon(self._turn)

    def close(self) -> None:
        """Writes everything and closes the files."""
        self.flush()
        for follower in self._takers[len(self.writers) :]:
            follower.close()
        self._report()  # for the journal, too
        self.flush()
        for writer in self.writers:
            writer.close()
        self._report()

    def abandon(self) -> None:
        """Leaves the files, and what is not written yet, to another process, which has all that too."""
        for writer in self.writers:
            writer.abandon()

    def _write(self, record: Record, size: int) -> None:
        self._unwritten.append(record)
        self._unwritten_bytes += size
        if self._soon is None:
            self.flush()
        elif not self._called:
            self._called = True
            self._soon(self._turn)
        # A turn that reads a flood can be long. What came in it must not grow without bound until its end.
        elif self._unwritten_bytes > UNWRITTEN_BYTES:
            self._run(until_done=False)

    def _turn(self) -> None:
        self._called = False
        self._run(until_done=False)
        if self._work is not None and self._soon is not None:
            self._called = True
            self._soon(self._turn)

    def _run(self, *, until_done: bool) -> None:
        """Writes everything that waits, or about 256 kB of it."""
        # Taken out before it runs: what a writer reports is an event, which comes back here through :meth:`_write`, and a
        # generator that is running cannot be entered again.
        work, self._work = self._work or self._working(), None
        self._hurries = until_done
        for _ in work:
            if not until_done:
                self._work = work
                return

    def _working(self) -> Iterator[None]:
        while True:
            # All takers get the same batch, and what arrives while they work waits for the next one: order is kept in each.
            records, self._unwritten = self._unwritten, []
            self._unwritten_bytes = 0
            for taker in self._takers:
                yield from taker.write(records)
            self._report()
            if self._unwritten:
                continue
            # A writer that removes old parts does so between its records, and never while somebody waits for them.
            if self._hurries or not any(writer.busy for writer in self.writers):
                return
            yield

    def _report(self) -> None:
        """Logs what the writers and followers report."""
        for writer in self.writers:
            while writer.notes:
                self.event(Note(at=self._at, text=writer.notes.popleft()))
        for taker in self._takers:
            while taker.news:
                problem = taker.news.popleft()
                self.problems.append(problem)
                self.event(Note(at=self._at, text=problem))


class Frames:
    """The heads of the newest frames, oldest first, without a gap; :attr:`hidden` counts those dropped.

    They are kept in columns, about 70 bytes per frame; the newest wait to be put there. Above ``capacity`` the oldest eighth
    is dropped.
    """

    def __init__(self, capacity: int = FRAMES) -> None:
        self.hidden = 0
        self._together = min(_COLUMN_ROWS, capacity // 8)
        self._space = self._together
        self._capacity = capacity - self._together
        self._new: list[tuple[float, int, bool, str, RequestId | float | None, RequestId | None]] = []
        self._at = array("d")
        self._size = array("Q")
        self._out = bytearray()
        self._method: list[str] = []
        self._id: list[RequestId | float | None] = []
        self._stream: list[RequestId | None] = []

    def append(
        self,
        at: float,
        direction: Direction,
        method: str,
        id_: RequestId | float | None,
        size: int,
        stream: RequestId | None,
    ) -> None:
        """Appends the newest frame by the parts of its head."""
        self._new.append((at, size, direction == "out", method, id_, stream))
        self._space -= 1
        if not self._space:
            self._space = self._together
            self._settle()
            if len(self._at) > self._capacity:
                # An eighth at once: to drop one for each that comes would move all the others every time.
                surplus = len(self._at) // 8
                self.hidden += surplus
                for column in (self._at, self._size, self._out, self._method, self._id, self._stream):
                    del column[:surplus]

    def _settle(self) -> None:
        """Puts the newest frames into the columns."""
        if self._new:
            at, size, out, method, id_, stream = zip(*self._new, strict=True)
            self._at.extend(at)
            self._size.extend(size)
            self._out.extend(out)
            self._method += [each and sys.intern(each[:_HEAD_CHARACTERS]) for each in method]
            self._id += [each[:_HEAD_CHARACTERS] if isinstance(each, str) else each for each in id_]
            self._stream.extend(stream)
            self._new.clear()

    def find(self, seq: int) -> int | None:
        """Returns the index of a frame, or ``None`` if it is not kept."""
        index = seq - self.hidden - 1
        return index if 0 <= index < len(self) else None

    def until(self, at: float) -> int:
        """Returns the number of kept frames before a time."""
        self._settle()
        return bisect_left(self._at, at)

    def __len__(self) -> int:
        return len(self._at) + len(self._new)

    def __iter__(self) -> Iterator[FrameHead]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, index: int) -> FrameHead:
        self._settle()
        place = range(len(self))[index]
        return FrameHead(
            self.hidden + place + 1,
            self._at[place],
            "out" if self._out[place] else "in",
            self._method[place],
            self._id[place],
            self._size[place],
            self._stream[place],
        )


class EventLog(list[Event]):
    """The newest events of a log, oldest first; :attr:`hidden` counts those dropped.

    Above ``capacity`` events, or ``text`` characters in them, the oldest eighth is dropped.
    """

    def __init__(self, capacity: int = LOG_EVENTS, text: int = LOG_CHARACTERS) -> None:
        super().__init__()
        self.hidden = 0
        self._capacity = capacity
        self._text = text
        self._length = 0

    def append(self, event: Event) -> None:
        """Appends the newest event."""
        super().append(event)
        self._length += _length(event)
        while len(self) > self._capacity or (self._length > self._text and len(self) > 1):
            surplus = max(1, len(self) // 8)
            self._length -= sum(map(_length, self[:surplus]))
            del self[:surplus]
            self.hidden += surplus


def _length(event: Event) -> int:
    length = 0
    for key in texts_of(event):
        length += len(getattr(event, key) or "")
    return length
