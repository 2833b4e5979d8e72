"""The books of a tap over HTTP: copies of what passed become frames, and the frames belong to sessions.

A session is what ``Mcp-Session-Id`` names, or the stream of HTTP+SSE. A client without either (2026-07-28, and servers that
keep no sessions) is known by its name and by the connections that it uses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from mcp_tui.config import settings
from mcp_tui.live.doors import Door
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.messages import (
    Batch,
    Frame,
    Json,
    RequestFrame,
    as_object,
)
from mcp_tui.protocol.observing import party
from mcp_tui.protocol.revisions import META_CLIENT_INFO, META_PROTOCOL_VERSION, REVISIONS
from mcp_tui.tap.http_exchange import Record, cancel_over, requests_in, secrets_in
from mcp_tui.tap.http_heads import Headers, read_head
from mcp_tui.tap.http_session import TappedSession
from mcp_tui.transport.addresses import parse
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.targets import HttpTarget

if TYPE_CHECKING:
    from mcp_tui.tap.desk import Desk

SESSIONS: Final = 64
"""Sessions that are kept open; of more, those end in which nothing happened for longest."""

OWN_NUMBERS: Final = 1 << 31
"""The first number of an exchange of the tap's own; those of clients are smaller."""

AGAIN_NUMBERS: Final = 1 << 30
"""Numbers of these that the first recorder may have used."""


def _is_taken(session: TappedSession, request: RequestFrame) -> bool:
    """Whether an id shows that another client sent it, though of the same name: it is in use, or a client begins with it."""
    row = session.ledger.named(request.id)
    return row is not None and (row.open or request.method == "server/discover")


def _distance(session: TappedSession, id_: object) -> float:
    """Returns how far an id is behind the last one of a session: most clients count."""
    last = session.ledger.book.order[-1].wire_id if session.ledger.book.order else 0
    return id_ - last if isinstance(id_, int) and isinstance(last, int) and id_ > last else float("inf")


