"""The lines of the table: the rows of a book that are shown, kept up to date without looking at all of them each time, in
an order, under each what belongs to it, and the server's own requests.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import Request, ServerRequest
from mcp_tui.protocol.values import frozen
from mcp_tui.tui.view.columns import NEWEST, Sort
from mcp_tui.tui.view.filters import Filter, Shown
from mcp_tui.tui.view.lines import BUDGET

if TYPE_CHECKING:
    from mcp_tui.journal.recorded_book import RecordedBook
    from mcp_tui.protocol.requests import Book

AT_ONCE: Final = 200
"""Rows that a filter looks at each time, whatever time that takes."""

NEAR: Final = 1000
"""Requests, the newest, among which one of the server's is looked for before all others."""

Key = tuple[type, RequestId]
"""An id by type and value, as a book keys its rows: ``1`` and ``"1"`` are two."""


def key(row: Request) -> Key:
    """The key of ``row``."""
    return type(row.id), row.id


Rows: TypeAlias = "Book | RecordedBook"
"""Requests by their place, oldest first: those of a session, or what a recording tells of one at a moment."""


def has(places: Sequence[int], place: int) -> bool:
    """Whether a place is among sorted ones."""
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place


def put(places: array[int], place: int, *, present: bool) -> None:
    """Have a place among sorted ones, or not. A set of keys takes forty times the memory."""
    at = bisect_left(places, place)
    found = at < len(places) and places[at] == place
    if present and not found:
        places.insert(at, place)
    elif found and not present:
        del places[at]


class Item(NamedTuple):
    """What one line is about.

    ``row`` is the request that keys act on, ``None`` for a request of the server's. ``after`` is how many seconds after
    the row above it this came, ``None`` for what stands on its own. ``children`` says how many lines belong under it.
    """

    key: Key
    row: Request | None
    server_request: ServerRequest | None = None
    round_: ev.Round | None = None
    after: float | None = None
    children: int = 0
    expanded: bool = False

    @property
    def about(self) -> Shown:
        """The request itself, ours or the server's."""
        about = self.row or self.server_request
        assert about is not None  # it is one or the other
        return about


@frozen
class _Block:
    """Lines that stand under one: of the row at ``top``, from the line ``start`` on."""

    top: int
    start: int
    items: tuple[Item, ...]


_ROW: Final = (1 << 32) - 1
"""The lower half of a row's code.

What stands on its own has a code: a row its place in the upper half; a request of the server's the place of the row that
was called next, and its own number in the lower half. So the codes stand in the order in which things came.
"""


def _code(place: int) -> int:
    """The code of the row at a place."""
    return place << 32 | _ROW


