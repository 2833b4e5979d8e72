"""What may happen to a request in each state: the one table, and the index of requests that is made from it.

:mod:`~mcp_tui.protocol.requests` folds events into rows by :data:`TRANSITIONS`. Over a million events that is too slow to
do at every step of a replay, so :class:`RequestIndex` knows of each request only its state and what is counted. A live
session and a recording keep the same index, of the same events, from the same table.
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
        # a second round may see the first's duplicate
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
    },  # sent after all: it could not be taken back in time
    State.COMPLETED: {ev.Duplicate: None, ev.Guarded: None},
    State.FAILED: {ev.Duplicate: None, ev.Guarded: None},
    State.LOST: {**_NOTED_EVENTS, **_BREACHES},
}


class IllegalTransition(Exception):
    """An event that the request's state does not permit, which is a bug in mcp-tui."""


KINDS: Final[tuple[type[ev.Event], ...]] = tuple(DESCRIPTIONS)
"""The classes of events. The code of an event is the index of its class."""

CODES: Final = {kind: code for code, kind in enumerate(KINDS)}

(
    STAYED, COUNTED, STALLED, LATE_PROGRESS, REPEATED, CALLED, ENDED, REQUESTED, WITHDRAWN, SETTLED, LATE, HANDLE, ILLEGAL,
) = range(EFFECTS := 13)  # fmt: skip
"""The effect of an event on its request. The first five only fold into the row: of a long run of :data:`COUNTED`,
:data:`STALLED` (progress that did not increase), or :data:`LATE_PROGRESS` (after the cancel) only the number and the last
ones matter, and :data:`REPEATED` is a further late answer. The others are counted: called, ended, cancel requested, cancel
withdrawn, settled, first late answer, and the task that such an answer turned out to be. ``ILLEGAL``: no state permits it.
"""

_COUNTED_EVENTS: Final = frozenset({ev.Progress, ev.Delivered, ev.Duplicate, ev.TaskStatus, ev.Polled})

_OWN, _CANCELLED, _SHUTDOWN, _ANSWERED, _TASK, _ANSWERED_BY_TASK = (1 << bit for bit in range(6))

ASPECTS: Final[dict[type[ev.Event], tuple[tuple[str, object, int], ...]]] = {
    ev.Called: (("internal", True, 1), ("method", LISTEN, 2)),
    ev.CancelRequested: (("cause", Cause.SHUTDOWN, 1),),
    ev.Progress: (("rearmed", False, 1),),
    ev.Late: (("after_end", True, 1), ("kind", Kind.PROGRESS, 2), ("kind", Kind.TASK, 4)),
}
"""What of an event matters beside its class, each a bit: that a field has a value. A recording finds it in the bytes."""

_WIDTH: Final = 8
"""The number of different aspects."""

_KINDS: Final = len(KINDS)
_OVER: Final = (ENDED, SETTLED)


def aspect_of(event: ev.Event) -> int:
    """Returns which of the :data:`ASPECTS` of its class an event has."""
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
    if kind is ev.Late and not aspect & 1:  # one after the end of the watching changes nothing
        return LATE_PROGRESS if aspect & 2 else LATE
    if kind is ev.Progress and aspect:
        return STALLED
    return COUNTED if kind in _COUNTED_EVENTS else STAYED


_ALL_STATES: Final = tuple(State)
_QUEUED_CODE: Final = _ALL_STATES.index(State.QUEUED)


def _tables() -> tuple[bytes, bytes]:
    """The next state for each state and code, and the effect for each aspect of that."""
    states, effects = bytearray(), bytearray()
    for state in _ALL_STATES:
        permitted: dict[type[ev.Event], State | None] = {**TRANSITIONS[state]}
        for kind in KINDS:
            after = permitted.get(kind) or state
            states.append(_ALL_STATES.index(after) if kind in permitted else ILLEGAL)
            effects += bytes(_effect(state, after, kind, aspect) for aspect in range(_WIDTH))
    return bytes(states), bytes(effects)


_NEXT, _EFFECTS = _tables()


class RequestIndex:
    """The course of our requests by their places, in six bytes each. Moments are numbers of events.

    ``over`` is the moment at which a request ended, :data:`~mcp_tui.protocol.server_requests.NONE` before. ``internal``
    lists the client's own requests, ``listening`` those of them that subscribe to changes, and ``cancelled`` all others
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
        """Folds an event; returns its effect. An illegal one changes nothing."""
        cell = self._states[place] * _KINDS + code
        after = _NEXT[cell]
        if after == ILLEGAL:
            return ILLEGAL
        self._states[place] = after
        effect = _EFFECTS[cell * _WIDTH + aspect]
        if effect < CALLED:
            return effect
        if effect in _OVER:
            self.over[place] = moment
            return effect
        return self._mark(place, effect, aspect)

    def _mark(self, place: int, effect: int, aspect: int) -> int:
        """Notes what is counted once for a request; returns the effect with that in mind."""
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
            if flags & _ANSWERED_BY_TASK:  # counted already, and for good where this is no task
                effect = REPEATED
            flags |= _ANSWERED_BY_TASK if aspect & 4 else _ANSWERED
            if flags & _ANSWERED:
                flags &= ~_ANSWERED_BY_TASK
        self._flags[place] = flags
        return effect


def counts(count: Callable[[int], int], listening: int) -> tuple[int, int, int]:
    """Returns the requests in flight, with cancel requested, and answered late, from how often each effect was there.

    ``listening`` is the number of the client's own subscriptions that are open, which are not counted in flight.
    """
    requested = count(REQUESTED) - count(WITHDRAWN)
    in_flight = count(CALLED) - count(ENDED) - requested - listening
    return in_flight, requested - count(SETTLED), count(LATE) - count(HANDLE)
