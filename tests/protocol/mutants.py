"""Planted defects: each breaks one rule of the ledger, and the state machine must notice."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from mcp_tui.protocol import answers, books, ledger, requests, revisions
from mcp_tui.protocol import effects as fx
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.answers import Answers
from mcp_tui.protocol.arrivals import Arrivals
from mcp_tui.protocol.effects import CancelOutcome
from mcp_tui.protocol.events import Cause, Kind, RequestId, Signal
from mcp_tui.protocol.ledger import Ledger
from mcp_tui.protocol.messages import Json, ResponseFrame, as_object
from mcp_tui.protocol.requests import TRANSITIONS, Request, State

Patch = pytest.MonkeyPatch
Mutant = Callable[[Patch], None]


def a_late_reply_revives_a_request(patch: Patch) -> None:
    for event, state in ((ev.Completed, State.COMPLETED), (ev.Failed, State.FAILED)):
        patch.setitem(TRANSITIONS[State.CANCEL_REQUESTED], event, state)
    original = Answers._answer

    def answer(self: Answers, row: Request, frame: ResponseFrame, at: float, seq: int) -> None:
        if row.state is State.CANCEL_REQUESTED:
            self._conclude(row, frame, at, seq)
        else:
            original(self, row, frame, at, seq)

    patch.setattr(Answers, "_answer", answer)


def a_late_reply_is_delivered(patch: Patch) -> None:
    original = Answers._late

    def late(self: Answers, row: Request, kind: Kind, at: float, seq: int, **more: Any) -> None:
        original(self, row, kind, at, seq, **more)
        if kind is Kind.RESULT:
            self._emit(fx.Resolve(id=row.id, frame=ResponseFrame(id=row.id, result={})))

    patch.setattr(Answers, "_late", late)


def a_second_cancel_leaves_again(patch: Patch) -> None:
    original = Ledger.cancel

    def cancel(self: Ledger, id: RequestId, cause: Cause, reason: str, *, at: float) -> CancelOutcome:
        outcome = original(self, id, cause, reason, at=at)
        row = self.book.get(id)
        if row is not None and row.state is State.CANCEL_REQUESTED and outcome.name == "ALREADY_REQUESTED":
            self._signal(row)
        return outcome

    patch.setattr(Ledger, "cancel", cancel)


def initialize_is_cancelled(patch: Patch) -> None:
    patch.setattr(revisions, "UNCANCELLABLE", frozenset[str]())
    patch.setattr(ledger, "UNCANCELLABLE", frozenset[str]())


def a_cancel_leaves_for_what_was_never_sent(patch: Patch) -> None:
    original = Ledger.cancel

    def cancel(self: Ledger, id: RequestId, cause: Cause, reason: str, *, at: float) -> CancelOutcome:
        self._writing.add(id)
        return original(self, id, cause, reason, at=at)

    patch.setattr(Ledger, "cancel", cancel)


def a_cancel_over_modern_http_is_posted(patch: Patch) -> None:
    original = revisions.cancellation

    def cancellation(revision: revisions.Revision | None, transport: str, method: str) -> Any:
        way = original(revision, transport, method)
        return replace(way, signal=Signal.NOTIFICATION) if way.signal is Signal.STREAM_CLOSED else way

    patch.setattr(ledger, "cancellation", cancellation)


def a_queued_signal_is_not_withdrawn(patch: Patch) -> None:
    def in_time(self: Answers, row: Request, at: float, *, task: bool = False) -> None: ...

    patch.setattr(Answers, "_in_time", in_time)


def progress_of_another_token_re_arms(patch: Patch) -> None:
    original = Arrivals._progress

    def progress(self: Arrivals, params: Json, at: float, seq: int) -> None:
        row = next((row for row in self._live.values() if row.state is State.IN_FLIGHT), None)
        token = as_object(params).get("progressToken")
        if row is not None and not (type(token) is int and (int, token) in self.tokens):
            row.idle_from = at
            self._arm(row)
        original(self, params, at, seq)

    patch.setattr(Arrivals, "_progress", progress)


def progress_re_arms_the_maximum(patch: Patch) -> None:
    original = requests._progressed

    def progressed(row: Request, event: ev.Progress) -> None:
        original(row, event)
        if row.limits.max_timeout is not None and row.sent_at is not None:
            row.paused = event.at - row.sent_at

    patch.setattr(requests, "_progressed", progressed)


def any_progress_re_arms(patch: Patch) -> None:
    original = Arrivals._violation

    def violation(
        self: Arrivals, rule: str, detail: str, at: float, seq: int, id_: RequestId | None = None
    ) -> None:
        original(self, rule, detail, at, seq, id_)
        if rule == "progress-not-increasing" and id_ is not None:
            self._live[id_].idle_from = at
            self._arm(self._live[id_])

    patch.setattr(Arrivals, "_violation", violation)


def a_pause_stops_no_clock(patch: Patch) -> None:
    def resume(row: Request, at: float) -> None:
        row.paused_at = None

    patch.setattr(requests, "_resume", resume)


def a_signal_that_cannot_leave_is_settled_in_silence(patch: Patch) -> None:
    def grace_over(self: Ledger, row: Request, now: float) -> None:
        self._settle(row, "", now)

    patch.setattr(Ledger, "_grace_over", grace_over)


def a_duplicate_counts_as_late(patch: Patch) -> None:
    def answered(row: Request) -> bool:
        return row.state in (State.COMPLETED, State.FAILED)

    patch.setattr(answers, "_answered", answered)


def true_is_taken_for_one(patch: Patch) -> None:
    original = Answers._find

    def find(self: Answers, identity: object) -> tuple[Request | None, str]:
        return original(self, int(identity) if isinstance(identity, bool) else identity)

    patch.setattr(Answers, "_find", find)


def an_id_is_used_again_behind_a_new_connection(patch: Patch) -> None:
    original = Ledger.closed

    def closed(self: Ledger, detail: str, *, at: float) -> None:
        original(self, detail, at=at)
        self._next_id = 1

    patch.setattr(Ledger, "closed", closed)


def a_closed_connection_forgets_one(patch: Patch) -> None:
    original = Ledger.closed

    def closed(self: Ledger, detail: str, *, at: float) -> None:
        if len(self._live) > 1:
            self._live.popitem()
        original(self, detail, at=at)

    patch.setattr(Ledger, "closed", closed)


def the_time_shown_runs_on(patch: Patch) -> None:
    def elapsed(self: Request, now: float) -> float:
        return 0.0 if self.sent_at is None else now - self.sent_at

    patch.setattr(Request, "elapsed", elapsed)


def a_row_changes_without_an_event(patch: Patch) -> None:
    original = books.Books._settle

    def settle(self: books.Books, row: Request, detail: str, at: float) -> None:
        original(self, row, detail, at)
        row.version += 1

    patch.setattr(books.Books, "_settle", settle)


MUTANTS: list[Mutant] = [
    a_late_reply_revives_a_request,
    a_late_reply_is_delivered,
    a_second_cancel_leaves_again,
    initialize_is_cancelled,
    a_cancel_leaves_for_what_was_never_sent,
    a_cancel_over_modern_http_is_posted,
    a_queued_signal_is_not_withdrawn,
    progress_of_another_token_re_arms,
    progress_re_arms_the_maximum,
    any_progress_re_arms,
    a_pause_stops_no_clock,
    a_signal_that_cannot_leave_is_settled_in_silence,
    a_duplicate_counts_as_late,
    true_is_taken_for_one,
    an_id_is_used_again_behind_a_new_connection,
    a_closed_connection_forgets_one,
    the_time_shown_runs_on,
    a_row_changes_without_an_event,
]
