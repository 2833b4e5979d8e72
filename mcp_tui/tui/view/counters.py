"""How the requests of the server bar are counted: beside the bar, which the first frame has, and what they are has not."""

from __future__ import annotations

from array import array
from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.evidence import (
    end_of_watching,
    is_disconnected,
    is_internal,
    is_still_progressing,
    late_answer,
)
from mcp_tui.protocol.requests import Book, Request
from mcp_tui.protocol.states import State
from mcp_tui.tui.view.index import has, put
from mcp_tui.tui.view.server import Counts


class Counters:
    """The counts over the rows of a book, adjusted with each event instead of made anew. Feed it what the book took in."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._late = array("I")  # places of rows, sorted
        self._lost = array("I")
        self._progressing: dict[int, Request] = {}
        for place, row in enumerate(book.order):
            self._take(place, row)

    def note(self, event: ev.Event) -> None:
        """Take in an event."""
        if type(event) in _COUNTED and isinstance(event, ev.RequestEvent):
            place = self._book.place(event.id)
            if place is not None:
                self._take(place, self._book.order[place])

    def _take(self, place: int, row: Request) -> None:
        own = is_internal(row)
        late = late_answer(row) is not None
        lost = (is_disconnected(row) and not own) or (row.state is State.LOST and not row.internal)
        put(self._late, place, present=late and not own)
        put(self._lost, place, present=lost and not late)
        if row.late and row.cancel_at is not None and not own:
            self._progressing[place] = row
        else:
            self._progressing.pop(place, None)

    def counts(self, now: float) -> Counts:
        """The counts at a moment, in monotonic seconds."""
        in_flight = requested = 0
        for row in self._book.unfinished.values():
            if row.open:
                in_flight += not row.listening
            else:
                requested += 1
        self._progressing = {
            place: row
            for place, row in self._progressing.items()
            if is_still_progressing(row, end_of_watching(row, now))
        }
        lost = len(self._lost) - sum(has(self._lost, place) for place in self._progressing)
        return Counts(in_flight, requested, len(self._late), progressing=len(self._progressing), lost=lost)


_COUNTED: Final = frozenset({ev.CancelRequested, ev.CancelWithdrawn, ev.Late, ev.Lost, ev.Unwatched})
"""Events that may change what counts of a row that is not in flight."""
