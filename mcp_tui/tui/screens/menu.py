"""A short list of things to choose from."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from mcp_tui.tui.view.text import SafeText, words


class MenuScreen(ModalScreen[str | None]):
    """Dismisses the key of the choice, or ``None`` on esc."""

    DEFAULT_CSS = """
    MenuScreen {
        align: center middle;
        & > Vertical {
            width: 60; max-width: 90%; height: auto; max-height: 90%;
            border: round $primary; background: $surface; padding: 0 1;
        }
        & Static { height: auto; color: $text-muted; }
        & OptionList { height: auto; border: none; background: $surface; margin: 1 0; padding: 0; }
    }
    """

    BINDINGS = [Binding("escape", "dismiss_none", "Back", show=False)]

    def __init__(
        self, title: SafeText, choices: Sequence[tuple[str, SafeText]], *, note: SafeText = words("")
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._note = note

    def compose(self) -> ComposeResult:
        box = Vertical()
        box.border_title = Content(self._title)
        with box:
            if self._note:
                yield Static(Content(self._note), markup=False)
            yield OptionList(*(Option(Content(text), id=key) for key, text in self._choices), markup=False)
            yield Static(Content("enter choose   esc back"), markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)

    def action_dismiss_none(self) -> None:
        self.dismiss(None)
