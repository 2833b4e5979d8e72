"""The store: the one place to which a live session pushes what happens.

Appending costs a few microseconds and neither encodes, redacts nor writes. That is done in bulk, at the end of the
same turn of the event loop: what a ``kill -9`` can take away is what one turn brought. Views read the store and
compare :attr:`Store.version`; nothing is pushed to them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from mcp_tui.journal.frames import Direction, FrameHead, Frames
from mcp_tui.journal.records import texts_of
from mcp_tui.journal.writer import Record, Writer
from mcp_tui.protocol.descriptions import LOGGED
from mcp_tui.protocol.events import Event, Note, RequestId

MEMORY: Final = 32 * 1024 * 1024
"""Bytes of payloads kept in memory."""

LOG: Final = 20_000
"""Events kept for the log."""

LOG_MEMORY: Final = 16 * 1024 * 1024
"""Characters of text in them, all together."""

UNWRITTEN: Final = 256 * 1024
"""Bytes that wait to be written at most, whatever the event loop does."""

_OVERHEAD: Final = 64
"""Bytes that the interpreter needs for a payload beside its own."""


class Store:
    """Frames and events of one session, in order.

    ``frame`` and ``event`` append. With ``writers`` everything is also written: a journal, a recording, or both; ``None``
    stands for none. ``soon`` is :meth:`asyncio.loop.call_soon` or the like: it calls back at the end of the turn.
    Without it, every record is written at once.

    ``memory`` bounds the payloads in memory, in bytes; the newest one is always kept.
    """

    def __init__(
        self,
        *writers: Writer | None,
        memory: int = MEMORY,
        soon: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        self.frames = Frames()
        self.log = EventLog(LOG, LOG_MEMORY)
        self.version = 0
        """Grows with every frame and event."""
        self.evicted = 0
        """Payloads that are not in memory any more."""
        self.problems: list[str] = []
        """That a journal or recording stopped and why, and that it goes on, as it happened; each is in the log as well."""
        self.learned: set[str] = set()
        """Secrets that came up in the session: tokens of a sign-in."""
        self.writers = tuple(writer for writer in writers if writer is not None)
        self._memory = memory
        self._payloads: deque[bytes] = deque()
        self._payload_bytes = 0
        self._seq = 0
        self._soon = soon
        self._unwritten: list[Record] = []
        self._unwritten_bytes = 0
        self._work: Iterator[None] | None = None
        self._called = False
        self._at = 0.0

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
    ) -> int:
        """Append a frame and return its number, from 1.

        ``at`` is monotonic seconds. ``id`` is the frame's, of any type; only texts and numbers are kept of it.
        """
        self._seq += 1
        self.version += 1
        self._at = at
        known = id if isinstance(id, (int, str, float)) else None
        head = FrameHead(self._seq, at, direction, method, known, len(raw), stream)
        self.frames.append(head)
        self._payloads.append(raw)
        self._payload_bytes += len(raw) + _OVERHEAD
        while self._payload_bytes > self._memory and len(self._payloads) > 1:
            self._payload_bytes -= len(self._payloads.popleft()) + _OVERHEAD
            self.evicted += 1
        if self.writers:
            self._write((head, raw), len(raw))
        return self._seq

    def event(self, event: Event) -> None:
        """Append an event."""
        self.version += 1
        self._at = event.at
        if type(event) in LOGGED:
            self.log.append(event)
        if self.writers:
            self._write(event, _OVERHEAD)

    def learn(self, values: Iterable[str]) -> None:
        """Keep these secrets out of everything that is written from now on."""
        self.learned.update(values)
        for writer in self.writers:
            writer.redactor.learn(self.learned)

    # -- read ------------------------------------------------------------------------------------------------

    def payload(self, seq: int) -> bytes | None:
        """The bytes of frame ``seq``: as they came while they are in memory, then from a file, without secrets."""
        index = seq - self._seq + len(self._payloads) - 1
        if 0 <= index < len(self._payloads):
            return self._payloads[index]
        if not 0 < seq <= self._seq:
            return None
        found = self._written(seq)
        if found is None:
            self.flush()
            found = self._written(seq)
        return found

    def _written(self, seq: int) -> bytes | None:
        found = (writer.payload(seq) for writer in self.writers)
        return next((raw for raw in found if raw is not None), None)

    # -- write -----------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write everything now."""
        self._run(until_done=True)

    def close(self) -> None:
        """Write everything and close the files."""
        self.flush()
        for writer in self.writers:
            writer.close()
        self._tell()

    def _write(self, record: Record, size: int) -> None:
        self._unwritten.append(record)
        self._unwritten_bytes += size
        if self._soon is None:
            self.flush()
        elif not self._called:
            self._called = True
            self._soon(self._turn)
        elif self._unwritten_bytes > UNWRITTEN:
            self._run(until_done=False)

    def _turn(self) -> None:
        self._called = False
        self._run(until_done=False)
        if self._work is not None and self._soon is not None:
            self._called = True
            self._soon(self._turn)

    def _run(self, *, until_done: bool) -> None:
        """Work on what is not written: all of it, or about 256 kB."""
        if self._work is None:
            self._work = self._working()
        work, self._work = self._work, None
        for _ in work:
            if not until_done:
                self._work = work
                return

    def _working(self) -> Iterator[None]:
        while self._unwritten:
            records, self._unwritten = self._unwritten, []
            self._unwritten_bytes = 0
            for writer in self.writers:
                yield from writer.write(records)
            self._tell()

    def _tell(self) -> None:
        """Put into the log what the writers have to say."""
        for writer in self.writers:
            while writer.news:
                problem = writer.news.popleft()
                self.problems.append(problem)
                self.event(Note(at=self._at, text=problem))


class EventLog(list[Event]):
    """The newest events of a log, oldest first; :attr:`hidden` counts those let go, in bulk."""

    def __init__(self, capacity: int, text: int) -> None:
        super().__init__()
        self.hidden = 0
        self._capacity = capacity
        self._full = capacity + max(1, capacity // 8)
        self._text = text
        self._texts = 0

    def append(self, event: Event) -> None:
        """Add the newest event."""
        super().append(event)
        self._texts += _length(event)
        if len(self) >= self._full:
            self._let_go(len(self) - self._capacity)
        while self._texts > self._text and len(self) > 1:
            self._let_go(max(1, len(self) // 8))

    def _let_go(self, surplus: int) -> None:
        self._texts -= sum(map(_length, self[:surplus]))
        del self[:surplus]
        self.hidden += surplus


def _length(event: Event) -> int:
    return sum(len(text) for key in texts_of(event) if (text := getattr(event, key)))
