"""Text that a person types, in which every character takes a cell that can be seen, whatever was pasted."""

from __future__ import annotations

from rich.text import Text
from textual.reactive import reactive
from textual.widgets import Input, TextArea

from mcp_tui.tui.view.text import clean
from mcp_tui.tui.widgets.handing import InOrder


class LineInput(Input):
    """A field of one line whose cursor is always in sight."""

    cursor_blink = reactive(False, init=False)


class Editor(InOrder, TextArea):
    """Plain text. What could not be seen is drawn as a dot; the text itself stays as it is."""

    DEFAULT_CSS = """
    Editor {
        padding: 0;
        border: none;
        background: $surface;
        background-tint: $foreground 6%;
        scrollbar-size-vertical: 1;
        &:focus { border: none; background-tint: $foreground 10%; }
        & .text-area--placeholder { color: $text-muted; }
    }
    """

    def __init__(self, text: str = "", *, line_numbers: bool = False, id: str | None = None) -> None:
        super().__init__(
            text,
            compact=True,
            highlight_cursor_line=False,
            show_line_numbers=line_numbers,
            soft_wrap=True,
            id=id,
        )
        self.cursor_blink = False

    def get_line(self, line_index: int) -> Text:
        line = self.document.get_line(line_index)
        if not (line.isascii() and line.isprintable()):
            line = "".join(each if each == "\t" or clean(each) == each else "·" for each in line)
        return Text(line, end="", no_wrap=True)
