"""The event table of a recording: 18 bytes of columns per event, by which requests are found without reading the file.

The bytes of the id in a record identify the request of an event. The effect of the event on the request comes from the same
indexes as in a live session. The events of a request are linked, so that its row at any time can be built from them.
"""

from __future__ import annotations

from array import array
from enum import Enum
from typing import Any, Final

from mcp_tui.journal.records import EVENTS, read_record
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.descriptions import LOGGED
from mcp_tui.protocol.packing import Places
from mcp_tui.protocol.patterns import late
from mcp_tui.protocol.server_requests import ENDS, NONE, ServerRequestIndex
from mcp_tui.protocol.transitions import (
    ASPECTS,
    CALLED,
    ILLEGAL,
    KINDS,
    OVER,
    REQUESTED,
    STAYED,
    RequestIndex,
)

RECORD_CODES: Final = {b'"event":"%s"' % name.encode(): code for code, name in enumerate(EVENTS)}
"""The code of each event, by its name in the bytes of a record."""

OF_A_REQUEST: Final = bytes(issubclass(kind, ev.RequestEvent) for kind in KINDS)
"""Whether an event is about a request from the client, by the code of the event."""

OF_THE_SERVER: Final = bytes(kind is ev.ServerRequestReceived or kind in ENDS for kind in KINDS)
"""Whether an event is about requests from the server, by the code of the event."""

_RECEIVED: Final = KINDS.index(ev.ServerRequestReceived)
_DISCONNECTED: Final = KINDS.index(ev.Disconnected)
_CALLED: Final = KINDS.index(ev.Called)
_LOG_KIND: Final = KINDS.index(ev.Log)
_VIOLATION_KIND: Final = KINDS.index(ev.Violation)
_REPEAT_KIND: Final = KINDS.index(ev.Repeat)
REARMS: Final = b'"rearmed":true'
"""A part of the record of progress that increased."""

_ONLY_OF_A_ROW: Final = bytes(
    about and not server and kind not in {*LOGGED, ev.Repeat, ev.Violation}
    for kind, about, server in zip(KINDS, OF_A_REQUEST, OF_THE_SERVER, strict=True)
)
"""Whether an event only belongs to its request, and to no list, by the code of the event."""

_BY_CLIENT: Final = messages.encode({"by": ev.Origin.CLIENT.value})[1:-1]
_TIME: Final = late(rb'"mono":(\d+(?:\.\d+)?)')


