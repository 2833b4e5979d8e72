from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcp_tui.journal.projections import LATE, Outcome, cancel_of, cancelled
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, Signal
from mcp_tui.protocol.requests import Request, State, fold

CALLED = ev.Called(at=0.0, id=1, method="tools/call", name="slow_sql")
SENT = ev.Sent(at=1.0, id=1)
CANCEL = ev.CancelRequested(at=3.0, id=1, cause=Cause.USER, reason="wrong table")
SETTLED = ev.Settled(at=5.0, id=1)


def signalled(signal: Signal = Signal.NOTIFICATION) -> ev.Event:
    return ev.CancelSignalled(at=3.0, id=1, signal=signal, reason_delivered=signal is Signal.NOTIFICATION)


def late(kind: Kind, after: float = 0.5) -> ev.Event:
    return ev.Late(at=3.0 + after, id=1, kind=kind, after=after)


def row(events: Sequence[ev.Event]) -> Request:
    (made,) = fold([CALLED, *events]).order
    return made


GONE = ev.Settled(at=5.0, id=1, detail="server exited (code 3)")
ENDED = ev.Settled(at=5.0, id=1, detail="the stream ended without a response")
UNSENT = ev.Settled(at=5.0, id=1, detail="cancelled before it was sent")
UNDELIVERED = ev.Undelivered(at=3.0, id=1, detail="HTTP 503")

CASES: dict[Outcome, list[Sequence[ev.Event]]] = {
    Outcome.UNSETTLED: [[SENT, CANCEL], [SENT, CANCEL, signalled()]],
    Outcome.SILENT: [[SENT, CANCEL, signalled(), SETTLED], [SENT, CANCEL, signalled(), ENDED]],
    Outcome.LATE_RESULT: [
        [SENT, CANCEL, signalled(), late(Kind.RESULT)],
        [SENT, CANCEL, signalled(), SETTLED, late(Kind.RESULT)],
        [SENT, CANCEL, signalled(), late(Kind.PROGRESS), late(Kind.RESULT), late(Kind.PROGRESS)],
        [SENT, CANCEL, UNDELIVERED, late(Kind.RESULT)],
    ],
    Outcome.LATE_ERROR: [[SENT, CANCEL, signalled(), late(Kind.ERROR), late(Kind.RESULT)]],
    Outcome.LATE_INPUT_REQUIRED: [[SENT, CANCEL, signalled(), late(Kind.INPUT_REQUIRED)]],
    Outcome.LATE_OVERSIZE: [[SENT, CANCEL, signalled(), late(Kind.OVERSIZE)]],
    Outcome.LATE_TASK: [[SENT, CANCEL, signalled(), late(Kind.TASK)]],
    Outcome.STILL_PROGRESSING: [[SENT, CANCEL, signalled(), late(Kind.PROGRESS), SETTLED]],
    Outcome.TASK_CANCELLED: [
        [
            SENT,
            ev.TaskCreated(at=2.0, id=1, task_id="t", status="working"),
            CANCEL,
            signalled(Signal.TASKS_CANCEL),
            ev.TaskStatus(at=3.5, id=1, status="cancelled"),
            SETTLED,
        ]
    ],
    Outcome.STREAM_CLOSED: [[SENT, CANCEL, signalled(Signal.STREAM_CLOSED), SETTLED]],
    Outcome.UNDELIVERED: [[SENT, CANCEL, UNDELIVERED], [SENT, CANCEL, UNDELIVERED, GONE]],
    Outcome.UNSIGNALLED: [[CANCEL, signalled(Signal.NONE), UNSENT, ev.Sent(at=6.0, id=1)]],
    Outcome.NOT_SENT: [[CANCEL, signalled(Signal.NONE), UNSENT]],
    Outcome.LOST: [[SENT, CANCEL, signalled(), GONE]],
    Outcome.WITHDRAWN: [
        [SENT, CANCEL, ev.CancelWithdrawn(at=3.1, id=1)],
        [SENT, CANCEL, ev.CancelWithdrawn(at=3.1, id=1), ev.Completed(at=3.1, id=1)],
    ],
}


def test_every_outcome_has_a_case():
    assert set(CASES) == set(Outcome)
    assert set(LATE) == set(Kind) - {Kind.PROGRESS}


@pytest.mark.parametrize(
    ("events", "outcome"),
    [(events, outcome) for outcome, cases in CASES.items() for events in cases],
    ids=[f"{outcome.value}-{number}" for outcome, cases in CASES.items() for number in range(len(cases))],
)
def test_what_came_of_a_cancel(events: Sequence[ev.Event], outcome: Outcome):
    made = cancelled(row(events))
    assert made is not None
    assert made.outcome is outcome
    assert (made.cause, made.reason, made.at) == (Cause.USER, "wrong table", 3.0)
    assert made.elapsed == (2.0 if SENT in events else None)


def test_what_was_never_cancelled_has_no_facts():
    for events in ([], [SENT], [SENT, ev.Completed(at=2.0, id=1)], [SENT, ev.Lost(at=2.0, id=1, detail="x")]):
        assert cancel_of(row(events)) is None
        assert cancelled(row(events)) is None


def test_the_details_say_why_it_was_not_delivered_or_how_it_was_over():
    assert cancelled(row([SENT, CANCEL, UNDELIVERED, GONE])).details == "HTTP 503"  # pyright: ignore[reportOptionalMemberAccess]
    assert cancelled(row([SENT, CANCEL, signalled(), GONE])).details == "server exited (code 3)"  # pyright: ignore[reportOptionalMemberAccess]


def test_the_worst_lag_is_that_of_the_last_to_come():
    made = cancelled(
        row(
            [
                SENT,
                CANCEL,
                signalled(),
                *(late(Kind.PROGRESS, 0.1 * n) for n in range(1, 40)),
                late(Kind.RESULT, 2.0),
            ]
        )
    )
    assert made is not None
    assert made.worst == pytest.approx(3.9)
    assert made.state is State.CANCEL_REQUESTED
    silent = cancelled(row([SENT, CANCEL, signalled()]))
    assert silent is not None
    assert silent.worst is None
