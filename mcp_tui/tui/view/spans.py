"""Requests and messages by their time: which requests were under way between two moments, without looking at all."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final, Protocol

from mcp_tui.journal.event_table import LATE
from mcp_tui.journal.frames import Frames
from mcp_tui.journal.recorded_book import RecordedBook
from mcp_tui.protocol.requests import Request, State
from mcp_tui.tui.view.index import Rows, has, put

BLOCK: Final = 64
"""Requests that are left out together, where all of them had ended before."""

_FINAL: Final = frozenset({State.COMPLETED, State.FAILED})
"""States after which nothing makes a request longer: an answer that comes to any other is late."""


class Spans(Protocol):
    """Requests by when they were under way. Times are monotonic seconds; a place is a number in the book's order.

    A request is under way from its call to its outcome, or to what came late.
    """

    origin: float
    """Seconds since the epoch when the monotonic clock read 0."""

    def update(self) -> bool:
        """Take in what happened; returns whether anything did."""
        ...

    def first(self) -> float | None:
        """When the first request was called."""
        ...

    def during(self, begin: float, end: float, below: int | None = None) -> Iterator[tuple[int, Request]]:
        """The requests under way between two moments with their places, newest first; only those before ``below``."""
        ...

    def messages(self, until: float) -> int:
        """How many messages went either way before a moment."""
        ...


class BookSpans:
    """Those of a book that grows."""

    def __init__(self, book: Rows, frames: Frames, *, origin: float) -> None:
        self.origin = origin
        self._book = book
        self._frames = frames
        self._begins = array("d")
        self._ends = array("d")
        self._latest: list[float] = []  # of each block of requests, the end that is last
        self._watched = array("I")  # places that may yet change, sorted
        self._seen = -1

    def update(self) -> bool:
        if self._book.version == self._seen:
            return False
        changed = self._book.changed_since(self._seen) if self._begins else set[int]()
        self._seen = self._book.version
        order = self._book.order
        places = self._watched if changed is None else changed
        for place in [place for place in places if has(self._watched, place)]:
            self._take(place, order[place])
        for place in range(len(self._begins), len(order)):
            row = order[place]
            self._begins.append(row.called_at)
            self._ends.append(math.inf)
            if place % BLOCK == 0:
                self._latest.append(-math.inf)
            self._take(place, row)
        return True

    def _take(self, place: int, row: Request) -> None:
        end = ended(row)
        before, self._ends[place] = self._ends[place], end
        put(self._watched, place, present=row.state not in _FINAL)
        block = place // BLOCK
        if end >= self._latest[block]:
            self._latest[block] = end
        elif before == self._latest[block]:
            self._latest[block] = max(self._ends[block * BLOCK : (block + 1) * BLOCK])

    def first(self) -> float | None:
        return self._begins[0] if self._begins else None

    def during(self, begin: float, end: float, below: int | None = None) -> Iterator[tuple[int, Request]]:
        place = bisect_right(self._begins, end)
        place = (place if below is None else min(place, below)) - 1
        order = self._book.order
        while place >= 0:
            if self._latest[place // BLOCK] < begin:
                place = place // BLOCK * BLOCK - 1
                continue
            if self._ends[place] >= begin:
                yield place, order[place]
            place -= 1

    def messages(self, until: float) -> int:
        return self._frames.hidden + self._frames.until(until)


class RecordedSpans:
    """Those of a recording at a moment: found by the numbers of events, so that no request is folded but the ones given."""

    def __init__(self, book: RecordedBook, *, origin: float) -> None:
        self.origin = origin
        self._book = book
        self._blocks: list[int] = []
        self._seen = -1
        self._positions: dict[float, int] = {}
        self._known = 0

    def update(self) -> bool:
        version, self._seen = self._seen, self._book.version
        return version != self._seen

    def first(self) -> float | None:
        table = self._book.recording.table
        if not table.first or table.first[0] >= self._book.position:
            return None
        return self._book.recording.at(table.first[0] + 1)

    def during(self, begin: float, end: float, below: int | None = None) -> Iterator[tuple[int, Request]]:
        book, table = self._book, self._book.recording.table
        since, until = self._position(begin), min(book.position, self._position(end))
        number = bisect_left(table.first, until)
        number = (number if below is None else min(number, below)) - 1
        late = self._late(since, until)
        blocks = {each // BLOCK for each in late}
        while number >= 0:
            block = number // BLOCK
            if block not in blocks and self._last_over(block) < since:
                number = block * BLOCK - 1
                continue
            if table.over[number] >= since or number in late:
                yield number, book.row(number)
            number -= 1

    def _late(self, since: int, until: int) -> set[int]:
        """The requests that were answered late between two positions."""
        table, found = self._book.recording.table, set[int]()
        at = table.moves.find(LATE, since, until)
        while at >= 0:
            found.add(table.rows[at])
            at = table.moves.find(LATE, at + 1, until)
        return found

    def _last_over(self, block: int) -> int:
        """The event that ended the last one of a block; of whole blocks it is kept, since it only ever comes down."""
        over = self._book.recording.table.over
        while len(self._blocks) <= block and (len(self._blocks) + 1) * BLOCK <= len(over):
            begin = len(self._blocks) * BLOCK
            self._blocks.append(max(over[begin : begin + BLOCK]))
        return self._blocks[block] if block < len(self._blocks) else max(over[block * BLOCK :])

    def _position(self, moment: float) -> int:
        """How many events had happened at a moment."""
        replay = self._book.recording
        events = len(replay.table)
        if self._known != events or len(self._positions) > 1024:
            self._known = events
            self._positions.clear()
        found = self._positions.get(moment)
        if found is None:
            found = bisect_right(range(1, events + 1), moment, key=replay.at)
            self._positions[moment] = found
        return found

    def messages(self, until: float) -> int:
        position = min(self._position(until), self._book.position)
        return self._book.recording.frames_until(position)


def ended(row: Request) -> float:
    """When the last thing that can be drawn of a request happened; infinity while it is under way."""
    if row.ended_at is None or row.state is State.CANCEL_REQUESTED:
        return math.inf
    return max(row.ended_at, *(row.ended_at + each.last_after for each in row.late), row.ended_at)
