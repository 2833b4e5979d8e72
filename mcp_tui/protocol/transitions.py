"""The events that each state of a request permits: the one table, and the index of requests that is made from it.

:mod:`~mcp_tui.protocol.requests` applies events to rows by :data:`TRANSITIONS`. That is too slow for a million events
at every step of a replay, so :class:`RequestIndex` has only the state of each request and the counted effects. A live
session and a recording make the same index from the same events and the same table.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import DESCRIPTIONS
from mcp_tui.protocol.server_requests import NONE
from mcp_tui.protocol.states import LISTEN, OPEN, TERMINAL, Cause, Kind, State

_NOTED_EVENTS: dict[type[ev.RequestEvent], State | None] = {
    ev.CancelSignalled: None,
    ev.CancelAccepted: None,
    ev.CancelUnanswered: None,
    ev.CancelDelayed: None,
    ev.Undelivered: None,
    ev.Unwatched: None,
    ev.Rejected: None,
    ev.Late: None,
    ev.Duplicate: None,
    ev.TaskCreated: None,
    ev.TaskStatus: None,
    ev.Delivered: None,
}

_BREACHES: dict[type[ev.RequestEvent], State | None] = {
    ev.CancelledByServer: None,
    ev.Dropped: None,
    ev.Guarded: None,
}

_ENDING_EVENTS: dict[type[ev.RequestEvent], State | None] = {
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
        ev.Repeat: None,
        # a second round may receive the duplicate of the first
        ev.Duplicate: None,
        **_BREACHES,
        **_ENDING_EVENTS,
    },
    State.IN_FLIGHT: {
        ev.Progress: None,
        ev.Duplicate: None,
        ev.Acknowledged: None,
        ev.Delivered: None,
        ev.InputRequired: State.AWAITING_INPUT,
        ev.TaskCreated: State.TASK,
        ev.Round: State.QUEUED,
        ev.Completed: State.COMPLETED,
        **_BREACHES,
        **_CLOCKS,
        **_ENDING_EVENTS,
    },
    State.AWAITING_INPUT: {ev.Round: State.QUEUED, ev.Duplicate: None, **_BREACHES, **_ENDING_EVENTS},
    State.TASK: {
        ev.Progress: None,
        ev.Duplicate: None,
        ev.TaskStatus: None,
        ev.Polled: None,
        ev.Completed: State.COMPLETED,
        **_BREACHES,
        **_CLOCKS,
        **_ENDING_EVENTS,
    },
    State.CANCEL_REQUESTED: {
        ev.Sent: None,
        **_NOTED_EVENTS,
        **_BREACHES,
        ev.CancelWithdrawn: State.IN_FLIGHT,
        ev.Settled: State.CANCELLED,
    },
    State.CANCELLED: {
        ev.Sent: None,
        **_NOTED_EVENTS,
        **_BREACHES,
        # C-07: Sent is permitted because the transport may have begun to write before the request could be taken back.
    },
    State.COMPLETED: {ev.Duplicate: None, ev.Guarded: None},
    State.FAILED: {ev.Duplicate: None, ev.Guarded: None},
    State.LOST: {**_NOTED_EVENTS, **_BREACHES},
}


class IllegalTransition(Exception):
    """The state of a request does not permit an event, which is a bug in mcp-tui."""


KINDS: Final[tuple[type[ev.Event], ...]] = tuple(DESCRIPTIONS)
"""The event classes. The code of an event is the index of its class."""

CODES: Final = {kind: code for code, kind in enumerate(KINDS)}

(
    STAYED, COUNTED, STALLED, LATE_PROGRESS, REPEATED, CALLED, ENDED, REQUESTED, WITHDRAWN, SETTLED, LATE, HANDLE, ILLEGAL,
) = range(EFFECTS := 13)  # fmt: skip
"""The effect of an event on its request.

