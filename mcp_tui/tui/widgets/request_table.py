"""The table of requests: newest first, live timers, a cursor that holds an id and not a place."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.strip import Strip

from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import Book
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.now import hint
from mcp_tui.tui.keys.panes import REQUESTS
from mcp_tui.tui.view.filters import is_open
from mcp_tui.tui.view.index import Key, RowIndex, Rows
from mcp_tui.tui.view.outline import Item, Outline, Sort
from mcp_tui.tui.view.text import SafeText, clean, join, safe, words
from mcp_tui.tui.widgets.outlined import Outlined
from mcp_tui.tui.widgets.row_painter import RowPainter

YOUNG: Final = 10.0
"""Seconds for which a timer shows its tenths as they pass; after that it moves once a second."""

RESORTED: Final = 1.0
"""Seconds between two times that rows are put in order by themselves, while the cursor is at the top."""


class RequestTable(Outlined):
    """Requests of one book. ``index`` says which of them; made for the book where none is given.

    ``timers`` says how clocks run: ``live``, ``slow`` (once a second), or ``off``, drawn only with what changes.
    Set :attr:`book` and :attr:`now`, then call :meth:`refresh_rows` from the screen's timer, as often as may be: it
    draws only what changed. The table has no timer of its own and changes no row.

    While :attr:`follow` is on the newest row is kept in sight; otherwise the rows stay where they are on the screen and
    new ones wait above. Either way the cursor stays with its id and is never pushed out of sight by itself.

    What belongs to a row stands under it once it is opened: later rounds, errands, the server's requests. In an order other
    than *newest* rows stay where they are, until they are put in order by a key or while the cursor is at the top.
    """

    ALLOW_SELECT = False

    SCOPES = (REQUESTS,)
    BINDINGS = bindings(*SCOPES)

    class Selected(Message):
        """The cursor went to another request; ``id`` is ``None`` when it is on none."""

        def __init__(self, table: RequestTable, id: RequestId | None) -> None:
            super().__init__()
            self.table = table
            self.id = id

        @property
        def control(self) -> RequestTable:
            return self.table

    class Activated(Message):
        """Enter or a double click on a request; ``id`` is ``None`` for one of the server's."""

        def __init__(self, table: RequestTable, id: RequestId | None) -> None:
            super().__init__()
            self.table = table
            self.id = id

        @property
        def control(self) -> RequestTable:
            return self.table

    def __init__(
        self,
        book: Rows | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
        index: RowIndex | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(
            RowIndex(book or Book()) if index is None else index, now=now, id=id, classes=classes
        )
        self._empty = hint("No requests yet. Press {request.new} to call a tool.")
        self.timers = "live"
        self._cursor: Key | None = None
        self._follow = True
        self._placing = False
        self._painter = RowPainter(self)
        self._drawn_at = 0.0

    # -- what the screen sets and asks -------------------------------------------------------------------------

    @property
    def book(self) -> Rows:
        """The requests that are shown."""
        return self._index.book

    @book.setter
    def book(self, book: Rows) -> None:
        before = self._index
        self._index = Outline(RowIndex(book))
        self._cursor = None
        self.marks.clear()
        self._painter.start_over()
        self._painter.forget()
        self._index.refilter(before.filter, show_internal=before.show_internal)
        self._index.resort(before.sort, self.now())
        self._settle(None)

    @property
    def empty(self) -> SafeText:
        """What stands where there are no requests."""
        return self._empty

    @empty.setter
    def empty(self, text: SafeText) -> None:
        if text != self._empty:
            self._empty = text
            self.refresh()

    @property
    def follow(self) -> bool:
        """Whether the newest row is kept in sight."""
        return self._follow

    @follow.setter
    def follow(self, follow: bool) -> None:
        self._follow = follow
        self._settle(self._anchor())

    @property
    def in_sight(self) -> bool:
        """Whether the cursor's row is on the screen: the wheel scrolls away from it."""
        line = self._cursor_line()
        return line is not None and 0 <= line - self.scroll_offset.y < self.inner_height - 1

    def select(self, id: RequestId) -> bool:
        """Put the cursor on a request and bring it into sight; false where it is not shown."""
        self._index.update()
        wanted = type(id), id
        line = self._index.line(wanted)
        if line is None:
            owner = self._index.owner(wanted)
            if owner is None or self._index.line(owner) is None:
                return False
            self._index.expand(owner, expanded=True)
            line = self._index.line(wanted)
        if line is None:
            return False
        self._resize()
        self._put(wanted, line)
        return True

    def refresh_rows(self) -> None:
        """Draw what changed: all rows after an event, else only timers that moved visibly."""
        if not self.is_mounted or not self.size:
            return
        anchor = self._anchor()
        if self._index.update():
            if self._at_rest():
                self._put_in_order(self.sort)
            self._settle(anchor)
        else:
            self._refresh_timers()

    def _at_rest(self) -> bool:
        """Whether rows may be put in order by themselves: nobody aims at one while the cursor is at the top."""
        if self.sort is Sort.NEWEST or self.scroll_offset.y or self.now() - self._sorted_at < RESORTED:
            return False
        return self._cursor_line() in {None, 0} and self._index.shown <= self._index.sortable

    # -- lines -------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        if y == 0:
            return self.strip(self._painter.columns.header())
        line = y - 1 + self.scroll_offset.y
        if line >= len(self._index):
            return self.blank() if len(self._index) else self.say_at(y - 1, self._words_for_none(), indent=3)
        item = self._index.item(line)
        return self._painter.strip(
            item,
            self.now(),
            selected=item.key == self._cursor,
            marked=item.key in self.marks,
            still=self.timers == "off",
        )

    def _words_for_none(self) -> SafeText:
        if self._index.kept and self._index.filter:
            return hint("No request passes the filter. Press {app.back} to clear it.")
        return self.empty

    def _refresh_timers(self) -> None:
        """Repaint the moving columns of visible open rows, ten times a second for a young one, else once."""
        now = self.now()
        top = self.scroll_offset.y
        live: list[int] = []
        young = False
        for line in range(top, min(len(self._index), top + self.inner_height - 1)):
            shown = self._index.at(line)
            if is_open(shown):
                live.append(line - top + 1)
                young = young or (self.timers == "live" and shown.elapsed(now) < YOUNG)
        if live and self.timers != "off" and now - self._drawn_at >= (0.1 if young else 1.0):
            self._drawn_at = now
            self._measure()
            left = self._painter.columns.live_at
            self.refresh(Region(left, live[0], max(0, self.size.width - left), live[-1] - live[0] + 1))

    # -- places ------------------------------------------------------------------------------------------------

    def _anchor(self) -> tuple[Key, int] | None:
        """A row and the line of the screen that it is on: the cursor's where that is in sight, else the topmost."""
        if not len(self._index):
            return None
        top = self.scroll_offset.y
        line = self._cursor_line()
        if line is None or not self.in_sight:
            line = min(top, len(self._index) - 1)
        return self._index.item(line).key, line - top

    def _settle(self, anchor: tuple[Key, int] | None) -> None:
        """After a change of what is shown: size, place, cursor, captions."""
        if not self.size:
            return
        if self._cursor is None and len(self._index):
            self._take(self._index.item(0))
        self._resize()
        top = 0 if self._follow or anchor is None else self._index.nearest(anchor[0]) - anchor[1]
        if self._follow:
            line = self._cursor_line()
            if line is not None:
                top = max(top, line - (self.inner_height - 2))
        self._scroll(top)
        self._measure()
        self._caption()
        self._drawn_at = self.now()
        self.refresh()

    def _resize(self) -> None:
        size = Size(self.inner_width, len(self._index) + 1)
        if size != self.virtual_size:
            self.virtual_size = size

    def _measure(self) -> None:
        """Fit the columns to what came into sight."""
        top = self.scroll_offset.y
        lines = range(top, min(len(self._index), top + self.inner_height - 1))
        items = map(self._index.item, lines)
        if self._painter.measure(items, self.now(), width=self.inner_width, ids=self._index.id_width):
            self.refresh()

    def _scroll(self, top: int) -> None:
        self._placing = True
        try:
            self.scroll_to(y=max(0, top), animate=False, force=True)
        finally:
            self._placing = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._placing and round(old_value) != round(new_value):
            self._follow = round(new_value) == 0
            self._measure()
            self._caption()

    def on_resize(self, event: events.Resize) -> None:
        self._painter.start_over()
        anchor = self._anchor()
        self._index.update()
        self._settle(anchor)

    def _caption(self) -> None:
        shown, kept = self._index.shown, self._index.kept
        parts = [words("follow")] if self._follow else []
        if self.sort is not Sort.NEWEST:
            parts.insert(0, safe("sort {}", self.sort.value))
        if self.marks:
            parts.insert(0, safe("{:,} marked", len(self.marks)))
        if not self._follow and self.scroll_offset.y:
            parts.append(safe("{:,} newer above", self.scroll_offset.y))
        if self._index.filter:
            parts.append(safe("filter {}", clean(self._index.filter.text)))
        parts.append(safe("{:,} of {:,}", shown, kept) if shown != kept else safe("{:,} kept", kept))
        self.caption(words("Requests"), join(parts, " · "))

    def forget(self) -> None:
        self._painter.forget()
        super().forget()

    # -- cursor ------------------------------------------------------------------------------------------------

    def _cursor_line(self) -> int | None:
        return None if self._cursor is None else self._index.line(self._cursor)

    def _take(self, item: Item) -> None:
        self._cursor = item.key
        self.post_message(self.Selected(self, None if item.row is None else item.row.id))

    def _put(self, wanted: Key, line: int) -> None:
        """The cursor on the row ``wanted`` at ``line``, and that in sight."""
        if wanted != self._cursor:
            self._take(self._index.item(line))
        room = max(1, self.inner_height - 1)
        top = self.scroll_offset.y
        if line < top:
            self._scroll(line)
        elif line >= top + room:
            self._scroll(line - room + 1)
        if self.scroll_offset.y:
            self._follow = False
        self._measure()
        self._caption()
        self.refresh()

    def _go_to(self, wanted: Key) -> None:
        line = self._index.line(wanted)
        if line is not None:
            self._put(wanted, line)

    def _go(self, line: int) -> None:
        if len(self._index):
            line = max(0, min(len(self._index) - 1, line))
            self._put(self._index.item(line).key, line)

    def _move(self, lines: int) -> None:
        at = self._cursor_line()
        if at is None and self._cursor is not None:
            # The cursor's row is hidden: the next key brings the cursor back to what is in sight.
            self._go(self._index.nearest(self._cursor))
        else:
            self._go((at or 0) + lines)

    def action_cursor_up(self) -> None:
        self._move(-1)

    def action_cursor_down(self) -> None:
        self._move(1)

    def action_page_up(self) -> None:
        self._move(-max(1, self.inner_height - 2))

    def action_page_down(self) -> None:
        self._move(max(1, self.inner_height - 2))

    def action_newest(self) -> None:
        """To the newest row, and follow from there; rows in another order are put in it anew."""
        if self.sort is not Sort.NEWEST:
            self.resort()
        self._go(0)
        self._follow = True
        self._settle(None)

    def action_oldest(self) -> None:
        self._go(len(self._index) - 1)

    def action_toggle_follow(self) -> None:
        self.follow = not self.follow

    def action_activate(self) -> None:
        item = self.item
        if item is not None:
            self.post_message(self.Activated(self, None if item.row is None else item.row.id))

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is None or at.y == 0:
            return
        line = at.y - 1 + self.scroll_offset.y
        if line < len(self._index):
            self._go(line)
            if event.chain == 2:
                self.action_activate()
