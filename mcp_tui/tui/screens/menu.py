"""A short list of things to choose from."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from mcp_tui.tui.keys.dialogs import MENU
from mcp_tui.tui.screens.dialog import Dialog, place
from mcp_tui.tui.view.text import SafeText


class MenuScreen(Dialog[str | None]):
    """Dismisses the key of the choice, or ``None`` on esc. ``note`` is one line above the choices, empty for none."""

    DEFAULT_CSS = """
    MenuScreen #note { color: $text-muted; margin-bottom: 1; }
    """

    SCOPES = (MENU,)
    HINTS = [("enter", "Choose"), ("app.back", "Back")]

    def __init__(self, title: SafeText, choices: Sequence[tuple[str, SafeText]], note: SafeText) -> None:
        self._note_text = note
        self._note = place("note")
        self.list = OptionList(
            *(Option(Content(text), id=key) for key, text in choices), markup=False, compact=True
        )
        self.list.display = bool(choices)
        super().__init__(self._note, self.list, title=title)

    def on_mount(self) -> None:
        self.say(self._note, self._note_text)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.dismiss(event.option.id)
