"""The recorder of a tap over HTTP: copies of what passed become frames, and the frames belong to sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any, Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.messages import Json, RequestFrame, as_object
from mcp_tui.tap import recorder_records
from mcp_tui.tap.http_exchange import Record, cancel_over
from mcp_tui.tap.http_heads import Headers, read_head
from mcp_tui.tap.http_session import TappedSession, Waiting
from mcp_tui.tap.http_sessions import HttpSessions
from mcp_tui.tap.recorder_loop import RecorderLoop

OWN_NUMBERS: Final = 1 << 31
"""The first number of an exchange that the tap begins; those of clients are smaller."""

AGAIN_NUMBERS: Final = 1 << 30
"""How many of these numbers the first recorder may have used."""


class HttpRecorder:
    """The recorder of one tap. ``begin`` are its options, and the URL of the server."""

    def __init__(self, loop: RecorderLoop, begin: recorder_records.HttpBegin, _at: float) -> None:
        self.loop = loop
        self._sessions = HttpSessions(loop, self, begin)
        self.over = False
        self._records: dict[int, Record] = {}
        """The open exchanges."""
        self._own_numbers = count(OWN_NUMBERS + (AGAIN_NUMBERS if "again" in begin else 0))
        self._stopping: list[TappedSession] = []
        """The sessions whose streams hold a server that is stopping, until their last call is over."""
        self._refused = 0
        """The last exchange of a client to which the server refused a connection."""
        self._recalled: TappedSession | None = None
        """The session that is being restored from the checkpoint."""
        self._last: list[Any] = []

    @property
    def open_sessions(self) -> list[TappedSession]:
        """The open sessions."""
        return self._sessions.open_sessions

    # -- records -----------------------------------------------------------------------------------------------

    def record(self, kind: bytes, at: float, number: int, data: bytes) -> None:
        """Takes a record from the relay."""
        match kind:
            case recorder_records.REQUEST:
                (connection, method, target), headers = read_head(data)
                self._records[number] = Record(
                    self._sessions,
                    number,
                    method=method.decode("latin-1"),
                    target=target,
                    headers=headers,
                    connection=int(connection),
                )
            case recorder_records.CLIENT_LEFT:
                self._sessions.last.pop(number, None)
                own = [each for each in self._records.values() if each.connection == number]
                for each in [each for each in own if each.waiting is Waiting.CLIENT]:
                    if not each.is_guarded:  # else its answer is waited for
                        del self._records[each.number]
                    each.client_left(at)
            case recorder_records.GUARD | recorder_records.GUARD_ANSWER:
                self._in_session(number, lambda session: session.by_guard(kind, at, data))
            case recorder_records.DECISION:
                self._of_number(messages.read_json(data)[0], lambda session: session.decided(at, data))
            case recorder_records.OWN_TO_CLIENT:
                frame = messages.parse(data)
                self._in_session(number, lambda session: session.answered_by_tap(frame, at, data, number))
            case recorder_records.SENT if self.loop.restoring:
                self._has_left_before(number, at, data)
            case recorder_records.SECRETS:
                self._sessions.learn(messages.read_json(data))
            case recorder_records.EXIT:
                self._end("the tap was ended", expected=True, at=at)
            case _:
                record = self._records.get(number)
                if record is None:
                    return
                record.take(kind, at, data)
                if record.session is not None:
                    record.session.ledger.perform()
                if kind == recorder_records.EXCHANGE_END:
                    del self._records[number]
                self._look_whether_it_stops(record, kind, at, data)

    def _look_whether_it_stops(self, record: Record, kind: bytes, at: float, data: bytes) -> None:
        """Closes the streams that hold a server which is stopping: it refuses connections while they are open."""
        if kind == recorder_records.EXCHANGE_END and record.is_refused(data.decode()):
            self._stopping, self._refused = self.open_sessions, record.number
        elif kind == recorder_records.RESPONSE and record.number > self._refused:
            self._stopping = []  # A later request was answered, so the server is up again.
        self._stopping = [each for each in self._stopping if not (each.over or each.close_streams(at))]

    # -- a new recorder --------------------------------------------------------------------------------------

    def _in_session(self, number: int, call: Callable[[TappedSession], object]) -> None:
        record = self._records.get(number)
        if record is not None and record.session is not None:
            call(record.session)

    def _of_number(self, number: object, call: Callable[[TappedSession], object]) -> None:
        for each in self.open_sessions:
            if each.number == number:
                call(each)

    def _has_left_before(self, number: int, at: float, data: bytes) -> None:
        """Notes that a message was sent that the last recorder had ordered."""
        about, body = messages.read_json(data)
        self._of_number(about, lambda session: self._left_of(session, number, at, body.encode(), data))

    def _left_of(self, session: TappedSession, number: int, at: float, raw: bytes, data: bytes) -> None:
        frame = messages.parse(raw)
        if not isinstance(frame, messages.MethodFrame):
            return
        record = self._records.setdefault(number, Record(self._sessions, number))
        record.session = session
        said = self.loop.said(session.number, frame)
        if said is not None:
            self._records.pop(said[0].get("post", 0), None)
            session.has_said(said[1], frame)
        id_ = frame.id if isinstance(frame, RequestFrame) else None
        id_ = None if id_ is None else session.ledger.other_ids.get(id_, id_)
        wanted: Any = as_object(frame.params).get("requestId") if id_ is None else None
        row = session.ledger.named(wanted) if messages.is_request_id(wanted) else None
        record.cancels, record.wires = None if row is None else row.wire_id, () if id_ is None else (id_,)
        session.checkpoint.begin()
        session.has_left(raw, frame.method, at, id=id_, cancels=record.cancels)
        session.ledger.perform()
        session.checkpoint.taken(recorder_records.SENT, at, data, frame, number)

    def needed(self) -> Iterator[recorder_records.TapRecord]:
        """Yields the checkpoint: the tap, then each session with its exchanges and open requests."""
        last: list[Json] = [[connection, each.number] for connection, each in self._sessions.last.items()]
        known: dict[str, Json] = {
            "count": self._sessions.count,
            "last": last,
            "secrets": sorted(self._sessions.secrets),
        }
        yield recorder_records.MEMORY, 0.0, 0, messages.encode(known)
        for session in (None, *self.open_sessions):
            if session is not None:
                yield recorder_records.MEMORY, 0.0, session.number, messages.encode(session.memory())
            for record in self._records.values():
                if record.session is session:
                    yield recorder_records.OPEN_EXCHANGE, 0.0, record.number, messages.encode(record.memory())
            yield from () if session is None else session.checkpoint.needed()

    def restore(self, kind: bytes, at: float, number: int, data: bytes) -> None:
        """Restores one record of the last recorder's checkpoint."""
        session = self._recalled
        is_json = kind in (
            recorder_records.MEMORY,
            recorder_records.OPEN_EXCHANGE,
            recorder_records.CANCEL_OUTCOME,
        )
        known: Any = messages.read_json(data) if is_json else None
        match kind:
            case recorder_records.MEMORY if not number:
                self._sessions.count, self._last = known["count"], known["last"]
                self._sessions.learn(known["secrets"])
            case recorder_records.MEMORY:
                self._recalled = self._sessions.new_session(known["began"], number, known["door"])
                self._recalled.remember(known)
                if self._recalled.id:
                    self._sessions.by_id[self._recalled.id] = self._recalled
                if known["transport"] == "sse":
                    self._sessions.by_endpoint[self._recalled.target] = self._recalled
            case recorder_records.OPEN_EXCHANGE:
                headers = [
                    (name.encode("latin-1"), value.encode("latin-1")) for name, value in known["headers"]
                ]
                record = self._records[number] = Record(
                    self._sessions,
                    number,
                    method=known["method"],
                    target=known["target"].encode("latin-1"),
                    headers=headers,
                    connection=known["connection"],
                )
                record.recall(known, session)
            case recorder_records.CANCEL_OUTCOME if session is not None:
                cancel_over(session, known[0], at, known[1:])
                session.ledger.perform()
                row = session.ledger.current(known[0])
                if row is not None:
                    session.checkpoint.add(row.id, kind, at, data)
            case _ if session is not None and kind in recorder_records.OF_EITHER:
                record = self._records.get(number)
                wires = () if record is None else record.wires
                session.recall(kind, at, data, number, wires[0] if len(wires) == 1 else None)
            case _:
                self.record(kind, at, number, data)

    def restored(self, at: float, why: str) -> None:
        """Ends the restoring; notes ``why`` the last recorder ended."""
        for connection, number in self._last:
            self._of_number(number, partial(self._sessions.last.setdefault, connection))
        for each in self.open_sessions:
            each.event(ev.Note(at=at, text=each.continues(why)))
            self._sessions.open_socket(each)

    def killed(self, at: float) -> None:
        """Notes that the relay has died."""
        self._end("the tap was killed", expected=False, at=at)

    def _end(self, detail: str, *, expected: bool, at: float) -> None:
        for each in self.open_sessions:
            each.close(detail, expected=expected, at=at)
        self.over = True

    def post(
        self, left: Callable[[float], None], session: int, target: bytes, headers: Headers, body: bytes
    ) -> Record:
        """Orders the relay to send a message that the tap made; returns its exchange."""
        record = Record(self._sessions, next(self._own_numbers), target=target, left=left)
        self._records[record.number] = record
        self.loop.say(
            {
                "post": record.number,
                "about": session,
                "target": target.decode("latin-1"),
                "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers],
                "body": body.decode(),
            }
        )
        return record

    def open_in(self, session: TappedSession) -> Iterator[int]:
        """Returns the numbers of the open exchanges of a session."""
        return (each.number for each in self._records.values() if each.session is session)
