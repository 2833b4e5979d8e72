"""What the keys of the workbench do to requests and to the connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.worker import Worker

from mcp_tui.client.client import DEFAULT_REASON
from mcp_tui.client.settings import StdioTarget
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.ledger import CancelOutcome
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.revisions import UNCANCELLABLE
from mcp_tui.tui.keys.now import hint
from mcp_tui.tui.scene import Live
from mcp_tui.tui.screens.calling import Calling
from mcp_tui.tui.screens.marking import Marking
from mcp_tui.tui.session import Session
from mcp_tui.tui.view.badges import badge
from mcp_tui.tui.view.catalogue import Entry
from mcp_tui.tui.view.listing import listed, plural
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.server import Link
from mcp_tui.tui.view.text import SafeText, words

if TYPE_CHECKING:
    from mcp_tui.tui.screens.timeout import Choice

MORE = 30.0
"""Seconds that `+` and *wait 30 s more* give."""

RECENT = 20
"""Reasons that are offered again."""


class Acting(Marking):
    """The half of the workbench that acts. A request is always named by its id, never by its place."""

    def __init__(self, session: Session, *, ascii_only: bool = False) -> None:
        super().__init__(Live(session), ascii_only=ascii_only)
        self.session = session
        self.table.server = lambda: f"{session.around.whose} {session.client.target.name} {session.name}"
        self.calling = Calling(self)
        self.reasons: list[str] = []
        self._asked: set[tuple[RequestId, float | None]] = set()
        self._warned: set[RequestId] = set()
        self._trouble = words("")

    # -- cancelling ------------------------------------------------------------------------------------------

    def _aimed(self) -> Request | None:
        """The selected request if it can be cancelled; says why where not."""
        row = self.table.selected
        if row is None:
            self.keys.tell(words("no request is selected"))
            return None
        if row.open:
            return row
        about = request(row)
        if row.state is State.CANCEL_REQUESTED:
            said = SafeText(f"{row.id} {about}: its cancel is requested already")
        else:
            said = SafeText(f"{row.id} {about} is already {badge(row).word}: nothing to cancel")
        self.keys.tell(said)
        return None

    async def action_cancel(self) -> None:
        """Ask for a reason, then cancel the selected request, or the marked ones."""
        if self.table.marks:
            await self._cancel_marked()
            return
        row = self._aimed()
        if row is not None:
            await self.ask_reason(row)

    async def ask_reason(self, row: Request) -> None:
        """Open the reason prompt of one request."""
        from mcp_tui.tui.screens.reason import ReasonScreen

        client = self.session.client

        def given(reason: str | None) -> None:
            self.remember(screen.unsent)
            if reason is None:
                return
            text = reason.strip()
            self.cancel_id(row.id, text or DEFAULT_REASON)

        screen = ReasonScreen(row, way=client.cancellation(row), now=client.now, recent=self.reasons)
        await self.ask(screen, given)

    async def action_cancel_now(self) -> None:
        """Cancel the selected request with the default reason. A row out of sight is brought into sight first."""
        if self.table.marks:
            await self._cancel_marked(now=True)
            return
        row = self._aimed()
        if row is None:
            return
        if not self.table.in_sight:
            self.table.select(row.id)
            again = hint("press {request.cancel-now} again to cancel it")
            self.keys.tell(SafeText(f"{row.id} was out of sight: {again}"))
            return
        self.cancel_id(row.id, DEFAULT_REASON)

    def cancel_id(self, id: RequestId, reason: str, cause: Cause = Cause.USER) -> None:
        """Cancel one request by its id, and say where that came to nothing."""
        outcome = self.session.client.cancel(id, cause, reason)
        row = self.session.client.book.get(id)
        match outcome:
            case CancelOutcome.ALREADY_DONE if row is not None:
                self.keys.tell(SafeText(f"{id} is already {badge(row).word}: nothing was sent"))
            case CancelOutcome.ALREADY_REQUESTED:
                self.keys.tell(SafeText(f"{id}: its cancel is requested already"))
            case CancelOutcome.REFUSED if row is not None and row.method not in UNCANCELLABLE:
                said = hint("this server cannot cancel tasks; {app.palette} stops waiting for it")
                self.keys.tell(SafeText(f"{id}: {said}"))
            case CancelOutcome.REFUSED:
                said = hint("initialize cannot be cancelled; press {server.menu} to stop the server")
                self.keys.tell(SafeText(f"{id}: {said}"))
            case CancelOutcome.HELD:
                self.keys.tell(SafeText(f"{id}: its cancel waits for the id of the task"))
            case CancelOutcome.ABANDONED:
                self.keys.tell(SafeText(f"{id} is given up: the server had answered and waited for input"))
            case CancelOutcome.UNSENT:
                self.keys.tell(SafeText(f"{id} was cancelled before it was sent: the server never saw it"))
            case _:
                pass
        self.look()

    async def _cancel_marked(self, *, now: bool = False) -> None:
        """Cancel the marked requests for one reason, confirmed once; ``now`` for the default reason."""
        from mcp_tui.tui.screens.confirm import ConfirmScreen
        from mcp_tui.tui.screens.marked import MarkedScreen

        rows = [row for row in self.table.marked_rows if row.open and row.method not in UNCANCELLABLE]
        if not rows:
            self.keys.tell(hint("nothing that is marked here can be cancelled; {app.back} clears the marks"))
            return

        def given(reason: str | None) -> None:
            if reason is None:
                return
            self.remember(reason)
            ids = [row.id for row in rows if row.open]
            self.table.unmark()
            cancelling = self.session.client.cancel_all(Cause.USER, reason, ids)
            self.host.run_worker(cancelling, group="cancelling")

        if now:
            title = SafeText(f"Cancel {plural(len(rows))} that are marked?")
            screen = ConfirmScreen(title, listed(rows), yes="cancel them", no="keep waiting")
            await self.ask(screen, lambda yes: given(DEFAULT_REASON if yes else None))
        else:
            prompt = MarkedScreen(rows, recent=self.reasons)

            def answered(reason: str | None) -> None:
                self.remember(prompt.unsent)
                given(reason)

            await self.ask(prompt, answered)

    def remember(self, reason: str) -> None:
        """Offer a reason again, the latest first."""
        if reason and reason != DEFAULT_REASON:
            self.reasons = [reason, *(each for each in self.reasons if each != reason)][:RECENT]

    async def action_cancel_all(self) -> None:
        """Cancel everything in flight, asked once."""
        from mcp_tui.tui.screens.confirm import ConfirmScreen

        rows = self._cancellable()
        if not rows:
            self.keys.tell(words("nothing is in flight"))
            return

        def answered(yes: bool | None) -> None:
            if yes:
                ids = [row.id for row in self._cancellable()]
                cancelling = self.session.client.cancel_all(Cause.USER, DEFAULT_REASON, ids)
                self.host.run_worker(cancelling, group="cancelling")

        title = SafeText(f"Cancel {plural(len(rows))} in flight?")
        await self.ask(ConfirmScreen(title, listed(rows), yes="cancel all", no="keep waiting"), answered)

    def _cancellable(self) -> list[Request]:
        return [row for row in self.session.running if row.method != "initialize"]

    async def action_interrupt(self) -> None:
        """ctrl+c: copy the selected text; else cancel the selected request in flight; else quit."""
        row = self.table.selected
        text = self.get_selected_text()
        if text:
            self.copy_text(text, words("the text"))
        elif row is not None and row.open:
            await self.ask_reason(row)
        else:
            await self.host.run_action("quit")

    # -- limits ----------------------------------------------------------------------------------------------

    def action_extend(self) -> None:
        """30 seconds more for the selected request."""
        row = self.table.selected
        if row is not None and self.session.client.extend(row.id, MORE):
            self.keys.tell(SafeText(f"{row.id} has 30 s more"), "muted", seconds=3)
        else:
            self.keys.tell(words("only a request in flight can be given more time"))
        self.look()

    def _overdue(self) -> None:
        """Ask about what is overdue, once for all of it, and not over what is being typed."""
        new = [
            row
            for row in self.session.running
            if row.overdue_until is not None and (row.id, row.overdue_until) not in self._asked
        ]
        if not new:
            return
        from mcp_tui.tui.screens.timeout import TimeoutScreen

        if any(isinstance(screen, TimeoutScreen) for screen in self.host.screen_stack):
            return  # it shows what is new by itself
        if self.host.screen is not self:
            # What is being typed comes first; it is said once, and asked when that is over.
            for row in new:
                if row.id not in self._warned:
                    self._warned.add(row.id)
                    said = SafeText(f"{row.id} {request(row)} is overdue and will be cancelled by itself")
                    self.host.notify(self.session.named(said), severity="warning", markup=False)
            return
        self._asked.update((row.id, row.overdue_until) for row in new)
        client = self.session.client
        why = client.cancellation(new[0]).why
        screen = TimeoutScreen(client.book, now=client.now, on_choice=self._on_timeout, why=why)
        self.host.push_screen(screen, lambda _: self.remember(screen.unsent))

    def _on_timeout(self, choice: Choice, ids: list[RequestId], reason: str) -> None:
        from mcp_tui.tui.screens.timeout import Choice

        for id_ in ids:
            match choice:
                case Choice.CANCEL_NOW:
                    self.session.client.cancel(id_, Cause.TIMEOUT, reason)
                case Choice.WAIT_30:
                    self.session.client.extend(id_, MORE)
                case Choice.WAIT_FOREVER:
                    self.session.client.extend(id_, None)
        self.look()

    # -- calling ---------------------------------------------------------------------------------------------

    async def action_new(self) -> None:
        """Open the list of what can be called."""
        if self._connected():
            await self._open_call("")

    def _connected(self) -> bool:
        if self.session.link is Link.CONNECTED or self.session.renewing:
            return True
        if self.session.link is Link.CONNECTING:
            self.keys.tell(hint("the server is not connected yet: {request.cancel} stops connecting"))
        else:
            self.keys.tell(hint("no server is connected: press {server.menu}"), "error")
        return False

    async def _open_call(self, name: str, *, task: bool = False) -> None:
        await self.calling.tools(name, task=task)

    async def call_entry(self, entry: Entry) -> None:
        """Call what stands in the catalogue: a tool, a prompt or a template by its form, a resource at once."""
        if self._connected():
            await self.calling.entry(entry)

    @property
    def follows(self) -> bool:
        return self.session.link is Link.CONNECTED

    def follow(self, uri: str | None) -> None:
        if uri is not None:
            self.call("resources/read", {"uri": uri})

    def call(self, method: str, params: dict[str, Json] | None) -> None:
        """Send a request and put the cursor on it."""
        if not self._connected():
            return
        id_ = self.session.call(method, params)
        self.look()
        self.table.select(id_)
        self.set_focus(self.table)
        self.look()

    def action_again(self) -> None:
        """The selected request again, or the marked ones, each with a new id."""
        rows = self.acted_on()
        if not rows:
            self.keys.tell(words("no request is selected"))
        for row in rows[::-1]:
            asked = self.payloads.request(row)
            if asked is None:
                self.keys.tell(SafeText(f"what {row.id} sent is not kept any more"))
            elif row.internal:
                self.keys.tell(SafeText(f"{row.id} was made by mcp-tui itself"))
            else:
                self.call(asked[0], asked[1] or None)
        self.table.unmark()

    # -- the server ------------------------------------------------------------------------------------------

    async def action_server(self) -> None:
        """Reconnect or stop, asked by a menu."""
        from mcp_tui.tui.screens.menu import MenuScreen

        running = len([row for row in self.session.running if not row.internal])
        note = SafeText(f"{plural(running)} in flight: cancelled first") if running else words("")
        choices = [("reconnect", self._again())]
        if self.session.link is not Link.LOST:
            choices.append(("stop", words("Stop")))
        if unwritten := len(self.session.unwritten):
            choices.insert(0, ("terminate", words("Terminate the server: SIGTERM, then SIGKILL")))
            cancels = "1 cancel is" if unwritten == 1 else f"{unwritten:,} cancels are"
            note = SafeText(f"It does not read its stdin: {cancels} not written")

        def chosen(key: str | None) -> None:
            ways = {"stop": self.session.stop, "terminate": self.session.terminate}
            if key == "reconnect":
                self.connect()
            elif key is not None:
                self.run_worker(ways[key](), group="connection", exclusive=True, exit_on_error=False)

        await self.ask(MenuScreen(SafeText(f"Server {self.session.name}"), choices, note), chosen)

    @property
    def _started(self) -> bool:
        """Whether the server is a process that is started here."""
        return isinstance(self.session.client.target, StdioTarget)

    def _again(self) -> SafeText:
        if self.session.link is Link.CONNECTED:
            return words("Reconnect")
        return words("Start the server") if self._started else words("Connect")

    def advice(self, row: Request) -> SafeText:
        if any(each is row for each in self.session.unwritten):
            return hint("the server does not read its stdin: {server.menu} offers to terminate it")
        gone = self.session.link is Link.LOST
        start = hint(
            "{server.menu} starts the server again" if self._started else "{server.menu} connects again"
        )
        if row.state is State.LOST and not row.internal:
            retry = hint("{request.again} asks again, under a new id")
            return (
                SafeText(f"{start}; then {retry}")
                if gone
                else SafeText(f"{retry}; nothing does so by itself")
            )
        ended = gone and bool(row.settled) and row.settled == self.session.client.last_words
        return start if ended else words("")

    def _troubles(self) -> None:
        """Say once that the server does not read any more, and once that it is gone, with the key that helps."""
        trouble = words("")
        if self.session.unwritten:
            trouble = hint(
                "the server does not read its stdin, a cancel is not written: {server.menu} terminates it"
            )
        elif self.session.broke:
            again = hint(
                "press {server.menu} to start it again"
                if self._started
                else "press {server.menu} to connect again"
            )
            trouble = SafeText(f"{again}: {self.session.trouble}")
        if trouble != self._trouble:
            self._trouble = trouble
            if trouble:
                self.keys.tell(trouble, "error", seconds=15)

    def connect(self) -> Worker[None]:
        """Connect, or connect anew. What goes wrong is shown; nothing is raised."""
        return self.run_worker(
            self.session.connect(), group="connection", exclusive=True, exit_on_error=False
        )

    def reread(self) -> None:
        """Read the lists again that the server said have changed."""
        stale, self.session.stale = self.session.stale, set()
        self.host.run_worker(self.session.read(stale), group="catalogue", exit_on_error=False)
