"""A field of one line. Apart from the editor of several: that takes longer to load than the workbench's own widgets."""

from __future__ import annotations

from textual.reactive import reactive
from textual.widgets import Input

from mcp_tui.tui.view.text import one_line


class LineInput(Input):
    """A field of one line of visible text, whatever is pasted or put into it. Its cursor does not blink."""

    cursor_blink = reactive(False, init=False)

    def replace(self, text: str, start: int, end: int) -> None:
        super().replace(one_line(text), start, end)

    def validate_value(self, value: str) -> str:
        """Returns the value without what is invisible, such as in a default of a file."""
        return one_line(value)
