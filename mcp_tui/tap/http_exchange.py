"""The exchanges of a tap over HTTP, as its recorder knows them: copies of what passed become frames of a session."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.framing import LINE_HEAD_BYTES, TAIL_BYTES, Oversized
from mcp_tui.protocol.messages import Batch, Frame, Json, MalformedFrame, RequestFrame, ResponseFrame
from mcp_tui.protocol.revisions import REVISIONS
from mcp_tui.tap import recorder_records
from mcp_tui.tap.event_pipe import EVENT_BYTES
from mcp_tui.tap.http_heads import OF_CLIENT, Headers, end_to_end, read_head
from mcp_tui.tap.http_session import Exchange, TappedSession, Waiting
from mcp_tui.tap.http_sessions import HttpSessions, requests_in, secrets_in
from mcp_tui.tap.observed_session import salvaged
from mcp_tui.transport.http_bodies import EVENT_STREAM_TYPE, JSON_TYPE, EventBlocks, fields_of
from mcp_tui.transport.http_errors import media_type, refusal
from mcp_tui.transport.network_errors import REFUSED

MEMORY_BYTES: Final = 64 * 1024
"""The maximum size of an incomplete body or event that is handed to a new recorder, in bytes."""

DECODED_BYTES: Final = 1 << 20
"""Bytes that are decompressed at once."""


class Reading(Enum):
    """What can be read of a response."""

    WHOLE = "all of it"
    TORN = "what comes next may be the rest of an event whose start was missed"
    UNREADABLE = "nothing: it is encoded in an unknown way, or bytes of it are missing"


class BodyCopy:
    """A copy of a body; only start and end, if it is too large."""

    def __init__(self) -> None:
        self._cap = EVENT_BYTES
        self._data = bytearray()
        self._size = 0
        self._tail = b""
        self.is_torn = False
        """Whether bytes of it are missing."""

    def append(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= self._cap:
            self._data += data
        else:
            self._tail = (self._tail + data)[-TAIL_BYTES:]
            del self._data[LINE_HEAD_BYTES:]

    @property
    def begun(self) -> bytes | None:
        """The received part; ``None`` if that is too large for a new recorder, or incomplete."""
        return None if self.is_torn or self._size > MEMORY_BYTES else bytes(self._data)

    def skip(self, size: int) -> None:
        """Counts missing bytes."""
        self._cap, self.is_torn = 0, True
        self._size += size
        del self._data[LINE_HEAD_BYTES:]

    def read(self) -> bytes | Oversized:
        """Returns the body, or its start and end."""
        if self._size <= self._cap:
            return bytes(self._data)
        return Oversized(head=bytes(self._data), size=self._size, tail=self._tail)


class Record(Exchange):
    """An exchange. If the tap began it, ``left`` is called with the time at which its message was sent."""

    def __init__(
        self,
        sessions: HttpSessions,
        number: int,
        *,
        method: str = "POST",
        target: bytes = b"",
        headers: Headers = (),
        connection: int | None = None,
        left: Callable[[float], None] | None = None,
    ) -> None:
        super().__init__(number, method, target, headers, connection)
        self._sessions = sessions
        self._given = headers
        self._left = left
        self._reading = Reading.WHOLE
        self._request = BodyCopy()
        self._response = BodyCopy()
        self._events: EventBlocks | None = None
        self._decoder: Any = None
        self._status = 0
        self._says_status = True
        self._answered: Mapping[str, str] = {}
        self._resumable = False
        self._encoded = BodyCopy()
        """The response before decompression, if it is compressed."""

    def take(self, kind: bytes, at: float, data: bytes) -> None:
        """Takes a record about this exchange."""
        match kind:
            case recorder_records.FROM_CLIENT:
                self._request.append(data)
            case recorder_records.REQUEST_END:
                self._asked(at)
            case recorder_records.RESPONSE:
                (status,), headers = read_head(data)
                self._began(int(status), headers)
            case recorder_records.FROM_SERVER:
                self._piece(at, data)
            case recorder_records.SENT if self._left is not None:
                self.waiting = Waiting.SENT
                self._left(at)
            case recorder_records.GAP:
                self._missed(at, *recorder_records.read_gap(data))
            case recorder_records.EXCHANGE_END:
                # A response such as 413 may arrive before the request is complete; no more of the request follows then.
                if self.session is None and self.connection is not None:
                    self._asked(at, whole=False)
                self._over(at, data.decode())
            case _:
                pass

    # -- the request -------------------------------------------------------------------------------------------

    def _asked(self, at: float, *, whole: bool = True) -> None:
        """Reads the request, which is complete, or was answered before it was."""
        raw, is_torn, self._request = self._request.read(), self._request.is_torn, BodyCopy()
        if not self._sessions.is_endpoint(self.target):
            return
        if self.method != "POST" or not raw:
            self.join(self._sessions.session_of(self, None))
            return
        frame = salvaged(raw) if isinstance(raw, Oversized) else messages.parse(raw)
        if not whole and isinstance(frame, MalformedFrame) and isinstance(raw, bytes):
            found = salvaged(Oversized(head=raw, size=len(raw)))
            frame = found if isinstance(found, RequestFrame) else frame
        session = self._sessions.session_of(self, frame) or self._sessions.new_session(at)
        self.join(session)
        if self.connection is not None:
            self._sessions.last[self.connection] = session
        session.headers, session.target = end_to_end(self._given, OF_CLIENT), self.target
        session.store.learn(secrets_in(self._given))
        seq = 0
        if isinstance(raw, Oversized):
            session.event(ev.Oversize(at=at, bytes=raw.size))
        else:
            seq = session.frame("out", raw, frame, at=at)
        self._speaks(session, frame)
        session.checkpoint.begin()
        if not (is_torn and isinstance(frame, messages.UNREADABLE)):
            session.observer.sent(frame, at=at, seq=seq)
        session.ledger.perform()
        session.checkpoint.taken(
            recorder_records.FROM_CLIENT, at, raw if isinstance(raw, bytes) else b"", frame, self.number
        )
        for each in requests_in(frame):
            row = session.ledger.named(each.id)
            if row is not None:
                self.wires += (row.wire_id,)
                session.exchanges[row.wire_id] = self
                # The client uses the id again, so the next answer with that id is not a late one.
                session.let_pass(each.id)

    def join(self, session: TappedSession | None) -> None:
        """Assigns the exchange to a session."""
        self.session = session
        if session is not None and session.withholds:
            self._sessions.loop.order({"session": session.number, "of": [self.number]})

    def _speaks(self, session: TappedSession, frame: Frame | Batch) -> None:
        """Takes the revision from the headers, if the tap has not recorded the handshake."""
        opens = any(each.method in ("initialize", "server/discover") for each in requests_in(frame))
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
            self._reading = Reading.UNREADABLE
        if media_type(headers) == EVENT_STREAM_TYPE:
            self._events = EventBlocks(EVENT_BYTES)
            if self.session is not None and self.method == "GET":
                self.session.opens(self)
        session, named = self.session, headers.get("mcp-session-id", "")
        if session is not None and named and not session.id and 200 <= status < 300:
            session.id = named
            session.store.learn([named])
            self._sessions.by_id[named] = session

    def _piece(self, at: float, data: bytes) -> None:
        """Notes a part of the response's body."""
        if self._reading is Reading.UNREADABLE or not self._sessions.is_endpoint(self.target):
            return
        while data:
            decoded = data
            data = b""
            if self._decoder is not None:
                self._encoded.append(decoded)
                try:
                    decoded = self._decoder.decompress(decoded, DECODED_BYTES)
                except zlib.error:
                    self._reading = Reading.UNREADABLE
                    return
                data = self._decoder.unconsumed_tail
            if self._events is None:
                self._response.append(decoded)
                continue
            for event in self._events.feed(decoded):
                self._event(at, event)

    def _missed(self, at: float, kind: bytes, size: int) -> None:
        """Notes bytes that the relay dropped. An answer may have been among them."""
        if kind == recorder_records.FROM_CLIENT:
            self._request.skip(size)
        elif self._events is None or self._decoder is not None:
            self._reading = Reading.UNREADABLE
        elif self._reading is not Reading.UNREADABLE:
            self._events, self._reading = EventBlocks(EVENT_BYTES), Reading.TORN
        session = self.session
        if session is None or session.over or kind == recorder_records.FROM_CLIENT:
            return
        session.event(
            ev.Note(
                at=at,
                text=f"{size:,} bytes from the server are not recorded: the tap was too far behind",
            )
        )
        if self._events is not None:
            # A stream that belongs to no request carries the answers to requests without a stream.
            live = [each.row.wire_id for each in session.ledger.live.values()]
            session.unseen(at, self.wires or [each for each in live if each not in session.exchanges])

    def _event(self, at: float, event: bytes | Oversized) -> None:
        if is_torn := self._reading is Reading.TORN:
            self._reading = Reading.WHOLE
        if isinstance(event, Oversized):
            self._message(at, event)
            return
        name, data, has_id = fields_of(event)
        self._resumable |= has_id
        if name == b"endpoint" and self.connection is not None:
            self.join(self._sessions.opened(self, data, at))
        elif data and not (is_torn and isinstance(messages.parse(data), messages.UNREADABLE)):
            self._message(at, data)

    def _message(self, at: float, raw: bytes | Oversized) -> None:
        session = self.session
        if session is None or session.over:
            return
        # C-43: the stream of a batch belongs to none of its requests alone.
        stream = self.wires[0] if len(self.wires) == 1 else None
        if isinstance(raw, Oversized):
            session.ledger.responses.too_large(raw, at=at, stream=stream)
        else:
            frame = messages.parse(raw)
            seq = session.frame("in", raw, frame, at=at, stream=stream)
            session.checkpoint.begin()
            if self.cancels is None:
                session.observer.received(frame, at=at, seq=seq, stream=stream)
            elif 200 <= self._status < 300:
                status, self._says_status = self._status if self._says_status else 0, False
                session.ledger.responses.to_cancel(self.cancels, frame, status=status, at=at, seq=seq)
            session.ledger.perform()
            session.checkpoint.taken(recorder_records.FROM_SERVER, at, raw, frame, self.number)
        session.ledger.perform()

    # -- a new recorder --------------------------------------------------------------------------------------

    def memory(self) -> dict[str, Json]:
        """Returns the state of an open exchange, for a new recorder."""
        latin = "latin-1"
        begun = self._encoded if self._decoder is not None else self._response
        coming = begun.begun
        if self._events is not None and self._decoder is None:
            coming = None if self._events.overflows else self._events.unfinished[:MEMORY_BYTES]
        asked = self._request.begun
        return {
            "method": self.method,
            "target": self.target.decode(latin),
            "headers": [[name.decode(latin), value.decode(latin)] for name, value in self._given],
            "connection": self.connection,
            "wires": list(self.wires),
            "cancels": self.cancels,
            "waiting": self.waiting.name,
            "body": None if asked is None else asked.decode(latin),
            "status": self._status,
            "answered": dict(self._answered),
            "resumable": self._resumable,
            "coming": None if coming is None or self._reading is Reading.UNREADABLE else coming.decode(latin),
        }

    def recall(self, memory: dict[str, Any], session: TappedSession | None) -> None:
        """Restores the state from the last recorder."""
        latin = "latin-1"
        self.session = session
        self.wires, self.cancels = tuple(memory["wires"]), memory["cancels"]
        self.waiting, self._resumable = Waiting[memory["waiting"]], memory["resumable"]
        if memory["body"] is None:
            self._request.skip(MEMORY_BYTES)
        else:
            self._request.append(memory["body"].encode(latin))
        if session is not None:
            session.exchanges.update(dict.fromkeys(self.wires, self))
        if memory["status"]:
            headers = [
                (name.encode(latin), value.encode(latin)) for name, value in memory["answered"].items()
            ]
            self._began(memory["status"], headers)
        if memory["coming"] is None:
            lost = self._events is None or self._decoder is not None or self._reading is Reading.UNREADABLE
            self._reading = Reading.UNREADABLE if lost else Reading.TORN
            return
        data = memory["coming"].encode(latin)
        if self._decoder is not None:
            self._encoded.append(data)
            data = self._decoder.decompress(data)
        if self._events is None:
            self._response.append(data)
        else:
            self._events.feed(data)  # The last recorder has read the complete events.

    # -- the end -----------------------------------------------------------------------------------------------

    def is_refused(self, why: str) -> bool:
        """Returns whether ``why`` says that the server refused a connection for a request of the client."""
        return self.connection is not None and not self._status and why.startswith(REFUSED)

    @property
    def is_guarded(self) -> bool:
        """Whether the guard of the tap waits for the answer when the client has left."""
        session = self.session
        rows = [] if session is None else [session.ledger.current(each) for each in self.wires]
        guards = [row.guard for row in rows if row is not None and row.guard is not None]
        return session is not None and not session.is_modern and any(each.how == "sent" for each in guards)

    def client_left(self, at: float) -> None:
        """Notes that the client closed its connection, which ends the exchange."""
        self.waiting = Waiting.CLIENT_LEFT
        self._over(at, "")

    @property
    def _client_left(self) -> bool:
        return self.waiting is Waiting.CLIENT_LEFT

    def _over(self, at: float, why: str) -> None:
        """Notes the end of the exchange; ``why`` is what broke it."""
        session, listened = self.session, self.waiting is Waiting.CLIENT
        if listened:
            self.waiting = Waiting.NOBODY
        if session is None or session.over:
            return
        if self._reading is Reading.UNREADABLE:
            session.event(
                ev.Note(
                    at=at, text="a message is not recorded: it was too much, or encoded in an unknown way"
                )
            )
            session.unseen(at, self.wires)
        raw = b"" if self._reading is Reading.UNREADABLE else self._response.read()
        said = raw if isinstance(raw, bytes) else b""
        answers = isinstance(messages.parse(said), (ResponseFrame, Batch)) if said else False
        # An incomplete message cannot be read. From 2026-07-28 on the tap itself closes the stream after its answer.
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
                ev.Note(at=at, text=refusal(self._status, self._answered, self._sessions.address, said))
            )
        session.ledger.perform()
        self._session_over(session, at)

    def _request_over(self, session: TappedSession, id_: RequestId, at: float, why: str, said: bytes) -> None:
        ledger = session.ledger
        if self._client_left:
            # C-35: the client may resume the stream with Last-Event-ID, and has not given up then.
            if not (self._resumable and session.is_modern is False):
                session.observer.left(id_, at=at)
        elif not self._status:
            ledger.refused(id_, why, at=at)
        elif not 200 <= self._status < 300:
            text = refusal(self._status, self._answered, self._sessions.address, said)
            ledger.refused(id_, text, at=at, status=self._status)
        elif ledger.negotiated.transport != "sse" and not (self._resumable and session.is_modern is False):
            ledger.stream_ended(id_, why, at=at)

    def _cancel_over(self, session: TappedSession, id_: RequestId, at: float, why: str) -> None:
        outcome: list[Json] = [self._status, self.waiting is Waiting.SENT, why]
        cancel_over(session, id_, at, outcome)
        session.ledger.perform()
        row = session.ledger.current(id_)
        if row is not None:
            session.checkpoint.add(
                row.id, recorder_records.CANCEL_OUTCOME, at, messages.encode([id_, *outcome])
            )

    def _session_over(self, session: TappedSession, at: float) -> None:
        """Closes the session if the end of this exchange ends it."""
        if self in session.streams:
            session.streams.remove(self)
            if session.ledger.negotiated.transport == "sse":
                who = "client" if self._client_left else "server"
                session.close(f"the {who} closed the event stream", expected=self._client_left, at=at)
        elif self._status == 404 and session.id:
            session.close("the server ended the session (HTTP 404)", expected=False, at=at)
        elif self.method == "DELETE" and 200 <= self._status < 300:
            session.close("the client ended the session", expected=True, at=at)


def cancel_over(session: TappedSession, id_: RequestId, at: float, outcome: Any) -> None:
    """Notes the outcome of the POST of a cancel: its status, whether it was sent, and the error."""
    status, has_left, why = outcome
    if 200 <= status < 300:
        session.ledger.signal_accepted(id_, at=at, session=bool(session.id))
    elif status:
        session.ledger.signal_failed(id_, f"HTTP {status}", at=at, refused=True)
    elif has_left:
        session.ledger.signal_unanswered(id_, why, at=at)
    else:
        session.ledger.signal_failed(id_, why, at=at)
