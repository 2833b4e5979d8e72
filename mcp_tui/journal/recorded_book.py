"""The requests of a recording as they were at one moment: each folded by the one fold, from its own events, when it is
looked at.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from mcp_tui.journal import event_table
from mcp_tui.journal.event_table import KINDS, NONE
from mcp_tui.journal.files import is_held, parts_of
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import (
    HISTORY,
    TRANSIT,
    Book,
    IllegalTransition,
    Request,
    ServerRequest,
    State,
    evolve,
)

CACHED: Final = 1024
"""Requests that are kept folded."""

NEAR: Final = 1000
"""Events between two positions up to which it is told which rows changed."""


@dataclass(slots=True)
class _Folded:
    book: Book
    last: int


class RecordedBook:
    """A book that can be put to any position of a recording. It has what views ask of a book; ``version`` changes with the
    position, and ``internal`` has the places of requests to come as well.

    ``position`` is how many events have happened, ``over`` whether that is all that will ever be in the recording.
    """

    sortable = CACHED

    def __init__(self, recording: Recording) -> None:
        self.recording: Final = recording
        self.position = 0
        self.over = False
        self.version = 0
        self.order: Final = RecordedRows(self)
        self.internal: Final = recording.table.internal
        self._folded: OrderedDict[int, _Folded] = OrderedDict()
        self._cancelled = array("I")
        self._server_requests: list[ServerRequest] = []
        self._asked = 0
        self._stood: deque[tuple[int, bool]] = deque([(0, False)], maxlen=100)

    @classmethod
    def whole(cls, recording: Recording) -> RecordedBook:
        """The requests at the end of a recording that was read."""
        book = cls(recording)
        book.seek(len(recording.table))
        return book

    def seek(self, position: int) -> bool:
        """Go to a position; false where that is where it stands."""
        recording = self.recording
        position = max(0, min(len(recording.table), position))
        over = 0 < position == len(recording.table) and not is_held(parts_of(recording.path)[-1])
        over = over and not recording.grown()
        if (position, over) == (self.position, self.over):
            return False
        self.position, self.over = position, over
        self.version += 1
        self._stood.append((position, over))
        return True

    def get(self, id: RequestId) -> Request | None:
        """The row of an id of ours, by type and value, if it was called by now."""
        number = self.recording.row(id)
        if number is None or self.recording.table.first[number] >= self.position:
            return None
        return self.row(number)

    def place(self, id: RequestId) -> int | None:
        """Where the row of an id stands in :attr:`order`, now or later."""
        return self.recording.row(id)

    def parent(self, place: int) -> int | None:
        """The place of the request that an internal one was called for."""
        event = self.recording.event(self.recording.table.first[place])
        parent = event.parent if isinstance(event, ev.Called) else None
        return None if parent is None else self.place(parent)

    def changed_since(self, version: int) -> set[int] | None:
        """The places of the rows that may differ from a version, ``None`` where that is far away."""
        count, table = self.version - version, self.recording.table
        if not 0 <= count < len(self._stood):
            return None
        stood, over = self._stood[-1 - count]
        low, high = sorted((stood, self.position))
        if high - low > NEAR:
            return None
        places = {*table.rows[low:high]}
        if over is not self.over:  # nobody watches behind the end
            places.update(
                place for place in map(table.rows.__getitem__, table.cancels) if table.over[place] == NONE
            )
        return places - {NONE}

    @property
    def cancelled(self) -> Sequence[int]:
        """The places of the requests that were cancelled by now, but for the client's own, in the order of their cancels."""
        table, known = self.recording.table, self._cancelled
        count = bisect_left(table.cancels, self.position)
        del known[count:]
        known.extend(table.rows[number] for number in table.cancels[len(known) : count])
        return known

    @property
    def called(self) -> int:
        """Requests that were called by now."""
        return bisect_left(self.recording.table.first, self.position)

    def is_over(self, place: int) -> bool:
        """Whether a request had ended by now."""
        return self.recording.table.over[place] < self.position

    def counts(self) -> tuple[int, int, int]:
        """Requests in flight, cancel requested, and answered too late. A subscription of the client's own is no work."""
        table, until = self.recording.table, self.position
        count = table.count
        requested = count(event_table.REQUESTED, until) - count(event_table.WITHDRAWN, until)
        listening = sum(self.row(each).open for each in table.listening if table.first[each] < until)
        in_flight = count(event_table.CALLED, until) - count(event_table.ENDED, until) - requested - listening
        watching = 0 if self.over else requested - count(event_table.SETTLED, until)
        return in_flight, watching, count(event_table.LATE, until)

    @property
    def server_requests(self) -> list[ServerRequest]:
        """The server's own requests by now; another list where more, or less, happened to them."""
        numbers = self.recording.table.server_request
        count = bisect_left(numbers, self.position)
        if count != self._asked:
            self._asked, book = count, Book()
            for event in filter(None, map(self.recording.event, numbers[:count])):
                book.apply(event)
            self._server_requests = book.server_requests
        return self._server_requests

    # -- rows ------------------------------------------------------------------------------------------------

    def row(self, place: int) -> Request:
        """The request of a number, from 0; one that comes later as it was called."""
        folded = self._folded.pop(place, None)
        if folded is None or folded.last >= self.position:
            folded = _Folded(Book(), self.recording.table.first[place])
            self._apply(folded.book, folded.last)
        self._go_on(folded)
        self._folded[place] = folded
        if len(self._folded) > CACHED:
            self._folded.popitem(last=False)
        if not folded.book.order:  # its first record is damaged
            folded.book.apply(ev.Called(at=self.recording.header.mono, id=place, method="?"))
        row = folded.book.order[0]
        return left_at_end(row, self.recording.at(self.position)) if self.over else row

    def _go_on(self, folded: _Folded) -> None:
        """Fold what came since. Of many events of one kind in a row the last ones and their number say it all.

        A row's history grows to twice ``HISTORY``, then it is cut to ``HISTORY``: it is the same without any multiple of
        that, if twice as many follow.
        """
        table, book, numbers = self.recording.table, folded.book, array("I")
        number = table.after[folded.last]
        while number < self.position:
            numbers.append(number)
            folded.last = number
            number = table.after[number]
        for (kind, move), run in groupby(numbers, lambda each: (table.kinds[each], table.moves[each])):
            events, at = array("I", run), 0
            while at < len(events) and not (at and (kind, move) in _ENDLESS and _says_no_more(book, move)):
                self._apply(book, events[at])
                at += 1
            left_out = max(0, len(events) - at - 2 * HISTORY) // HISTORY * HISTORY
            if left_out and book.order:
                _leave_out(book.order[0], KINDS[kind], left_out)
                book.version += left_out
            for each in events[at + left_out :]:
                self._apply(book, each)

    def _apply(self, book: Book, number: int) -> None:
        """Fold an event, unless its record turns out to be damaged."""
        event = self.recording.event(number)
        if event is not None:
            with suppress(IllegalTransition):
                book.apply(event)


