"""The workbench: requests, panes around them, and one timer that looks at what happened."""

from __future__ import annotations

from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Container
from textual.widgets import Input

from mcp_tui.protocol.events import RequestId
from mcp_tui.tui.bindings import TYPED, bindings
from mcp_tui.tui.payloads import Payloads
from mcp_tui.tui.screens.acting import Acting
from mcp_tui.tui.session import Session
from mcp_tui.tui.view import detail
from mcp_tui.tui.view.catalogue import Entry
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.server import Link
from mcp_tui.tui.view.text import SafeText, brief, join, words
from mcp_tui.tui.widgets.canvas import Canvas
from mcp_tui.tui.widgets.catalogue_list import CatalogueList
from mcp_tui.tui.widgets.detail import Detail
from mcp_tui.tui.widgets.key_bar import KeyBar
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.tui.widgets.request_table import YOUNG, RequestTable
from mcp_tui.tui.widgets.server_bar import ServerBar

WIDE: Final = 120
"""Cells from which on the panes stand side by side; below they are tabs."""

TICK: Final = 0.1
"""Seconds between two looks at what happened."""

PANES: Final = ("detail", "catalogue", "cancellations", "log", "wire")
"""The panes in the order of their keys and tabs."""

SHARED: Final = ("log", "wire")
"""The panes that share one place where the others stand side by side."""

_TABS: Final = {
    "detail": words("Detail"),
    "catalogue": words("Catalogue"),
    "cancellations": words("Cancellations"),
    "log": words("Log"),
    "wire": words("Wire"),
}


