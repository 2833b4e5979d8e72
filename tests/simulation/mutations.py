"""Planted bugs. Each replaces a piece of the product by one that breaks an invariant; the simulation has to find it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Any, Final
from unittest import mock

from mcp_tui.client.client import Client
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import ledger as ledgers
from mcp_tui.protocol import messages, revisions
from mcp_tui.protocol.arrivals import Arrivals
from mcp_tui.protocol.books import Books
from mcp_tui.protocol.effects import CancelOutcome, Release, Reply, Resolve, Send
from mcp_tui.protocol.events import Cause, RequestId, Signal
from mcp_tui.protocol.inbound import Inbound
from mcp_tui.protocol.ledger import Ledger
from mcp_tui.protocol.messages import Json, NotificationFrame, RequestFrame, ResponseFrame
from mcp_tui.protocol.requests import TRANSITIONS, Book, Request, State
from mcp_tui.protocol.revisions import Cancellation, Revision
from mcp_tui.protocol.sending import Sending
from mcp_tui.protocol.tasks import Tasks

Patch = contextlib.AbstractContextManager[Any]

# The originals, under names that survive the patching. All of them are methods that only the classes themselves call.
_conclude: Callable[..., None] = vars(ledgers.Arrivals.__mro__[1])["_conclude"]
_late: Callable[..., None] = vars(ledgers.Arrivals.__mro__[1])["_late"]
_advance: Callable[..., None] = vars(Arrivals)["_advance"]
_settle: Callable[..., None] = vars(Books)["_settle"]
_signal: Callable[..., bool] = vars(Ledger)["_signal"]
_cancel = Ledger.cancel
_cancelled = Inbound.cancelled
_closed = Ledger.closed
_cancellation = revisions.cancellation
_call = Ledger.call
_cancel_answered: Callable[..., None] = vars(Tasks)["_cancel_answered"]
ANSWERS: Final = ledgers.Arrivals.__mro__[1]


def _method(of: type, name: str, bad: Callable[..., Any]) -> Patch:
    return mock.patch.object(of, name, bad)


@contextlib.contextmanager
def late_reply_revives() -> Generator[None]:
    """A reply that comes late makes its request complete."""

    def late(self: Any, row: Request, kind: ev.Kind, at: float, seq: int, **more: Any) -> None:
        if kind is ev.Kind.RESULT and row.state is State.CANCEL_REQUESTED:
            frame = ResponseFrame(id=row.id, result={}, size=2)
            self._over(row, ev.Completed(at=at, id=row.id, seq=seq), frame)
        else:
            _late(self, row, kind, at, seq, **more)

    table = {**TRANSITIONS[State.CANCEL_REQUESTED], ev.Completed: State.COMPLETED}
    with _method(ANSWERS, "_late", late), mock.patch.dict(TRANSITIONS, {State.CANCEL_REQUESTED: table}):
        yield


def second_signal() -> Patch:
    """A request that is cancelled again has its signal sent again (C-09)."""

    def cancel(self: Any, id: RequestId, cause: Cause, reason: str, **more: Any) -> CancelOutcome:
        row = self.book.get(id)
        if row is not None and row.state is State.CANCEL_REQUESTED and row.signalled_at is not None:
            _signal(self, row)
        return _cancel(self, id, cause, reason, **more)

    return _method(Ledger, "cancel", cancel)


@contextlib.contextmanager
def signal_for_initialize() -> Generator[None]:
    """``initialize`` is cancelled like everything else, reason and all (C-22)."""

    def cancellation(revision: Revision | None, transport: str, method: str) -> Cancellation:
        if method == "initialize":
            return Cancellation(signal=Signal.NOTIFICATION, reason_delivered=True, why="")
        return _cancellation(revision, transport, method)

    with (
        mock.patch.object(ledgers, "cancellation", cancellation),
        mock.patch.object(ledgers, "UNCANCELLABLE", frozenset[str]()),
    ):
        yield


def foreign_progress_rearms() -> Patch:
    """Progress sets back the clock of the newest request, whatever its token (C-20)."""

    def advance(self: Any, row: Request, fields: dict[str, Json], message: Json, at: float, seq: int) -> None:
        flying = [each for each in self._live.values() if each.state is State.IN_FLIGHT]
        _advance(self, flying[-1] if flying else row, fields, message, at, seq)

    return _method(Arrivals, "_advance", advance)


def closed_stream_in_handshake_era() -> Patch:
    """A cancel over HTTP closes the stream in every revision (C-34: before 2026-07-28 that is none)."""

    def cancellation(revision: Revision | None, transport: str, method: str) -> Cancellation:
        if transport == "http" and method != "initialize":
            return Cancellation(signal=Signal.STREAM_CLOSED, reason_delivered=False, why="")
        return _cancellation(revision, transport, method)

    return mock.patch.object(ledgers, "cancellation", cancellation)


def notification_over_modern_http() -> Patch:
    """A cancel over HTTP is posted in every revision (C-03)."""

    def cancellation(revision: Revision | None, transport: str, method: str) -> Cancellation:
        if transport == "http" and method != "initialize":
            return Cancellation(signal=Signal.NOTIFICATION, reason_delivered=True, why="")
        return _cancellation(revision, transport, method)

    return mock.patch.object(ledgers, "cancellation", cancellation)


def stuck_progress_rearms() -> Patch:
    """Progress that does not increase sets the clock back all the same (C-20)."""

    def advance(self: Any, row: Request, fields: dict[str, Json], message: Json, at: float, seq: int) -> None:
        value = messages.number(fields.get("progress"))
        if value is not None:
            self._emit(ev.Progress(at=at, id=row.id, progress=value, seq=seq))
            self._arm(row)

    return _method(Arrivals, "_advance", advance)


def maximum_never_comes() -> Patch:
    """Progress that never ends keeps a request alive for ever: the maximum is not looked at."""
    deadlines = Request.deadlines

    def idle_only(self: Request) -> tuple[float | None, float | None]:
        return deadlines(self)[0], None

    return _method(Request, "deadlines", idle_only)


def late_reply_is_swallowed() -> Patch:
    """A late reply leaves no trace."""

    def late(self: Any, row: Request, kind: ev.Kind, at: float, seq: int, **_: Any) -> None:
        self._violation("late", kind.value, at, seq)

    return _method(ANSWERS, "_late", late)


def an_answer_for_the_callers_of_late() -> Patch:
    """Who waits for a cancelled request is given its late reply."""

    def late(self: Any, row: Request, kind: ev.Kind, at: float, seq: int, **more: Any) -> None:
        _late(self, row, kind, at, seq, **more)
        self._emit(Resolve(id=row.id, frame=ResponseFrame(id=row.id, result={}, size=2)))

    def leaving(self: Any, id: RequestId) -> None:
        self._signal_queued.pop(id, None)

    stack = contextlib.ExitStack()
    stack.enter_context(_method(ANSWERS, "_late", late))
    stack.enter_context(_method(Ledger, "signal_leaving", leaving))
    return stack


def reply_does_not_withdraw() -> Patch:
    """A reply that comes while the signal is still queued lets it leave."""

    def recall(self: Any, row: Request, at: float, *, undelivered: str = "") -> bool:
        return self._signal_queued.pop(row.id, None) is not None

    return _method(Books, "_recall", recall)


def unsent_is_signalled() -> Patch:
    """A request of which nothing was written is cancelled by a signal (C-06)."""

    def cancel(self: Any, id: RequestId, cause: Cause, reason: str, **more: Any) -> CancelOutcome:
        row = self.book.get(id)
        if row is not None and row.state is State.QUEUED:
            self._writing.add(id)
        return _cancel(self, id, cause, reason, **more)

    return _method(Ledger, "cancel", cancel)


def servers_cancel_hits_ours() -> Patch:
    """A cancel of the server's that names an id of ours cancels it (C-52)."""

    def cancelled(self: Any, frame: NotificationFrame, at: float, seq: int) -> None:
        id_ = messages.as_object(frame.params).get("requestId")
        row = self.book.get(id_) if messages.is_request_id(id_) else None
        if row is not None and row.open:
            self._over(row, ev.Lost(at=at, id=row.id, detail="cancelled by the server"))

    return _method(Arrivals, "_cancelled", cancelled)


