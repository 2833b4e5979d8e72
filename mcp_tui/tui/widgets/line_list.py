"""Lines of a log, of the wire, of the cancellations: one widget for all that is a list of lines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any, Final, LiteralString

from textual.cache import LRUCache
from textual.selection import Selection
from textual.strip import Strip

from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys import LINES
from mcp_tui.tui.view.lines import EMPTY, FilteredLines, Line, LineSource
from mcp_tui.tui.view.rows import counted, empty_state
from mcp_tui.tui.view.text import NOTHING, SafeText, clean, clip, join, safe, width, words
from mcp_tui.tui.widgets.canvas import ListCanvas, marked, selected_text

_SHIFT: Final = 8
"""Cells that a key moves long lines to the side."""


class Numbers:
    """The numbers of a source as they were when the list was laid out, as lines from the top.

    ``ordered`` says that they are in another order than their own.
    """

    def __init__(self, numbers: Sequence[int], *, newest_first: bool, ordered: bool = False) -> None:
        self.numbers = numbers
        self.ordered = ordered
        self._newest_first = newest_first
        self._count = len(numbers)  # more may be appended before the list is laid out anew

    def __len__(self) -> int:
        return self._count

    def key(self, line: int) -> int:
        """The number of the line."""
        return self.numbers[self._turned(line)]

    def line(self, key: int) -> int | None:
        """The line of a number."""
        at = self._place(key)
        return self._turned(at) if 0 <= at < self._count and self.numbers[at] == key else None

    def nearest(self, key: int) -> int:
        """The line of a number, or of the next one."""
        line = self.line(key)
        return self._turned(max(0, min(self._count - 1, self._place(key)))) if line is None else line

    def _place(self, number: int) -> int:
        if isinstance(self.numbers, range):
            return number - self.numbers.start
        if self.ordered:
            return next((at for at in range(self._count) if self.numbers[at] == number), 0)
        return bisect_left(self.numbers, number, 0, self._count)

    def _turned(self, at: int) -> int:
        return self._count - 1 - at if self._newest_first else at


class LineList(ListCanvas):
    """The lines of a :class:`~mcp_tui.tui.view.lines.LineSource`.

    Set :attr:`source`, then call :meth:`refresh_source` from the screen's timer: it draws only where lines came or
    changed. A line is asked for when it is drawn and not before. The cursor holds a line by its number.

    Args:
        title: stands in the border.
        what: one line, or what one line is about, as a word that takes an s.
        newest_first: the newest line on top, else at the bottom.
        from_top: is read from the top, follows nothing, and takes up the first line about something when it is focused.
        count: says how many are shown, where that is not the number of lines.
        total: says how many there are without a filter, where that is not the number of the source's lines.
        empty: what to say when there is no line.
    """

    ALLOW_SELECT = True

    SCOPES = (LINES,)
    BINDINGS = bindings(*SCOPES)

    def __init__(
        self,
        source: LineSource,
        *,
        title: LiteralString = "",
        what: LiteralString = "line",
        newest_first: bool = False,
        from_top: bool = False,
        count: Callable[[], int] | None = None,
        total: Callable[[], int] | None = None,
        empty: str = "Nothing yet.",
        id: str | None = None,
    ) -> None:
        self._numbers = Numbers((), newest_first=newest_first)
        super().__init__(self._numbers, id=id)
        self.title = words(title)
        self._what: LiteralString = what
        self.newest_on_top = newest_first
        self.empty = clean(empty)
        self.wanted = NOTHING
        self._from_top = from_top
        self._follow = not from_top
        self._counted = count
        self._total = total
        self._source = source
        self._drawn: object = None
        self._version = -1
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
        self._follow = not self._from_top
        self._shift = 0
        self._strips.clear()
        self._drawn = None
        self.refresh_source()

    def tell(self, *about: SafeText) -> None:
        """Let the lower border say something before the number of lines."""
        if about != self._about:
            self._about = about
            self.placed()

    @property
    def selected(self) -> Line | None:
        """The line under the cursor, if it is still there."""
        return None if self.cursor_line is None else self._line(self._cursor)

    def refresh_source(self) -> None:
        """Draw what came or changed."""
        if not self.is_mounted or not self.size:
            return
        numbers, version = self._source.numbers, self._source.version
        drawn = len(numbers), numbers[0] if numbers else None, numbers[-1] if numbers else None, version
        if drawn == self._drawn:
            return
        self._drawn = drawn
        if version != self._version:
            self._version = version
            self._strips.clear()
        self.settle(self.anchored())

    # -- lines -------------------------------------------------------------------------------------------------

    @property
    def shown(self) -> int:
        """How many are shown."""
        return len(self.lines) if self._counted is None else self._counted()

    @property
    def total(self) -> int:
        """How many there are without a filter."""
        return len(self._unfiltered) if self._total is None else self._total()

    @property
    def counted(self) -> SafeText:
        """How many are shown, and of how many where there is a filter."""
        return counted(self.shown, self.total if self.wanted else self.shown, self._what)

    @property
    def _unfiltered(self) -> Sequence[int]:
        source = self._source
        return source.base.numbers if isinstance(source, FilteredLines) else source.numbers  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    @property
    def nothing(self) -> SafeText:
        """What is said where there is no line."""
        waiting = self._source.waiting if isinstance(self._source, FilteredLines) else 0  # pyright: ignore[reportUnknownMemberType]
        return empty_state(self.empty, wanted=self.wanted, hidden=self.total, searching=waiting > 0)

    def _line(self, number: int) -> Line:
        # Between two looks at the source, lines that are still in sight may have been dropped.
        numbers = self._source.numbers
        if isinstance(numbers, range) and number not in numbers:
            return EMPTY
        return self._source.line(number, max(1, self.inner.width - 1))

    def render_line(self, y: int) -> Strip:
        line = self.line_at(y)
        if line is None:
            return self.blank() if len(self.lines) else self.say_at(y, self.nothing, indent=1)
        number = self._numbers.key(line)
        selection = self.text_selection
        selected = number == self._cursor
        cached = (number, self.inner.width, selected)
        if selection is None and cached in self._strips:
            return self._strips[cached]
        strip = Strip(self.paint(self._line(number).segments, cursor=selected))
        if selection is not None:
            strip = marked(self, strip, selection.get_span(self._offset(line)))
        strip = self._framed(strip, self._offset(line), cursor=selected)
        if selection is None:
            self._strips[cached] = strip
        return strip

    def _framed(self, strip: Strip, offset: int, *, cursor: bool) -> Strip:
        """The cursor's column and the part of a line that is in sight, with a mark where the line goes on."""
        mark, rest, more = self.paint(
            ((words("›" if cursor else " "), "accent"), (words(" "), ""), (words("…"), "muted")),
            cursor=cursor,
        )
        room = max(1, self.inner.width - 1)
        goes_on = strip.cell_length > self._shift + room
        left_out = len(strip.crop(0, self._shift).text)
        strip = strip.crop_extend(self._shift, self._shift + room, rest.style)
        if goes_on:
            strip = Strip([*strip.crop(0, room - 1), more])
        return Strip([mark, *strip.apply_offsets(left_out, offset)])

    def settle(self, anchor: tuple[Any, int] | None) -> None:
        if not self.size:
            return
        numbers, source = self._source.numbers, self._source
        filtered = isinstance(source, FilteredLines) and source.order is None  # pyright: ignore[reportUnknownMemberType]
        ordered = not (filtered or isinstance(numbers, range))
        self._numbers = Numbers(numbers, newest_first=self.newest_on_top, ordered=ordered)
        self.lines = self._numbers
        if isinstance(numbers, range) and isinstance(self._cursor, int) and self._cursor < numbers.start:
            self._cursor = None  # dropped: the next key takes up what is in sight
        super().settle(anchor)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._follow = self._follow and not self._from_top

    def placed(self) -> None:
        parts = [self.counted] if self.shown or self.wanted else []
        numbers = self._unfiltered
        dropped = numbers.start if isinstance(numbers, range) else 0
        if dropped:
            parts.append(safe("{:,} older dropped", dropped))
        unseen = self.scroll_offset.y if self.newest_on_top else self.max_scroll_y - self.scroll_offset.y
        if not self._follow and not self._from_top and unseen > 0:
            parts.insert(0, safe("{:,} newer {}", unseen, "above" if self.newest_on_top else "below"))
        counts = join(parts, " · ")
        about = clip(join(self._about, " · "), max(0, self.outer_size.width - 9 - len(counts)))
        self.caption(self.title, join((about, counts), " · "))

    def forget(self) -> None:
        self._strips.clear()
        super().forget()

    # -- cursor ------------------------------------------------------------------------------------------------

    def about(self, line: int) -> object:
        return self._line(self._numbers.key(line)).key

    def select(self, number: int) -> None:
        """Put the cursor on a line and bring that into sight."""
        line = self.lines.line(number)
        if line is not None:
            self.put_cursor(line)

    def on_focus(self) -> None:
        if self._from_top and self.cursor_line is None:
            about = (
                line for line in range(self.scroll_offset.y, len(self.lines)) if self.about(line) is not None
            )
            self.put_cursor(next(about, -1))

    def action_shift_left(self) -> None:
        self._move_sideways(-_SHIFT)

    def action_shift_right(self) -> None:
        self._move_sideways(_SHIFT)

    def _move_sideways(self, cells: int) -> None:
        texts = (self._line(self._numbers.key(line)).text for line in self.in_view())
        room = max(0, max(map(width, texts), default=0) + 1 - self.inner.width)
        self._shift = max(0, min(self._shift + cells, room))
        self.forget()

    # -- copying -----------------------------------------------------------------------------------------------

    def _offset(self, line: int) -> int:
        """The place of a line in selected text: it has to stay while lines come and go, as numbers do."""
        if self._numbers.ordered:
            return line
        number = self._numbers.key(line)
        return _TURNED - number if self.newest_on_top else number

    def selection_updated(self, selection: Selection | None) -> None:
        self._strips.clear()
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it is shown, without the column of the cursor; 10,000 lines at most."""
        offsets = map(self._offset, range(len(self.lines)))
        return selected_text(selection, offsets, lambda line: self._line(self._numbers.key(line)).text)


# Offsets of selected text count down the screen; numbers of a list with the newest on top count up it.
_TURNED: Final = 1 << 40