class Workbench(Acting):
    """One session on the screen."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE, "-wide")]
    ALLOW_IN_MAXIMIZED_VIEW = "ServerBar, KeyBar"
    AUTO_FOCUS = "RequestTable"
    BINDINGS = bindings()

    def __init__(self, session: Session, *, ascii_only: bool = False) -> None:
        super().__init__(session)
        self.ascii = ascii_only
        now = session.client.now
        self.bar = ServerBar(id="server")
        self.keys = KeyBar(now=now, id="keys")
        self.table = RequestTable(session.client.book, now=now, id="requests")
        self.detail = Detail(id="detail")
        self.catalogue = CatalogueList(session.catalogue, id="catalogue")
        self.cancellations = LineList(
            session.cancellations,
            title="Cancellations",
            newest_first=True,
            empty="Nothing was cancelled yet. Press c on a request in flight.",
            id="cancellations",
        )
        self.log_list = LineList(session.log, title="Log", empty="Nothing was said yet.", id="log")
        self.wire = LineList(session.wire, title="Wire", empty="No frame yet.", id="wire")
        self.filter_input = Input(placeholder="state:late  name:slow  id:7  words", id="filter", compact=True)
        self.pane = "catalogue"
        self.payloads = Payloads(session.client)
        self._chosen = False
        self._wide: bool | None = None
        self._tail = "log"
        self._seen: tuple[object, ...] = ()
        self._counts: dict[str, int] = {}
        self._ticks = 0
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
        }

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

    def on_mount(self) -> None:
        self.filter_input.display = False
        self.show_pane(self.pane)
        self.set_interval(TICK, self.look)
        self.look()

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
        self._seen = ()
        self.look()

    def _tab(self, name: str, active: str) -> SafeText:
        """A tab: its name, how much is in it, brackets around the one that is shown."""
        count = self._counts.get(name, 0)
        label = SafeText(f"{_TABS[name]} {count:,}") if count and name != active else _TABS[name]
        return SafeText(f"[{label}]") if name == active else label

    def _caption(self) -> None:
        for name, widget in self.panes.items():
            if isinstance(widget, LineList):
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

    # -- looking at what happened ----------------------------------------------------------------------------

    def look(self) -> None:
        """Draw what changed since the last look; nothing where nothing did."""
        if not self.is_mounted or not self.table.is_mounted:
            return
        session, client = self.session, self.session.client
        now = client.now()
        self._ticks += 1
        self.keys.show(self._idle())
        self.table.refresh_rows()
        if self.table.selected is None and not self.table.filter and self.table.shown:
            self.table.action_newest()
        seen = (
            client.book.version,
            client.store.version,
            session.version,
            session.catalogue.version,
            self.pane,
            self.table.selected and self.table.selected.id,
        )
        if seen != self._seen:
            self._seen = seen
            self._draw(now)
        elif self._ticks % (1 if self._young(now) else 10) == 0:
            self._show_detail(now)
            if session.since is not None:
                self.bar.show(session.facts(now))
        self._overdue()

    def _draw(self, now: float) -> None:
        session = self.session
        self.bar.show(session.facts(now))
        self.table.empty = self._words_for_none()
        if session.stale and session.link is Link.CONNECTED:
            self.reread()
        # Until a person chooses: what can be called, then what came of it, or why there is nothing to call.
        wanted = "detail" if session.link is Link.LOST or self._first_call() else "catalogue"
        if not self._chosen and self.pane != wanted:
            self.show_pane(wanted)
        self._recount()
        for pane in (self.catalogue, self.cancellations, self.log_list, self.wire):
            if pane.display:
                pane.refresh_source()
        self._show_detail(now)
        for problem in session.client.store.problems[self._told :]:
            self._told += 1
            self.keys.tell(brief(problem, 400), "error")

    _told = 0

    def _recount(self) -> None:
        """Say in the tabs how much there is."""
        counts = {"catalogue": self.session.catalogue.count, "cancellations": self.session.cancellations.end}
        if counts != self._counts:
            self._counts = counts
            self._caption()

    def _young(self, now: float) -> bool:
        row = self.table.selected
        return row is not None and row.open and row.elapsed(now) < YOUNG

    def _first_call(self) -> bool:
        return any(not row.own for row in self.session.client.book.order)

    def _words_for_none(self) -> SafeText:
        match self.session.link:
            case Link.CONNECTING:
                return SafeText(f"Connecting to {self.session.name} …")
            case Link.CONNECTED:
                return words("No requests yet. Press n to call a tool.")
            case Link.LOST:
                said = self.session.trouble
                return SafeText(f"Not connected: {said}. Press S to connect again.")

    def _show_detail(self, now: float) -> None:
        if not self.detail.display:
            return
        row = self.table.selected
        if row is None:
            self.detail.empty = words("Nothing selected.")
            title = words("Detail") if self.wide else self._title_of("detail")
            self.detail.show(title, self._about_connection())
            return
        payloads, command = self.payloads.of(row)
        title = (
            SafeText(f"{row.id} {brief(row.name) or request(row)}") if self.wide else self._title_of("detail")
        )
        shown = detail.sections(row, now, payloads, command=command)
        self.detail.show(title, shown, key=(type(row.id), row.id))

    def _about_connection(self) -> list[detail.Section]:
        from mcp_tui.tui.view.connection import about

        return about(self.session.client.info, self.session.trouble)

    def _idle(self) -> frozenset[str]:
        """Keys that would do nothing now."""
        row = self.table.selected
        idle: set[str] = set()
        if row is None or not row.open:
            idle |= {"request.cancel", "request.cancel-now", "request.extend"}
        if row is None:
            idle |= {"request.again", "request.copy", "request.save"}
        if not self.session.running:
            idle.add("request.cancel-all")
        if self.session.link is not Link.CONNECTED:
            idle.add("request.new")
        return frozenset(idle)

    # -- keys of the view ------------------------------------------------------------------------------------

    def action_pane(self, name: str) -> None:
        """Show and focus a pane; the key of the focused one leads back to the requests."""
        self._chosen = True
        if self.focused is self.panes[name]:
            self.table.focus()
            return
        self.show_pane(name)
        self.panes[name].focus()

    def action_zoom(self) -> None:
        """The focused widget alone, and back."""
        if self.maximized is not None:
            self.minimize()
        elif self.focused is not None:
            self.maximize(self.focused)

    def action_follow(self) -> None:
        """Keep the newest in sight, or not: of the focused list, else of the table."""
        focused = self.focused
        target = focused if isinstance(focused, LineList) and focused is not self.catalogue else self.table
        target.follow = not target.follow
        self.keys.tell(
            words("following the newest") if target.follow else words("not following"), "muted", seconds=2
        )

    def action_newest(self) -> None:
        self.table.action_newest()

    def action_oldest(self) -> None:
        self.table.action_oldest()

    def action_own(self) -> None:
        """Show the client's own requests too, or not."""
        self.table.show_own = not self.table.show_own
        shown = words("own requests are shown") if self.table.show_own else words("own requests are hidden")
        self.keys.tell(shown, "muted", seconds=2)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While the filter is typed, letters are letters."""
        return not (self.filter_input.has_focus and action in TYPED)

    def action_filter(self) -> None:
        """Open the line of the filter."""
        self.filter_input.display = True
        self.filter_input.value = self.table.filter
        self.set_focus(self.filter_input)

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input is self.filter_input:
            self.table.filter = event.value
            self._seen = ()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input is self.filter_input:
            self.filter_input.display = bool(event.value)
            self.table.focus()

    def action_back(self) -> None:
        """Close what was opened last; never the app."""
        if self.filter_input.has_focus or (self.table.filter and self.focused is self.table):
            self.filter_input.value = ""
            self.table.filter = ""
            self.filter_input.display = False
            self.table.focus()
        elif self.maximized is not None:
            self.minimize()
        elif self.selections:
            self.clear_selection()
        elif self.focused is not self.table:
            self.table.focus()

    def on_request_table_selected(self, event: RequestTable.Selected) -> None:
        self.look()

    def on_request_table_activated(self, event: RequestTable.Activated) -> None:
        self.action_pane("detail")

    async def on_line_list_activated(self, event: LineList.Activated) -> None:
        if isinstance(event.key, Entry):
            await self.call_entry(event.key)
        elif event.lines is self.cancellations and isinstance(event.key, (int, str)):
            self.go_to(event.key)
        elif event.lines is self.wire and isinstance(event.key, int):
            self.go_to_frame(event.key)

    def go_to(self, id: RequestId) -> None:
        """Put the cursor on a request and show its detail."""
        if not self.table.select(id) and self.table.filter:
            self.filter_input.value = self.table.filter = ""
            self.filter_input.display = False
        if self.table.select(id):
            self.show_pane("detail")
            self.table.focus()

    def on_key_bar_pressed(self, event: KeyBar.Pressed) -> None:
        self.run_worker(self.run_action(event.key.action), exit_on_error=True)
