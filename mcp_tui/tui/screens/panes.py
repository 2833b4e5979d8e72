"""Where things stand on the screen of a session or a recording: the requests, and the panes around or below them."""

from __future__ import annotations

import time
from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Input

from mcp_tui.tui.bindings import keys
from mcp_tui.tui.keys.key import Key
from mcp_tui.tui.keys.now import key_of
from mcp_tui.tui.look import Look
from mcp_tui.tui.scene import Scene
from mcp_tui.tui.screens.sizing import SHARED, Sizing
from mcp_tui.tui.view.index import RowIndex, key
from mcp_tui.tui.view.text import SafeText, join, words
from mcp_tui.tui.widgets.canvas import Canvas
from mcp_tui.tui.widgets.catalogue_list import CatalogueList
from mcp_tui.tui.widgets.detail import Detail
from mcp_tui.tui.widgets.key_bar import KeyBar
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.tui.widgets.server_bar import ServerBar
from mcp_tui.tui.widgets.timeline import Timeline

WIDE: Final = 120
"""Cells from which on the panes stand side by side; below they are tabs."""

PANES: Final = ("detail", "catalogue", "cancellations", *SHARED)
"""The panes in the order of their keys and tabs."""

LATER: Final = ("timeline", "both")
"""Panes that are made ready when they are first looked at: in most sessions they never are."""

_TABS: Final = {
    "detail": words("Detail"),
    "catalogue": words("Catalogue"),
    "cancellations": words("Cancellations"),
    "log": words("Log"),
    "wire": words("Wire"),
    "timeline": words("Timeline"),
    "both": words("Both"),
}


class Panes(Sizing):
    """The widgets of one scene. ``index`` says which requests are shown; made for the scene's book where none is given."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]
    ALLOW_IN_MAXIMIZED_VIEW = "ServerBar, KeyBar"
    AUTO_FOCUS = "RequestTable"

    def __init__(self, scene: Scene, *, index: RowIndex | None = None, ascii_only: bool = False) -> None:
        super().__init__()
        self.scene = scene
        self.ascii = ascii_only
        now = scene.now
        self.bar = ServerBar(id="server")
        self.keys = KeyBar(now=time.monotonic, id="keys")
        self.keys.offered = self.offered
        self.index = RowIndex(scene.book) if index is None else index
        self.table = RequestTable(scene.book, now=now, index=self.index, id="requests")
        self.detail = Detail(id="detail")
        self.catalogue = CatalogueList(scene.catalogue, id="catalogue")
        self.cancellations = LineList(
            scene.cancellations,
            title="Cancellations",
            newest_first=True,
            empty=f"Nothing was cancelled yet. Press {key_of('request.cancel')} on a request in flight.",
            id="cancellations",
        )
        self.log_list = LineList(scene.log, title="Log", empty="Nothing was said yet.", id="log")
        self.wire = LineList(scene.wire, title="Wire", empty="No frame yet.", id="wire")
        self.both = LineList(scene.both, title="Both", empty="Nothing was said or sent yet.", id="both")
        self.timeline = Timeline(
            scene.spans,
            shows=lambda row: self.index.line(key(row)) is not None,
            get=scene.book.get,
            now=now,
            id="timeline",
        )
        self.filter_input = Input(placeholder="state:late  name:slow  id:7  words", id="filter", compact=True)
        self.pane = "catalogue"
        self._wide: bool | None = None
        self._chosen = False
        self._look: Look | None = None
        self._tail = "log"
        self._counts: dict[str, int] = {}
        if ascii_only:
            self.add_class("-ascii")
            for canvas in (*self.panes.values(), self.bar, self.keys, self.table):
                canvas.ascii = True

    @property
    def panes(self) -> dict[str, Canvas]:
        """The widget of each pane, by its name."""
        return {
            "detail": self.detail,
            "catalogue": self.catalogue,
            "cancellations": self.cancellations,
            "log": self.log_list,
            "wire": self.wire,
            "timeline": self.timeline,
            "both": self.both,
        }

    def on_mount(self) -> None:
        self._look = getattr(getattr(self.app, "preferences", None), "look", None)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        if self._look is not None:
            self.share_out(self._look.shares)
            self.table.follow, self.table.show_own = self._look.follow, self._look.own
            if self._look.pane in PANES:
                self._chosen = True
                self.show_pane(self._look.pane)

    def on_unmount(self) -> None:
        if self._look is not None:
            self._look.shares, self._look.own = self.shares, self.table.show_own
            if self._chosen:
                self._look.pane = self.pane
            if not self._look.themed:
                self._look.theme = str(self.app.theme)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            self._look.write()

    def compose(self) -> ComposeResult:
        yield self.bar
        with Container(id="body"):
            yield self.table
            yield self.catalogue
            yield self.detail
            yield self.cancellations
            yield self.log_list
            yield self.wire
        yield self.filter_input
        yield self.keys

    def offered(self) -> list[Key]:
        """The keys that footer, palette and help name."""
        return keys()

    def forget(self) -> None:
        """Draw every pane anew."""
        raise NotImplementedError

    def action_pane(self, name: str) -> None:
        """Show and focus a pane."""
        raise NotImplementedError

    # -- where things stand ----------------------------------------------------------------------------------

    def on_resize(self, event: events.Resize) -> None:
        wide = event.size.width >= WIDE
        if wide == self._wide:
            return
        self._wide = wide
        body = self.query_one("#body")
        # The catalogue stands left of the requests, but below them where panes are tabs.
        if wide:
            body.move_child(self.catalogue, before=self.table)
        else:
            body.move_child(self.catalogue, after=self.table)
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
        if name in LATER and not self.panes[name].is_attached:
            self.query_one("#body").mount(self.panes[name])
        self._caption()
        self.forget()

    def _tab(self, name: str, active: str) -> SafeText:
        """A tab: its name, how much is in it, brackets around the one that is shown."""
        count = self._counts.get(name, 0)
        label = SafeText(f"{_TABS[name]} {count:,}") if count and name != active else _TABS[name]
        return SafeText(f"[{label}]") if name == active else label

    def _caption(self) -> None:
        for name, widget in self.panes.items():
            if isinstance(widget, LineList | Timeline):
                widget.retitle(self._title_of(name))

    def _title_of(self, name: str) -> SafeText:
        tabs = self._tabs_of(name)
        return join([self._tab(each, name) for each in tabs], "  ") if tabs else _TABS[name]

    def _tabs_of(self, name: str) -> tuple[str, ...]:
        """The panes that share the place of this one."""
        return PANES if not self.wide else SHARED if name in SHARED else ()

    def on_click(self, event: events.Click) -> None:
        """A click on a tab's name in the border of a pane."""
        widget = event.widget
        if (
            not isinstance(widget, Canvas)
            or widget not in self.panes.values()
            or event.screen_y != widget.region.y
        ):
            return
        at = event.screen_x - widget.region.x - 2
        for name in self._tabs_of(str(widget.id)):
            cells = len(self._tab(name, str(widget.id)))
            if 0 <= at < cells:
                self.action_pane(name)
                return
            at -= cells + 2
