"""Two requests compared: what differs in their arguments and answers, and in how long they took."""

from __future__ import annotations

from textual.app import ComposeResult

from mcp_tui.tui.keys import HELP, bindings, hint
from mcp_tui.tui.screens.dialog import Dialog
from mcp_tui.tui.view.comparing import Side, comparison
from mcp_tui.tui.view.text import safe
from mcp_tui.tui.widgets.detail import Detail


class ComparingScreen(Dialog[None]):
    """Shows how two requests differ, the earlier first. ``now`` is in monotonic seconds."""

    BINDINGS = bindings(HELP)

    def __init__(self, before: Side, after: Side, now: float) -> None:
        super().__init__()
        self._before, self._after, self._now = before, after, now

    def compose(self) -> ComposeResult:
        yield Detail()

    def on_mount(self) -> None:
        pane = self.query_one(Detail)
        pane.hint = hint("{app.back} Close  {detail.find} Find")
        title = safe("{} and {} compared", self._before.row.id, self._after.row.id)
        pane.show(title, comparison(self._before, self._after, self._now))
        pane.focus()

    def on_detail_opened(self) -> None:
        self.dismiss(None)
