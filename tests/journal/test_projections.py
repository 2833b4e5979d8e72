"""The facts of one cancellation; its words and outcomes are held in ``tests/protocol/test_evidence.py``."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.events import Cause, Kind, Signal
from mcp_tui.protocol.evidence import Outcome
from mcp_tui.protocol.requests import Request, fold

CALLED = ev.Called(at=0.0, id=1, method="tools/call", name="slow_sql")
SENT = ev.Sent(at=1.0, id=1)
SIGNALLED = ev.CancelSignalled(at=3.0, id=1, signal=Signal.NOTIFICATION, reason_delivered=True)
GONE = ev.Unwatched(at=5.0, id=1, detail="server exited with code 3", disconnected=True)
UNTIL = 6.0


def cancel(cause: Cause = Cause.USER) -> ev.Event:
    return ev.CancelRequested(at=3.0, id=1, cause=cause, reason="wrong table")


def late(kind: Kind, after: float) -> ev.Event:
    return ev.Late(at=3.0 + after, id=1, kind=kind, after=after)


def row(events: Sequence[ev.Event]) -> Request:
    (made,) = fold([CALLED, *events]).order
    return made


def test_what_was_never_cancelled_has_no_cancel():
    for events in ([], [SENT], [SENT, ev.Completed(at=2.0, id=1)], [SENT, ev.Lost(at=2.0, id=1, detail="x")]):
        assert evidence.cancel_of(row(events)) is None


def test_a_cancel_that_was_withdrawn_is_remembered():
    made = row([SENT, cancel(), ev.CancelWithdrawn(at=3.1, id=1), ev.Completed(at=3.2, id=1)])
    told = evidence.cancellation_json(made, UNTIL)
    assert (told["outcome"], told["state"]) == ("withdrawn", "completed")
    assert (told["cause"], told["reason"], told["elapsed"]) == ("user", "wrong table", 2.0)


def test_a_late_answer_and_a_lost_connection_are_both_told():
    made = row([SENT, cancel(), SIGNALLED, late(Kind.ERROR, 0.5), ev.Settled(at=3.5, id=1), GONE])
    assert evidence.outcomes(made, UNTIL) == (Outcome.LATE_ERROR, Outcome.DISCONNECTED)
    told = evidence.cancellation_json(made, UNTIL)
    assert (told["outcome"], told["elapsed"], told["worst"]) == ("late_error", 2.0, 0.5)
    assert told["disconnected"] == {"detail": "server exited with code 3", "after": 2.0}


@pytest.mark.parametrize(
    ("cause", "ended"),
    [(Cause.USER, "cancelled"), (Cause.TIMEOUT, "timed_out"), (Cause.MAX_TIMEOUT, "timed_out")],
)
def test_a_cancel_by_a_limit_is_a_timeout(cause: Cause, ended: str):
    assert evidence.ended(row([SENT, cancel(cause), SIGNALLED])) == ended


def test_what_was_not_written_before_its_cancel_has_not_run():
    for events in ([cancel()], [cancel(), ev.Sent(at=4.0, id=1)]):
        assert evidence.cancellation_json(row(events), UNTIL)["elapsed"] is None


def test_the_worst_lag_is_that_of_the_last_to_come():
    lags = [late(Kind.PROGRESS, 0.1 * n) for n in range(1, 40)]
    made = row([SENT, cancel(), SIGNALLED, *lags, late(Kind.RESULT, 2.0)])
    assert evidence.worst(made) == pytest.approx(3.9)
    assert evidence.worst(row([SENT, cancel(), SIGNALLED])) is None
