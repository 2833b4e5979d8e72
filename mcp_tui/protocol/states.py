"""The states of a request, and the table of what may happen in each.

The table is the whole truth about states: an event that it does not permit is a defect of ours, an event mapped to
``None`` leaves the state as it is. "Timed out" and "late, ignored" are not states:
:func:`mcp_tui.tui.view.badges.badge` derives them from state, cause and evidence.
"""

from __future__ import annotations

from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.terms import State

OPEN: Final = frozenset({State.QUEUED, State.IN_FLIGHT, State.AWAITING_INPUT, State.TASK})
"""States in which an answer is still waited for."""

RUNNING: Final = frozenset({State.IN_FLIGHT, State.TASK})
"""States in which the server is at work on a request, and its clocks run."""

TERMINAL: Final = frozenset({State.CANCELLED, State.COMPLETED, State.FAILED, State.LOST})
"""States that never change again."""

_NOTED: dict[type[ev.RequestEvent], State | None] = {
    ev.CancelSignalled: None,
    ev.Undelivered: None,
    ev.Late: None,
    ev.Duplicate: None,
    ev.TaskCreated: None,
    ev.TaskStatus: None,
    ev.Delivered: None,
}

_ENDS: dict[type[ev.RequestEvent], State | None] = {
    ev.Failed: State.FAILED,
    ev.Lost: State.LOST,
    ev.CancelRequested: State.CANCEL_REQUESTED,
}

_CLOCKS: dict[type[ev.RequestEvent], State | None] = {
    ev.Overdue: None,
    ev.Extended: None,
    ev.Paused: None,
    ev.Resumed: None,
}

TRANSITIONS: Final[dict[State, dict[type[ev.RequestEvent], State | None]]] = {
    State.QUEUED: {
        ev.Sent: State.IN_FLIGHT,
        ev.Duplicate: None,
        **_ENDS,
    },  # a second round may see the first's duplicate
    State.IN_FLIGHT: {
        ev.Progress: None,
        ev.Duplicate: None,
        ev.Acknowledged: None,
        ev.Delivered: None,
        ev.InputRequired: State.AWAITING_INPUT,
        ev.TaskCreated: State.TASK,
        ev.Round: State.QUEUED,
        ev.Completed: State.COMPLETED,
        **_CLOCKS,
        **_ENDS,
    },
    State.AWAITING_INPUT: {ev.Round: State.QUEUED, ev.Duplicate: None, **_ENDS},
    State.TASK: {
        ev.Progress: None,
        ev.Duplicate: None,
        ev.TaskStatus: None,
        ev.Completed: State.COMPLETED,
        **_CLOCKS,
        **_ENDS,
    },
    State.CANCEL_REQUESTED: {
        ev.Sent: None,
        ev.CancelSignalled: None,
        ev.Undelivered: None,
        ev.Late: None,
        ev.Duplicate: None,
        ev.TaskCreated: None,
        ev.TaskStatus: None,
        ev.Delivered: None,
        ev.CancelWithdrawn: State.IN_FLIGHT,
        ev.Settled: State.CANCELLED,
    },
    State.CANCELLED: {ev.Sent: None, **_NOTED},  # sent after all: it could not be taken back in time
    State.COMPLETED: {ev.Duplicate: None},
    State.FAILED: {ev.Duplicate: None},
    State.LOST: _NOTED,
}
