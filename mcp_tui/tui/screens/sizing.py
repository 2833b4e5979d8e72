"""The sizes of the panes: moved by keys, and by dragging the borders between them."""

from __future__ import annotations

from typing import Final

from textual import events
from textual.containers import Container
from textual.screen import Screen
from textual.widget import Widget

from mcp_tui.tui.view.shares import Border, Shares

SHARED: Final = ("log", "wire", "timeline", "both")
"""The panes that share one place where the others stand side by side."""

STEP: Final = 0.02
"""The share that one key moves a border."""


class Sizing(Screen[None]):
    """A screen whose container ``#body`` is a grid that is shared out; :attr:`wide` says how."""

    def __init__(self) -> None:
        super().__init__()
        self.shares = Shares()
        self._dragged: Border | None = None

    @property
    def wide(self) -> bool:
        """Whether the panes stand side by side."""
        raise NotImplementedError

    @property
    def body(self) -> Container:
        """What holds the panes."""
        return self.query_one("#body", Container)

    def share_out(self, shares: Shares | None = None) -> None:
        """Lay the panes out, by other shares where they are given. Those that they come with are in the stylesheet."""
        before, self.shares = self.shares, shares or self.shares
        if self.shares == before == Shares():
            return
        body = self.body
        if self.wide:
            body.styles.grid_columns = self.shares.columns()
        else:
            body.styles.clear_rule("grid_columns")
        body.styles.grid_rows = self.shares.rows(wide=self.wide)

    def action_size(self, border: str, steps: int) -> None:
        """Move borders by a key: ``sides`` are those beside the pane in the middle, ``lower`` the top of the row below."""
        step = steps * STEP
        if border == "lower":
            which: Border = "lower" if self.wide else "tabs"
            self.share_out(self.shares.moved(which, self.shares.at(which) - step))
        elif self.wide:
            name = "" if self.focused is None else self.focused.id
            shares = self.shares
            if name in {"cancellations", *SHARED}:
                shares = shares.moved("split", shares.split + (step if name == "cancellations" else -step))
            if name not in {"cancellations", "detail", *SHARED}:
                shares = shares.moved("left", shares.left + step)
            if name not in {"cancellations", "catalogue", *SHARED}:
                shares = shares.moved("right", shares.right - step)
            self.share_out(shares)

    # -- dragging --------------------------------------------------------------------------------------------

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A button goes down on a border: what moves with the mouse from now on."""
        if event.button == 1 and self.maximized is None:
            self._dragged = self._border_at(event.screen_x, event.screen_y)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._dragged is None:
            return
        region = self.body.region
        if self._dragged in {"lower", "tabs"}:
            to = (event.screen_y - region.y) / max(1, region.height)
        else:
            to = (event.screen_x - region.x) / max(1, region.width)
        moved = self.shares.moved(self._dragged, to)
        if moved != self.shares and abs(to - self.shares.at(self._dragged)) * max(region.size) >= 1:
            self.share_out(moved)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._dragged is not None:
            self._dragged = None
            self.clear_selection()

    def _border_at(self, x: int, y: int) -> Border | None:
        """The border at a cell of the screen: each is two cells wide, the edges of two panes."""
        shown = {str(child.id): child for child in self.body.children if child.display}
        upper = shown.get("requests")
        if upper is None:
            return None
        region = upper.region
        if y in {region.bottom - 1, region.bottom}:
            return "lower" if self.wide else "tabs"
        if not self.wide:
            return None
        if y < region.bottom:
            return (
                "left"
                if x in {region.x - 1, region.x}
                else "right"
                if x in {region.right - 1, region.right}
                else None
            )
        below: Widget | None = shown.get("cancellations")
        edge = -1 if below is None else below.region.right
        return "split" if x in {edge - 1, edge} else None
