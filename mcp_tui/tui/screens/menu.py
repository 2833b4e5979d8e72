"""A short list of things to choose from."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.dialogs import MENU
from mcp_tui.tui.screens.dialog import Dialog, Hint, place
from mcp_tui.tui.view.text import SafeText


class MenuScreen(Dialog[str | None]):
    """Dismisses the key of the choice, or ``None`` on esc. ``note`` is one line above the choices, empty for none."""

    DEFAULT_CSS = """
    MenuScreen #note { color: $text-muted; margin-bottom: 1; }
    """

    SCOPES = (MENU,)
    BINDINGS = bindings(*SCOPES)

    def __init__(self, title: SafeText, choices: Sequence[tuple[str, SafeText]], note: SafeText) -> None:
        super().__init__()
        self._heading = title
        self._note_text = note
        self._note = place("note")
        self._list = OptionList(
            *(Option(Content(text), id=key) for key, text in choices), markup=False, compact=True
        )

    def heading(self) -> SafeText:
        return self._heading

    def body(self) -> ComposeResult:
        yield self._note
        yield self._list

    def hints(self) -> Sequence[Hint]:
        return [("enter", "Choose"), ("app.back", "Back")]

    def on_mount(self) -> None:
        self.say(self._note, self._note_text)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(event.option.id)
