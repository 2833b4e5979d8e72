"""What comes after a cancel or a timeout, C-10 to C-21 by the numbers of the protocol reference, as playbooks.

Not decided by the ledger, and so tested where it is: the ``tasks/cancel`` that a late task handle calls for (C-17: the
client; here: the evidence that it goes by).
"""

from __future__ import annotations

import pytest

from mcp_tui.protocol.events import Cause, Kind, Limits, Signal
from mcp_tui.protocol.messages import Json
from tests.cases import cases
from tests.protocol.playbook import MODERN, Wire, after, at, everywhere, handshaken, notifying, play

MODERN_STDIO = Wire("stdio", MODERN)


def _violation(what: str, after: str) -> str:
    return f"Violation 1 rule=late-response detail='{what} {after} s after the cancel: nothing further may be sent'"


# -- answers after it ------------------------------------------------------------------------------------------


@everywhere
def test_c10_response_crosses_cancel(wire: Wire) -> None:
    play(
        wire.cancelled(),
        at(2.412).result(1, {"content": [{"type": "text", "text": "17 rows"}]}),
        "Late 1 kind=result after=0.412 summary='17 rows'",
        *wire.settles(" detail='answered late'"),
    )


@notifying
def test_c10_response_while_the_signal_is_queued_completes_the_call(wire: Wire) -> None:
    play(
        wire.cancelling(),
        at(2.5).result(1),
        "-> recall 1",
        "CancelWithdrawn 1",
        "Completed 1",
        at(9).look(1, "completed elapsed=2.5"),
        at(9).deadline(None),
    )


@everywhere
def test_c11_response_processed_then_key_pressed(wire: Wire) -> None:
    play(
        wire.in_flight("tools/call", "tools/call"),
        at(1).completes(1),
        at(1).cancel(1, "too late"),
        "= ALREADY_DONE",
        at(2).error(2),
        "Failed 2 message=no code=-32603",
        at(2).cancel(2, "too late"),
        "= ALREADY_DONE",
        at(2).cancel(3, "nobody has it"),
        "= ALREADY_DONE",
    )


@everywhere
@cases("code", [0, -32800])
def test_c12_late_error(wire: Wire, code: int) -> None:
    play(
        wire.cancelled(),
        at(2.031).error(1, code, "Request cancelled"),
        f"Late 1 kind=error after=0.031 code={code} summary='Request cancelled'",
        *wire.settles(" detail='answered late'"),
        at(3).cancel(1),
        "= ALREADY_REQUESTED",
    )


@handshaken
@pytest.mark.parametrize(
    "rest",
    ['"result":3}', '"error":"no"}', '"result":{"content":[],"n":NaN}}'],
    ids=["number", "text", "NaN"],
)
def test_what_is_neither_result_nor_error_is_late_and_malformed(wire: Wire, rest: str) -> None:
    ledger = after(wire.cancelled(), at(2.5).raw(f'{{"jsonrpc":"2.0","id":1,{rest}'.encode()))
    (row,) = ledger.requests.order
    assert ([each.kind for each in row.late], row.settled) == ([Kind.MALFORMED], "answered late")


def test_c13_a_late_result_breaks_a_rule_of_2026_07_28() -> None:
    play(
        MODERN_STDIO.cancelled(),
        at(3.5).result(1),
        "Late 1 kind=result after=1.5",
        _violation("result", "1.500"),
        "Settled 1 detail='answered late'",
    )


@handshaken
def test_c14_c15_progress_after_cancel_is_counted_and_arms_nothing_and_a_log_message_is_nobodys(
    wire: Wire,
) -> None:
    play(
        wire.cancelled(),
        at(3).progress(1, 5, message="still at it"),
        "Late 1 kind=progress after=1 summary='still at it' progress=5",
        at(3).notification("notifications/message", {"level": "info", "data": "row 17"}),
        "Log level=info data='row 17'",
        at(3).deadline(4),
        at(4).tick(),
        *wire.settles(),
        at(5).progress(1, 6),
        "Late 1 kind=progress after=3 longest=2 progress=6",
        at(5).look(
            1,
            "cancelled elapsed=2 cause=user reason=no signal=notification reason delivered late=progress×2+1",
        ),
        at(6).result(1),
        "Late 1 kind=result after=4",
    )