def closing_forgets_one() -> Patch:
    """What is being cancelled when the connection closes stays as it is (C-41)."""

    def closed(self: Any, detail: str, *, at: float) -> None:
        for id_, row in list(self._live.items()):
            if row.state is State.CANCEL_REQUESTED:
                del self._live[id_]
        _closed(self, detail, at=at)

    return _method(Ledger, "closed", closed)


def ids_begin_again() -> Patch:
    """A new connection counts from 1 again."""

    def closed(self: Any, detail: str, *, at: float) -> None:
        _closed(self, detail, at=at)
        self._next_id, self.book = 1, Book()

    return _method(Ledger, "closed", closed)


def modern_server_is_answered() -> Patch:
    """A request of a server of 2026-07-28 is answered (C-70)."""

    def request(self: Any, frame: RequestFrame, *_: Any) -> None:
        self._emit(Reply(request_id=frame.id, message=messages.result(frame.id, {})))

    return _method(Arrivals, "_request", request)


def release_while_cancelling() -> Patch:
    """The stream of a request is let go as soon as its cancel is posted."""

    def cancel(self: Any, id: RequestId, cause: Cause, reason: str, **more: Any) -> CancelOutcome:
        outcome = _cancel(self, id, cause, reason, **more)
        if self.transport == "http" and outcome is CancelOutcome.REQUESTED:
            self._emit(Release(id=id))
        return outcome

    return _method(Ledger, "cancel", cancel)