class HttpBooks:
    """The books of one tap. ``begin`` are its options, and the URL of the server."""

    def __init__(self, desk: Desk, begin: dict[str, Json]) -> None:
        self.desk = desk
        self._target = HttpTarget(
            url=messages.as_text(begin["url"]), name=messages.as_text(begin.get("name"))
        )
        self.address = parse(self._target.url)
        self.over = False
        self.begin = begin
        self.name = self._target.name or self.address.host
        self.by_id: dict[str, TappedSession] = {}
        self.last: dict[int, TappedSession] = {}
        """The session of the last message of a connection."""
        self._by_endpoint: dict[bytes, TappedSession] = {}
        self._sessions: list[TappedSession] = []
        """That of the last message at the end."""
        self._records: dict[int, Record] = {}
        """The open exchanges."""
        self._own_numbers = count(OWN_NUMBERS + (AGAIN_NUMBERS if begin.get("again") else 0))
        self._stopping: list[TappedSession] = []
        """The sessions whose streams hold a server that is stopping, until their last call is over."""
        self._refused = 0
        """The last exchange of a client to which the server refused a connection."""
        self._chosen = settings.load().settings
        self._count = 0
        """The number of the last session."""
        self._recalled: TappedSession | None = None
        """The session of which the recorder before tells."""
        self._last: list[Any] = []
        own = self.address.authorization or ""
        self._secrets = secrets_in([(b"authorization", own.encode())])

    @property
    def accounts(self) -> list[TappedSession]:
        """The open sessions."""
        return [each for each in self._sessions if not each.over]

    # -- records -----------------------------------------------------------------------------------------------

    def record(self, kind: bytes, at: float, number: int, data: bytes) -> None:
        """Takes what the relay tells."""
        match kind:
            case b"q":
                (connection, method, target), headers = read_head(data)
                self._records[number] = Record(
                    self,
                    number,
                    method=method.decode("latin-1"),
                    target=target,
                    headers=headers,
                    connection=int(connection),
                )
            case b"l":
                self.last.pop(number, None)
                left = [each for each in self._records.values() if each.listens and each.connection == number]
                for each in left:
                    del self._records[each.number]
                    each.client_left(at)
            case b"D":
                self._of_number(messages.read_json(data)[0], lambda session: session.decided(at, data))
            case b"I":
                record = self._records.get(number)
                if record is not None and record.session is not None:
                    record.session.told(messages.parse(data), at, data, number)
            case b"f" if self.desk.restoring:
                self._has_left_before(number, at, data)
            case b"s":
                self._secrets.update(messages.read_json(data))
                for each in self._sessions:
                    each.store.learn(self._secrets)
            case b"x":
                self._end("the tap was ended", expected=True, at=at)
            case _:
                record = self._records.get(number)
                if record is None:
                    return
                record.told(kind, at, data)
                if record.session is not None:
                    record.session.ledger.perform()
                if kind == b"n":
                    del self._records[number]
                self._look_whether_it_stops(record, kind, at, data)

    def _look_whether_it_stops(self, record: Record, kind: bytes, at: float, data: bytes) -> None:
        """Closes the streams that hold a server which is stopping: it refuses connections while they are open."""
        if kind == b"n" and record.is_refused(data.decode()):
            self._stopping, self._refused = self.accounts, record.number
        elif kind == b"a" and record.number > self._refused:
            self._stopping = []  # what was sent later is answered: by the next process, or by the same one again
        self._stopping = [each for each in self._stopping if not (each.over or each.close_streams(at))]

    # -- another recorder --------------------------------------------------------------------------------------

    def _of_number(self, number: object, call: Callable[[TappedSession], object]) -> None:
        for each in self.accounts:
            if each.number == number:
                call(each)

    def _has_left_before(self, number: int, at: float, data: bytes) -> None:
        """Notes that a message of the tap's own has left, which the recorder before had sent."""
        about, body = messages.read_json(data)
        self._of_number(about, lambda session: self._left_of(session, number, at, body.encode(), data))

    def _left_of(self, session: TappedSession, number: int, at: float, raw: bytes, data: bytes) -> None:
        frame = messages.parse(raw)
        if not isinstance(frame, messages.MethodFrame):
            return
        record = self._records.setdefault(number, Record(self, number))
        record.session = session
        said = self.desk.said(session.number, frame)
        if said is not None:
            self._records.pop(said[0]["post"], None)
            session.has_said(said[1], frame)
        id_ = frame.id if isinstance(frame, RequestFrame) else None
        id_ = None if id_ is None else session.ledger.other_ids.get(id_, id_)
        wanted: Any = as_object(frame.params).get("requestId") if id_ is None else None
        row = session.ledger.named(wanted) if messages.is_request_id(wanted) else None
        record.cancels, record.wires = None if row is None else row.wire_id, () if id_ is None else (id_,)
        session.checkpoint.begin()
        session.has_left(raw, frame.method, at, id=id_, cancels=record.cancels)
        session.ledger.perform()
        session.checkpoint.taken(b"f", at, data, frame, number)

    def needed(self) -> Iterator[tuple[bytes, float, int, bytes]]:
        """Yields what another recorder needs: of the tap, then of each session, its exchanges, and its open requests."""
        last: list[Json] = [[connection, each.number] for connection, each in self.last.items()]
        known: dict[str, Json] = {"count": self._count, "last": last, "secrets": sorted(self._secrets)}
        yield b"m", 0.0, 0, messages.encode(known)
        for session in (None, *self.accounts):
            if session is not None:
                yield b"m", 0.0, session.number, messages.encode(session.memory())
            for record in self._records.values():
                if record.session is session:
                    yield b"y", 0.0, record.number, messages.encode(record.memory())
            yield from () if session is None else session.checkpoint.records()

    def restore(self, kind: bytes, at: float, number: int, data: bytes) -> None:
        """Takes one of these from the recorder before."""
        session = self._recalled
        known: Any = messages.read_json(data) if kind in (b"m", b"y", b"v") else None
        match kind:
            case b"m" if not number:
                self._count, self._last = known["count"], known["last"]
                self._secrets.update(known["secrets"])
            case b"m":
                self._recalled = self.new_session(known["began"], number, known["door"])
                self._recalled.remember(known)
                if self._recalled.id:
                    self.by_id[self._recalled.id] = self._recalled
                if known["transport"] == "sse":
                    self._by_endpoint[self._recalled.target] = self._recalled
            case b"y":
                headers = [
                    (name.encode("latin-1"), value.encode("latin-1")) for name, value in known["headers"]
                ]
                record = self._records[number] = Record(
                    self,
                    number,
                    method=known["method"],
                    target=known["target"].encode("latin-1"),
                    headers=headers,
                    connection=known["connection"],
                )
                record.recall(known, session)
            case b"v" if session is not None:
                cancel_over(session, known[0], at, known[1:])
                session.ledger.perform()
                row = session.ledger.current(known[0])
                if row is not None:
                    session.checkpoint.add(row.id, kind, at, data)
            case b"o" | b"i" | b"r" | b"s" if session is not None:
                record = self._records.get(number)
                wires = () if record is None else record.wires
                session.recall(kind, at, data, number, wires[0] if len(wires) == 1 else None)
            case _:
                self.record(kind, at, number, data)

    def restored(self, at: float, why: str) -> None:
        """Goes on as a recorder does that was always there."""
        for connection, number in self._last:
            self._of_number(number, partial(self.last.setdefault, connection))
        for each in self.accounts:
            each.event(ev.Note(at=at, text=each.continues(why)))
            self._open_door(each)

    def _open_door(self, session: TappedSession) -> None:
        if self._chosen.reachable:
            with suppress(OSError):
                session.open_door(Door(session.door))

    def killed(self, at: float) -> None:
        """Notes that the relay is gone without a word."""
        self._end("the tap was killed", expected=False, at=at)

    def _end(self, detail: str, *, expected: bool, at: float) -> None:
        for each in self.accounts:
            each.close(detail, expected=expected, at=at)
        self.over = True

    def post(
        self, left: Callable[[float], None], session: int, target: bytes, headers: Headers, body: bytes
    ) -> Record:
        """Has a message of the tap's own sent; returns its exchange."""
        record = Record(self, next(self._own_numbers), target=target, left=left)
        self._records[record.number] = record
        self.desk.say(
            post=record.number,
            about=session,
            target=target.decode("latin-1"),
            headers=[[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers],
            body=body.decode(),
        )
        return record

    def open_in(self, session: TappedSession) -> Iterator[int]:
        """Returns the numbers of the open exchanges of a session."""
        return (each.number for each in self._records.values() if each.session is session)

    # -- sessions ----------------------------------------------------------------------------------------------

    def is_endpoint(self, target: bytes) -> bool:
        """Whether messages go there; what else passes, such as a sign-in, is not recorded."""
        path = self.address.url.raw_path.partition(b"?")[0].rstrip(b"/")
        return target.partition(b"?")[0].rstrip(b"/") == path or target in self._by_endpoint

    def session_of(self, record: Record, frame: Frame | Batch | None) -> TappedSession | None:
        """Returns the session that an exchange belongs to; ``None`` if that is not known yet."""
        named = record.headers.get("mcp-session-id", "")
        requests = requests_in(frame)
        meta = as_object(as_object(requests[0].params if requests else None).get("_meta"))
        claimed = messages.as_text(meta.get(META_PROTOCOL_VERSION)) or record.headers.get(
            "mcp-protocol-version", ""
        )
        revision = REVISIONS.get(claimed)
        modern = revision is not None and revision.modern
        client = party(meta.get(META_CLIENT_INFO))
        if target := self._by_endpoint.get(record.target):
            return self._used(target)
        # 2026-07-28 has no sessions: an id that is sent along means nothing.
        if named and not modern:
            found = self.by_id.get(named)
            # Its handshake was before this tap began.
            if found is None and frame is not None:
                found = self.by_id[named] = self.new_session(monotonic())
                found.id = named
            return self._used(found)
        if any(each.method == "initialize" for each in requests):
            client = party(as_object(requests[0].params).get("clientInfo"))
            return self._used(self._unsettled(client))

        def fits(each: TappedSession) -> bool:
            known = (
                each.ledger.negotiated.transport == "http"
                and not each.id
                and each.is_modern in (None, modern)
            )
            same = not client or each.observer.client in ("", client)
            return known and same and not (modern and any(_is_taken(each, request) for request in requests))

        own = None if record.connection is None else self.last.get(record.connection)
        if own is not None and not own.over and fits(own):
            return self._used(own)
        found = [each for each in reversed(self._sessions) if not each.over and fits(each)]
        number = requests[0].id if requests else None
        return self._used(min(found, key=lambda each: _distance(each, number), default=None))

    def _used(self, session: TappedSession | None) -> TappedSession | None:
        if session is not None and not session.over:
            self._sessions.remove(session)
            self._sessions.append(session)
            return session
        return None

    def _unsettled(self, client: str) -> TappedSession | None:
        """Returns the session of a client that has asked for a revision so far, and was refused."""
        for each in reversed(self._sessions):
            asks = each.is_modern is None and not each.id and each.ledger.negotiated.transport == "http"
            if asks and not each.ledger.live and each.observer.client in ("", client):
                return each
        return None

    def new_session(self, at: float, number: int = 0, door: str = "") -> TappedSession:
        """Returns a new session, with a journal of its own; one with a ``number`` goes on in the place of another."""
        self._sessions = self.accounts
        for each in self._sessions[: max(0, len(self._sessions) - SESSIONS + 1)]:
            each.close("nothing happened in it for long", expected=True, at=at)
        store = self.desk.open_store(self._target, self._chosen, self.begin, at)
        store.learn(self._secrets)
        self._count = max(self._count, number) if number else self._count + 1
        session = TappedSession(self, number or self._count, store, at, door or os.urandom(6).hex())
        if not self.desk.restoring:
            self._open_door(session)
        self._sessions.append(session)
        return session

    def opened(self, record: Record, endpoint: bytes, at: float) -> TappedSession | None:
        """Returns the session of a stream over HTTP+SSE, which names where its messages go."""
        try:
            target = self.address.resolve(endpoint.decode("utf-8", "replace")).url.raw_path
        except TransportError:
            return None
        session = self._unsettled("") or self.new_session(at)
        session.becomes_sse(record, target)
        self._by_endpoint[target] = session
        return session
