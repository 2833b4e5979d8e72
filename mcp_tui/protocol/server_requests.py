"""The server's requests, made from their events in one place, for live and recorded sessions.

The server reuses ids, and its ids overlap with ours. So each request has a number, in the order of arrival. The
requests that an event belongs to are decided once, when the event happens or is read from a file. A row is then made
from two events: the one that added the request, and the one that ended it.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, overload

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.packing import KEEP, PACKED_ROWS, PackedRows

NONE: Final = 0xFFFFFFFF
"""The mark of a missing event or request."""

ENDS: Final = (ev.ServerRequestAnswered, ev.ServerRequestWithdrawn, ev.Disconnected)
"""The event classes that end the server's requests."""

PING, ALONE, CHILD = range(3)
"""The kind of a request's place on the screen: a ping while it waits, any other alone, or a child below its parent."""


@dataclass(slots=True, weakref_slot=True)
class ServerRequest:
    """A request that the server sent. ``outcome`` is empty until it is answered, withdrawn, or lost."""

    request_id: ev.RequestId
    method: str
    at: float
    parent: ev.RequestId | None = None
    seq: int = 0
    ended_at: float | None = None
    outcome: str = ""
    code: int | None = None
    response_seq: int = 0

    @classmethod
    def of(cls, event: ev.ServerRequestReceived) -> ServerRequest:
        """Makes the request of an event."""
        return cls(event.request_id, event.method, event.at, event.parent, event.seq)

    def end(self, event: ev.Event) -> None:
        """Applies the event that ends the request."""
        match event:
            case ev.ServerRequestAnswered(code=code, how=how):
                answered = "answered" if code is None else f"refused with {code}"
                self.outcome, self.code = how or answered, code
            case ev.ServerRequestWithdrawn(reason=reason):
                self.outcome = f"withdrawn {reason}".strip()
            case _:
                self.outcome = "lost"
        self.ended_at, self.response_seq = event.at, event.seq

    def elapsed(self, now: float) -> float:
        """Returns the seconds from the arrival of the request to its end, or to ``now``."""
        return max(0.0, (now if self.ended_at is None else self.ended_at) - self.at)


Id = TypeVar("Id", bound=Hashable)


class ServerRequestIndex(Generic[Id]):
    """The index of the server's requests by their numbers, in 17 or 21 bytes each. A moment is the number of an event.

    ``arrived`` and ``over`` have the moments at which a request arrived and ended; :data:`NONE` while it waits.
    ``ended`` lists the numbers in the order in which they ended, ``others`` the moments at which all except pings
    ended. ``places`` is how many of our requests had been called before, ``kinds`` the place on the screen.
    ``children`` has the numbers of the requests that belong to a request of ours, by its place.
    """

    def __init__(self) -> None:
        self.arrived = array("I")
        self.over = array("I")
        self.ended = array("I")
        self.others = array("I")
        self.places = array("I")
        self.kinds = bytearray()
        self.children: dict[int, array[int]] = {}
        self._waiting: dict[Id, list[int]] = {}

    def receive(self, id: Id, moment: int, *, calls: int, parent: int | None, ping: bool) -> None:
        """Adds a request; ``calls`` is the current number of our requests, ``parent`` the place of the one that it
        belongs to.
        """
        number = len(self.arrived)
        self._waiting.setdefault(id, []).append(number)
        self.arrived.append(moment)
        self.over.append(NONE)
        self.places.append(calls)
        self.kinds.append(CHILD if parent is not None else PING if ping else ALONE)
        if parent is not None:
            self.children.setdefault(parent, array("I")).append(number)

    def end(self, id: Id | None, moment: int) -> list[int]:
        """Ends the request with an id, or all waiting ones for ``None``; returns their numbers."""
        if id is None:
            ended = sorted(number for numbers in self._waiting.values() for number in numbers)
            self._waiting.clear()
        else:
            # Of two requests with one id, the second is refused at once, and the first is answered later.
            numbers = self._waiting.pop(id, [])
            ended = [numbers.pop()] if numbers else []
            if numbers:
                self._waiting[id] = numbers
        for number in ended:
            self.over[number] = moment
            if self.kinds[number] != PING:
                self.others.append(moment)
        self.ended.extend(ended)
        return ended


