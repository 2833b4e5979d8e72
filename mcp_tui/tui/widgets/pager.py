"""A page of any length: drawn where it is in sight, folded, searched."""

from __future__ import annotations

import asyncio
from typing import Final

from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.panes import PAGE
from mcp_tui.tui.view.pages import Page, Place
from mcp_tui.tui.view.text import SafeText, safe, words
from mcp_tui.tui.widgets.canvas import Canvas
from mcp_tui.tui.widgets.finder import Finder

PAUSE: Final = 0.1
"""Seconds without a keystroke after which is looked for what was typed."""

_NOTHING: Final = words("")


class Pager(Canvas):
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

    class Opened(Message):
        """enter on a line that does not fold."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.finder = Finder()
        self.at = 0
        self._page: Page | None = None
        self._title = _NOTHING
        self._places: list[Place] = []
        self._searches = 0

    def show(self, title: SafeText, page: Page | None) -> None:
        """Show another page from its top; ``None`` while it is being read."""
        self._title, self._page = title, page
        self.finder.end()
        self._places = []
        self._searches += 1
        self.at = 0
        self._lay_out()
        self.scroll_to(y=0, animate=False, force=True)

    def on_resize(self, event: events.Resize) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        page, cells = self._page, self.inner_width
        if cells > 0:
            if page is not None:
                page.lay_out(cells)
            self.virtual_size = Size(cells, 0 if page is None else page.count)
        self._caption()
        self.refresh()

    def _caption(self) -> None:
        count = 0 if self._page is None else self._page.count
        where = safe("{:,} / {:,}", self.at + 1, count) if count else _NOTHING
        self.caption(self._title, self.finder.said or where)

    def render_line(self, y: int) -> Strip:
        page = self._page
        if page is None:
            return self.say(words("reading …")) if y == 0 else self.blank()
        at = y + self.scroll_offset.y
        if at >= page.count:
            return self.blank()
        strip = self.strip(page.line(at).segments, cursor=at == self.at and self.has_focus)
        wanted = self.finder.wanted.casefold()
        if wanted:
            start = strip.text.casefold().find(wanted)
            strip = self.marked(strip, (start, start + len(wanted)) if start >= 0 else None)
        return strip

    # -- moving ----------------------------------------------------------------------------------------------

    def action_move(self, by: int) -> None:
        """Move the cursor by lines."""
        count = 0 if self._page is None else self._page.count
        self.at = max(0, min(count - 1, self.at + by))
        self._sight()

    def action_page(self, by: int) -> None:
        """Move the cursor by what is in sight."""
        self.action_move(by * max(1, self.inner_height - 1))

    def _sight(self) -> None:
        top, height = self.scroll_offset.y, max(1, self.inner_height)
        if self.at < top:
            self.scroll_to(y=self.at, animate=False, force=True)
        elif self.at >= top + height:
            self.scroll_to(y=self.at - height + 1, animate=False, force=True)
        self._caption()
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is not None:
            self.at = 0
            self.action_move(at.y + self.scroll_offset.y)

    def action_open(self) -> None:
        """Fold or unfold the line; where it does not fold, say so to whoever follows links."""
        if self._page is not None and self._page.count and self._page.toggle(self.at):
            self._lay_out()
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
        self._caption()
        self.refresh()

    def action_find(self) -> None:
        """Type what is to be found."""
        self.finder.begin()
        self._caption()

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
            self.at = self._page.reveal(self._places[self.finder.at])
            self._lay_out()
            self._sight()
        self._caption()
        self.refresh()