_ENDLESS: Final = frozenset(
    (KINDS.index(kind), move)
    for kind, move in (
        (ev.Progress, event_table.STAYED),
        (ev.Progress, event_table.STALLED),
        (ev.Delivered, event_table.STAYED),
        (ev.Duplicate, event_table.STAYED),
        (ev.TaskStatus, event_table.STAYED),
        (ev.Late, event_table.LATE_PROGRESS),
    )
)


def _says_no_more(book: Book, move: int) -> bool:
    """Whether the next event that does this to a row is only counted: late progress may have crossed the cancel first."""
    if move != event_table.LATE_PROGRESS or not book.order:
        return True
    row = book.order[0]
    signalled, last = row.signalled_at, row.progress_at
    return signalled is None or (last is not None and last - signalled > TRANSIT)


def _leave_out(row: Request, kind: type[ev.Event], count: int) -> None:
    """Count events of a kind that the row has just taken in one of, and that are followed by more of them."""
    row.version += count
    if kind is ev.Progress:
        row.progress_count += count
    elif kind is ev.Delivered:
        row.delivered += count
    elif kind is ev.Duplicate:
        row.duplicates += count
    elif kind is ev.Late:
        row.progress_count += count
        for each in row.late:
            if each.kind is ev.Kind.PROGRESS:
                each.count += count
                each.after_transit += 0 if row.signalled_at is None else count


def left_at_end(row: Request, at: float) -> Request:
    """A row as a recording leaves it that nobody goes on with: what was watched by then is not watched any more."""
    if row.state is not State.CANCEL_REQUESTED:
        return row
    left = replace(row, history=[*row.history])
    evolve(left, ev.Settled(at=at, id=row.id, detail=evidence.RECORDING_ENDS))
    return left


class RecordedRows:
    """The requests that were called by the moment, oldest first."""

    def __init__(self, book: RecordedBook) -> None:
        self._book = book

    def __len__(self) -> int:
        return self._book.called

    def __getitem__(self, index: int) -> Request:
        return self._book.row(range(len(self))[index])

    def __iter__(self) -> Iterator[Request]:
        return map(self._book.row, range(len(self)))
