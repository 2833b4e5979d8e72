"""The keys that cancel requests in flight, here or in a session of another process; and requests near their timeout."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, LiteralString

from mcp_tui.client.client import CANCEL_BATCH, DEFAULT_REASON
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.ledger import CancelOutcome
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.revisions import UNCANCELLABLE
from mcp_tui.tui.preferences import MORE_SECONDS
from mcp_tui.tui.screens.cancel_dialogs import CancelPrompt, MarkedScreen, ReasonScreen, TimeoutScreen
from mcp_tui.tui.screens.dialog import ConfirmScreen
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.sources.attached import Attached
from mcp_tui.tui.sources.live_session import Session
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.view.badges import badge
from mcp_tui.view.keys import hint
from mcp_tui.view.outline import row_key
from mcp_tui.view.rows import listed, plural, request
from mcp_tui.view.text import safe, words

_OUTCOME_SENTENCES: Final[dict[CancelOutcome, LiteralString]] = {
    CancelOutcome.ALREADY_REQUESTED: "Cancel of {} already requested",
    CancelOutcome.AWAITS_TASK_ID: "Cancel of {} waits for the task id",
    CancelOutcome.ABANDONED: "Request {} abandoned: the server was waiting for input",
    CancelOutcome.UNSENT: "Request {} was cancelled before it was sent",
}

RECENT_REASONS: Final = 20
"""The number of recent reasons that are offered again."""


@dataclass(eq=False)
class Cancelling:
    """Cancels requests by their ids, never by their places. ``reasons`` has the recent ones, the latest first."""

    _screen: LayoutScreen
    _session: Session | Attached
    _table: RequestTable
    reasons: list[str] = field(default_factory=list[str])

    # -- one request -----------------------------------------------------------------------------------------

    async def cancel(self) -> None:
        """Asks for a reason, then cancels the marked requests, or else the selected one."""
        row = self._table.selected
        if self._table.marks:
            if rows := self._marked():
                await self._ask_reason_of(rows)
        elif row is None:
            self._screen.refuse(words("No request selected"))
        else:
            await self.ask_reason(row)

    def allow(self, row: Request) -> None:
        """Permits one call that is equal to a refused one."""
        if isinstance(self._session, Attached):
            self._session.allow(row.id)

    async def ask_reason(self, row: Request) -> None:
        """Opens the prompt for the reason of one cancel; for an ended request it only says so."""
        client = self._session.client
        prompt = ReasonScreen(row, way=client.cancellation(row), now=client.now, recent=self.reasons)
        prompt.line = lambda: self._table.line_on_screen
        await self._prompt(prompt, lambda reason: self.cancel_id(row.id, reason))

    async def _prompt(self, prompt: CancelPrompt, cancel: Callable[[str], None]) -> None:
        def given(reason: str | None) -> None:
            self.remember(prompt.unsent)
            if reason is not None:
                cancel(reason)

        # In the handler of the key, before the dialog is removed and anything is drawn: the signal waits for no
        # frame.
        prompt.at_once = given
        await self._screen.ask(prompt)

    async def cancel_now(self) -> None:
        """Cancels with the default reason: the marked requests after a confirmation, or the one that the key was aimed
        at.

        That is the request under the cursor when the burst of keys began: a busy table may have moved the cursor
        since. A row off the screen is first scrolled into view.
        """
        screen, again, selected = self._screen, "request.cancel-now", self._table.selected
        aimed = self._target()
        row = aimed or selected
        if self._table.marks:
            if rows := self._marked():
                await self._confirm(rows)
        elif row is None:
            screen.refuse(words("No request selected"), again=again)
        elif row.state is State.CANCEL_REQUESTED:
            screen.refuse(safe("Cancel of {} {} already requested", row.id, request(row)), again=again)
        elif not row.open:
            text = "Request {} {} already {} – nothing to cancel"
            screen.refuse(safe(text, row.id, request(row), badge(row).word), again=again)
        elif row is selected and self._table.line_on_screen is None:
            self._table.select(row.id)
            press = hint("Press {request.cancel-now} again to cancel it.")
            screen.refuse(safe("Request {} was off screen. {}", row.id, press), again=again)
        elif aimed is None and not screen.app.guard.steady:
            screen.app.guard.aim(row_key(row))
            press = hint("Press {request.cancel-now} again to cancel it.")
            screen.refuse(
                safe("Request {} {} changed just now. {}", row.id, request(row), press), again=again
            )
        else:
            self.cancel_id(row.id, DEFAULT_REASON)
            if row is not selected:
                text = "Cancelled {} {}, the row you were on"
                screen.show_message(safe(text, row.id, request(row)))

    def _target(self) -> Request | None:
        """Returns the request that the person's keys are aimed at; ``None`` if the target is gone or not a request."""
        match self._screen.app.guard.aimed:
            case (type(), int() | str() as id_) as key:
                row = self._session.client.requests.get(id_)
                return row if row is not None and row_key(row) == key else None
            case _:
                return None

    def cancel_id(self, id: RequestId, reason: str) -> None:
        """Cancels one request by its id; says so if nothing was cancelled."""
        client = self._session.client
        outcome = client.cancel(id, Cause.USER, reason)
        row = client.requests.get(id)
        if outcome is CancelOutcome.ALREADY_DONE and row is not None:
            self._screen.show_message(safe("Request {} already {} – nothing was sent", id, badge(row).word))
        elif outcome is CancelOutcome.REFUSED:
            why = hint("initialize cannot be cancelled. Press {server.menu} to stop the server.")
            if row is not None and row.method not in UNCANCELLABLE:
                why = hint("This server cannot cancel tasks. {app.palette} can stop waiting for it.")
            self._screen.show_message(safe("{}: {}", id, why))
        elif outcome in _OUTCOME_SENTENCES:
            self._screen.show_message(safe(_OUTCOME_SENTENCES[outcome], id))
        self._screen.look()

    def remember(self, reason: str) -> None:
        """Stores a reason to offer it again, the latest first."""
        if reason and reason != DEFAULT_REASON:
            self.reasons = [reason, *(each for each in self.reasons if each != reason)][:RECENT_REASONS]

    # -- several ---------------------------------------------------------------------------------------------

    def _marked(self) -> list[Request]:
        """Returns the marked requests that can be cancelled; says so if there are none."""
        rows = [row for row in self._table.marked_rows if row.open and row.method not in UNCANCELLABLE]
        if not rows:
            self._screen.refuse(hint("No marked request can be cancelled. {app.back} clears the marks."))
        return rows

    async def _confirm(self, rows: list[Request]) -> None:
        title = safe("Cancel {} marked?", plural(len(rows)))
        screen = ConfirmScreen(title, listed(rows), yes="Cancel them", no="Keep waiting")
        screen.at_once = lambda yes: self._cancel_rows(rows, DEFAULT_REASON) if yes else None
        await self._screen.ask(screen)

    async def cancel_all(self) -> None:
        """Cancels all running requests for one reason; under a filter, those that it shows."""
        table = self._table
        shown = {row_key(item.row) for item in table.items() if item.row is not None}
        rows: list[Request] = []
        hidden: list[Request] = []
        for row in self._session.running:
            if row.method not in UNCANCELLABLE:
                (rows if not table.wanted or row_key(row) in shown else hidden).append(row)
        if not rows:
            why = "The filter shows no running request" if hidden else "No running requests"
            self._screen.refuse(words(why))
        else:
            await self._ask_reason_of(rows, hidden)

    async def _ask_reason_of(self, rows: list[Request], spared: Sequence[Request] = ()) -> None:
        prompt = MarkedScreen(rows, recent=self.reasons, spared=spared)
        await self._prompt(prompt, lambda reason: self._cancel_rows(rows, reason))

    def _cancel_rows(self, rows: list[Request], reason: str) -> None:
        client = self._session.client
        # In batches, so that a thousand cancels do not block the keys.
        ids = [row.id for row in rows if row.open]
        for id_ in ids[:CANCEL_BATCH]:  # the first batch at once: a worker would start after the next drawing
            client.cancel(id_, Cause.USER, reason)
        self._screen.app.run_worker(
            partial(client.cancel_all, Cause.USER, reason, ids[CANCEL_BATCH:]), group="cancelling"
        )
        self._table.unmark()


