"""The lines of the request table, updated without checking every request each time."""

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
"""The rows that an update checks against the filter even if that takes up to twice :data:`FILTER_SECONDS`."""


def row_key(row: Request) -> TypedId:
    """Returns the key of a row: its id with the type, since ``1`` and ``"1"`` are two ids."""
    return type(row.id), row.id


Rows: TypeAlias = "Requests | RecordedRequests"
"""The requests of a session, or of a recording at a moment. Each has a place, counted from the oldest."""


def has(places: Sequence[int], place: int) -> bool:
    """Whether a sorted sequence of places contains a place."""
    at = bisect_left(places, place)
    return at < len(places) and places[at] == place


def put(places: array[int], place: int, *, present: bool) -> None:
    """Adds a place to a sorted array, or removes it. A set would take forty times the memory."""
    at = bisect_left(places, place)
    found = at < len(places) and places[at] == place
    if present and not found:
        places.insert(at, place)
    elif found and not present:
        del places[at]


class Item(NamedTuple):
    """The subject of one line.

    ``row`` is the request that keys act on, or ``None`` for a request from the server. A child has the seconds since its
    parent was sent in ``after``; a top-level line has ``None``. ``children`` is the number of its children.
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
        """The request, from the client or from the server."""
        about = self.row or self.server_request
        assert about is not None  # it is one or the other
        return about


_ROW: Final = (1 << 32) - 1
"""The lower half of the code of a row.

