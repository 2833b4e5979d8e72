"""The table of a recording: 18 bytes of columns an event, from which each request is found without reading the file.

The states are folded here and nothing else: one look into a table made of :data:`~mcp_tui.protocol.requests.TRANSITIONS`
an event. What a request looked like at a moment is told by the events that are chained to it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Final

from mcp_tui.journal.records import EVENTS
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import LOGGED
from mcp_tui.protocol.requests import TRANSITIONS
from mcp_tui.protocol.states import OPEN, TERMINAL, State

NONE: Final = 0xFFFFFFFF
"""No event, or no request."""

KINDS: Final = tuple(EVENTS.values())
"""The classes of events; their places stand in :attr:`EventTable.kinds`."""

CODES: Final = {b'"event":"%s"' % name.encode(): code for code, name in enumerate(EVENTS)}
"""The place in :data:`KINDS` of an event as it is named in a record."""

_CALLED: Final = KINDS.index(ev.Called)
_CANCEL: Final = KINDS.index(ev.CancelRequested)
_LATE: Final = KINDS.index(ev.Late)
_OF_A_REQUEST: Final = bytes(issubclass(kind, ev.RequestEvent) for kind in KINDS)
_LOGGED: Final = bytes(kind in LOGGED for kind in KINDS)
_PROGRESS: Final = KINDS.index(ev.Progress)
_MARKED: Final = frozenset({ev.CancelRequested, ev.Late}) | LOGGED
_CONNECTION: Final = frozenset({KINDS.index(ev.Connected), KINDS.index(ev.Disconnected)})
_ASKING: Final = frozenset(
    KINDS.index(kind)
    for kind in (
        ev.ServerRequestReceived,
        ev.ServerRequestAnswered,
        ev.ServerRequestWithdrawn,
        ev.Disconnected,
    )
)

STAYED, CALLED, ENDED, REQUESTED, WITHDRAWN, SETTLED, LATE, LATE_PROGRESS, STALLED, MISFIT = range(10)
"""What an event did to its request, as far as it matters here: it was called, ended, asked to be cancelled, taken back,
settled, answered late for the first time, went on after its cancel, told progress that did not grow; or no state of it
permits the event."""

_STATES: Final = tuple(State)
_QUEUED: Final = _STATES.index(State.QUEUED)
_ILLEGAL: Final = 0xFF
_CANCELLED: Final = 0x01
_ANSWERED_LATE: Final = 0x02
_HOUSEKEEPING: Final = 0x04
"""Its cancel is this client's own, and counts nowhere (:func:`mcp_tui.protocol.evidence.is_internal`)."""


def _tables() -> tuple[bytes, bytes, bytes]:
    """For each state and kind: the next state; what is counted; and that, where nothing else has to be remembered."""
    following, moves, plain = bytearray(), bytearray(), bytearray()
    for state in _STATES:
        permitted = TRANSITIONS[state]
        for kind in KINDS:
            fits = issubclass(kind, ev.RequestEvent) and kind in permitted
            after = (permitted[kind] if issubclass(kind, ev.RequestEvent) and fits else None) or state
            move = _move(state, after)
            following.append(_STATES.index(after) if fits else _ILLEGAL)
            moves.append(move)
            simple = fits and kind not in _MARKED and move in {STAYED, ENDED, SETTLED}
            plain.append(move if simple else MISFIT)
    return bytes(following), bytes(moves), bytes(plain)


def _move(before: State, after: State) -> int:
    if before in OPEN and after in TERMINAL:
        return ENDED
    if before in OPEN and after is State.CANCEL_REQUESTED:
        return REQUESTED
    if before is State.CANCEL_REQUESTED and after in OPEN:
        return WITHDRAWN
    if before is State.CANCEL_REQUESTED and after in TERMINAL:
        return SETTLED
    return STAYED


_NEXT, _MOVES, _PLAIN = _tables()


