"""Requests: clocks, histories, and ids."""

from __future__ import annotations

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, Limits
from mcp_tui.protocol.requests import (
    HISTORY,
    Request,
    State,
    evolve,
)


def row(state: State = State.IN_FLIGHT) -> Request:
    made = Request(id=1, method="tools/call", name="slow", internal=False, limits=Limits(), called_at=0.0)
    made.state = state
    return made


# -- what each event does --------------------------------------------------------------------------------------


CANCEL = ev.CancelRequested(at=9, id=1, cause=Cause.USER, reason="r")


@pytest.mark.parametrize(
    "end",
    [
        ev.Completed(at=9, id=1),
        ev.Failed(at=9, id=1, message="no"),
        ev.Lost(at=9, id=1, detail="gone"),
        CANCEL,
    ],
    ids=repr,
)
def test_no_countdown_and_no_pause_outlive_a_request(end: ev.RequestEvent) -> None:
    request = row()
    evolve(request, ev.Overdue(at=5, id=1, until=15))
    evolve(request, ev.Paused(at=6, id=1))
    evolve(request, end)
    assert (request.overdue_until, request.paused_at, request.ended_at) == (None, None, 9)


# -- clocks ----------------------------------------------------------------------------------------------------


def flying(limits: Limits) -> Request:
    request = row(State.QUEUED)
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


@pytest.mark.parametrize(
    ("first", "endless"),
    [
        ([], ev.Progress(at=9, id=1, progress=2)),
        ([], ev.Duplicate(at=9, id=1, kind=Kind.RESULT)),
        ([], ev.Extended(at=9, id=1, limits=Limits(timeout=5), idle_until=30)),
        ([CANCEL], ev.Undelivered(at=9, id=1, detail="HTTP 503")),
        ([CANCEL], ev.Late(at=9, id=1, kind=Kind.PROGRESS, after=1)),
    ],
    ids=repr,
)
def test_a_history_is_bounded_and_keeps_what_comes_once(
    first: list[ev.RequestEvent], endless: ev.RequestEvent
) -> None:
    request = row(State.QUEUED)
    first = [ev.Sent(at=0, id=1), *first]
    for event in first:
        evolve(request, event)
    for _ in range(20 * HISTORY):
        evolve(request, endless)
    assert HISTORY <= len(request.history) < 2 * HISTORY
    assert request.history[: len(first)] == first
    assert request.version == len(first) + 20 * HISTORY


# -- Requests --------------------------------------------------------------------------------------------------
