"""The books of a tap over HTTP: copies of what passed become frames, and the frames belong to sessions.

A session is what ``Mcp-Session-Id`` names, or the stream of HTTP+SSE. A client without either (2026-07-28, and servers that
keep no sessions) is known by its name and by the connections that it uses.

Nothing here delays the bytes: copies wait in a queue (:meth:`HttpBooks.put`) and are read a moment later, in another thread.
What is decided about a request (a limit, a person's cancel) is decided in the event loop that moves the bytes: nothing
passes meanwhile, and everything that came is read first. An exception ends the books, and not the traffic.
"""

from __future__ import annotations

import asyncio
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from threading import Event, RLock, Thread, current_thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final

from mcp_tui.config import settings
from mcp_tui.journal.redaction import is_secret_name
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.framing import LINE_HEAD_BYTES, TAIL, Oversized
from mcp_tui.protocol.messages import Batch, Frame, RequestFrame, ResponseFrame, as_object
from mcp_tui.protocol.observing import party
from mcp_tui.protocol.revisions import META_CLIENT_INFO, META_PROTOCOL_VERSION, REVISIONS
from mcp_tui.tap.account import limits_in, salvaged, warn
from mcp_tui.tap.books import opened_store
from mcp_tui.tap.event_pipe import LONGEST, fields_of
from mcp_tui.tap.http_session import HttpSession
from mcp_tui.tap.kept_back import KeptBack
from mcp_tui.tap.relay import HOLD, QUEUE_BYTES
from mcp_tui.transport.addresses import parse
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.http_bodies import EVENT_STREAM_TYPE, JSON_TYPE, EventBlocks
from mcp_tui.transport.http_errors import media_type, refusal
from mcp_tui.transport.targets import HttpTarget

if TYPE_CHECKING:
    from mcp_tui.tap.http import ClientConnection, Exchange

SESSIONS: Final = 64
"""Sessions that are kept open; of more, those end in which nothing happened for longest."""

BOOKS_SWITCH_SECONDS: Final = 0.0005
"""Seconds after which the thread of the books gives way to the bytes."""

STAND_BACK_SECONDS: Final = 0.01
"""Seconds that the books wait, so that they do not run beside an answer that comes at once."""

DECODED: Final = 1 << 20
"""Bytes that are decompressed at once."""


