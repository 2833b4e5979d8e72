"""The lines of the request table, kept up to date without looking at all requests each time."""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.server_requests import CHILD, PING, ServerRequest
from mcp_tui.protocol.states import TypedId
from mcp_tui.view.columns import NEWEST, Sort
from mcp_tui.view.filters import Filter, Shown
from mcp_tui.view.lines import FILTER_SECONDS

if TYPE_CHECKING:
    from mcp_tui.journal.recorded_requests import RecordedRequests
    from mcp_tui.protocol.requests import Requests

FILTERED_ROWS: Final = 200
"""Rows that an update holds against the filter at least, if they do not take twice its time."""


def row_key(row: Request) -> TypedId:
    """Returns the key of a row."""
    return type(row.id), row.id


Rows: TypeAlias = "Requests | RecordedRequests"
"""The requests of a session, or of a recording at a moment, by their place, oldest first."""


def has(places: Sequence[int], place: int) -> bool:
    """Whether sorted places have this one."""
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place


def put(places: array[int], place: int, *, present: bool) -> None:
    """Adds a place to sorted ones, or removes it. A set would take forty times the memory."""
    at = bisect_left(places, place)
    found = at < len(places) and places[at] == place
    if present and not found:
        places.insert(at, place)
    elif found and not present:
        del places[at]


class Item(NamedTuple):
    """The subject of one line.

    ``row`` is the request that keys act on, ``None`` for a request of the server's. ``after`` is the time in seconds since
    the row above was sent, ``None`` for a top-level line. ``children`` is the number of lines that belong under it.
    """

    key: TypedId
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


_ROW: Final = (1 << 32) - 1
"""The lower half of a row's code.

Each top-level line has a code: a row has its place in the upper half; a request of the server's has the place of the row
called next in the upper half, and its own number in the lower. So codes sort in the order in which things came.
"""


def _code(place: int) -> int:
    """Returns the code of the row at a place."""
    return place << 32 | _ROW


