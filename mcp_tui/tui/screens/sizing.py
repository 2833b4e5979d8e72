"""The sizes of the panes, moved by keys."""

from __future__ import annotations

from typing import Final

from textual.containers import Container
from textual.screen import Screen

from mcp_tui.tui.view.shares import Border, Shares

SHARED: Final = ("log", "wire", "timeline")
"""The panes that share one place where the others stand side by side."""

STEP: Final = 0.02
"""The share that one key moves a border."""


class Sizing(Screen[None]):
    """A screen whose container ``#body`` is a grid that is shared out; :attr:`wide` says how."""

    def __init__(self) -> None:
        super().__init__()
        self.shares = Shares()

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