Each top-level line has a code of 64 bits. The code of a row has its place in the upper half. The code of a request from
the server has the place of the next row in the upper half, and the number of the server's request in the lower half.
So codes sort in the order in which requests were made.
"""


def _code(place: int) -> int:
    """Returns the code of the row at a place."""
    return place << 32 | _ROW


class Outline:
    """The lines of the request table, counted from 0 at the top.

    Internal requests are hidden once they have ended. Requests made on behalf of another row are children of that row,
    unless there is a filter. Requests from the server that belong to no row are top-level lines.

    With the newest first, new lines are added above the others. In any other sort order no line moves until :meth:`resort`:
    new rows are added on top, and requests from the server are below all rows.

    A new filter checks the newest rows at once, and older rows for :data:`FILTER_SECONDS` seconds with each :meth:`update`.
    """

    def __init__(self, requests: Rows) -> None:
        self.requests: Final = requests
        self.filter = Filter()
        self.show_internal = False
        self.sort = NEWEST
        self._unfiltered = 0  # number of oldest rows that the filter has not checked
        self._unfiltered_numbers: list[int] = []  # requests from the server that it has not checked
        self._seen: int = -1
        self._server_requests = requests.server_requests
        self._server_requests_at = 0  # the moment at which the server's requests were read
        self._called = 0  # number of rows
        self._top_codes = array("Q")  # codes of the top-level lines, sorted
        self._hidden_codes = array("Q")  # codes hidden because they are internal, sorted
        self._internal_known = 0  # internal requests whose parents are known
        self._children = array("I")  # places of the children, sorted
        self._child_rows: dict[int, list[int]] = {}  # places of the children by the place of their parent
        self._order: list[int] = []  # codes from the top; empty for newest first
        self._lines: dict[int, int] = {}  # places in ``_order`` by code
        self._expanded: set[int] = set()  # places of rows whose children are shown
        # The children that are shown, each with the top-level line above it.
        self._shown_children: list[tuple[int, Item]] = []

    # -- what is shown ---------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return self.shown + len(self._shown_children)

    @property
    def shown(self) -> int:
        """The number of top-level lines."""
        return len(self._top_codes)

    @property
    def unfiltered(self) -> int:
        """The number of requests that the filter has not checked."""
        return self._unfiltered + len(self._unfiltered_numbers)

    @property
    def total(self) -> int:
        """The number of lines without the filter. Children count only if there is a filter, which makes them top-level."""
        if not self.filter:
            return self.shown
        asked = len(self._server_requests)
        asked -= self._server_requests.table.kinds.count(CHILD, 0, asked)
        return self._called + asked - self.internal_hidden

    @property
    def internal_hidden(self) -> int:
        """The number of lines that :attr:`show_internal` would add."""
        return len(self._hidden_codes) + (0 if self.show_internal else self._server_requests.answered_pings)

    def shows(self, row: Request) -> bool:
        """Whether a row is a top-level line."""
        place = self.requests.place(row.id)
        return place is not None and has(self._top_codes, _code(place))

    # -- what happened ---------------------------------------------------------------------------------------

    def refilter(self, filter: Filter, *, show_internal: bool) -> None:
        """Shows the rows that pass another filter."""
        self.filter, self.show_internal = filter, show_internal
        self._order.clear()
        self._seen = -1
        self.update()

    def update(self) -> bool:
        """Applies changes of the requests; returns whether there were any."""
        requests = self.requests
        if requests.version == self._seen and not self.unfiltered:
            return False
        changed, self._seen = requests.changed_since(self._seen), requests.version
        self._called = len(requests.order)
        self._find_parents()
        if changed is None:
            self._show_all()
        else:
            for codes in (self._top_codes, self._hidden_codes):  # a recording may be at an earlier moment now
                del codes[bisect_left(codes, _code(self._called)) :]
            self._unfiltered = min(self._unfiltered, self._called)
            for place in sorted(changed):
                if place < self._called:
                    self._show_or_hide(place)
        self._update_server_requests(everything=changed is None)
        if self.unfiltered:
            self._filter_older()
        self._arrange()
        return True

    def _find_parents(self) -> None:
        """Finds the parents of new internal requests."""
        internal = self.requests.internal
        until = bisect_left(internal, self._called)
        for place in internal[self._internal_known : until]:
            parent = self.requests.parent(place)
            if parent is not None:
                self._child_rows.setdefault(parent, []).append(place)
                self._children.append(place)
        self._internal_known = max(self._internal_known, until)

    def _show_all(self) -> None:
        """Shows all rows; with a filter, none until :meth:`_filter_older` checks them."""
        requests, called = self.requests, self._called
        internal = () if self.show_internal else requests.internal[: bisect_left(requests.internal, called)]
        over = [place for place in internal if requests.is_over(place)]
        self._top_codes = array("Q")
        if self.filter:
            self._hidden_codes = array("Q", map(_code, over))
            self._unfiltered = called
            return
        self._hidden_codes = array("Q", (_code(place) for place in over if not has(self._children, place)))
        self._unfiltered = begin = 0
        for place in (*sorted({*over, *self._children[: bisect_left(self._children, called)]}), called):
            self._top_codes.extend(range(_code(begin), _code(place), 1 << 32))
            begin = place + 1

    def _show_or_hide(self, place: int) -> None:
        """Shows or hides the row at a place."""
        hidden = self._is_hidden(place) and (bool(self.filter) or not has(self._children, place))
        put(self._hidden_codes, _code(place), present=hidden)
        if place >= self._unfiltered:
            put(self._top_codes, _code(place), present=self._passes(place))

    def _is_hidden(self, place: int) -> bool:
        return not self.show_internal and has(self.requests.internal, place) and self.requests.is_over(place)

    def _passes(self, place: int) -> bool:
        if self._is_hidden(place):
            return False
        return (
            self.filter.matches(self.requests.row(place)) if self.filter else not has(self._children, place)
        )

    def _filter_older(self) -> None:
        """Checks older rows against the filter for a limited time."""
        until = time.monotonic() + FILTER_SECONDS
        longest = until + FILTER_SECONDS  # searching whole messages may take long
        self._filter_server_requests(until)
        place, enough = self._unfiltered, self._unfiltered - FILTERED_ROWS
        older = bisect_left(self._top_codes, self._unfiltered << 32)
        found = [*self._top_codes[:older]]
        while place and time.monotonic() < (longest if place > enough else until):
            place -= 1
            if self._passes(place):
                found.append(_code(place))
        self._top_codes = array("Q", sorted(found)) + self._top_codes[older:]
        self._unfiltered = place

    # -- requests from the server ----------------------------------------------------------------------------

    def _update_server_requests(self, *, everything: bool) -> None:
        """Shows or hides the server's requests that changed; with ``everything``, all of them.

        On a recording that went back to an earlier moment, later requests are removed.
        """
        asked = self._server_requests
        received, ended = asked.changes(self._server_requests_at)
        self._server_requests_at = asked.moment
        if everything:
            numbers = asked.alone(pings=self.show_internal)
            self._unfiltered_numbers = numbers if self.filter else []
            if numbers and not self.filter:
                self._top_codes = array("Q", sorted([*self._top_codes, *map(self._number_code, numbers)]))
            return
        while self._unfiltered_numbers and self._unfiltered_numbers[-1] >= len(asked):
            self._unfiltered_numbers.pop()
        for number in (*received, *ended):
            put(self._top_codes, self._number_code(number), present=self._passes_number(number))

    def _filter_server_requests(self, until: float) -> None:
        """Checks older requests from the server against the filter for a limited time."""
        for _ in range(len(self._unfiltered_numbers)):
            if time.monotonic() > until:
                break
            number = self._unfiltered_numbers.pop()
            put(self._top_codes, self._number_code(number), present=self._passes_number(number))

    def _passes_number(self, number: int) -> bool:
        """Whether a request from the server is a top-level line."""
        asked = self._server_requests
        if number >= len(asked) or asked.table.kinds[number] == CHILD:
            return False
        hidden = asked.table.kinds[number] == PING and not self.show_internal and asked.is_over(number)
        return not hidden and (not self.filter or self.filter.matches(asked[number]))

    def _number_code(self, number: int) -> int:
        """Returns the code of a request from the server."""
        return self._server_requests.table.places[number] << 32 | number

    # -- lines -----------------------------------------------------------------------------------------------

    def item(self, line: int) -> Item:
        """Returns the subject of a line."""
        under = self._shown_children
        at = bisect_left(range(len(under)), line, key=lambda at: under[at][0] + 1 + at)
        if at < len(under) and under[at][0] + 1 + at == line:
            return under[at][1]
        return self._top(line - at)

    def key(self, line: int) -> TypedId:
        """Returns the key of a line."""
        return self.item(line).key

    def _top(self, line: int) -> Item:
        code = self._top_codes[-1 - line] if self.sort.key is None else self._order[line]
        place, number = code >> 32, code & _ROW
        if number != _ROW:
            # Until the next update, the request may be later than the moment of the recording.
            return Item((ServerRequest, number), None, server_request=self._server_requests.row(number))
        row = self.requests.row(place)
        children = (
            len(row.round_ids) + len(self._child_rows_of(place)) + len(self._server_requests.children(place))
        )
        return Item(row_key(row), row, children=children, expanded=place in self._expanded)

    def _child_rows_of(self, place: int) -> list[int]:
        """Returns the places of the requests made on behalf of a row, oldest first."""
        found = self._child_rows.get(place, [])
        return found[: bisect_left(found, self._called)]

    def _code_of(self, key: TypedId) -> int | None:
        """Returns the code of a top-level line, shown or not."""
        kind, id = key
        if kind is ServerRequest:
            is_child = self._server_requests.table.kinds[int(id)] == CHILD
            return None if is_child else self._number_code(int(id))
        place = None if kind is ev.Round else self.requests.place(id)
        return None if place is None else _code(place)

    def _top_line(self, code: int | None) -> int | None:
        """Returns the number of a line among the top-level lines by its code; ``None`` if it is not shown."""
        if code is None:
            return None
        if self.sort.key is not None:
            return self._lines.get(code)
        return self._newer(code) if has(self._top_codes, code) else None

    def _newer(self, code: int) -> int:
        """Returns the number of top-level lines that are newer than a code."""
        return self.shown - bisect_right(self._top_codes, code)

    def _line_of_top(self, top: int) -> int:
        """Returns the number of a top-level line among all lines, which include the children above it."""
        return top + bisect_left(self._shown_children, top, key=lambda child: child[0])

    def line(self, key: TypedId) -> int | None:
        """Returns the line of a key, or ``None`` if the key is not shown."""
        for at, (top, item) in enumerate(self._shown_children):
            if item.key == key:
                return top + 1 + at
        top = self._top_line(self._code_of(key))
        return None if top is None else self._line_of_top(top)

    def nearest(self, key: TypedId) -> int:
        """Returns the line of a key, else that of its parent, else the line at which the key would be shown."""
        line = self.line(key)
        if line is None and (owner := self.owner(key)) is not None:
            line = self.line(owner)
        if line is None:
            code = self._code_of(key) if self.sort.key is None else None
            line = 0 if code is None else self._line_of_top(min(self.shown - 1, self._newer(code)))
        return max(0, min(len(self) - 1, line))

    def owner(self, key: TypedId) -> TypedId | None:
        """Returns the key of the parent of a child, expanded or not; ``None`` for a top-level line."""
        for top, item in self._shown_children:
            if item.key == key:
                return self._top(top).key
        parent = None
        if key[0] is ServerRequest:
            parent = self._parent_of_server_request(int(key[1]))
        elif key[0] is not ev.Round:
            place = self.requests.place(key[1])
            if place is not None and has(self._children, place):
                parent = self.requests.parent(place)
        return None if parent is None else row_key(self.requests.row(parent))

    def _parent_of_server_request(self, number: int) -> int | None:
        """Returns the place of the row to which a request from the server belongs; ``None`` for no row."""
        asked = self._server_requests
        if number >= len(asked) or asked.table.kinds[number] != CHILD:
            return None
        parent = asked[number].parent
        return None if parent is None else self.requests.place(parent)

    def top_of(self, item: Item) -> int | None:
        """Returns the line of an item, or of its parent if it is a child; ``None`` if that line has no children."""
        owner = item.key if item.after is None else self.owner(item.key)
        line = None if owner is None else self.line(owner)
        return line if line is not None and self.item(line).children else None

    def reveal(self, key: TypedId) -> int | None:
        """Expands the parent of a key, if any, and returns the line of the key; ``None`` if the key is not shown."""
        if (line := self.line(key)) is not None:
            return line
        owner = self.owner(key)
        if owner is None or self.line(owner) is None:
            return None
        self.expand(owner, expanded=True)
        return self.line(key)

    # -- the order of the lines -------------------------------------------------------------------------------

    def resort(self, sort: Sort, now: float) -> None:
        """Sorts the rows by their values at ``now``."""
        self.sort = sort
        self._order = []
        place = sort.at(now)
        if place is not None:
            rows = [code for code in reversed(self._top_codes) if code & _ROW == _ROW]
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
        self._shown_children = [
            (top, item) for top, place in shown for item in self.children(self.requests.row(place))
        ]

    def _keep_order(self) -> None:
        """Removes codes that are no longer shown, and adds new ones on top; requests from the server stay below the rows."""
        shown = self._top_codes[::-1]
        known, still = set(self._order), set(shown)
        found = [code for code in shown if code not in known]
        found += [code for code in self._order if code in still]
        self._order = sorted(found, key=lambda code: code & _ROW != _ROW)
        self._lines = {code: line for line, code in enumerate(self._order)}

    def children(self, row: Request) -> list[Item]:
        """Returns the children of a row, shown or not, by time."""
        start = row.called_at if row.sent_at is None else row.sent_at
        place = self.requests.place(row.id)
        found = [
            Item((ev.Round, event.wire_id), row, round_=event, after=event.at - start)
            for event in row.history
            if isinstance(event, ev.Round)
        ]
        for child_row in map(self.requests.row, () if place is None else self._child_rows_of(place)):
            at = child_row.called_at if child_row.sent_at is None else child_row.sent_at
            found.append(Item(row_key(child_row), child_row, after=at - start))
        for number in () if place is None else self._server_requests.children(place):
            asked = self._server_requests[number]
            found.append(Item((ServerRequest, number), None, server_request=asked, after=asked.at - start))
        return sorted(found, key=lambda item: item.after or 0.0)
