"""Planted bugs: each breaks one rule of the product, and the state machine or the simulation must notice.

Each takes a monkeypatch. Those of :data:`MACHINE` are found by the state machine of :mod:`tests.protocol.machine`, those of
:data:`SIMULATION` by :mod:`tests.simulation`.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any, Final

import pytest

from mcp_tui.client.client import Client
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence, messages, requests, responses, revisions
from mcp_tui.protocol import ledger as ledgers
from mcp_tui.protocol.clocks import Clocks
from mcp_tui.protocol.core import Live
from mcp_tui.protocol.deadlines import Timer
from mcp_tui.protocol.events import Cause, Kind, RequestId, Signal
from mcp_tui.protocol.inbound import Inbound
from mcp_tui.protocol.ledger import CancelOutcome, Ledger
from mcp_tui.protocol.messages import Json, NotificationFrame, RequestFrame, ResponseFrame, as_object
from mcp_tui.protocol.requests import RUNNING, Request, Requests, State
from mcp_tui.protocol.responses import ResponseRole, Responses
from mcp_tui.protocol.revisions import Revision
from mcp_tui.protocol.tasks import Rounds, Tasks
from mcp_tui.protocol.transitions import TRANSITIONS

Patch = pytest.MonkeyPatch
Bug = Callable[[Patch], None]


def _nothing(*_: Any, **__: Any) -> None:
    pass


def _after_cancel(patch: Patch, then: Callable[[Ledger, Request, CancelOutcome], None]) -> None:
    original = Ledger.cancel

    def cancel(self: Ledger, id: RequestId, cause: Cause, reason: str, **more: Any) -> CancelOutcome:
        outcome = original(self, id, cause, reason, **more)
        row = self.requests.get(id)
        if row is not None:
            then(self, row, outcome)
        return outcome

    patch.setattr(Ledger, "cancel", cancel)


def _another_way(patch: Patch, way: Callable[[Revision | None, str, str, Signal], Signal]) -> None:
    original = revisions.cancellation

    def cancellation(revision: Revision | None, transport: str, method: str, **more: Any) -> Any:
        prescribed = original(revision, transport, method, **more)
        return replace(prescribed, signal=way(revision, transport, method, prescribed.signal))

    patch.setattr(ledgers, "cancellation", cancellation)


# -- how a cancel leaves ---------------------------------------------------------------------------------------


def a_second_cancel_leaves_again(patch: Patch) -> None:
    def again(self: Ledger, row: Request, outcome: CancelOutcome) -> None:
        if row.state is State.CANCEL_REQUESTED and outcome is CancelOutcome.ALREADY_REQUESTED:
            self._signal(row)

    _after_cancel(patch, again)


def initialize_is_cancelled(patch: Patch) -> None:
    def way(_: Revision | None, __: str, method: str, prescribed: Signal) -> Signal:
        return Signal.NOTIFICATION if method == "initialize" else prescribed

    patch.setattr(ledgers, "UNCANCELLABLE", frozenset[str]())
    _another_way(patch, way)


def a_cancel_leaves_for_what_was_never_sent(patch: Patch) -> None:
    original = Ledger.cancel

    def cancel(self: Ledger, id: RequestId, cause: Cause, reason: str, **more: Any) -> CancelOutcome:
        row = self.requests.get(id)
        if row is not None and row.state is State.QUEUED:
            self._writing.add(row.wire_id)
        return original(self, id, cause, reason, **more)

    patch.setattr(Ledger, "cancel", cancel)


def a_cancel_over_modern_http_is_posted(patch: Patch) -> None:
    def way(_: Revision | None, __: str, ___: str, prescribed: Signal) -> Signal:
        return Signal.NOTIFICATION if prescribed is Signal.STREAM_CLOSED else prescribed

    _another_way(patch, way)


def a_cancel_before_2026_07_28_closes_the_stream(patch: Patch) -> None:
    def way(_: Revision | None, transport: str, method: str, prescribed: Signal) -> Signal:
        return Signal.STREAM_CLOSED if transport == "http" and method != "initialize" else prescribed

    _another_way(patch, way)


def the_stream_is_released_as_soon_as_its_cancel_is_posted(patch: Patch) -> None:
    def release(self: Ledger, row: Request, outcome: CancelOutcome) -> None:
        if self.negotiated.transport == "http" and outcome is CancelOutcome.REQUESTED:
            self.do(self.port.release, row.id)

    _after_cancel(patch, release)


def a_cancelled_request_never_settles(patch: Patch) -> None:
    original = Ledger.settle

    def settle(self: Ledger, row: Request, detail: str, at: float) -> None:
        if detail:
            original(self, row, detail, at)

    patch.setattr(Ledger, "settle", settle)


def a_queued_signal_is_not_withdrawn(patch: Patch) -> None:
    patch.setattr(Responses, "_withdraw_cancel", _nothing)


def a_recalled_signal_leaves_all_the_same(patch: Patch) -> None:
    def recall(self: Ledger, row: Request, at: float, *, for_good: bool = False) -> bool:
        return self._signal_queued.pop(row.id, None) is not None

    patch.setattr(Ledger, "recall", recall)


# -- what comes behind it --------------------------------------------------------------------------------------


def a_late_reply_revives_a_request(patch: Patch) -> None:
    for event, state in ((ev.Completed, State.COMPLETED), (ev.Failed, State.FAILED)):
        patch.setitem(TRANSITIONS[State.CANCEL_REQUESTED], event, state)
    original = responses.role_of

    def role_of(row: Request, kind: Kind) -> ResponseRole:
        return ResponseRole.OUTCOME if row.state is State.CANCEL_REQUESTED else original(row, kind)

    patch.setattr(responses, "role_of", role_of)


def a_late_reply_is_delivered(patch: Patch) -> None:
    original = Responses.late

    def late(self: Responses, row: Request, kind: Kind, at: float, seq: int, **more: Any) -> None:
        original(self, row, kind, at, seq, **more)
        if kind is Kind.RESULT:
            self._core.do(self._core.port.resolve, row.id, ResponseFrame(id=row.id, outline={}))

    def leaving(self: Ledger, id: RequestId) -> None:
        self._signal_queued.pop(id, None)

    patch.setattr(Responses, "late", late)
    patch.setattr(Ledger, "signal_leaving", leaving)


def a_late_reply_leaves_no_trace(patch: Patch) -> None:
    def late(self: Responses, row: Request, kind: Kind, at: float, seq: int, **_: Any) -> None:
        self._core.violation("late", kind.value, at, seq)

    patch.setattr(Responses, "late", late)


def a_duplicate_counts_as_late(patch: Patch) -> None:
    def role_of(row: Request, kind: Kind) -> ResponseRole:
        del kind
        if row.state in (State.COMPLETED, State.FAILED):
            return ResponseRole.DUPLICATE
        return ResponseRole.OUTCOME if row.open else ResponseRole.LATE

    patch.setattr(responses, "role_of", role_of)


# -- what is said of it ----------------------------------------------------------------------------------------


def what_is_not_confirmed_is_told_as_not_delivered(patch: Patch) -> None:
    original = Ledger._grace_over

    def grace_over(self: Ledger, live: Live, now: float) -> None:
        row = live.row
        if row.answer_owed and row.accepted_at is None and not row.undelivered:
            self.emit(ev.Undelivered(at=now, id=row.id, detail="not confirmed"))
        original(self, live, now)

    patch.setattr(Ledger, "_grace_over", grace_over)


def silence_is_told_of_what_nobody_listened_to(patch: Patch) -> None:
    def watched(row: Request, until: float) -> float:
        return 0.0 if row.signalled_at is None else until - row.signalled_at

    patch.setattr(evidence, "watched", watched)


# -- clocks ----------------------------------------------------------------------------------------------------


def progress_of_another_token_re_arms(patch: Patch) -> None:
    original = Inbound._advance

    def advance(self: Inbound, row: Request, params: dict[str, Json], at: float, seq: int) -> None:
        flying = [each.row for each in self._core.live.values() if each.row.state is State.IN_FLIGHT]
        original(self, flying[-1] if flying else row, params, at, seq)

    patch.setattr(Inbound, "_advance", advance)


def progress_re_arms_the_maximum(patch: Patch) -> None:
    original = requests._progressed

    def progressed(row: Request, event: ev.Progress) -> None:
        original(row, event)
        if row.limits.max_timeout is not None and row.sent_at is not None:
            row.paused = event.at - row.sent_at

    patch.setattr(requests, "_progressed", progressed)


def the_maximum_is_not_looked_at(patch: Patch) -> None:
    original = Request.deadlines

    def idle_only(self: Request) -> tuple[float | None, float | None]:
        return original(self)[0], None

    patch.setattr(Request, "deadlines", idle_only)


def progress_that_does_not_increase_re_arms(patch: Patch) -> None:
    original = Inbound._advance

    def advance(self: Inbound, row: Request, params: dict[str, Json], at: float, seq: int) -> None:
        value = messages.number(params.get("progress"))
        if value is None or row.state not in RUNNING:
            original(self, row, params, at, seq)
        else:
            self._core.emit(ev.Progress(at=at, id=row.id, progress=value, seq=seq))
            self._clocks.arm(row)

    patch.setattr(Inbound, "_advance", advance)


def the_time_shown_runs_on(patch: Patch) -> None:
    def elapsed(self: Request, now: float) -> float:
        return 0.0 if self.sent_at is None else now - self.sent_at

    patch.setattr(Request, "elapsed", elapsed)


def a_close_leaves_the_timer(patch: Patch) -> None:
    original = Client.close

    async def close(self: Client) -> None:
        await original(self)
        self.ledger.deadlines.arm(Timer.LIMIT, 1, self.now() + 5.0)
        self._keep_time()

    patch.setattr(Client, "close", close)


# -- requests and connections -------------------------------------------------------------------------------------


def an_id_is_used_again_behind_a_new_connection(patch: Patch) -> None:
    original = Ledger.closed

    def closed(self: Ledger, detail: str, *, at: float, **more: Any) -> None:
        original(self, detail, at=at, **more)
        self._ids, self.requests = count(1), Requests()

    patch.setattr(Ledger, "closed", closed)


def a_closed_connection_forgets_what_is_cancelled(patch: Patch) -> None:
    original = Ledger.closed

    def closed(self: Ledger, detail: str, *, at: float, **more: Any) -> None:
        for id_, live in list(self.live.items()):
            if live.row.state is State.CANCEL_REQUESTED:
                del self.live[id_]
        original(self, detail, at=at, **more)

    patch.setattr(Ledger, "closed", closed)


def a_row_changes_without_an_event(patch: Patch) -> None:
    original = Ledger.settle

    def settle(self: Ledger, row: Request, detail: str, at: float) -> None:
        original(self, row, detail, at)
        row.version += 1

    patch.setattr(Ledger, "settle", settle)


# -- the server's requests -------------------------------------------------------------------------------------


def a_cancel_of_the_servers_hits_ours(patch: Patch) -> None:
    def cancelled(self: Inbound, frame: NotificationFrame, at: float, seq: int) -> None:
        id_ = as_object(frame.params).get("requestId")
        row = self._core.requests.get(id_) if messages.is_request_id(id_) else None
        if row is not None and row.open:
            self._ledger.over(row, ev.Lost(at=at, id=row.id, detail="cancelled by the server"))

    patch.setattr(Inbound, "_cancelled", cancelled)


def a_modern_server_is_answered(patch: Patch) -> None:
    def receive(self: Inbound, frame: RequestFrame, **_: Any) -> None:
        self._core.do(self._core.port.reply, messages.result(frame.id, {}))

    patch.setattr(Inbound, "receive", receive)


def what_was_withdrawn_is_answered(patch: Patch) -> None:
    original = Inbound._withdrawn

    def withdrawn(self: Inbound, request_id: RequestId, reason: str, at: float, seq: int) -> bool:
        waiting = dict(self.waiting)
        meant = original(self, request_id, reason, at, seq)
        if meant:
            self.waiting = waiting
            self.answer(request_id, {"action": "cancel"}, at=at)
        return meant

    patch.setattr(Inbound, "_withdrawn", withdrawn)


def an_answer_that_is_owed_overtakes_the_signal(patch: Patch) -> None:
    original = Ledger._signal

    def signal(self: Ledger, row: Request) -> bool:
        leaves = original(self, row)
        if row.cancel_at is not None:
            self.send_owed(row.id, row.cancel_at)
        return leaves

    patch.setattr(Ledger, "_signal", signal)


def an_answer_that_is_owed_never_leaves(patch: Patch) -> None:
    patch.setattr(Inbound, "send_owed", _nothing)


def a_withdrawn_prompt_stops_the_clocks_for_ever(patch: Patch) -> None:
    original = Clocks.pause_while_asked

    def pause(self: Clocks, at: float, only: Request | None = None) -> None:
        if only is not None or self._waiting():
            original(self, at, only)

    patch.setattr(Clocks, "pause_while_asked", pause)


def prompts_outlive_the_connection(patch: Patch) -> None:
    patch.setattr(Inbound, "closed", _nothing)


# -- rounds ----------------------------------------------------------------------------------------------------


def a_round_goes_out_under_its_old_id(patch: Patch) -> None:
    original = Ledger.dispatch

    def dispatch(self: Ledger, row: Request, params: Json) -> None:
        original(self, row, params)
        due = self._queue[-1]
        assert isinstance(due, tuple)
        message = due[1][-1]
        message["id"] = row.id

    patch.setattr(Ledger, "dispatch", dispatch)


def questions_stay_open_behind_a_cancel(patch: Patch) -> None:
    patch.setattr(Rounds, "stop_gathering", _nothing)


def input_is_asked_for_although_it_was_cancelled(patch: Patch) -> None:
    original = Ledger.recall

    def recall(self: Ledger, row: Request, at: float, *, for_good: bool = False) -> bool:
        there = original(self, row, at, for_good=for_good)
        if there and row.state is State.CANCEL_REQUESTED:
            self.emit(ev.CancelWithdrawn(at=at, id=row.id))
            self.do(self.port.gather, row.id, {})
        return there

    patch.setattr(Ledger, "recall", recall)


def the_maximum_runs_while_a_person_is_asked(patch: Patch) -> None:
    original = Rounds.input_required

    def input_required(self: Rounds, row: Request, frame: ResponseFrame, at: float, seq: int) -> str:
        problem = original(self, row, frame, at, seq)
        if row.open:
            self._core.deadlines.arm(Timer.LIMIT, row.id, at + 1.0)
        return problem

    patch.setattr(Rounds, "input_required", input_required)


# -- tasks -----------------------------------------------------------------------------------------------------


def a_task_is_cancelled_by_a_notification(patch: Patch) -> None:
    def cancel(self: Tasks, row: Request, at: float) -> None:
        assert isinstance(self._ledger, Ledger)
        self._ledger._signal(row)

    patch.setattr(Tasks, "cancel", cancel)


def a_call_as_a_task_is_cancelled_by_a_notification(patch: Patch) -> None:
    def signal(self: Ledger, row: Request, outcome: CancelOutcome) -> None:
        if outcome is CancelOutcome.AWAITS_TASK_ID:
            self._signal(row)

    _after_cancel(patch, signal)


def a_task_is_cancelled_twice(patch: Patch) -> None:
    original = Tasks._cancel_answered

    def answered(self: Tasks, row: Request, errand: Request, *more: Any) -> None:
        original(self, row, errand, *more)
        if row.state is State.CANCEL_REQUESTED:
            self.cancel(row, more[1])

    patch.setattr(Tasks, "_cancel_answered", answered)


def polls_go_on_behind_the_end(patch: Patch) -> None:
    patch.setattr(Tasks, "connection_ended", _nothing)


def a_poll_that_fails_is_the_last(patch: Patch) -> None:
    original = Tasks._polled

    def polled(self: Tasks, row: Request, errand: Request, frame: ResponseFrame | None, at: float) -> None:
        if frame is not None and frame.error is None:
            original(self, row, errand, frame, at)

    patch.setattr(Tasks, "_polled", polled)


def a_task_that_is_over_is_remembered(patch: Patch) -> None:
    patch.setattr(Tasks, "_unfollow", _nothing)


def a_late_task_keeps_its_row_from_settling(patch: Patch) -> None:
    original = Tasks.created

    def created(self: Tasks, row: Request, task: dict[str, Json], at: float, seq: int) -> str:
        self._core.deadlines.arm(Timer.LIMIT, row.id, None)
        return original(self, row, task, at, seq)

    patch.setattr(Tasks, "created", created)


def what_is_kept_of_a_request_stays_behind_its_end(patch: Patch) -> None:
    original = Ledger.over

    def over(self: Ledger, row: Request, *more: Any) -> None:
        live = self.live[row.id]
        original(self, row, *more)
        self.live[row.id] = live

    patch.setattr(Ledger, "over", over)


SIMULATION: Final[dict[Bug, int]] = {
    a_second_cancel_leaves_again: 2,
    initialize_is_cancelled: 2,
    a_cancel_leaves_for_what_was_never_sent: 2,
    a_cancel_over_modern_http_is_posted: 7,
    a_cancel_before_2026_07_28_closes_the_stream: 7,
    the_stream_is_released_as_soon_as_its_cancel_is_posted: 7,
    a_cancelled_request_never_settles: 3,
    a_queued_signal_is_not_withdrawn: 2,
    a_recalled_signal_leaves_all_the_same: 2,
    a_late_reply_revives_a_request: 4,
    a_late_reply_is_delivered: 4,
    a_late_reply_leaves_no_trace: 4,
    progress_of_another_token_re_arms: 3,
    progress_re_arms_the_maximum: 3,
    the_maximum_is_not_looked_at: 3,
    progress_that_does_not_increase_re_arms: 3,
    the_time_shown_runs_on: 9,
    a_close_leaves_the_timer: 10,
    an_id_is_used_again_behind_a_new_connection: 5,
    a_closed_connection_forgets_what_is_cancelled: 8,
    a_row_changes_without_an_event: 6,
    a_cancel_of_the_servers_hits_ours: 1,
    a_round_goes_out_under_its_old_id: 5,
    questions_stay_open_behind_a_cancel: 10,
    input_is_asked_for_although_it_was_cancelled: 10,
    a_task_is_cancelled_by_a_notification: 2,
    a_late_task_keeps_its_row_from_settling: 3,
    what_is_kept_of_a_request_stays_behind_its_end: 8,
    silence_is_told_of_what_nobody_listened_to: 11,
}
"""Bugs that the simulation finds, with the number of the invariant that each breaks there."""

MACHINE: Final[list[Bug]] = [
    a_duplicate_counts_as_late,
    what_is_not_confirmed_is_told_as_not_delivered,
    a_modern_server_is_answered,
    what_was_withdrawn_is_answered,
    prompts_outlive_the_connection,
    a_call_as_a_task_is_cancelled_by_a_notification,
    a_task_is_cancelled_twice,
    an_answer_that_is_owed_overtakes_the_signal,
    an_answer_that_is_owed_never_leaves,
    a_withdrawn_prompt_stops_the_clocks_for_ever,
    the_maximum_runs_while_a_person_is_asked,
    polls_go_on_behind_the_end,
    a_poll_that_fails_is_the_last,
    a_task_that_is_over_is_remembered,
]
"""Bugs that the state machine finds, and the simulation does not."""
