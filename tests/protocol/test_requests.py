"""The transition table as a table of tests: every state meets every event."""

from __future__ import annotations

import dataclasses
from typing import Final

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, Limits, Signal
from mcp_tui.protocol.requests import (
    HISTORY,
    IllegalTransition,
    Request,
    State,
    evolve,
    fold,
)

Q, F, A, T = State.QUEUED, State.IN_FLIGHT, State.AWAITING_INPUT, State.TASK
R, X, C, E, L = State.CANCEL_REQUESTED, State.CANCELLED, State.COMPLETED, State.FAILED, State.LOST

EVENTS: Final[dict[str, ev.RequestEvent]] = {
    type(event).__name__: event
    for event in (
        ev.Called(at=9, id=1, method="x"),
        ev.Sent(at=9, id=1, seq=3),
        ev.Progress(at=9, id=1, progress=2),
        ev.Completed(at=9, id=1, size=5, is_error=True, summary="s", seq=4),
        ev.Failed(at=9, id=1, message="no", code=-1, size=5, seq=4),
        ev.CancelRequested(at=9, id=1, cause=Cause.USER, reason="r"),
        ev.CancelSignalled(at=9, id=1, signal=Signal.NOTIFICATION, reason_delivered=True),
        ev.CancelWithdrawn(at=9, id=1),
        ev.Undelivered(at=9, id=1, detail="HTTP 503"),
        ev.Settled(at=9, id=1, detail="exited"),
        ev.Lost(at=9, id=1, detail="gone"),
        ev.Late(at=9, id=1, kind=Kind.RESULT, after=1),
        ev.Duplicate(at=9, id=1, kind=Kind.RESULT),
        ev.Overdue(at=9, id=1, until=19),
        ev.Extended(at=9, id=1, limits=Limits(timeout=5), idle_until=30),
        ev.Paused(at=9, id=1),
        ev.Resumed(at=9, id=1),
        ev.InputRequired(at=9, id=1, round=1, asks="roots/list"),
        ev.Round(at=9, id=1, wire_id=2, number=2),
        ev.TaskCreated(at=9, id=1, task_id="t", status="working"),
        ev.TaskStatus(at=9, id=1, status="completed"),
        ev.Acknowledged(at=9, id=1),
        ev.Delivered(at=9, id=1, method="notifications/tools/list_changed"),
    )
}

CLOCKS: Final = ("Overdue", "Extended", "Paused", "Resumed")
ENDS: Final = {"CancelRequested": R, "Failed": E, "Lost": L}
AFTERWARDS: Final = (
    "CancelSignalled",
    "Undelivered",
    "Late",
    "Duplicate",
    "TaskCreated",
    "TaskStatus",
    "Delivered",
)

PERMITTED: Final[dict[State, dict[str, State]]] = {
    Q: {"Sent": F, "Duplicate": Q, **ENDS},
    F: {
        **dict.fromkeys(("Progress", "Duplicate", "Acknowledged", "Delivered", *CLOCKS), F),
        "Completed": C,
        "InputRequired": A,
        "Round": Q,
        "TaskCreated": T,
        **ENDS,
    },
    A: {"Round": Q, "Duplicate": A, **ENDS},
    T: {**dict.fromkeys(("Progress", "Duplicate", "TaskStatus", *CLOCKS), T), "Completed": C, **ENDS},
    R: {**dict.fromkeys(("Sent", *AFTERWARDS), R), "CancelWithdrawn": F, "Settled": X},
    X: dict.fromkeys(("Sent", *AFTERWARDS), X),
    C: {"Duplicate": C},
    E: {"Duplicate": E},
    L: dict.fromkeys(AFTERWARDS, L),
}


def row(state: State = F) -> Request:
    made = Request(id=1, method="tools/call", name="slow", internal=False, limits=Limits(), called_at=0.0)
    made.state = state
    return made


# -- what each event does --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Completed", "Failed", "Lost", "CancelRequested"])
def test_no_countdown_and_no_pause_outlive_a_request(name: str) -> None:
    request = row()
    evolve(request, ev.Overdue(at=5, id=1, until=15))
    evolve(request, ev.Paused(at=6, id=1))
    evolve(request, EVENTS[name])
    assert (request.overdue_until, request.paused_at, request.ended_at) == (None, None, 9)


# -- clocks ----------------------------------------------------------------------------------------------------


def flying(limits: Limits) -> Request:
    request = row(Q)
    request.limits = limits
    evolve(request, ev.Sent(at=100, id=1))
    return request


def test_a_pause_moves_every_clock_by_its_length() -> None:
    request = flying(Limits(timeout=10, max_timeout=30))
    evolve(request, ev.Extended(at=101, id=1, limits=request.limits, idle_until=118))
    evolve(request, ev.Overdue(at=102, id=1, until=125))
    evolve(request, ev.Paused(at=103, id=1))
    assert request.deadlines() == (None, None)
    assert request.clocks() == (118, 130)
    evolve(request, ev.Resumed(at=153, id=1))
    assert request.deadlines() == (168, 180)
    assert request.overdue_until == 175
    assert request.paused == 50
    evolve(request, ev.Resumed(at=160, id=1))
    assert request.deadlines() == (168, 180)


def test_progress_during_a_pause_gives_a_whole_idle_limit_from_its_end() -> None:
    request = flying(Limits(timeout=10, max_timeout=None))
    evolve(request, ev.Paused(at=105, id=1))
    evolve(request, ev.Progress(at=120, id=1, progress=1))
    evolve(request, ev.Resumed(at=150, id=1))
    assert request.deadlines() == (160, None)


# -- history ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Progress", "Duplicate", "Extended", "Undelivered", "Late"])
def test_a_history_is_bounded_and_keeps_what_comes_once(name: str) -> None:
    request = row(Q)
    first: list[ev.RequestEvent] = [ev.Sent(at=0, id=1)]
    if name not in PERMITTED[F]:
        first.append(EVENTS["CancelRequested"])
    endless = EVENTS[name]
    if isinstance(endless, ev.Late):
        endless = dataclasses.replace(endless, kind=Kind.PROGRESS)
    for event in first:
        evolve(request, event)
    for _ in range(20 * HISTORY):
        evolve(request, endless)
    assert HISTORY <= len(request.history) < 2 * HISTORY
    assert request.history[: len(first)] == first
    assert request.version == len(first) + 20 * HISTORY


# -- the book --------------------------------------------------------------------------------------------------


def test_an_id_is_issued_once() -> None:
    book = fold([ev.Called(at=0, id=1, method="a")])
    with pytest.raises(IllegalTransition, match="issued before"):
        book.apply(ev.Called(at=1, id=1, method="b"))
    with pytest.raises(IllegalTransition, match="no request 2"):
        book.apply(ev.Sent(at=1, id=2))
    assert (len(book.order), book.version) == (1, 1)
