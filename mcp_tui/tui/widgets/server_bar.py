"""The line at the top: the server, and how many requests are where."""

from __future__ import annotations

from textual.strip import Strip

from mcp_tui.tui.view.server import ServerFacts, bar
from mcp_tui.tui.widgets.canvas import Canvas


class ServerBar(Canvas, can_focus=False):
    """One line that says what :meth:`show` was told last."""

    DEFAULT_CSS = """
    ServerBar {
        height: 1;
        border: none;
        overflow: hidden;
        scrollbar-gutter: auto;
        background: $panel;
    }
    """

    ALLOW_MAXIMIZE = False

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._facts = ServerFacts()

    @property
    def facts(self) -> ServerFacts:
        """What the bar says."""
        return self._facts

    def show(self, facts: ServerFacts) -> None:
        """Say something else; the same again costs nothing."""
        if facts != self._facts:
            self._facts = facts
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return self.strip(bar(self._facts, self.inner_width)) if y == 0 else self.blank()
