"""Planted bugs: each breaks one rule of the product, and the state machine or the simulation must notice.

Each takes a monkeypatch. Those of :data:`MACHINE` are found by the state machine of :mod:`tests.protocol.machine`, those of
:data:`SIMULATION` by :mod:`tests.simulation`.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from mcp_tui.client.client import Client
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence, messages, requests, responses, revisions
from mcp_tui.protocol import ledger as ledgers
from mcp_tui.protocol.clocks import Clocks
from mcp_tui.protocol.deadlines import Timer
from mcp_tui.protocol.events import Cause, Kind, RequestId, Signal
from mcp_tui.protocol.inbound import Inbound
from mcp_tui.protocol.ledger import CancelOutcome, Ledger
from mcp_tui.protocol.messages import Json, NotificationFrame, as_object
from mcp_tui.protocol.requests import Request, State
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


def a_cancel_over_modern_http_is_posted(patch: Patch) -> None:
    def way(_: Revision | None, __: str, ___: str, prescribed: Signal) -> Signal:
        return Signal.NOTIFICATION if prescribed is Signal.STREAM_CLOSED else prescribed

    _another_way(patch, way)


def a_cancel_before_2026_07_28_closes_the_stream(patch: Patch) -> None:
    def way(_: Revision | None, transport: str, method: str, prescribed: Signal) -> Signal:
        return Signal.STREAM_CLOSED if transport == "http" and method != "initialize" else prescribed

    _another_way(patch, way)


def a_cancelled_request_never_settles(patch: Patch) -> None:
    original = Ledger.settle

    def settle(self: Ledger, row: Request, detail: str, at: float) -> None:
        if detail:
            original(self, row, detail, at)

    patch.setattr(Ledger, "settle", settle)


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


def silence_is_told_of_what_nobody_listened_to(patch: Patch) -> None:
    def watched(row: Request, until: float) -> float:
        return 0.0 if row.signalled_at is None else until - row.signalled_at

    patch.setattr(evidence, "watched", watched)


# -- clocks ----------------------------------------------------------------------------------------------------


def progress_re_arms_the_maximum(patch: Patch) -> None:
    original = requests._progressed

    def progressed(row: Request, event: ev.Progress) -> None:
        original(row, event)
        if row.limits.max_timeout is not None and row.sent_at is not None:
            row.paused = event.at - row.sent_at

    patch.setattr(requests, "_progressed", progressed)


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


# -- tasks -----------------------------------------------------------------------------------------------------


def a_task_is_cancelled_by_a_notification(patch: Patch) -> None:
    def cancel(self: Tasks, row: Request, at: float) -> None:
        assert isinstance(self._ledger, Ledger)
        self._ledger._signal(row)

    patch.setattr(Tasks, "cancel", cancel)


def a_task_is_cancelled_twice(patch: Patch) -> None:
    original = Tasks._cancel_answered

    def answered(self: Tasks, row: Request, errand: Request, *more: Any) -> None:
        original(self, row, errand, *more)
        if row.state is State.CANCEL_REQUESTED:
            self.cancel(row, more[1])

    patch.setattr(Tasks, "_cancel_answered", answered)


def polls_go_on_behind_the_end(patch: Patch) -> None:
    patch.setattr(Tasks, "connection_ended", _nothing)


def a_task_that_is_over_is_remembered(patch: Patch) -> None:
    patch.setattr(Tasks, "_unfollow", _nothing)


SIMULATION: Final[dict[Bug, int]] = {
    a_second_cancel_leaves_again: 2,
    a_cancel_over_modern_http_is_posted: 7,
    a_cancel_before_2026_07_28_closes_the_stream: 7,
    a_cancelled_request_never_settles: 3,
    a_recalled_signal_leaves_all_the_same: 2,
    a_late_reply_revives_a_request: 4,
    a_late_reply_leaves_no_trace: 4,
    progress_re_arms_the_maximum: 3,
    the_time_shown_runs_on: 9,
    a_close_leaves_the_timer: 10,
    a_closed_connection_forgets_what_is_cancelled: 8,
    a_row_changes_without_an_event: 6,
    a_cancel_of_the_servers_hits_ours: 1,
    a_round_goes_out_under_its_old_id: 5,
    questions_stay_open_behind_a_cancel: 10,
    a_task_is_cancelled_by_a_notification: 2,
    silence_is_told_of_what_nobody_listened_to: 11,
}
"""Bugs that the simulation finds, with the number of the invariant that each breaks there."""

MACHINE: Final[list[Bug]] = [
    a_duplicate_counts_as_late,
    what_was_withdrawn_is_answered,
    prompts_outlive_the_connection,
    a_task_is_cancelled_twice,
    an_answer_that_is_owed_overtakes_the_signal,
    a_withdrawn_prompt_stops_the_clocks_for_ever,
    polls_go_on_behind_the_end,
    a_task_that_is_over_is_remembered,
]
"""Bugs that the state machine finds, and the simulation does not."""
