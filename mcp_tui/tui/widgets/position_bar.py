"""The line above the keys: where a recording stands."""

from __future__ import annotations

from textual import events
from textual.message import Message
from textual.strip import Strip

from mcp_tui.tui.view.position import Position, graph, position_bar
from mcp_tui.tui.widgets.canvas import Canvas


class PositionBar(Canvas, can_focus=False):
    """One line that says what :meth:`show` was told last. A click on the graph posts :class:`Pressed`."""

    DEFAULT_CSS = """
    PositionBar {
        height: 1;
        border: none;
        overflow: hidden;
        scrollbar-gutter: auto;
        background: $surface;
    }
    """

    ALLOW_MAXIMIZE = False

    class Pressed(Message):
        """A click on the graph, at a share of it from 0 to 1."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.position = Position()

    def show(self, position: Position) -> None:
        """Say something else; the same again costs nothing."""
        if position != self.position:
            self.position = position
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return self.strip(position_bar(self.position, self.inner_width)) if y == 0 else self.blank()

    def on_click(self, event: events.Click) -> None:
        found = graph(self.position, self.inner_width)
        if found is not None and found[0] <= event.x < found[0] + found[1]:
            self.post_message(self.Pressed((event.x - found[0] + 1) / found[1]))
