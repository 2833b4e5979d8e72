"""Text fields that handle keys in the order of typing and show every character, whatever was pasted.

Keys may be typed ahead: those after a key that moved the focus belong to the widget that has the focus now.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual import events
from textual.app import App
from textual.widget import Widget
from textual.widgets import TextArea

from mcp_tui.tui.view.text import clean, typeable

if TYPE_CHECKING:
    _Widget = Widget
else:
    _Widget = object


class InOrder(_Widget):
    """Handles keys in the order of typing; hands a key on that follows one that moved the focus.

    Textual runs a binding only after its key has bubbled up to the app; a character typed after it would overtake it.
    """

    async def _on_key(self, event: events.Key) -> None:
        focused = self.screen.focused
        if focused is not None and focused is not self and self in focused.ancestors:
            return  # the key bubbles up from a part of this widget
        if focused is not None and focused is not self:
            event.stop()
            event.prevent_default()
            focused.post_message(events.Key(event.key, event.character))
            return
        app = cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType] - of whatever result
        if await app._check_bindings(event.key):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            event.stop()
            event.prevent_default()


class Editor(InOrder, TextArea):
    """Plain text. Invisible characters are drawn as dots and stay in the text, but for pasted controls of a terminal.

    ``veil`` returns the text as it is drawn where some of it is secret; nothing is copied from it then.
    """

    def __init__(
        self, text: str = "", *, line_numbers: bool = False, veil: Callable[[str], str] | None = None
    ) -> None:
        self._veil = veil
        self._veiled = ("", [""])
        super().__init__(text, compact=True, highlight_cursor_line=False, show_line_numbers=line_numbers)
        self.cursor_blink = False

    def on_paste(self, event: events.Paste) -> None:
        event.text = typeable(event.text)

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

    def action_copy(self) -> None:
        if self._veil is None:
            super().action_copy()

    def action_cut(self) -> None:
        if self._veil is None:
            super().action_cut()
