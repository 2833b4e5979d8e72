"""A screen of sections, to read and to search."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult

from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.screens.dialog import Dialog
from mcp_tui.tui.widgets.detail_pane import Detail
from mcp_tui.view.detail import Section
from mcp_tui.view.keys import HELP, hint
from mcp_tui.view.text import SafeText


class ReadingScreen(Dialog[None]):
    """A screen with sections below a title."""

    BINDINGS = bindings(HELP)

    def __init__(self, about: SafeText, sections: Sequence[Section]) -> None:
        super().__init__()
        self._about = about
        self._sections = sections

    def compose(self) -> ComposeResult:
        yield Detail()

    def on_mount(self) -> None:
        pane = self.query_one(Detail)
        pane.hint = hint("{app.back} Close  {detail.find} Find  {view.pager} Pager")
        pane.show(self._about, self._sections)
        pane.focus()

    def action_pager(self) -> None:
        self.app.page(self.query_one(Detail).text)

    def on_detail_opened(self) -> None:
        self.dismiss(None)
