"""The detail of one thing: sections of lines, wrapped to the width, drawn where they are in sight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from textual import events
from textual.binding import Binding
from textual.geometry import Offset, Size
from textual.selection import Selection
from textual.strip import Strip

from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.lines import Line, Segments
from mcp_tui.tui.view.text import SafeText, clip, width, words, wrap
from mcp_tui.tui.widgets.canvas import Canvas

_BLANK: Final = Line(())


class Detail(Canvas):
    """A pane that is read and not written.

    :meth:`show` takes sections; those that are the same objects as before are not wrapped again, so it may be called on
    every tick. The place in the text is kept while ``key`` stays the same.
    """

    ALLOW_SELECT = True

    BINDINGS = [
        Binding("up,k", "line_up", "Up", id="detail.up", show=False),
        Binding("down,j", "line_down", "Down", id="detail.down", show=False),
        Binding("pageup", "page_up", "Page up", id="detail.page-up", show=False),
        Binding("pagedown", "page_down", "Page down", id="detail.page-down", show=False),
        Binding("home,g", "top", "Top", id="detail.top", show=False),
        Binding("end,G", "bottom", "Bottom", id="detail.bottom", show=False),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.empty = words("Nothing selected.")
        self._title = words("Detail")
        self._key: object = None
        self._sections: list[Section] = []
        self._wrapped: list[tuple[Section, list[Segments]]] = []
        self._wrapped_to = 0
        self._lines: list[Segments] = []

    def show(self, title: SafeText, sections: Sequence[Section], *, key: object = None) -> None:
        """Show other sections, from the top where ``key`` is another one."""
        moved = key != self._key
        self._title, self._key = title, key
        self._sections = list(sections)
        self._lay_out()
        if moved:
            self.scroll_to(y=0, animate=False, force=True)

    def clear(self) -> None:
        """Show nothing."""
        self.show(words("Detail"), ())

    @property
    def lines(self) -> int:
        """Lines on the screen that the sections take at this width."""
        return len(self._lines)

    def on_resize(self, event: events.Resize) -> None:
        self._lay_out()

    def _lay_out(self) -> None:
        cells = self.inner_width
        if cells <= 0:
            return
        known = {id(section): lines for section, lines in self._wrapped} if self._wrapped_to == cells else {}
        self._wrapped_to = cells
        # The sections are kept beside their lines, so that no other can come to have the same identity.
        self._wrapped = [
            (section, known.get(id(section)) or wrapped_lines(section, cells)) for section in self._sections
        ]
        lines: list[Segments] = []
        for section, wrapped in self._wrapped:
            if section.title:
                if lines:
                    lines.append(_BLANK.segments)
                lines.append(((clip(section.title, cells), "title"),))
            lines.extend(wrapped)
        changed = lines != self._lines
        self._lines = lines
        self.caption(clip(self._title, max(1, cells - 4)), words(""))
        size = Size(cells, len(lines))
        if size != self.virtual_size:
            self.virtual_size = size
        if changed:
            self.refresh()

    def render_line(self, y: int) -> Strip:
        at = y + self.scroll_offset.y
        if at >= len(self._lines):
            return self.say(SafeText(f" {self.empty}")) if y == 0 and not self._sections else self.blank()
        strip = Strip(self.paint(self._lines[at]))
        selection = self.text_selection
        if selection is not None:
            strip = self.marked(strip, selection.get_span(at))
        return strip.adjust_cell_length(self.inner_width, self.tone("")).apply_offsets(0, at)

    def action_line_up(self) -> None:
        self.scroll_up(animate=False, force=True)

    def action_line_down(self) -> None:
        self.scroll_down(animate=False, force=True)

    def action_page_up(self) -> None:
        self.scroll_page_up(animate=False, force=True)

    def action_page_down(self) -> None:
        self.scroll_page_down(animate=False, force=True)

    def action_top(self) -> None:
        self.scroll_home(animate=False, force=True)

    def action_bottom(self) -> None:
        self.scroll_end(animate=False, force=True)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it is shown."""
        start = Offset(0, 0) if selection.start is None else selection.start
        taken: list[str] = []
        last = len(self._lines) - 1 if selection.end is None else min(selection.end.y, len(self._lines) - 1)
        for at in range(start.y, last + 1):
            text = "".join(piece for piece, _ in self._lines[at])
            end = selection.end.x if selection.end is not None and at == selection.end.y else len(text)
            taken.append(text[start.x if at == start.y else 0 : end])
        return ("\n".join(taken), "\n") if taken else None


def wrapped_lines(section: Section, cells: int) -> list[Segments]:
    """The lines of a section, each in as many of ``cells`` cells as it takes."""
    lines: list[Segments] = []
    for line in section.lines:
        lines.extend(_wrapped_line(line, cells))
    return lines


def _wrapped_line(line: Line, cells: int) -> list[Segments]:
    """A line in as many as it takes. Its last piece is wrapped, below where it began where there is room for that."""
    if not line.segments:
        return [()]
    *before, (text, tone) = line.segments
    taken = sum(width(piece) for piece, _ in before)
    if taken + width(text) <= cells:
        return [line.segments]
    if taken > cells // 2:
        joined = SafeText("".join(piece for piece, _ in line.segments))
        return [((part, tone),) for part in wrap(joined, cells)]
    first, *rest = wrap(text, cells - taken)
    indent = (SafeText(" " * taken), "")
    return [(*before, (first, tone)), *((indent, (part, tone)) for part in rest)]
