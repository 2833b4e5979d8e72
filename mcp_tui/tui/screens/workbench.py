"""The workbench: one session, and what its keys do to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mcp_tui.protocol.requests import Request
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.now import hint
from mcp_tui.tui.keys.workbench import WORKBENCH
from mcp_tui.tui.screens.asking import Asking
from mcp_tui.tui.servers import Server
from mcp_tui.tui.view.catalogue import Entry
from mcp_tui.tui.view.server import Link
from mcp_tui.tui.widgets.line_list import LineList

if TYPE_CHECKING:
    from mcp_tui.tui.app import WorkbenchApp


class Workbench(Asking):
    """One session on the screen."""

    SCOPES = (WORKBENCH,)
    BINDINGS = bindings(*SCOPES)

    def look(self) -> None:
        super().look()
        if self.is_mounted:
            self._overdue()
            self.ask_questions()
            self._troubles()

    def drawing(self) -> None:
        session = self.session
        self.payloads.server = str(session.around.whose)
        if session.stale and session.link is Link.CONNECTED:
            self.reread()
        # Until a person chooses: what can be called, then what came of it, or why there is nothing to call.
        told = session.link is Link.LOST or session.slow or self.scene.called()
        wanted = "detail" if told else "catalogue"
        if not self._chosen and self.pane != wanted:
            self.show_pane(wanted)

    def idle(self) -> frozenset[str]:
        row = self.table.selected
        idle: set[str] = set()
        if row is None or not row.open:
            idle |= {"request.cancel", "request.cancel-now", "request.extend"}
            if self._stops_connecting():
                idle.remove("request.cancel")
        if row is None:
            idle |= {"request.again", "request.copy", "request.save"}
        if not self.session.questions.waiting:
            idle.add("question.answer")
        if not self.session.running:
            idle.add("request.cancel-all")
        if self.session.link is not Link.CONNECTED:
            idle.add("request.new")
        if self.session.around.of < 2:
            idle.add("server.next")
        return frozenset(idle)

    async def on_line_list_activated(self, event: LineList.Activated) -> None:
        if isinstance(event.key, Entry):
            await self.call_entry(event.key)

    async def action_cancel(self) -> None:
        """Cancel the selected request in flight; while there is none and a connection is being made, stop that."""
        if self._stops_connecting():
            self.run_worker(self.session.stop(), group="connection", exclusive=True, exit_on_error=False)
            return
        await super().action_cancel()

    def _stops_connecting(self) -> bool:
        """Whether cancelling means the connection: one is being made, and nothing is selected that could be cancelled."""
        row = self.table.selected
        return self.session.link is Link.CONNECTING and (row is None or not row.open or row.internal)

    def detailed(self) -> Request | None:
        row = super().detailed()
        connecting = self.session.link is Link.CONNECTING
        return None if connecting and row is not None and row.internal and row.open else row

    async def action_servers(self) -> None:
        """Open the list of servers."""
        from mcp_tui.tui.screens.servers import Chosen, Do, ServersScreen

        app = self._servers_app()

        def chosen(what: Chosen | None) -> None:
            match what:
                case Chosen(do=Do.ADD):
                    app.pick()
                case Chosen(do=Do.SHOW, server=Server() as server):
                    app.show(server)
                case Chosen(do=Do.CLOSE, server=Server() as server):
                    app.close_server(server)
                case Chosen(do=Do.MENU, server=Server() as server):
                    app.show(server)
                    server.bench.run_worker(server.bench.action_server(), exit_on_error=True)
                case _:
                    pass

        await self.ask(ServersScreen(app.servers), chosen)

    def action_next_server(self) -> None:
        """Go to the next of several servers."""
        app = self._servers_app()
        if len(app.servers.all) > 1:
            app.show_next(1)
        else:
            self.keys.tell(hint("there is no other server: {server.list} adds one"))

    def _servers_app(self) -> WorkbenchApp:
        return cast("WorkbenchApp", self.host)

    async def action_probe(self) -> None:
        """Open the probe on this server, for the tool under the catalogue's cursor where that has the focus."""
        from mcp_tui.client.opening import open_store
        from mcp_tui.tui.screens.probe import ProbeScreen

        client = self.session.client
        line = self.catalogue.selected if self.catalogue.has_focus else None
        entry = None if line is None else line.key
        tool = entry.name if isinstance(entry, Entry) and entry.kind == "tools" else ""
        journal = bool(client.store.writers)
        screen = ProbeScreen(
            client.target,
            client.settings,
            store=lambda: open_store(client.target, journal=journal),
            tool=tool,
            ascii_only=self.ascii,
        )
        await self.ask(screen)
