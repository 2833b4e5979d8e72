"""Which rows of a book are shown, newest first, kept up to date without looking at all of them each time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, Protocol

from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import TERMINAL, Book, Request, ServerRequest
from mcp_tui.tui.view.filters import Filter

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


class RowIndex:
    """The rows that pass the filter, by their line: 0 is the newest.

    The client's own requests are hidden once they are over, and only then: nothing hides a running call but the filter.
    What was asked for another row's sake stands under that, see :meth:`errands`, unless a filter looks for it.
    Lines are found by the place of a row in the book, which never changes. ``sortable`` says how many rows can be put in
    another order without the screen standing still.
    """

    sortable = 100_000

    def __init__(self, book: Rows) -> None:
        self.book: Final = book
        self.filter = Filter()
        self.show_internal = False
        self._places: dict[Key, int] = {}
        self._shown: list[int] = []
        self._versions: list[int] = []
        self._open_own: list[int] = []
        self._own = [0, 0]
        self._errands: dict[Key, list[Request]] = {}
        self._seen = -1

    def __len__(self) -> int:
        return len(self._shown)

    @property
    def total(self) -> int:
        """Rows that would be shown without the filter; with one, those too that stand under others."""
        return len(self._places) - self.internal_hidden if self.filter else len(self._shown)

    @property
    def internal_hidden(self) -> int:
        """Requests of the client's own that are hidden because they are, and not by a filter."""
        if self.show_internal:
            return 0
        if self.filter:
            return sum(self._own) - len(self._open_own)
        return self._own[False] - sum(not self._is_errand(self.book.order[place]) for place in self._open_own)

    @property
    def server_requests(self) -> Sequence[ServerRequest]:
        """The server's own requests, oldest first."""
        return self.book.server_requests if isinstance(self.book, Book) else ()

    def errands(self, row: Request) -> Sequence[Request]:
        """The requests that the client made for a row's sake, oldest first: the polls of its task, its cancel."""
        return self._errands.get(key(row), ()) if self._errands else ()

    def row(self, line: int) -> Request:
        """The row at a line."""
        return self.book.order[self._shown[len(self._shown) - 1 - line]]

    def line(self, key: Key) -> int | None:
        """The line of a row, or ``None`` where it is not shown."""
        place = self._places.get(key)
        if place is None:
            return None
        at = bisect_left(self._shown, place)
        if at == len(self._shown) or self._shown[at] != place:
            return None
        return len(self._shown) - 1 - at

    def older(self, place: int) -> int:
        """How many of the rows that are shown were called before that of a place."""
        return bisect_left(self._shown, place)

    def nearest(self, key: Key) -> int:
        """The line where a row is, or would be if it were shown."""
        place = self._places.get(key, 0)
        newer = len(self._shown) - bisect_right(self._shown, place)
        return max(0, min(len(self._shown) - 1, newer))

    def refilter(self, filter: Filter, *, show_internal: bool) -> None:
        """Show what passes another filter."""
        self.filter, self.show_internal = filter, show_internal
        self._places.clear()
        self._shown.clear()
        self._versions.clear()
        self._open_own.clear()
        self._own = [0, 0]
        self._errands.clear()
        self._seen = -1
        self.update()

    def update(self) -> bool:
        """Take in what happened to the book; returns whether anything did."""
        if self.book.version == self._seen:
            return False
        self._seen = self.book.version
        self._recheck()
        for place in range(len(self._places), len(self.book.order)):
            row = self.book.order[place]
            self._places[key(row)] = place
            self._versions.append(row.version)
            if row.internal:
                self._own[self._is_errand(row)] += 1
            if row.internal and row.state not in TERMINAL:
                self._open_own.append(place)
            if row.parent is not None and self._is_errand(row):
                self._errands.setdefault((type(row.parent), row.parent), []).append(row)
            if self._passes(row):
                self._shown.append(place)
        return True

    def _recheck(self) -> None:
        """Look again at the rows whose answer may have changed."""
        if self.filter:
            order, versions = self.book.order, self._versions
            changed = [place for place, version in enumerate(versions) if order[place].version != version]
            for place in changed:
                versions[place] = order[place].version
        elif self.show_internal:
            return
        else:
            changed = [place for place in self._open_own if self.book.order[place].state in TERMINAL]
        for place in changed:
            self._place(place, shown=self._passes(self.book.order[place]))
        self._open_own = [place for place in self._open_own if self.book.order[place].state not in TERMINAL]

    def _place(self, place: int, *, shown: bool) -> None:
        at = bisect_left(self._shown, place)
        present = at < len(self._shown) and self._shown[at] == place
        if shown and not present:
            self._shown.insert(at, place)
        elif present and not shown:
            del self._shown[at]

    def _passes(self, row: Request) -> bool:
        if row.internal and not self.show_internal and row.state in TERMINAL:
            return False
        if not self.filter:
            return not self._is_errand(row)
        return self.filter.matches(row)

    def _is_errand(self, row: Request) -> bool:
        """Whether a row stands under another one."""
        return row.parent is not None and (type(row.parent), row.parent) in self._places
