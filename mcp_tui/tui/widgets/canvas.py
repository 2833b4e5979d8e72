"""What the widgets of the workbench have in common: lines drawn from styled pieces, the styles of those pieces, and lists to
move through with one cursor, one way to follow, and one way to stay in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol

from rich.cells import cell_len
from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual import events
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

from mcp_tui.tui.view.text import NOTHING, TO_ASCII, SafeText, clean, fit, words, wrap

COPIED: Final = 10_000
"""Lines that one copy takes at most."""


class Canvas(ScrollView, can_focus=True, inherit_bindings=False):
    """A widget drawn by :meth:`render_line` from pieces of safe text."""

    virtual_size = Reactive(Size(0, 0))  # Textual's own lays out the whole screen at each line more

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tones: dict[str, Style] = {}
        self._inner: Size | None = None  # while lines are drawn: Textual reckons it anew for each

    def watch_virtual_size(self, size: Size) -> None:
        """Fit the scrollbar to the lines, and what is as high as its lines."""
        if self.styles.auto_dimensions:
            self.refresh(layout=True)
        self._scroll_update(size)  # as Textual does after a layout

    # -- styles ----------------------------------------------------------------------------------------------

    def tone(self, name: str) -> Style:
        """The style of a tone on this widget's background; the plain style for the empty or an unknown name.

        A colour is a tone of its own: ``#rrggbb``, or ``#rrggbb on #rrggbb`` with a background.
        """
        if name.startswith("#"):
            style = _coloured(name)
            return style if style.bgcolor else self.tone("") + style
        if name not in self._tones:
            # The stylesheet is asked when a tone is first drawn with. As component classes all tones of all widgets would
            # be made at every change of style, and be most of the time to the first frame.
            class_ = f"tone--{name}"
            node = DOMNode(classes=class_)
            node._attach(self)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as Textual makes such classes
            self.app.stylesheet.apply(node, animate=False)  # pyright: ignore[reportUnknownMemberType]
            self._component_styles[class_] = node.styles
            self._tones[name] = self.get_component_rich_style(class_)
        return self._tones[name]

    def notify_style_update(self) -> None:
        """Styles changed (theme, focus): nothing drawn so far is right any more."""
        super().notify_style_update()
        self.forget()

    def forget(self) -> None:
        """Draw everything anew."""
        self._tones.clear()
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
        """Cells of a line, and lines that are visible, without border and scrollbar."""
        return self._inner or self.scrollable_content_region.size

    def paint(self, pieces: Iterable[tuple[SafeText, str]], *, cursor: bool = False) -> list[Segment]:
        """Pieces of text with their tones as segments, on the cursor's background where ``cursor``."""
        over = self._over() if cursor else None
        segments: list[Segment] = []
        for text, name in pieces:
            style = self.tone(name)
            plain = over is None or name.startswith("#")  # the cursor hides no picture
            segments.append(Segment(text, style if plain else style + over))
        return segments

    def _over(self) -> Style:
        """What the cursor does to a line. Where the colours are the terminal's, none can be laid below another."""
        if self.app.native_ansi_color:  # pyright: ignore[reportUnknownMemberType] - Textual leaves the app's result open
            return Style(reverse=True) if self.has_focus else Style(underline=True)
        return Style(bgcolor=self.tone("cursor").bgcolor)

    def strip(self, pieces: Iterable[tuple[SafeText, str]], *, cursor: bool = False) -> Strip:
        """A whole line of pieces, cropped or filled to the width of the widget."""
        return self.fill(self.paint(pieces, cursor=cursor), cursor=cursor)

    def fill(self, segments: Iterable[Segment], *, cursor: bool = False) -> Strip:
        """A whole line of segments, cropped or filled to the width of the widget."""
        rest = self.paint(((words(" "), ""),), cursor=cursor)[0].style
        return Strip(segments).adjust_cell_length(self.inner.width, rest)

    def blank(self) -> Strip:
        """An empty line."""
        return Strip.blank(self.inner.width, self.tone(""))

    def say(self, text: SafeText, tone: str = "muted") -> Strip:
        """One line of words in place of content."""
        return self.strip(((fit(text, self.inner.width), tone),))

    def say_at(self, y: int, text: SafeText, *, indent: int) -> Strip:
        """Line ``y`` of words in place of content, each of their lines in as many as it takes."""
        lines = [
            line
            for each in text.split("\n")
            for line in wrap(clean(each), self.inner.width - indent) or [each]
        ]
        return self.say(clean(" " * indent + lines[y])) if y < len(lines) else self.blank()

    def retitle(self, title: SafeText) -> None:
        """Let the border say something else, where the widget does not say by itself what it shows."""

    def caption(self, title: SafeText, subtitle: SafeText) -> None:
        """Set what stands in the border. Neither is ever read as markup."""
        if (title, subtitle) != self._captions:
            self._captions = title, subtitle
            self.border_title = Content(title)
            self.border_subtitle = Content(subtitle)

    _captions: tuple[SafeText, SafeText] = (NOTHING, NOTHING)