# -- requests near their timeout ---------------------------------------------------------------------------------


@dataclass(eq=False)
class OverdueRequests:
    """Extends requests near their timeout, or asks about those that are overdue. ``_cancelling`` stores the reasons."""

    _screen: LayoutScreen
    _session: Session
    _table: RequestTable
    _cancelling: Cancelling
    _asked: set[tuple[RequestId, float | None]] = field(default_factory=set[tuple[RequestId, float | None]])
    _warned: set[tuple[RequestId, float | None]] = field(default_factory=set[tuple[RequestId, float | None]])

    def extend(self) -> None:
        """Gives the selected request 30 seconds more."""
        row = self._table.selected
        if row is not None and self._session.client.extend(row.id, MORE_SECONDS):
            self._screen.show_message(safe("Request {} has 30 s more", row.id), "muted", seconds=3)
        else:
            self._screen.refuse(words("Only a running request can get more time"))
        self._screen.look()

    def ask_about_overdue(self) -> None:
        """Opens one prompt for all overdue requests; while another screen is open, warns once about each instead."""
        new = [
            row
            for row in self._session.running
            if row.overdue_until is not None and (row.id, row.overdue_until) not in self._asked
        ]
        if not new:
            return
        screen, client = self._screen, self._session.client
        if screen.on_top:
            # With the time: a request that was extended and is overdue again is asked about again.
            self._asked.update((row.id, row.overdue_until) for row in new)
            prompt = TimeoutScreen(client, client.cancellation(new[0]).why)
            screen.app.push_screen(prompt, lambda _: self._cancelling.remember(prompt.unsent))
        elif not any(isinstance(each, TimeoutScreen) for each in screen.app.screen_stack):
            for row in new:
                if (row.id, row.overdue_until) not in self._warned:
                    self._warned.add((row.id, row.overdue_until))
                    text = safe("{} {} is overdue and will be cancelled automatically", row.id, request(row))
                    screen.app.notify(self._session.named(text), severity="warning", markup=False)
