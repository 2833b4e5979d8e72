"""A running session of another process: its recording is read, and its control socket is used for what is done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from mcp_tui.live.running import Running, Unknown, cancel
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.ledger import CancelOutcome
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.revisions import REVISIONS, Cancellation, cancellation
from mcp_tui.transport.base import spawn
from mcp_tui.tui.sources.recorded import RecordedScene
from mcp_tui.view.text import SafeText, brief, safe, words


class Attached:
    """Session and client in one, as far as the keys that cancel need them. ``show_message`` shows what came of a cancel."""

    def __init__(
        self, session: Running, scene: RecordedScene, show_message: Callable[[SafeText], None]
    ) -> None:
        self._session = session
        self._scene = scene
        self._show_message = show_message
        self.book = scene.book

    @property
    def client(self) -> Attached:
        return self

    @property
    def running(self) -> list[Request]:
        """The requests in flight, the oldest first."""
        book = self.book
        rows = (book.row(place) for place in range(len(book.order)) if not book.is_over(place))
        return [row for row in rows if row.open and not row.listening]

    def now(self) -> float:
        return self._scene.now()

    def cancellation(self, row: Request) -> Cancellation:
        """Returns how a cancel of this request would leave there."""
        facts = self._scene.facts(self.now())
        between = row.state is State.AWAITING_INPUT
        task = row.as_task or bool(row.task_id)
        revision = REVISIONS.get(facts.revision)
        return cancellation(revision, facts.transport or "stdio", row.method, task=task, between=between)

    def cancel(self, id: RequestId, cause: Cause, reason: str) -> CancelOutcome:
        """Asks the session to cancel a request; what came of it is told when it answers."""
        row = self.book.get(id)
        if row is None or not row.open:
            return CancelOutcome.ALREADY_DONE
        assert cause is Cause.USER  # a session has limits of its own
        spawn(self._cancel(id, reason), name="cancel in another session")
        return CancelOutcome.REQUESTED

    async def cancel_all(self, cause: Cause, reason: str, ids: Sequence[RequestId]) -> int:
        """Cancels several, one after the other."""
        assert cause is Cause.USER
        for id_ in ids:
            await self._cancel(id_, reason)
        return len(ids)

    async def _cancel(self, id_: RequestId, reason: str) -> None:
        # It waits for the other process, which may be stopped or busy: the loop goes on meanwhile.
        name, path = self._session.name, self._session.path
        came = await asyncio.to_thread(cancel, name, path, id_, reason)
        request = brief(str(id_), 40)
        if came is None:
            self._show_message(words("The session has ended"))
        elif isinstance(came, Unknown):
            self._show_message(safe("Session {} {}", name, came.why))
        elif came.over:
            self._show_message(safe("Request {} was over already – nothing was sent", request))
        elif came.unknown:
            self._show_message(safe("Request {} is not known there", request))
        elif came.refused or came.unsent:
            self._show_message(safe("Request {}: {}", request, brief(came.refused or came.unsent, 200)))
