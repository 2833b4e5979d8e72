"""Which requests of a recording are shown at its moment: as :class:`~mcp_tui.tui.view.index.RowIndex`, but none is
folded for it, unless a filter has to look at it.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

from mcp_tui.journal.event_table import NONE
from mcp_tui.journal.recorded_book import CACHED, RecordedBook
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Request, ServerRequest
from mcp_tui.tui.view.filters import Filter
from mcp_tui.tui.view.index import Key, RowIndex

BUDGET: Final = 0.03
"""Seconds that a filter may look at rows before the screen goes on."""


class RecordedIndex(RowIndex):
    """The rows of a moment by their line: 0 is the newest. A row's number is its place in the recording.

    With a filter, rows are looked at from the newest on, for :data:`BUDGET` seconds at each :meth:`update`;
    :attr:`unfiltered` says how many still wait for it.
    """

    sortable = CACHED

    def __init__(self, book: RecordedBook) -> None:
        super().__init__(book)
        self._book = book
        self._called = 0
        self._hidden = array("I")  # numbers of the rows that are left out, where there is no filter
        self._shifted = array("i")  # each less its place: how many rows are shown before it
        self._found = array("I")  # those that are shown, where there is one
        self._from = 0  # the lowest number that the filter has looked at
        self._position: int = -1
        self._looked_at = 0  # own requests of which it is known what they were made for
        self._parents: dict[int, int] = {}  # numbers of errands, and of the rows that they were made for
        self._asked: tuple[int, Sequence[ServerRequest]] = 0, ()
        self.unfiltered = 0

    def __len__(self) -> int:
        return len(self._found) if self.filter else self._called - len(self._hidden)

    @property
    def kept(self) -> int:
        return self._called

    @property
    def server_requests(self) -> Sequence[ServerRequest]:
        numbers = self._book.recording.table.server_request
        count = bisect_left(numbers, self._book.position)
        if count != self._asked[0]:
            self._asked = count, self._book.server_requests
        return self._asked[1]

    def errands(self, row: Request) -> Sequence[Request]:
        if not self._parents:
            return ()
        number = self._book.recording.row(row.id)
        found = [each for each, parent in self._parents.items() if parent == number and each < self._called]
        return [self._book.row(each) for each in found]

    def older(self, place: int) -> int:
        return self._place_of(place)

    def row(self, line: int) -> Request:
        return self._book.row(self._number(len(self) - 1 - line))

    def _number(self, place: int) -> int:
        """The number of the row at a place, counted from the oldest that is shown."""
        if self.filter:
            return self._found[place]
        return place + bisect_right(self._shifted, place)

    def line(self, key: Key) -> int | None:
        number = self._book.recording.row(key[1])
        if number is None or number >= self._called:
            return None
        place = self._place_of(number)
        if place >= len(self) or self._number(place) != number:
            return None
        return len(self) - 1 - place

    def _place_of(self, number: int) -> int:
        """How many rows are shown that are older than a number."""
        if self.filter:
            return bisect_left(self._found, number)
        return number - bisect_left(self._hidden, number)

    def nearest(self, key: Key) -> int:
        number = self._book.recording.row(key[1]) or 0
        return max(0, min(len(self) - 1, len(self) - 1 - self._place_of(number)))

    def refilter(self, filter: Filter, *, show_internal: bool) -> None:
        self.filter, self.show_internal = filter, show_internal
        self._position = -1
        self.update()

    def update(self) -> bool:
        book = self._book
        moved = book.position != self._position
        if moved:
            before, self._position = self._position, book.position
            self._called = book.called
            self._look_for_parents()
            self._hide()
            if self.filter:
                self._look_again(before)
        if self.filter and self.unfiltered:
            self._look_on()
            return True
        return moved

    def _look_for_parents(self) -> None:
        """Read what the client's own requests were made for, each once."""
        replay = self._book.recording
        internal = replay.table.internal
        until = bisect_left(internal, self._called)
        for number in internal[self._looked_at : until]:
            event = replay.event(replay.table.first[number])
            if isinstance(event, ev.Called) and event.parent is not None:
                parent = replay.row(event.parent)
                if parent is not None:
                    self._parents[number] = parent
        self._looked_at = max(self._looked_at, until)

    def _hide(self) -> None:
        book = self._book
        internal = book.recording.table.internal
        called = internal[: bisect_left(internal, self._called)]
        self._hidden = array("I", (each for each in called if self._is_hidden(each, over=book.is_over(each))))
        self._shifted = array("i", (each - place for place, each in enumerate(self._hidden)))

    def _is_hidden(self, number: int, *, over: bool) -> bool:
        return (over and not self.show_internal) or (not self.filter and number in self._parents)

    # -- the filter ------------------------------------------------------------------------------------------

    def _look_again(self, before: int) -> None:
        """Look again at the rows that events between the old and the new position were about."""
        table, position = self._book.recording.table, self._position
        low, high = sorted((before, position))
        if before < 0 or high - low > 1000:
            self._found = array("I")
            self._from = self._called
        else:
            changed = {row for row in table.rows[low:high] if row != NONE and row >= self._from}
            gone = bisect_left(self._found, self._called)
            del self._found[gone:]
            for row in sorted(changed):
                at = bisect_left(self._found, row)
                present = at < len(self._found) and self._found[at] == row
                shown = row < self._called and self._passes_at(row)
                if shown and not present:
                    self._found.insert(at, row)
                elif present and not shown:
                    del self._found[at]
            self._from = min(self._from, self._called)
        self.unfiltered = self._from

    def _look_on(self) -> None:
        until = time.monotonic() + BUDGET
        found: list[int] = []
        while self._from and time.monotonic() < until:
            self._from -= 1
            if self._passes_at(self._from):
                found.append(self._from)
        self._found = array("I", found[::-1]) + self._found
        self.unfiltered = self._from

    def _passes_at(self, number: int) -> bool:
        at = bisect_left(self._hidden, number)
        if at < len(self._hidden) and self._hidden[at] == number:
            return False
        return self.filter.matches(self._book.row(number))
