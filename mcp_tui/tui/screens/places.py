"""Where things stand: the requests, and the panes around or below them, whatever each of them is made of."""

from __future__ import annotations

import time
from typing import Final

from textual import events

from mcp_tui.tui.bindings import keys
from mcp_tui.tui.keys.key import Key
from mcp_tui.tui.screens.sizing import SHARED, Sizing
from mcp_tui.tui.view.text import SafeText, join, words
from mcp_tui.tui.widgets.canvas import Canvas
from mcp_tui.tui.widgets.key_bar import KeyBar
from mcp_tui.tui.widgets.server_bar import ServerBar

WIDE: Final = 120
"""Cells from which on the panes stand side by side; below they are tabs."""

PANES: Final = ("detail", "catalogue", "cancellations", *SHARED)
"""The panes in the order of their keys and tabs."""

_TABS: Final = {
    "detail": words("Detail"),
    "catalogue": words("Catalogue"),
    "cancellations": words("Cancellations"),
    "log": words("Log"),
    "wire": words("Wire"),
    "timeline": words("Timeline"),
}


class Places(Sizing):
    """A bar above and one below, and between them ``#body`` with ``#requests`` and :attr:`panes`."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__()
        self.ascii = ascii_only
        self.bar = ServerBar(id="server")
        self.keys = KeyBar(now=time.monotonic, id="keys")
        self.keys.offered = self.offered
        self.pane = "catalogue"
        self._wide: bool | None = None
        self._tail = "log"
        self._counts: dict[str, int] = {}

    @property
    def panes(self) -> dict[str, Canvas]:
        """The widget of each pane, by its name."""
        raise NotImplementedError

    def draw_plainly(self, table: Canvas) -> None:
        """Let everything be drawn in ASCII alone, where that is wanted. Called when all of it is made."""
        if self.ascii:
            self.add_class("-ascii")
            for canvas in (*self.panes.values(), self.bar, self.keys, table):
                canvas.ascii = True

    def offered(self) -> list[Key]:
        """The keys that footer, palette and help name."""
        return keys()

    # -- where things stand ----------------------------------------------------------------------------------

    def place(self, width: int) -> None:
        """Know before the first layout whether the panes stand side by side, so that it need not be made twice."""
        self._wide = width >= WIDE
        self.add_class("-wide" if self._wide else "-narrow")

    def on_resize(self, event: events.Resize) -> None:
        wide = event.size.width >= WIDE
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

    @property
    def wide(self) -> bool:
        """Whether the panes stand side by side."""
        return bool(self._wide)

    def show_pane(self, name: str) -> None:
        """Show a pane: the one tab below the requests, or beside them the one in the place of log and wire."""
        self.pane = name
        if name in SHARED:
            self._tail = name
        for each, widget in self.panes.items():
            if self.wide:
                widget.display = each not in SHARED or each == self._tail
            else:
                widget.display = each == name
        self._caption()

    def _tab(self, name: str, active: str) -> SafeText:
        """A tab: its name, how much is in it, brackets around the one that is shown."""
        count = self._counts.get(name, 0)
        label = SafeText(f"{_TABS[name]} {count:,}") if count and name != active else _TABS[name]
        return SafeText(f"[{label}]") if name == active else label

    def _caption(self) -> None:
        for name, widget in self.panes.items():
            widget.retitle(self._title_of(name))

    def _title_of(self, name: str) -> SafeText:
        tabs = self._tabs_of(name)
        return join([self._tab(each, name) for each in tabs], "  ") if tabs else _TABS[name]

    def _tabs_of(self, name: str) -> tuple[str, ...]:
        """The panes that share the place of this one."""
        return PANES if not self.wide else SHARED if name in SHARED else ()
