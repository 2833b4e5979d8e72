"""What the screen says of races as the ledger tells them, not as somebody thought that it would."""

from __future__ import annotations

import pytest

from mcp_tui.protocol.events import Signal
from mcp_tui.protocol.messages import Json
from mcp_tui.view.badges import badge
from tests.protocol.playbook import HANDSHAKEN, MODERN, MODERN_HTTP, ON_HTTP, Step, Wire, at
from tests.protocol.recorded import RecordedLedger
from tests.tui.making import cells

LISTEN = "subscriptions/listen"
MODERN_STDIO = Wire("stdio", MODERN)
CORE_STDIO = Wire("stdio", "2025-11-25")


def played(ledger: RecordedLedger, *steps: Step) -> RecordedLedger:
    for step in steps:
        step.run(ledger)
    return ledger


def screen(ledger: RecordedLedger, now: float, *, wide: bool = True) -> str:
    """What the row of request 1 says."""
    row = ledger.requests.get(1)
    assert row is not None
    return f"{badge(row).word} · {cells(row, now, wide=wide)['Result']}".removesuffix(" · ")


def handle(wire: Wire) -> dict[str, Json]:
    if wire.revision == MODERN:
        return {"resultType": "task", "taskId": "T", "status": "working"}
    return {"task": {"taskId": "T", "status": "working"}}


@pytest.mark.parametrize("grace", [0, 1], ids=["in the grace", "behind it"])
def test_c17_c81_a_task_that_comes_late_is_named_and_said_to_be_cancelled(grace: int) -> None:
    ledger = played(
        MODERN_STDIO.cancelled(), *[at(4).tick()] * grace, at(4.5).result(1, handle(MODERN_STDIO))
    )
    if grace:
        assert screen(ledger, 5) == "cancelled · sent; became task T · no"
        return
    assert screen(ledger, 5) == "cancelling · sent; became task T"
    played(ledger, at(5).wrote(2), at(5.1).error(2, -32603, "out of order"))
    assert screen(ledger, 6) == ("cancelling · sent, refused: error -32603 out of order; became task T")


def test_c80_a_cancel_waits_for_the_task_and_then_names_it() -> None:
    ledger = CORE_STDIO.ledger()
    ledger.call("tools/call", {"name": "slow", "task": {}}, at=0.0)
    played(ledger, at(0).wrote(1), at(1).cancel(1, "no"))
    assert screen(ledger, 2) == "cancelling · not sent yet: waiting for the task's id"
    played(ledger, at(2).result(1, handle(CORE_STDIO)), at(2).wrote(2))
    assert screen(ledger, 2) == "cancelling · sent, not confirmed for 0 ms; became task T"
    cancelled = {"taskId": "T", "status": "cancelled"}
    played(
        ledger, at(2.1).result(2, cancelled), at(2.1).tick(), at(2.1).wrote(3), at(2.2).result(3, cancelled)
    )
    assert screen(ledger, 3) == "cancelled · sent, accepted; server confirmed: task cancelled · no"


@pytest.mark.parametrize("wire", ON_HTTP, ids=str)
def test_c34_c38_a_server_may_still_be_at_work_where_a_lost_stream_is_no_cancel(wire: Wire) -> None:
    ledger = played(wire.in_flight(), at(3).stream_ended(1, "connection reset"))
    may = "; the server may still be running it" if wire in HANDSHAKEN else ""
    assert screen(ledger, 4) == f"lost · connection reset{may}"


@pytest.mark.parametrize("wire", [MODERN_STDIO, MODERN_HTTP], ids=str)
def test_c60_c61_a_subscription_is_not_acknowledged_until_it_is_and_may_be_lost(wire: Wire) -> None:
    ledger = wire.in_flight(LISTEN)
    assert screen(ledger, 12) == "in flight · not acknowledged yet"
    assert screen(ledger, 12, wide=False) == "in flight · unacknowledged"
    told: Json = {"_meta": {"io.modelcontextprotocol/subscriptionId": 1}, "notifications": {}}
    played(ledger, at(13).notification("notifications/subscriptions/acknowledged", told))
    assert screen(ledger, 13) == "in flight · listening, 0 notifications"
    played(ledger, at(14).closed("server exited with code 1"))
    assert screen(ledger, 15) == "lost · server exited with code 1"


@pytest.mark.parametrize("known", [True, False], ids=["with its id", "before its id"])
def test_c85_a_task_that_is_left_is_said_to_go_on(known: bool) -> None:
    ledger = CORE_STDIO.ledger()
    ledger.agree(cancels_tasks=False)
    ledger.call("tools/call", {"name": "slow", "task": {}}, at=0.0)
    played(ledger, at(0).wrote(1))
    if known:
        played(ledger, at(1).result(1, handle(CORE_STDIO)))
    played(ledger, at(2).cancel(1, "enough", leave=True))
    row = ledger.requests.get(1)
    assert row is not None
    assert row.signal is Signal.NONE
    what = "it" if known else "one that came of this"
    assert (
        screen(ledger, 3)
        == f"cancelled · not sent: the server cannot cancel tasks: {what} keeps running · enough"
    )
