"""What can happen to a request, as the table of races tells it: request 7, by events at seconds of its own."""

from __future__ import annotations

from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Event, Kind, Origin, Signal
from mcp_tui.protocol.states import LISTEN

CALLED: Final = ev.Called(at=0.0, id=7, method="tools/call", name="slow_sql")
SENT: Final = ev.Sent(at=0.0, id=7)
DONE: Final = ev.Completed(at=2.0, id=7, size=812)
CANCEL: Final = ev.CancelRequested(at=4.0, id=7, cause=Cause.USER, reason="wrong table")
TIMEOUT: Final = ev.CancelRequested(at=4.0, id=7, cause=Cause.TIMEOUT, reason="timed out after 4 s")
MAXIMUM: Final = ev.CancelRequested(
    at=4.0, id=7, cause=Cause.MAX_TIMEOUT, reason="timed out after 4 s (maximum)"
)
SHUTDOWN: Final = ev.CancelRequested(at=4.0, id=7, cause=Cause.SHUTDOWN, reason="client is shutting down")
NOTIFIED: Final = ev.CancelSignalled(at=4.0, id=7, signal=Signal.NOTIFICATION, reason_delivered=True)
CLOSED: Final = ev.CancelSignalled(at=4.0, id=7, signal=Signal.STREAM_CLOSED, reason_delivered=False)
UNSIGNALLED: Final = ev.CancelSignalled(at=4.0, id=7, signal=Signal.NONE, reason_delivered=False)
SETTLED: Final = ev.Settled(at=6.0, id=7)
WITHDRAWN: Final = ev.CancelWithdrawn(at=4.1, id=7)

IN_FLIGHT: Final = (CALLED, SENT)
CANCELLING: Final = (*IN_FLIGHT, CANCEL, NOTIFIED)
CLOSED_STREAM: Final = (*IN_FLIGHT, CANCEL, CLOSED, SETTLED)


def late(kind: Kind, *, code: int | None = None) -> ev.Late:
    return ev.Late(at=4.412, id=7, kind=kind, after=0.412, code=code)


def lost(detail: str) -> ev.Lost:
    return ev.Lost(at=4.0, id=7, detail=detail)


def undelivered(detail: str) -> ev.Undelivered:
    return ev.Undelivered(at=4.5, id=7, detail=detail)


def broken(rule: str, message: str) -> ev.Failed:
    return ev.Failed(at=2.0, id=7, message=message, origin=Origin.CLIENT, rule=rule)


def settled(detail: str) -> ev.Settled:
    return ev.Settled(at=4.412, id=7, detail=detail)


def initialize(*events: Event) -> tuple[Event, ...]:
    return (ev.Called(at=0.0, id=7, method="initialize", internal=True), SENT, *events)


LISTENING: Final = (ev.Called(at=0.0, id=7, method=LISTEN), SENT)
UNSUBSCRIBING: Final = (
    *LISTENING,
    ev.CancelRequested(at=4.0, id=7, cause=Cause.USER, reason="unsubscribed"),
    NOTIFIED,
)

TASK: Final = ev.TaskCreated(at=1.0, id=7, task_id="t-1", status="working")
TASK_CANCELLED: Final = ev.CancelSignalled(at=4.0, id=7, signal=Signal.TASKS_CANCEL, reason_delivered=False)
WANTS_INPUT: Final = ev.InputRequired(at=3.0, id=7, round=1, asks="elicitation/create")
SECOND_LEG: Final = (
    ev.Round(at=3.5, id=7, wire_id=8, number=2, why="input given"),
    ev.Sent(at=3.5, id=7),
)
RUNNING_TASK: Final = (*IN_FLIGHT, TASK)
CANCELLING_TASK: Final = (*RUNNING_TASK, CANCEL, TASK_CANCELLED)
HELD: Final = (ev.Called(at=0.0, id=7, method="tools/call", name="slow_sql", as_task=True), SENT, CANCEL)


def status(word: str) -> ev.TaskStatus:
    return ev.TaskStatus(at=4.4, id=7, status=word)
