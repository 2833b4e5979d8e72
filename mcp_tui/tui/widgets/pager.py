"""A page of any length: drawn where it is in sight, folded, searched."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from textual.message import Message
from textual.strip import Strip

from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.panes import PAGE
from mcp_tui.tui.view.pages import Page, Place
from mcp_tui.tui.view.text import NOTHING, SafeText, safe, words
from mcp_tui.tui.widgets.canvas import ListCanvas
from mcp_tui.tui.widgets.finder import Finder
from mcp_tui.tui.widgets.line_list import Numbers

PAUSE: Final = 0.1
"""Seconds without a keystroke after which is looked for what was typed."""


class Pager(Finder, ListCanvas):
    """Shows one :class:`~mcp_tui.tui.view.pages.Page`, with a cursor on a line."""

    DEFAULT_CSS = """
    Pager {
        border: round $primary;
        border-title-color: $foreground;
        border-subtitle-color: $text-muted;
        padding-left: 1;
    }
    """

    SCOPES = (PAGE,)
    BINDINGS = bindings(*SCOPES)

    cursor_in_sight = True

    class Moved(Message):
        """The cursor is on another line."""

    class Opened(Message):
        """enter on a line that does not fold."""

    def __init__(self) -> None:
        super().__init__(Numbers((), newest_first=False))
        self._page: Page | None = None
        self._searches = 0

    @property
    def at(self) -> int:
        """The number of the line under the cursor."""
        return self.cursor_line or 0

    def show(self, title: SafeText, page: Page | None) -> None:
        """Show another page from its top; ``None`` while it is being read."""
        self.title, self._page = title, page
        self.end()
        self._searches += 1
        self._cursor, self._follow = 0, True
        self.settle(None)

    def chosen(self, line: int) -> None:
        self.post_message(self.Moved())

    def settle(self, anchor: tuple[Any, int] | None) -> None:
        if self._page is not None and self.inner_width > 0:
            self._page.lay_out(self.inner_width)
        super().settle(anchor)

    def resize(self) -> None:
        count = 0 if self._page is None else self._page.count
        self.lines = Numbers(range(count), newest_first=False)
        super().resize()

    def placed(self) -> None:
        count = len(self.lines)
        where = safe("line {:,} of {:,}", self.at + 1, count) if count else NOTHING
        self.caption(self.title, self.said or where)

    def render_line(self, y: int) -> Strip:
        if self._page is None:
            return self.say(words("reading …")) if y == 0 else self.blank()
        line = self.line_at(y)
        if line is None:
            return self.blank()
        strip = self.strip(self._page.line(line).segments, cursor=line == self.at and self.has_focus)
        return self.highlighted(strip)

    def opened(self, line: int) -> None:
        """Fold or unfold the line; where it does not fold, say so to whoever follows links."""
        if self._page is not None and self._page.toggle(line):
            self.settle(self.anchored())
        else:
            self.post_message(self.Opened())

    # -- finding ---------------------------------------------------------------------------------------------

    def look(self) -> None:
        self._searches += 1
        self.places = None if self.wanted else ()
        if self.wanted and self._page is not None:
            self.run_worker(self._search(self._page, self.wanted, self._searches), exit_on_error=True)

    async def _search(self, page: Page, wanted: str, number: int) -> None:
        # Beside the screen: a large page takes seconds, and keys are heard meanwhile.
        await asyncio.sleep(PAUSE)
        if number != self._searches:
            return
        places = await asyncio.to_thread(page.find, wanted, lambda: number != self._searches)
        if number == self._searches:
            self.places = places
            self.go()

    def reveal(self, place: Place) -> None:
        if self._page is not None:
            line = self._page.reveal(place)
            self.resize()
            self.put_cursor(line)