def styled(pieces: Iterable[tuple[SafeText, str]]) -> Content:
    """Pieces as Textual's text, none of it read as markup."""
    return Content("").join(Content.styled(text, style) for text, style in pieces)


def marked(widget: Widget, strip: Strip, span: tuple[int, int] | None) -> Strip:
    """``strip`` with the characters of ``span`` shown as selected; an end of -1 is the end of the line."""
    if span is None:
        return strip
    text, whole = strip.text, strip.cell_length
    start, end = cell_len(text[: span[0]]), whole if span[1] == -1 else cell_len(text[: span[1]])
    selected = Segment.apply_style(strip.crop(start, end), post_style=widget.selection_style)
    return Strip.join([strip.crop(0, start), Strip(selected), strip.crop(end, whole)])


def selected_text(
    selection: Selection, offsets: Iterable[int], text: Callable[[int], str]
) -> tuple[str, str] | None:
    """The part of lines that is selected; ``offsets`` are their places in it, ``text`` says the first, the second, …"""
    start, end = selection.start or Offset(0, -1), selection.end
    taken: list[str] = []
    for line, at in enumerate(offsets):
        if (end is not None and at > end.y) or len(taken) == COPIED:
            break
        if at >= start.y:
            said = text(line)
            right = end.x if end is not None and at == end.y else len(said)
            taken.append(said[start.x if at == start.y else 0 : right])
    return ("\n".join(taken), "\n") if taken else None


class Bar(Canvas, can_focus=False):
    """A line across the screen."""

    ALLOW_MAXIMIZE = False


class AsciiTwins(LineFilter):
    """Draws the ASCII twins of the glyphs: in every line of every widget, where the terminal cannot show them."""

    def apply(self, segments: list[Segment], background: TextualColor) -> list[Segment]:
        return [Segment(text.translate(TO_ASCII), style, control) for text, style, control in segments]


@lru_cache(maxsize=1 << 14)
def _coloured(name: str) -> Style:
    """The style of a colour, and of its background where it has one."""
    colour, _, ground = name.partition(" on ")
    return Style(color=Color.parse(colour), bgcolor=Color.parse(ground) if ground else None)


# -- lists ----------------------------------------------------------------------------------------------------


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
        header: rows of the screen above the lines.
        footer: rows of the screen below them.
    """

    newest_on_top = True
    cursor_in_sight = False
    header = footer = 0

    @dataclass
    class Selected(Message):
        """The cursor went to another line; ``about`` is what that is about."""

        lines: ListCanvas
        about: Any

    class Activated(Selected):
        """Enter or a double click on a line."""

    def __init__(self, lines: KeyedLines, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.lines = lines
        self.title = NOTHING
        self._cursor: Any = None
        self._follow = True

    # -- for the list to say -----------------------------------------------------------------------------------

    def about(self, line: int) -> Any:
        """What a line is about."""
        return self.lines.key(line)

    def opened(self, line: int) -> None:
        """Enter, or a double click."""
        self.post_message(self.Activated(self, self.about(line)))

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
    def room(self) -> int:
        """Rows of the screen for lines."""
        return max(1, self.inner.height - self.header - self.footer)

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
        self.virtual_size = Size(self.inner.width, len(self.lines) + self.header + self.footer)

    def _scroll(self, top: int) -> None:
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

    def put_cursor(self, line: int) -> None:
        """The cursor on a line, and that in sight."""
        if not 0 <= line < len(self.lines):
            return
        key = self.lines.key(line)
        if key != self._cursor:
            self._cursor = key
            self.post_message(self.Selected(self, self.about(line)))
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
