"""The ledger: it receives calls, cancels, frames, and the time, and emits events and actions.

It alone decides whether a request may be cancelled and by which signal, whether a response is a result or evidence,
and when a timeout has passed. It does no I/O and reads no clock, so a few lines test any race.

**Output.** Each decision is a list of *events* (what became true) and *actions* (what must happen outside: send,
signal, reply, …) in one order. An event is applied to :attr:`Ledger.requests` when it is made, so all views agree.
Events and actions wait in one queue of calls on :class:`~mcp_tui.protocol.ports.LedgerPort` until the decision is
complete; :meth:`Ledger.perform` runs the queue. So a transport may report from within ``send`` that it is writing:
the ledger is consistent by then.

**A request** goes through the states of :data:`~mcp_tui.protocol.transitions.TRANSITIONS`. Besides its row it has one
:class:`~mcp_tui.protocol.core.Live`, which is dropped when the request is over. :meth:`Ledger.over` ends every
request in this order: stop its clock, emit the event, drop the ``Live``, withdraw its questions, answer its server
requests, resolve its callers, and update the task that it was sent for.

**A cancel** changes the row first, before any I/O, and then follows the first of these cases that applies:

1. The request is over, or was cancelled before: nothing happens. A request is cancelled at most once.
2. It has no signal (``initialize``, a task of a server that cannot cancel tasks): a person is refused, unless they want
   to stop waiting. A timeout or a quit stops waiting anyway.
3. It waits for input: nothing of it is in progress that a signal could name. It is settled at once.
4. It is a task: ``tasks/cancel``, itself a request, is the signal.
5. No byte of it was written: it is removed from the queue, and the server never receives it.
6. It was called as a task whose id is not known yet: the cancel waits for the id.
7. Otherwise the revision and the transport prescribe the signal (:func:`~mcp_tui.protocol.revisions.cancellation`).

**After the signal** the request is *cancel requested* during the grace, because no acknowledgement exists, and is
then settled. A message that arrives during the grace or later is evidence. A response that arrives before the first
byte of the signal is written withdraws the cancel: only a request in progress may be cancelled.
:mod:`~mcp_tui.protocol.responses` decides all of that.

**The parts** have their own state: ``clocks``, ``responses``, ``inbound`` (the server's requests and notifications),
``rounds`` (one request, more than one message), ``tasks``. They share :class:`~mcp_tui.protocol.core.Core`, and call
the ledger through :class:`~mcp_tui.protocol.ports.Decisions`. They are one component: no part works alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum
from itertools import count
from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.clocks import Clocks
from mcp_tui.protocol.core import NOBODY, Core, Live
from mcp_tui.protocol.deadlines import Timer
from mcp_tui.protocol.events import Cause, RequestId, Signal
from mcp_tui.protocol.evidence import CLOSED_FIRST, NO_TASK_ID, STILL_RUNNING
from mcp_tui.protocol.inbound import Inbound
from mcp_tui.protocol.messages import Batch, Frame, Json, ResponseFrame, as_object, shown
from mcp_tui.protocol.ports import LedgerPort
from mcp_tui.protocol.requests import OPEN, RUNNING, Request, State
from mcp_tui.protocol.responses import BETWEEN, METHOD_CHARACTERS, Responses, answered
from mcp_tui.protocol.revisions import UNCANCELLABLE, cancellation
from mcp_tui.protocol.server_requests import ServerRequest
from mcp_tui.protocol.states import GRACE, LISTEN, UNTOKENED
from mcp_tui.protocol.tasks import ROUND_METHODS, Rounds, Tasks

UNSENT: Final = "cancelled before it was sent"

_UNSENT: Final = frozenset({State.QUEUED, State.CANCEL_REQUESTED, State.CANCELLED})

GIVEN_UP: Final = "given up without a cancel (--once)"

OWN_PREFIX: Final = "mcp-tui-"
OWN_ID: Final = OWN_PREFIX + "{}"
"""The id of a request that a tap sends itself; it differs from the ids of the observed client."""

ACKNOWLEDGEMENT_SECONDS: Final = 10.0
"""Seconds in which a server should acknowledge a subscription (C-61)."""

WATCHED_SECONDS: Final = 60.0
"""Seconds after the signal for which the stream of a cancelled request stays open for late messages."""

CONCERNED_SECONDS: Final = 60.0
"""Seconds after a cancel in which the end of the connection counts as evidence; the grace if it is longer."""


class CancelOutcome(Enum):
    """The result of an attempt to cancel."""

    REQUESTED = "requested"
    ALREADY_DONE = "already done"
    ALREADY_REQUESTED = "already requested"
    REFUSED = "refused"
    AWAITS_TASK_ID = "waits for the task id"
    UNSENT = "cancelled before it was sent"
    ABANDONED = "given up: nothing to cancel"
    LEFT = "no longer watched: it cannot be cancelled"


class Ledger(Core):
    """The requests of one client over all its connections.

    ``negotiated`` determines the cancel signals and the ``_meta`` of every request; ``grace`` is in seconds. Ids are
    integers from 1, because some servers cannot cancel id 0, and are never used twice. A ledger that ``observes``
    makes its ids from ``own_id``.
    """

    def __init__(
        self,
        port: LedgerPort,
        *,
        transport: str = "stdio",
        grace: float = GRACE,
        observes: bool = False,
        own_id: str = OWN_ID,
    ) -> None:
        super().__init__(port, transport=transport, grace=grace, observes=observes)
        self.clocks = Clocks(self, self._waiting)
        self.rounds = Rounds(self, self)
        self.tasks = Tasks(self, self, self.clocks, self.rounds)
        self.responses = Responses(self, self, self.rounds, self.tasks)
        self.inbound = Inbound(self, self, self.clocks, self.responses, self.tasks)
        self._writing: set[RequestId] = set()
        """The ids that the transport has begun to write. An id may stay here after its request is over."""
        self._signal_queued: dict[RequestId, Request] = {}
        """The requests whose signal is queued in the transport."""
        self._watched: dict[RequestId, None] = {}
        """The ids of cancelled requests that may still receive messages, in the order of their signals."""
        self._ids: Iterator[RequestId] = map(own_id.format, count(1)) if observes else count(1)

    # -- calling ---------------------------------------------------------------------------------------------

    def call(
        self,
        method: str,
        params: Json = None,
        *,
        limits: ev.Limits = ev.DEFAULT_LIMITS,
        internal: bool = False,
        parent: RequestId | None = None,
        at: float,
    ) -> RequestId:
        """Makes and sends a request; returns its id. The progress token of each round is its id, unless ``params`` has
        one.

        ``parent`` is the request for whose task this one is sent.
        """
        id_, agreed = next(self._ids), self.negotiated
        live = self.enter(id_, method, params, limits=limits, internal=internal, parent=parent, at=at)
        if limits.max_timeout is not None:
            self.clocks.arm(live.row)
        if agreed.transport != "stdio" or (agreed.modern and method in ROUND_METHODS):
            live.params = as_object(params)  # kept to send it again with input or a token
        self.dispatch(live.row, params)
        return id_

    def errand(self, row: Request, method: str, params: Json, limits: ev.Limits, at: float) -> RequestId:
        """Sends an internal request for the task of a row."""
        return self.call(method, params, limits=limits, internal=True, parent=row.id, at=at)

    def send_round(self, row: Request, params: Json, why: str, at: float, *, deferred: bool = False) -> None:
        """Sends a request again as another round of its row; a ``deferred`` round waits for :meth:`Rounds.resend`."""
        id_ = next(self._ids)
        self.other_ids[id_] = row.id
        self.emit(ev.Round(at=at, id=row.id, wire_id=id_, number=len(row.round_ids) + 2, why=why))
        self.clocks.arm(row)
        if deferred:
            self.live[row.id].deferred = True
        else:
            self.dispatch(row, params)

    def defer(self, id: RequestId, why: str, *, at: float) -> RequestId | None:
        """Defers a request that the server refused for lack of a token, with its clocks stopped, until
        :meth:`Rounds.resend`.

        Returns its id, or ``None`` if it cannot be sent again.
        """
        row = self.current(id)
        if row is None or row.state is not State.IN_FLIGHT:
            return None
        self.clocks.pause(row, at, paused=True)
        self.send_round(row, None, why, at, deferred=True)
        return row.id

    def dispatch(self, row: Request, params: Json) -> None:
        """Sends the last round of a request, with the client's ``_meta`` and a progress token."""
        id_, method = row.wire_id, row.method
        if params is None or isinstance(params, dict):
            given = as_object(params)
            meta = {**self.negotiated.meta, **as_object(given.get("_meta"))}
            if method not in UNTOKENED:
                self._give_token(id_, meta)
            params = {**given, "_meta": meta} if meta else given or None
        self.do(self.port.send, id_, method, messages.request(id_, method, params))

    def _give_token(self, wire_id: RequestId, meta: dict[str, Json]) -> None:
        """Adds the progress token of a round, which is its id, to ``_meta``, unless the caller set another token."""
        # Progress, "Progress Flow": tokens MUST be unique across all active requests, so a caller's token may not
        # equal an id of ours.
        own = (int, wire_id)
        token = meta.setdefault("progressToken", f"mcp-tui-{wire_id}" if own in self.tokens else wire_id)
        if token is not wire_id and messages.is_request_id(token) and (type(token), token) != own:
            self.tokens.setdefault(own, NOBODY)
            self.tokens[type(token), token] = wire_id

    # -- cancelling ------------------------------------------------------------------------------------------

    def cancel(
        self, id: RequestId, cause: Cause, reason: str, *, at: float, leave: bool = False
    ) -> CancelOutcome:
        """Stops waiting for a request and signals the server as the revision and the transport prescribe.

        The docstring of this module explains the order of the cases. ``leave``: stop waiting even without a signal.
        """
        row = self.requests.get(id)
        if row is None or row.state not in OPEN:
            # C-09, C-11: it was cancelled before, or its response has arrived.
            requested = row is not None and row.state in (State.CANCEL_REQUESTED, State.CANCELLED)
            return CancelOutcome.ALREADY_REQUESTED if requested else CancelOutcome.ALREADY_DONE
        core_task = row.as_task or (row.state is State.TASK and row.task_core)
        continues = core_task and not self.negotiated.cancels_tasks
        if (continues or row.method in UNCANCELLABLE) and cause is Cause.USER and not leave:
            # C-22: initialize must not be cancelled; C-85: the server cannot cancel tasks
            return CancelOutcome.REFUSED
        before, refused = row.state, row.paused_at is not None
        self.rounds.stop_gathering(row, "the request was cancelled")
        self.emit(ev.CancelRequested(at=at, id=id, cause=cause, reason=reason))
        self.deadlines.arm(Timer.LIMIT, id, None)
        self.inbound.parent_cancelled(id)
        if before is State.AWAITING_INPUT:
            # C-65: the last round was answered, so nothing is in progress that a signal could name.
            self.settle_unsignalled(row, BETWEEN, at)
            return CancelOutcome.ABANDONED
        if before is State.TASK and not continues:
            self._await_signal(row, at)
            self.tasks.cancel(row, at)
            return CancelOutcome.REQUESTED
        if before is not State.TASK and row.round_sent_at is None and not self.being_written(row):
            # C-06: the server never received the request, so it must not receive its cancel either.
            self.do(self.port.unqueue, row.wire_id)
            # the rounds of a request that waits for a token were all refused
            later = row.round_ids and not refused
            unsent = f"cancelled before round {len(row.round_ids) + 1} was sent" if later else UNSENT
            self.settle_unsignalled(row, unsent, at)
            return CancelOutcome.UNSENT
        if continues:
            self.tasks.leave(row, at)
            return CancelOutcome.LEFT
        if core_task:
            # C-80: only tasks/cancel may cancel a task, and it needs the id, which is on its way.
            self._await_signal(row, at)
            return CancelOutcome.AWAITS_TASK_ID
        if self._signal(row):
            self._await_signal(row, at)
        else:
            # C-23: a probe before the revision is known is dropped without a signal.
            self.settle_unsignalled(row, "", at)
        return CancelOutcome.REQUESTED

    def _await_signal(self, row: Request, at: float) -> None:
        """Sets the timer that reports a signal as delayed (C-08: the server does not read)."""
        self.deadlines.arm(Timer.LIMIT, row.id, at + max(self.grace, GRACE))

    def _signal(self, row: Request) -> bool:
        """Sends the cancel signal of a request; returns false if the revision and the transport have none."""
        way = cancellation(self.negotiated.revision, self.negotiated.transport, row.method).signal
        if way is Signal.NONE or (row.internal and row.method == "tasks/cancel"):
            return False  # The task is cancelled even if nobody waits for the answer.
        message = None
        if way is Signal.NOTIFICATION:
            params: dict[str, Json] = {"requestId": row.wire_id}
            if row.reason:
                params["reason"] = row.reason
            message = messages.notification("notifications/cancelled", params)
        self._signal_queued[row.id] = row
        self.do(self.port.signal, row.wire_id, way, message)
        return True

    def recall(self, row: Request, at: float, *, for_good: bool = False) -> bool:
        """Takes back a queued signal; returns false if none is queued. ``for_good``: no other signal follows."""
        if self._signal_queued.pop(row.id, None) is None:
            return False
        self.do(self.port.recall, row.wire_id)
        if for_good and row.signal is None:
            self.emit(ev.CancelSignalled(at=at, id=row.id, signal=Signal.NONE, reason_delivered=False))
        return True

    # -- reports of the transport ----------------------------------------------------------------------------

    def writing(self, id: RequestId) -> None:
        """Notes that the first byte of a request is being written: from now on a cancel needs a signal."""
        row = self.current(id)
        if row is None or row.round_sent_at is not None or id in self._writing:
            return
        self._writing.add(id)
        if row.state is State.CANCELLED and row.method not in UNCANCELLABLE:
            # C-07: the request could not be taken back in time, so the server must get the cancel after all.
            self._signal(row)

    def written(self, id: RequestId, *, at: float, seq: int = 0) -> None:
        """Notes that the last byte of a request was written, which starts its clocks."""
        row = self.current(id)
        self._writing.discard(id)
        if row is not None and row.round_sent_at is None:
            self._sent(row, at, seq)

    def _sent(self, row: Request, at: float, seq: int = 0) -> None:
        if row.state not in _UNSENT:
            return
        self.emit(ev.Sent(at=at, id=row.id, seq=seq))
        self.clocks.arm(row)
        if row.method == LISTEN and row.open:
            self.deadlines.arm(Timer.ACKNOWLEDGEMENT, row.id, at + ACKNOWLEDGEMENT_SECONDS)
        owner = self._task_owner(row)
        if owner is not None and row.id in self.live:
            self.tasks.errand_written(owner, row, at, seq)

    def signal_leaving(self, id: RequestId) -> None:
        """Notes that the first byte of a signal is being written: from now on a response is late."""
        row = self.current(id)
        if row is None or row.id not in self._signal_queued:
            return
        del self._signal_queued[row.id]
        if row.state is State.CANCEL_REQUESTED:
            self.do(self.port.resolve, row.id, None)

    def signalled(
        self, id: RequestId, signal: Signal, *, at: float, answered: bool = False, seq: int = 0
    ) -> None:
        """Notes that the signal was written. A closed stream settles the request at once, a notification after the grace.

        ``answered``: the server owes it an answer, which :meth:`signal_accepted` or :meth:`signal_failed` reports.
        """
        row = self.current(id)
        if row is None:
            return
        self.signal_leaving(id)
        if row.cancel_at is None:
            self.emit(
                ev.Note(at=at, text=f"the cancel of {row.id!r} was sent although its answer had arrived")
            )
            return
        # A request is cancelled at most once, so a second report is about the same signal.
        if row.signalled_at is not None and row.signal is not Signal.NONE:
            return
        self.signal_written(row, signal, at, seq, answered=answered)
        if row.state is not State.CANCEL_REQUESTED:
            return
        if signal is Signal.STREAM_CLOSED or self.grace <= 0:
            self.settle(row, "", at)
        else:
            self.deadlines.arm(Timer.LIMIT, row.id, at + self.grace)

    def signal_written(self, row: Request, signal: Signal, at: float, seq: int, *, answered: bool) -> None:
        """Emits that a signal was written, starts to watch the request, and sends the owed answers."""
        self.emit(
            ev.CancelSignalled(
                at=at,
                id=row.id,
                signal=signal,
                reason_delivered=signal is Signal.NOTIFICATION and bool(row.reason),
                answered=answered,
                seq=seq,
            )
        )
        # Nothing can arrive on a closed stream.
        if signal is not Signal.STREAM_CLOSED:
            self._watched[row.id] = None
        self.send_owed(row.id, at)

    def watched(self) -> list[Request]:
        """Returns the cancelled requests that may still receive messages."""
        rows = map(self.row, self._watched)
        return [row for row in rows if row.unwatched_at is None and not answered(row)]

    def last_signal(self) -> Request | None:
        """Returns the watched request whose signal was written last."""
        return next((self.row(id_) for id_ in reversed(self._watched)), None)

    def signal_accepted(self, id: RequestId, *, at: float, session: bool = True) -> None:
        """Notes that the server answered the signal's POST with 2xx; ``session``: over HTTP it assigned a session."""
        row = self.current(id)
        if row is not None and row.answer_owed and row.accepted_at is None and not row.refused:
            sessionless = not session and self.negotiated.transport == "http"
            self.emit(ev.CancelAccepted(at=at, id=row.id, sessionless=sessionless))

    def signal_unanswered(self, id: RequestId, detail: str, *, at: float) -> None:
        """Notes that the signal's POST was written, and that its status cannot arrive any more."""
        row = self.current(id)
        if row is not None and row.answer_owed and row.accepted_at is None and not row.undelivered:
            self.emit(ev.CancelUnanswered(at=at, id=row.id, detail=detail))

    def signal_failed(self, id: RequestId, detail: str, *, at: float, refused: bool = False) -> None:
        """Notes that the signal could not be written or, if ``refused``, that the server answered it with an error.

        C-32: the request stays *cancel requested*, because the server still runs it and did not get a valid cancel.
        """
        row = self.current(id)
        if row is None or row.cancel_at is None or row.signal is Signal.NONE:
            return
        self.signal_leaving(id)
        if row.state is State.CANCEL_REQUESTED:
            self.deadlines.arm(Timer.LIMIT, row.id, None)
        self.emit(ev.Undelivered(at=at, id=row.id, detail=detail, refused=refused))
        self.send_owed(row.id, at)

    def stream_ended(self, id: RequestId, detail: str, *, at: float) -> None:
        """Notes the end of a request's own stream: an open request is lost.

        C-34: to a server of the handshake era a disconnect is not a cancel (transports, "Sending Messages"), so it
        may keep running, and a queued cancel is still sent. C-38: from 2026-07-28 on the end of the stream is the
        cancel.
        """
        row = self.current(id)
        if row is None or row.round_sent_at is None or row.state is State.TASK or row.task_id:
            return
        detail = detail or "the stream ended without a response"
        if row.state in (State.CANCEL_REQUESTED, State.CANCELLED):
            way = cancellation(self.negotiated.revision, self.negotiated.transport, row.method).signal
            if way is Signal.STREAM_CLOSED:
                self.recall(row, at, for_good=True)
            elif not answered(row) and row.unwatched_at is None:
                self.deadlines.arm(Timer.RELEASE, row.id, None)
                self.emit(ev.Unwatched(at=at, id=row.id, detail=detail))
            if row.state is State.CANCEL_REQUESTED:
                self.settle(row, detail, at)
        elif row.open:
            old = self.negotiated.revision is not None and not self.negotiated.modern
            self.lose(row, f"{detail}{STILL_RUNNING}" if old else detail, at)

    def refused(self, id: RequestId, detail: str, *, at: float, status: int = 0, seq: int = 0) -> None:
        """Notes that a request was not accepted. Without an HTTP status the request is lost, with one it failed."""
        row = self.current(id)
        if row is None:
            return
        if row.state is State.CANCEL_REQUESTED:
            self.recall(row, at, for_good=True)
            self._stop_watching(row, detail, at)
            self.settle(row, detail, at)
        elif row.open and status:
            self.fail(row, detail, "http", at, seq=seq)
        elif row.open:
            self.lose(row, detail, at)

    def closed(
        self, detail: str, *, at: float, expected: bool = False, deferred: Collection[RequestId] = ()
    ) -> None:
        """Notes the end of the connection, after which no request is open (C-41: the server exited; C-42: its stream
        ended).

        ``expected``: this client ended it. ``deferred`` has the ids of requests that wait for a new session.
        """
        waited = [id_ for id_, live in self.live.items() if not live.row.internal]
        watched = list(map(self.row, self._watched))
        unanswered = [row for row in watched if row.id not in self.live and not answered(row)]
        waited += [row.id for row in unanswered if at - (row.cancel_at or at) <= CONCERNED_SECONDS]
        cancelled = [*watched, *(live.row for live in self.live.values())]
        cancels = [row.signalled_at or row.cancel_at for row in cancelled if row.cancel_at is not None]
        self.receiving_ended(detail, at=at, expected=expected)
        self._watched.clear()
        if deferred:
            for live in list(self.live.values()):
                if live.row.wire_id not in deferred:
                    self.refused(live.row.wire_id, detail, at=at)
        else:
            self._lose_all(detail, at, expected=expected)
        # Several cancels may have been sent; only the last one can be close enough to have caused the end.
        after = at - max(cancels) if cancels else None
        # An observed client may use integers and strings, which Python cannot compare.
        ids = tuple(sorted(waited, key=str))
        self.emit(ev.Disconnected(at=at, detail=detail, expected=expected, after=after, ids=ids))

    def _lose_all(self, detail: str, at: float, *, expected: bool) -> None:
        self.inbound.closed()
        self.tasks.connection_ended()
        for row in list(self._signal_queued.values()):
            self.recall(row, at, for_good=True)
        for live in list(self.live.values()):
            row = live.row
            if row.state is State.CANCEL_REQUESTED:
                text = detail
                if expected and row.signal in (None, Signal.NONE) and not row.undelivered:
                    text = NO_TASK_ID if row.as_task and not row.task_id else CLOSED_FIRST
                elif expected and row.signalled_at is not None:
                    text = row.cancel_answer
                if row.signal is None and not row.undelivered:
                    self.settle_unsignalled(row, text, at)
                else:
                    self.settle(row, text, at)
            elif row.id in self.live:
                self.rounds.stop_gathering(row, "the connection is gone")
                running = ""
                if row.task_id:
                    running = f"; its task {row.task_id} may still be running"
                elif row.round_sent_at is not None and self.negotiated.transport == "sse" and not expected:
                    # All answers of HTTP+SSE share one stream, which a proxy may cut; its end is not a cancel.
                    running = STILL_RUNNING
                self.lose(row, f"{detail}{running}", at)

    def receiving_ended(self, detail: str, *, at: float, expected: bool = False) -> None:
        """Stops watching all cancelled requests, because nothing can be received any more; :meth:`closed` follows.

        ``expected``: this client is about to end the connection.
        """
        for row in list(map(self.row, self._watched)):
            since = at - (row.cancel_at or at)
            is_evidence = not expected and since <= max(CONCERNED_SECONDS, self.grace)
            self._stop_watching(
                row, detail if is_evidence else "", at, disconnected=is_evidence, final=expected
            )
        if expected:
            self._watched.clear()
            for row in [live.row for live in self.live.values() if live.row.signal is None]:
                if row.state is State.CANCEL_REQUESTED and not row.watching_over:
                    self.emit(ev.Unwatched(at=at, id=row.id, detail="", final=True))

    def _stop_watching(
        self, row: Request, detail: str, at: float, *, disconnected: bool = False, final: bool = False
    ) -> None:
        """Stops watching a cancelled request."""
        self.deadlines.arm(Timer.RELEASE, row.id, None)
        more = disconnected or (final and row.disconnected_at is None)
        if row.id in self._watched and (more or row.unwatched_at is None):
            over = ev.Unwatched(at=at, id=row.id, detail=detail, disconnected=disconnected, final=final)
            self.emit(over)

    def dropped(self, what: str, *, at: float, stream: RequestId | None = None) -> None:
        """Notes that the server sent data that no client reads; ``stream`` is as for :meth:`receive`."""
        row = None if stream is None else self.named(stream)
        self.violation("dropped", f"{what}, which no client reads", at, 0, stream)
        if row is not None and row.state not in (State.COMPLETED, State.FAILED):
            self.emit(ev.Dropped(at=at, id=row.id, detail=what))

    # -- messages of the server ------------------------------------------------------------------------------

    def receive(
        self, frame: Frame | Batch, *, at: float, seq: int = 0, stream: RequestId | None = None
    ) -> None:
        """Handles one frame. ``stream`` is the id of the request whose own HTTP stream carried the frame."""
        if isinstance(frame, (ResponseFrame, messages.MethodFrame)) and frame.repeats:
            # RFC 8259, section 4: with duplicate names the result is unpredictable, so another client may read
            # another value.
            text = f"duplicate member {shown(frame.repeats)} in one object; the last one counts"
            self.violation("duplicate-member", text, at, seq)
        if isinstance(frame, ResponseFrame):
            self.responses.receive(frame, at, seq, stream)
            return
        if isinstance(frame, messages.MethodFrame) and frame.defect:
            self.violation("malformed", f"{frame.method[:METHOD_CHARACTERS]}: {frame.defect}", at, seq)
        match frame:
            case messages.NotificationFrame():
                self.inbound.notified(frame, at, seq, stream)
            case messages.RequestFrame():
                self.inbound.receive(frame, at=at, seq=seq, stream=stream)
            case messages.MalformedFrame():
                self.responses.malformed(frame, at, seq, stream)
            case messages.PollutionFrame():
                self.responses.pollution(frame, at, seq, stream)
            case Batch():
                # Basic, 2025-03-26: receivers MUST accept batches; 2025-06-18 removed them. The frames are read in
                # any case.
                if self.negotiated.revision is None or not self.negotiated.revision.batches:
                    self.violation("batch", "a JSON-RPC batch, which this revision does not have", at, seq)
                for each in frame.frames:
                    self._element(each, at, seq, stream)

    def _element(self, frame: Frame, at: float, seq: int, stream: RequestId | None) -> None:
        """Handles one frame of a batch.

        C-43: a batch may answer several requests, so a response belongs to the request that it names, regardless of
        the stream.
        """
        own = None if stream is None else self.named(stream)
        if own is not None and isinstance(frame, ResponseFrame):
            row, _ = self.responses.find(frame.id)
            if row is not None and row is not own:
                detail = f"the response to {row.id!r} came on the stream of {own.id!r}"
                self.violation("foreign-stream", detail, at, seq, row.id)
                stream = None
        self.receive(frame, at=at, seq=seq, stream=stream)

    def _waiting(self) -> Collection[ServerRequest]:
        return self.inbound.waiting.values()

    # -- what was written ------------------------------------------------------------------------------------

    def being_written(self, row: Request) -> bool:
        """Whether part of the last round is written."""
        return row.wire_id in self._writing

    def reached(self, row: Request, at: float) -> bool:
        """Whether a message can be about a request, because a byte of the request was written.

        A message that arrives before the transport has reported the end of the writing proves that all of it was
        written.
        """
        if row.round_sent_at is not None:
            return True
        if not self.being_written(row):
            return False
        self._sent(row, at)
        return True

    def _task_owner(self, row: Request) -> Request | None:
        """Returns the row for whose task a request was sent."""
        return None if row.parent is None else self.requests.get(row.parent)

    # -- the end of a request --------------------------------------------------------------------------------

    def over(self, row: Request, event: ev.RequestEvent, frame: ResponseFrame | None = None) -> None:
        """Ends a request by ``event``; ``frame`` is its response, if the response counts."""
        self.deadlines.arm(Timer.LIMIT, row.id, None)
        self.emit(event)
        live = self.live.pop(row.id)
        if live.remembered:
            self.repeats.over(live.remembered, row)
        if row.task_id:
            self.tasks.row_over(live)
        if row.method == LISTEN:
            self.deadlines.arm(Timer.ACKNOWLEDGEMENT, row.id, None)
        self.inbound.send_owed(row.id, at=event.at)
        self.do(self.port.resolve, row.id, frame)
        owner = self._task_owner(row)
        if owner is not None:
            self.tasks.errand_over(owner, row, frame, event.at)

    def complete(self, row: Request, frame: ResponseFrame, at: float, seq: int) -> None:
        """Ends a request by its result. An ``isError`` that is not a boolean is a violation and counts as an error."""
        verdict, words = as_object(frame.outline).get("isError"), messages.summary(frame)
        wrong = verdict is not None and verdict is not False
        if wrong and verdict is not True:
            text = f"isError is {shown(verdict)}, which is not a boolean"
            self.violation("malformed-result", text, at, seq, row.id)
        if row.method == "tools/list":
            self.repeats.safe.listed(frame.result)
        completed = ev.Completed(at=at, id=row.id, size=frame.size, is_error=wrong, summary=words, seq=seq)
        self.over(row, completed, frame)

    def fail(self, row: Request, text: str, rule: str, at: float, *, size: int = 0, seq: int = 0) -> None:
        """Ends a request by a failure of this client; ``rule`` names its kind."""
        local = ev.Origin.CLIENT
        self.over(row, ev.Failed(at=at, id=row.id, message=text, origin=local, rule=rule, size=size, seq=seq))

    def settle(self, row: Request, detail: str, at: float) -> None:
        """Ends a cancelled request."""
        self.over(row, ev.Settled(at=at, id=row.id, detail=detail))

    def settle_unsignalled(self, row: Request, detail: str, at: float) -> None:
        """Ends a cancelled request without a signal."""
        self.emit(ev.CancelSignalled(at=at, id=row.id, signal=Signal.NONE, reason_delivered=False))
        self.settle(row, detail, at)

    def give_up(self, row: Request, at: float) -> None:
        """Stops waiting for a cancelled request without telling the server, because the guard of a tap waits for its
        answer.
        """
        self._signal_queued.pop(row.id, None)
        self.settle_unsignalled(row, UNSENT if row.withheld_by_guard else GIVEN_UP, at)

    def lose(self, row: Request, detail: str, at: float) -> None:
        """Ends a request whose answer cannot arrive any more."""
        self.over(row, ev.Lost(at=at, id=row.id, detail=detail))

    def send_owed(self, id: RequestId, at: float) -> None:
        """Sends the owed answers to the server's requests that belong to ``id``."""
        self.inbound.send_owed(id, at=at)

    # -- clocks ----------------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        """Handles the timers that have expired by ``now``."""
        for timer, id_ in self.deadlines.pop_due(now):
            match timer:
                case Timer.POLL:
                    self.tasks.poll(id_, now)
                case Timer.ACKNOWLEDGEMENT:
                    if self.live[id_].row.state is State.IN_FLIGHT:
                        text = f"the subscription is not acknowledged after {ACKNOWLEDGEMENT_SECONDS:g} s"
                        self.violation("not-acknowledged", text, now, 0, id_)
                case Timer.LIMIT:
                    self._limit_reached(self.live[id_], now)
                case Timer.RELEASE:
                    row = self.row(id_)
                    self.do(self.port.release, row.wire_id)
                    self._stop_watching(row, f"mcp-tui closed its stream after {WATCHED_SECONDS:g} s", now)

    def _limit_reached(self, live: Live, now: float) -> None:
        row = live.row
        if row.state is State.CANCEL_REQUESTED:
            self._grace_over(live, now)
        elif row.state in RUNNING:
            self._expire(row, now)
        elif row.state is State.QUEUED:
            limit = row.limits.max_timeout or 0.0
            self.cancel(row.id, Cause.MAX_TIMEOUT, f"not sent within {limit:g} s", at=now)

    def _grace_over(self, live: Live, now: float) -> None:
        """Settles a request whose signal was written; reports any other as delayed.

        C-08: a delayed one stays *cancel requested*, because its signal may still be written.
        """
        row = live.row
        if row.signalled_at is not None:
            self.settle(row, row.cancel_answer, now)
            if self.negotiated.transport == "http" and not row.task_id and row.id in self._watched:
                # C-37: the server may leave the stream open for ever. While it is open, a late answer can still be
                # seen.
                self.deadlines.arm(Timer.RELEASE, row.id, max(now, row.signalled_at + WATCHED_SECONDS))
            return
        if row.as_task and not row.task_id:
            self.emit(ev.CancelDelayed(at=now, id=row.id, detail=NO_TASK_ID))
            self.send_owed(row.id, now)
            return
        waited = now - (row.cancel_at or now)
        self.emit(ev.CancelDelayed(at=now, id=row.id, detail=f"not written after {waited:.0f} s"))

    def _expire(self, row: Request, now: float) -> None:
        """Cancels a request whose timeout passed, or asks a person first (C-18, C-20, C-21: the races of timeouts)."""
        idle, maximum = row.deadlines()
        # Timeouts: the maximum SHOULD always be enforced, regardless of progress. So nobody is asked here.
        if maximum is not None and maximum <= now:
            limit = row.limits.max_timeout or 0.0
            self.cancel(row.id, Cause.MAX_TIMEOUT, f"timed out after {limit:g} s (maximum)", at=now)
            return
        overdue = row.overdue_until
        if overdue is None and idle is not None and idle <= now and row.limits.ask > 0:
            self.emit(ev.Overdue(at=now, id=row.id, until=now + row.limits.ask))
        else:
            due = idle if overdue is None else overdue
            if due is not None and due <= now:
                self.cancel(row.id, Cause.TIMEOUT, row.timeout_reason, at=now)
                return
        self.clocks.arm(row)
