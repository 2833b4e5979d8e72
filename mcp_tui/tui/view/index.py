"""Which rows of a book are shown, newest first, kept up to date without looking at all of them each time."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, Protocol

from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import TERMINAL, Book, Request, ServerRequest
from mcp_tui.tui.view.filters import Filter
from mcp_tui.tui.view.lines import BUDGET

AT_ONCE: Final = 20_000
"""Rows that a new filter looks at before it is shown."""

Key = tuple[type, RequestId]
"""An id by type and value, as a book keys its rows: ``1`` and ``"1"`` are two."""


def key(row: Request) -> Key:
    """The key of ``row``."""
    return type(row.id), row.id


class Rows(Protocol):
    """Requests to look at, oldest first: the book of a session, or what a recording tells of one."""

    @property
    def order(self) -> Sequence[Request]: ...

    @property
    def version(self) -> int:
        """Changes with every event that a row takes in."""
        ...

    def get(self, id: RequestId) -> Request | None:
        """The row of an id, by type and value."""
        ...

    def place(self, id: RequestId) -> int | None:
        """Where the row of an id stands in :attr:`order`."""
        ...

    def changed_since(self, version: int) -> set[int] | None:
        """The places of the rows that changed since a version; ``None`` where that is not known."""
        ...


class RowIndex:
    """The rows that pass the filter, by their line: 0 is the newest.

    The client's own requests are hidden once they are over, and only then: nothing hides a running call but the filter.
    What was asked for another row's sake stands under that, see :meth:`errands`, unless a filter looks for it.
    Lines are found by the place of a row in the book, which never changes. ``sortable`` says how many rows can be put in
    another order without the screen standing still.

    A new filter looks at the newest :data:`AT_ONCE` rows at once, and at older ones for :data:`BUDGET` seconds with each
    :meth:`update`; ``unfiltered`` says how many still wait for it.
    """

    sortable = 20_000

    def __init__(self, book: Rows) -> None:
        self.book: Final = book
        self.filter = Filter()
        self.show_internal = False
        self.unfiltered = 0
        self.moves = 0
        """Grows with every change but a row that comes at the end."""
        self._taken = 0
        self._shown = array("I")
        self._own = array("I")  # places of the client's own requests, and of those of them that run
        self._open_own: list[int] = []
        self._errands: dict[
            Key, list[int]
        ] = {}  # places of what was called for a row's sake, and all of them
        self._below = array("I")
        self._own_below = 0
        self._seen = -1

    def __len__(self) -> int:
        return len(self._shown)

    @property
    def total(self) -> int:
        """Rows that would be shown without the filter; with one, those too that stand under others."""
        return self._taken - self.internal_hidden if self.filter else len(self)

    @property
    def internal_hidden(self) -> int:
        """Requests of the client's own that are hidden because they are, and not by a filter."""
        if self.show_internal:
            return 0
        if self.filter:
            return len(self._own) - len(self._open_own)
        return len(self._own) - self._own_below - sum(not has(self._below, place) for place in self._open_own)

    @property
    def server_requests(self) -> Sequence[ServerRequest]:
        """The server's own requests, oldest first."""
        return self.book.server_requests if isinstance(self.book, Book) else ()

    def errands(self, row: Request) -> Sequence[Request]:
        """The requests that the client made for a row's sake, oldest first: the polls of its task, its cancel."""
        return [self.book.order[place] for place in self._errands.get(key(row), ())] if self._errands else ()

    def row(self, line: int) -> Request:
        """The row at a line."""
        return self.book.order[self._shown[len(self._shown) - 1 - line]]

    def line(self, key: Key) -> int | None:
        """The line of a row, or ``None`` where it is not shown."""
        place = self._place_of_key(key)
        if place is None or not has(self._shown, place):
            return None
        return len(self._shown) - 1 - bisect_left(self._shown, place)

    def _place_of_key(self, key: Key) -> int | None:
        place = self.book.place(key[1])
        return place if place is not None and place < self._taken else None

    def older(self, place: int) -> int:
        """How many of the rows that are shown were called before that of a place."""
        return bisect_left(self._shown, place)

    def nearest(self, key: Key) -> int:
        """The line where a row is, or would be if it were shown."""
        newer = len(self._shown) - bisect_right(self._shown, self._place_of_key(key) or 0)
        return max(0, min(len(self._shown) - 1, newer))

    def refilter(self, filter: Filter, *, show_internal: bool) -> None:
        """Show what passes another filter."""
        self.filter, self.show_internal = filter, show_internal
        self.moves += 1
        if filter:
            self._look_from_the_end()
        else:
            self.unfiltered = 0
            hidden = set(self._below)
            if not show_internal:
                hidden |= set(self._own) - set(self._open_own)
            self._shown = array("I", (place for place in range(self._taken) if place not in hidden))
        self.update()

    def update(self) -> bool:
        """Take in what happened to the book; returns whether anything did."""
        book = self.book
        if book.version == self._seen and not self.unfiltered:
            return False
        changed = book.changed_since(self._seen) if self._taken and self.filter else set[int]()
        self._seen = book.version
        if changed is None:
            self._look_from_the_end()
        else:
            for place in sorted(place for place in changed if self.unfiltered <= place < self._taken):
                self._put(place)
        self._close_own()
        for place in range(self._taken, len(book.order)):
            self._take_in(place, book.order[place])
        if self.unfiltered:
            self._look_on()
        return True

    def _take_in(self, place: int, row: Request) -> None:
        self._taken = place + 1
        if row.internal:
            self._own.append(place)
            if row.state not in TERMINAL:
                self._open_own.append(place)
        if row.parent is not None and self._is_errand(row):
            self._errands.setdefault((type(row.parent), row.parent), []).append(place)
            self._below.append(place)
            self._own_below += row.internal
        if self._passes(row):
            self._shown.append(place)

    def _close_own(self) -> None:
        """Hide those of the client's own requests that came to their end."""
        over = [place for place in self._open_own if self.book.order[place].state in TERMINAL]
        if not over:
            return
        self._open_own = [place for place in self._open_own if place not in over]
        for place in over:
            if place >= self.unfiltered:
                self._put(place)

    def _look_from_the_end(self) -> None:
        self._shown = array("I")
        self.unfiltered = self._taken
        self._look_on(AT_ONCE)

    def _look_on(self, at_once: int = 0) -> None:
        """Look at older rows, for so many or for a while."""
        until = time.monotonic() + BUDGET
        place, enough = self.unfiltered, self.unfiltered - at_once
        found: list[int] = []
        while place and (place > enough or time.monotonic() < until):
            place -= 1
            if self._passes_at(place):
                found.append(place)
        self.unfiltered = place
        if found:
            self._shown = array("I", found[::-1]) + self._shown
            self.moves += 1

    def _put(self, place: int) -> None:
        self.moves += put(self._shown, place, present=self._passes_at(place))

    def _passes_at(self, place: int) -> bool:
        return self._passes(self.book.order[place])

    def _passes(self, row: Request) -> bool:
        if row.internal and not self.show_internal and row.state in TERMINAL:
            return False
        if not self.filter:
            return not self._is_errand(row)
        return self.filter.matches(row)

    def _is_errand(self, row: Request) -> bool:
        """Whether a row stands under another one."""
        return row.parent is not None and self.book.place(row.parent) is not None


def has(places: Sequence[int], place: int) -> bool:
    """Whether a place is among sorted ones."""
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place


def put(places: array[int], place: int, *, present: bool) -> bool:
    """Have a place among sorted ones, or not; whether that changed anything. A set of keys takes forty times the memory."""
    at = bisect_left(places, place)
    found = at < len(places) and places[at] == place
    if present and not found:
        places.insert(at, place)
    elif found and not present:
        del places[at]
    return present is not found
