"""May a server start that a project's file defines? The whole of what would start, and No where nothing is chosen."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, VerticalScroll
from textual.widgets import Button

from mcp_tui.tui.screens.dialog import Dialog, Piece, button, focus_next_button, place
from mcp_tui.tui.view.text import SafeText, brief, clean, words


class ConsentScreen(Dialog[bool]):
    """Dismisses ``True`` for yes (``y``, or enter on its button), ``False`` for no.

    ``account`` is what a person agrees to, as :func:`mcp_tui.config.consent.account` gives it: nothing of it is cut short.
    """

    DEFAULT_CSS = """
    ConsentScreen {
        & > #dialog { width: 90; }
        & VerticalScroll { height: auto; max-height: 14; margin-top: 1; scrollbar-size-vertical: 1; }
        & Button.-textual-compact.-yes:focus { background: $warning; color: $background; }
    }
    """

    OF_SERVER = False

    BINDINGS = [
        Binding("y", "answer(True)", "Yes", show=False),
        Binding("n,escape,ctrl+c", "answer(False)", "No", show=False),
        Binding("left", "move(-1)", "Previous", show=False),
        Binding("right", "move(1)", "Next", show=False),
        Binding("up", "scroll(-1)", "Up", show=False),
        Binding("down", "scroll(1)", "Down", show=False),
    ]

    AUTO_FOCUS = "#no"

    def __init__(self, name: str, account: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._server = brief(name, 40)
        self._account = account
        self._lead = place()
        self._text = place()
        self._keys = place("keys")
        self._box_of_text = VerticalScroll(self._text, can_focus=False)
        self._buttons = [button("y", words("let it start"), "yes"), button("n", words("no"), "no")]
        self._buttons[0].add_class("-yes")

    def content(self) -> ComposeResult:
        yield self._lead
        yield self._box_of_text
        with Horizontal(id="buttons"):
            yield from self._buttons
        yield self._keys

    def on_mount(self) -> None:
        super().on_mount()
        self.caption(SafeText(f"Start {self._server}?"))
        self.say(
            self._lead,
            (
                words("A project's file defines this server: whoever can change it decides what runs."),
                "$warning",
            ),
        )
        pieces: list[Piece] = []
        for word, said in self._account:
            pieces += [(SafeText(f"{clean(word):<9} "), "$text-muted"), SafeText(f"{clean(said)}\n")]
        self.say(self._text, *pieces)
        self.call_after_refresh(self._tell_keys)

    def _tell_keys(self) -> None:
        if self._box_of_text.max_scroll_y:
            self.say(self._keys, *self.keys([("↑↓", "read on"), ("y n", "answer"), ("esc", "no")]))
        else:
            self.say(self._keys, *self.keys([("←→ enter", "choose"), ("y n", "answer"), ("esc", "no")]))

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)

    def action_move(self, step: int) -> None:
        focus_next_button(self.focused, step, self._buttons)

    def action_scroll(self, step: int) -> None:
        self._box_of_text.scroll_relative(y=3 * step, animate=False)
