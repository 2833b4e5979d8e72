"""The books of a tap over HTTP: copies of what passed become frames, and the frames belong to sessions.

A session is what ``Mcp-Session-Id`` names, or the stream of HTTP+SSE. A client without either (2026-07-28, and servers that
keep no sessions) is known by its name and by the connections that it uses.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from mcp_tui.config import settings
from mcp_tui.journal.masks import known_secrets
from mcp_tui.journal.redaction import is_secret_name
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.framing import LINE_HEAD_BYTES, TAIL_BYTES, Oversized
from mcp_tui.protocol.messages import (
    Batch,
    Frame,
    Json,
    MalformedFrame,
    RequestFrame,
    ResponseFrame,
    as_object,
)
from mcp_tui.protocol.observing import party
from mcp_tui.protocol.revisions import META_CLIENT_INFO, META_PROTOCOL_VERSION, REVISIONS
from mcp_tui.tap.account import salvaged
from mcp_tui.tap.event_pipe import EVENT_BYTES, fields_of
from mcp_tui.tap.http_heads import Headers, end_to_end, read_head
from mcp_tui.tap.http_session import TappedSession
from mcp_tui.transport.addresses import parse
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.http_bodies import EVENT_STREAM_TYPE, JSON_TYPE, EventBlocks
from mcp_tui.transport.http_errors import media_type, refusal
from mcp_tui.transport.targets import HttpTarget

if TYPE_CHECKING:
    from mcp_tui.tap.desk import Desk

SESSIONS: Final = 64
"""Sessions that are kept open; of more, those end in which nothing happened for longest."""

OWN_NUMBERS: Final = 1 << 31
"""The first number of an exchange of the tap's own; those of clients are smaller."""

DECODED_BYTES: Final = 1 << 20
"""Bytes that are decompressed at once."""


