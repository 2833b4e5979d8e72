"""Where things stand on a screen: the requests, and the panes around or below them, whatever each of them is made of."""

from __future__ import annotations

import time
from typing import Final

from textual import events
from textual.containers import Container
from textual.screen import Screen
from textual.widget import Widget

from mcp_tui.tui.bindings import keys
from mcp_tui.tui.keys.key import Key
from mcp_tui.tui.screens.tabs import SHARED, TABS, TabTitles
from mcp_tui.tui.view.shares import Shares
from mcp_tui.tui.widgets.bars import KeyBar, ServerBar
from mcp_tui.tui.widgets.canvas import Canvas, in_ascii

WIDE: Final = 140
"""Cells from which on the panes stand side by side, in three columns."""

BESIDE: Final = 100
"""Cells from which on the detail stands beside the tabs below the requests; where there are fewer, it is one of the tabs."""

STEP: Final = 0.02
"""The share that one key moves a border."""


class LayoutScreen(Screen[None]):
    """A bar above and one below, and between them ``#body``, a grid with ``#requests`` and :attr:`panes`."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (BESIDE, "-beside"), (WIDE, "-wide")]

    panes: dict[str, Canvas]
    """The widget of each pane, by its name."""

    def __init__(self) -> None:
        super().__init__()
        self.bar = ServerBar(id="server")
        self.keys = KeyBar(now=time.monotonic, id="keys")
        self.keys.offered = self.offered
        self.pane = "catalogue"
        self.shares = Shares()
        self._recent = ["detail", "cancellations", "timeline", "wire", "log", "catalogue"]
        self._columns = 0
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
        """Whether the panes stand in three columns."""
        return self._columns == 3

    @property
    def beside(self) -> bool:
        """Whether the detail has a place of its own."""
        return self._columns > 1

    @property
    def sharing(self) -> tuple[str, ...]:
        """The panes that share one place, as tabs."""
        return SHARED if self.wide else tuple(TABS)[1:] if self.beside else tuple(TABS)

    def place(self, width: int) -> None:
        """Know before the first layout where the panes stand, so that it need not be made twice."""
        self._columns = _columns(width)
        self.add_class(("-narrow", "-beside", "-wide")[self._columns - 1])

    def placed(self, table: Widget) -> list[Widget]:
        """The requests and the panes in the order in which they fill the body, from the left to the right."""
        detail, catalogue, *others = self.panes.values()
        return [catalogue, table, detail, *others] if self.wide else [table, detail, catalogue, *others]

    def on_resize(self, event: events.Resize) -> None:
        columns = _columns(event.size.width)
        self.call_after_refresh(self.tab_titles.caption)
        if columns == self._columns:
            return
        self._columns = columns
        table, detail, catalogue = self.query_one("#requests"), self.panes["detail"], self.panes["catalogue"]
        if self.wide:
            self.body.move_child(catalogue, before=table)
        else:
            self.body.move_child(catalogue, after=detail)
        self.share_out()
        self.show_pane(self.pane)

    def on_screen_resume(self) -> None:
        self.call_after_refresh(self.tab_titles.caption)  # a screen that is covered is laid out no sooner

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
        """Show a pane. Of those that share a place the one is shown that was asked for last."""
        self.pane = name
        self._recent.remove(name)
        self._recent.append(name)
        shown = next(each for each in reversed(self._recent) if each in self.sharing)
        for each, widget in self.panes.items():
            widget.display = each not in self.sharing or each == shown
        self.tab_titles.caption()


def _columns(width: int) -> int:
    return 1 + (width >= BESIDE) + (width >= WIDE)
