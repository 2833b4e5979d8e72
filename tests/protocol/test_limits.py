"""The clocks of a request, in virtual time and to the bit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.protocol.events import Cause, Limits
from mcp_tui.protocol.requests import State
from tests.protocol.playbook import MODERN_HTTP, Wire, at, play

WIRE = Wire("stdio", "2025-11-25")


def _cancelled(cause: str, reason: str) -> tuple[str, str]:
    return (
        f"CancelRequested 1 cause={cause} reason='{reason}'",
        f'-> signal 1 notification {{"requestId":1,"reason":"{reason}"}}',
    )


# -- idle and maximum ------------------------------------------------------------------------------------------


def test_the_clocks_run_from_the_writing() -> None:
    play(
        WIRE.ledger(),
        at(0).call("ping", limits=Limits(timeout=10, max_timeout=None)),
        "Called 1 method=ping limits=10/None/0",
        "-> send 1 ping",
        at(0).deadline(None),
        at(50).sent(1),
        at(50).deadline(60),
        at(60).tick(),
        *_cancelled("timeout", "timed out after 10 s"),
    )


def test_the_nearer_limit_falls_due() -> None:
    play(
        WIRE.in_flight(limits=Limits(timeout=10, max_timeout=10)),
        at(10).tick(),
        *_cancelled("max_timeout", "timed out after 10 s (maximum)"),
    )
    play(
        WIRE.in_flight(limits=Limits(timeout=None, max_timeout=0.25)),
        at(0).deadline(0.25),
        at(0.25).tick(),
        *_cancelled("max_timeout", "timed out after 0.25 s (maximum)"),
    )
    play(
        WIRE.in_flight(limits=Limits(timeout=None, max_timeout=None)),
        at(0).deadline(None),
        at(1e9).tick(),
    )


def test_a_request_that_is_not_written_within_its_maximum_is_taken_back() -> None:
    play(
        WIRE.ledger(),
        at(5).call("ping", limits=Limits(timeout=1, max_timeout=10)),
        "Called 1 method=ping limits=1/10/0",
        "-> send 1 ping",
        at(5).deadline(15),
        at(15).tick(),
        "CancelRequested 1 cause=max_timeout reason='not sent within 10 s'",
        "-> unqueue 1",
        "CancelSignalled 1 signal=none reason_delivered=False",
        "Settled 1 detail='cancelled before it was sent'",
    )


def test_one_whose_writing_does_not_end_is_signalled() -> None:
    play(
        WIRE.ledger(),
        at(0).call("ping", limits=Limits(timeout=1, max_timeout=10)),
        "Called 1 method=ping limits=1/10/0",
        "-> send 1 ping",
        at(1).writing(1),
        at(10).tick(),
        *_cancelled("max_timeout", "not sent within 10 s"),
        at(12).tick(),
        "CancelDelayed 1 detail='not written after 2 s'",
    )


@given(st.floats(0, 1e6), st.floats(0.001, 1e5), st.lists(st.floats(0.001, 0.999), max_size=8))
def test_a_timeout_is_exact(start: float, idle: float, beats: list[float]) -> None:
    ledger = MODERN_HTTP.ledger()
    ledger.call("x", limits=Limits(timeout=idle, max_timeout=None), at=start)
    ledger.writing(1)
    ledger.written(1, at=start)
    now = start
    for number, beat in enumerate(beats):
        now += idle * beat
        ledger.tick(now)
        at(now).progress(1, number).run(ledger)
    due = now + idle
    row = ledger.requests.order[0]
    assert ledger.deadlines.next() == due
    ledger.tick(due - due * 1e-15 if due - due * 1e-15 < due else now)
    assert row.state is State.IN_FLIGHT
    ledger.tick(due)
    assert (row.cause, row.cancel_at) == (Cause.TIMEOUT, due)


# -- asking ----------------------------------------------------------------------------------------------------

ASK = Limits(timeout=10, max_timeout=60, ask=5)


def test_a_reply_or_progress_ends_the_question() -> None:
    play(
        WIRE.in_flight(limits=ASK),
        at(10).tick(),
        "Overdue 1 until=15",
        at(12).progress(1, 1),
        "Progress 1 progress=1",
        at(12).deadline(22),
        at(22).tick(),
        "Overdue 1 until=27",
        at(23).completes(1),
        at(23).deadline(None),
    )


def test_a_person_is_asked_and_the_countdown_stands_still_during_a_pause_and_cancels_by_itself() -> None:
    play(
        WIRE.in_flight(limits=ASK),
        at(10).tick(),
        "Overdue 1 until=15",
        at(10).deadline(15),
        at(11).pause(1, paused=True),
        "Paused 1",
        at(11).deadline(None),
        at(30).tick(),
        at(31).pause(1, paused=False),
        "Resumed 1",
        at(31).deadline(35),
        at(34.9).tick(),
        at(35).tick(),
        *_cancelled("timeout", "timed out after 10 s"),
    )


# -- more time -------------------------------------------------------------------------------------------------


def test_more_time_before_the_limit_counts_from_the_limit() -> None:
    play(
        WIRE.in_flight(limits=Limits(timeout=10, max_timeout=60)),
        at(4).extend(1, 30),
        "Extended 1 limits=10/60/0 idle_until=40",
        at(4).deadline(40),
        at(39).extend(1, 15),
        "Extended 1 limits=10/60/0 idle_until=55",
        at(55).tick(),
        *_cancelled("timeout", "timed out after 55 s"),
    )


def test_the_maximum_grows_where_it_would_come_first() -> None:
    play(
        WIRE.in_flight(limits=Limits(timeout=10, max_timeout=16)),
        at(4).extend(1, 32),
        "Extended 1 limits=10/42/0 idle_until=42",
        at(4).deadline(42),
    )
    play(
        WIRE.in_flight(limits=Limits(timeout=None, max_timeout=16)),
        at(4).extend(1, 32),
        "Extended 1 limits=None/48/0",
        at(4).deadline(48),
    )


def test_for_ever() -> None:
    play(
        WIRE.in_flight(limits=ASK),
        at(10).tick(),
        "Overdue 1 until=15",
        at(11).extend(1, None),
        "Extended 1 limits=None/None/5",
        at(11).deadline(None),
        at(12).extend(1, 5),
        "Extended 1 limits=None/None/5",
        at(1e9).tick(),
    )


# -- after the cancel ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grace", [0.0, 0.5, 30.0])
def test_the_grace_runs_from_the_signal(grace: float) -> None:
    ledger = WIRE.cancelling()
    ledger.grace = grace
    ledger.signalled(1, WIRE.signal, at=3)
    row = ledger.requests.order[0]
    if grace:
        assert ledger.deadlines.next() == 3 + grace
        ledger.tick(3 + grace)
    assert (row.state, row.settled_at) == (State.CANCELLED, 3 + grace)
