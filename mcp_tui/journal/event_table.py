"""The event table of a recording: 18 bytes of columns per event, so that a request is found without reading the file.

Only states are folded here, with one lookup per event in tables made from
:data:`~mcp_tui.protocol.requests.TRANSITIONS`. The events of a request are chained, so that its row at any moment can be
folded from them.
"""

from __future__ import annotations

from array import array
from typing import Final

from mcp_tui.journal.records import EVENTS, read_record
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.descriptions import LOGGED
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import TRANSITIONS
from mcp_tui.protocol.server_requests import ENDS, NONE, ServerRequestIndex
from mcp_tui.protocol.states import OPEN, TERMINAL, State

KINDS: Final = tuple(EVENTS.values())
"""The classes of events. The code of an event is the index of its class."""

CODES: Final = {b'"event":"%s"' % name.encode(): code for code, name in enumerate(EVENTS)}
"""The code of an event by its name as written in a record."""

OF_A_REQUEST: Final = bytes(issubclass(kind, ev.RequestEvent) for kind in KINDS)
"""By its code, whether an event is about one of our requests."""

OF_THE_SERVER: Final = bytes(kind is ev.ServerRequestReceived or kind in ENDS for kind in KINDS)
"""By its code, whether an event is about requests of the server's."""

_RECEIVED: Final = KINDS.index(ev.ServerRequestReceived)
_DISCONNECTED: Final = KINDS.index(ev.Disconnected)
_CALLED: Final = KINDS.index(ev.Called)
_CANCEL: Final = KINDS.index(ev.CancelRequested)
_LATE: Final = KINDS.index(ev.Late)
_PROGRESS: Final = KINDS.index(ev.Progress)

STAYED, COUNTED, CALLED, ENDED, REQUESTED, WITHDRAWN, SETTLED, LATE, LATE_PROGRESS, STALLED = range(10)
"""The effect of an event on its request: no change of state, only counted, called, ended, cancel requested, cancel
withdrawn, settled, first late answer, progress after the cancel, progress that did not increase."""

_STATES: Final = tuple(State)
_ILLEGAL: Final = 0xFF
_CANCELLED: Final = 0x01
_ANSWERED_LATE: Final = 0x02
_HOUSEKEEPING: Final = 0x04
"""The cancel is the client's own and is not counted (:attr:`~mcp_tui.protocol.requests.Request.cancel_is_internal`)."""


def _move(before: State, after: State, kind: type[ev.Event]) -> int:
    if before in OPEN and after in TERMINAL:
        return ENDED
    if before in OPEN and after is State.CANCEL_REQUESTED:
        return REQUESTED
    if before is State.CANCEL_REQUESTED and after in OPEN:
        return WITHDRAWN
    if before is State.CANCEL_REQUESTED and after in TERMINAL:
        return SETTLED
    return COUNTED if kind in {ev.Progress, ev.Delivered, ev.Duplicate, ev.TaskStatus, ev.Polled} else STAYED


def _tables() -> tuple[bytes, bytes]:
    """The next state and the effect, for each state and kind of event."""
    states, moves = bytearray(), bytearray()
    for state in _STATES:
        permitted: dict[type[ev.Event], State | None] = {**TRANSITIONS[state]}
        for kind in KINDS:
            after = permitted.get(kind) or state
            states.append(_STATES.index(after) if kind in permitted else _ILLEGAL)
            moves.append(_move(state, after, kind))
    return bytes(states), bytes(moves)


_NEXT, _MOVES = _tables()


