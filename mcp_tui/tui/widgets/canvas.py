"""Base classes of widgets: lines drawn from styled pieces, and lists with a cursor that can follow the newest line."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.color import Color as TextualColor
from textual.content import Content
from textual.dom import DOMNode
from textual.filter import LineFilter
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from mcp_tui.view.text import NOTHING, TO_ASCII, SafeText, clean, fit, words, wrap

if TYPE_CHECKING:
    from mcp_tui.view.outline import Outline

COPIED_LINES: Final = 10_000
"""The maximum number of lines that can be copied at once."""


class Canvas(ScrollView, can_focus=True, inherit_bindings=False):
    """A widget drawn by :meth:`render_line` from pieces of safe text. ``title`` is the text in its border."""

    virtual_size = Reactive(Size(0, 0))  # Textual's reactive lays out the whole screen at each new line

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.title = NOTHING
        self._tones: dict[str, Style] = {}
        self.strips: LRUCache[object, Strip] = LRUCache(512)  # drawn lines by key
        self._inner: Size | None = None  # only while lines are drawn: Textual computes it each time

    def watch_virtual_size(self, size: Size) -> None:
        """Fits the scrollbar, and the height if it is automatic, to the lines."""
        if self.styles.auto_dimensions:
            self.refresh(layout=True)
        self._scroll_update(size)  # as Textual does after a layout

    # -- styles ----------------------------------------------------------------------------------------------

    def tone(self, name: str) -> Style:
        """Returns the style of a tone on the background of this widget; the plain style for an unknown name."""
        if name not in self._tones:
            # The style is looked up when a tone is first drawn. As component classes, all tones of all widgets would
            # be computed at every change of style, which would be most of the time to the first screen.
            class_ = f"tone--{name}"
            node = DOMNode(classes=class_)
            node._attach(self)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as Textual makes such classes
            self.app.stylesheet.apply(node, animate=False)  # pyright: ignore[reportUnknownMemberType]
            self._component_styles[class_] = node.styles
            self._tones[name] = self.get_component_rich_style(class_)
        return self._tones[name]

    def notify_style_update(self) -> None:
        """Draws everything again after a change of theme or focus."""
        super().notify_style_update()
        self.forget()

    def forget(self) -> None:
        """Draws everything again."""
        self._tones.clear()
        self.strips.clear()
        self.refresh()

    # -- drawing ---------------------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        self._inner = self.scrollable_content_region.size
        try:
            return super().render_lines(crop)
        finally:
            self._inner = None

    @property
    def inner(self) -> Size:
        """The size without border and scrollbar."""
        return self._inner or self.scrollable_content_region.size

    def paint(self, pieces: Iterable[tuple[SafeText, str]], *, cursor: bool = False) -> list[Segment]:
        """Returns pieces of text with their tones as segments; ``cursor`` gives them its background."""
        over = self._over() if cursor else None
        segments: list[Segment] = []
        for text, name in pieces:
            style = self.tone(name)
            if over is not None:
                # Reversed, each colour would become a different background within the row.
                style = (self.tone("") + style.without_color if over.reverse else style) + over
            segments.append(Segment(text, style))
        return segments

    def _over(self) -> Style:
        """Returns the style of the cursor's line. The terminal's own colours cannot be blended, so with them the line is
        reversed.
        """
        if self.app.native_ansi_color:  # pyright: ignore[reportUnknownMemberType] - Textual leaves the app's result open
            return Style(reverse=True) if self.has_focus else Style(underline=True)
        return Style(bgcolor=self.tone("cursor").bgcolor)

    def strip(self, pieces: Iterable[tuple[SafeText, str]], *, cursor: bool = False) -> Strip:
        """Returns a line of pieces, cropped or filled to the width of the widget."""
        rest = self.paint(((words(" "), ""),), cursor=cursor)[0].style
        return Strip(self.paint(pieces, cursor=cursor)).adjust_cell_length(self.inner.width, rest)

    def blank(self) -> Strip:
        """Returns an empty line."""
        return Strip.blank(self.inner.width, self.tone(""))

    def say(self, text: SafeText) -> Strip:
        """Returns a line of text instead of content."""
        return self.strip(((fit(text, self.inner.width), "muted"),))

    def say_at(self, y: int, text: SafeText, *, indent: int) -> Strip:
        """Returns line ``y`` of a text instead of content, wrapped to the width of the widget."""
        cells = self.inner.width - indent
        lines = [line for each in text.split("\n") for line in wrap(clean(each), cells)]
        return self.say(clean(" " * indent + lines[y])) if y < len(lines) else self.blank()

    def retitle(self, title: SafeText, chosen: tuple[int, int] | None = None) -> None:
        """Sets the title in the border; the characters of ``chosen``, the visible tab, are reversed."""
        self.title, self._chosen = title, chosen
        self.placed()

    def placed(self) -> None:
        """Called after scrolling, and after a change of the title, the cursor, or the number of lines."""

    def caption(self, title: SafeText, subtitle: SafeText) -> None:
        """Sets the texts in the border, neither of them as markup."""
        if (title, subtitle, self._chosen) != self._captions:
            self._captions = title, subtitle, self._chosen
            shown = Content(title)
            self.border_title = shown.stylize("bold reverse", *self._chosen) if self._chosen else shown
            self.border_subtitle = Content(subtitle)

    _chosen: tuple[int, int] | None = None
    _captions: tuple[SafeText, SafeText, tuple[int, int] | None] = (NOTHING, NOTHING, None)


def marked(widget: Widget, strip: Strip, span: tuple[int, int] | None) -> Strip:
    """Returns a strip with the characters of ``span`` selected; an end of -1 is the end of the line."""
    if span is None:
        return strip
    text, whole = strip.text, strip.cell_length
    start, end = cell_len(text[: span[0]]), whole if span[1] == -1 else cell_len(text[: span[1]])
    selected = Segment.apply_style(strip.crop(start, end), post_style=widget.selection_style)
    return Strip.join([strip.crop(0, start), Strip(selected), strip.crop(end, whole)])


def selected_text(
    selection: Selection, offsets: Iterable[int], text: Callable[[int], str]
) -> tuple[str, str] | None:
    """Returns the selected part of lines; ``offsets`` are their places in the selection, ``text`` returns a line."""
    start, end = selection.start or Offset(0, -1), selection.end
    taken: list[str] = []
    for line, at in enumerate(offsets):
        if (end is not None and at > end.y) or len(taken) == COPIED_LINES:
            break
        if at >= start.y:
            sentence = text(line)
            right = end.x if end is not None and at == end.y else len(sentence)
            taken.append(sentence[start.x if at == start.y else 0 : right])
    return ("\n".join(taken), "\n") if taken else None


class Bar(Canvas, can_focus=False):
    """A line across the screen."""

    ALLOW_MAXIMIZE = False


class AsciiTwins(LineFilter):
    """Replaces glyphs by ASCII in every line of every widget, for terminals that cannot show them."""

    def apply(self, segments: list[Segment], background: TextualColor) -> list[Segment]:
        return [Segment(text.translate(TO_ASCII), style, control) for text, style, control in segments]


# -- lists ----------------------------------------------------------------------------------------------------


class ShownNumbers:
    """The numbers of a source at the time of the layout, as its lines from the top.

    Lines that are ``ordered`` are not sorted by their numbers; their keys may have any other type.
    """

    def __init__(self, numbers: Sequence[Any], *, newest_first: bool, ordered: bool = False) -> None:
        self._numbers = numbers[::-1] if newest_first else numbers[:]  # more may be appended later
        self._sign = -1 if newest_first else 1
        self.ordered = ordered

    def __len__(self) -> int:
        return len(self._numbers)

    def key(self, line: int) -> Any:
        """Returns the number of a line."""
        return self._numbers[line]

    def line(self, key: Any) -> int | None:
        """Returns the line of a number."""
        line = self.nearest(key)
        return line if 0 <= line < len(self) and self._numbers[line] == key else None

    def nearest(self, key: Any) -> int:
        """Returns the line of a number, or of the next one; the top if there is none."""
        if self.ordered:
            return next((line for line, number in enumerate(self._numbers) if number == key), 0)
        line = bisect_left(self._numbers, key * self._sign, key=lambda number: number * self._sign)
        return max(0, min(len(self) - 1, line))


class ListCanvas(Canvas):
    """A list of :attr:`lines` with a cursor that stays on the key of its line.

    While the list follows, its newest line is on the screen; scrolling away stops that, and scrolling back starts it
    again. Otherwise the cursor's line, or the topmost one if that is off the screen, keeps its place on the screen.

    Attributes:
        lines: the shown lines, 0 on top. A key belongs to the same line while that exists. After a change, call
            :meth:`settle`.
        newest_on_top: the newest line is line 0 instead of the last.
        cursor_in_sight: following never scrolls the cursor's line off the screen.
        header: rows of the screen above the lines.
        footer: rows of the screen below them.
    """

    newest_on_top = True
    cursor_in_sight = False
    header = footer = 0

    @dataclass
    class Selected(Message):
        """The cursor moved to another line; ``about`` is its subject."""

        lines: ListCanvas
        about: Any

    class Activated(Selected):
        """Enter or a double click was pressed on a line."""

    def __init__(self, lines: ShownNumbers | Outline, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines: ShownNumbers | Outline = lines
        self._cursor: Any = None
        self._follow = True

    # -- to override --------------------------------------------------------------------------------------------

    def about(self, line: int) -> Any:
        """Returns the subject of a line."""
        return self.lines.key(line)

    # -- the screen --------------------------------------------------------------------------------------------

    @property
    def follow(self) -> bool:
        """Whether the list scrolls to the newest line."""
        return self._follow

    @follow.setter
    def follow(self, follow: bool) -> None:
        self._follow = follow
        self.settle(self.anchored())

    @property
    def visible_lines(self) -> int:
        """The number of lines that fit on the screen."""
        return max(1, self.inner.height - self.header - self.footer)

    @property
    def cursor_line(self) -> int | None:
        """The line of the cursor, if it is shown."""
        return None if self._cursor is None else self.lines.line(self._cursor)

    @property
    def line_on_screen(self) -> int | None:
        """The row of the terminal with the cursor's line; ``None`` if it is off the screen."""
        line = self.cursor_line
        if line is None or line not in self.in_view():
            return None
        return self.content_region.y + self.header + line - self.scroll_offset.y

    def in_view(self) -> range:
        """The lines on the screen."""
        top = self.scroll_offset.y
        return range(top, max(top, min(len(self.lines), top + self.visible_lines)))

    def line_at(self, y: int) -> int | None:
        """Returns the line at a row within the border."""
        line = y - self.header + self.scroll_offset.y
        return (
            line if self.header <= y < self.header + self.visible_lines and line < len(self.lines) else None
        )

    # -- places ------------------------------------------------------------------------------------------------

    def anchored(self) -> tuple[Any, int] | None:
        """Returns the key of a line that should not move, and its distance from the top; called before a change."""
        if not len(self.lines):
            return None
        top = self.scroll_offset.y
        line = self.cursor_line
        if line is None or line not in self.in_view():
            line = min(top, len(self.lines) - 1)
        return self.lines.key(line), line - top

    def settle(self, anchor: tuple[Any, int] | None) -> None:
        """Lays out the list after a change of its lines."""
        # A list without a layout has no height: it would scroll to its end, and lose its place.
        if not self.size:
            return
        self.resize()
        if self._follow:
            top = 0 if self.newest_on_top else self.max_scroll_y
            line = self.cursor_line if self.cursor_in_sight else None
            top = top if line is None else max(top, line - self.visible_lines + 1)
        elif anchor is None:
            top = 0
        else:
            top = self.lines.nearest(anchor[0]) - min(anchor[1], self.visible_lines - 1)
        self._scroll(top)
        self.placed()
        self.refresh()

    def resize(self) -> None:
        """Sets the height of the list to the number of its lines."""
        self.virtual_size = Size(self.inner.width, len(self.lines) + self.header + self.footer)

    def _scroll(self, top: int) -> None:
        # Our own scrolling does not count as scrolling away, but watch_scroll_y cannot distinguish the two.
        follow = self._follow
        self.scroll_to(y=max(0, top), animate=False, force=True)
        self._follow = follow

    @property
    def _at_newest(self) -> bool:
        return self.scroll_offset.y == (0 if self.newest_on_top else self.max_scroll_y)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self._follow = self._at_newest
            self.placed()

    def on_resize(self, event: events.Resize) -> None:
        self.settle(self.anchored())

    # -- cursor ------------------------------------------------------------------------------------------------

    def put_cursor(self, line: int, *, moved: bool = False) -> None:
        """Puts the cursor on a line and scrolls to it; ``moved`` says that all other lines are already drawn."""
        if not 0 <= line < len(self.lines):
            return
        key, left = self.lines.key(line), self.cursor_line
        if key != self._cursor:
            self._cursor = key
            self.post_message(self.Selected(self, self.about(line)))
        before = self.scroll_offset.y
        if line < before:
            self._scroll(line)
        elif self.size and line >= before + self.visible_lines:
            self._scroll(line - self.visible_lines + 1)
        if self.cursor_in_sight:
            self._follow = self._follow and self._at_newest
        elif self.scroll_offset.y != before:
            self._follow = self._at_newest
        self.placed()
        if moved and self.scroll_offset.y == before:
            rows = {self.header + each - before for each in (left, line) if each is not None}
            self.refresh(*(Region(0, row, self.size.width, 1) for row in rows))
        else:
            self.refresh()

    def move(self, lines: int) -> None:
        """Moves the cursor down by ``lines``. The first key, and one after its line was hidden, only puts it on a visible
        line.
        """
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
        self.put_cursor(max(0, min(len(self.lines) - 1, line)), moved=True)

    def action_cursor_up(self) -> None:
        self.move(-1)

    def action_cursor_down(self) -> None:
        self.move(1)

    def action_page_up(self) -> None:
        self.move(-max(1, self.visible_lines - 1))

    def action_page_down(self) -> None:
        self.move(max(1, self.visible_lines - 1))

    def action_top(self) -> None:
        self.put_cursor(0)

    def action_bottom(self) -> None:
        self.put_cursor(len(self.lines) - 1)

    def action_activate(self) -> None:
        line = self.cursor_line
        if line is not None:
            self.post_message(self.Activated(self, self.about(line)))

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        line = None if at is None else self.line_at(at.y)
        if line is not None:
            self.put_cursor(line)
            if event.chain == 2:
                event.prevent_default()  # a double click opens the line instead of selecting its text
                self.action_activate()
