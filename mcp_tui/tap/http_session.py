"""One session of a client behind a tap over HTTP, as the recorder observes it, with its own journal and control socket.

Ids belong to a session, so each has a ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from time import monotonic
from typing import Any, Final, Protocol

from mcp_tui.client import connection
from mcp_tui.config.settings import TapSettings
from mcp_tui.journal.store import Store
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.revisions import Negotiated
from mcp_tui.protocol.states import LISTEN
from mcp_tui.tap import recorder_records
from mcp_tui.tap.http_heads import Headers
from mcp_tui.tap.observed_session import ObservedSession
from mcp_tui.tap.recorder_loop import RecorderLoop
from mcp_tui.transport.unreachable import STOPPING

OF_ONE_MESSAGE: Final = (
    b"content-",
    b"mcp-method",
    b"mcp-name",
    b"mcp-param-",
    b"last-event-id",
    b"accept-encoding",
)
"""How headers begin that belong to one message."""


class Waiting(Enum):
    """Who waits for the response of an exchange."""

    CLIENT = "the client"
    CLIENT_LEFT = "no one: the client closed its connection"
    NOBODY = "no one: it is complete, or the tap answered in its place"
    UNSENT = "the tap, whose message has not left yet"
    SENT = "the tap, whose message has left"


class Exchange:
    """An exchange, as its session sees it; one that the tap began has no ``connection``."""

    def __init__(
        self, number: int, method: str, target: bytes, headers: Headers, connection: int | None
    ) -> None:
        self.number = number
        self.method = method
        self.target = target
        self.connection = connection
        self.headers = {name.lower().decode("latin-1"): value.decode("latin-1") for name, value in headers}
        self.session: TappedSession | None = None
        self.wires: tuple[RequestId, ...] = ()
        """The ids of its requests."""
        self.cancels: RequestId | None = None
        """The id of the request that the tap cancels by it."""
        self.waiting = Waiting.UNSENT if connection is None else Waiting.CLIENT


class Exchanges(Protocol):
    """The exchanges of the tap: :class:`~mcp_tui.tap.http_recorder.HttpRecorder`, which describes all of it."""

    def post(
        self, left: Callable[[float], None], session: int, target: bytes, headers: Headers, body: bytes
    ) -> Exchange: ...
    def open_in(self, session: TappedSession) -> Iterable[int]: ...


class TappedSession(ObservedSession):
    """One session of a tap; ``number`` identifies it."""

    def __init__(
        self,
        loop: RecorderLoop,
        exchanges: Exchanges,
        number: int,
        store: Store,
        began: float,
        socket_id: str,
        name: str,
        begin: recorder_records.Begin,
        policy: TapSettings,
    ) -> None:
        super().__init__(loop, "http", store, name, begin, policy)
        self._all = exchanges
        self.number = number
        self.began = began
        self.socket_id = socket_id
        """The id of its control socket."""
        self.withholds = False
        """Whether the relay was ever ordered to withhold an answer."""
        self.exchanges: dict[RequestId, Exchange] = {}
        """The exchanges of open requests, by their newest ids on the wire."""
        self.id = ""
        """The ``Mcp-Session-Id``."""
        self.streams: list[Exchange] = []
        """The open streams that belong to no request."""
        self._undelivered: list[tuple[Json, str]] = []
        """Messages for the next stream, because the client has none open."""
        self.target = b""
        """The target of the tap's messages."""
        self.headers: list[tuple[bytes, bytes]] = []
        """The headers of the client's newest message."""
        self.over = False

    @property
    def guard_session(self) -> str:
        """Its id, or its target over HTTP+SSE; nothing if it has none."""
        return self.target.decode("latin-1") if self.ledger.negotiated.transport == "sse" else self.id

    @property
    def is_modern(self) -> bool | None:
        """Whether it uses a revision without a handshake; ``None`` if that is not known yet."""
        revision = self.ledger.negotiated.revision
        return None if revision is None else revision.modern

    def close(self, detail: str, *, expected: bool, at: float) -> None:
        """Ends the session."""
        if self.over:
            return
        self.over = True
        self.ledger.closed(detail, at=at, expected=expected)
        self.ledger.perform()
        if self.withholds:
            self.loop.order({"session": self.number, "over": True})
        self.end()

    def becomes_sse(self, stream: Exchange, target: bytes) -> None:
        """Notes that the session uses HTTP+SSE."""
        self.ledger.negotiated = Negotiated(transport="sse")
        self.target = target
        self.opens(stream)

    def close_streams(self, at: float) -> bool:
        """Closes the streams that hold a server which is stopping, once nothing else is in flight; false if it is."""
        rows = [each.row for each in self.ledger.live.values()]
        if any(row.open and row.method != LISTEN for row in rows):
            return False
        listening = (self.exchanges.get(row.wire_id) for row in rows)
        held = [each for each in (*self.streams, *listening) if each is not None]
        if held:
            self.event(ev.Note(at=at, text=f"{STOPPING}; its stream is closed"))
            self.loop.warn(f"{STOPPING}. The stream is closed, so that the server can end.")
        for each in held:
            self.loop.order({"exchange": each.number, "close": True})
        return True

    def opens(self, stream: Exchange) -> None:
        """Notes an open stream that belongs to no request."""
        self.streams.append(stream)
        for about, each in self._undelivered:
            self.loop.report({"about": about, "exchange": stream.number, "tell": each, "last": False})
        self._undelivered.clear()

    # -- a new recorder --------------------------------------------------------------------------------------

    def memory(self) -> dict[str, Json]:
        """Returns the state of the session for a new recorder, without its open requests and exchanges."""
        latin = "latin-1"
        return {
            **super().memory(),
            "began": self.began,
            "door": self.socket_id,
            "id": self.id,
            "target": self.target.decode(latin),
            "headers": [[name.decode(latin), value.decode(latin)] for name, value in self.headers],
            "transport": self.ledger.negotiated.transport,
            "keeps_back": self.withholds,
            "untold": [[about, text] for about, text in self._undelivered],
        }

    def remember(self, memory: dict[str, Any]) -> None:
        """Restores the state from the last recorder."""
        self.ledger.negotiated = Negotiated(transport=memory["transport"])
        super().remember(memory)
        latin = "latin-1"
        self.id, self.target = memory["id"], memory["target"].encode(latin)
        self.headers = [(name.encode(latin), value.encode(latin)) for name, value in memory["headers"]]
        self.withholds = memory["keeps_back"]
        self._undelivered = [(about, text) for about, text in memory["untold"]]

    def recall(self, kind: bytes, at: float, data: bytes, number: int, stream: RequestId | None) -> None:
        """Reads a message of an open request again, which the last recorder has read."""
        frame = messages.parse(data)
        out, whole = kind in recorder_records.OF_CLIENT, kind in recorder_records.MESSAGES
        seq = self.frame("out" if out else "in", data, frame, at=at, stream=stream) if whole else 0
        self.checkpoint.begin()
        if out:
            self.observer.sent(frame, at=at, seq=seq)
        else:
            self.observer.received(frame, at=at, seq=seq, stream=stream)
        self.ledger.perform()
        self.checkpoint.taken(kind, at, data, frame, number)

    # -- what is withheld -------------------------------------------------------------------------------------

    def _withhold(self, id: Json, token: Json) -> recorder_records.Order:
        """Returns the order to withhold an answer in all exchanges of the session."""
        self.withholds = True
        of = [*self._all.open_in(self)]
        target = self.target.decode("latin-1") if self.ledger.negotiated.transport == "sse" else ""
        return {"session": self.number, "named": self.id or target, "of": of, "keep": id, "token": token}

    def let_pass(self, id: Json) -> None:
        """Lets the answer to a request pass again."""
        # While records of the last recorder are read, a later one may have withheld it again.
        if self.withholds and not self.loop.restoring:
            self.loop.order({"session": self.number, "pass": id})

    # -- messages of the tap's own -----------------------------------------------------------------------------

    def _post(
        self, message: dict[str, Json], method: str, *, id: RequestId | None, cancels: RequestId | None
    ) -> None:
        """Sends a message by POST, with the headers of the client's newest message."""
        raw = messages.encode(message)

        def left(at: float) -> None:
            self.has_left(raw, method, at, id=id, cancels=cancels)

        given = [each for each in self.headers if not each[0].lower().startswith(OF_ONE_MESSAGE)]
        names = {name.lower() for name, _ in given}
        added = {b"Content-Type": b"application/json", b"Accept-Encoding": b"identity"}
        ours = connection.headers(self.ledger.negotiated.revision, message)
        if self.id:
            ours["Mcp-Session-Id"] = self.id
        for name, value in ours.items():
            if name.lower().encode() not in names:
                added[name.encode()] = value.encode("latin-1")
        record = self._all.post(left, self.number, self.target, [*given, *added.items()], raw)
        record.session, record.cancels = self, cancels
        record.wires = () if id is None else (id,)

    def has_left(
        self, raw: bytes, method: str, at: float, *, id: RequestId | None, cancels: RequestId | None
    ) -> None:
        """Notes that a message that the tap made was sent."""
        seq = self.store.frame("out", raw, at=at, method=method, id=id, own=True)
        if cancels is not None:
            self.ledger.signalled(cancels, Signal.NOTIFICATION, at=at, answered=True, seq=seq)
        elif id is not None:
            self.ledger.written(id, at=at, seq=seq)

    def answer_client(self, row: Request, message: dict[str, Json]) -> None:
        """Answers in the exchange that the client waits for, else in an open stream, else in the next one."""
        raw = messages.encode(message)
        self.store.frame("in", raw, at=monotonic(), id=messages.storable_id(message["id"]), own=True)
        kept: recorder_records.Order = {}
        # In 2026-07-28 the stream of the request is closed, so nothing can come late.
        if not (self.is_modern and self.ledger.negotiated.transport == "http"):
            kept = self._withhold(message["id"], self.observer.token_of(row))
        exchange, last = self.exchanges.get(row.wire_id), False
        if exchange is not None and exchange.waiting is Waiting.CLIENT:
            last = not any(each != row.wire_id and each in self.exchanges for each in exchange.wires)
            exchange.waiting = Waiting.NOBODY if last else Waiting.CLIENT
        else:
            exchange = self.streams[-1] if self.streams else None
        about: list[Json] = [self.number, message["id"]]
        if exchange is None:
            self._undelivered.append((about, raw.decode()))
        number = 0 if exchange is None else exchange.number
        self.loop.report({**kept, "about": about, "exchange": number, "tell": raw.decode(), "last": last})

    # -- the ledger's port -------------------------------------------------------------------------------------

    def send(self, id: RequestId, method: str, message: dict[str, Json]) -> None:
        """Sends a request by POST."""
        self.loop.say(self._withhold(id, None))
        self._post(message, method, id=id, cancels=None)

    def notify(self, id: RequestId, message: dict[str, Json]) -> None:
        """Sends a notification by POST. The client has its answer already, so a later one of the server is late."""
        self.ledger.signal_leaving(id)
        self._post(message, str(message["method"]), id=None, cancels=id)

    def release(self, id: RequestId) -> None:
        """Closes the connection to the server on which a request was sent."""
        exchange = self.exchanges.get(id)
        if exchange is not None:
            self.loop.report({"exchange": exchange.number, "close": True})