class EventTable:
    """Events and requests by their numbers from 0, in the order in which they were recorded.

    Missing values are :data:`NONE`.

    Attributes:
        offsets: the offset of the record of each event.
        kinds: the code of each event.
        effects: the effect of each event on its request (:data:`~mcp_tui.protocol.transitions.STAYED` and so on).
        rows: the number of the request of each event.
        after: the next event of the same request, for each event.
        first: the first event of each request.
        requests: the states of requests from the client.
        server_requests: the states of requests from the server.
        log: the events that the log shows.
        logged_at: the times of log messages.
        connection: the events of connections.
        cancels: the first cancel of each request, without cancels of internal requests.
        violations: violations and repeats by the client behind a tap.
        misfits: the number of events that no state permits. In a shortened journal, events of requests whose start was
            removed do not count.
        is_shortened: whether the oldest parts of the journal were removed.
        is_tap: whether a tap wrote the journal.
    """

    def __init__(self) -> None:
        self.offsets = array("Q")
        self.kinds = bytearray()
        self.effects = bytearray()
        self.rows = array("I")
        self.after = array("I")
        self.first = array("I")
        self.log = array("I")
        self.logged_at = array("d")
        self.cancels = array("I")
        self.connection = array("I")
        self.violations = array("I")
        self.requests = RequestIndex()
        self.server_requests = ServerRequestIndex[bytes]()
        self.misfits = 0
        self.is_shortened = self.is_tap = False
        self._last = array("I")
        self._places = Places()
        self._open: dict[bytes, int] = {}
        """The numbers of the requests that are not over, by their ids in the bytes of a record."""
        kinds = ((self.log, LOGGED), (self.connection, {ev.Connected, ev.Disconnected}))
        self._lists = [[numbers for numbers, listed in kinds if kind in listed] for kind in KINDS]

    def __len__(self) -> int:
        return len(self.kinds)

    def place(self, id: bytes) -> int:
        """Returns the number of a request by its id in the form of :func:`written_id`; :data:`NONE` for an unknown id."""
        place = self._open.get(id)
        place = self._places.find(_id_of(id)) if place is None else place
        return NONE if place is None else place

    def add(self, code: int, id: bytes, line: bytes, offset: int) -> None:
        """Adds the event of a record. ``id`` is the id of its request in the form of :func:`written_id`."""
        number = len(self.kinds)
        row, effect = self._apply(number, code, id, line) if OF_A_REQUEST[code] else (NONE, STAYED)
        if not _ONLY_OF_A_ROW[code]:
            self._list(number, code, id, line)
        self.kinds.append(code)
        self.rows.append(row)
        self.effects.append(effect)
        self.after.append(NONE)
        self.offsets.append(offset)

    def add_further(self, offsets: array[int]) -> None:
        """Adds the events at these offsets, all equal to the last one in class, request, and effect; clears the list."""
        count, number = len(offsets), len(self.kinds)
        if not count:
            return
        row = self.rows[-1]
        self.kinds.extend(self.kinds[-1:] * count)
        self.effects.extend(self.effects[-1:] * count)
        self.rows.extend(self.rows[-1:] * count)
        self.after[-1] = number
        self.after.extend(range(number + 1, number + count))
        self.after.append(NONE)
        self.offsets.extend(offsets)
        self._last[row] = number + count - 1
        del offsets[:]

    def _list(self, number: int, code: int, id: bytes, line: bytes) -> None:
        """Adds an event to the lists of its class."""
        for numbers in self._lists[code]:
            numbers.append(number)
        if code == _LOG_KIND and (at := _TIME.search(line)):
            self.logged_at.append(float(at[1]))
        if (code == _REPEAT_KIND and self.is_tap) or (code == _VIOLATION_KIND and _BY_CLIENT in line):
            self.violations.append(number)
        if OF_THE_SERVER[code]:
            self._apply_to_server_request(number, code, id, line)

    def _apply(self, number: int, code: int, id: bytes, line: bytes) -> tuple[int, int]:
        """Applies an event to its request; returns the number of the request and the effect."""
        aspect = aspect_in(line, code) if _WRITTEN_ASPECTS[code] else 0
        row = self.place(id)
        # Only a call creates a row. An event about an id that was never called is a misfit, as in a live session.
        if row == NONE and code == _CALLED:
            row = self._open[id] = self.requests.call(aspect)
            self._places.append(_id_of(id))
            self.first.append(number)
            self._last.append(number)
            return row, CALLED
        effect = ILLEGAL if row == NONE else self.requests.apply(row, code, aspect, number)
        if effect == ILLEGAL:
            self.misfits += not (self.is_shortened and row == NONE)
            return NONE, STAYED
        if effect in OVER:
            self._open.pop(id, None)
        # Links each event of a row to the next one, so that a row can be built without reading other events.
        self.after[self._last[row]] = self._last[row] = number
        if effect == REQUESTED and len(self.cancels) < len(self.requests.cancelled):
            self.cancels.append(number)
        return row, effect

    def _apply_to_server_request(self, number: int, code: int, id: bytes, line: bytes) -> None:
        if code != _RECEIVED:
            self.server_requests.end(None if code == _DISCONNECTED else id, number)
            return
        parent = None
        if b'"parent":null' not in line:
            parent = self.place(written_id((read_record(line) or {}).get("parent")))
            parent = None if parent == NONE else parent
        ping = b'"method":"ping"' in line
        self.server_requests.receive(id, number, calls=len(self.first), parent=parent, ping=ping)


def aspect_in(line: bytes, code: int) -> int:
    """Returns the result of :func:`~mcp_tui.protocol.transitions.aspect_of` for the event of a record."""
    found = 0
    for written, bit in _WRITTEN_ASPECTS[code]:
        if written in line:
            found |= bit
    return found


def _id_of(id: bytes) -> int | str:
    """Returns a short form of an id in the bytes of a record, which is an integer for nearly all ids."""
    digits = id.removeprefix(b'"id":')
    return (
        int(digits) if digits.isdigit() and digits[:1] != b"0" and len(digits) < 19 else id.decode("latin-1")
    )


def written_id(id: Any, name: str = "id") -> bytes:
    """Returns an id in the bytes of a record: ``b'"id":7'``, or with the name ``request_id`` for the server's ids."""
    return messages.encode({name: id})[1:-1]


_WRITTEN_ASPECTS: Final = [
    tuple(
        (written_id(value.value if isinstance(value, Enum) else value, name), bit)
        for name, value, bit in ASPECTS.get(kind, ())
    )
    for kind in KINDS
]
"""The bytes to search for in the record of an event, by the code of the event: ``b'"internal":true'``.

A text in the record cannot contain such bytes, because its quotation marks are escaped.
"""
