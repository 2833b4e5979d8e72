"""The table of requests: newest first, with live timers, children, marks, and orders."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from textual import events
from textual.geometry import Region
from textual.strip import Strip

from mcp_tui.journal.payloads import SearchedMessages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.evidence import wording_may_change
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.states import TypedId
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.widgets.canvas import Canvas, ListCanvas
from mcp_tui.view.columns import NEWEST, ColumnWidths, Layout, Sort
from mcp_tui.view.filters import Shown, is_open, parse
from mcp_tui.view.keys import REQUESTS, hint, key_of
from mcp_tui.view.lines import Segments
from mcp_tui.view.outline import Item, Outline, Rows, row_key
from mcp_tui.view.rows import counted, empty_state
from mcp_tui.view.table_columns import LONG_TEXT_CELLS, TableLine, columns
from mcp_tui.view.text import NOTHING, SafeText, clean, join, safe, words

TENTHS_SECONDS: Final = 10.0
"""Seconds after which a timer is drawn once a second instead of ten times."""

RESORTED: Final = 1.0
"""Seconds between automatic sorts while the cursor is at the top."""

_GUTTER_CELLS: Final = 3
"""The cells before the first column: the cursor, the glyph, and the mark."""

_MEASURED_ROWS: Final = 4096
"""The number of measured rows to remember: measuring takes as long as drawing."""


class RowPainter:
    """Paints rows in columns, each row once per change. Columns only grow while rows come into view."""

    def __init__(self, canvas: Canvas, logged_at: Sequence[float]) -> None:
        self._canvas = canvas
        self._logged_at = logged_at
        self._widths: ColumnWidths[TableLine] = ColumnWidths()
        self._measured: set[object] = set()
        self._width = 0
        self.server_of: Callable[[RequestId], str] | None = None
        """Returns the name of the server of a request, if there are several."""
        self.loss = ""
        """The reason of a lost connection as the bar shows it: no row repeats it."""
        self.layout: Layout[TableLine] = Layout()

    def reset(self) -> None:
        """Forgets the widths of rows shown so far."""
        self._widths.reset()
        self._measured.clear()

    def measure(self, items: Iterable[Item], now: float, width: int) -> bool:
        """Fits the columns to more items in a line of ``width`` cells; returns whether that moves a column."""
        wide = width >= LONG_TEXT_CELLS
        if wide is not (self._width >= LONG_TEXT_CELLS):
            self.reset()  # the words depend on the width
        if len(self._measured) > _MEASURED_ROWS:
            self._measured.clear()
        new: list[TableLine] = []
        for item in items:
            known = (item.key, item.children, *_width_key(item, now))
            if known not in self._measured:
                self._measured.add(known)
                new.append(self._line(item, now, wide=wide))
        shown = columns(width, servers=self.server_of is not None)
        grown = self._widths.grow(shown, new)
        if not grown and width == self._width and self._measured:
            return False
        self._width = width
        made = self._widths.fit(shown, width - _GUTTER_CELLS)
        moved = made != self.layout
        if moved:
            self.layout = made
            self._canvas.strips.clear()
        return moved

    def _line(self, item: Item, now: float, *, wide: bool, still: bool = False) -> TableLine:
        server = ""
        if self.server_of is not None and item.round_ is None:
            about = (
                item.row.id
                if item.row is not None
                else item.server_request and item.server_request.request_id
            )
            server = "" if about is None else self.server_of(about)
        return TableLine(item, now, wide, still, self.loss, self._logged_at, server)

    def header(self) -> Strip:
        """Returns the titles of the columns."""
        return self._canvas.strip(((words(" " * _GUTTER_CELLS), ""), *self.layout.header()))

    def strip(self, item: Item, now: float, *, selected: bool, marked: bool, still: bool = False) -> Strip:
        """Returns the line of an item; with ``still``, nothing counts down."""
        row, cached, strips = item.row, None, self._canvas.strips
        # A child shows its time after its row, and open or watched rows change with the time. Caching the constant
        # cells of running rows saved no measurable time.
        if row is not None and item.after is None and not row.open and not wording_may_change(row, now):
            cached = item.key, row.version, selected, marked, item.expanded, item.children
            if cached in strips:
                return strips[cached]
        line = self._line(item, now, wide=self._width >= LONG_TEXT_CELLS, still=still)
        pieces = (*_gutter(line, selected=selected, marked=marked), *self.layout.pieces(line))
        strip = self._canvas.strip(pieces, cursor=selected)
        if cached is not None:
            strips[cached] = strip
        return strip


def _gutter(line: TableLine, *, selected: bool, marked: bool) -> Segments:
    badge = line.badge
    glyph = safe("{}{}", "›" if selected else " ", badge.glyph)
    # one piece without a mark: each piece is drawn separately
    return ((glyph, badge.style), (words("▪"), "accent")) if marked else ((safe("{} ", glyph), badge.style),)


def _width_key(item: Item, now: float) -> tuple[object, ...]:
    """Returns values that change whenever the width of an item's texts may change: those of clocks at most once a second."""
    row = item.row
    if row is None:
        return (item.server_request and item.server_request.outcome,)
    return row.version, int(row.elapsed(now)), row.open and int(now - (row.received_at or now))


