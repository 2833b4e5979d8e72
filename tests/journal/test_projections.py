"""The facts of one cancellation; its words and outcomes are held in ``tests/protocol/test_evidence.py``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.events import Cause, Kind, Signal
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


@pytest.mark.parametrize(
    ("events", "told"),
    [
        (
            [SENT, cancel(), ev.CancelWithdrawn(at=3.1, id=1), ev.Completed(at=3.2, id=1)],
            {
                "outcome": "withdrawn",
                "state": "completed",
                "cause": "user",
                "reason": "wrong table",
                "elapsed": 2.0,
            },
        ),
        (
            [SENT, cancel(), SIGNALLED, late(Kind.ERROR, 0.5), ev.Settled(at=3.5, id=1), GONE],
            {
                "outcome": "late_error",
                "elapsed": 2.0,
                "worst": 0.5,
                "disconnected": {"detail": "server exited with code 3", "after": 2.0},
            },
        ),
        ([SENT, cancel(), SIGNALLED], {"state": "cancelled", "worst": None}),
        ([SENT, cancel(Cause.TIMEOUT), SIGNALLED], {"state": "timed_out"}),
        ([SENT, cancel(Cause.MAX_TIMEOUT), SIGNALLED], {"state": "timed_out"}),
        ([cancel()], {"elapsed": None}),
        ([cancel(), ev.Sent(at=4.0, id=1)], {"elapsed": None}),
        ([SENT, cancel(), SIGNALLED, late(Kind.PROGRESS, 3.9), late(Kind.RESULT, 2.0)], {"worst": 3.9}),
    ],
)
def test_the_facts_of_a_cancellation(events: list[ev.Event], told: dict[str, Any]):
    found = evidence.cancellation_json(row(events), UNTIL)
    assert {name: found[name] for name in told} == told


@pytest.mark.parametrize(
    "events", [[], [SENT], [SENT, ev.Completed(at=2.0, id=1)], [SENT, ev.Lost(at=2.0, id=1, detail="x")]]
)
def test_what_was_never_cancelled_has_no_cancel(events: list[ev.Event]):
    assert evidence.cancel_of(row(events)) is None