class ServerRequests(Sequence[ServerRequest]):
    """The server's requests at a moment, oldest first; ``row`` returns the request with a number."""

    def __init__(
        self,
        table: ServerRequestIndex[Any],
        moment: Callable[[], int],
        row: Callable[[int], ServerRequest],
    ) -> None:
        self.table: Final = table
        self._moment = moment
        self.row: Final = row

    @property
    def moment(self) -> int:
        """The number of events that have happened."""
        return self._moment()

    def is_over(self, number: int) -> bool:
        """Whether a request has ended."""
        return self.table.over[number] < self.moment

    def changes(self, moment: int) -> tuple[range, Sequence[int]]:
        """Returns the numbers of the requests that arrived, and of those that ended, between the current and another
        moment.
        """
        table = self.table
        low, high = sorted((moment, self.moment))
        # Both arrays are sorted, so a step of a replay costs two searches and not a scan.
        arrivals = range(bisect_left(table.arrived, low), bisect_left(table.arrived, high))
        first, last = (bisect_left(table.ended, each, key=table.over.__getitem__) for each in (low, high))
        return arrivals, table.ended[first:last]

    @property
    def answered_pings(self) -> int:
        """The number of answered pings that belong to none of our requests."""
        table, now = self.table, self.moment
        ended = bisect_left(table.ended, now, key=table.over.__getitem__)
        return ended - bisect_left(table.others, now)

    def alone(self, *, pings: bool) -> list[int]:
        """Returns the numbers of the requests that belong to none of ours; ``pings`` includes the answered pings."""
        table, now = self.table, self.moment
        found = enumerate(zip(table.kinds[: len(self)], table.over, strict=False))
        return [number for number, (kind, over) in found if kind != CHILD and (kind or pings or over >= now)]

    def children(self, place: int) -> Sequence[int]:
        """Returns the numbers of the requests that belong to our request at a place."""
        numbers = self.table.children.get(place)
        return () if numbers is None else numbers[: bisect_left(numbers, len(self))]

    def __len__(self) -> int:
        return bisect_left(self.table.arrived, self.moment)

    @overload
    def __getitem__(self, index: int) -> ServerRequest: ...
    @overload
    def __getitem__(self, index: slice) -> list[ServerRequest]: ...
    def __getitem__(self, index: int | slice) -> ServerRequest | list[ServerRequest]:
        if isinstance(index, slice):
            return [self.row(each) for each in range(len(self))[index]]
        return self.row(range(len(self))[index])


class LiveServerRequests:
    """The server's requests of a live session, the oldest packed."""

    def __init__(self, *, keep: int = KEEP) -> None:
        self._keep = keep
        self._moment = 0
        self._index = ServerRequestIndex[tuple[type, ev.RequestId]]()
        self._rows = PackedRows[ServerRequest](lambda row: row.ended_at is not None)
        self.all = ServerRequests(self._index, lambda: self._moment, self._rows.__getitem__)

    def apply(self, event: ev.Event, *, calls: int, parent: int | None) -> bool:
        """Applies an event; returns whether it is about the server's requests."""
        match event:
            case ev.ServerRequestReceived(request_id=id, method=method):
                ping = method == "ping"
                self._index.receive((type(id), id), self._moment, calls=calls, parent=parent, ping=ping)
                self._rows.append(ServerRequest.of(event))
                if self._rows.recent >= self._keep + PACKED_ROWS:
                    self._rows.pack_oldest()
            case ev.ServerRequestAnswered() | ev.ServerRequestWithdrawn() | ev.Disconnected():
                id = None if isinstance(event, ev.Disconnected) else event.request_id
                for number in self._index.end(None if id is None else (type(id), id), self._moment):
                    self._rows[number].end(event)
            case _:
                return False
        self._moment += 1
        return True
