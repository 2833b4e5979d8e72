"""Where things stand on a screen: the requests, and the panes around or below them, whatever each of them is made of."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final, LiteralString

from textual import events
from textual.containers import Container
from textual.screen import Screen

from mcp_tui.tui.bindings import keys
from mcp_tui.tui.keys.key import Key
from mcp_tui.tui.view.shares import Shares
from mcp_tui.tui.view.text import SafeText, join, safe, words
from mcp_tui.tui.widgets.bars import KeyBar, ServerBar
from mcp_tui.tui.widgets.canvas import Canvas, in_ascii

WIDE: Final = 140
"""Cells from which on the panes stand side by side, in three columns; below they are tabs."""

BESIDE: Final = 100
"""Cells from which on the tabs stand beside the requests; below they stand under them."""

SHARED: Final = ("log", "wire", "timeline")
"""The panes that share one place where the others stand side by side."""

TABS: Final = {
    "detail": words("Detail"),
    "catalogue": words("Catalogue"),
    "cancellations": words("Cancellations"),
    "log": words("Log"),
    "wire": words("Wire"),
    "timeline": words("Timeline"),
}
"""The panes in the order of their keys and tabs."""

SHORT: Final = {
    **TABS,
    "catalogue": words("Catalog"),
    "cancellations": words("Cancels"),
    "timeline": words("Time"),
}
"""The tabs where there is no room for their names."""

FRAME: Final = 6
"""Cells of a border beside its title."""

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
        self.tail = "log"
        self._wide: bool | None = None
        self._beside = False
        self._counts: dict[str, int] = {}
        self._rooms: dict[tuple[str, ...], int] = {}

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
        self._beside = BESIDE <= width < WIDE
        self.add_class("-wide" if self._wide else "-beside" if self._beside else "-narrow")

    def on_resize(self, event: events.Resize) -> None:
        before = self._wide, self._beside
        wide, beside = event.size.width >= WIDE, BESIDE <= event.size.width < WIDE
        self.call_after_refresh(self.caption_panes)
        if (wide, beside) == before:
            return
        self._wide, self._beside = wide, beside
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
        elif self._beside:
            body.styles.grid_columns = self.shares.rows(wide=False)
        else:
            body.styles.clear_rule("grid_columns")
        if self._beside:
            body.styles.clear_rule("grid_rows")
        else:
            body.styles.grid_rows = self.shares.rows(wide=self.wide)
        self.call_after_refresh(self.caption_panes)

    def action_size(self, border: str, steps: int) -> None:
        """Move borders by a key: ``sides`` are those beside the pane in the middle, ``lower`` the top of the row below."""
        if border == "lower":
            self.share_out(self.shares.raised(steps * STEP, wide=self.wide))
        elif self.wide:
            name = "" if self.focused is None else str(self.focused.id)
            self.share_out(self.shares.widened("log" if name in SHARED else name, steps * STEP))

    # -- tabs ------------------------------------------------------------------------------------------------

    def show_pane(self, name: str) -> None:
        """Show a pane: the one tab below the requests, or beside them the one in the place of log and wire."""
        self.pane = name
        if name in SHARED:
            self.tail = name
        for each, widget in self.panes.items():
            if self.wide:
                widget.display = each not in SHARED or each == self.tail
            else:
                widget.display = each == name
        self.caption_panes()

    def count_in_tabs(self, counts: dict[str, int]) -> None:
        """Say in the tabs how much there is."""
        if counts != self._counts:
            self._counts = counts
            self.caption_panes()

    def caption_panes(self) -> None:
        """Title all panes; how wide a place is says the one that is shown in it, once it was laid out."""
        for name, widget in self.panes.items():
            if widget.display and widget.outer_size.width:
                self._rooms[self.tabs_of(name)] = widget.outer_size.width
        for name, widget in self.panes.items():
            widget.retitle(self.title_of(name))

    def title_of(self, pane: str) -> SafeText:
        """The title of a pane: the tabs that share its place."""
        labels, between = self.tabs(pane)
        return join(labels.values(), between) if labels else TABS[pane]

    def tabs(self, active: str) -> tuple[dict[str, SafeText], LiteralString]:
        """The tabs in the place of a pane, brackets around the one that is shown, and what stands between two of them.

        Where there is no room, they do without how much is in them, then without their full names.
        """
        names = self.tabs_of(active)
        room = self._rooms.get(names, 0) - FRAME
        labels: dict[str, SafeText] = {}
        between: LiteralString = " "
        for known, counts, between in self._tab_forms():
            labels = {
                name: self._tab(known[name], counts.get(name, 0), chosen=name == active) for name in names
            }
            if room <= 0 or len(join(labels.values(), between)) <= room:
                return labels, between
        return labels, between

    def _tab_forms(self) -> Iterator[tuple[dict[str, SafeText], dict[str, int], LiteralString]]:
        yield TABS, self._counts, "  "
        yield TABS, {}, "  "
        yield SHORT, {}, " "

    def _tab(self, label: SafeText, count: int, *, chosen: bool) -> SafeText:
        if chosen:
            return safe("[{}]", label)
        return safe("{} {:,}", label, count) if count else label

    def tabs_of(self, name: str) -> tuple[str, ...]:
        """The panes that share the place of this one."""
        return tuple(TABS) if not self.wide else SHARED if name in SHARED else ()


def tab_at(screen: LayoutScreen, event: events.Click) -> str:
    """The name of the pane whose tab was clicked in the border of one; empty for none."""
    widget = event.widget
    if widget not in screen.panes.values() or widget is None or event.screen_y != widget.region.y:
        return ""
    at = event.screen_x - widget.region.x - 2
    labels, between = screen.tabs(str(widget.id))
    for name, label in labels.items():
        if 0 <= at < len(label):
            return name
        at -= len(label) + len(between)
    return ""