class Outline:
    """The lines of a table, 0 on top.

    The client's own requests are hidden once they are over, not before. Requests made on behalf of another row are children
    of that row, unless there is a filter. The server's requests that belong to no row are top-level lines where they came
    in; in another order than newest first, they are below the rows.

    Newest first, a line moves only as newer ones come in above it. In another order nothing moves until :meth:`resort`: new
    rows wait on top.

    A new filter looks at the newest rows at once, and at older ones for :data:`FILTER_SECONDS` seconds with each
    :meth:`update`; ``unfiltered`` is the number of requests that it has not looked at.
    """

    def __init__(self, requests: Rows) -> None:
        self.requests: Final = requests
        self.filter = Filter()
        self.show_internal = False
        self.sort = NEWEST
        self._unfiltered = 0  # rows that the filter has not looked at
        self._unasked: list[int] = []  # numbers of the server's requests that it has not looked at
        self._seen: int = -1
        self._asked = requests.server_requests
        self._asked_at = 0  # the moment at which they were looked at
        self._called = 0  # number of rows
        self._tops = array("Q")  # codes of the top-level lines, sorted
        self._hidden = array("Q")  # codes hidden because they are internal, sorted
        self._own = 0  # internal requests whose parents are known
        self._below = array("I")  # places of the children, sorted
        self._errands: dict[int, list[int]] = {}  # the same by the place of their parent
        self._order: list[int] = []  # codes from the top, in another order than newest first
        self._lines: dict[int, int] = {}  # places in ``_order`` by code
        self._expanded: set[int] = set()  # places of rows whose children are shown
        self._under: list[
            tuple[int, Item]
        ] = []  # children that are shown, with the top-level line above them

    # -- what is shown ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.shown + len(self._under)

    @property
    def shown(self) -> int:
        """The number of top-level lines."""
        return len(self._tops)

    @property
    def unfiltered(self) -> int:
        """The number of requests that the filter has not looked at."""
        return self._unfiltered + len(self._unasked)

    @property
    def total(self) -> int:
        """The number of top-level lines without the filter; with one, children count as well."""
        if not self.filter:
            return self.shown
        asked = len(self._asked) - self._asked.table.kinds.count(CHILD, 0, len(self._asked))
        return self._called + asked - self.internal_hidden

    @property
    def internal_hidden(self) -> int:
        """The number of lines that :attr:`show_internal` would add."""
        return len(self._hidden) + (0 if self.show_internal else self._asked.answered_pings)

    def shows(self, row: Request) -> bool:
        """Whether a row is a top-level line."""
        place = self.requests.place(row.id)
        return place is not None and has(self._tops, _code(place))

    # -- what happened ---------------------------------------------------------------------------------------

    def refilter(self, filter: Filter, *, show_internal: bool) -> None:
        """Shows the rows that pass another filter."""
        self.filter, self.show_internal = filter, show_internal
        self._order.clear()
        self._seen = -1
        self.update()

    def update(self) -> bool:
        """Takes in changes of the requests; returns whether there were any."""
        requests = self.requests
        if requests.version == self._seen and not self.unfiltered:
            return False
        changed, self._seen = requests.changed_since(self._seen), requests.version
        self._called = len(requests.order)
        self._find_parents()
        if changed is None:
            self._look_at_all()
        else:
            for codes in (self._tops, self._hidden):  # a recording may have gone back
                del codes[bisect_left(codes, _code(self._called)) :]
            self._unfiltered = min(self._unfiltered, self._called)
            for place in sorted(changed):
                if place < self._called:
                    self._look_at(place)
        self._take_server_requests(anew=changed is None)
        if self.unfiltered:
            self._look_on()
        self._arrange()
        return True

    def _find_parents(self) -> None:
        """Finds the parents of new internal requests."""
        internal = self.requests.internal
        until = bisect_left(internal, self._called)
        for place in internal[self._own : until]:
            parent = self.requests.parent(place)
            if parent is not None:
                self._errands.setdefault(parent, []).append(place)
                self._below.append(place)
        self._own = max(self._own, until)

    def _look_at_all(self) -> None:
        """Shows all rows; with a filter, leaves that to :meth:`_look_on`."""
        requests, called = self.requests, self._called
        internal = () if self.show_internal else requests.internal[: bisect_left(requests.internal, called)]
        over = [place for place in internal if requests.is_over(place)]
        self._tops = array("Q")
        if self.filter:
            self._hidden = array("Q", map(_code, over))
            self._unfiltered = called
            return
        self._hidden = array("Q", (_code(place) for place in over if not has(self._below, place)))
        self._unfiltered = begin = 0
        for place in (*sorted({*over, *self._below[: bisect_left(self._below, called)]}), called):
            self._tops.extend(range(_code(begin), _code(place), 1 << 32))
            begin = place + 1

    def _look_at(self, place: int) -> None:
        """Shows or hides a row."""
        hidden = self._is_hidden(place) and (bool(self.filter) or not has(self._below, place))
        put(self._hidden, _code(place), present=hidden)
        if place >= self._unfiltered:
            put(self._tops, _code(place), present=self._passes(place))

    def _is_hidden(self, place: int) -> bool:
        return not self.show_internal and has(self.requests.internal, place) and self.requests.is_over(place)

    def _passes(self, place: int) -> bool:
        if self._is_hidden(place):
            return False
        return self.filter.matches(self.requests.row(place)) if self.filter else not has(self._below, place)

    def _look_on(self) -> None:
        """Holds older rows against the filter for a while."""
        until = time.monotonic() + FILTER_SECONDS
        longest = until + FILTER_SECONDS  # whole messages may take long to search
        self._look_on_asked(until)
        place, enough = self._unfiltered, self._unfiltered - FILTERED_ROWS
        older = bisect_left(self._tops, self._unfiltered << 32)
        found = [*self._tops[:older]]
        while place and time.monotonic() < (longest if place > enough else until):
            place -= 1
            if self._passes(place):
                found.append(_code(place))
        self._tops = array("Q", sorted(found)) + self._tops[older:]
        self._unfiltered = place

    # -- requests of the server's ----------------------------------------------------------------------------

    def _take_server_requests(self, *, anew: bool) -> None:
        """Takes in the server's requests that came or ended, or that a recording has taken back; ``anew``, all of them."""
        asked, (came, ended) = self._asked, self._asked.changes(self._asked_at)
        self._asked_at = asked.moment
        if anew:
            numbers = asked.alone(pings=self.show_internal)
            self._unasked = numbers if self.filter else []
            if numbers and not self.filter:
                self._tops = array("Q", sorted([*self._tops, *map(self._asked_code, numbers)]))
            return
        while self._unasked and self._unasked[-1] >= len(asked):
            self._unasked.pop()
        for number in (*came, *ended):
            put(self._tops, self._asked_code(number), present=self._passes_asked(number))

    def _look_on_asked(self, until: float) -> None:
        """Holds older requests of the server's against the filter for a while."""
        for _ in range(len(self._unasked)):
            if time.monotonic() > until:
                break
            number = self._unasked.pop()
            put(self._tops, self._asked_code(number), present=self._passes_asked(number))

    def _passes_asked(self, number: int) -> bool:
        """Whether a request of the server's is a top-level line."""
        asked = self._asked
        if number >= len(asked) or asked.table.kinds[number] == CHILD:
            return False
        hidden = asked.table.kinds[number] == PING and not self.show_internal and asked.is_over(number)
        return not hidden and (not self.filter or self.filter.matches(asked[number]))

    def _asked_code(self, number: int) -> int:
        return self._asked.table.places[number] << 32 | number

    # -- lines -----------------------------------------------------------------------------------------------

    def item(self, line: int) -> Item:
        """Returns the subject of a line."""
        under = self._under
        at = bisect_left(range(len(under)), line, key=lambda at: under[at][0] + 1 + at)
        if at < len(under) and under[at][0] + 1 + at == line:
            return under[at][1]
        return self._top(line - at)

    def key(self, line: int) -> TypedId:
        """Returns the key of a line."""
        return self.item(line).key

    def _top(self, line: int) -> Item:
        code = self._tops[-1 - line] if self.sort.key is None else self._order[line]
        place, number = code >> 32, code & _ROW
        if number != _ROW:
            # until the next update it may be one that came after the moment to which a recording went back
            return Item((ServerRequest, number), None, server_request=self._asked.row(number))
        row = self.requests.row(place)
        children = len(row.round_ids) + len(self._errands_of(place)) + len(self._asked.children(place))
        return Item(row_key(row), row, children=children, expanded=place in self._expanded)

    def _errands_of(self, place: int) -> list[int]:
        """Returns the places of the requests made on behalf of a row, oldest first."""
        found = self._errands.get(place, [])
        return found[: bisect_left(found, self._called)]

    def _code_of(self, key: TypedId) -> int | None:
        """Returns the code of a top-level line, shown or not."""
        kind, id = key
        if kind is ServerRequest:
            return None if self._asked.table.kinds[int(id)] == CHILD else self._asked_code(int(id))
        place = None if kind is ev.Round else self.requests.place(id)
        return None if place is None else _code(place)

    def _top_line(self, code: int | None) -> int | None:
        """Returns the line of a code among the top-level ones, or ``None`` where it is not shown."""
        if code is None:
            return None
        if self.sort.key is not None:
            return self._lines.get(code)
        return self._newer(code) if has(self._tops, code) else None

    def _newer(self, code: int) -> int:
        """Returns how many top-level lines came after a code."""
        return self.shown - bisect_right(self._tops, code)

    def _below_children(self, top: int) -> int:
        """Returns the line of a top-level line, which is below the children of those above it."""
        return top + bisect_left(self._under, top, key=lambda child: child[0])

    def line(self, key: TypedId) -> int | None:
        """Returns the line of a key, or ``None`` where it is not shown."""
        for at, (top, item) in enumerate(self._under):
            if item.key == key:
                return top + 1 + at
        top = self._top_line(self._code_of(key))
        return None if top is None else self._below_children(top)

    def nearest(self, key: TypedId) -> int:
        """Returns the line of a key, of the row that it belongs to, or the one where it would be if it were shown."""
        line = self.line(key)
        if line is None and (owner := self.owner(key)) is not None:
            line = self.line(owner)
        if line is None:
            code = self._code_of(key) if self.sort.key is None else None
            line = 0 if code is None else self._below_children(min(self.shown - 1, self._newer(code)))
        return max(0, min(len(self) - 1, line))

    def owner(self, key: TypedId) -> TypedId | None:
        """Returns the key of the row that a child belongs to, expanded or not; ``None`` for a top-level line."""
        for top, item in self._under:
            if item.key == key:
                return self._top(top).key
        parent = None
        if key[0] is ServerRequest:
            parent = self._parent_of_asked(int(key[1]))
        elif key[0] is not ev.Round:
            place = self.requests.place(key[1])
            if place is not None and has(self._below, place):
                parent = self.requests.parent(place)
        return None if parent is None else row_key(self.requests.row(parent))

    def _parent_of_asked(self, number: int) -> int | None:
        """Returns the place of the row that a request of the server's belongs to."""
        asked = self._asked
        if number >= len(asked) or asked.table.kinds[number] != CHILD:
            return None
        parent = asked[number].parent
        return None if parent is None else self.requests.place(parent)

    def top_of(self, item: Item) -> int | None:
        """Returns the line of the row that an item is or belongs to; ``None`` where that has no children."""
        owner = item.key if item.after is None else self.owner(item.key)
        line = None if owner is None else self.line(owner)
        return line if line is not None and self.item(line).children else None

    def reveal(self, key: TypedId) -> int | None:
        """Expands the row that a key belongs to, if any, and returns the line of the key; ``None`` where it is not shown."""
        if (line := self.line(key)) is not None:
            return line
        owner = self.owner(key)
        if owner is None or self.line(owner) is None:
            return None
        self.expand(owner, expanded=True)
        return self.line(key)

    # -- how they are laid out -------------------------------------------------------------------------------

    def resort(self, sort: Sort, now: float) -> None:
        """Sorts the rows as they are at ``now``."""
        self.sort = sort
        self._order = []
        place = sort.at(now)
        if place is not None:
            rows = [code for code in reversed(self._tops) if code & _ROW == _ROW]
            self._order = sorted(rows, key=lambda code: place(self.requests.row(code >> 32)))
        self._arrange()

    def expand(self, key: TypedId, *, expanded: bool) -> None:
        """Shows or hides the children of a row."""
        place = self.requests.place(key[1])
        if place is not None:
            (self._expanded.add if expanded else self._expanded.discard)(place)
        self._arrange()

    def _arrange(self) -> None:
        if self.sort.key is not None:
            self._keep_order()
        tops = ((self._top_line(_code(place)), place) for place in self._expanded)
        shown = sorted((top, place) for top, place in tops if top is not None)
        self._under = [
            (top, item) for top, place in shown for item in self.children(self.requests.row(place))
        ]

    def _keep_order(self) -> None:
        """Drops codes that are no longer shown, and adds new ones on top; the server's requests stay below the rows."""
        shown = self._tops[::-1]
        known, still = set(self._order), set(shown)
        found = [code for code in shown if code not in known]
        found += [code for code in self._order if code in still]
        self._order = sorted(found, key=lambda code: code & _ROW != _ROW)
        self._lines = {code: line for line, code in enumerate(self._order)}

    def children(self, row: Request) -> list[Item]:
        """Returns the children of a row, shown or not, in the order in which they came."""
        start = row.called_at if row.sent_at is None else row.sent_at
        place = self.requests.place(row.id)
        found = [
            Item((ev.Round, event.wire_id), row, round_=event, after=event.at - start)
            for event in row.history
            if isinstance(event, ev.Round)
        ]
        for errand in map(self.requests.row, () if place is None else self._errands_of(place)):
            at = errand.called_at if errand.sent_at is None else errand.sent_at
            found.append(Item(row_key(errand), errand, after=at - start))
        for number in () if place is None else self._asked.children(place):
            asked = self._asked[number]
            found.append(Item((ServerRequest, number), None, server_request=asked, after=asked.at - start))
        return sorted(found, key=lambda item: item.after or 0.0)
