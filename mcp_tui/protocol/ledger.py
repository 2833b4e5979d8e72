"""The ledger: intents, frames and the time in; events and effects out.

It decides, and nothing else does: whether a request may be cancelled and by which signal, whether a response is a
result or evidence, when a clock has run out. It does no I/O and reads no clock, so every race is a test of a few lines.
Each method appends to one list, which :meth:`Ledger.take` hands over; each event is folded into :attr:`Ledger.book`
as it is made, so the ledger's own view and everybody else's are one.
"""

from __future__ import annotations

from typing import Any, Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.arrivals import Arrivals
from mcp_tui.protocol.effects import CancelOutcome, Release, Resolve, Send, SendSignal, Unqueue
from mcp_tui.protocol.events import Cause, RequestId, Signal
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import OPEN, Request, State
from mcp_tui.protocol.revisions import UNCANCELLABLE, cancellation

UNTOKENED: Final = frozenset({"initialize", "ping"})
"""Requests that carry no progress token."""


class Ledger(Arrivals):
    """The books of one client over all its connections.

    ``revision`` and ``transport`` decide how cancels leave; ``meta`` goes into ``_meta`` of every request
    (basic, 2026-07-28, "Per-request protocol fields"); ``grace`` is in seconds. Ids are integers from 1, because some
    servers cannot cancel id 0, and none is ever used twice.
    """

    # -- intents ---------------------------------------------------------------------------------------------

    def call(
        self,
        method: str,
        params: Json = None,
        *,
        limits: ev.Limits = ev.DEFAULT_LIMITS,
        own: bool = False,
        at: float,
    ) -> RequestId:
        """Enter a request and have it sent. Its progress token is its id, unless ``params`` brings one along."""
        id_ = self._next_id
        self._next_id += 1
        name = _name(method, params)
        self._emit(ev.Called(at=at, id=id_, method=method, name=name, limits=limits, own=own))
        row = self._row(id_)
        params = self._with_meta(method, params, row)
        self._emit(Send(id=id_, method=method, name=name, message=messages.request(id_, method, params)))
        return id_

    def _with_meta(self, method: str, params: Json, row: Request) -> Json:
        if params is not None and not isinstance(params, dict):
            return params
        given = messages.as_object(params)
        meta = {**self.meta, **messages.as_object(given.get("_meta"))}
        if method not in UNTOKENED:
            token = meta.setdefault("progressToken", row.id)
            if messages.is_request_id(token):
                self.tokens[type(token), token] = row
        if not meta:
            return given or None
        return {**given, "_meta": meta}

    def cancel(self, id: RequestId, cause: Cause, reason: str, *, at: float) -> CancelOutcome:
        """Stop waiting for a request and have the server told, as its revision and transport prescribe.

        The row changes at once; the signal leaves behind it. A request is cancelled at most once, and only while an
        answer is waited for (cancellation, every revision; C-09, C-11). ``initialize`` is refused to a person, and ends
        without a signal when its time is over (C-22).
        """
        row = self.book.get(id)
        if row is None or row.state not in OPEN:
            requested = row is not None and row.state in (State.CANCEL_REQUESTED, State.CANCELLED)
            return CancelOutcome.ALREADY_REQUESTED if requested else CancelOutcome.ALREADY_DONE
        way = cancellation(self.revision, self.transport, row.method)
        if row.method in UNCANCELLABLE and cause is Cause.USER:
            return CancelOutcome.REFUSED
        self._emit(ev.CancelRequested(at=at, id=id, cause=cause, reason=reason))
        self.deadlines.arm(id, None)
        if row.sent_at is None and id not in self._writing:
            self._emit(Unqueue(id=id))
            self._settle_silently(id, "cancelled before it was sent", at)
            return CancelOutcome.UNSENT
        if way.signal is Signal.NONE:
            self._settle_silently(id, "", at)
            return CancelOutcome.REQUESTED
        message = None
        if way.signal is Signal.NOTIFICATION:
            params: dict[str, Json] = {"requestId": id}
            if reason:
                params["reason"] = reason
            message = messages.notification("notifications/cancelled", params)
        self._signal_queued.add(id)
        self._emit(SendSignal(id=id, signal=way.signal, message=message))
        return CancelOutcome.REQUESTED

    def _settle_silently(self, id: RequestId, detail: str, at: float) -> None:
        self._emit(ev.CancelSignalled(at=at, id=id, signal=Signal.NONE, reason_delivered=False))
        self._emit(ev.Settled(at=at, id=id, detail=detail))
        self._emit(Resolve(id=id))

    def extend(self, id: RequestId, seconds: float | None, *, at: float) -> bool:
        """Give a request in flight ``seconds`` more before its nearest limit, or lift both limits with ``None``.

        False when it is not in flight.
        """
        row = self.book.get(id)
        if row is None or row.state is not State.IN_FLIGHT or row.sent_at is None:
            return False
        if seconds is None:
            limits = ev.Limits(idle=None, maximum=None, ask=row.limits.ask)
            self._emit(ev.Extended(at=at, id=id, limits=limits))
        else:
            idle, maximum = row.deadlines()
            until = None if idle is None else max(idle, at) + seconds
            limits = row.limits
            if maximum is not None and (until is None or until > maximum):
                more = (until if until is not None else max(maximum, at) + seconds) - maximum
                limits = ev.Limits(idle=limits.idle, maximum=(limits.maximum or 0.0) + more, ask=limits.ask)
            self._emit(ev.Extended(at=at, id=id, limits=limits, idle_until=until))
        self._arm(row)
        return True

    def pause(self, id: RequestId, *, at: float) -> None:
        """Stop both clocks of a request in flight while a person is being asked (C-68)."""
        row = self.book.get(id)
        if row is not None and row.state is State.IN_FLIGHT and row.paused_at is None:
            self._emit(ev.Paused(at=at, id=id))
            self._arm(row)

    def resume(self, id: RequestId, *, at: float) -> None:
        """Let both clocks run on."""
        row = self.book.get(id)
        if row is not None and row.state is State.IN_FLIGHT and row.paused_at is not None:
            self._emit(ev.Resumed(at=at, id=id))
            self._arm(row)

    # -- what the transport tells ----------------------------------------------------------------------------

    def writing(self, id: RequestId) -> None:
        """The first byte of a request is leaving: from now on a cancel needs a signal."""
        self._writing.add(id)

    def written(self, id: RequestId, *, at: float, seq: int = 0) -> None:
        """The last byte of a request left: its clocks run."""
        row = self.book.get(id)
        if row is None or row.sent_at is not None or row.state not in (State.QUEUED, State.CANCEL_REQUESTED):
            return
        self._writing.discard(id)
        self._emit(ev.Sent(at=at, id=id, seq=seq))
        self._arm(row)

    def signal_leaving(self, id: RequestId) -> None:
        """The first byte of a signal is leaving: a reply from now on is late."""
        self._signal_queued.discard(id)
        row = self.book.get(id)
        if row is not None and row.state is State.CANCEL_REQUESTED:
            self._emit(Resolve(id=id))

    def signalled(self, id: RequestId, signal: Signal, *, at: float, seq: int = 0) -> None:
        """The signal left. A closed stream settles at once; a notification after the grace."""
        row = self.book.get(id)
        if row is None or row.cancel_at is None:
            return
        if id in self._signal_queued:
            self.signal_leaving(id)
        delivered = signal is Signal.NOTIFICATION and bool(row.reason)
        self._emit(ev.CancelSignalled(at=at, id=id, signal=signal, reason_delivered=delivered, seq=seq))
        if row.state is not State.CANCEL_REQUESTED:
            return
        if signal is Signal.STREAM_CLOSED or self.grace <= 0:
            self._settle(row, "", at)
        else:
            self.deadlines.arm(id, at + self.grace)

    def signal_failed(self, id: RequestId, detail: str, *, at: float) -> None:
        """The signal could not be delivered: the request stays *cancel requested* (C-32)."""
        row = self.book.get(id)
        if row is None or row.cancel_at is None:
            return
        if id in self._signal_queued:
            self.signal_leaving(id)
        self._emit(ev.Undelivered(at=at, id=id, detail=detail))

    def stream_ended(self, id: RequestId, detail: str, *, at: float) -> None:
        """A request's own stream is over and will not be resumed: what is still open is lost."""
        row = self.book.get(id)
        if row is None:
            return
        if row.state is State.CANCEL_REQUESTED:
            self._flush_queued_signal(row, detail, at)
            self._settle(row, detail or "the stream ended without a response", at)
        elif row.open:
            self._lose(row, detail or "the stream ended without a response", at)

    def refused(self, id: RequestId, detail: str, *, at: float, status: int = 0, seq: int = 0) -> None:
        """A request was not sent or not accepted. Without an HTTP status it is lost, with one it failed."""
        row = self.book.get(id)
        if row is None:
            return
        if row.state is State.CANCEL_REQUESTED:
            self._flush_queued_signal(row, detail, at)
            self._settle(row, detail, at)
        elif not row.open:
            return
        elif status:
            self._fail(
                row, ev.Failed(at=at, id=id, message=detail, origin=ev.Origin.CLIENT, rule="http", seq=seq)
            )
        else:
            self._lose(row, detail, at)

    def closed(self, detail: str, *, at: float) -> None:
        """The connection is gone: after this nothing is in flight (C-41, C-42)."""
        self.inbound.closed()
        for row in self.book.order:
            if row.state is State.CANCEL_REQUESTED:
                self._flush_queued_signal(row, detail, at)
                self._settle(row, detail, at)
            elif row.open:
                self._lose(row, detail, at)
        self._writing.clear()
        self.tokens.clear()

    # -- time ------------------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        """When :meth:`tick` has something to do next, in monotonic seconds, or ``None``."""
        return self.deadlines.next()

    def tick(self, now: float) -> None:
        """Let the clocks that ran out by ``now`` have their effect."""
        for id_ in self.deadlines.pop_due(now):
            row = self._row(id_)
            if row.state is State.CANCEL_REQUESTED:
                self._settle(row, "", now)
                if self.transport == "http":
                    self._emit(Release(id=id_))
            elif row.state is State.IN_FLIGHT:
                self._expire(row, now)

    def _expire(self, row: Request, now: float) -> None:
        idle, maximum = row.deadlines()
        if maximum is not None and maximum <= now:
            limit = row.limits.maximum or 0.0
            self.cancel(row.id, Cause.MAX_TIMEOUT, f"timed out after {limit:g} s (maximum)", at=now)
            return
        if row.overdue_until is not None:
            if row.overdue_until <= now:
                self.cancel(row.id, Cause.TIMEOUT, self._timeout_reason(row), at=now)
                return
        elif idle is not None and idle <= now:
            if row.limits.ask <= 0:
                self.cancel(row.id, Cause.TIMEOUT, self._timeout_reason(row), at=now)
                return
            self._emit(ev.Overdue(at=now, id=row.id, until=now + row.limits.ask))
        self._arm(row)

    @staticmethod
    def _timeout_reason(row: Request) -> str:
        waited = row.limits.idle or 0.0
        if row.idle_until is not None and row.idle_from is not None:
            waited = row.idle_until - row.idle_from
        return f"timed out after {round(waited, 3):g} s"


def _name(method: str, params: Any) -> str:
    value = messages.as_object(params).get("uri" if method.startswith("resources/") else "name")
    return value if isinstance(value, str) else ""