class RequestTable(ListCanvas):
    """The requests of one session; call :meth:`refresh_rows` from the screen's timer.

    ``timers`` is ``live``, ``slow`` (once a second), or ``off`` (drawn only after a change). Children of a row are
    below it while it is expanded. In an order other than *newest*, rows keep their place until a key sorts them
    again, or while the cursor is at the top.

    Attributes:
        outline: the lines.
        server: returns the name of the server, for the filter.
        messages: the whole messages, for the filter.
        empty: the sentence for a table without requests.
        marks: the keys of the marked rows, in the order in which they were marked.
    """

    ALLOW_SELECT = False

    BINDINGS = bindings(REQUESTS)

    cursor_in_sight = True
    header = 1

    def __init__(self, requests: Rows, *, now: Callable[[], float], id: str | None = None) -> None:
        self.requests = requests
        self.outline = Outline(requests)
        super().__init__(self.outline, id=id)
        self.now = now
        self.timers = "live"
        self.server: Callable[[], str] = str
        self.messages = SearchedMessages(lambda _: None)
        self.marks: dict[TypedId, None] = {}
        self.empty = hint("No requests yet. Press {request.new} to call a tool.")
        self._painter = RowPainter(self, requests.logged_at)
        self._sorted_at = self._reworded_at = self._drawn_at = 0.0

    # -- display ---------------------------------------------------------------------------------------------

    @property
    def wanted(self) -> SafeText:
        """The filter as typed."""
        return clean(self.outline.filter.text)

    def refilter(self, wanted: str | None = None, *, show_internal: bool | None = None) -> None:
        """Sets the filter, see :mod:`mcp_tui.view.filters`, or whether finished internal requests are shown."""
        outline, anchor = self.outline, self.anchored()
        filter = outline.filter
        if wanted is not None:
            self.messages.redacted = self.messages.missing = False
            of = self._painter.server_of
            filter = parse(wanted, server=self.server, server_of=of, now=self.now, payload=self.messages)
        shown = outline.show_internal if show_internal is None else show_internal
        outline.refilter(filter, show_internal=shown)
        outline.resort(outline.sort, self.now())
        self.settle(anchor)

    def name_servers(self, server_of: Callable[[RequestId], str]) -> None:
        """Shows the server of each request in a separate column."""
        self._painter.server_of = server_of

    def items(self) -> Iterator[Item]:
        """Returns all lines from the top."""
        return map(self.outline.item, range(len(self.outline)))

    def set_loss(self, loss: str) -> None:
        """Sets the reason of a lost connection as the bar shows it; no row repeats it."""
        if loss != self._painter.loss:
            self._painter.loss = loss
            self.strips.clear()
            self.settle(self.anchored())

    # -- the line under the cursor ---------------------------------------------------------------------------

    @property
    def item(self) -> Item | None:
        """The item under the cursor; ``None`` if the filter hides it."""
        line = self.cursor_line
        return None if line is None else self.outline.item(line)

    @property
    def selected(self) -> Request | None:
        """The request under the cursor; ``None`` if the filter hides it, so that no key acts on it."""
        item = self.item
        return None if item is None else item.row

    def select(self, id: RequestId) -> bool:
        """Puts the cursor on a request and scrolls to it; returns false if it is not shown."""
        self.outline.update()
        line = self.outline.reveal((type(id), id))
        if line is None:
            return False
        self.resize()
        self.put_cursor(line)
        return True

    def about(self, line: int) -> RequestId | None:
        """Returns the id of the request; ``None`` for one of the server."""
        row = self.outline.item(line).row
        return None if row is None else row.id

    # -- drawing ---------------------------------------------------------------------------------------------

    def refresh_rows(self) -> None:
        """Draws all rows after an event, otherwise only timers that moved."""
        if not self.is_mounted or not self.size:
            return
        anchor = self.anchored()
        if self.outline.update():
            if self._at_rest():
                self._put_in_order(self.outline.sort)
            self.settle(anchor)
        else:
            self._refresh_timers()

    @property
    def runs_fast(self) -> bool:
        """Whether a timer on the screen moves ten times a second."""
        return any(self.is_fast(self.outline.item(line).about) for line in self.in_view())

    def is_fast(self, row: Shown | None) -> bool:
        """Whether the timer of a request moves ten times a second."""
        if self.timers != "live" or row is None or not is_open(row):
            return False
        return row.elapsed(self.now()) < TENTHS_SECONDS

    def render_line(self, y: int) -> Strip:
        if y == 0:
            return self._painter.header()
        line = self.line_at(y)
        if line is None:
            total, searching = self.outline.total, self.outline.unfiltered > 0
            none = empty_state(self.empty, wanted=self.wanted, hidden=total, searching=searching)
            return self.blank() if len(self.outline) else self.say_at(y - 1, none, indent=3)
        item = self.outline.item(line)
        marked, still = item.key in self.marks, self.timers == "off"
        selected = item.key == self._cursor
        return self._painter.strip(item, self.now(), selected=selected, marked=marked, still=still)

    def _refresh_timers(self) -> None:
        """Draws the live columns of visible open rows, ten times a second for young ones, otherwise once."""
        if self.timers == "off":
            return
        now, view = self.now(), self.in_view()
        items = list(zip(view, map(self.outline.item, view), strict=True))
        if now - self._reworded_at >= 1.0:
            changing = [
                line for line, item in items if item.row is not None and wording_may_change(item.row, now)
            ]
            if changing:
                self._reworded_at = now
                self._repaint(changing)
        live = [(line, item.about) for line, item in items if is_open(item.about)]
        young = any(self.is_fast(about) for _, about in live)
        if live and now - self._drawn_at >= (0.1 if young else 1.0):
            self._drawn_at = now
            self._measure()
            self._repaint([line for line, _ in live], left=_GUTTER_CELLS + self._painter.layout.live_at)

    def _repaint(self, lines: list[int], *, left: int = 0) -> None:
        """Draws lines again, from the cell ``left`` on."""
        top = self.header + lines[0] - self.scroll_offset.y
        self.refresh(Region(left, top, max(0, self.size.width - left), lines[-1] - lines[0] + 1))

    def settle(self, anchor: tuple[Any, int] | None) -> None:
        if self.size and self._cursor is None and len(self.outline):
            self._cursor = self.outline.key(0)
            self.post_message(self.Selected(self, self.about(0)))
        super().settle(anchor)
        self._drawn_at = self.now()

    def placed(self) -> None:
        self._measure()
        self.caption(words("Requests"), self._about())

    def _measure(self) -> None:
        """Fits the columns to the rows in view."""
        if self._painter.measure(map(self.outline.item, self.in_view()), self.now(), self.inner.width):
            self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        self._painter.reset()
        self.outline.update()

    @property
    def counted(self) -> SafeText:
        """The numbers of shown, of all, and of hidden internal requests, and a remark about requests that could not be
        searched.
        """
        outline, shows = self.outline, key_of("view.internal")
        text = counted(outline.shown, outline.total, "request", internal=outline.internal_hidden, key=shows)
        missing = words("some messages are gone") if self.messages.missing else NOTHING
        redacted = words("secrets were removed") if self.messages.redacted else NOTHING
        return join(filter(None, (text, missing, redacted)), " · ")

    def _about(self) -> SafeText:
        """Returns the text of the lower border."""
        parts = [words("following")] if self.follow else []
        if self.outline.sort is not NEWEST:
            parts.insert(0, safe("sort {}", self.outline.sort.value))
        if self.marks:
            parts.insert(0, safe("{:,} marked", len(self.marks)))
        if not self.follow and self.scroll_offset.y:
            parts.append(safe("{:,} newer above", self.scroll_offset.y))
        if self.wanted:
            parts.append(safe("filter {}", self.wanted))
        parts.append(self.counted)
        return join(parts, " · ")

    # -- order -----------------------------------------------------------------------------------------------

    def resort(self, sort: Sort | None = None) -> bool:
        """Sorts the rows by an order, or again by the current one; returns false if there are too many."""
        wanted = (sort or self.outline.sort) if self.outline.shown <= self.requests.sortable else NEWEST
        anchor = self.anchored()
        self.outline.update()
        self._put_in_order(wanted)
        self.settle(anchor)
        return sort is None or wanted is sort

    def _put_in_order(self, sort: Sort) -> None:
        self.outline.resort(sort, self.now())
        self._sorted_at = self.now()

    def _at_rest(self) -> bool:
        """Whether to sort automatically: nobody aims at a row while the cursor is at the top."""
        if self.outline.sort is NEWEST or self.scroll_offset.y or self.now() - self._sorted_at < RESORTED:
            return False
        return self.cursor_line in {None, 0} and self.outline.shown <= self.requests.sortable

    def action_newest(self) -> None:
        """Goes to the newest row and follows; sorts again in any other order."""
        if self.outline.sort is not NEWEST:
            self.resort()
        self.action_top()
        self.follow = True

    action_oldest = ListCanvas.action_bottom

    # -- related rows, and marks -----------------------------------------------------------------------------

    def unfold(self, *, expanded: bool | None = None) -> bool:
        """Expands or collapses the row under the cursor or above it; returns false if it has no children.

        Without ``expanded`` it is toggled.
        """
        line = None if self.item is None else self.outline.top_of(self.item)
        if line is None:
            return False
        top = self.outline.item(line)
        wanted = not top.expanded if expanded is None else expanded
        if wanted is not top.expanded:
            if not wanted:
                self.put_cursor(line)
            anchor = self.anchored()
            self.outline.expand(top.key, expanded=wanted)
            self.settle(anchor)
        return True

    @property
    def marked_rows(self) -> list[Request]:
        """The marked rows that are shown, in the order of the lines; no key acts on hidden ones."""
        lines = sorted(line for mark in self.marks if (line := self.outline.line(mark)) is not None)
        return [row for line in lines if (row := self.outline.item(line).row) is not None]

    def mark(self) -> bool:
        """Marks or unmarks the row under the cursor; returns false if there is none."""
        row = self.selected
        if row is None:
            return False
        mark = row_key(row)
        if mark in self.marks:
            del self.marks[mark]
        else:
            self.marks[mark] = None
        self.settle(self.anchored())
        return True

    def mark_all(self) -> None:
        """Marks all top-level rows that are shown, or unmarks them if all are marked."""
        shown = [item.row for item in self.items() if item.row is not None and item.after is None]
        marks = {row_key(row): None for row in shown if not row.internal}
        self.marks = {} if marks.keys() <= self.marks.keys() else {**self.marks, **marks}
        self.settle(self.anchored())

    def unmark(self) -> None:
        """Removes all marks."""
        self.marks.clear()
        self.settle(self.anchored())
