"""A list to move through: one cursor, one way to follow, one way to stay in place, whatever the lines are."""

from __future__ import annotations

from typing import Any, Protocol

from textual import events
from textual.geometry import Size

from mcp_tui.tui.view.text import SafeText, words
from mcp_tui.tui.widgets.canvas import Canvas


class KeyedLines(Protocol):
    """The lines of a list, 0 on top. A key means the same line for as long as there is one."""

    def __len__(self) -> int: ...

    def key(self, line: int) -> Any:
        """The key of a line from 0 up to the length."""
        ...

    def line(self, key: Any) -> int | None:
        """The line of a key, or ``None`` where it is not shown."""
        ...

    def nearest(self, key: Any) -> int:
        """The line of a key, or the one that it would be at."""
        ...


class ListCanvas(Canvas):
    """Scrolls through :attr:`lines` with a cursor on one of them, held by its key.

    While the list follows, its newest line is in sight; scrolling away stops that, and scrolling back starts it again.
    Otherwise the cursor's line, or the topmost where that is out of sight, stays where it is on the screen.

    Attributes:
        lines: what is shown now. Replaced or changed, it is laid out anew by :meth:`settle`.
        title: stands in the border, where the list puts it there.
        newest_on_top: the newest line is line 0, else the last.
        cursor_in_sight: following stops short of pushing the cursor's line out of sight.
    """

    newest_on_top = True
    cursor_in_sight = False

    def __init__(self, lines: KeyedLines, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines = lines
        self.title = words("")
        self._cursor: Any = None
        self._follow = True
        self._placing = False

    # -- for the list to say -----------------------------------------------------------------------------------

    def chosen(self, line: int) -> None:
        """The cursor went to another line."""

    def opened(self, line: int) -> None:
        """Enter, or a double click."""

    def placed(self) -> None:
        """Other lines are in sight, or the cursor or the number of lines has changed."""

    def retitle(self, title: SafeText) -> None:
        self.title = title
        self.placed()

    # -- what is in sight --------------------------------------------------------------------------------------

    @property
    def follow(self) -> bool:
        """Whether the newest line is kept in sight."""
        return self._follow

    @follow.setter
    def follow(self, follow: bool) -> None:
        self._follow = follow
        self.settle(self.anchored())

    @property
    def header(self) -> int:
        """Rows of the screen above the lines."""
        return 0

    @property
    def footer(self) -> int:
        """Rows of the screen below them."""
        return 0

    @property
    def room(self) -> int:
        """Rows of the screen for lines."""
        return max(1, self.inner_height - self.header - self.footer)

    @property
    def cursor_line(self) -> int | None:
        """The line that the cursor is on, if it is shown."""
        return None if self._cursor is None else self.lines.line(self._cursor)

    @property
    def in_sight(self) -> bool:
        """Whether the cursor's line is on the screen."""
        line = self.cursor_line
        return line is not None and 0 <= line - self.scroll_offset.y < self.room

    @property
    def line_on_screen(self) -> int | None:
        """The row of the terminal with the cursor's line; ``None`` where that is out of sight."""
        line = self.cursor_line
        if line is None or not self.in_sight:
            return None
        return self.content_region.y + self.header + line - self.scroll_offset.y

    def in_view(self) -> range:
        """The lines on the screen."""
        top = self.scroll_offset.y
        return range(top, max(top, min(len(self.lines), top + self.room)))

    def line_at(self, y: int) -> int | None:
        """The line at a row of the screen, counted within the border."""
        line = y - self.header + self.scroll_offset.y
        return line if self.header <= y < self.header + self.room and line < len(self.lines) else None

    # -- places ------------------------------------------------------------------------------------------------

    def anchored(self) -> tuple[Any, int] | None:
        """A line that is to stay, by its key, and its distance from the top of the screen; taken before a change."""
        if not len(self.lines):
            return None
        top = self.scroll_offset.y
        line = self.cursor_line
        if line is None or not self.in_sight:
            line = min(top, len(self.lines) - 1)
        return self.lines.key(line), line - top

    def settle(self, anchor: tuple[Any, int] | None) -> None:
        """Lay out anew after a change of what is shown."""
        if not self.size:
            return
        self.resize()
        if self._follow:
            top = 0 if self.newest_on_top else self.max_scroll_y
            line = self.cursor_line if self.cursor_in_sight else None
            top = top if line is None else max(top, line - self.room + 1)
        elif anchor is None:
            top = 0
        else:
            top = self.lines.nearest(anchor[0]) - min(anchor[1], self.room - 1)
        self._scroll(top)
        self.placed()
        self.refresh()

    def resize(self) -> None:
        """Let the list be as long as its lines are now."""
        self.virtual_size = Size(self.inner_width, len(self.lines) + self.header + self.footer)

    def _scroll(self, top: int) -> None:
        self._placing = True
        try:
            self.scroll_to(y=max(0, top), animate=False, force=True)
        finally:
            self._placing = False

    @property
    def _at_newest(self) -> bool:
        return self.scroll_offset.y == (0 if self.newest_on_top else self.max_scroll_y)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._placing and round(old_value) != round(new_value):
            self._follow = self._at_newest
            self.placed()

    def on_resize(self, event: events.Resize) -> None:
        self.settle(self.anchored())

    # -- cursor ------------------------------------------------------------------------------------------------

    def put_cursor(self, line: int) -> None:
        """The cursor on a line, and that in sight."""
        if not 0 <= line < len(self.lines):
            return
        key = self.lines.key(line)
        if key != self._cursor:
            self._cursor = key
            self.chosen(line)
        before = self.scroll_offset.y
        if line < before:
            self._scroll(line)
        elif self.size and line >= before + self.room:
            self._scroll(line - self.room + 1)
        if self.cursor_in_sight:
            self._follow = self._follow and self._at_newest
        elif self.scroll_offset.y != before:
            self._follow = self._at_newest
        self.placed()
        self.refresh()

    def move(self, lines: int) -> None:
        """The cursor so many lines down. The first key, and one after its line was hidden, take up what is in sight."""
        if not len(self.lines):
            return
        line = self.cursor_line
        if line is not None:
            line += lines
        elif self._cursor is not None:
            line = self.lines.nearest(self._cursor)
        else:
            seen = self.in_view()
            line = seen.start if self.newest_on_top else seen.stop - 1
        self.put_cursor(max(0, min(len(self.lines) - 1, line)))

    def action_cursor_up(self) -> None:
        self.move(-1)

    def action_cursor_down(self) -> None:
        self.move(1)

    def action_page_up(self) -> None:
        self.move(-max(1, self.room - 1))

    def action_page_down(self) -> None:
        self.move(max(1, self.room - 1))

    def action_top(self) -> None:
        self.put_cursor(0)

    def action_bottom(self) -> None:
        self.put_cursor(len(self.lines) - 1)

    def action_activate(self) -> None:
        line = self.cursor_line
        if line is not None:
            self.opened(line)

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        line = None if at is None else self.line_at(at.y)
        if line is not None:
            self.put_cursor(line)
            if event.chain == 2:
                event.prevent_default()  # a double click opens; it does not select all text
                self.action_activate()