class EventTable:
    """Events by their number from 0, and requests by theirs, in the order in which they came.

    Of an event: ``offsets``, where its record begins; ``kinds``, a place in :data:`KINDS`; ``moves``, one of
    :data:`STAYED` and so on; ``rows``, the number of its request; ``after``, the next event of that request.
    Of a request: ``first``, its first event; ``over``, the event that ended it. ``NONE`` stands for none. ``internal`` are
    the numbers of requests that the client made for itself, ``listening`` of those by which it hears of changes. ``log``,
    ``cancels`` (the first of each request, but for the client's own), ``connection`` and ``asking`` are the numbers of
    events of a sort. ``misfits`` counts those that no state permitted.
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
        self.server_request = array("I")
        self.misfits = 0
        self._last = array("I")
        self._states = bytearray()
        self._flags = bytearray()
        self._known: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self.kinds)

    def row(self, id: bytes) -> int | None:
        """The number of the request with an id, given as it stands in a record: ``b'"id":7'``."""
        return self._known.get(id)

    def extend(
        self, lines: Iterable[bytes], offsets: Iterable[int], odd: Callable[[bytes, int], None]
    ) -> None:
        """Take in the records of events, without their line ends, and where they begin.

        They are taken apart as the writer put them together. What is put together in another way is given to ``odd``,
        which may :meth:`add` it.
        """
        states, last, known = self._states, self._last, self._known
        kinds, rows, after, moves, begins = self.kinds, self.rows, self.after, self.moves, self.offsets
        sorts = len(KINDS)
        for line, offset in zip(lines, offsets, strict=True):
            try:
                _, name, _, id_, rest = line.split(b",", 4)
                code = CODES[name]
            except (KeyError, ValueError):
                odd(line, offset)
                continue
            row = known.get(id_, NONE)
            cell = 0 if row == NONE else states[row] * sorts + code
            move = MISFIT if row == NONE else _PLAIN[cell]
            if move != MISFIT:
                if code == _PROGRESS and b'"rearmed":false' in rest:
                    move = STALLED
                elif move:
                    self.over[row] = len(kinds)
                states[row] = _NEXT[cell]
                after[last[row]] = last[row] = len(kinds)
            elif _OF_A_REQUEST[code] and id_[5:6] == b'"' and (id_[-1:] != b'"' or id_[-2:] == b'\\"'):
                odd(line, offset)  # there is a comma in the id, or what looks like its end
                continue
            else:
                row, move = self._happened(code, id_, line)
            kinds.append(code)
            rows.append(row)
            moves.append(move)
            after.append(NONE)
            begins.append(offset)

    def add(self, name: bytes, id: bytes, line: bytes, offset: int) -> None:
        """Take in the record of one event. Its name and its request's id stand as in a record: ``b'"id":7'``."""
        code = CODES[name]
        row, move = self._happened(code, id, line)
        self.kinds.append(code)
        self.rows.append(row)
        self.moves.append(move)
        self.after.append(NONE)
        self.offsets.append(offset)

    def _happened(self, code: int, id: bytes, line: bytes) -> tuple[int, int]:
        """The request of the next event, and what it did to that."""
        number = len(self.kinds)
        if _LOGGED[code]:
            self.log.append(number)
        if code in _CONNECTION:
            self.connection.append(number)
        if code in _ASKING:
            self.server_request.append(number)
        if not _OF_A_REQUEST[code]:
            return NONE, STAYED
        row = self._known.get(id, NONE)
        if code == _CALLED and row == NONE:
            return self._called(id, line), CALLED
        cell = 0 if row == NONE else self._states[row] * len(KINDS) + code
        if row == NONE or _NEXT[cell] == _ILLEGAL:
            self.misfits += 1
            return NONE, MISFIT
        self._states[row] = _NEXT[cell]
        self.after[self._last[row]] = self._last[row] = number
        move, flags = _MOVES[cell], self._flags
        if move in {ENDED, SETTLED}:
            self.over[row] = number
        if code == _PROGRESS and b'"rearmed":false' in line:
            move = STALLED
        if code == _CANCEL and b'"cause":"shutdown"' in line:
            flags[row] |= _HOUSEKEEPING
        if code == _CANCEL and not flags[row] & (_CANCELLED | _HOUSEKEEPING):
            flags[row] |= _CANCELLED
            self.cancels.append(number)
        if code == _LATE and b'"kind":"progress"' in line:
            move = LATE_PROGRESS
        elif code == _LATE and not flags[row] & (_ANSWERED_LATE | _HOUSEKEEPING):
            flags[row] |= _ANSWERED_LATE
            move = LATE
        return row, move

    def _called(self, id: bytes, line: bytes) -> int:
        """A request entered the books; its number."""
        row = self._known[id] = len(self.first)
        number = len(self.kinds)
        self.first.append(number)
        self.over.append(NONE)
        self._last.append(number)
        self._states.append(_QUEUED)
        internal = b'"internal":true' in line
        listens = b'"method":"subscriptions/listen"' in line
        self._flags.append(_HOUSEKEEPING if internal or listens else 0)
        if internal:
            self.internal.append(row)
            if listens:
                self.listening.append(row)
        return row

    def count(self, move: int, until: int) -> int:
        """How many of the first ``until`` events did this to their requests."""
        return self.moves.count(move, 0, until)
