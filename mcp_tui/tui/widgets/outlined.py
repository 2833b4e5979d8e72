"""What the table of requests is made of: lines of an outline, their order, which are marked and which opened."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from mcp_tui.protocol.requests import Request, ServerRequest
from mcp_tui.tui.view.filters import Filter, parse
from mcp_tui.tui.view.index import Key, RowIndex, key
from mcp_tui.tui.view.outline import Item, Outline, Sort
from mcp_tui.tui.view.text import SafeText
from mcp_tui.tui.widgets.canvas import Canvas


class Outlined(Canvas):
    """Lines, before they are drawn.

    Attributes:
        server: what the server of these rows is called, for the filter.
        marks: the marked rows by their keys, in the order in which they were marked.
    """

    def __init__(
        self,
        index: RowIndex,
        *,
        now: Callable[[], float] = time.monotonic,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.now = now
        self.server: Callable[[], str] = str
        self.marks: dict[Key, None] = {}
        self._index = Outline(index)
        self._sorted_at = 0.0

    def _anchor(self) -> tuple[Key, int] | None:
        """A line that is to stay where it is on the screen."""
        raise NotImplementedError

    def _settle(self, anchor: tuple[Key, int] | None) -> None:
        """Lay out anew after a change of what is shown."""
        raise NotImplementedError

    # -- what is shown ---------------------------------------------------------------------------------------

    @property
    def filter(self) -> str:
        """The filter as it was typed; see :mod:`mcp_tui.tui.view.filters`."""
        return self._index.filter.text

    @filter.setter
    def filter(self, text: str) -> None:
        self._refilter(parse(text, server=self.server), show_internal=self._index.show_internal)

    @property
    def problem(self) -> SafeText:
        """What of the filter is not understood; empty where all is."""
        return self._index.filter.problem

    @property
    def show_internal(self) -> bool:
        """Whether the client's own requests are shown when they are over; running ones always are."""
        return self._index.show_internal

    @show_internal.setter
    def show_internal(self, show: bool) -> None:
        self._refilter(self._index.filter, show_internal=show)

    @property
    def shown(self) -> int:
        """Lines that are shown."""
        return len(self._index)

    def _refilter(self, filter: Filter, *, show_internal: bool) -> None:
        anchor = self._anchor()
        self._index.refilter(filter, show_internal=show_internal)
        self._index.resort(self.sort, self.now())
        self._settle(anchor)

    # -- the line under the cursor ---------------------------------------------------------------------------

    def _cursor_line(self) -> int | None:
        raise NotImplementedError

    @property
    def item(self) -> Item | None:
        """What is under the cursor; ``None`` where that is hidden by the filter."""
        line = self._cursor_line()
        return None if line is None else self._index.item(line)

    @property
    def selected(self) -> Request | None:
        """The request under the cursor; ``None`` where that is hidden by the filter, so that no key acts unseen."""
        item = self.item
        return None if item is None else item.row

    @property
    def asked(self) -> ServerRequest | None:
        """The request of the server's under the cursor."""
        item = self.item
        return None if item is None else item.server_request

    # -- order -----------------------------------------------------------------------------------------------

    @property
    def sort(self) -> Sort:
        """The order of the rows."""
        return self._index.sort

    def resort(self, sort: Sort | None = None) -> bool:
        """Put the rows in an order, or in that of before as they are now; false where there are too many for it."""
        wanted = self.sort if sort is None else sort
        if wanted is not Sort.NEWEST and self._index.shown > self._index.sortable:
            wanted = Sort.NEWEST
        anchor = self._anchor()
        self._index.update()
        self._put_in_order(wanted)
        self._settle(anchor)
        return sort is None or wanted is sort

    def _put_in_order(self, sort: Sort) -> None:
        self._index.resort(sort, self.now())
        self._sorted_at = self.now()

    # -- what belongs to a row -------------------------------------------------------------------------------

    def belonging(self, row: Request) -> list[Item]:
        """Later rounds, errands and the server's requests that belong to a row, in the order in which they came."""
        return self._index.children(row)

    def unfold(self, *, expanded: bool | None = None) -> bool:
        """Open or close the row under the cursor, or the one that this stands under; false where nothing belongs to it.

        Where ``expanded`` is ``None`` an open row is closed and a closed one opened.
        """
        item = self.item
        if item is None:
            return False
        owner = item.key if item.after is None else self._index.owner(item.key)
        line = None if owner is None else self._index.line(owner)
        if owner is None or line is None:
            return False
        top = self._index.item(line)
        if not top.children:
            return False
        wanted = not top.expanded if expanded is None else expanded
        if wanted is top.expanded:
            return True
        anchor = self._anchor()
        self._index.expand(owner, expanded=wanted)
        if not wanted:
            self._go_to(owner)
        self._settle(anchor if wanted else self._anchor())
        return True

    def _go_to(self, wanted: Key) -> None:
        """Put the cursor on a line that is shown."""
        raise NotImplementedError

    # -- marks -----------------------------------------------------------------------------------------------

    @property
    def marked_rows(self) -> list[Request]:
        """The marked rows that are shown, so that no key acts unseen; in the order of the lines."""
        found = [(line, mark) for mark in self.marks if (line := self._index.line(mark)) is not None]
        items = [self._index.item(line) for line, _ in sorted(found, key=lambda pair: pair[0])]
        return [item.row for item in items if item.row is not None]

    def mark(self) -> bool:
        """Mark the row under the cursor, or take its mark away; false where none can be."""
        item = self.item
        if item is None or item.row is None:
            return False
        mark = key(item.row)
        if mark in self.marks:
            del self.marks[mark]
        else:
            self.marks[mark] = None
        self._settle(self._anchor())
        return True

    def unmark(self) -> None:
        """Take all marks away."""
        self.marks.clear()
        self._settle(self._anchor())

    def items(self) -> Iterator[Item]:
        """Everything that is shown, from the top."""
        return map(self._index.item, range(len(self._index)))
