"""Text fields that handle keys in the order of typing and show every character, even pasted ones.

Keys may be typed ahead: those after a key that moved the focus belong to the widget that has the focus now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rich.text import Text
from textual import events
from textual.actions import SkipAction
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from mcp_tui.tui.widgets.line_input import InOrder
from mcp_tui.view.text import clean, safe, symbols

LAID_OUT_CHARACTERS: Final = 200_000
"""The maximum number of characters of an editor after a paste: more would block everything else for seconds."""


class Editor(InOrder, TextArea):
    """A plain text. Invisible characters are drawn as dots and stay in the text; pasted control characters become
    symbols.

    ``veil`` returns the text to draw if some of it is secret; then nothing is copied from it.
    """

    def __init__(
        self, text: str = "", *, line_numbers: bool = False, veil: Callable[[str], str] | None = None
    ) -> None:
        self._veil = veil
        self._veiled = ("", [""])
        self._offered: Selection | None = None
        super().__init__(text, compact=True, highlight_cursor_line=False, show_line_numbers=line_numbers)
        self.cursor_blink = False

    def on_paste(self, event: events.Paste) -> None:
        if self.hand_on(event):
            return
        # Not as TextArea does it: that takes the focus back later, from a field to which a key may have moved it
        # meanwhile.
        event.stop()
        event.prevent_default()
        self.put_pasted(symbols(event.text, line_ends=True))

    def put_pasted(self, text: str) -> None:
        """Replaces the selection by a pasted text; says so if the text is too long for the layout."""
        if len(self.text) + len(text) > LAID_OUT_CHARACTERS:
            note = safe("Not pasted: {:,} characters. This field holds {:,}.", len(text), LAID_OUT_CHARACTERS)
            self.app.notify(note, severity="warning", markup=False)  # pyright: ignore[reportUnknownMemberType]
        elif not self.read_only:
            self.move_cursor(self.replace(text, *sorted(self.selection)).end_location)

    def get_line(self, line_index: int) -> Text:
        line = self.document.get_line(line_index)
        if self._veil is not None:
            text = "\n".join(self.document.lines)
            if text != self._veiled[0]:
                self._veiled = text, self._veil(text).split("\n")
            line = self._veiled[1][line_index]
        if not (line.isascii() and line.isprintable()):
            line = "".join(each if each == "\t" or clean(each) == each else "·" for each in line)
        return Text(line, end="", no_wrap=True)

    def offer(self) -> None:
        """Selects the text, so that typing replaces it."""
        self.select_all()
        self._offered = self.selection

    def action_select_all(self) -> None:
        self._offered = None
        super().action_select_all()

    def action_copy(self) -> None:
        if self.selected_text and self.selection == self._offered:
            raise SkipAction  # the person selected nothing, so the key closes the dialog
        if self._veil is None:
            super().action_copy()

    def action_cut(self) -> None:
        if self._veil is None:
            super().action_cut()