class BodyCopy:
    """A copy of a body: all of it, or start and end of one that is too large."""

    def __init__(self) -> None:
        self._cap = EVENT_BYTES
        self._data = bytearray()
        self._size = 0
        self._tail = b""
        self.is_torn = False
        """Bytes of it are missing."""

    def append(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= self._cap:
            self._data += data
        else:
            self._tail = (self._tail + data)[-TAIL_BYTES:]
            del self._data[LINE_HEAD_BYTES:]

    def skip(self, size: int) -> None:
        """Counts bytes that are missing: what is kept is the start of more."""
        self._cap, self.is_torn = 0, True
        self._size += size
        del self._data[LINE_HEAD_BYTES:]

    def read(self) -> bytes | Oversized:
        """Returns it."""
        if self._size <= self._cap:
            return bytes(self._data)
        return Oversized(head=bytes(self._data), size=self._size, tail=self._tail)


class Record:
    """An exchange. One of the tap's own has no ``connection``; ``left`` is called when its message has left."""

    def __init__(
        self,
        books: HttpBooks,
        number: int,
        *,
        method: str = "POST",
        target: bytes = b"",
        headers: Headers = (),
        connection: int | None = None,
        left: Callable[[float], None] | None = None,
    ) -> None:
        self.books = books
        self.number = number
        self.method = method
        self.target = target
        self.connection = connection
        self.session: TappedSession | None = None
        self.wires: tuple[RequestId, ...] = ()
        """The ids of its requests."""
        self.cancels: RequestId | None = None
        """The request that it cancels for the tap."""
        self.listens = connection is not None
        """Whether the client waits for the response, or for more of it."""
        self.headers = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in headers}
        self._given = headers
        self._left = left
        self._has_left = False
        self._unreadable = False
        """Its response is encoded in an unknown way, or bytes of it are missing."""
        self._is_torn = False
        """What comes next may be the rest of an event whose start was missed."""
        self._request = BodyCopy()
        self._response = BodyCopy()
        self._events: EventBlocks | None = None
        self._decoder: Any = None
        self._status = 0
        self._says_status = True
        self._answered: Mapping[str, str] = {}
        self._resumable = False
        self._client_left = False

    def told(self, kind: bytes, at: float, data: bytes) -> None:
        """Takes what the relay tells of it."""
        match kind:
            case b"o":
                self._request.append(data)
            case b"d":
                self._asked(at)
            case b"a":
                (status,), headers = read_head(data)
                self._began(int(status), headers)
            case b"i":
                self._piece(at, data)
            case b"f" if self._left is not None:
                self._has_left = True
                self._left(at)
            case b"g":
                self._missed(at, data[:1], int.from_bytes(data[1:], "big"))
            case b"n":
                # An answer may come before the request is complete, such as that it is too large: no more of it comes then.
                if self.session is None and self.connection is not None:
                    self._asked(at, whole=False)
                self._over(at, data.decode())
            case _:
                pass

    # -- the request -------------------------------------------------------------------------------------------

    def _asked(self, at: float, *, whole: bool = True) -> None:
        """Notes a request that is complete, or that the server answered before it was."""
        raw, is_torn, self._request = self._request.read(), self._request.is_torn, BodyCopy()
        if not self.books.is_endpoint(self.target):
            return
        if self.method != "POST" or not raw:
            self.join(self.books.session_of(self, None))
            return
        frame = salvaged(raw) if isinstance(raw, Oversized) else messages.parse(raw)
        if not whole and isinstance(frame, MalformedFrame) and isinstance(raw, bytes):
            found = salvaged(Oversized(head=raw, size=len(raw)))
            frame = found if isinstance(found, RequestFrame) else frame
        session = self.books.session_of(self, frame) or self.books.new_session(at)
        self.join(session)
        if self.connection is not None:
            self.books.last[self.connection] = session
        session.headers, session.target = end_to_end(self._given, b"host", b"expect"), self.target
        session.store.learn(_secrets(self._given))
        seq = 0
        if isinstance(raw, Oversized):
            session.event(ev.Oversize(at=at, bytes=raw.size))
        else:
            seq = session.frame("out", raw, frame, at=at)
        self._speaks(session, frame)
        if not (is_torn and isinstance(frame, messages.UNREADABLE)):
            session.observer.sent(frame, at=at, seq=seq)
        for each in _requests(frame):
            row = session.ledger.named(each.id)
            if row is not None:
                self.wires += (row.wire_id,)
                session.exchanges[row.wire_id] = self
                # A client that uses an id again: what answers it from now on is not late.
                session.let_pass(each.id)

    def join(self, session: TappedSession | None) -> None:
        """Makes it one of a session."""
        self.session = session
        if session is not None and session.keeps_back:
            self.books.desk.order(session=session.number, of=[self.number])

    def _speaks(self, session: TappedSession, frame: Frame | Batch) -> None:
        """Takes the revision from the headers, where the tap did not hear the handshake."""
        opens = any(each.method in ("initialize", "server/discover") for each in _requests(frame))
        if session.is_modern is None and session.id and not opens:
            revision = REVISIONS.get(self.headers.get("mcp-protocol-version", "2025-03-26"))
            if revision is not None:
                session.observer.speak(revision)

    # -- the response ------------------------------------------------------------------------------------------

    def _began(self, status: int, given: Headers) -> None:
        """Notes the head of the response."""
        headers = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in given}
        self._status, self._answered = status, headers
        encoding = headers.get("content-encoding", "identity").strip().lower()
        if encoding in ("gzip", "x-gzip", "deflate"):
            # 32 + 15: gzip or zlib, whichever the bytes are.
            self._decoder = zlib.decompressobj(47)
        elif encoding not in ("", "identity"):
            self._unreadable = True
        if media_type(headers) == EVENT_STREAM_TYPE:
            self._events = EventBlocks(EVENT_BYTES)
            if self.session is not None and self.method == "GET":
                self.session.opens(self)
        session, named = self.session, headers.get("mcp-session-id", "")
        if session is not None and named and not session.id and 200 <= status < 300:
            session.id = named
            session.store.learn([named])
            self.books.by_id[named] = session

    def _piece(self, at: float, data: bytes) -> None:
        """Notes a part of the response's body."""
        if self._unreadable or not self.books.is_endpoint(self.target):
            return
        while data:
            decoded = data
            data = b""
            if self._decoder is not None:
                try:
                    decoded = self._decoder.decompress(decoded, DECODED_BYTES)
                except zlib.error:
                    self._unreadable = True
                    return
                data = self._decoder.unconsumed_tail
            if self._events is None:
                self._response.append(decoded)
                continue
            for event in self._events.feed(decoded):
                self._event(at, event)

    def _missed(self, at: float, kind: bytes, size: int) -> None:
        """Notes bytes that the relay could not keep. An answer may have been among them."""
        if kind == b"o":
            self._request.skip(size)
        elif self._events is None or self._decoder is not None:
            self._unreadable = True
        else:
            self._events, self._is_torn = EventBlocks(EVENT_BYTES), True
        session = self.session
        if session is None or session.over or kind == b"o":
            return
        session.event(
            ev.Note(
                at=at,
                text=f"{size:,} bytes from the server are not recorded: the tap was too far behind",
            )
        )
        if self._events is not None:
            # What comes by the stream of no request is the answer to one that has none of its own.
            live = [each.row.wire_id for each in session.ledger.live.values()]
            session.unseen(at, self.wires or [each for each in live if each not in session.exchanges])

    def _event(self, at: float, event: bytes | Oversized) -> None:
        is_torn, self._is_torn = self._is_torn, False
        if isinstance(event, Oversized):
            self._message(at, event)
            return
        name, data, has_id = fields_of(event)
        self._resumable |= has_id
        if name == b"endpoint" and self.connection is not None:
            self.join(self.books.opened(self, data, at))
        elif data and not (is_torn and isinstance(messages.parse(data), messages.UNREADABLE)):
            self._message(at, data)

    def _message(self, at: float, raw: bytes | Oversized) -> None:
        session = self.session
        if session is None or session.over:
            return
        # C-43: the stream of a batch belongs to none of its requests alone.
        stream = self.wires[0] if len(self.wires) == 1 else None
        if isinstance(raw, Oversized):
            session.ledger.responses.too_large(raw.head, raw.size, at=at, tail=raw.tail, stream=stream)
        else:
            frame = messages.parse(raw)
            seq = session.frame("in", raw, frame, at=at, stream=stream)
            if self.cancels is None:
                session.observer.received(frame, at=at, seq=seq, stream=stream)
            elif 200 <= self._status < 300:
                status, self._says_status = self._status if self._says_status else 0, False
                session.ledger.responses.to_cancel(self.cancels, frame, status=status, at=at, seq=seq)
        session.ledger.perform()

    # -- the end -----------------------------------------------------------------------------------------------

    def client_left(self, at: float) -> None:
        """Notes that the client closed its connection, which ends the exchange."""
        self._client_left = True
        self._over(at, "")

    def _over(self, at: float, why: str) -> None:
        """Notes the end of the exchange; ``why`` is what broke it."""
        session, listened, self.listens = self.session, self.listens, False
        if session is None or session.over:
            return
        if self._unreadable:
            session.event(
                ev.Note(
                    at=at, text="a message is not recorded: it was too much, or encoded in an unknown way"
                )
            )
            session.unseen(at, self.wires)
        raw = b"" if self._unreadable else self._response.read()
        said = raw if isinstance(raw, bytes) else b""
        answers = isinstance(messages.parse(said), (ResponseFrame, Batch)) if said else False
        # The start of a message says nothing. From 2026-07-28 on the tap closes the stream when it has answered.
        whole = not why and not self._client_left and (listened or not session.is_modern)
        if answers or (
            raw and whole and 200 <= self._status < 300 and media_type(self._answered) == JSON_TYPE
        ):
            self._message(at, raw)
        for id_ in self.wires:
            self._request_over(session, id_, at, why, said)
            session.exchanges.pop(id_, None)
        if self.cancels is not None:
            self._cancel_over(session, self.cancels, at, why)
        elif self._status >= 400 and not self.wires and self.connection is not None and self.method == "POST":
            session.event(
                ev.Note(at=at, text=refusal(self._status, self._answered, self.books.address, said))
            )
        session.ledger.perform()
        self._session_over(session, at)

    def _request_over(self, session: TappedSession, id_: RequestId, at: float, why: str, said: bytes) -> None:
        ledger = session.ledger
        if self._client_left:
            # C-35: the client may come back with Last-Event-ID, and has not left then.
            if not (self._resumable and session.is_modern is False):
                session.observer.left(id_, at=at)
        elif not self._status:
            ledger.refused(id_, why, at=at)
        elif not 200 <= self._status < 300:
            text = refusal(self._status, self._answered, self.books.address, said)
            ledger.refused(id_, text, at=at, status=self._status)
        elif ledger.negotiated.transport != "sse" and not (self._resumable and session.is_modern is False):
            ledger.stream_ended(id_, why, at=at)

    def _cancel_over(self, session: TappedSession, id_: RequestId, at: float, why: str) -> None:
        if 200 <= self._status < 300:
            session.ledger.signal_accepted(id_, at=at)
        elif self._status:
            session.ledger.signal_failed(id_, f"HTTP {self._status}", at=at, refused=True)
        elif self._has_left:
            session.ledger.signal_unanswered(id_, why, at=at)
        else:
            session.ledger.signal_failed(id_, why, at=at)

    def _session_over(self, session: TappedSession, at: float) -> None:
        """Ends the session if this exchange did."""
        if self in session.streams:
            session.streams.remove(self)
            if session.ledger.negotiated.transport == "sse":
                who = "client" if self._client_left else "server"
                session.close(f"the {who} closed the event stream", expected=self._client_left, at=at)
        elif self._status == 404 and session.id:
            session.close("the server ended the session (HTTP 404)", expected=False, at=at)
        elif self.method == "DELETE" and 200 <= self._status < 300:
            session.close("the client ended the session", expected=True, at=at)


