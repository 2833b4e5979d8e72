"""The races whose dialogue differs from place to place, in each of them. What is one everywhere is in ``tests/protocol``."""

from __future__ import annotations

import pytest

from mcp_tui.protocol.events import Cause, Signal
from mcp_tui.protocol.messages import Json
from tests.protocol.playbook import MODERN, MODERN_HTTP, Wire, at, play
from tests.protocol.recorded import RecordedLedger

MODERN_STDIO = Wire("stdio", MODERN)
CORE_TASKS = [Wire("stdio", "2025-11-25"), Wire("http", "2025-11-25")]


def on(*wires: Wire) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("wire", wires, ids=str)


modern = on(MODERN_STDIO, MODERN_HTTP)


def _signal(wire: Wire, id: int = 1) -> str:
    """The signal of a request that is cancelled because of "no"."""
    if wire.signal is Signal.STREAM_CLOSED:
        return f"-> signal {id} stream_closed"
    return f'-> signal {id} notification {{"requestId":{id},"reason":"no"}}'


# -- the probe -------------------------------------------------------------------------------------------------


@on(Wire("stdio", None), Wire("http", None))
def test_c23_a_probe_that_times_out_is_never_told_by_a_message(wire: Wire) -> None:
    dropped = [
        "CancelSignalled 1 signal=none reason_delivered=False",
        "Settled 1",
        "-> resolve 1 with nothing",
    ]
    play(
        wire.in_flight("server/discover"),
        at(5).cancel(1, "no answer within 5 s", cause=Cause.TIMEOUT),
        "CancelRequested 1 cause=timeout reason='no answer within 5 s'",
        *(dropped if wire.transport == "stdio" else ["-> signal 1 stream_closed"]),
        "= REQUESTED",
    )


@on(Wire("stdio", None))
def test_c24_a_late_answer_to_the_probe_is_evidence_and_not_the_handshakes(wire: Wire) -> None:
    ledger = wire.in_flight("server/discover")
    ledger.cancel(1, Cause.TIMEOUT, "", at=5)
    ledger.call("initialize", at=5)
    at(5).wrote(2).run(ledger)
    ledger.take()
    play(
        ledger,
        at(6).result(1, {"supportedVersions": [MODERN]}),
        "Late 1 kind=result after=1",
        at(6).look(2),
        "= in_flight elapsed=1",
    )


# -- tasks -----------------------------------------------------------------------------------------------------


def _call(wire: Wire) -> RecordedLedger:
    """A call that may become a task is in flight since second 0."""
    ledger = wire.ledger()
    params: dict[str, Json] = {"name": "slow"} if wire.revision == MODERN else {"name": "slow", "task": {}}
    ledger.call("tools/call", params, at=0.0)
    at(0).wrote(1).run(ledger)
    ledger.take()
    return ledger


def _handle(wire: Wire) -> Json:
    task: dict[str, Json] = {"taskId": "T", "status": "working"}
    return {"resultType": "task", **task} if wire.revision == MODERN else {"task": task}


@on(*CORE_TASKS, MODERN_STDIO)
def test_c17_c80_c81_a_task_handle_behind_the_cancel_has_the_task_cancelled(wire: Wire) -> None:
    ledger = _call(wire)
    ledger.cancel(1, Cause.USER, "no", at=0.5)
    if wire == MODERN_STDIO:
        ledger.signalled(1, Signal.NOTIFICATION, at=0.5)
    ledger.take()
    core = "" if wire == MODERN_STDIO else " core=True"
    play(
        ledger,
        at(0.9).result(1, _handle(wire)),
        "Late 1 kind=task after=0.4",
        f"TaskCreated 1 task_id=T status=working{core}",
        "Called 2 method=tasks/cancel name=T limits=30/60/0 internal=True parent=1",
        '-> send 2 tasks/cancel {"taskId":"T"}',
    )


@modern
def test_c81_before_the_handle_a_call_is_cancelled_as_any_other(wire: Wire) -> None:
    play(
        _call(wire),
        at(0.5).cancel(1, "no"),
        "CancelRequested 1 cause=user reason=no",
        _signal(wire),
        "= REQUESTED",
    )


# -- subscriptions and rounds ----------------------------------------------------------------------------------


@modern
def test_c59_the_client_ends_a_subscription_as_it_cancels(wire: Wire) -> None:
    play(
        wire.in_flight("subscriptions/listen"),
        at(2).cancel(1, "no"),
        "CancelRequested 1 cause=user reason=no",
        _signal(wire),
        "= REQUESTED",
    )


@modern
def test_c60_a_subscription_ends_with_what_carries_it(wire: Wire) -> None:
    ended = at(2).closed("gone") if wire.transport == "stdio" else at(2).stream_ended(1, "gone")
    play(
        wire.in_flight("subscriptions/listen"),
        ended,
        "Lost 1 detail=gone",
        "-> resolve 1 with nothing",
    )


@modern
def test_c66_a_cancel_of_the_second_leg_is_about_that_leg(wire: Wire) -> None:
    ledger = wire.in_flight()
    for step in (
        at(1).result(1, {"resultType": "input_required", "requestState": "s"}),
        at(2).supply(1),
        at(2).wrote(2),
    ):
        step.run(ledger)
    ledger.take()
    play(
        ledger,
        at(3).cancel(1, "no"),
        "CancelRequested 1 cause=user reason=no",
        _signal(wire, 2),
        "= REQUESTED",
    )


@modern
def test_c66_progress_of_an_answered_leg_moves_no_clock(wire: Wire) -> None:
    ledger = wire.in_flight()
    at(1).result(1, {"resultType": "input_required", "requestState": "s"}).run(ledger)
    ledger.take()
    stray = "Violation 1 rule=stray-progress detail='progress of 1 after the response'"
    play(
        ledger,
        at(1.5).progress(1, 5),
        stray,
        at(2).supply(1),
        "Round 1 wire_id=2 number=2 why='asked to try again'",
        '-> send 2 tools/call {"requestState":"s"}',
        at(2).wrote(2),
        "Sent 1",
        at(3).progress(1, 6),
        f"{stray} count=2",
        at(3).deadline(),
        "= 62",
        at(4).progress(2, 1),
        "Progress 1 progress=1",
        at(4).deadline(),
        "= 64",
    )
