"""A list of lines: the log, the messages, the cancellations, the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, LiteralString

from textual.selection import Selection
from textual.strip import Strip

from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.widgets.canvas import ListCanvas, ShownNumbers, marked, selected_text
from mcp_tui.view.keys import LINES
from mcp_tui.view.lines import FilteredLines, Line, LineSource
from mcp_tui.view.rows import counted, empty_state
from mcp_tui.view.text import NOTHING, SafeText, clean, clip, join, safe, width, words

_SHIFT_CELLS: Final = 8
"""The number of cells that one key scrolls sideways."""


class LineList(ListCanvas):
    """The lines of a :class:`~mcp_tui.view.lines.LineSource`; the cursor stays on the number of its line.

    Set :attr:`source`, then call :meth:`refresh_source` from the screen's timer: it draws only if lines were added or
    changed.

    Args:
        title: text in the border.
        what: the noun for one line, whose plural ends in s.
        newest_first: puts the newest line on top instead of at the bottom.
        from_top: starts at the top and does not follow; the focus puts the cursor on the first line with a subject.
        count: returns the shown number, unless it is the number of lines.
        total: returns the number without a filter, unless it is the number of lines of the source.
        empty: the sentence for a list without lines.
    """

    # Textual selects text in a widget of lines that has get_selection, selection_updated, and offsets in its strips.
    ALLOW_SELECT = True

    BINDINGS = bindings(LINES)

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
        self._numbers = ShownNumbers((), newest_first=newest_first)
        super().__init__(self._numbers, id=id)
        self.title = words(title)
        self._what: LiteralString = what
        self.newest_on_top = newest_first
        self.empty = clean(empty)
        self.wanted = NOTHING
        self._from_top = from_top
        self._counted = count
        self._total = total
        self.source = source
        self.remarks: Callable[[], Sequence[SafeText]] = tuple
        """Returns the texts in the lower border before the number of lines."""

    # -- for the screen ----------------------------------------------------------------------------------------

    @property
    def source(self) -> LineSource:
        """The source of the lines."""
        return self._source

    @source.setter
    def source(self, source: LineSource) -> None:
        self._source = source
        self._cursor = None
        self._follow = not self._from_top
        self._shift = 0
        self._drawn: tuple[int | None, ...] = ()
        self.refresh_source()

    @property
    def selected(self) -> Line | None:
        """The line under the cursor, if it still exists."""
        return None if self.cursor_line is None else self._line(self._cursor)

    def refresh_source(self) -> None:
        """Draws lines that were added or changed."""
        if not self.is_mounted or not self.size:
            return
        numbers, version = self._source.numbers, self._source.version
        drawn = version, len(numbers), numbers[0] if numbers else None, numbers[-1] if numbers else None
        if drawn != self._drawn:
            if drawn[:1] != self._drawn[:1]:
                self.strips.clear()
            self._drawn = drawn
            self.settle(self.anchored())

    # -- lines -------------------------------------------------------------------------------------------------

    @property
    def shown(self) -> int:
        """The number that is shown."""
        return len(self.lines) if self._counted is None else self._counted()

    @property
    def total(self) -> int:
        """The number without a filter."""
        return len(self._base.numbers) if self._total is None else self._total()

    @property
    def counted(self) -> SafeText:
        """The shown number; with a filter, also the total."""
        return counted(self.shown, self.total if self.wanted else self.shown, self._what)

    @property
    def _filtered(self) -> FilteredLines[Any] | None:
        return self._source if isinstance(self._source, FilteredLines) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

    @property
    def _base(self) -> LineSource:
        return self._source if self._filtered is None else self._filtered.base

    @property
    def nothing(self) -> SafeText:
        """The sentence for a list without lines."""
        searching = self._filtered is not None and self._filtered.waiting > 0
        return empty_state(self.empty, wanted=self.wanted, hidden=self.total, searching=searching)

    def _line(self, number: int) -> Line:
        return self._source.line(number, max(1, self.inner.width - 1))

    def render_line(self, y: int) -> Strip:
        if not self._drawn and (self._from_top or self.newest_on_top):
            self._number()  # the first frame precedes the message about its layout
        line = self.line_at(y)
        if line is None:
            return self.blank() if len(self.lines) else self.say_at(y, self.nothing, indent=1)
        number = self._numbers.key(line)
        selection = self.text_selection
        selected = number == self._cursor
        cached = (number, self.inner.width, selected)
        if selection is None and cached in self.strips:
            return self.strips[cached]
        strip = Strip(self.paint(self._line(number).segments, cursor=selected))
        if selection is not None:
            strip = marked(self, strip, selection.get_span(self._offset(line)))
        strip = self._framed(strip, self._offset(line), cursor=selected)
        if selection is None:
            self.strips[cached] = strip
        return strip

    def _framed(self, strip: Strip, offset: int, *, cursor: bool) -> Strip:
        """Returns the visible part of a line, after the cursor's column and with a mark if it continues."""
        mark, rest, more = self.paint(
            ((words("›" if cursor else " "), "accent"), (words(" "), ""), (words("…"), "muted")),
            cursor=cursor,
        )
        space = max(1, self.inner.width - 1)
        continues = strip.cell_length > self._shift + space
        left_out = len(strip.crop(0, self._shift).text)
        strip = strip.crop_extend(self._shift, self._shift + space, rest.style)
        if continues:
            strip = Strip([*strip.crop(0, space - 1), more])
        return Strip([mark, *strip.apply_offsets(left_out, offset)])

    def settle(self, anchor: tuple[Any, int] | None) -> None:
        if not self.size:
            return
        self._number()
        numbers = self._source.numbers
        if isinstance(numbers, range) and isinstance(self._cursor, int) and self._cursor < numbers.start:
            self._cursor = None  # The line is gone: the next key puts the cursor on a visible one.
        super().settle(anchor)

    def _number(self) -> None:
        """Reads the current lines of the source."""
        numbers = self._source.numbers
        ordered = self._filtered.order is not None if self._filtered else not isinstance(numbers, range)
        self._numbers = ShownNumbers(numbers, newest_first=self.newest_on_top, ordered=ordered)
        self.lines = self._numbers

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._follow = self._follow and not self._from_top

    def placed(self) -> None:
        parts = [self.counted] if self.shown or self.wanted else []
        numbers = self._base.numbers
        dropped = numbers.start if isinstance(numbers, range) else 0
        if dropped:
            parts.append(safe("{:,} older dropped", dropped))
        unseen = self.scroll_offset.y if self.newest_on_top else self.max_scroll_y - self.scroll_offset.y
        if not self._follow and not self._from_top and unseen > 0:
            parts.insert(0, safe("{:,} newer {}", unseen, "above" if self.newest_on_top else "below"))
        counts = join(parts, " · ")
        about = clip(join(self.remarks(), " · "), max(0, self.outer_size.width - 9 - len(counts)))
        self.caption(self.title, join((about, counts), " · "))

    # -- cursor ------------------------------------------------------------------------------------------------

    def about(self, line: int) -> object:
        return self._line(self._numbers.key(line)).key

    def select(self, number: int) -> None:
        """Puts the cursor on the line of a number."""
        line = self._numbers.line(number)
        if line is not None:
            self.put_cursor(line)

    def on_focus(self) -> None:
        if self._from_top and self.cursor_line is None:
            lines = range(self.scroll_offset.y, len(self.lines))
            self.put_cursor(next((line for line in lines if self.about(line) is not None), -1))

    def action_shift_left(self) -> None:
        self._move_sideways(-_SHIFT_CELLS)

    def action_shift_right(self) -> None:
        self._move_sideways(_SHIFT_CELLS)

    def _move_sideways(self, cells: int) -> None:
        texts = (self._line(self._numbers.key(line)).text for line in self.in_view())
        excess = max(0, max(map(width, texts), default=0) + 1 - self.inner.width)
        self._shift = max(0, min(self._shift + cells, excess))
        self.forget()

    # -- copying -----------------------------------------------------------------------------------------------

    def _offset(self, line: int) -> int:
        """Returns the place of a line in selected text, which stays the same while lines are added and removed."""
        if self._numbers.ordered:
            return line
        number = self._numbers.key(line)
        return _TURNED - number if self.newest_on_top else number

    def selection_updated(self, selection: Selection | None) -> None:
        self.strips.clear()
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """Returns the selected text without the cursor's column, at most 10,000 lines."""
        offsets = map(self._offset, range(len(self.lines)))
        return selected_text(selection, offsets, lambda line: self._line(self._numbers.key(line)).text)


# Offsets of selected text count down the screen; numbers of a list with the newest line on top count up.
_TURNED: Final = 1 << 40
