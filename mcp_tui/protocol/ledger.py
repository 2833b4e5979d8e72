"""The ledger: intents, frames and the time in; events and effects out.

It decides, and nothing else does: whether a request may be cancelled and by which signal, whether a response is a
result or evidence, when a clock has run out. It does no I/O and reads no clock, so every race is a test of a few lines.
Each method appends to one list, which :meth:`Ledger.take` hands over; each event is folded into :attr:`Ledger.book`
as it is made, so the ledger's own view and everybody else's are one.
"""

from __future__ import annotations

from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.answers import BETWEEN
from mcp_tui.protocol.arrivals import Arrivals
from mcp_tui.protocol.effects import CancelOutcome, Release, Resolve, SendSignal, Unqueue
from mcp_tui.protocol.events import Cause, RequestId, Signal
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import OPEN, RUNNING, Request, State
from mcp_tui.protocol.revisions import UNCANCELLABLE, cancellation
from mcp_tui.protocol.states import GRACE, LISTEN

UNSENT: Final = "cancelled before it was sent"

ACKNOWLEDGED: Final = 10.0
"""Seconds in which a subscription ought to be acknowledged (C-61)."""


class Ledger(Arrivals):
    """The books of one client over all its connections.

    ``revision`` and ``transport`` decide how cancels leave; ``meta`` goes into ``_meta`` of every request
    (basic, 2026-07-28, "Per-request protocol fields"); ``grace`` is in seconds. Ids are integers from 1, because some
    servers cannot cancel id 0, and none is ever used twice.
    """

    # -- intents ---------------------------------------------------------------------------------------------

    def cancel(
        self, id: RequestId, cause: Cause, reason: str, *, at: float, leave: bool = False
    ) -> CancelOutcome:
        """Stop waiting for a request and have the server told, as its revision and transport prescribe.

        The row changes at once; the signal leaves behind it. A request is cancelled at most once, and only while an
        answer is waited for (cancellation, every revision; C-09, C-11).

        For ``initialize``, and for a task of a server that cannot cancel tasks, there is no signal (C-22, C-85). A person
        is refused, unless it is to be left: then nobody waits for it any more, as when its time is over, and it is said to
        go on. The cause is the wish's all the same.
        """
        row = self.book.get(id)
        if row is None or row.state not in OPEN:
            requested = row is not None and row.state in (State.CANCEL_REQUESTED, State.CANCELLED)
            return CancelOutcome.ALREADY_REQUESTED if requested else CancelOutcome.ALREADY_DONE
        core = row.as_task or (row.state is State.TASK and row.task_core)
        goes_on = core and not self.can_cancel_tasks
        if (goes_on or row.method in UNCANCELLABLE) and cause is Cause.USER and not leave:
            return CancelOutcome.REFUSED
        before = row.state
        self._stop_gathering(row, "the request was cancelled")
        self._emit(ev.CancelRequested(at=at, id=id, cause=cause, reason=reason))
        self.deadlines.arm(id, None)
        self.inbound.parent_cancelled(id)
        if before is State.AWAITING_INPUT:
            # its last round was answered, so nothing is in progress that a signal could name (C-65)
            self._settle_unsignalled(row, BETWEEN, at)
            return CancelOutcome.ABANDONED
        if before is State.TASK:
            if goes_on:
                self._leave(row, at)
                return CancelOutcome.LEFT
            self.deadlines.arm(id, at + max(self.grace, GRACE))
            self._cancel_task(row, at)
            return CancelOutcome.REQUESTED
        if row.round_sent_at is None and row.wire_id not in self._writing:
            self._emit(Unqueue(id=row.wire_id))
            unsent = f"cancelled before round {len(row.round_ids) + 1} was sent" if row.round_ids else UNSENT
            self._settle_unsignalled(row, unsent, at)
            return CancelOutcome.UNSENT
        if goes_on:
            self._leave(row, at)
            return CancelOutcome.LEFT
        if core:
            # a task may be cancelled by tasks/cancel alone, which needs the id that is on its way (C-80)
            self.deadlines.arm(id, at + max(self.grace, GRACE))
            return CancelOutcome.HELD
        if self._signal(row):
            self.deadlines.arm(id, at + max(self.grace, GRACE))
        else:
            self._settle_unsignalled(row, "", at)
        return CancelOutcome.REQUESTED

    def _signal(self, row: Request) -> bool:
        """Let the cancel of a request leave; false where the revision and the transport have no signal for it."""
        way = cancellation(self.revision, self.transport, row.method).signal
        if way is Signal.NONE:
            return False
        message = None
        if way is Signal.NOTIFICATION:
            params: dict[str, Json] = {"requestId": row.wire_id}
            if row.reason:
                params["reason"] = row.reason
            message = messages.notification("notifications/cancelled", params)
        self._signal_queued[row.id] = row
        self._emit(SendSignal(id=row.wire_id, signal=way, message=message))
        return True

    # -- what the transport tells ----------------------------------------------------------------------------

    def writing(self, id: RequestId) -> None:
        """The first byte of a request is leaving: from now on a cancel needs a signal."""
        row = self._current(id)
        if row is None or row.round_sent_at is not None or id in self._writing:
            return
        self._writing.add(id)
        if row.state is State.CANCELLED and row.method not in UNCANCELLABLE:
            self._signal(row)  # it could not be taken back in time, so the server must be told

    def written(self, id: RequestId, *, at: float, seq: int = 0) -> None:
        """The last byte of a request left: its clocks run."""
        row = self._current(id)
        self._writing.discard(id)
        if row is None or row.round_sent_at is not None:
            return
        if row.state in (State.QUEUED, State.CANCEL_REQUESTED, State.CANCELLED):
            self._emit(ev.Sent(at=at, id=row.id, seq=seq))
            self._arm(row)
            if row.method == LISTEN and row.open:
                self.deadlines.arm(f"ack:{row.id}", at + ACKNOWLEDGED)
            if row.parent is not None:
                self._errand_written(row, at, seq)

    def signal_leaving(self, id: RequestId) -> None:
        """The first byte of a signal is leaving: a reply from now on is late."""
        row = self._current(id)
        if row is None or row.id not in self._signal_queued:
            return
        del self._signal_queued[row.id]
        if row.state is State.CANCEL_REQUESTED:
            self._emit(Resolve(id=row.id))

    def signalled(self, id: RequestId, signal: Signal, *, at: float, seq: int = 0) -> None:
        """The signal left. A closed stream settles at once; a notification after the grace."""
        row = self._current(id)
        if row is None:
            return
        self.signal_leaving(id)
        if row.cancel_at is None:
            self._emit(ev.Note(at=at, text=f"the cancel of {row.id!r} left although its answer had come"))
            return
        if row.signalled_at is not None and row.signal is not Signal.NONE:
            return
        delivered = signal is Signal.NOTIFICATION and bool(row.reason)
        self._emit(ev.CancelSignalled(at=at, id=row.id, signal=signal, reason_delivered=delivered, seq=seq))
        self.inbound.pay(row.id, at=at)
        if row.state is not State.CANCEL_REQUESTED:
            return
        if signal is Signal.STREAM_CLOSED or self.grace <= 0:
            self._settle(row, "", at)
        else:
            self.deadlines.arm(row.id, at + self.grace)

    def signal_failed(self, id: RequestId, detail: str, *, at: float) -> None:
        """The signal could not be delivered: the request stays *cancel requested* (C-32)."""
        row = self._current(id)
        if row is None or row.cancel_at is None:
            return
        self.signal_leaving(id)
        self.deadlines.arm(row.id, None)
        self._emit(ev.Undelivered(at=at, id=row.id, detail=detail))
        self.inbound.pay(row.id, at=at)

    def stream_ended(self, id: RequestId, detail: str, *, at: float) -> None:
        """A request's own stream is over and will not be resumed: what is still open is lost.

        That says nothing to a server of the handshake era (transports, "Sending Messages"), which may go on: so there a
        cancel that waits to leave still does.
        """
        row = self._current(id)
        if row is None or row.round_sent_at is None or row.state is State.TASK or row.task_id:
            return
        detail = detail or "the stream ended without a response"
        if row.state is State.CANCEL_REQUESTED:
            way = cancellation(self.revision, self.transport, row.method).signal
            if way is Signal.STREAM_CLOSED:
                self._recall(row, at, undelivered=detail)
            self._settle(row, detail, at)
        elif row.open:
            old = self.revision is not None and not self.modern
            self._lose(row, f"{detail}; the server may still be running it" if old else detail, at)

    def refused(self, id: RequestId, detail: str, *, at: float, status: int = 0, seq: int = 0) -> None:
        """A request was not sent or not accepted. Without an HTTP status it is lost, with one it failed."""
        row = self._current(id)
        if row is None:
            return
        if row.state is State.CANCEL_REQUESTED:
            self._recall(row, at, undelivered=detail)
            self._settle(row, detail, at)
        elif not row.open:
            return
        elif status:
            local = ev.Origin.CLIENT
            self._over(row, ev.Failed(at=at, id=row.id, message=detail, origin=local, rule="http", seq=seq))
        else:
            self._lose(row, detail, at)

    def closed(self, detail: str, *, at: float) -> None:
        """The connection is gone: after this nothing is in flight (C-41, C-42)."""
        self.inbound.closed()
        self._tasks_gone()
        for row in list(self._signal_queued.values()):
            self._recall(row, at, undelivered=detail)
        for row in list(self._live.values()):
            if row.state is State.CANCEL_REQUESTED:
                self._settle(row, detail, at)
            elif row.id in self._live:
                self._stop_gathering(row, "the connection is gone")
                running = f"{detail}; its task {row.task_id} may still be running" if row.task_id else detail
                self._lose(row, running, at)

    # -- time ------------------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        """When :meth:`tick` has something to do next, in monotonic seconds, or ``None``."""
        return self.deadlines.next()

    def tick(self, now: float) -> None:
        """Let the clocks that ran out by ``now`` have their effect."""
        for id_ in self.deadlines.pop_due(now):
            if isinstance(id_, str):
                self._remind(id_, now)
                continue
            row = self._live[id_]
            if row.state is State.CANCEL_REQUESTED:
                self._grace_over(row, now)
            elif row.state in RUNNING:
                self._expire(row, now)
            elif row.state is State.QUEUED:
                limit = row.limits.max_timeout or 0.0
                self.cancel(id_, Cause.MAX_TIMEOUT, f"not sent within {limit:g} s", at=now)

    def _remind(self, key: str, now: float) -> None:
        """A moment that belongs to no clock of a request: a poll, or an acknowledgement that is overdue."""
        if key.startswith("poll:"):
            self._poll(key, now)
            return
        row = self._live.get(int(key.removeprefix("ack:")))
        if row is not None and row.state is State.IN_FLIGHT:
            text = f"the subscription is not acknowledged after {ACKNOWLEDGED:g} s"
            self._violation("not-acknowledged", text, now, 0, row.id)

    def _grace_over(self, row: Request, now: float) -> None:
        """Settle a request whose signal left; of any other say that it did not, for it may still have to (C-08)."""
        if row.signalled_at is not None:
            self._settle(row, self._acks.pop(row.id, ""), now)
            if self.transport == "http" and not row.task_id:
                self._emit(Release(id=row.wire_id))
            return
        if row.as_task and not row.task_id:
            text = "no task id came that a cancel could name; a task may be running"
            self._emit(ev.Undelivered(at=now, id=row.id, detail=text))
            self.inbound.pay(row.id, at=now)
            return
        waited = now - (row.cancel_at or now)
        step = "written" if row.id in self._signal_queued else "confirmed"
        self._emit(ev.Undelivered(at=now, id=row.id, detail=f"not {step} after {waited:.3g} s"))

    def _forget(self, row: Request) -> None:
        super()._forget(row)
        self.deadlines.arm(f"ack:{row.id}", None)
        self._acks.pop(row.id, None)

    def _expire(self, row: Request, now: float) -> None:
        idle, maximum = row.deadlines()
        if maximum is not None and maximum <= now:
            limit = row.limits.max_timeout or 0.0
            self.cancel(row.id, Cause.MAX_TIMEOUT, f"timed out after {limit:g} s (maximum)", at=now)
            return
        overdue = row.overdue_until
        if overdue is None and idle is not None and idle <= now and row.limits.ask > 0:
            self._emit(ev.Overdue(at=now, id=row.id, until=now + row.limits.ask))
        else:
            due = idle if overdue is None else overdue
            if due is not None and due <= now:
                self.cancel(row.id, Cause.TIMEOUT, self._timeout_reason(row), at=now)
                return
        self._arm(row)

    @staticmethod
    def _timeout_reason(row: Request) -> str:
        waited = row.limits.timeout or 0.0
        if row.idle_until is not None and row.idle_from is not None:
            waited = row.idle_until - row.idle_from
        return f"timed out after {round(waited, 3):g} s"
