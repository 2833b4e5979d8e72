"""The workbench: the screen of a live session, whose keys act on its server."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from mcp_tui.config.watched_files import Watched
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.screens.layout import NOT_YET
from mcp_tui.tui.screens.parts.calling import Calling
from mcp_tui.tui.screens.parts.cancelling import Cancelling, OverdueRequests
from mcp_tui.tui.screens.parts.connection_keys import ConnectionKeys
from mcp_tui.tui.screens.parts.question_prompts import QuestionPrompts
from mcp_tui.tui.screens.parts.server_menu import ServerMenu
from mcp_tui.tui.screens.parts.watch_loop import Watching
from mcp_tui.tui.screens.session_screen import SessionScreen
from mcp_tui.tui.sources.live_session import Session
from mcp_tui.view.catalogue_entries import Entry
from mcp_tui.view.keys import WORKBENCH
from mcp_tui.view.server_bar import Link
from mcp_tui.view.text import NOTHING, SafeText, words


class Workbench(SessionScreen):
    """The screen of a live session."""

    BINDINGS = bindings(WORKBENCH)

    def __init__(self, session: Session, watched: Watched | None = None) -> None:
        super().__init__(session)
        self.session = session
        self.table.server = lambda: (
            f"{session.around.server_name} {session.client.target.name} {session.name}"
        )
        self.connection = ConnectionKeys(self, session, self.table)
        self.server_menu = ServerMenu(self, session, self.connection)
        self.cancelling = Cancelling(self, session, self.table)
        self.overdue = OverdueRequests(self, session, self.table, self.cancelling)
        self.calling = Calling(self, session, self.table, self.payloads, self.copying, self.connection)
        self.questions = QuestionPrompts(self, session)
        self.watching = Watching(self, session, self.table, self.payloads, self.connection, watched)
        self.copying.other = self.watching.other
        # The keys whose action is that of a part.
        self.action_cancel_now = self.cancelling.cancel_now
        self.action_cancel_all = self.cancelling.cancel_all
        self.action_extend = self.overdue.extend
        self.action_new = self.calling.tools
        self.action_again = self.calling.again
        self.action_repeat = self.calling.repeat
        self.action_edit = self.calling.edit
        self.action_saved = self.calling.choose_saved
        self.action_answer = self.questions.answer
        self.action_pin = self.watching.pin
        self.action_server = self.server_menu.open
        self.action_sign_in = self.connection.sign_in

    def on_mount(self) -> None:
        if self.watching.watched is not None:
            self.run_worker(self.watching.run, group="watch", exit_on_error=False)

    # -- drawing ---------------------------------------------------------------------------------------------

    def before_key(self) -> None:
        # First, because it may block the keys: a key typed for a lost connection must not act.
        self.connection.show_troubles()
        super().before_key()

    def look(self, *, lists: bool = True) -> None:
        super().look(lists=lists)
        if self.is_mounted:
            self.overdue.ask_about_overdue()
            self.questions.put_new()
            self.calling.sum_up()
            self.watching.look()
            self.connection.show_troubles()

    def rests(self) -> bool:
        return self.session.link is not Link.CONNECTING and not self.session.running and super().rests()

    def drawing(self) -> None:
        session = self.session
        self.payloads.server = str(session.around.server_name)
        listed = session.link is Link.CONNECTED
        connecting = words("Connecting …") if session.link is Link.CONNECTING else words("Not connected.")
        empty = words("The server lists nothing.") if listed else connecting
        if empty != self.catalogue.empty:
            self.catalogue.empty = empty
            self.catalogue.refresh()
        if session.stale and session.link is Link.CONNECTED:
            # Cleared before they are read: lists that the server changes meanwhile are read once more.
            stale, session.stale = session.stale, set()
            self.app.run_worker(partial(session.read, stale), group="catalogue", exit_on_error=False)
        self.calling.offer()
        # Until a person chooses a pane: the catalogue, then the detail of a call or of the connection.
        shows_detail = session.link is Link.LOST or session.slow or self.scene.has_calls()
        wanted = "detail" if shows_detail else "catalogue"
        if not self.chosen and self.pane != wanted:
            self.show_pane(wanted)

    def detailed(self) -> tuple[Request | None, SafeText]:
        row, connecting = self.table.selected, self.session.link is Link.CONNECTING
        if row is None or (connecting and row.internal and row.open):
            return None, NOTHING
        return row, self.connection.advice(row)

    def idle(self) -> frozenset[str]:
        session, row = self.session, self.table.selected
        over, lost, sign_in = row is None or not row.open, session.link is Link.LOST, session.sign_in
        idle = {
            "request.cancel": over and not self._stops_connecting(),
            "request.cancel-now": over,
            "request.copy": row is None,
            "request.again": row is None or lost,
            "request.repeat": row is None or lost,
            "request.edit": row is None or lost or row.method != "tools/call",
            "request.new": lost,
            "request.cancel-all": not session.running,
            "question.answer": not session.questions,
            "server.menu": not lost,
        }
        found = {id_ for id_, is_idle in idle.items() if is_idle}
        if session.link is Link.CONNECTING:
            found |= NOT_YET
        if sign_in is not None and (sign_in.active or (lost and sign_in.required)):
            return frozenset(found - {"server.sign-in"})
        return frozenset(found | {"server.sign-in"})

    async def activate(self, entry: Entry) -> None:
        await self.calling.entry(entry)

    def follower(self) -> Callable[[str], None] | None:
        return self.connection.read if self.session.link is Link.CONNECTED else None

    # -- keys ------------------------------------------------------------------------------------------------

    async def action_cancel(self) -> None:
        """Cancels the selected request; without one, while connecting, stops connecting."""
        if self._stops_connecting():
            self.connection.stop()
        else:
            await self.cancelling.cancel()

    def _stops_connecting(self) -> bool:
        """Whether a cancel stops connecting: no request is selected that could be cancelled."""
        row = self.table.selected
        return self.session.link is Link.CONNECTING and (row is None or not row.open or row.internal)

    async def action_interrupt(self) -> None:
        """Copies the selected text; else cancels the selected request; else quits."""
        row = self.table.selected
        text = self.get_selected_text()
        if text:
            self.copying.copy_text(text, words("the text"))
        elif row is not None and row.open:
            await self.cancelling.ask_reason(row)
        else:
            await self.app.run_action("quit")

    def action_save(self) -> None:
        if self.session.link is Link.CONNECTING:
            self.refuse(words("Still connecting, nothing to write yet"))
        else:
            super().action_save()

    async def action_probe(self) -> None:
        await self.connection.probe(self.entry())