class EventTable:
    """Events and requests by their numbers from 0, in the order in which they came.

    Of an event: ``offsets``, where its record begins; ``kinds``, its code; ``moves``, its effect (:data:`STAYED` and so
    on); ``rows``, the number of its request; ``after``, the next event of that request.
    Of a request: ``first``, its first event; ``over``, the event that ended it. Missing values are :data:`NONE`. ``known``
    has its number by its id as written in a record: ``b'"id":7'``.
    ``internal`` lists the client's own requests, ``listening`` those of them that subscribe to changes. ``log``,
    ``connection`` and ``cancels`` (the first of each request, without the client's own) list events. ``server_requests``
    has the course of the server's requests. ``misfits`` counts events that no state permits.
    """

    def __init__(self) -> None:
        self.offsets = array("Q")
        self.kinds = bytearray()
        self.moves = bytearray()
        self.rows = array("I")
        self.after = array("I")
        self.first = array("I")
        self.over = array("I")
        self.internal = array("I")
        self.listening = array("I")
        self.log = array("I")
        self.cancels = array("I")
        self.connection = array("I")
        self.server_requests = ServerRequestIndex[bytes]()
        self.misfits = 0
        self._last = array("I")
        self._states = bytearray()
        self._flags = bytearray()
        self.known: dict[bytes, int] = {}
        kinds = ((self.log, LOGGED), (self.connection, {ev.Connected, ev.Disconnected}))
        self._lists = [[numbers for numbers, listed in kinds if kind in listed] for kind in KINDS]

    def __len__(self) -> int:
        return len(self.kinds)

    def add(self, code: int, id: bytes, line: bytes, offset: int) -> None:
        """Adds the event of a record. ``id`` is that of its request as written in a record, by :func:`written_id`."""
        number = len(self.kinds)
        for numbers in self._lists[code]:
            numbers.append(number)
        row, move = self._apply(number, code, id, line) if OF_A_REQUEST[code] else (NONE, STAYED)
        if OF_THE_SERVER[code]:
            self._apply_to_server_request(number, code, id, line)
        self.kinds.append(code)
        self.rows.append(row)
        self.moves.append(move)
        self.after.append(NONE)
        self.offsets.append(offset)

    def _apply(self, number: int, code: int, id: bytes, line: bytes) -> tuple[int, int]:
        """Applies an event to its request; returns the number of the request and the effect."""
        row = self.known.get(id, NONE)
        if row == NONE and code == _CALLED:
            return self._call(number, id, line), CALLED
        cell = 0 if row == NONE else self._states[row] * len(KINDS) + code
        if row == NONE or _NEXT[cell] == _ILLEGAL:
            self.misfits += 1
            return NONE, STAYED
        self._states[row] = _NEXT[cell]
        self.after[self._last[row]] = self._last[row] = number
        move, flags = _MOVES[cell], self._flags
        if move in {ENDED, SETTLED}:
            self.over[row] = number
        if code == _PROGRESS:
            if b'"rearmed":false' in line:
                move = STALLED
        elif code == _CANCEL:
            if b'"cause":"shutdown"' in line:
                flags[row] |= _HOUSEKEEPING
            if not flags[row] & (_CANCELLED | _HOUSEKEEPING):
                flags[row] |= _CANCELLED
                self.cancels.append(number)
        elif code == _LATE and b'"after_end":true' not in line:
            if b'"kind":"progress"' in line:
                move = LATE_PROGRESS
            elif not flags[row] & (_ANSWERED_LATE | _HOUSEKEEPING):
                flags[row] |= _ANSWERED_LATE
                move = LATE
        return row, move

    def _apply_to_server_request(self, number: int, code: int, id: bytes, line: bytes) -> None:
        if code != _RECEIVED:
            self.server_requests.end(None if code == _DISCONNECTED else id, number)
            return
        parent = None
        if b'"parent":null' not in line:
            parent = self.known.get(written_id((read_record(line) or {}).get("parent")))
        ping = b'"method":"ping"' in line
        self.server_requests.receive(id, number, calls=len(self.first), parent=parent, ping=ping)

    def _call(self, number: int, id: bytes, line: bytes) -> int:
        """Adds a request; returns its number."""
        row = self.known[id] = len(self.first)
        self.first.append(number)
        self.over.append(NONE)
        self._last.append(number)
        self._states.append(_STATES.index(State.QUEUED))
        internal = b'"internal":true' in line
        listens = b'"method":"subscriptions/listen"' in line
        self._flags.append(_HOUSEKEEPING if internal or listens else 0)
        if internal:
            self.internal.append(row)
            if listens:
                self.listening.append(row)
        return row


def written_id(id: Json, name: str = "id") -> bytes:
    """Returns an id as written in a record: ``b'"id":7'``, or with ``request_id`` where it is the server's."""
    return messages.encode({name: id})[1:-1]
