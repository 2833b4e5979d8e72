"""The records from which a new recorder can go on with a session, should this one end.

They are those of what is open: the handshake, each request in flight with the messages that changed it, and the server's
requests without an answer. So are the tap's own decisions, whether they were carried out, and cancelled requests whose late
answer may still come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import Final, NamedTuple

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.ledger import Ledger
from mcp_tui.protocol.messages import Batch, Frame, Json, RequestFrame, ResponseFrame, as_object
from mcp_tui.protocol.responses import answered
from mcp_tui.protocol.states import TypedId
from mcp_tui.tap import recorder_records

NEVER_REPLACED: Final = frozenset(
    {
        ev.Called,
        ev.InputRequired,
        ev.Round,
        ev.TaskCreated,
        ev.Paused,
        ev.Resumed,
        ev.CancelRequested,
        ev.CancelSignalled,
        ev.Acknowledged,
    }
)
"""Events about a request of which the checkpoint keeps all."""

REPLACED: Final = frozenset({ev.Progress, ev.TaskStatus, ev.Polled, ev.Late})
"""Events about a request of which the checkpoint keeps only the newest."""

OVER: Final = frozenset({ev.Completed, ev.Failed, ev.Lost, ev.Settled})
"""Events that end a request."""

ENTRIES: Final = 128
"""The maximum number of records of one request."""

WATCHED: Final = 100
"""The number of newest cancelled requests that are kept, because a late answer may follow."""

WHOLE_BYTES: Final = 16 * 1024
"""Bytes up to which a message is kept as it is. Of a larger one only small members are."""

MEMBER_BYTES: Final = 4096
"""The maximum size of such a member, in bytes."""


class Entry(NamedTuple):
    """A record. ``order`` is its place among all."""

    order: int
    kind: bytes
    at: float
    number: int
    data: bytes


class Checkpoint:
    """The records of one session that a new recorder needs. Call :meth:`event` with each event of the session."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._numbers = count()
        self._rows: dict[RequestId, list[tuple[type | None, tuple[Entry, ...]]]] = {}
        """The records of open requests, with the fact that they stand for where the newest one counts."""
        self._watched: dict[RequestId, list[tuple[type | None, tuple[Entry, ...]]]] = {}
        self._asks: dict[TypedId, Entry] = {}
        """The server's requests."""
        self._opening: tuple[Entry, ...] = ()
        self._surroundings: list[Entry] = []
        self._touched: list[tuple[RequestId, type | None]] = []
        self._over: list[RequestId] = []
        self._asked: list[TypedId] = []
        self._opens = False

    # -- what happens ------------------------------------------------------------------------------------------

    def event(self, event: ev.Event) -> None:
        """Notes an event that the current record or decision caused."""
        kind = type(event)
        if isinstance(event, ev.RequestEvent):
            if kind in NEVER_REPLACED:
                self._touched.append((event.id, None))
            elif kind in OVER:
                self._over.append(event.id)
            elif kind in REPLACED:
                self._touched.append((event.id, kind))
        elif isinstance(event, ev.Connected):
            self._opens = True
        elif isinstance(event, ev.ServerRequestReceived):
            self._asked.append((type(event.request_id), event.request_id))

    def begin(self) -> None:
        """Starts a new record. Events before it were not caused by it."""
        self._touched.clear()
        if self._over:
            self._drop()

    def taken(self, kind: bytes, at: float, data: bytes, frame: Frame | Batch, number: int = 0) -> None:
        """Keeps a message if it changed an open request. Empty ``data`` means that it was too large."""
        if self._touched or self._opens or self._asked:
            entry = self._entry(kind, at, data, frame, number)
            if entry is not None:
                self._file(entry)
            self._touched.clear()
            self._asked.clear()
            self._opens = False
        if self._over:
            self._drop()

    def add(self, id_: RequestId, kind: bytes, at: float, data: bytes, number: int = 0) -> None:
        """Keeps a record about a request."""
        self.begin()
        if id_ in self._ledger.live or id_ in self._watched:
            self._put(id_, None, (Entry(next(self._numbers), kind, at, number, data),))

    def add_always(self, kind: bytes, at: float, data: bytes, number: int = 0) -> None:
        """Keeps a record until the session ends."""
        self._surroundings = [
            *self._surroundings[-ENTRIES:],
            Entry(next(self._numbers), kind, at, number, data),
        ]

    def _entry(self, kind: bytes, at: float, data: bytes, frame: Frame | Batch, number: int) -> Entry | None:
        if not 0 < len(data) <= WHOLE_BYTES:
            if isinstance(frame, RequestFrame):
                made = messages.request(frame.id, frame.method, _small(frame.params))
            elif isinstance(frame, ResponseFrame) and frame.error is None:
                made = messages.result(frame.id, _small(frame.result))
            else:
                return None
            kind, data = recorder_records.small(kind), messages.encode(made)

        return Entry(next(self._numbers), kind, at, number, data)

    def _file(self, entry: Entry) -> None:
        # The answer to a poll describes the task, but cannot be read without the request that it answers.
        errands = tuple(each for id_ in self._over for each in self._of(self._rows.get(id_, ())))
        for id_, newest in self._touched:
            if id_ in self._ledger.live or id_ in self._watched:
                self._put(id_, newest, (*errands, entry))
        if self._opens:
            self._opening = (*errands, entry)
        for key in self._asked:
            self._asks[key] = entry

    def _put(self, id_: RequestId, newest: type | None, entries: tuple[Entry, ...]) -> None:
        kept = self._watched.get(id_)
        kept = self._rows.setdefault(id_, []) if kept is None else kept
        if newest is not None:
            kept[:] = [each for each in kept if each[0] is not newest]
        if len(kept) < ENTRIES:
            kept.append((newest, entries))

    def _drop(self) -> None:
        """Drops the records of finished requests, except cancelled ones that may still get a late answer."""
        for id_ in self._over:
            kept, row = self._rows.pop(id_, None), self._ledger.requests.get(id_)
            if kept is None or row is None or row.cancel_at is None:
                continue
            self._watched[id_] = kept
            if len(self._watched) > WATCHED:
                del self._watched[next(iter(self._watched))]
        self._over.clear()

    # -- what is kept ------------------------------------------------------------------------------------------

    @staticmethod
    def _of(kept: Iterable[tuple[type | None, tuple[Entry, ...]]]) -> Iterator[Entry]:
        for _, entries in kept:
            yield from entries

    def needed(self) -> list[recorder_records.TapRecord]:
        """Returns the records for a new recorder, in the order in which they arrived."""
        self.begin()
        for id_ in list(self._watched):
            row = self._ledger.requests.get(id_)
            if row is None or answered(row) or row.unwatched_at is not None:
                del self._watched[id_]
        self._asks = {key: each for key, each in self._asks.items() if key in self._ledger.inbound.waiting}
        found = {each.order: each for each in (*self._surroundings, *self._opening, *self._asks.values())}
        for kept in (*self._rows.values(), *self._watched.values()):
            found |= {each.order: each for each in self._of(kept)}
        return [self._as_needed(each) for _, each in sorted(found.items())]

    def _as_needed(self, entry: Entry) -> recorder_records.TapRecord:
        """Returns the record of an entry, without the finished requests of a batch."""
        _, kind, at, number, data = entry
        if kind in recorder_records.MESSAGES and data.lstrip()[:1] == b"[":
            frame = messages.parse(data)
            needed: list[Json] = [
                messages.request(each.id, each.method, each.params)
                for each in (frame.frames if isinstance(frame, Batch) else ())
                if isinstance(each, RequestFrame)
                and (kind == recorder_records.FROM_SERVER or self._is_needed(each.id))
            ]
            kind, data = recorder_records.small(kind), messages.encode(needed)

        return kind, at, number, data

    def _is_needed(self, wire: RequestId) -> bool:
        row = self._ledger.current(wire)
        return row is not None and (row.id in self._rows or row.id in self._watched)


def _small(members: Json) -> Json:
    """Returns the small members of an object."""
    return {
        name: value
        for name, value in as_object(members).items()
        if len(messages.encode(value)) <= MEMBER_BYTES
    }
