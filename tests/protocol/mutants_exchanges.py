"""Planted defects in rounds, tasks and prompts: each breaks a rule of :mod:`tests.protocol.witness`, which must notice."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from typing import Any

from mcp_tui.protocol import effects as fx
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.answers import Answers
from mcp_tui.protocol.arrivals import Arrivals
from mcp_tui.protocol.clocks import Clocks
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.inbound import Inbound
from mcp_tui.protocol.ledger import Ledger
from mcp_tui.protocol.messages import Json, NotificationFrame, ResponseFrame
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.rounds import Rounds
from mcp_tui.protocol.sending import Sending
from mcp_tui.protocol.tasks import Tasks
from tests.protocol.mutants import Mutant, Patch


def _nothing(*_: Any, **__: Any) -> None:
    pass


def a_round_goes_out_under_its_old_id(patch: Patch) -> None:
    original = Sending._round

    def round_(self: Sending, row: Request, params: Json, why: str, at: float, *, held: bool = False) -> None:
        with patch.context() as inner:
            inner.setattr(self, "_new_id", lambda: row.wire_id)
            original(self, row, params, why, at, held=held)

    patch.setattr(Sending, "_leg", round_)


def a_task_is_cancelled_by_a_notification(patch: Patch) -> None:
    def cancel_task(self: Ledger, row: Request, at: float) -> None:
        self._signal(row)

    patch.setattr(Ledger, "_cancel_task", cancel_task)


def a_task_is_cancelled_twice(patch: Patch) -> None:
    original = Tasks._cancel_answered

    def answered(
        self: Tasks, row: Request, errand: Request, frame: ResponseFrame | None, at: float, seq: int
    ) -> None:
        original(self, row, errand, frame, at, seq)
        self._cancel_task(row, at)

    patch.setattr(Tasks, "_cancel_answered", answered)


def an_answer_leaves_although_it_was_withdrawn(patch: Patch) -> None:
    original = Inbound.cancelled

    def cancelled(self: Inbound, frame: NotificationFrame, *, at: float, seq: int) -> bool:
        waiting = dict(self.waiting)
        meant = original(self, frame, at=at, seq=seq)
        self.waiting.update(waiting)
        return meant

    patch.setattr(Inbound, "cancelled", cancelled)


def an_answer_that_is_owed_overtakes_the_signal(patch: Patch) -> None:
    original = Ledger._signal

    def signal(self: Ledger, row: Request) -> bool:
        leaves = original(self, row)
        if row.cancel_at is not None:
            self.inbound.pay(row.id, at=row.cancel_at)
        return leaves

    patch.setattr(Ledger, "_signal", signal)


def an_answer_that_is_owed_never_leaves(patch: Patch) -> None:
    patch.setattr(Inbound, "pay", _nothing)


def a_withdrawn_prompt_stops_the_clocks_for_ever(patch: Patch) -> None:
    original = Clocks._clocks_stand

    def clocks_stand(self: Clocks, at: float, only: Request | None = None) -> None:
        if only is not None or self.inbound.waiting:
            original(self, at, only)

    patch.setattr(Clocks, "_clocks_stand", clocks_stand)


def a_task_that_asks_stops_no_clock(patch: Patch) -> None:
    def asked_by_task(self: Clocks, row: Request) -> bool:
        return False

    patch.setattr(Clocks, "_asked_by_task", asked_by_task)


def polls_go_on_behind_the_end(patch: Patch) -> None:
    patch.setattr(Tasks, "_tasks_gone", _nothing)


def a_poll_that_fails_is_the_last(patch: Patch) -> None:
    original = Tasks._polled

    def polled(
        self: Tasks, row: Request, errand: Request, frame: ResponseFrame | None, at: float, seq: int
    ) -> None:
        if frame is not None and frame.error is None:
            original(self, row, errand, frame, at, seq)

    patch.setattr(Tasks, "_polled", polled)


def a_task_that_is_over_is_remembered(patch: Patch) -> None:
    patch.setattr(Tasks, "_unfollow", _nothing)


def what_was_asked_for_is_kept_for_ever(patch: Patch) -> None:
    patch.setattr(Rounds, "_forget", Sending._forget)


def questions_stay_open_behind_a_cancel(patch: Patch) -> None:
    patch.setattr(Rounds, "_stop_gathering", _nothing)


def input_is_asked_for_although_it_was_cancelled(patch: Patch) -> None:
    original = Answers._recall

    def recall(self: Answers, row: Request, at: float, *, undelivered: str = "") -> bool:
        there = original(self, row, at, undelivered=undelivered)
        if there and row.state is State.CANCEL_REQUESTED:
            self._emit(ev.CancelWithdrawn(at=at, id=row.id))
            self._emit(fx.Gather(id=row.id, requests={}))
        return there

    patch.setattr(Answers, "_recall", recall)


def the_maximum_runs_while_a_person_is_asked(patch: Patch) -> None:
    original = Rounds._input_required

    def input_required(self: Rounds, row: Request, frame: ResponseFrame, at: float, seq: int) -> str:
        problem = original(self, row, frame, at, seq)
        if row.open:
            self.deadlines.arm(row.id, at + 1.0)
        return problem

    patch.setattr(Rounds, "_input_required", input_required)


def progress_of_an_earlier_leg_re_arms(patch: Patch) -> None:
    original = Arrivals._violation

    def violation(
        self: Arrivals, rule: str, detail: str, at: float, seq: int, id_: RequestId | None = None
    ) -> None:
        original(self, rule, detail, at, seq, id_)
        row = None if id_ is None else self._live.get(id_)
        if rule == "stray-progress" and row is not None and row.state is State.IN_FLIGHT:
            self._emit(ev.Progress(at=at, id=row.id, progress=1.0))
            self._arm(row)

    patch.setattr(Arrivals, "_violation", violation)


def a_late_task_keeps_its_row_from_settling(patch: Patch) -> None:
    original = Tasks._created

    def created(self: Tasks, row: Request, task: dict[str, Json], at: float, seq: int) -> str:
        self.deadlines.arm(row.id, None)
        return original(self, row, task, at, seq)

    patch.setattr(Tasks, "_created", created)


def prompts_outlive_the_connection(patch: Patch) -> None:
    patch.setattr(Inbound, "closed", _nothing)


MUTANTS: list[Mutant] = [
    a_round_goes_out_under_its_old_id,
    a_task_is_cancelled_by_a_notification,
    a_task_is_cancelled_twice,
    an_answer_leaves_although_it_was_withdrawn,
    an_answer_that_is_owed_overtakes_the_signal,
    an_answer_that_is_owed_never_leaves,
    a_withdrawn_prompt_stops_the_clocks_for_ever,
    a_task_that_asks_stops_no_clock,
    polls_go_on_behind_the_end,
    a_poll_that_fails_is_the_last,
    a_task_that_is_over_is_remembered,
    what_was_asked_for_is_kept_for_ever,
    questions_stay_open_behind_a_cancel,
    input_is_asked_for_although_it_was_cancelled,
    the_maximum_runs_while_a_person_is_asked,
    a_late_task_keeps_its_row_from_settling,
    prompts_outlive_the_connection,
]