def test_wrong_progress_after_a_cancel_is_evidence_and_each_says_what_it_is() -> None:
    play(
        Wire("stdio", "2025-11-25").cancelled(),
        at(2.1).progress(1, 5),
        "Late 1 kind=progress after=0.1 progress=5",
        at(2.5).progress(1, 5),
        "Violation 1 rule=progress-not-increasing detail='progress 5 after 5: it must increase'",
        "Late 1 kind=progress after=0.5 longest=0.4 progress=5",
        at(2.9).progress(1, "half"),
        "Violation 1 rule=malformed-progress detail=\"progress 'half'\"",
        "Late 1 kind=progress after=0.9 longest=0.4",
        at(3.3).notification("notifications/progress", {"progressToken": 1}),
        "Violation 1 rule=malformed-progress detail='progress without a value' count=2",
        "Late 1 kind=progress after=1.3 longest=0.4",
        at(3.7).progress(1, 6),
        "Late 1 kind=progress after=1.7 longest=0.4 progress=6",
        at(3.7).look(
            1,
            "cancel_requested elapsed=2 cause=user reason=no signal=notification reason delivered late=progress×5+0.1",
        ),
    )


@cases(
    ("wire", "result", "kind"),
    [
        (MODERN_STDIO, {"resultType": "input_required", "inputRequests": {}}, "input_required"),
        (Wire("stdio", "2025-11-25"), {"task": {"taskId": "t-1", "status": "working"}}, "task"),
    ],
)
def test_c16_c17_what_would_go_on_prompts_nobody_and_is_no_task(wire: Wire, result: Json, kind: str) -> None:
    play(
        wire.cancelled(),
        at(2.2).result(1, result),
        f"Late 1 kind={kind} after=0.2",
        "Settled 1 detail='answered late'",
    )


# -- timeouts --------------------------------------------------------------------------------------------------


@notifying
@cases("method", ["tools/call", "ping"])
def test_c18_c19_c45_timeout_then_response(wire: Wire, method: str) -> None:
    play(
        wire.in_flight(method, limits=Limits(timeout=30)),
        at(29.99).tick(),
        at(30).tick(),
        "CancelRequested 1 cause=timeout reason='timed out after 30 s'",
        '-> signal 1 notification {"requestId":1,"reason":"timed out after 30 s"}',
        at(30).leaves(1),
        at(30.5).result(1),
        "Late 1 kind=result after=0.5",
        *wire.settles(" detail='answered late'"),
    )


@everywhere
def test_c20_progress_resets_the_idle_clock_and_the_maximum_hits(wire: Wire) -> None:
    left = {
        Signal.NOTIFICATION: '-> signal 1 notification {"requestId":1,"reason":"timed out after 25 s (maximum)"}',
        Signal.STREAM_CLOSED: "-> signal 1 stream_closed",
    }
    play(
        wire.in_flight(limits=Limits(timeout=10, max_timeout=25)),
        at(9).progress(1, 1),
        "Progress 1 progress=1",
        at(9).deadline(19),
        at(18).progress(1, 2.5, total=4, message="half"),
        "Progress 1 progress=2.5 total=4 message=half",
        at(18).deadline(25),
        at(25).tick(),
        "CancelRequested 1 cause=max_timeout reason='timed out after 25 s (maximum)'",
        left[wire.signal],
    )


@everywhere
def test_c21_timeout_and_user_cancel_together(wire: Wire) -> None:
    ledger = wire.in_flight(limits=Limits(timeout=30))
    ledger.cancel(1, Cause.USER, "no", at=30)
    ledger.take()
    play(ledger, at(30).tick(), at(30).look(1, "cancel_requested elapsed=30 cause=user reason=no"))
    ledger = wire.in_flight(limits=Limits(timeout=30))
    ledger.tick(30)
    ledger.take()
    play(ledger, at(30).cancel(1, "no"), "= ALREADY_REQUESTED")