class Copy:
    """A copy of a body: all of it, or start and end of one that is too large."""

    def __init__(self, cap: int = LONGEST) -> None:
        self._cap = cap
        self._data = bytearray()
        self._size = 0
        self._tail = b""

    def append(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= self._cap:
            self._data += data
        else:
            self._tail = (self._tail + data)[-TAIL:]
            del self._data[LINE_HEAD_BYTES:]

    def read(self) -> bytes | Oversized:
        """Returns it."""
        if self._size <= self._cap:
            return bytes(self._data)
        return Oversized(head=bytes(self._data), size=self._size, tail=self._tail)


class Record:
    """What the books keep of one exchange; without ``exchange`` it is the tap's own."""

    def __init__(
        self,
        books: HttpBooks,
        exchange: Exchange | None,
        connection: ClientConnection | None,
        target: bytes,
        headers: Mapping[bytes, bytes],
    ) -> None:
        self.books = books
        self.exchange = exchange
        self.connection = connection
        self.target = target
        self.session: HttpSession | None = None
        self.wires: tuple[RequestId, ...] = ()
        """The ids of its requests."""
        self.cancels: RequestId | None = None
        """The request that it cancels for the tap."""
        self.left = False
        """Whether that has left."""
        self.missed = 0
        """Bytes that were dropped."""
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers.items()}
        self._request = Copy()
        self._response = Copy()
        self._events: EventBlocks | None = None
        self._decoder: Any = None
        self._status = 0
        self._answered: Mapping[str, str] = {}
        self._resumable = False
        self._client_left = False

    def kept(self) -> KeptBack | None:
        """What is kept back from the client."""
        return None if self.session is None else self.session.kept

    @property
    def opens_stream(self) -> bool:
        """Whether the response may be the stream of HTTP+SSE."""
        return (
            self.exchange is not None
            and self.exchange.method == "GET"
            and "mcp-session-id" not in self.headers
        )

    # -- the request -------------------------------------------------------------------------------------------

    def take(self, data: bytes) -> None:
        """Takes a part of the request's body."""
        self._request.append(data)

    def body(self) -> bytes:
        """Returns the request's body."""
        raw = self._request.read()
        return raw if isinstance(raw, bytes) else b""

    def asked(self, at: float) -> None:
        """Notes a request that is complete."""
        exchange = self.exchange
        if exchange is None or not self.books.is_endpoint(self.target):
            return
        raw = self._request.read()
        if exchange.method != "POST" or not raw:
            self.session = self.books.session_of(self, None)
            return
        frame = salvaged(raw) if isinstance(raw, Oversized) else messages.parse(raw)
        session = self.session = self.books.session_of(self, frame) or self.books.new_session(at)
        if self.connection is not None:
            self.connection.session = session
        session.headers, session.target = exchange.headers, self.target
        session.store.learn(_secrets(self.headers))
        seq = 0
        if isinstance(raw, Oversized):
            session.event(ev.Oversize(at=at, bytes=raw.size))
        else:
            seq = session.frame("out", raw, frame, at=at)
        self._speaks(session, frame)
        session.observer.sent(frame, at=at, seq=seq)
        for each in _requests(frame):
            row = session.ledger.named(each.id)
            if row is not None:
                self.wires += (row.wire_id,)
                session.exchanges[row.wire_id] = exchange
                session.kept.discard(each.id)
        session.perform()

    def _speaks(self, session: HttpSession, frame: Frame | Batch) -> None:
        """Takes the revision from the headers, where the tap did not hear the handshake."""
        opens = any(each.method in ("initialize", "server/discover") for each in _requests(frame))
        if session.is_modern is None and session.id and not opens:
            revision = REVISIONS.get(self.headers.get("mcp-protocol-version", "2025-03-26"))
            if revision is not None:
                session.observer.speak(revision)

    # -- the response ------------------------------------------------------------------------------------------

    def began(self, at: float, status: int, headers: Mapping[str, str]) -> None:
        """Notes the head of the response."""
        self._status, self._answered = status, headers
        self._request = Copy()
        encoding = headers.get("content-encoding", "identity").strip().lower()
        if encoding in ("gzip", "x-gzip", "deflate"):
            self._decoder = zlib.decompressobj(47)
        elif encoding not in ("", "identity"):
            self.missed = 1
        if media_type(headers) == EVENT_STREAM_TYPE:
            self._events = EventBlocks(LONGEST)
            if self.session is not None and self.exchange is not None and self.exchange.method == "GET":
                self.session.stream = self.exchange
        session, named = self.session, headers.get("mcp-session-id", "")
        if session is not None and named and not session.id and 200 <= status < 300:
            session.id = named
            session.store.learn([named])
            self.books.by_id[named] = session

    def piece(self, at: float, data: bytes) -> None:
        """Notes a part of the response's body."""
        if self.missed or not self.books.is_endpoint(self.target):
            return
        while data:
            decoded = data
            data = b""
            if self._decoder is not None:
                decoded = self._decoder.decompress(decoded, DECODED)
                data = self._decoder.unconsumed_tail
            if self._events is None:
                self._response.append(decoded)
                continue
            for event in self._events.feed(decoded):
                self._event(at, event)

    def _event(self, at: float, event: bytes | Oversized) -> None:
        if isinstance(event, Oversized):
            self._message(at, event)
            return
        name, data, has_id = fields_of(event)
        self._resumable |= has_id
        if name == b"endpoint" and self.exchange is not None:
            self.session = self.books.opened(self, data, at)
        elif data:
            self._message(at, data)

    def _message(self, at: float, raw: bytes | Oversized) -> None:
        session = self.session
        if session is None or session.over:
            return
        stream = self.wires[0] if len(self.wires) == 1 and self.exchange is not session.stream else None
        if isinstance(raw, Oversized):
            session.ledger.responses.too_large(raw.head, raw.size, at=at, tail=raw.tail, stream=stream)
        else:
            frame = messages.parse(raw)
            seq = session.frame("in", raw, frame, at=at, stream=stream)
            session.observer.received(frame, at=at, seq=seq, stream=stream)
        session.perform()

    # -- the end -----------------------------------------------------------------------------------------------

    def client_left(self, at: float) -> None:
        """Notes that the client closed its connection."""
        self._client_left = True

    def over(self, at: float, why: str) -> None:
        """Notes the end of the exchange; ``why`` is what broke it."""
        session = self.session
        if session is None or session.over:
            return
        if self.missed:
            session.event(
                ev.Note(
                    at=at, text="a response is not recorded: it was too much, or encoded in an unknown way"
                )
            )
            session.unseen(at, self.wires)
        said = self._said()
        answers = isinstance(messages.parse(said), (ResponseFrame, Batch)) if said else False
        if answers or (said and 200 <= self._status < 300 and media_type(self._answered) == JSON_TYPE):
            self._message(at, said)
        for id_ in self.wires:
            self._request_over(session, id_, at, why, said)
            session.exchanges.pop(id_, None)
        if self.cancels is not None:
            self._cancel_over(session, self.cancels, at, why)
        elif (
            self._status >= 400
            and not self.wires
            and self.exchange is not None
            and self.exchange.method == "POST"
        ):
            session.event(
                ev.Note(at=at, text=refusal(self._status, self._answered, self.books.address, said))
            )
        session.perform()
        self._session_over(session, at)

    def _said(self) -> bytes:
        raw = self._response.read()
        return b"" if isinstance(raw, Oversized) else raw

    def _request_over(self, session: HttpSession, id_: RequestId, at: float, why: str, said: bytes) -> None:
        ledger = session.ledger
        if self._client_left:
            if not (self._resumable and session.is_modern is False):
                session.observer.left(id_, at=at)
        elif not self._status:
            ledger.refused(id_, why, at=at)
        elif not 200 <= self._status < 300:
            text = refusal(self._status, self._answered, self.books.address, said)
            ledger.refused(id_, text, at=at, status=self._status)
        elif ledger.negotiated.transport != "sse" and not (self._resumable and session.is_modern is False):
            ledger.stream_ended(id_, why, at=at)

    def _cancel_over(self, session: HttpSession, id_: RequestId, at: float, why: str) -> None:
        if 200 <= self._status < 300:
            session.ledger.signal_accepted(id_, at=at)
        elif self._status:
            session.ledger.signal_failed(id_, f"HTTP {self._status}", at=at)
        elif self.left:
            session.ledger.signal_unanswered(id_, why, at=at)
        else:
            session.ledger.signal_failed(id_, why, at=at)

    def _session_over(self, session: HttpSession, at: float) -> None:
        """Ends the session if this exchange did."""
        if self.exchange is not None and session.stream is self.exchange:
            session.stream = None
            if session.ledger.negotiated.transport == "sse":
                who = "client" if self._client_left else "server"
                session.close(f"the {who} closed the event stream", expected=self._client_left, at=at)
        elif self._status == 404 and session.id:
            session.close("the server ended the session (HTTP 404)", expected=False, at=at)
        elif self.exchange is not None and self.exchange.method == "DELETE" and 200 <= self._status < 300:
            session.close("the client ended the session", expected=True, at=at)