def _requests(frame: Frame | Batch | None) -> list[RequestFrame]:
    frames = frame.frames if isinstance(frame, Batch) else (frame,)
    return [each for each in frames if isinstance(each, RequestFrame)]


def _is_taken(session: TappedSession, request: RequestFrame) -> bool:
    """Whether an id shows that another client sent it, though of the same name: it is in use, or a client begins with it."""
    row = session.ledger.named(request.id)
    return row is not None and (row.open or request.method == "server/discover")


def _distance(session: TappedSession, id_: object) -> float:
    """Returns how far an id is behind the last one of a session: most clients count."""
    last = session.ledger.book.order[-1].wire_id if session.ledger.book.order else 0
    return id_ - last if isinstance(id_, int) and isinstance(last, int) and id_ > last else float("inf")


def _secrets(headers: Headers) -> set[str]:
    """Returns the secrets in headers, and those within them."""
    texts = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
    return known_secrets(
        HttpTarget(url="", repeated=tuple(each for each in texts if is_secret_name(each[0])))
    )


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
        self._own_numbers = count(OWN_NUMBERS)
        self._chosen = settings.load().settings
        self._numbers = count(1)
        own = self.address.authorization or ""
        self._secrets = _secrets([(b"authorization", own.encode())])

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

    def killed(self, at: float) -> None:
        """Notes that the relay is gone without a word."""
        self._end("the tap was killed", expected=False, at=at)

    def _end(self, detail: str, *, expected: bool, at: float) -> None:
        for each in self.accounts:
            each.close(detail, expected=expected, at=at)
        self.over = True

    def post(self, left: Callable[[float], None], target: bytes, headers: Headers, body: bytes) -> Record:
        """Has a message of the tap's own sent; returns its exchange."""
        record = Record(self, next(self._own_numbers), target=target, left=left)
        self._records[record.number] = record
        self.desk.say(
            post=record.number,
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
        requests = _requests(frame)
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

    def new_session(self, at: float) -> TappedSession:
        """Returns a new session, with a journal of its own."""
        self._sessions = self.accounts
        for each in self._sessions[: max(0, len(self._sessions) - SESSIONS + 1)]:
            each.close("nothing happened in it for long", expected=True, at=at)
        store = self.desk.open_store(self._target, self._chosen, self.begin, at)
        store.learn(self._secrets)
        session = TappedSession(self, next(self._numbers), store)
        if self._chosen.reachable:
            session.open_door()
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
