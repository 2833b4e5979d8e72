"""The books of one session of a client behind a tap over HTTP: a ledger, a journal, and a door of its own.

Ids belong to a session, so each has a ledger. What a limit or a person ends is ended in the turn of the event loop in which
that is decided: everything that came was read before.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Final

from mcp_tui.client import connection
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.revisions import Negotiated
from mcp_tui.tap.account import Account, warn
from mcp_tui.tap.kept_back import KeptBack

if TYPE_CHECKING:
    from mcp_tui.journal.store import Store
    from mcp_tui.tap.http import Exchange
    from mcp_tui.tap.http_books import HttpBooks

OF_ONE_MESSAGE: Final = (
    b"content-",
    b"mcp-method",
    b"mcp-name",
    b"mcp-param-",
    b"last-event-id",
    b"accept-encoding",
)
"""How headers begin that belong to one message."""


class HttpSession(Account):
    """One session. ``books`` are those of the tap."""

    def __init__(self, books: HttpBooks, store: Store) -> None:
        super().__init__("http", store, books.name)
        self.books = books
        self.observer.limits = books.limits
        self.kept = KeptBack()
        self.exchanges: dict[RequestId, Exchange] = {}
        """The exchanges of open requests, by their last ids."""
        self.id = ""
        """The ``Mcp-Session-Id``."""
        self.stream: Exchange | None = None
        """The stream that belongs to no request."""
        self.target = b""
        """Where its messages go."""
        self.headers: list[tuple[bytes, bytes]] = []
        """The headers of its messages."""
        self.over = False
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        if books.may_be_reached:
            books.on_loop(self._open_door)

    @property
    def is_modern(self) -> bool | None:
        """Whether it speaks a revision without handshake; ``None`` before that is known."""
        revision = self.ledger.negotiated.revision
        return None if revision is None else revision.modern

    def perform(self) -> None:
        """Does what was decided, and waits for the next clock to run out."""
        self.ledger.perform()
        self.report(warn)
        due = None if self.over else self.ledger.deadlines.next()
        if due != self._due:
            self._due = due
            self.books.on_loop(self._set_timer)

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if (due := self._due) is not None:
            self._timer = asyncio.get_running_loop().call_at(due, self.books.guarded, self._ring)

    def _ring(self) -> None:
        self._due = None
        self.books.catch_up()
        self.ledger.tick(monotonic())
        self.perform()

    def close(self, detail: str, *, expected: bool, at: float) -> None:
        """Ends the session."""
        if self.over:
            return
        self.over = True
        self.ledger.closed(detail, at=at, expected=expected)
        self.perform()
        self.store.close()
        self.books.on_loop(self.close_door)

    def becomes_sse(self, stream: Exchange, target: bytes) -> None:
        """Notes that it is one over HTTP+SSE."""
        self.ledger.negotiated = Negotiated(transport="sse")
        self.stream, self.target = stream, target

    # -- messages of the tap's own -----------------------------------------------------------------------------

    def _post(
        self, message: dict[str, Json], method: str, *, id: RequestId | None, cancels: RequestId | None
    ) -> None:
        """POSTs a message with the headers that the client's have."""
        from mcp_tui.tap.http_books import Record

        record = Record(self.books, None, None, self.target, {})
        record.session, record.cancels = self, cancels
        record.wires = () if id is None else (id,)
        raw = messages.encode(message)

        def flushed() -> None:
            at = monotonic()
            seq = self.store.frame("out", raw, at=at, method=method, id=id, own=True)
            record.left = True
            if cancels is not None:
                self.ledger.signalled(cancels, Signal.NOTIFICATION, at=at, answered=True, seq=seq)
            elif id is not None:
                self.ledger.written(id, at=at, seq=seq)
            self.perform()

        given = [each for each in self.headers if not each[0].lower().startswith(OF_ONE_MESSAGE)]
        names = {name.lower() for name, _ in given}
        added = {b"Content-Type": b"application/json", b"Accept-Encoding": b"identity"}
        ours = connection.headers(self.ledger.negotiated.revision, message)
        if self.id:
            ours["Mcp-Session-Id"] = self.id
        for name, value in ours.items():
            if name.lower().encode() not in names:
                added[name.encode()] = value.encode("latin-1")
        self.books.on_loop(
            self.books.post,
            record,
            raw,
            [*given, *added.items()],
            lambda: self.books.guarded(flushed),
        )

    def answer_client(self, row: Request, told: dict[str, Json]) -> None:
        """Answers by the exchange that the client waits for, or by a stream that is open."""
        raw = messages.encode(told)
        self.store.frame("in", raw, at=monotonic(), id=messages.storable_id(told["id"]), own=True)
        if not (self.is_modern and self.ledger.negotiated.transport == "http"):
            self.kept.add(told["id"], self.observer.token_of(row))
        exchange = self.exchanges.get(row.wire_id)
        if exchange is not None and exchange.listens:
            others = [
                each for each in exchange.record.wires if each != row.wire_id and each in self.exchanges
            ]
            self.books.on_loop(lambda: exchange.answer(raw, last=not others))
        elif (stream := self.stream) is not None:
            self.books.on_loop(lambda: stream.answer(raw, last=False))

    # -- the door ----------------------------------------------------------------------------------------------

    def _open_door(self) -> None:
        if not (self.over or self.books.dead):
            self.open_door()

    def watch(self, link: socket.socket, call: Callable[[], None]) -> None:
        asyncio.get_running_loop().add_reader(link, self.books.guarded, call)

    def forget(self, link: socket.socket) -> None:
        asyncio.get_running_loop().remove_reader(link)

    def asked_to_cancel(self, id: RequestId, reason: str, visitor: socket.socket) -> None:
        """Cancels it at once: nothing passes meanwhile."""
        self.books.catch_up()
        self.cancel(id, reason, visitor, monotonic())
        self.perform()

    # -- the ledger's port -------------------------------------------------------------------------------------

    def send(self, id: RequestId, method: str, message: dict[str, Json]) -> None:
        """POSTs it."""
        self.kept.add(id, None)
        self._post(message, method, id=id, cancels=None)

    def notify(self, id: RequestId, message: dict[str, Json]) -> None:
        """POSTs it. The client was told already, so what the server answers from now on is late."""
        self.ledger.signal_leaving(id)
        self._post(message, str(message["method"]), id=None, cancels=id)

    def signal(self, id: RequestId, signal: Signal, message: dict[str, Json] | None) -> None:
        """Sends the cancel of a request that the tap ends: a notification, or the close of its stream."""
        super().signal(id, signal, message)
        if message is None:
            self.release(id)
            self.ledger.signalled(id, signal, at=monotonic())

    def release(self, id: RequestId) -> None:
        """Closes the connection to the server that a request has for itself."""
        exchange = self.exchanges.get(id)
        if exchange is not None:
            self.books.on_loop(exchange.close)
