"""Lines of a log, of the wire, of the cancellations: one widget for all that is a list of lines."""

from __future__ import annotations

from typing import Final, LiteralString

from textual import events
from textual.cache import LRUCache
from textual.geometry import Offset, Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.panes import LINES
from mcp_tui.tui.view.lines import Line, LineSource, Ring
from mcp_tui.tui.view.text import SafeText, clean, clip, join, safe, width, words
from mcp_tui.tui.widgets.canvas import Canvas

COPIED: Final = 10_000
"""Lines that one copy takes at most."""

_SHIFT: Final = 8
"""Cells that a key moves long lines to the side."""

# Offsets of selected text count down the screen; line numbers of a list with the newest on top count up it.
_TURNED: Final = 1 << 40


class LineList(Canvas):
    """The lines of a :class:`~mcp_tui.tui.view.lines.LineSource`.

    Set :attr:`source`, then call :meth:`refresh_source` from the screen's timer: it draws only where lines came or
    changed. A line is asked for when it is drawn and not before. While :attr:`follow` is on the newest line is in
    sight; scrolling away from it stops that, scrolling back starts it again. The cursor holds a line by its number.

    Args:
        title: stands in the border.
        newest_first: the newest line on top, else at the bottom.
        empty: what to say when there is no line.
    """

    ALLOW_SELECT = True

    SCOPES = (LINES,)
    BINDINGS = bindings(*SCOPES)

    class Selected(Message):
        """The cursor went to another line; ``key`` is what that line is about."""

        def __init__(self, lines: LineList, number: int, key: object) -> None:
            super().__init__()
            self.lines = lines
            self.number = number
            self.key = key

        @property
        def control(self) -> LineList:
            return self.lines

    class Activated(Selected):
        """Enter or a double click on a line."""

    def __init__(
        self,
        source: LineSource | None = None,
        *,
        title: LiteralString = "",
        newest_first: bool = False,
        empty: str = "Nothing yet.",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.title = words(title)
        self.newest_first = newest_first
        self.empty = clean(empty)
        self._source: LineSource = source if source is not None else Ring(1)
        self._span = (0, 0)
        self._version = -1
        self._cursor: int | None = None
        self._follow = True
        self._placing = False
        self._wanted: int | None = None
        self._shift = 0
        self._about: tuple[SafeText, ...] = ()
        self._strips: LRUCache[tuple[int, int, bool], Strip] = LRUCache(512)

    # -- what the screen sets and asks -------------------------------------------------------------------------

    @property
    def source(self) -> LineSource:
        """Where the lines come from."""
        return self._source

    @source.setter
    def source(self, source: LineSource) -> None:
        self._source = source
        self._cursor = None
        self._follow = True
        self._shift = 0
        self._strips.clear()
        self._version = -1
        self.refresh_source()

    def tell(self, *about: SafeText) -> None:
        """Let the lower border say something before the number of lines."""
        if about != self._about:
            self._about = about
            self._caption()

    def retitle(self, title: SafeText) -> None:
        """Let the border say something else."""
        self.title = title
        self._caption()

    @property
    def follow(self) -> bool:
        """Whether the newest line is kept in sight."""
        return self._follow

    @follow.setter
    def follow(self, follow: bool) -> None:
        self._follow = follow
        self._settle(self._anchor())

    @property
    def selected(self) -> Line | None:
        """The line under the cursor, if it is still there."""
        return None if self._cursor_at() is None or self._cursor is None else self._line(self._cursor)

    @property
    def cursor(self) -> int | None:
        """The number of the line under the cursor, if it is still there."""
        return None if self._cursor_at() is None else self._cursor

    @property
    def count(self) -> int:
        """Lines there are."""
        return self._span[1] - self._span[0]

    def refresh_source(self) -> None:
        """Draw what came or changed."""
        source = self._source
        if not self.is_mounted or not self.size:
            return
        if (source.start, source.end) == self._span and source.version == self._version:
            return
        anchor = self._anchor()
        if source.version != self._version:
            self._strips.clear()
        self._settle(anchor)

    # -- lines -------------------------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        number = self._number(y + self.scroll_offset.y)
        if number is None:
            return self.blank() if self.count else self.say_at(y, self.empty, indent=1)
        selection = self.text_selection
        selected = number == self._cursor
        cached = (number, self.inner_width, selected)
        if selection is None and cached in self._strips:
            return self._strips[cached]
        strip = Strip(self.paint(self._line(number).segments, cursor=selected))
        if selection is not None:
            strip = self.marked(strip, selection.get_span(self._offset(number)))
        strip = self._framed(strip, self._offset(number), cursor=selected)
        if selection is None:
            self._strips[cached] = strip
        return strip

    def _framed(self, strip: Strip, offset: int, *, cursor: bool) -> Strip:
        """The cursor's column and the part of a line that is in sight, with a mark where the line goes on."""
        mark, rest, more = self.paint(
            ((words("›" if cursor else " "), "accent"), (words(" "), ""), (words("…"), "muted")),
            cursor=cursor,
        )
        room = max(1, self.inner_width - 1)
        goes_on = strip.cell_length > self._shift + room
        left_out = len(strip.crop(0, self._shift).text)
        strip = strip.crop_extend(self._shift, self._shift + room, rest.style)
        if goes_on:
            strip = Strip([*strip.crop(0, room - 1), more])
        return Strip([mark, *strip.apply_offsets(left_out, offset)])

    # -- numbers and places ------------------------------------------------------------------------------------

    def _line(self, number: int) -> Line:
        # Between two looks at the source, lines that are still in sight may have been let go.
        if not self._source.start <= number < self._source.end:
            return Line(())
        return self._source.line(number, max(1, self.inner_width - 1))

    def _number(self, at: int) -> int | None:
        """The number of the line ``at`` lines from the top of the list."""
        start, end = self._span
        number = end - 1 - at if self.newest_first else start + at
        return number if start <= number < end else None

    def _at(self, number: int) -> int:
        start, end = self._span
        return end - 1 - number if self.newest_first else number - start

    def _offset(self, number: int) -> int:
        return _TURNED - number if self.newest_first else number

    def _cursor_at(self) -> int | None:
        if self._cursor is None or not self._span[0] <= self._cursor < self._span[1]:
            return None
        return self._at(self._cursor)

    def _anchor(self) -> tuple[int, int] | None:
        """The number of the topmost line in sight and its line on the screen."""
        number = self._number(self.scroll_offset.y)
        return None if number is None else (number, 0)

    def _settle(self, anchor: tuple[int, int] | None) -> None:
        if not self.size:
            return
        self._span = (self._source.start, self._source.end)
        self._version = self._source.version
        self.virtual_size = Size(self.inner_width, self.count)
        if self._follow:
            top = 0 if self.newest_first else self.max_scroll_y
        else:
            top = 0 if anchor is None else self._at(anchor[0]) - anchor[1]
        self._placing = True
        try:
            self.scroll_to(y=max(0, top), animate=False, force=True)
        finally:
            self._placing = False
        self._caption()
        self.refresh()
        if self._wanted is not None:
            number, self._wanted = self._wanted, None
            self.select(number)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if not self._placing and round(old_value) != round(new_value):
            at_newest = round(new_value) == (0 if self.newest_first else self.max_scroll_y)
            self._follow = at_newest
            self._caption()

    def on_resize(self, event: events.Resize) -> None:
        self._settle(self._anchor())

    def _caption(self) -> None:
        unseen = self.scroll_offset.y if self.newest_first else self.max_scroll_y - self.scroll_offset.y
        parts = [safe("{:,}", self.count)]
        if self._span[0]:
            parts.append(safe("{:,} older let go", self._span[0]))
        if not self._follow and unseen > 0:
            parts.insert(0, safe("{:,} newer {}", unseen, "above" if self.newest_first else "below"))
        counts = join(parts, " · ")
        about = clip(join(self._about, " · "), max(0, self.outer_size.width - 9 - len(counts)))
        self.caption(self.title, join((about, counts), " · "))

    def forget(self) -> None:
        self._strips.clear()
        super().forget()

    # -- cursor ------------------------------------------------------------------------------------------------

    def select(self, number: int) -> None:
        """Put the cursor on a line and bring that into sight."""
        if not self._span[0] <= number < self._span[1]:
            return
        if number != self._cursor:
            self._cursor = number
            self.post_message(self.Selected(self, number, self._line(number).key))
        at, top, room = self._at(number), self.scroll_offset.y, self.inner_height
        if at < top:
            self.scroll_to(y=at, animate=False, force=True)
        elif room and at >= top + room:
            self.scroll_to(y=at - room + 1, animate=False, force=True)
        self.refresh()

    def select_when_shown(self, number: int) -> None:
        """:meth:`select`, as soon as the lines have a place on the screen."""
        if self.size and self._span[0] <= number < self._span[1]:
            self.select(number)
        else:
            self._wanted = number

    def _move(self, lines: int) -> None:
        if not self.count:
            return
        at = self._cursor_at()
        if at is None:
            # The first key takes up the line that the eye is on: the newest one in sight.
            first, last = self.scroll_offset.y, self.scroll_offset.y + self.inner_height - 1
            at = first if self.newest_first else min(last, self.count - 1)
        else:
            at += lines
        number = self._number(max(0, min(self.count - 1, at)))
        if number is not None:
            self.select(number)

    def action_cursor_up(self) -> None:
        self._move(-1)

    def action_cursor_down(self) -> None:
        self._move(1)

    def action_page_up(self) -> None:
        self._move(-max(1, self.inner_height - 1))

    def action_page_down(self) -> None:
        self._move(max(1, self.inner_height - 1))

    def action_top(self) -> None:
        self._to(0)

    def action_bottom(self) -> None:
        self._to(self.count - 1)

    def _to(self, at: int) -> None:
        number = self._number(at)
        if number is not None:
            self.select(number)

    def action_shift_left(self) -> None:
        self._move_sideways(-_SHIFT)

    def action_shift_right(self) -> None:
        self._move_sideways(_SHIFT)

    def _move_sideways(self, cells: int) -> None:
        top = self.scroll_offset.y
        numbers = (self._number(at) for at in range(top, top + self.inner_height))
        longest = max((width(self._line(number).text) for number in numbers if number is not None), default=0)
        room = max(0, longest + 1 - self.inner_width)
        self._shift = max(0, min(self._shift + cells, room))
        self.forget()

    def action_activate(self) -> None:
        line = self.selected
        if line is not None and self._cursor is not None:
            self.post_message(self.Activated(self, self._cursor, line.key))

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        number = None if at is None else self._number(at.y + self.scroll_offset.y)
        if number is not None:
            self.select(number)
            if event.chain == 2:
                event.prevent_default()  # a double click opens; it does not select all text
                self.action_activate()

    # -- copying -----------------------------------------------------------------------------------------------

    def selection_updated(self, selection: Selection | None) -> None:
        self._strips.clear()
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it is shown, without the column of the cursor; 10,000 lines at most."""
        top, bottom = self._number(0), self._number(self.count - 1)
        if top is None or bottom is None:
            return None
        first, last = self._offset(top), self._offset(bottom)
        start = Offset(0, first) if selection.start is None else selection.start
        end = selection.end
        taken: list[str] = []
        for offset in range(max(start.y, first), min(last if end is None else end.y, last) + 1):
            text = self._line(_TURNED - offset if self.newest_first else offset).text
            left = start.x if offset == start.y else 0
            right = end.x if end is not None and offset == end.y else len(text)
            taken.append(text[left:right])
            if len(taken) == COPIED:
                break
        return ("\n".join(taken), "\n") if taken else None
