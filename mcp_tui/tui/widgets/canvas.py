"""What the widgets of the workbench have in common: lines drawn from styled pieces, and the styles of those pieces."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, cast

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.color import Color as TextualColor
from textual.content import Content
from textual.dom import DOMNode
from textual.filter import LineFilter
from textual.geometry import Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widget import Widget

from mcp_tui.tui.view.badges import STYLES
from mcp_tui.tui.view.glyphs import TO_ASCII
from mcp_tui.tui.view.text import SafeText, clean, fit, words, wrap

TONES: Final = (
    *STYLES,
    "cursor",
    "header",
    "title",
    "muted",
    "accent",
    "success",
    "warning",
    "error",
    "struck",
)
"""Names of styles that a piece of a line may have. Each is a class of its own, ``tone--`` and the name."""


class Canvas(ScrollView, can_focus=True, inherit_bindings=False):
    """A widget drawn by :meth:`render_line` from pieces of safe text."""

    DEFAULT_CSS = """
    Canvas {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        background: $background;
        color: $foreground;
        border: round $foreground 30%;
        border-title-color: $foreground;
        border-subtitle-color: $text-muted;
        &:focus { border: round $primary; }

        & > .tone--queued { color: $text-muted; }
        & > .tone--in-flight { color: $primary; text-style: bold; }
        & > .tone--overdue { color: $warning; text-style: bold; }
        & > .tone--awaiting-input { color: $accent; text-style: bold; }
        & > .tone--cancel-requested { color: $warning; text-style: bold; }
        & > .tone--cancelled { color: $text-muted; }
        & > .tone--late { color: $accent; }
        & > .tone--timed-out { color: $warning; }
        & > .tone--completed { color: $success; text-style: dim; }
        & > .tone--failed { color: $error; text-style: bold; }
        & > .tone--lost { color: $error; text-style: dim; }

        & > .tone--cursor { background: $foreground 10%; }
        &:focus > .tone--cursor { background: $primary 20%; }
        & > .tone--header { color: $text-muted; }
        & > .tone--title { text-style: bold; }
        & > .tone--muted { color: $text-muted; }
        & > .tone--accent { color: $accent; }
        & > .tone--success { color: $success; }
        & > .tone--warning { color: $warning; }
        & > .tone--error { color: $error; }
        & > .tone--struck { color: $text-muted; text-style: strike; }
    }
    """

    virtual_size = Reactive(Size(0, 0))  # Textual's own lays out the whole screen at each line more

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._tones: dict[str, Style] = {}

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
        style = self._tones.get(name)
        if style is None:
            style = self._tones[name] = self._found_tone(name) if name in TONES else self.rich_style
        return style

    def _found_tone(self, name: str) -> Style:
        """What the stylesheet says of a tone: asked when it is first drawn with.

        As component classes all tones of all widgets would be made at every change of style, and be most of the time to the
        first frame.
        """
        class_ = f"tone--{name}"
        node = DOMNode(classes=class_)
        node._attach(self)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - as Textual makes such classes
        self.app.stylesheet.apply(node, animate=False)  # pyright: ignore[reportUnknownMemberType]
        self._component_styles[class_] = node.styles
        return self.get_component_rich_style(class_)

    def notify_style_update(self) -> None:
        """Styles changed (theme, focus): nothing drawn so far is right any more."""
        super().notify_style_update()
        self.forget()

    def forget(self) -> None:
        """Draw everything anew."""
        self._tones.clear()
        self.refresh()

    # -- drawing ---------------------------------------------------------------------------------------------

    @property
    def inner_width(self) -> int:
        """Cells of a line, without border and scrollbar."""
        return self.scrollable_content_region.width

    @property
    def inner_height(self) -> int:
        """Lines that are visible."""
        return self.scrollable_content_region.height

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
        segments = self.paint(pieces, cursor=cursor)
        rest = self.paint(((words(" "), ""),), cursor=cursor)[0].style
        return Strip(segments).adjust_cell_length(self.inner_width, rest)

    def blank(self) -> Strip:
        """An empty line."""
        return Strip.blank(self.inner_width, self.tone(""))

    def say(self, text: SafeText, tone: str = "muted") -> Strip:
        """One line of words in place of content."""
        return self.strip(((fit(text, self.inner_width), tone),))

    def say_at(self, y: int, text: SafeText, *, indent: int) -> Strip:
        """Line ``y`` of words in place of content, each of their lines in as many as it takes."""
        lines = [
            line
            for each in text.split("\n")
            for line in wrap(clean(each), self.inner_width - indent) or [each]
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

    _captions: tuple[SafeText, SafeText] = (words(""), words(""))


def styled(pieces: Iterable[tuple[SafeText, str]]) -> Content:
    """Pieces as Textual's text, none of it read as markup."""
    return Content("").join(Content.styled(text, style) for text, style in pieces)


def marked(widget: Widget, strip: Strip, span: tuple[int, int] | None) -> Strip:
    """``strip`` with the characters of ``span`` shown as selected; an end of -1 is the end of the line."""
    if span is None:
        return strip
    start, end = span
    if end == -1:
        end = len(strip.text)
    style = widget.selection_style
    segments: list[Segment] = []
    at = 0
    for text, plain, _ in strip:
        left, right = (max(0, min(len(text), edge - at)) for edge in (start, end))
        selected = style if plain is None else plain + style
        parts = ((text[:left], plain), (text[left:right], selected), (text[right:], plain))
        segments.extend(Segment(part, look) for part, look in parts if part)
        at += len(text)
    return Strip(segments)


class Bar(Canvas, can_focus=False):
    """A line across the screen."""

    DEFAULT_CSS = """
    Bar {
        height: 1;
        border: none;
        overflow: hidden;
        scrollbar-gutter: auto;
        background: $panel;
    }
    """

    ALLOW_MAXIMIZE = False


class AsciiTwins(LineFilter):
    """Draws the ASCII twins of the glyphs: in every line of every widget, where the terminal cannot show them."""

    def apply(self, segments: list[Segment], background: TextualColor) -> list[Segment]:
        return [Segment(text.translate(TO_ASCII), style, control) for text, style, control in segments]


def in_ascii(node: DOMNode) -> bool:
    """Whether the terminal of a node's app cannot show the glyphs."""
    app = cast("object", node.app)  # pyright: ignore[reportUnknownMemberType] - Textual leaves the app's result open
    return bool(getattr(app, "ascii", False))


@lru_cache(maxsize=1 << 14)
def _coloured(name: str) -> Style:
    """The style of a colour, and of its background where it has one."""
    colour, _, ground = name.partition(" on ")
    return Style(color=Color.parse(colour), bgcolor=Color.parse(ground) if ground else None)
