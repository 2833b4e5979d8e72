"""What every key does, of the pane or dialog that a person is in first."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.screen import ModalScreen

from mcp_tui.tui.bindings import bindings, helped
from mcp_tui.tui.keys.dialogs import HELP
from mcp_tui.tui.keys.key import Scope
from mcp_tui.tui.keys.now import hint
from mcp_tui.tui.screens.dialog import copied
from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.lines import line
from mcp_tui.tui.view.text import fit, safe, width, words
from mcp_tui.tui.widgets.detail import Detail

KEYS = 14
"""Cells for keys, at most."""


class HelpScreen(ModalScreen[None]):
    """The keys of scopes, the nearest first. ``typing``: whether characters are text where the person is."""

    DEFAULT_CSS = """
    HelpScreen {
        align: center middle;
        &.-ascii > Detail { border: ascii $primary; }
        & > Detail { width: 80; max-width: 96%; height: 92%; background: $surface; }
    }
    """

    SCOPES = (HELP,)
    BINDINGS = bindings(*SCOPES)

    def __init__(self, scopes: Sequence[Scope] = (), *, ascii_only: bool = False) -> None:
        super().__init__()
        self._scopes = scopes
        self._ascii = ascii_only
        self.set_class(ascii_only, "-ascii")

    def compose(self) -> ComposeResult:
        yield Detail()

    def on_mount(self) -> None:
        told = helped(self._scopes)
        cells = min(KEYS, max((width(key) for each in told for key, _ in each.lines), default=0))
        shown = [
            Section(
                each.title,
                tuple(
                    line((safe("{}  ", fit(key, cells, right=True)), "accent"), said)
                    for key, said in each.lines
                ),
            )
            for each in told
        ]
        pane = self.query_one(Detail)
        pane.ascii = self._ascii
        pane.hint = hint("{app.back} closes · {detail.find} finds")
        pane.show(words("Keys"), shown)
        pane.focus()

    def on_resize(self) -> None:
        self.query_one(Detail).refresh()

    def on_detail_opened(self) -> None:
        self.dismiss(None)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_interrupt(self) -> None:
        """ctrl+c: copy the selected text; else close it."""
        if not copied(self):
            self.dismiss(None)
