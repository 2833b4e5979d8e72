"""Two requests compared: what differs in their arguments and answers, and in how long they took."""

from __future__ import annotations

from mcp_tui.tui.screens.reading import ReadingScreen
from mcp_tui.tui.view.comparing import Side, comparison
from mcp_tui.tui.view.text import safe


class ComparingScreen(ReadingScreen):
    """Shows how two requests differ, the earlier first. ``now`` is in monotonic seconds."""

    def __init__(self, before: Side, after: Side, now: float) -> None:
        title = safe("{} and {} compared", before.row.id, after.row.id)
        super().__init__(title, comparison(before, after, now))
