"""The words about a cancelled request: each fact that can be seen has its words, and no word stands without its fact."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.events import Cause, Kind, Signal
from mcp_tui.protocol.evidence import Outcome
from mcp_tui.protocol.requests import OPEN, Requests, State
from tests.protocol import claims
from tests.protocol.playbook import Wire, at

CALLED = ev.Called(at=0.0, id=1, method="tools/call", name="slow")
SENT = ev.Sent(at=0.0, id=1)
CANCEL = ev.CancelRequested(at=10.0, id=1, cause=Cause.USER, reason="no")


def _signalled(signal: Signal, at: float = 10.0, *, answered: bool = False) -> ev.CancelSignalled:
    carried = signal is Signal.NOTIFICATION
    return ev.CancelSignalled(at=at, id=1, signal=signal, reason_delivered=carried, answered=answered)


WRITTEN = _signalled(Signal.NOTIFICATION)
POSTED = _signalled(Signal.NOTIFICATION, answered=True)
CLOSED = _signalled(Signal.STREAM_CLOSED)
NEVER = _signalled(Signal.NONE)
TASKS = _signalled(Signal.TASKS_CANCEL, answered=True)
TASK = ev.TaskCreated(at=5.0, id=1, task_id="T", status="working")


def _late(kind: Kind, after: float, **more: Any) -> ev.Late:
    return ev.Late(at=10.0 + after, id=1, kind=kind, after=after, **more)


def _progress(*after: float) -> list[ev.Event]:
    return [_late(Kind.PROGRESS, each) for each in after]


def _settled(detail: str = "", at: float = 12.0) -> ev.Settled:
    return ev.Settled(at=at, id=1, detail=detail)


def _lost(after: float, detail: str) -> ev.Unwatched:
    return ev.Unwatched(at=10.0 + after, id=1, detail=detail, disconnected=True)


def _ended(after: float, detail: str) -> ev.Unwatched:
    return ev.Unwatched(at=10.0 + after, id=1, detail=detail)


class Case(NamedTuple):
    """What was seen of a request that was cancelled at 10 s, and what is said of it at 13 s."""

    events: list[ev.Event]
    delivery: str
    aftermath: str
    outcomes: list[str]
    json: dict[str, Any]


OF_NOTHING: dict[str, Any] = {
    "unconfirmed": None,
    "watched": 0.0,
    "disconnected": None,
    "late": [],
    "reason_delivered": False,
}
GONE = "the server ended the session (HTTP 404)"

DELIVERY = {
    "cancelled in the queue": Case(
        [CANCEL, NEVER, _settled("cancelled before it was sent", 10.0)],
        "not sent: cancelled before it was sent", "", ["not_sent"],
        {"signal": "none", "delivery": "none", **OF_NOTHING},
    ),
    "the connection was gone": Case(
        [SENT, CANCEL, NEVER, _settled("server exited with code 3", 11.0)],
        "not sent: server exited with code 3", "", ["not_sent"],
        {"signal": "none", "delivery": "none", **OF_NOTHING},
    ),
    "not written yet": Case(
        [SENT, CANCEL, ev.CancelDelayed(at=12.0, id=1, detail="not written after 2 s")],
        "not sent yet: not written after 2 s", "", ["watching"],
        {"signal": "none", "delivery": "none", **OF_NOTHING},
    ),
    "written": Case(
        [SENT, CANCEL, WRITTEN, _settled()],
        "sent", "no reply (watched 3.0 s)", ["no_reply"],
        {"signal": "notification", "delivery": "written", "reason_delivered": True, "unconfirmed": None,
         "watched": 3.0, "late": []},
    ),
    "accepted": Case(
        [SENT, CANCEL, POSTED, ev.CancelAccepted(at=10.1, id=1), _settled()],
        "sent, accepted", "no reply (watched 3.0 s)", ["no_reply"],
        {"signal": "notification", "delivery": "accepted", "reason_delivered": True, "unconfirmed": None},
    ),
    "no status": Case(
        [SENT, CANCEL, POSTED, ev.CancelUnanswered(at=10.002, id=1, detail="the connection was closed"), _settled()],
        "sent, no status: the connection was closed after 2 ms", "no reply (watched 3.0 s)", ["no_reply"],
        {"signal": "notification", "delivery": "written", "reason_delivered": True, "unconfirmed": None},
    ),
    "a task's cancel, accepted": Case(
        [SENT, TASK, CANCEL, TASKS, ev.CancelAccepted(at=10.1, id=1), _settled()],
        "sent, accepted", "task last reported as working (watched 3.0 s)", ["no_reply"],
        {"signal": "tasks_cancel", "delivery": "accepted", "reason_delivered": False, "unconfirmed": None},
    ),
    "refused": Case(
        [SENT, CANCEL, POSTED, ev.Undelivered(at=10.1, id=1, detail="HTTP 401", refused=True)],
        "sent, refused: HTTP 401", "no reply (watched 3.0 s)", ["refused"],
        {"signal": "notification", "delivery": "refused", "reason_delivered": True, "unconfirmed": None},
    ),
    "a task's cancel, refused": Case(
        [SENT, TASK, CANCEL, TASKS, ev.Undelivered(at=10.1, id=1, detail="error -32603 no", refused=True)],
        "sent, refused: error -32603 no", "task last reported as working (watched 3.0 s)", ["refused"],
        {"signal": "tasks_cancel", "delivery": "refused", "unconfirmed": None},
    ),
    "failed": Case(
        [SENT, CANCEL, ev.Undelivered(at=10.1, id=1, detail="connection reset")],
        "not delivered: connection reset", "", ["failed"],
        {"signal": "none", "delivery": "failed", **OF_NOTHING},
    ),
    "unconfirmed": Case(
        [SENT, CANCEL, _signalled(Signal.NOTIFICATION, 11.0, answered=True)],
        "sent, not confirmed for 2.0 s", "", ["watching"],
        {"signal": "notification", "delivery": "written", "reason_delivered": True, "unconfirmed": 2.0,
         "watched": 2.0},
    ),
    "withdrawn": Case(
        [SENT, CANCEL, ev.CancelWithdrawn(at=11.0, id=1), ev.Completed(at=11.0, id=1)],
        "withdrawn", "", ["withdrawn"],
        {"state": "completed", "cause": "user", "reason": "no", "elapsed": 10.0,
         "signal": None, "delivery": None, "unconfirmed": None, "watched": None, "disconnected": None,
         "reason_delivered": False, "late": []},
    ),
}  # fmt: skip
"""Did the cancel leave, and was it received?"""

STEADY = [0.2 * each for each in range(1, 15)]

AFTER = {
    "its stream was closed": Case(
        [SENT, CANCEL, CLOSED, _settled(at=10.0)],
        "stream closed", "nothing more can be seen", ["stream_closed"],
        {"signal": "stream_closed", "delivery": "written", "reason_delivered": False, "watched": 0.0},
    ),
    "nothing, until its stream ended": Case(
        [SENT, CANCEL, WRITTEN, _ended(0.5, "the stream ended without a response"),
         _settled("the stream ended without a response", 10.5)],
        "sent", "no reply (watched 500 ms); the stream ended without a response", ["no_reply"],
        {"watched": 0.5},
    ),
    "progress in transit": Case(
        [SENT, CANCEL, WRITTEN, *_progress(0.002), _settled()],
        "sent", "1 progress message, last at +2 ms, then quiet for 3.0 s", ["no_reply"],
        {"late": [{"kind": "progress", "after": 0.002, "count": 1, "last": 0.002}]},
    ),
    "progress before the signal was written": Case(
        [SENT, CANCEL, *_progress(0.5), _signalled(Signal.NOTIFICATION, 11.0), _settled()],
        "sent", "1 progress message, last at +500 ms, then quiet for 2.0 s", ["no_reply"], {"watched": 2.0},
    ),
    "two messages in transit": Case(
        [SENT, CANCEL, WRITTEN, *_progress(0.1, 0.25), _settled()],
        "sent", "2 progress messages, last at +250 ms, then quiet for 2.8 s", ["no_reply"], {},
    ),
    "one message behind those in transit": Case(
        [SENT, CANCEL, WRITTEN, *_progress(0.1, 0.2, 2.9), _settled()],
        "sent", "still progressing: 3 messages, last at +2.9 s of 3.0 s", ["still_progressing"], {},
    ),
    "progress to the end": Case(
        [SENT, CANCEL, WRITTEN, *_progress(*STEADY), _settled()],
        "sent", "still progressing: 14 messages, last at +2.8 s of 3.0 s", ["still_progressing"], {},
    ),
    "slow progress to the end": Case(
        [SENT, *(ev.Progress(at=each, id=1, progress=each) for each in (4.0, 6.0, 8.0)), CANCEL, WRITTEN,
         *_progress(0.5, 1.5), _settled()],
        "sent", "still progressing: 2 messages, last at +1.5 s of 3.0 s", ["still_progressing"], {},
    ),
    "progress, and a silence of more than twice its longest gap": Case(
        [SENT, ev.Progress(at=9.5, id=1, progress=1), CANCEL, WRITTEN, *_progress(0.35, 0.5), _settled()],
        "sent", "2 progress messages, last at +500 ms, then quiet for 2.5 s", ["progress_then_quiet"],
        {"outcome": "progress_then_quiet", "late": [{"kind": "progress", "after": 0.35, "count": 2, "last": 0.5}]},
    ),
    "one message that was not in transit, then quiet": Case(
        [SENT, CANCEL, WRITTEN, *_progress(0.4), _settled()],
        "sent", "1 progress message, last at +400 ms, then quiet for 2.6 s", ["progress_then_quiet"], {},
    ),
    "an early error, and progress that goes on": Case(
        [SENT, CANCEL, WRITTEN, _late(Kind.ERROR, 0.002, code=0), _settled("answered late", 10.002),
         *_progress(*STEADY)],
        "sent", "late error 0 at +2 ms, ignored; still progressing: 14 messages, last at +2.8 s of 3.0 s",
        ["still_progressing", "late_error"],
        {"outcome": "still_progressing", "outcomes": ["still_progressing", "late_error"]},
    ),
    "an early error, and progress for a while": Case(
        [SENT, CANCEL, WRITTEN, _late(Kind.ERROR, 0.002, code=0), _settled("answered late", 10.002),
         *_progress(0.2, 0.6, 1.0)],
        "sent", "late error 0 at +2 ms, ignored; 3 progress messages, last at +1.0 s, then quiet for 2.0 s",
        ["late_error", "progress_then_quiet"], {},
    ),
    "progress until the connection ended": Case(
        [SENT, CANCEL, WRITTEN, *_progress(0.2, 0.4, 0.6), _lost(0.709, "server exited with code 4"),
         _settled("server exited with code 4", 10.709)],
        "sent", "still progressing: 3 messages, last at +600 ms of 709 ms; "
        "server exited with code 4 (709 ms after the cancel)",
        ["still_progressing", "disconnected"], {},
    ),
    "an error without an id": Case(
        [SENT, CANCEL, WRITTEN, ev.Rejected(at=10.001, id=1, code=-32600, after=0.001), _settled()],
        "sent", "no reply (watched 3.0 s); "
        "the server rejected a message without naming it (-32600), 1 ms after the cancel", ["no_reply"],
        {"rejection": {"code": -32600, "after": 0.001}},
    ),
    "nobody listened": Case(
        [SENT, CANCEL, _ended(0.0, "its stream was closed and is not resumed"), WRITTEN, _settled()],
        "sent", "nothing more can be seen; its stream was closed and is not resumed", ["not_watched"],
        {"watched": 0.0},
    ),
    "only behind the end of watching": Case(
        [SENT, CANCEL, WRITTEN, _settled(), ev.Unwatched(at=12.5, id=1, final=True),
         _late(Kind.RESULT, 2.6, after_end=True), _late(Kind.PROGRESS, 2.7, after_end=True)],
        "sent", "no reply (watched 2.5 s)", ["no_reply"], {"late": [], "watched": 2.5},
    ),
    "a result": Case(
        [SENT, CANCEL, WRITTEN, _late(Kind.RESULT, 1.5), _settled("answered late", 11.5)],
        "sent", "late result at +1.5 s, ignored", ["late_result"],
        {"late": [{"kind": "result", "after": 1.5}]},
    ),
    "an error": Case(
        [SENT, CANCEL, WRITTEN, _late(Kind.ERROR, 0.031, code=-32800), _settled("answered late", 10.031)],
        "sent", "late error -32800 at +31 ms, ignored", ["late_error"],
        {"late": [{"kind": "error", "after": 0.031, "code": -32800}]},
    ),
    "an error, and then the result": Case(
        [SENT, CANCEL, WRITTEN, _late(Kind.ERROR, 0.1, code=0), _settled("answered late", 10.1), _late(Kind.RESULT, 0.5)],
        "sent", "late error 0 at +100 ms, ignored; late result at +500 ms, ignored", ["late_result", "late_error"],
        {"outcome": "late_result", "worst": 0.5},
    ),
    "a result at a time that can only be bounded": Case(
        [SENT, CANCEL, WRITTEN, _late(Kind.RESULT, 0.12, most=2.6), _settled("answered late", 12.6)],
        "sent", "late result between +120 ms and +2.6 s, ignored", ["late_result"],
        {"late": [{"kind": "result", "after": 0.12, "most": 2.6}]},
    ),
    "half of an answer": Case(
        [SENT, CANCEL, WRITTEN, _late(Kind.MALFORMED, 2.4, size=1500, partial=True), _settled()],
        "sent", "half of an answer (1,500 bytes) came at +2.4 s, ignored", ["late_malformed"],
        {"late": [{"kind": "malformed", "after": 2.4, "partial": True, "bytes": 1500}]},
    ),
    "what no client reads": Case(
        [SENT, CANCEL, WRITTEN, ev.Dropped(at=10.5, id=1, detail="an event named 'beat'"), _settled()],
        "sent", "an event named 'beat' came, which no client reads", ["late_malformed"], {"late": []},
    ),
    "a cancel of the server's own": Case(
        [SENT, ev.CancelledByServer(at=9.4, id=1), CANCEL, WRITTEN, _settled()],
        "sent", "the server sent a cancel of its own 600 ms before; no reply (watched 3.0 s)", ["no_reply"], {},
    ),
    "neither a result nor an error": Case(
        [SENT, CANCEL, WRITTEN, _late(Kind.MALFORMED, 0.2), _settled("answered late", 10.2)],
        "sent", "late malformed message at +200 ms, ignored", ["late_malformed"],
        {"late": [{"kind": "malformed", "after": 0.2}]},
    ),
    "too large": Case(
        [SENT, CANCEL, WRITTEN, _late(Kind.OVERSIZE, 1.5, size=200_000_000), _settled("answered late", 11.5)],
        "sent", "late message, too large (200.0 MB) at +1.5 s, ignored", ["late_oversize"],
        {"late": [{"kind": "oversize", "after": 1.5, "bytes": 200_000_000}]},
    ),
    "a request for input": Case(
        [SENT, CANCEL, WRITTEN, _late(Kind.INPUT_REQUIRED, 0.2), _settled("answered late", 10.2)],
        "sent", "late input request at +200 ms, ignored", ["late_input_required"], {},
    ),
    "the session ended": Case(
        [SENT, CANCEL, POSTED, ev.CancelAccepted(at=10.1, id=1), _lost(1.1, GONE), _settled(GONE, 11.1)],
        "sent, accepted", f"{GONE} (1.1 s after the cancel)", ["disconnected"],
        {"watched": 1.1, "disconnected": {"detail": GONE, "after": 1.1}},
    ),
    "an error, and the session ended": Case(
        [SENT, CANCEL, WRITTEN, _late(Kind.ERROR, 0.2, code=0), _settled("answered late", 10.2), _lost(1.1, GONE)],
        "sent", f"late error 0 at +200 ms, ignored; {GONE} (1.1 s after the cancel)",
        ["disconnected", "late_error"],
        {"state": "cancelled", "outcome": "disconnected", "elapsed": 10.0, "worst": 0.2,
         "disconnected": {"detail": GONE, "after": 1.1}},
    ),
    "progress, and a result": Case(
        [SENT, CANCEL, WRITTEN, *_progress(0.002), _late(Kind.RESULT, 1.5), _settled("answered late", 11.5)],
        "sent", "late result at +1.5 s, ignored; 1 progress message, last at +2 ms", ["late_result"], {},
    ),
    "the task was cancelled": Case(
        [SENT, TASK, CANCEL, TASKS, ev.CancelAccepted(at=10.2, id=1),
         ev.TaskStatus(at=10.2, id=1, status="cancelled"),
         _settled("server confirmed: task cancelled", 10.2)],
        "sent, accepted", "server confirmed: task cancelled", ["task_cancelled"], {},
    ),
    "the task finished": Case(
        [SENT, TASK, CANCEL, TASKS, ev.CancelAccepted(at=10.2, id=1),
         ev.TaskStatus(at=10.5, id=1, status="completed"), _late(Kind.RESULT, 0.5),
         _settled("the task finished anyway", 10.5)],
        "sent, accepted", "task finished anyway at +500 ms, ignored", ["late_result"], {},
    ),
    "it became a task": Case(
        [SENT, CANCEL, WRITTEN, _late(Kind.TASK, 0.2), ev.TaskCreated(at=10.2, id=1, task_id="T"), _settled()],
        "sent", "became task T", ["late_task"], {},
    ),
}  # fmt: skip
"""What came after it?"""


def _requests(events: list[ev.Event]) -> Requests:
    requests = Requests()
    for event in (CALLED, *events):
        requests.apply(event)
    return requests


@pytest.mark.parametrize("case", [*DELIVERY.values(), *AFTER.values()], ids=[*DELIVERY, *AFTER])
def test_what_is_seen_has_its_words(case: Case) -> None:
    row = _requests(case.events).order[0]
    assert evidence.delivery_words(row, 13.0) == case.delivery
    assert evidence.aftermath_words(row, 13.0) == case.aftermath
    assert [each.value for each in evidence.outcomes(row, 13.0)] == case.outcomes
    assert evidence.outcome(row, 13.0).value == case.outcomes[0]
    made = evidence.cancellation_json(row, 13.0)
    assert made.items() >= evidence.as_json(row, 13.0).items()
    assert {key: made[key] for key in case.json} == case.json
    claims.check(row, [CALLED, *case.events], 13.0)


@pytest.mark.parametrize(
    ("events", "told"),
    [
        ([SENT, replace(CANCEL, cause=Cause.TIMEOUT), WRITTEN], {"state": "timed_out", "worst": None}),
        ([SENT, replace(CANCEL, cause=Cause.MAX_TIMEOUT), WRITTEN], {"state": "timed_out"}),
        ([CANCEL], {"elapsed": None}),
        ([CANCEL, replace(SENT, at=11.0)], {"elapsed": None}),
        ([SENT, CANCEL, WRITTEN, *_progress(3.9), _late(Kind.RESULT, 2.0)], {"worst": 3.9}),
    ],
)
def test_the_facts_of_a_cancellation(events: list[ev.Event], told: dict[str, Any]) -> None:
    assert evidence.cancellation_json(_requests(events).order[0], 16.0).items() >= told.items()


@pytest.mark.parametrize(
    "events", [[], [SENT], [SENT, ev.Completed(at=2.0, id=1)], [SENT, ev.Lost(at=2.0, id=1, detail="x")]]
)
def test_what_was_never_cancelled_has_no_cancel(events: list[ev.Event]) -> None:
    assert evidence.cancel_of(_requests(events).order[0]) is None


def test_the_words_go_on_with_the_watching_and_stand_still_behind_it() -> None:
    row = _requests([SENT, CANCEL, POSTED, *_progress(0.4, 0.8), _settled()]).order[0]
    assert evidence.outcome(row, 11.0) is Outcome.STILL_PROGRESSING
    assert evidence.outcome(row, 12.0) is Outcome.PROGRESS_THEN_QUIET
    assert evidence.delivery_words(row, 12.0) == "sent, not confirmed for 2.0 s"
    gone = _requests([SENT, CANCEL, POSTED, *_progress(0.4, 0.8), _settled(), _ended(4.0, "it ended")]).order[
        0
    ]
    assert [evidence.summary_words(gone, until) for until in (14.0, 15.0, 900.0)] == [
        "sent, not confirmed for 4.0 s; 2 progress messages, last at +800 ms, then quiet for 3.2 s; it ended"
    ] * 3


# -- from the ledger to the words ------------------------------------------------------------------------------


def test_what_comes_by_another_stream_shows_that_the_watching_goes_on() -> None:
    told = [SENT, CANCEL, POSTED, _ended(0.5, "it ended"), _settled("it ended", 10.5), *_progress(2.4, 6.6)]
    row = _requests(told).order[0]
    assert evidence.aftermath_words(row, 70.0) == (
        "2 progress messages, last at +6.6 s, then quiet for 53.4 s; it ended"
    )
    assert evidence.watched(row, 70.0) == 60.0


def test_the_longest_gap_is_that_of_progress_alone() -> None:
    ledger = Wire("stdio", "2025-11-25").ledger()
    ledger.agree(cancels_tasks=True)
    ledger.call("tools/call", {"name": "slow", "task": {}}, at=0.0)
    handle = {"task": {"taskId": "T", "status": "working"}}
    steps = [at(0).wrote(1), at(1).result(1, handle), *(at(each).progress(1, each) for each in (10, 20, 30))]
    news = {"taskId": "T", "status": "working", "statusMessage": "half"}
    for step in (
        *steps,
        at(39).notification("notifications/tasks/status", news),
        at(39).cancel(1),
        at(39).wrote(2),
    ):
        step.run(ledger)
    at(40).progress(1, 40).run(ledger)
    assert [each.longest for each in ledger.take() if isinstance(each, ev.Late)] == [10.0]


# -- no word without its fact ----------------------------------------------------------------------------------

STEPS = [
    "progress",
    "progress",
    "progress",
    "progress",
    "late",
    "delayed",
    "signal",
    "signal",
    "signal",
    "signal",
    "none",
    "failed",
    "accepted",
    "unanswered",
    "refused",
    "withdrawn",
    "settled",
    "settled",
    "ended",
    "lost",
    "task",
    "status",
    "duplicate",
]
GAPS = st.sampled_from([0.0, 0.03125, 0.125, 0.25, 0.3125, 0.5, 0.5, 1.0, 3.0, 70.0])


class Recording:
    """Makes a legal life of a request that is cancelled: what a ledger would never tell is left out."""

    def __init__(self, data: st.DataObject) -> None:
        self.draw, self.now, self.requests = data.draw, 0.0, Requests()
        self.events: list[ev.Event] = []
        self.told: dict[str, int] = {}
        self.progress: list[float] = []

    def add(self, event: ev.RequestEvent) -> None:
        self.requests.apply(event)
        self.events.append(event)
        self.told[type(event).__name__] = self.told.get(type(event).__name__, 0) + 1

    def make(self) -> None:
        draw = self.draw
        self.add(ev.Called(at=0.0, id=1, method="tools/call"))
        unsent = draw(st.integers(0, 9)) == 0
        if not unsent:
            self.add(ev.Sent(at=0.0, id=1))
            for gap in draw(st.lists(GAPS, max_size=4)):
                self.now += gap
                self.progress.append(self.now)
                self.add(ev.Progress(at=self.now, id=1, progress=float(len(self.progress))))
        self.now += draw(GAPS)
        self.add(ev.CancelRequested(at=self.now, id=1, cause=draw(st.sampled_from(Cause)), reason="no"))
        if unsent:
            self.add(_signalled(Signal.NONE, self.now))
            self.add(ev.Settled(at=self.now, id=1, detail="cancelled before it was sent"))
            return
        for what, gap in draw(st.lists(st.tuples(st.sampled_from(STEPS), GAPS), max_size=12)):
            self.now += gap
            getattr(self, f"_{what}")()

    @property
    def row(self) -> Any:
        return self.requests.order[0]

    @property
    def heard(self) -> bool:
        """Whether something may come."""
        row = self.row
        over = row.state in OPEN or row.state is State.COMPLETED
        return (
            not over and row.disconnected_at is None and row.signalled_at is not None and bool(self.heard_on)
        )

    @property
    def heard_on(self) -> bool:
        return self.row.signal not in (Signal.NONE, Signal.STREAM_CLOSED)

    @property
    def waits(self) -> bool:
        """Whether the signal waits to leave."""
        row = self.row
        return row.state is State.CANCEL_REQUESTED and row.signalled_at is None and not row.undelivered

    @property
    def owed(self) -> bool:
        """Whether a status may still come for the signal."""
        row = self.row
        return row.answer_owed and row.accepted_at is None and not (row.undelivered or row.unanswered)

    def _progress(self) -> None:
        if self.heard or (self.row.state is State.CANCEL_REQUESTED and self.row.signalled_at is None):
            self.progress.append(self.now)
            self._came(Kind.PROGRESS)

    def _came(self, kind: Kind, **more: Any) -> None:
        since = self.row.cancel_at if self.row.signalled_at is None else self.row.signalled_at
        self.add(ev.Late(at=self.now, id=1, kind=kind, after=self.now - since, **more))

    def _late(self) -> None:
        answered = any(each.kind not in (Kind.PROGRESS, Kind.TASK) for each in self.row.late)
        kinds = (
            [Kind.RESULT, Kind.ERROR]
            if self.row.task_id
            else [each for each in Kind if each is not Kind.PROGRESS]
        )
        errors = {each.kind for each in self.row.late} == {Kind.ERROR} and not self.row.task_id
        if errors and self.heard and self.draw(st.booleans()):
            self._came(Kind.RESULT)
        elif self.heard and not answered and (self.row.task_id or not self.row.late):
            kind = self.draw(st.sampled_from(kinds))
            code = self.draw(st.sampled_from([0, -32800])) if kind is Kind.ERROR else None
            self._came(kind, code=code, size=4000 if kind is Kind.OVERSIZE else 0)
            self._settled("answered late")

    def _task(self) -> None:
        if self.heard and not self.row.task_id and all(each.kind is Kind.PROGRESS for each in self.row.late):
            self._came(Kind.TASK)
            self.add(ev.TaskCreated(at=self.now, id=1, task_id="T", status="working"))

    def _status(self) -> None:
        if self.heard and self.row.task_id and self.row.task_status != "cancelled":
            self.add(
                ev.TaskStatus(at=self.now, id=1, status=self.draw(st.sampled_from(["working", "cancelled"])))
            )

    def _duplicate(self) -> None:
        if self.heard and any(each.kind is not Kind.PROGRESS for each in self.row.late):
            self.add(ev.Duplicate(at=self.now, id=1, kind=Kind.RESULT))

    def _delayed(self) -> None:
        if self.waits:
            self.add(ev.CancelDelayed(at=self.now, id=1, detail="not written after 2 s"))

    def _signal(self) -> None:
        if self.waits:
            signal = self.draw(
                st.sampled_from([Signal.NOTIFICATION, Signal.NOTIFICATION, Signal.STREAM_CLOSED])
            )
            answered = signal is Signal.NOTIFICATION and self.draw(st.booleans())
            self.add(_signalled(signal, self.now, answered=answered))
            if signal is Signal.STREAM_CLOSED:
                self._settled()

    def _none(self) -> None:
        if self.waits:
            self.add(_signalled(Signal.NONE, self.now))
            self._settled("it exited")

    def _failed(self) -> None:
        if self.waits:
            self.add(ev.Undelivered(at=self.now, id=1, detail="connection reset"))

    def _accepted(self) -> None:
        if self.owed:
            self.add(ev.CancelAccepted(at=self.now, id=1))

    def _unanswered(self) -> None:
        if self.owed:
            self.add(ev.CancelUnanswered(at=self.now, id=1, detail="the connection was closed"))

    def _refused(self) -> None:
        if self.owed:
            self.add(ev.Undelivered(at=self.now, id=1, detail="HTTP 401", refused=True))

    def _withdrawn(self) -> None:
        if self.waits:
            self.add(ev.CancelWithdrawn(at=self.now, id=1))
            self.add(ev.Completed(at=self.now, id=1))

    def _settled(self, detail: str = "") -> None:
        if self.row.state is State.CANCEL_REQUESTED and self.row.signalled_at is not None:
            self.add(ev.Settled(at=self.now, id=1, detail=detail))

    def _ended(self) -> None:
        if self.row.cancel_at is not None and self.row.unwatched_at is None and self.heard_on:
            self.add(ev.Unwatched(at=self.now, id=1, detail="it ended"))
            self._settled("it ended")

    def _lost(self) -> None:
        watched = self.row.signalled_at is not None and self.heard_on and self.row.disconnected_at is None
        if watched and self.row.cancel_at is not None:
            self.add(ev.Unwatched(at=self.now, id=1, detail="it exited", disconnected=True))
            self._settled("it exited")


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_no_word_stands_without_the_event_that_shows_it(data: st.DataObject) -> None:
    made = Recording(data)
    made.make()
    until = made.now + data.draw(GAPS)
    claims.check(made.row, made.events, until)
