"""A question with two answers."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Button

from mcp_tui.tui.screens.dialog import Dialog, button, focus_next_button, place
from mcp_tui.tui.view.text import SafeText, clean


class ConfirmScreen(Dialog[bool]):
    """Dismisses ``True`` for yes (``y``, or enter on its button), ``False`` for no (``n``, esc, ctrl+c, its button).

    No has the focus at first, so a stray enter does nothing. ``lines`` is what is at stake, one thing a line.
    """

    DEFAULT_CSS = """
    ConfirmScreen {
        & VerticalScroll { height: auto; max-height: 12; scrollbar-size-vertical: 1; }
        & Button.-textual-compact.-yes:focus { background: $warning; color: $background; }
    }
    """

    OF_SERVER = False

    BINDINGS = [
        Binding("y", "answer(True)", "Yes", show=False),
        Binding("n,escape,ctrl+c", "answer(False)", "No", show=False),
        Binding("left,up", "move(-1)", "Previous", show=False),
        Binding("right,down", "move(1)", "Next", show=False),
    ]

    AUTO_FOCUS = "#no"

    def __init__(self, title: str, lines: Sequence[SafeText], *, yes: str, no: str) -> None:
        super().__init__()
        self._question = clean(title)
        self._lines = lines
        self._text = place()
        self._keys = place("keys")
        self._buttons = [button("y", clean(yes), "yes"), button("n", clean(no), "no")]
        self._buttons[0].add_class("-yes")

    def content(self) -> ComposeResult:
        with VerticalScroll(can_focus=False):
            yield self._text
        with Horizontal(id="buttons"):
            yield from self._buttons
        yield self._keys

    def on_mount(self) -> None:
        super().on_mount()
        self.caption(self._question)
        self.say(self._text, SafeText("\n".join(self._lines)))
        self.say(self._keys, *self.keys([("←→ enter", "choose"), ("y n", "answer"), ("esc", "no")]))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)

    def action_move(self, step: int) -> None:
        focus_next_button(self.focused, step, self._buttons)
