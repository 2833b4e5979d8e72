"""The store: frames and events of a live session, in memory and in files.

Appending takes a few microseconds, and does not encode, redact, or write. This is done for all records at the end of the
same turn of the event loop, so that a ``kill -9`` loses at most the records of one turn. Views read the store, and compare
:attr:`Store.version`; the store does not notify them.
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
"""The most bytes of payloads in memory."""

FRAMES: Final = 225_000
"""The most frames whose heads are in memory."""

LOG_EVENTS: Final = 22_500
"""The most events in the log."""

LOG_CHARACTERS: Final = 16 * 1024 * 1024
"""The most characters of text in the log."""

UNWRITTEN_BYTES: Final = 256 * 1024
"""The most bytes that wait to be written during a long turn of the event loop."""

_OVERHEAD_BYTES: Final = 64
"""The bytes of memory that a payload takes in addition to its size."""

_STORABLE: Final = (int, str, float)

_COLUMN_ROWS: Final = 256
"""The number of frames that are moved to the columns together, which is three times as fast as one by one."""

_HEAD_CHARACTERS: Final = 128
"""The most characters of a method or an id in memory; a hostile server may send megabytes."""


class Follower(Protocol):
    """Receives all records, like a :class:`~mcp_tui.journal.writer.Writer`, but writes no file that can be read back.

    :class:`~mcp_tui.journal.otlp.OtlpSender` implements it.
    """

    news: deque[str]

    def write(self, wanted: Iterable[Record], /) -> Iterator[None]: ...
    def close(self) -> None: ...


class Store:
    """Frames and events of one session, in order.

    Args:
        writers: the writers of a journal, a recording, or both; ``None`` is ignored.
        memory: the most bytes of payloads in memory; the newest payload is always in memory.
        soon: :meth:`asyncio.loop.call_soon` or similar, which calls back at the end of the turn. Without it, each record is
            written at once.
        followers: other receivers of all records.
        unseen: whether no view reads the store, so that only notes are stored in memory.
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
        """A number that grows with every frame and event."""
        self.problems: list[str] = []
        """Sentences about a journal or recording that stopped or continued, in order; they are in the log, too."""
        self.learned: set[str] = set()
        """The secrets of the session itself, such as tokens of a sign-in."""
        self.hidden: set[Member] = set()
        """The secrets that the user typed into a form of the server, with their names."""
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
        """Renames the journal, if there is one, after its server, which was unknown when the journal was created."""
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
        """Appends a frame; returns its number, from 1.

        ``at`` is in monotonic seconds. ``id`` may have any type; only strings and numbers are stored.
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
            # The newest payload stays even if it exceeds the limit, because the user may look at it next.
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
        """Redacts these secrets in all records written later."""
        self.learned.update(values)
        for writer in self.writers:
            writer.redactor.learn(self.learned)

    def hide(self, members: Iterable[tuple[str, Json]]) -> None:
        """Redacts the values of these members of answers, of any length, in all records written later."""
        new = {(encode(name) + b":", encode(value)) for name, value in members} - self.hidden
        self.hidden |= new
        for writer in self.writers:
            writer.redactor.hide(new)

    # -- read ------------------------------------------------------------------------------------------------

    def payload(self, seq: int) -> bytes | None:
        """Returns the bytes of a frame: unchanged from memory, or else redacted from a file; ``None`` if unavailable."""
        index = seq - self._seq + len(self._payloads) - 1
        if 0 <= index < len(self._payloads):
            return self._payloads[index]
        if not 0 < seq <= self._seq:
            return None
        # Flushes only if the frame is not in a file yet, so that reading an old frame does not cause a write.
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
        """Whether records are written to a file without an error."""
        return any(writer.is_writing for writer in self.writers)

    def flush(self) -> None:
        """Writes all waiting records now."""
        self._run(until_done=True)

    def tend(self) -> None:
        """Lets the writers delete old journals soon, even if no record is appended."""
        if self._soon is not None and not self._called:
            self._called = True
            self._soon(self._turn)

    def close(self) -> None:
        """Writes all waiting records, and closes the files."""
        self.flush()
        for follower in self._takers[len(self.writers) :]:
            follower.close()
        self._report()  # before the writers are closed, so that the journal has the reports of followers
        self.flush()
        for writer in self.writers:
            writer.close()
        self._report()

    def abandon(self) -> None:
        """Closes the files without writing, because another process has the same files and records."""
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
        # A turn that reads a flood of messages can be long, and the records must not grow without limit until its end.
        elif self._unwritten_bytes > UNWRITTEN_BYTES:
            self._run(until_done=False)

    def _turn(self) -> None:
        self._called = False
        self._run(until_done=False)
        if self._work is not None and self._soon is not None:
            self._called = True
            self._soon(self._turn)

    def _run(self, *, until_done: bool) -> None:
        """Writes all waiting records, or about 256 kB of them."""
        # Removed before it runs: a report of a writer is an event that calls :meth:`_write` and so this method again, and a
        # running generator cannot be entered.
        work, self._work = self._work or self._working(), None
        self._hurries = until_done
        for _ in work:
            if not until_done:
                self._work = work
                return

    def _working(self) -> Iterator[None]:
        while True:
            # All takers get the same batch. Records that arrive meanwhile wait for the next batch, which keeps the order.
            records, self._unwritten = self._unwritten, []
            self._unwritten_bytes = 0
            for taker in self._takers:
                yield from taker.write(records)
            self._report()
            if self._unwritten:
                continue
            # A writer that removes old parts does this between records, but not while a caller waits in flush().
            if self._hurries or not any(writer.busy for writer in self.writers):
                return
            yield

    def _report(self) -> None:
        """Logs the reports of the writers and followers."""
        for writer in self.writers:
            while writer.notes:
                self.event(Note(at=self._at, text=writer.notes.popleft()))
        for taker in self._takers:
            while taker.news:
                problem = taker.news.popleft()
                self.problems.append(problem)
                self.event(Note(at=self._at, text=problem))


class Frames:
    """The heads of the newest frames, oldest first; :attr:`hidden` counts dropped ones.

    The heads are stored in columns, with about 70 bytes per frame; the newest ones wait to be moved there. Above
    ``capacity``, the oldest eighth is dropped.
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
        """Appends the head of the newest frame."""
        self._new.append((at, size, direction == "out", method, id_, stream))
        self._space -= 1
        if not self._space:
            self._space = self._together
            self._settle()
            if len(self._at) > self._capacity:
                # An eighth is dropped at once, because dropping single frames would move all others each time.
                surplus = len(self._at) // 8
                self.hidden += surplus
                for column in (self._at, self._size, self._out, self._method, self._id, self._stream):
                    del column[:surplus]

    def _settle(self) -> None:
        """Moves the newest frames to the columns."""
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
        """Returns the index of a frame by its number; ``None`` if it was dropped."""
        index = seq - self.hidden - 1
        return index if 0 <= index < len(self) else None

    def until(self, at: float) -> int:
        """Returns the number of frames in memory before a time."""
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
    """The newest events of a log, oldest first; :attr:`hidden` counts dropped ones.

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
