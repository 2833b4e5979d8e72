"""A page of any length: drawn where it is in sight, folded, searched."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from textual import events
from textual.message import Message
from textual.strip import Strip

from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.panes import PAGE
from mcp_tui.tui.view.pages import Page, Place
from mcp_tui.tui.view.text import SafeText, safe, words
from mcp_tui.tui.widgets.canvas import ListCanvas
from mcp_tui.tui.widgets.finder import Finder
from mcp_tui.tui.widgets.line_list import Numbers

PAUSE: Final = 0.1
"""Seconds without a keystroke after which is looked for what was typed."""

_NOTHING: Final = words("")


class Pager(ListCanvas):
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
        self.finder = Finder()
        self._page: Page | None = None
        self._places: list[Place] = []
        self._searches = 0

    @property
    def at(self) -> int:
        """The number of the line under the cursor."""
        return self.cursor_line or 0

    def show(self, title: SafeText, page: Page | None) -> None:
        """Show another page from its top; ``None`` while it is being read."""
        self.title, self._page = title, page
        self.finder.end()
        self._places = []
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
        where = safe("line {:,} of {:,}", self.at + 1, count) if count else _NOTHING
        self.caption(self.title, self.finder.said or where)

    def render_line(self, y: int) -> Strip:
        if self._page is None:
            return self.say(words("reading …")) if y == 0 else self.blank()
        line = self.line_at(y)
        if line is None:
            return self.blank()
        strip = self.strip(self._page.line(line).segments, cursor=line == self.at and self.has_focus)
        return self.finder.highlighted(self, strip)

    def opened(self, line: int) -> None:
        """Fold or unfold the line; where it does not fold, say so to whoever follows links."""
        if self._page is not None and self._page.toggle(line):
            self.settle(self.anchored())
        else:
            self.post_message(self.Opened())

    # -- finding ---------------------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        before = self.finder.wanted
        if not self.finder.takes(event.key, event.character):
            return
        event.stop()
        event.prevent_default()
        if self.finder.wanted != before:
            self._look()
        self.placed()
        self.refresh()

    def action_find(self) -> None:
        """Type what is to be found."""
        self.finder.begin()
        self.placed()

    def action_step(self, by: int) -> None:
        """To the next place, or the one before."""
        if not self.finder.wanted:
            self.action_find()
            return
        self.finder.step(by)
        self._go()

    def _look(self) -> None:
        self._searches += 1
        self.finder.found, self.finder.at = (None if self.finder.wanted else 0), 0
        if self.finder.wanted and self._page is not None:
            self.run_worker(self._search(self._page, self.finder.wanted, self._searches), exit_on_error=True)

    async def _search(self, page: Page, wanted: str, number: int) -> None:
        # Beside the screen: a large page takes seconds, and keys are heard meanwhile.
        await asyncio.sleep(PAUSE)
        if number != self._searches:
            return
        places = await asyncio.to_thread(page.find, wanted, lambda: number != self._searches)
        if number != self._searches:
            return
        self._places, self.finder.found = places, len(places)
        self._go()

    def _go(self) -> None:
        if self._page is not None and self._places and self.finder.found:
            line = self._page.reveal(self._places[self.finder.at])
            self.resize()
            self.put_cursor(line)
        self.placed()
        self.refresh()
