"""An app around the widget under test, with a clock that the test moves."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widget import Widget

from mcp_tui.tui.host import FRAME_STYLES, STYLES
from mcp_tui.tui.widgets.canvas import Canvas


class Host(App[None]):
    """Shows one widget and keeps the messages of ours that reach it."""

    CSS_PATH = [FRAME_STYLES, STYLES]
    CSS = "RequestTable, LineList, Detail { height: 1fr; }"

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget

    def compose(self) -> ComposeResult:
        yield self.widget

    async def put(self, widget: Widget) -> None:
        """Show another widget in the place of this one."""
        await self.widget.remove()
        self.widget = widget
        await self.mount(widget)


class Clock:
    """Monotonic seconds that pass when a test says so."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def inside(widget: Canvas) -> list[str]:
    """The lines within the border."""
    return [widget.render_line(y).text for y in range(widget.inner.height)]