def timer_is_left() -> Patch:
    """A close leaves the client's timer running."""

    async def close(self: Any) -> None:
        await self.cancel_all(Cause.SHUTDOWN, "")
        if self.transport is not None:
            await self.transport.close()
        self._timer = None
        self.ledger.deadlines.arm(1, self.now() + 5.0)
        self._timer_at = None
        self._keep_time()

    return _method(Client, "close", close)


def never_settles() -> Patch:
    """A cancelled request is never settled by its grace."""

    def settle(self: Any, row: Request, detail: str, at: float) -> None:
        if detail:
            _settle(self, row, detail, at)

    return _method(Books, "_settle", settle)


def round_keeps_its_id() -> Patch:
    """A request whose input was given goes out again under the id that was answered (C-66)."""

    def dispatch(self: Any, row: Request, params: Json) -> None:
        message = messages.request(row.id, row.method, self._with_meta(params, row))
        self._emit(Send(id=row.wire_id, method=row.method, name=row.name, message=message))

    return _method(Sending, "_dispatch", dispatch)


def task_is_notified() -> Patch:
    """A call that was asked for as a task of 2025-11-25 is cancelled like any other (C-80)."""

    def cancel(self: Any, id: RequestId, cause: Cause, reason: str, **more: Any) -> CancelOutcome:
        outcome = _cancel(self, id, cause, reason, **more)
        if outcome is CancelOutcome.HELD:
            _signal(self, self.book.get(id))
        return outcome

    return _method(Ledger, "cancel", cancel)


def withdrawn_is_answered() -> Patch:
    """What the server took back is answered all the same (C-50)."""

    def cancelled(self: Any, frame: NotificationFrame, *, at: float, seq: int) -> bool:
        waiting = dict(self.waiting)
        meant = _cancelled(self, frame, at=at, seq=seq)
        if meant:
            request_id = messages.as_object(frame.params)["requestId"]
            self.waiting[type(request_id), request_id] = waiting[type(request_id), request_id]
            self.answer(request_id, {"action": "cancel"}, at=at)
        return meant

    return _method(Inbound, "cancelled", cancelled)


def task_is_cancelled_again() -> Patch:
    """``tasks/cancel`` is sent once more when it was answered."""

    def answered(self: Any, row: Request, errand: Request, *more: Any) -> None:
        _cancel_answered(self, row, errand, *more)
        if row.state is State.CANCEL_REQUESTED:
            self._cancel_task(row, more[1])

    return _method(Tasks, "_cancel_answered", answered)


MUTATIONS: Final[dict[str, tuple[Callable[[], Patch], int]]] = {
    bug.__name__: (bug, number)
    for bug, number in (
        (late_reply_revives, 4),
        (second_signal, 2),
        (signal_for_initialize, 2),
        (foreign_progress_rearms, 3),
        (closed_stream_in_handshake_era, 7),
        (notification_over_modern_http, 7),
        (stuck_progress_rearms, 3),
        (maximum_never_comes, 3),
        (late_reply_is_swallowed, 4),
        (an_answer_for_the_callers_of_late, 4),
        (reply_does_not_withdraw, 2),
        (unsent_is_signalled, 2),
        (servers_cancel_hits_ours, 1),
        (closing_forgets_one, 8),
        (ids_begin_again, 5),
        (modern_server_is_answered, 2),
        (release_while_cancelling, 7),
        (timer_is_left, 10),
        (never_settles, 3),
        (round_keeps_its_id, 5),
        (task_is_notified, 12),
        (withdrawn_is_answered, 11),
        (task_is_cancelled_again, 12),
    )
}
"""Each planted bug, and the invariant that it breaks."""
