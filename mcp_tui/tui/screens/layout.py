"""Where things stand on a screen: the requests, and the panes around or below them, whatever each of them is made of."""

from __future__ import annotations

import time
from typing import Final

from textual import events
from textual.containers import Container
from textual.screen import Screen

from mcp_tui.tui.bindings import keys
from mcp_tui.tui.keys.key import Key
from mcp_tui.tui.screens.tabs import SHARED, TabTitles
from mcp_tui.tui.view.shares import Shares
from mcp_tui.tui.widgets.bars import KeyBar, ServerBar
from mcp_tui.tui.widgets.canvas import Canvas, in_ascii

WIDE: Final = 140
"""Cells from which on the panes stand side by side, in three columns; below they are tabs under the requests."""

STEP: Final = 0.02
"""The share that one key moves a border."""


class LayoutScreen(Screen[None]):
    """A bar above and one below, and between them ``#body``, a grid with ``#requests`` and :attr:`panes`."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]

    panes: dict[str, Canvas]
    """The widget of each pane, by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.bar = ServerBar(id="server")
        self.keys = KeyBar(now=time.monotonic, id="keys")
        self.keys.offered = self.offered
        self.pane = "catalogue"
        self.shares = Shares()
        self.tail = "log"
        self._wide: bool | None = None
        self.tab_titles = TabTitles(self)

    def on_mount(self) -> None:
        self.set_class(in_ascii(self), "-ascii")

    def offered(self) -> list[Key]:
        """The keys that footer, palette and help name."""
        return keys()

    def before_key(self) -> None:
        """Called before a key is looked at, while no other screen covers this one."""

    @property
    def body(self) -> Container:
        """What holds the panes."""
        return self.query_one("#body", Container)

    @property
    def wide(self) -> bool:
        """Whether the panes stand side by side."""
        return bool(self._wide)

    def place(self, width: int) -> None:
        """Know before the first layout whether the panes stand side by side, so that it need not be made twice."""
        self._wide = width >= WIDE
        self.add_class("-wide" if self._wide else "-narrow")

    def on_resize(self, event: events.Resize) -> None:
        wide = event.size.width >= WIDE
        self.call_after_refresh(self.tab_titles.caption)
        if wide == self._wide:
            return
        self._wide = wide
        # The catalogue stands left of the requests, but below them where panes are tabs.
        table, catalogue = self.query_one("#requests"), self.panes["catalogue"]
        if wide:
            self.body.move_child(catalogue, before=table)
        else:
            self.body.move_child(catalogue, after=table)
        self.share_out()
        self.show_pane(self.pane)

    # -- sizes -----------------------------------------------------------------------------------------------

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
        self.call_after_refresh(self.tab_titles.caption)

    def action_size(self, border: str, steps: int) -> None:
        """Move borders by a key: ``sides`` are those beside the pane in the middle, ``lower`` the top of the row below."""
        if border == "lower":
            self.share_out(self.shares.raised(steps * STEP, wide=self.wide))
        elif self.wide:
            name = "" if self.focused is None else str(self.focused.id)
            self.share_out(self.shares.widened("log" if name in SHARED else name, steps * STEP))

    def show_pane(self, name: str) -> None:
        """Show a pane: the one tab below the requests, or the one in the place of log and wire."""
        self.pane = name
        if name in SHARED:
            self.tail = name
        for each, widget in self.panes.items():
            if self.wide:
                widget.display = each not in SHARED or each == self.tail
            else:
                widget.display = each == name
        self.tab_titles.caption()
