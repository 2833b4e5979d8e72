"""What every key does, of the pane or dialog that a person is in first."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from mcp_tui.tui.bindings import bindings, helped
from mcp_tui.tui.keys.dialogs import HELP
from mcp_tui.tui.keys.key import Scope
from mcp_tui.tui.keys.now import hint
from mcp_tui.tui.screens.dialog import Dialog
from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.lines import line
from mcp_tui.tui.view.text import fit, safe, width, words
from mcp_tui.tui.widgets.detail import Detail

KEYS = 14
"""Cells for keys, at most."""


class HelpScreen(Dialog[None]):
    """The keys of scopes, the nearest first, in a frame of their own."""

    DEFAULT_CSS = """
    HelpScreen {
        background: $background 60%;
        &.-ascii > Detail { border: ascii $primary; }
        & > Detail { width: 80; max-width: 96%; height: 92%; background: $surface; }
    }
    """

    SCOPES = (HELP,)
    BINDINGS = bindings(*SCOPES)

    def __init__(self, scopes: Sequence[Scope] = ()) -> None:
        super().__init__()
        self._scopes = scopes

    def compose(self) -> ComposeResult:
        yield Detail()

    def on_mount(self) -> None:
        told = helped(self._scopes)
        cells = min(KEYS, max((width(key) for each in told for key, _ in each.lines), default=0))
        shown: list[Section] = []
        for each in told:
            lines = (
                line((safe("{}  ", fit(key, cells, right=True)), "accent"), said) for key, said in each.lines
            )
            shown.append(Section(each.title, tuple(lines)))
        pane = self.query_one(Detail)
        pane.hint = hint("{app.back} closes · {detail.find} finds")
        pane.show(words("Keys"), shown)
        pane.focus()

    def on_resize(self) -> None:
        self.query_one(Detail).refresh()

    def on_detail_opened(self) -> None:
        self.dismiss(None)
