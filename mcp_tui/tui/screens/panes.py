"""What stands on the screen of a session or a recording: the requests, and the panes around or below them."""

from __future__ import annotations

from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Input

from mcp_tui.tui.keys.now import key_of
from mcp_tui.tui.look import Look
from mcp_tui.tui.scene import Scene
from mcp_tui.tui.screens.places import PANES, Places
from mcp_tui.tui.view.index import RowIndex, key
from mcp_tui.tui.widgets.canvas import Canvas
from mcp_tui.tui.widgets.detail import Detail
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.tui.widgets.timeline import Timeline

LATER: Final = "timeline"
"""The pane that is made ready when it is first looked at: in most sessions it never is."""


class Panes(Places):
    """The widgets of one scene. ``index`` says which requests are shown; made for the scene's book where none is given."""

    ALLOW_IN_MAXIMIZED_VIEW = "ServerBar, KeyBar"
    AUTO_FOCUS = "RequestTable"

    def __init__(self, scene: Scene, *, index: RowIndex | None = None, ascii_only: bool = False) -> None:
        super().__init__(ascii_only=ascii_only)
        self.scene = scene
        now = scene.now
        self.index = RowIndex(scene.book) if index is None else index
        self.table = RequestTable(scene.book, now=now, index=self.index, id="requests")
        self.detail = Detail(id="detail")
        self.catalogue = LineList(
            scene.catalogue,
            title="Catalogue",
            from_top=True,
            count=lambda: scene.catalogue.count,
            empty="Nothing here until a server is connected.",
            id="catalogue",
        )
        self.cancellations = LineList(
            scene.cancellations,
            title="Cancellations",
            newest_first=True,
            empty=f"Nothing was cancelled yet. Press {key_of('request.cancel')} on a request in flight.",
            id="cancellations",
        )
        self.log_list = LineList(scene.log, title="Log", empty="Nothing was said yet.", id="log")
        self.wire = LineList(scene.wire, title="Wire", empty="No frame yet.", id="wire")
        self.timeline = Timeline(
            scene.spans,
            shows=lambda row: self.index.line(key(row)) is not None,
            get=scene.book.get,
            now=now,
            id="timeline",
        )
        self.filter_input = Input(placeholder="state:late  name:slow  id:7  words", id="filter", compact=True)
        self._chosen = False
        self._look: Look | None = None
        self.draw_plainly(self.table)

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
        }

    def on_mount(self) -> None:
        self._look = getattr(getattr(self.app, "preferences", None), "look", None)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        if self._look is not None:
            self.share_out(self._look.shares)
            self.table.follow, self.table.show_internal = self._look.follow, self._look.internal
            if self._look.pane in PANES:
                self._chosen = True
                self.show_pane(self._look.pane)

    def on_unmount(self) -> None:
        if self._look is not None:
            self._look.shares, self._look.internal = self.shares, self.table.show_internal
            if self._chosen:
                self._look.pane = self.pane
            if not self._look.themed:
                self._look.theme = str(self.app.theme)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            self._look.write()

    def compose(self) -> ComposeResult:
        self.place(self.app.size.width)  # pyright: ignore[reportUnknownMemberType]
        yield self.bar
        with Container(id="body"):
            yield from (self.catalogue, self.table) if self.wide else (self.table, self.catalogue)
            yield self.detail
            yield self.cancellations
            yield self.log_list
            yield self.wire
        yield self.filter_input
        yield self.keys

    def forget(self) -> None:
        """Draw every pane anew."""
        raise NotImplementedError

    def action_pane(self, name: str) -> None:
        """Show and focus a pane."""
        raise NotImplementedError

    def show_pane(self, name: str) -> None:
        super().show_pane(name)
        if name == LATER and not self.panes[name].is_attached:
            self.body.mount(self.panes[name])
        self.forget()

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
