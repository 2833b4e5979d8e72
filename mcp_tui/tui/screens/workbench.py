"""The workbench: one session, and what its keys do to it."""

from __future__ import annotations

from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.screens.asking import Asking
from mcp_tui.tui.view.catalogue import Entry
from mcp_tui.tui.view.server import Link
from mcp_tui.tui.widgets.line_list import LineList


class Workbench(Asking):
    """One session on the screen."""

    BINDINGS = bindings()

    def look(self) -> None:
        super().look()
        if self.is_mounted:
            self._overdue()
            self.ask_questions()
            self._troubles()

    def drawing(self) -> None:
        session = self.session
        if session.stale and session.link is Link.CONNECTED:
            self.reread()
        # Until a person chooses: what can be called, then what came of it, or why there is nothing to call.
        wanted = "detail" if session.link is Link.LOST or self.scene.called() else "catalogue"
        if not self._chosen and self.pane != wanted:
            self.show_pane(wanted)

    def idle(self) -> frozenset[str]:
        row = self.table.selected
        idle: set[str] = set()
        if row is None or not row.open:
            idle |= {"request.cancel", "request.cancel-now", "request.extend"}
        if row is None:
            idle |= {"request.again", "request.copy", "request.save"}
        if not self.session.questions.waiting:
            idle.add("question.answer")
        if not self.session.running:
            idle.add("request.cancel-all")
        if self.session.link is not Link.CONNECTED:
            idle.add("request.new")
        return frozenset(idle)

    async def on_line_list_activated(self, event: LineList.Activated) -> None:
        if isinstance(event.key, Entry):
            await self.call_entry(event.key)

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
