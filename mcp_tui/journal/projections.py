"""What is asked of a session later, made of its requests: the facts of each cancellation.

One function makes them, of a row that the one fold of events led to: the index keeps what it says, the cancellation log
and the exports print it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, RequestId, Signal
from mcp_tui.protocol.requests import Evidence, Request, State


class Outcome(Enum):
    """What came of a cancel, as far as it was seen."""

    SILENT = "silent"
    """No answer came while the request was watched."""
    LATE_RESULT = "late_result"
    LATE_ERROR = "late_error"
    LATE_INPUT_REQUIRED = "late_input_required"
    LATE_TASK = "late_task"
    LATE_OVERSIZE = "late_oversize"
    """A response that was too large to be read."""
    STILL_PROGRESSING = "still_progressing"
    """Progress came after the cancel, and no answer."""
    TASK_CANCELLED = "task_cancelled"
    """The server said so: the status of the task is cancelled."""
    STREAM_CLOSED = "stream_closed"
    """The request's stream was closed: nothing can be seen of it any more."""
    UNDELIVERED = "undelivered"
    """The signal could not be delivered."""
    UNSIGNALLED = "unsignalled"
    """No signal was sent, although the request was."""
    NOT_SENT = "not_sent"
    """The request was cancelled before it was sent."""
    LOST = "lost"
    """The connection was lost before anything came."""
    WITHDRAWN = "withdrawn"
    """The answer came first, and counts."""
    UNSETTLED = "unsettled"
    """Nothing came yet; or the session ended before the request was over."""


LATE: Final = {
    Kind.RESULT: Outcome.LATE_RESULT,
    Kind.ERROR: Outcome.LATE_ERROR,
    Kind.INPUT_REQUIRED: Outcome.LATE_INPUT_REQUIRED,
    Kind.TASK: Outcome.LATE_TASK,
    Kind.OVERSIZE: Outcome.LATE_OVERSIZE,
}

_OVER: Final = frozenset({"", "answered late", "the stream ended without a response"})
"""How a request that was cancelled may be over while the connection stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """A request that was cancelled, and what came of it.

    ``at`` is the cancel's moment, in monotonic seconds; ``elapsed`` the seconds from the request's writing to it, and
    ``None`` where it was not written before. ``state`` is the request's: a cancel that was withdrawn has another than
    *cancelled*. ``details`` is why the signal could not be delivered, or how the request was over.
    """

    id: RequestId
    method: str
    name: str
    at: float
    cause: Cause
    reason: str
    outcome: Outcome
    state: State
    signal: Signal | None = None
    reason_delivered: bool = False
    elapsed: float | None = None
    late: tuple[Evidence, ...] = ()
    details: str = ""

    @property
    def worst(self) -> float | None:
        """The greatest lag, in seconds, of whatever came after the cancel; ``None`` where nothing did."""
        return max((each.last_after for each in self.late), default=None)

    @property
    def ended(self) -> str:
        """The state as ``outcome`` of ``--json`` has it: a cancel by a limit is ``timed_out``."""
        if self.state in {State.CANCEL_REQUESTED, State.CANCELLED}:
            return "timed_out" if self.cause in {Cause.TIMEOUT, Cause.MAX_TIMEOUT} else "cancelled"
        return self.state.value

    def as_json(self) -> dict[str, Any]:
        """The members of ``log --json`` that are about the request; times in seconds."""
        return {
            "id": self.id,
            "method": self.method,
            "name": self.name or None,
            "tool": self.name if self.method == "tools/call" else None,
            "state": self.ended,
            "outcome": self.outcome.value,
            "cause": self.cause.value,
            "reason": self.reason,
            "signal": None if self.signal is None else self.signal.value,
            "reason_delivered": self.reason_delivered,
            "elapsed": None if self.elapsed is None else round(self.elapsed, 6),
            "late": [evidence_json(each) for each in self.late],
            "worst": None if self.worst is None else round(self.worst, 6),
            "details": self.details or None,
        }


def evidence_json(each: Evidence) -> dict[str, Any]:
    """What came after a cancel, as ``late`` of ``--json`` has it."""
    made: dict[str, Any] = {"kind": each.kind.value, "after": round(each.after, 6)}
    if each.code is not None:
        made["code"] = each.code
    if each.kind is Kind.PROGRESS:
        made["count"] = each.count
    if each.kind is Kind.OVERSIZE:
        made["bytes"] = each.size
    return made


def cancel_of(row: Request) -> ev.CancelRequested | None:
    """The cancel of a row, one that was withdrawn included; ``None`` where there was none."""
    if row.cancel_at is not None and row.cause is not None:
        return ev.CancelRequested(at=row.cancel_at, id=row.id, cause=row.cause, reason=row.reason)
    found = (event for event in reversed(row.history) if isinstance(event, ev.CancelRequested))
    return next(found, None)


def cancelled(row: Request) -> Cancelled | None:
    """The facts of a row's cancellation, or ``None`` where it was never cancelled."""
    asked = cancel_of(row)
    if asked is None:
        return None
    written = row.sent_at is not None and row.sent_at <= asked.at
    return Cancelled(
        id=row.id,
        method=row.method,
        name=row.name,
        at=asked.at,
        cause=asked.cause,
        reason=asked.reason,
        outcome=outcome(row),
        state=row.state,
        signal=row.signal,
        reason_delivered=row.reason_delivered,
        elapsed=asked.at - row.sent_at if written and row.sent_at is not None else None,
        late=tuple(row.late),
        details=row.undelivered or row.settled,
    )


def outcome(row: Request) -> Outcome:
    """What came of a row's cancel."""
    if row.cancel_at is None:
        return Outcome.WITHDRAWN
    answer = next((each for each in row.late if each.kind is not Kind.PROGRESS), None)
    if answer is not None:
        return LATE[answer.kind]
    if row.task_status == "cancelled":
        return Outcome.TASK_CANCELLED
    if row.late:
        return Outcome.STILL_PROGRESSING
    if row.undelivered:
        return Outcome.UNDELIVERED
    if row.state is State.CANCEL_REQUESTED:
        return Outcome.UNSETTLED
    if row.sent_at is None:
        return Outcome.NOT_SENT
    match row.signal:
        case None | Signal.NONE:
            return Outcome.UNSIGNALLED
        case Signal.STREAM_CLOSED:
            return Outcome.STREAM_CLOSED
        case _:
            return Outcome.SILENT if row.settled in _OVER else Outcome.LOST
