"""The connection of the workbench: the keys that open and close it, and the messages when it is lost."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Final

from textual.widgets import Input
from textual.worker import Worker

from mcp_tui.client.results import needs_handshake
from mcp_tui.client.session_store import open_store
from mcp_tui.protocol.error_codes import MISSING_CAPABILITY
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.evidence import is_disconnected
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request, State
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.sources.live_session import Session
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.view.catalogue_entries import Entry
from mcp_tui.view.keys import hint
from mcp_tui.view.server_bar import Link
from mcp_tui.view.text import NOTHING, SafeText, brief, safe, words

UNREAD: Final = "The server does not read its stdin. {server.menu} can terminate it."


@dataclass(eq=False)
class ConnectionKeys:
    """The keys of the connection, and the requests that are sent over it."""

    _screen: LayoutScreen
    _session: Session
    _table: RequestTable
    _trouble: SafeText = NOTHING

    def _run(self, work: Callable[[], Coroutine[None, None, None]]) -> Worker[None]:
        """Runs work of the connection; cancels the previous work."""
        return self._screen.run_worker(work, group="connection", exclusive=True, exit_on_error=False)

    def connect(self) -> Worker[None]:
        """Connects or reconnects. Errors are shown, not raised."""
        return self._run(self._connect)

    async def _connect(self) -> None:
        await self._session.connect()
        self._screen.look()  # shows the server's offers at once, not at the next tick

    def stop(self) -> None:
        """Cancels all requests and ends the connection."""
        self._run(self._session.stop)

    def terminate(self) -> None:
        """Ends the server without waiting for it."""
        self._run(self._session.client.terminate)

    def connected(self) -> bool:
        """Whether requests can be sent; says why if not."""
        if self._session.link is Link.CONNECTED or self._session.renewing:
            return True
        if self._session.link is Link.CONNECTING:
            self._screen.refuse(hint("Still connecting. {request.cancel} stops it."))
        else:
            self._screen.refuse(hint("Not connected. Press {server.menu} to reconnect."), "error")
        return False

    def call(self, method: str, params: dict[str, Json] | None) -> RequestId | None:
        """Sends a request and puts the cursor on it; returns ``None`` if there is no connection."""
        if not self.connected():
            return None
        id_ = self._session.call(method, params)
        self._screen.look()
        self._table.select(id_)
        self._screen.set_focus(self._table)
        # The call put the cursor there, so a cancel right after it is meant for this row.
        self._screen.app.guard.aim((type(id_), id_))
        self._screen.look()
        return id_

    def read(self, uri: str) -> None:
        """Reads a resource."""
        self.call("resources/read", {"uri": uri})

    async def sign_in(self) -> None:
        """Signs in, if the server requires it; connects if there is no connection."""
        # Imported when first opened: forms take time to load.
        from mcp_tui.tui.screens.sign_in_dialog import SignInScreen

        sign_in = self._session.sign_in
        if sign_in is None:
            self._screen.refuse(words("No sign-in here: the server gets its credentials from you (-H, -e)."))
            return
        if not sign_in.active:
            if self._session.link is not Link.LOST:
                self._screen.refuse(words("The server does not ask for a sign-in."))
                return
            self.connect()
        sign_in.agree()
        await self._screen.ask(SignInScreen(sign_in, self._session.name))

    async def probe(self, entry: Entry | None) -> None:
        """Opens the probe on this server, for the tool under the cursor of the catalogue if there is one."""
        # Imported when first opened: the probe takes time to load.
        from mcp_tui.probe.run import OnProgress, Probe
        from mcp_tui.probe.tool_choice import NamedTool, Unsuitable, candidates
        from mcp_tui.tui.screens.probe_screen import ProbeScreen

        client = self._session.client
        journal = bool(client.store.writers)
        wish = NamedTool(entry.name if entry is not None and entry.kind == "tools" else "")
        catalogue = self._session.catalogue
        tools, problem = catalogue.entries.get("tools"), catalogue.problems.get("tools")
        if problem:
            self._screen.refuse(safe("{}. The probe needs the list of tools.", problem), "error")
            return
        try:
            choices = None if tools is None else candidates([each.raw for each in tools], wish)
        except Unsuitable as error:
            self._screen.refuse(safe("{}. mcp-tui probe --tool takes arguments.", brief(str(error), 200)))
            return

        def made(on_progress: OnProgress) -> Probe:
            return Probe(
                client.target,
                client.settings,
                wish=wish,
                store=lambda _: open_store(client.target, journal=journal, purpose="probe"),
                on_progress=on_progress,
                tokens=client.tokens,
            )

        await self._screen.ask(ProbeScreen(made, choices))

    # -- messages ----------------------------------------------------------------------------------------------

    def advice(self, row: Request) -> SafeText:
        """Returns advice about a request, beyond the keys at the bottom; empty if there is none."""
        session = self._session
        if any(each is row for each in session.unwritten):
            return hint(UNREAD)
        gone = session.link is Link.LOST
        start = hint("{server.menu} reconnects")
        if row.code == MISSING_CAPABILITY and session.settings.sampling.mode == "off":
            return hint("Sampling is off. {server.menu} turns it on.")
        if needs_handshake(row, session.client.revision):
            return hint(
                "This tool needs an older protocol version. {server.menu} reconnects with 2025-11-25."
            )
        if row.state is State.LOST and not row.internal:
            retry = hint("{request.again} repeats the request")
            return safe("{}; then {}", start, retry) if gone else safe("{} (never automatic)", retry)
        return start if gone and (row.state is State.LOST or is_disconnected(row)) else words("")

    def show_troubles(self) -> None:
        """Says once that the server does not read, or which key helps after a lost connection; the bar has the reason.

        A toast reports processes that the server left running.
        """
        trouble, session = words(""), self._session
        if session.left_running:
            self._screen.app.notify(session.named(session.left_running), severity="warning", markup=False)
            session.left_running = words("")
        if session.unwritten:
            trouble = hint(UNREAD)
        elif session.broke:
            trouble = hint("Press {server.menu} to reconnect.")
        if trouble == self._trouble:
            return
        self._trouble = trouble
        if not trouble:
            self._screen.keys.hush()
        else:
            if session.unwritten or session.has_calls():  # the empty table also says it
                self._screen.show_message(trouble, "error", seconds=15)
            if session.broke and self._screen.on_top and not isinstance(self._screen.focused, Input):
                self._screen.app.guard.block(trouble)

    # -- tasks and notifications -------------------------------------------------------------------------------

    def stop_waiting(self, id: RequestId) -> None:
        """Stops watching a task, which keeps running."""
        if self._session.client.stop_waiting(id):
            self._screen.show_message(
                safe("Stopped waiting for {}; its task keeps running on the server", id)
            )
        self._screen.look()

    def subscribe(self, uri: str, *, wanted: bool) -> None:
        """Subscribes to the changes of a resource, or unsubscribes."""
        subscriptions = self._session.client.subscriptions
        id_ = subscriptions.subscribe(uri) if wanted else subscriptions.unsubscribe(uri)
        word = words("subscribed to") if wanted else words("unsubscribed from")
        by = words("") if id_ is None else safe(" by request {}", id_)
        self._screen.show_message(safe("{} {}{}", word, brief(uri, 80), by), "muted")
        self._screen.look()

    def set_log_level(self, level: str) -> None:
        """Sets the log level of the server."""
        self._session.client.set_log_level(level)
        self._screen.show_message(safe("Log level set to {}", level), "muted")
        self._screen.look()
