"""Which rows of a book are shown, kept up to date without looking at all of them each time; and the lines of the table:
rows in an order, under each what belongs to it, and the server's own requests.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import TERMINAL, Book, Request, ServerRequest
from mcp_tui.protocol.values import frozen
from mcp_tui.tui.view.columns import NEWEST, Sort
from mcp_tui.tui.view.filters import Filter, Shown
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


# -- lines ---------------------------------------------------------------------------------------------------

NEAR: Final = 1000
"""Requests, the newest, among which one of the server's is looked for before all others."""


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


@frozen
class _Block:
    """Lines that stand under one: of the row at ``top``, from the line ``start`` on."""

    top: int
    start: int
    items: tuple[Item, ...]


class Outline:
    """The lines of a table, 0 on top. Its rows are those of a :class:`~mcp_tui.tui.view.index.RowIndex`.

    Newest first a line moves only as newer ones come in on top of it. In another order nothing moves until
    :meth:`resort`: what is new waits on top. The server's requests that belong to no row stand where they came in; in
    another order below the rows.
    """

    def __init__(self, index: RowIndex) -> None:
        self.index: Final = index
        self.sort = NEWEST
        self._order: list[Key] = []
        self._lines: dict[Key, int] = {}
        self._expanded: dict[Key, None] = {}
        self._server_requests: Sequence[ServerRequest] = ()
        self._of: dict[Key, list[int]] = {}
        self._alone: list[int] = []
        self._anchors: list[int] = []
        self._orphans: list[int] = []
        self._positions: list[int] = []
        self._taken = self._pings = 0
        self._waiting: list[int] = []  # those of ``_alone`` that wait for an answer
        self._sorted: tuple[object, ...] = ()
        self._blocks: list[_Block] = []
        self._starts: list[int] = []

    # -- what is shown ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        block = self._blocks[-1] if self._blocks else None
        return self.shown + (0 if block is None else block.start - block.top + len(block.items))

    @property
    def shown(self) -> int:
        """Lines that stand on their own."""
        return len(self.index) + len(self._orphans)

    @property
    def total(self) -> int:
        """Lines that would stand on their own without the filter; see :attr:`RowIndex.total`."""
        return self.index.total + len(self._alone) - self._pings

    @property
    def internal_hidden(self) -> int:
        """What :attr:`show_internal` would show besides."""
        return self.index.internal_hidden + self._pings

    def update(self) -> bool:
        """Take in what happened; returns whether anything did."""
        if not self.index.update():
            return False
        self._arrange()
        return True

    def refilter(self, filter: Filter, *, show_internal: bool) -> None:
        """Show what passes another filter."""
        self.index.refilter(filter, show_internal=show_internal)
        self._order.clear()
        self._arrange()

    def resort(self, sort: Sort, now: float) -> None:
        """Put the rows into an order as they are at ``now``."""
        self.sort = sort
        self._order = []
        place = sort.at(now)
        if place is not None:
            rows = (self.index.row(line) for line in range(len(self.index)))
            self._order = [key(row) for row in sorted(rows, key=place)]
        self._arrange()

    def expand(self, key: Key, *, expanded: bool) -> None:
        """Show what belongs to a row under it, or not."""
        if expanded:
            self._expanded[key] = None
        else:
            self._expanded.pop(key, None)
        self._arrange()

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

    # -- lines -----------------------------------------------------------------------------------------------

    def item(self, line: int) -> Item:
        """What a line is about."""
        if self._blocks:
            at = bisect_right(self._starts, line) - 1
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

    def at(self, line: int) -> Shown:
        """The request that a line is about, ours or the server's."""
        if self.sort.key is None and not self._orphans and not self._blocks:
            return self.index.row(line)
        item = self.item(line)
        shown = item.row if item.row is not None else item.server_request
        assert shown is not None  # it is one or the other
        return shown

    def _top(self, line: int) -> Item:
        if self.sort.key is not None:
            if line >= len(self._order):
                return self._orphan(self._orphans[len(self._orphans) - 1 - (line - len(self._order))])
            known = self._order[line]
            row = self.index.book.get(known[1])
            return Item(known, None) if row is None else self._item(row)  # a recording may have gone back
        if self._orphans:
            place = self.shown - 1 - line
            before = bisect_left(self._positions, place)
            if before < len(self._positions) and self._positions[before] == place:
                return self._orphan(self._orphans[before])
            line = len(self.index) - 1 - (place - before)
        return self._item(self.index.row(line))

    def _item(self, row: Request) -> Item:
        row_key = key(row)
        children = len(row.round_ids) + len(self.index.errands(row))
        if self._of:
            children += len(self._of.get(row_key, ()))
        return Item(row_key, row, None, None, None, children, row_key in self._expanded)

    def _orphan(self, number: int) -> Item:
        return Item((ServerRequest, number), None, server_request=self._server_requests[number])

    def line(self, key: Key) -> int | None:
        """The line of what has this key, or ``None`` where it is not shown."""
        for block in self._blocks:
            for below, item in enumerate(block.items):
                if item.key == key:
                    return block.start + 1 + below
        top = self._top_line(key)
        return None if top is None else self._moved(top)

    def _top_line(self, key: Key) -> int | None:
        if key[0] is ServerRequest:
            number = key[1]
            at = bisect_left(self._orphans, number) if isinstance(number, int) else 0
            if at >= len(self._orphans) or self._orphans[at] != number:
                return None
            if self.sort.key is not None:
                return len(self._order) + len(self._orphans) - 1 - at
            return self.shown - 1 - self._positions[at]
        if self.sort.key is not None:
            return self._lines.get(key)
        line = self.index.line(key)
        return None if line is None else self._shifted(line)

    def _shifted(self, line: int) -> int:
        """The line of a row among the server's requests."""
        if not self._orphans:
            return line
        older = len(self.index) - 1 - line
        # position less the number of those before it is how many rows are before it, and grows with both
        before = bisect_right(range(len(self._positions)), older, key=lambda at: self._positions[at] - at)
        return self.shown - 1 - (older + before)

    def _moved(self, top: int) -> int:
        """The line of the row that is the ``top``-th, below what stands under those above it."""
        at = bisect_left(self._blocks, top, key=lambda block: block.top) - 1
        if at < 0:
            return top
        block = self._blocks[at]
        return block.start + len(block.items) + top - block.top

    def nearest(self, key: Key) -> int:
        """The line where something is, or where it would be if it were shown."""
        line = self.line(key)
        if line is None:
            owner = self.owner(key)
            line = None if owner is None else self.line(owner)
        if line is None:
            near = 0 if key[0] is ServerRequest or self.sort.key is not None else self.index.nearest(key)
            line = self._moved(self._shifted(near)) if near < len(self.index) else 0
        return max(0, min(len(self) - 1, line))

    def owner(self, key: Key) -> Key | None:
        """The row that something stands under, expanded or not; ``None`` where it stands on its own."""
        for block in self._blocks:
            if any(item.key == key for item in block.items):
                return self._top(block.top).key
        if key[0] in (ServerRequest, ev.Round):
            return next((each for each, numbers in self._of.items() if key[1] in numbers), None)
        row = self.index.book.get(key[1])
        parent = None if row is None else row.parent
        if parent is None or self.index.book.get(parent) is None:
            return None
        return type(parent), parent

    # -- how it is laid out ----------------------------------------------------------------------------------

    def _arrange(self) -> None:
        if self.sort.key is not None:
            self._take_in()
        self._sort_askings()
        self._blocks, self._starts = [], []
        if not self._expanded:
            return
        above = 0
        for top, owner in sorted(
            ((top, each) for each in self._expanded if (top := self._top_line(each)) is not None),
            key=lambda found: found[0],
        ):
            row = self.index.book.get(owner[1])
            items = () if row is None else tuple(self.children(row))
            self._blocks.append(_Block(top, top + above, items))
            self._starts.append(top + above)
            above += len(items)

    def _take_in(self) -> None:
        """Let rows go that are not shown any more, and put those that are new on top."""
        shown = [key(self.index.row(line)) for line in range(len(self.index))]
        still = set(shown)
        known = set(self._order)
        self._order = [
            *(each for each in shown if each not in known),
            *(each for each in self._order if each in still),
        ]
        self._lines = {each: line for line, each in enumerate(self._order)}

    def _sort_askings(self) -> None:
        """Tell the server's requests that belong to a row from those that stand on their own."""
        server_requests = self.index.server_requests
        if server_requests is not self._server_requests or len(server_requests) < self._taken:
            self._server_requests, self._taken = server_requests, 0
            self._of, self._alone, self._anchors, self._waiting = {}, [], [], []
            self._sorted = ()
        for number in range(self._taken, len(server_requests)):
            server_request = server_requests[number]
            if server_request.parent is not None and self.index.book.get(server_request.parent) is not None:
                self._of.setdefault((type(server_request.parent), server_request.parent), []).append(number)
            else:
                self._alone.append(number)
                self._waiting.append(number)
                self._anchors.append(self._called_by(server_request.at))
        self._taken = len(server_requests)
        self._waiting = [number for number in self._waiting if server_requests[number].ended_at is None]
        # a row that comes at the end moves none of them
        stamp = self.index.moves, len(self._alone), len(self._waiting)
        if stamp == self._sorted:
            return
        self._sorted = stamp
        self._orphans, self._positions, self._pings = [], [], 0
        for number, anchor in zip(self._alone, self._anchors, strict=True):
            server_request = server_requests[number]
            hidden = (
                server_request.method == "ping"
                and server_request.ended_at is not None
                and not self.index.show_internal
            )
            self._pings += hidden
            if not hidden and self.index.filter.matches(server_request):
                self._positions.append(len(self._orphans) + self.index.older(anchor))
                self._orphans.append(number)

    def _called_by(self, at: float) -> int:
        """How many requests were called by a moment, which is hardly ever long ago."""
        order = self.index.book.order
        near = max(0, len(order) - NEAR)
        begin = near if near and order[near].called_at <= at else 0
        return bisect_right(order, at, begin, key=_called_at)

    def children(self, row: Request) -> list[Item]:
        """What belongs to a row, whether it is shown or not, in the order in which it came."""
        start = row.called_at if row.sent_at is None else row.sent_at
        found = [
            (event.at, Item((ev.Round, event.wire_id), row, round_=event, after=event.at - start))
            for event in row.history
            if isinstance(event, ev.Round)
        ]
        for errand in self.index.errands(row):
            at = errand.called_at if errand.sent_at is None else errand.sent_at
            found.append((at, Item(key(errand), errand, after=at - start)))
        for number in self._of.get(key(row), ()):
            server_request = self._server_requests[number]
            item = Item(
                (ServerRequest, number), None, server_request=server_request, after=server_request.at - start
            )
            found.append((server_request.at, item))
        return [item for _, item in sorted(found, key=lambda pair: pair[0])]


def _called_at(row: Request) -> float:
    return row.called_at
