"""Every key and what it does."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.screen import ModalScreen

from mcp_tui.tui.bindings import Key, help_lines
from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.lines import line
from mcp_tui.tui.view.text import SafeText, words
from mcp_tui.tui.widgets.detail import Detail

MOVES = (
    (words("enter"), words("on a request its detail; on a tool of the catalogue its call")),
    (words("tab"), words("the next pane")),
    (words("↑ ↓ j k"), words("move; home, end, page up and page down too")),
)


class HelpScreen(ModalScreen[None]):
    """Closed by esc, enter, q or ?."""

    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        &.-ascii > Detail { border: ascii $primary; }
        & > Detail { width: 80; max-width: 96%; height: 92%; background: $surface; }
    }
    """

    BINDINGS = [Binding("escape,enter,q,question_mark", "close", "Back", show=False)]

    def __init__(self, *, offered: Sequence[Key] | None = None, ascii_only: bool = False) -> None:
        super().__init__()
        self._offered = offered
        self._ascii = ascii_only
        self.set_class(ascii_only, "-ascii")

    def compose(self) -> ComposeResult:
        yield Detail()

    def on_mount(self) -> None:
        shown = (*help_lines(self._offered), *MOVES)
        keys = [line((SafeText(f"{key:>9}  "), "accent"), said) for key, said in shown]
        pane = self.query_one(Detail)
        pane.ascii = self._ascii
        pane.hint = words("esc closes · / finds")
        pane.show(words("Keys"), [Section(words(""), tuple(keys))])
        pane.focus()

    def on_resize(self) -> None:
        self.query_one(Detail).refresh()

    def on_detail_opened(self) -> None:
        self.dismiss(None)

    def action_close(self) -> None:
        self.dismiss(None)