class Outline:
    """The lines of a table, 0 on top.

    The client's own requests are hidden once they are over, and only then: nothing hides a running call but the filter.
    What was asked for another row's sake stands under that, unless a filter looks for it. The server's requests that
    belong to no row stand where they came in; in another order than newest first below the rows.

    Newest first a line moves only as newer ones come in on top of it. In another order nothing moves until
    :meth:`resort`: what is new waits on top.

    A new filter looks at the newest rows at once, and at older ones for :data:`BUDGET` seconds with each :meth:`update`;
    ``unfiltered`` says how many still wait for it.
    """

    def __init__(self, book: Rows) -> None:
        self.book: Final = book
        self.filter = Filter()
        self.show_internal = False
        self.sort = NEWEST
        self.unfiltered = 0
        self._seen: int = -1
        self._called = 0  # rows that there are
        self._tops = array("Q")  # codes of what is shown on its own, sorted
        self._hidden = array("Q")  # codes of what is hidden because it is internal, sorted
        self._own = 0  # internal requests of which it is known what they were called for
        self._below = array("I")  # places of those that stand under a row, sorted
        self._errands: dict[int, list[int]] = {}  # the same by the place of that row
        self._asked: Sequence[ServerRequest] = ()
        self._taken = 0  # how many of them are in one of the next two
        self._alone: dict[int, int] = {}  # codes by their numbers
        self._asked_of: dict[int, list[int]] = {}  # numbers by the place of the row that they belong to
        self._waiting: list[int] = []  # those of ``_alone`` that wait for an answer
        self._order: list[int] = []  # codes from the top, in another order than newest first
        self._lines: dict[int, int] = {}
        self._expanded: set[int] = set()  # places
        self._blocks: list[_Block] = []

    # -- what is shown ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        block = self._blocks[-1] if self._blocks else None
        return self.shown + (0 if block is None else block.start - block.top + len(block.items))

    @property
    def shown(self) -> int:
        """Lines that stand on their own."""
        return len(self._tops)

    @property
    def total(self) -> int:
        """Lines that would stand on their own without the filter; with one, those too that stand under others."""
        return self._called + len(self._alone) - len(self._hidden) if self.filter else self.shown

    @property
    def internal_hidden(self) -> int:
        """What :attr:`show_internal` would show besides."""
        return len(self._hidden)

    def shows(self, row: Request) -> bool:
        """Whether a row stands on its own."""
        place = self.book.place(row.id)
        return place is not None and has(self._tops, _code(place))

    # -- what happened ---------------------------------------------------------------------------------------

    def refilter(self, filter: Filter, *, show_internal: bool) -> None:
        """Show what passes another filter."""
        self.filter, self.show_internal = filter, show_internal
        self._order.clear()
        self._seen = -1
        self.update()

    def update(self) -> bool:
        """Take in what happened to the book; returns whether anything did."""
        book = self.book
        if book.version == self._seen and not self.unfiltered:
            return False
        changed = book.changed_since(self._seen)
        self._seen = book.version
        self._called = len(book.order)
        self._find_parents()
        if changed is None:
            self._look_at_all()
        else:
            for codes in (self._tops, self._hidden):  # a recording may have gone back
                del codes[bisect_left(codes, _code(self._called)) :]
            self.unfiltered = min(self.unfiltered, self._called)
            for place in sorted(changed):
                if place < self._called:
                    self._look_at(place)
        self._take_server_requests()
        if self.unfiltered:
            self._look_on()
        self._arrange()
        return True

    def _find_parents(self) -> None:
        """Find what internal requests were called for, each once."""
        internal = self.book.internal
        until = bisect_left(internal, self._called)
        for place in internal[self._own : until]:
            parent = self.book.parent(place)
            if parent is not None:
                self._errands.setdefault(parent, []).append(place)
                self._below.append(place)
        self._own = max(self._own, until)

    def _look_at_all(self) -> None:
        """Show all rows that pass; through a filter later."""
        book, called = self.book, self._called
        internal = () if self.show_internal else book.internal[: bisect_left(book.internal, called)]
        over = [place for place in internal if book.is_over(place)]
        self._tops = array("Q")
        self._waiting = [*self._alone]
        if self.filter:
            self._hidden = array("Q", map(_code, over))
            self.unfiltered = called
            return
        self._hidden = array("Q", (_code(place) for place in over if not has(self._below, place)))
        self.unfiltered = begin = 0
        for place in (*sorted({*over, *self._below[: bisect_left(self._below, called)]}), called):
            self._tops.extend(range(_code(begin), _code(place), 1 << 32))
            begin = place + 1

    def _look_at(self, place: int) -> None:
        """Show a row, or not."""
        hidden = self._is_hidden(place) and (bool(self.filter) or not has(self._below, place))
        put(self._hidden, _code(place), present=hidden)
        if place >= self.unfiltered:
            put(self._tops, _code(place), present=self._passes(place))

    def _is_hidden(self, place: int) -> bool:
        return not self.show_internal and has(self.book.internal, place) and self.book.is_over(place)

    def _passes(self, place: int) -> bool:
        if self._is_hidden(place):
            return False
        return self.filter.matches(self.book.row(place)) if self.filter else not has(self._below, place)

    def _look_on(self) -> None:
        """Look at older rows for a while."""
        until = time.monotonic() + BUDGET
        place, enough = self.unfiltered, self.unfiltered - AT_ONCE
        older = bisect_left(self._tops, self.unfiltered << 32)
        found = [*self._tops[:older]]
        while place and (place > enough or time.monotonic() < until):
            place -= 1
            if self._passes(place):
                found.append(_code(place))
        self._tops = array("Q", sorted(found)) + self._tops[older:]
        self.unfiltered = place

    # -- requests of the server's ----------------------------------------------------------------------------

    def _take_server_requests(self) -> None:
        """Tell those that belong to a row from those that stand on their own."""
        asked = self.book.server_requests
        if asked is not self._asked:
            for code in self._alone.values():
                put(self._tops, code, present=False)
                put(self._hidden, code, present=False)
            self._asked, self._taken, self._waiting = asked, 0, []
            self._alone, self._asked_of = {}, {}
        for number in range(self._taken, len(asked)):
            parent = asked[number].parent
            place = None if parent is None else self.book.place(parent)
            if place is not None and place < self._called:
                self._asked_of.setdefault(place, []).append(number)
            else:
                self._alone[number] = self._called_by(asked[number].at) << 32 | number
                self._waiting.append(number)
        self._taken = len(asked)
        for number in self._waiting:
            each, code = asked[number], self._alone[number]
            hidden = each.method == "ping" and each.ended_at is not None and not self.show_internal
            put(self._hidden, code, present=hidden)
            put(self._tops, code, present=not hidden and self.filter.matches(each))
        self._waiting = [number for number in self._waiting if asked[number].ended_at is None]

    def _called_by(self, at: float) -> int:
        """How many requests were called by a moment, which is hardly ever long ago."""
        order = self.book.order
        near = max(0, len(order) - NEAR)
        begin = near if near and order[near].called_at <= at else 0
        return bisect_right(order, at, begin, key=lambda row: row.called_at)

    # -- lines -----------------------------------------------------------------------------------------------

    def item(self, line: int) -> Item:
        """What a line is about."""
        at = bisect_right(self._blocks, line, key=lambda block: block.start) - 1
        if at >= 0:
            block = self._blocks[at]
            below = line - block.start - 1
            if 0 <= below < len(block.items):
                return block.items[below]
            line = block.top + 1 + below - len(block.items) if below >= 0 else block.top
        return self._top(line)

    def key(self, line: int) -> Key:
        """The key of what a line is about."""
        return self.item(line).key

    def _top(self, line: int) -> Item:
        code = self._tops[-1 - line] if self.sort.key is None else self._order[line]
        place, number = code >> 32, code & _ROW
        if number != _ROW:
            return Item((ServerRequest, number), None, server_request=self._asked[number])
        row = self.book.row(place)
        children = len(row.round_ids) + len(self._errands_of(place)) + len(self._asked_of.get(place, ()))
        return Item(key(row), row, children=children, expanded=place in self._expanded)

    def _errands_of(self, place: int) -> list[int]:
        """The places of what was called for a row's sake, oldest first."""
        found = self._errands.get(place, [])
        return found[: bisect_left(found, self._called)]

    def _code_of(self, key: Key) -> int | None:
        """The code of what stands on its own, shown or not."""
        kind, id = key
        if kind is ServerRequest:
            return self._alone.get(int(id))
        place = None if kind is ev.Round else self.book.place(id)
        return None if place is None else _code(place)

    def _top_line(self, code: int | None) -> int | None:
        """How many lines that stand on their own are above that of a code; ``None`` where it is not shown."""
        if self.sort.key is not None:
            return None if code is None else self._lines.get(code)
        return None if code is None or not has(self._tops, code) else self._newer(code)

    def _newer(self, code: int) -> int:
        """How many of the lines that stand on their own came after a code."""
        return self.shown - bisect_right(self._tops, code)

    def _moved(self, top: int) -> int:
        """The line of what is the ``top``-th that stands on its own, below what stands under those above it."""
        at = bisect_left(self._blocks, top, key=lambda block: block.top) - 1
        block = self._blocks[at] if at >= 0 else _Block(0, 0, ())
        return block.start + len(block.items) + top - block.top

    def line(self, key: Key) -> int | None:
        """The line of what has this key, or ``None`` where it is not shown."""
        for block in self._blocks:
            for below, item in enumerate(block.items, 1):
                if item.key == key:
                    return block.start + below
        top = self._top_line(self._code_of(key))
        return None if top is None else self._moved(top)

    def nearest(self, key: Key) -> int:
        """The line where something is, or where it would be if it were shown."""
        line = self.line(key)
        if line is None:
            owner = self.owner(key)
            line = None if owner is None else self.line(owner)
        if line is None:
            code = self._code_of(key) if self.sort.key is None else None
            line = 0 if code is None else self._moved(min(self.shown - 1, self._newer(code)))
        return max(0, min(len(self) - 1, line))

    def owner(self, key: Key) -> Key | None:
        """The row that something stands under, expanded or not; ``None`` where it stands on its own."""
        for block in self._blocks:
            if any(item.key == key for item in block.items):
                return self._top(block.top).key
        if key[0] is ServerRequest:
            found = (place for place, numbers in self._asked_of.items() if key[1] in numbers)
            parent = next(found, None)
        else:
            place = None if key[0] is ev.Round else self.book.place(key[1])
            parent = self.book.parent(place) if place is not None and has(self._below, place) else None
        if parent is None:
            return None
        row = self.book.row(parent)
        return type(row.id), row.id

    def top_of(self, item: Item) -> int | None:
        """The line of an item's row, or of the row that it stands under; ``None`` where nothing belongs to that."""
        owner = item.key if item.after is None else self.owner(item.key)
        line = None if owner is None else self.line(owner)
        return line if line is not None and self.item(line).children else None

    def reveal(self, key: Key) -> int | None:
        """The line of what has this key, its row opened where it stands under one; ``None`` where it is not shown."""
        if (line := self.line(key)) is not None:
            return line
        owner = self.owner(key)
        if owner is None or self.line(owner) is None:
            return None
        self.expand(owner, expanded=True)
        return self.line(key)

    # -- how they are laid out -------------------------------------------------------------------------------

    def resort(self, sort: Sort, now: float) -> None:
        """Put the rows into an order as they are at ``now``."""
        self.sort = sort
        self._order = []
        place = sort.at(now)
        if place is not None:
            rows = [code for code in reversed(self._tops) if code & _ROW == _ROW]
            self._order = sorted(rows, key=lambda code: place(self.book.row(code >> 32)))
        self._arrange()

    def expand(self, key: Key, *, expanded: bool) -> None:
        """Show what belongs to a row under it, or not."""
        place = self.book.place(key[1])
        if place is not None:
            (self._expanded.add if expanded else self._expanded.discard)(place)
        self._arrange()

    def _arrange(self) -> None:
        if self.sort.key is not None:
            self._keep_order()
        self._blocks = []
        above = 0
        tops = ((self._top_line(_code(place)), place) for place in self._expanded)
        for top, place in sorted((top, place) for top, place in tops if top is not None):
            items = tuple(self.children(self.book.row(place)))
            self._blocks.append(_Block(top, top + above, items))
            above += len(items)

    def _keep_order(self) -> None:
        """Let go what is not shown any more, and put what is new on top, but the server's requests below the rows."""
        shown = self._tops[::-1]
        known, still = set(self._order), set(shown)
        found = [code for code in shown if code not in known]
        found += [code for code in self._order if code in still]
        self._order = sorted(found, key=lambda code: code & _ROW != _ROW)
        self._lines = {code: line for line, code in enumerate(self._order)}

    def children(self, row: Request) -> list[Item]:
        """What belongs to a row, whether it is shown or not, in the order in which it came."""
        start = row.called_at if row.sent_at is None else row.sent_at
        place = self.book.place(row.id)
        found = [
            Item((ev.Round, event.wire_id), row, round_=event, after=event.at - start)
            for event in row.history
            if isinstance(event, ev.Round)
        ]
        for errand in map(self.book.row, () if place is None else self._errands_of(place)):
            at = errand.called_at if errand.sent_at is None else errand.sent_at
            found.append(Item(key(errand), errand, after=at - start))
        for number in () if place is None else self._asked_of.get(place, ()):
            asked = self._asked[number]
            found.append(Item((ServerRequest, number), None, server_request=asked, after=asked.at - start))
        return sorted(found, key=lambda item: item.after or 0.0)