def _requests(frame: Frame | Batch | None) -> list[RequestFrame]:
    frames = frame.frames if isinstance(frame, Batch) else (frame,)
    return [each for each in frames if isinstance(each, RequestFrame)]


def _is_taken(session: HttpSession, request: RequestFrame) -> bool:
    """Whether an id shows that another client sent it, though of the same name: it is in use, or a client begins with it."""
    row = session.ledger.named(request.id)
    return row is not None and (row.open or request.method == "server/discover")


def _distance(session: HttpSession, id_: object) -> float:
    """Returns how far an id is behind the last one of a session: most clients count."""
    last = session.ledger.book.order[-1].wire_id if session.ledger.book.order else 0
    return id_ - last if isinstance(id_, int) and isinstance(last, int) and id_ > last else float("inf")


def _secrets(headers: Mapping[str, str]) -> list[str]:
    """Returns the secrets in headers, without the word that says what kind they are."""
    return [value.rpartition(" ")[2] for name, value in headers.items() if is_secret_name(name)]


class HttpBooks:
    """The books of one tap. ``post`` sends a message of the tap's own; ``begin`` are the options of the tap."""

    def __init__(self, target: HttpTarget, post: Callable[..., None], begin: dict[str, Any]) -> None:
        self.post = post
        self.address = parse(target.url)
        self.limits = limits_in(begin)
        self.name = target.name or self.address.host
        self.by_id: dict[str, HttpSession] = {}
        self._by_endpoint: dict[bytes, HttpSession] = {}
        self._sessions: list[HttpSession] = []
        """The open ones, that of the last message at the end."""
        self._target = target
        self._begin = begin
        self._chosen = settings.load().settings
        self.may_be_reached = self._chosen.reachable
        """Whether its sessions have doors."""
        self._number = 0
        self._secrets: set[str] = set()
        self.dead = False
        self._queue: deque[tuple[Callable[..., None], tuple[Any, ...], int]] = deque()
        self._put_bytes = self._read_bytes = 0
        self._there = Event()
        self._lock = RLock()
        """Held by the thread that reads or decides."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = Thread(target=self._read, name="books", daemon=True)

    # -- the queue ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begins to read, for the running event loop."""
        self._loop = asyncio.get_running_loop()
        sys.setswitchinterval(BOOKS_SWITCH_SECONDS)
        self._thread.start()

    def put(self, call: Callable[..., None], at: float, *given: Any) -> None:
        """Queues what happened, without waiting for anything."""
        if self.dead:
            return
        size = len(given[0]) if given and isinstance(given[0], bytes) else 0
        record = getattr(call, "__self__", None)
        if size and self._put_bytes - self._read_bytes > QUEUE_BYTES and isinstance(record, Record):
            record.missed += size
            return
        self._put_bytes += size
        self._queue.append((call, (at, *given), size))
        self._there.set()

    def soon(self, call: Callable[[], None]) -> None:
        """Queues a part of the books' own work."""
        self._queue.append((call, (), 0))
        self._there.set()

    def _read(self) -> None:
        while not self.dead:
            self._there.wait()
            sleep(STAND_BACK_SECONDS)
            self._there.clear()
            while self._queue and not self.dead:
                self.guarded(self._next)

    def _next(self) -> None:
        if self._queue:
            call, given, size = self._queue.popleft()
            self._read_bytes += size
            call(*given)

    def catch_up(self, seconds: float = HOLD) -> None:
        """Reads everything that waits: what is decided now must know it."""
        until = monotonic() + seconds
        while self._queue and monotonic() < until:
            self._next()

    def on_loop(self, call: Callable[..., object], *given: Any) -> None:
        """Does something that is for the event loop."""
        if current_thread() is not self._thread:
            call(*given)
        elif self._loop is not None:
            self._loop.call_soon_threadsafe(call, *given)

    def guarded(self, call: Callable[[], object]) -> None:
        """Runs a part of the books. Whatever fails in it, the traffic goes on."""
        with self._lock:
            if self.dead:
                return
            try:
                call()
            except Exception as error:  # noqa: BLE001
                self.dead = True
                self._queue.clear()
                for each in self._sessions:
                    self.on_loop(each.close_door)
                what = f"{type(error).__name__} {error}".strip()[:200]
                warn(f"the books failed ({what}): nothing is recorded any more. The traffic goes on.")

    def learn(self, values: Iterable[str]) -> None:
        """Takes in secrets that are written nowhere."""
        with self._lock:
            self._secrets.update(values)
            for each in self._sessions:
                each.store.learn(self._secrets)

    def close(self) -> None:
        """Ends all sessions."""

        def end() -> None:
            self.catch_up()
            for each in self._sessions:
                each.close("the tap was ended", expected=True, at=monotonic())

        self.guarded(end)
        self.dead = True
        self._there.set()
        self._thread.join(HOLD)

    # -- sessions ----------------------------------------------------------------------------------------------

    def is_endpoint(self, target: bytes) -> bool:
        """Whether messages go there; what else passes, such as a sign-in, is not recorded."""
        path = self.address.url.raw_path.partition(b"?")[0].rstrip(b"/")
        return target.partition(b"?")[0].rstrip(b"/") == path or target in self._by_endpoint

    def session_of(self, record: Record, frame: Frame | Batch | None) -> HttpSession | None:
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
        if named and not modern:
            found = self.by_id.get(named)
            if found is None and frame is not None:
                found = self.by_id[named] = self.new_session(monotonic())
                found.id = named
            return self._used(found)
        if any(each.method == "initialize" for each in requests):
            client = party(as_object(requests[0].params).get("clientInfo"))
            return self._used(self._unsettled(client))

        def fits(each: HttpSession) -> bool:
            known = (
                each.ledger.negotiated.transport == "http"
                and not each.id
                and each.is_modern in (None, modern)
            )
            same = not client or each.observer.client in ("", client)
            return known and same and not (modern and any(_is_taken(each, request) for request in requests))

        own = None if record.connection is None else record.connection.session
        if own is not None and not own.over and fits(own):
            return self._used(own)
        found = [each for each in reversed(self._sessions) if not each.over and fits(each)]
        number = requests[0].id if requests else None
        return self._used(min(found, key=lambda each: _distance(each, number), default=None))

    def _used(self, session: HttpSession | None) -> HttpSession | None:
        if session is not None and not session.over:
            self._sessions.remove(session)
            self._sessions.append(session)
            return session
        return None

    def _unsettled(self, client: str) -> HttpSession | None:
        """Returns the session of a client that has asked for a revision so far, and was refused."""
        for each in reversed(self._sessions):
            asks = each.is_modern is None and not each.id and each.ledger.negotiated.transport == "http"
            if asks and not each.ledger.live and each.observer.client in ("", client):
                return each
        return None

    def new_session(self, at: float) -> HttpSession:
        """Returns a new session, with a journal of its own."""
        self._sessions = [each for each in self._sessions if not each.over]
        for each in self._sessions[: max(0, len(self._sessions) - SESSIONS + 1)]:
            each.close("nothing happened in it for long", expected=True, at=at)
        self._number += 1
        begin = dict(self._begin)
        if begin.get("record") and self._number > 1:
            path = Path(begin["record"])
            begin["record"] = str(path.with_name(f"{path.stem}-{self._number}{path.suffix}"))
        store = opened_store(self._target, self._chosen, begin, self.soon, at, warn)
        store.learn(self._secrets)
        session = HttpSession(self, store)
        self._sessions.append(session)
        return session

    def opened(self, record: Record, endpoint: bytes, at: float) -> HttpSession | None:
        """Returns the session of a stream over HTTP+SSE, which names where its messages go."""
        try:
            target = self.address.resolve(endpoint.decode("utf-8", "replace")).url.raw_path
        except TransportError:
            return None
        session = self._unsettled("") or self.new_session(at)
        if record.exchange is not None:
            session.becomes_sse(record.exchange, target)
        self._by_endpoint[target] = session
        return session