The first five only change the row. Of a long run of :data:`COUNTED`, :data:`STALLED` (progress that did not
increase), or :data:`LATE_PROGRESS` (after the cancel), only the number and the last events matter. :data:`REPEATED`
is a further late answer. The others change a counter: called, ended, cancel requested, cancel withdrawn, settled,
first late answer, and the task that a late answer turned out to be. ``ILLEGAL``: no state permits the event.
"""

_COUNTED_EVENTS: Final = frozenset({ev.Progress, ev.Delivered, ev.Duplicate, ev.TaskStatus, ev.Polled})

_OWN, _CANCELLED, _SHUTDOWN, _ANSWERED, _TASK, _ANSWERED_BY_TASK = (1 << bit for bit in range(6))

ASPECTS: Final[dict[type[ev.Event], tuple[tuple[str, object, int], ...]]] = {
    ev.Called: (("internal", True, 1), ("method", LISTEN, 2)),
    ev.CancelRequested: (("cause", Cause.SHUTDOWN, 1),),
    ev.Progress: (("rearmed", False, 1),),
    ev.Late: (("after_end", True, 1), ("kind", Kind.PROGRESS, 2), ("kind", Kind.TASK, 4)),
}
"""The field values of an event that matter for its effect, one bit each. A recording finds them in the stored bytes."""

_WIDTH: Final = 8
"""The number of combinations of aspects."""

_KINDS: Final = len(KINDS)
OVER: Final = (ENDED, SETTLED)


def aspect_of(event: ev.Event) -> int:
    """Returns the bits of the :data:`ASPECTS` that an event has."""
    found = 0
    for name, value, bit in ASPECTS.get(type(event), ()):
        if getattr(event, name) == value:
            found |= bit
    return found


def _effect(before: State, after: State, kind: type[ev.Event], aspect: int) -> int:
    if before in OPEN and after is State.CANCEL_REQUESTED:
        return REQUESTED
    if before is State.CANCEL_REQUESTED and after in OPEN:
        return WITHDRAWN
    if after in TERMINAL and before not in TERMINAL:
        return ENDED if before in OPEN else SETTLED
    if kind is ev.TaskCreated:
        return HANDLE
    if kind is ev.Late and not aspect & 1:  # a message after the end of watching changes nothing
        return LATE_PROGRESS if aspect & 2 else LATE
    if kind is ev.Progress and aspect:
        return STALLED
    return COUNTED if kind in _COUNTED_EVENTS else STAYED


_ALL_STATES: Final = tuple(State)
_QUEUED_CODE: Final = _ALL_STATES.index(State.QUEUED)


def _tables() -> tuple[bytes, bytes]:
    """Makes two tables: the next state for each state and code, and the effect for each of these and each aspect."""
    states, effects = bytearray(), bytearray()
    for state in _ALL_STATES:
        permitted: dict[type[ev.Event], State | None] = {**TRANSITIONS[state]}
        for kind in KINDS:
            after = permitted.get(kind) or state
            states.append(_ALL_STATES.index(after) if kind in permitted else ILLEGAL)
            aspects = range(_WIDTH) if kind in ASPECTS else (0,)  # without any, all are the same
            effects += bytes(_effect(state, after, kind, each) for each in aspects) * (_WIDTH // len(aspects))
    return bytes(states), bytes(effects)


_NEXT, _EFFECTS = _tables()


class RequestIndex:
    """The index of our requests by their places, in six bytes each. A moment is the number of an event.

    ``over`` has the moment at which a request ended, :data:`~mcp_tui.protocol.server_requests.NONE` before that.
    ``internal`` lists the internal requests, ``listening`` the internal subscriptions, and ``cancelled`` all others
    that were ever cancelled, in the order of their cancels.
    """

    def __init__(self) -> None:
        self.over = array("I")
        self.internal = array("I")
        self.listening = array("I")
        self.cancelled = array("I")
        self._states = bytearray()
        self._flags = bytearray()

    def __len__(self) -> int:
        return len(self._states)

    def state(self, place: int) -> State:
        """Returns the state of a request."""
        return _ALL_STATES[self._states[place]]

    def call(self, aspect: int) -> int:
        """Adds a request; returns its place."""
        place = len(self._states)
        self._states.append(_QUEUED_CODE)
        self.over.append(NONE)
        self._flags.append(_OWN if aspect else 0)  # see Request.cancel_is_internal
        if aspect & 1:
            self.internal.append(place)
            if aspect & 2:
                self.listening.append(place)
        return place

    def apply(self, place: int, code: int, aspect: int, moment: int) -> int:
        """Applies an event; returns its effect. An illegal event changes nothing."""
        cell = self._states[place] * _KINDS + code
        after = _NEXT[cell]
        if after == ILLEGAL:
            return ILLEGAL
        self._states[place] = after
        effect = _EFFECTS[cell * _WIDTH + aspect]
        # Nearly all events end here: they only change the row.
        if effect < CALLED:
            return effect
        if effect in OVER:
            self.over[place] = moment
            return effect
        return self._mark(place, effect, aspect)

    def _mark(self, place: int, effect: int, aspect: int) -> int:
        """Marks effects that count once per request; returns the effect, which is weaker for one that was counted before."""
        flags = self._flags[place]
        if effect == REQUESTED:
            if aspect:
                flags |= _SHUTDOWN
            elif not flags & (_OWN | _CANCELLED):
                flags |= _CANCELLED
                self.cancelled.append(place)
        elif effect == WITHDRAWN:
            flags &= ~_SHUTDOWN
        elif effect == HANDLE:
            if not flags & _ANSWERED_BY_TASK:
                effect = STAYED
            flags = (flags | _TASK) & ~_ANSWERED_BY_TASK
        elif flags & (_OWN | _SHUTDOWN | _ANSWERED) or (aspect & 4 and flags & _TASK):
            effect = REPEATED
        else:
            if flags & _ANSWERED_BY_TASK:  # the handle was counted as the late answer
                effect = REPEATED
            flags |= _ANSWERED_BY_TASK if aspect & 4 else _ANSWERED
            if flags & _ANSWERED:
                flags &= ~_ANSWERED_BY_TASK
        self._flags[place] = flags
        return effect


def counts(count: Callable[[int], int], listening: int) -> tuple[int, int, int]:
    """Returns the numbers of requests in flight, with cancel requested, and answered late, from the count of each effect.

    ``listening`` is the number of open internal subscriptions, which do not count as in flight.
    """
    requested = count(REQUESTED) - count(WITHDRAWN)
    in_flight = count(CALLED) - count(ENDED) - requested - listening
    return in_flight, requested - count(SETTLED), count(LATE) - count(HANDLE)
