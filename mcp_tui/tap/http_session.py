"""The books of one session of a client behind a tap over HTTP: a ledger, a journal, and a door of its own.

Ids belong to a session, so each has a ledger. What a limit or a person ends is ended in the turn of the event loop in which
that is decided: everything that came was read before.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from mcp_tui.live import doors
from mcp_tui.live.summary import named, summary
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import Cause, RequestId, Signal
from mcp_tui.protocol.ledger import CancelOutcome, Ledger
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.observing import Observer
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.revisions import NAMING_PARAMETERS, Negotiated
from mcp_tui.tap.kept_back import KeptBack

if TYPE_CHECKING:
    from mcp_tui.journal.store import Store
    from mcp_tui.tap.http import Exchange
    from mcp_tui.tap.http_books import HttpBooks

SPOKEN: Final = 4096
"""Characters of a reason at most."""

OF_ONE_MESSAGE: Final = (
    b"content-",
    b"mcp-method",
    b"mcp-name",
    b"mcp-param-",
    b"last-event-id",
    b"accept-encoding",
)
"""How headers begin that belong to one message."""


class HttpSession:
    """One session. ``books`` are those of the tap."""

    def __init__(self, books: HttpBooks, store: Store) -> None:
        self.books = books
        self.store = store
        self.ledger = Ledger(self, transport="http", observes=True)
        self.observer = Observer(self.ledger, books.limits)
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
        self._problems = 0
        self._due: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._visitors: dict[socket.socket, bytes] = {}
        self._waiting: dict[RequestId, list[socket.socket]] = {}
        """Who waits until the signal of a request has left."""
        self._door: doors.Door | None = None
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
        for problem in self.store.problems[self._problems :]:
            self.books.warn(f"{problem}. The traffic goes on.")
        self._problems = len(self.store.problems)
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
        self.books.on_loop(self._close_door)

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

        def starts() -> None:
            if cancels is not None:
                self.ledger.signal_leaving(cancels)

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
        revision = self.ledger.negotiated.revision
        if self.id and b"mcp-session-id" not in names:
            added[b"Mcp-Session-Id"] = self.id.encode("latin-1")
        if revision is not None and revision.version_header and b"mcp-protocol-version" not in names:
            added[b"MCP-Protocol-Version"] = revision.name.encode()
        if revision is not None and revision.method_headers:
            added[b"Mcp-Method"] = method.encode()
            name = as_object(message.get("params")).get(NAMING_PARAMETERS.get(method, ""))
            if isinstance(name, str):
                added[b"Mcp-Name"] = name.encode("latin-1", "replace")
        self.books.on_loop(
            self.books.post,
            record,
            raw,
            [*given, *added.items()],
            lambda: self.books.guarded(starts),
            lambda: self.books.guarded(flushed),
        )

    def _answer_client(self, row: Request, cause: Cause, reason: str) -> None:
        """Answers a client whose request the tap has ended, and keeps the server's own answer back."""
        told = self.observer.answer_for(row, cause, reason)
        if told is None:
            return
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
        with suppress(OSError):
            self._door = doors.Door(os.urandom(6).hex())
            asyncio.get_running_loop().add_reader(self._door.socket, self._let_in)

    def _close_door(self) -> None:
        if self._door is not None:
            asyncio.get_running_loop().remove_reader(self._door.socket)
            self._door.close()
            self._door = None

    def _let_in(self) -> None:
        visitor = None if self._door is None else self._door.accept()
        if visitor is not None:
            self._visitors[visitor] = b""
            asyncio.get_running_loop().add_reader(
                visitor, self.books.guarded, lambda: self._listen_to(visitor)
            )

    def _listen_to(self, visitor: socket.socket) -> None:
        try:
            piece = visitor.recv(doors.QUESTION_BYTES)
        except OSError:
            piece = b""
        self._visitors[visitor] += piece
        asked = doors.question(self._visitors[visitor])
        if asked is None and piece:
            return
        asyncio.get_running_loop().remove_reader(visitor)
        del self._visitors[visitor]
        self.books.catch_up()
        self._answer(visitor, asked or {})

    def _answer(self, visitor: socket.socket, asked: dict[str, Any]) -> None:
        text = str(asked.get("id"))
        row = named(self.ledger, text)
        if asked.get("ask") == "list":
            client, server = self.observer.client, self.books.name
            told = summary(self.ledger, self.store, monotonic(), kind="tap", client=client, server=server)
        elif asked.get("ask") != "cancel":
            told = {"refused": "this session does not know how to do that"}
        elif row is None:
            told = {"unknown": text}
        else:
            told = self._cancel(row, str(asked.get("reason") or "")[:SPOKEN], visitor)
        if told is not None:
            doors.answer(visitor, told)

    def _cancel(self, row: Request, reason: str, visitor: socket.socket) -> dict[str, Any] | None:
        """Cancels a request for a visitor; returns what is said at once, ``None`` if that waits for the signal."""
        if not row.open:
            return {"over": row.state.value}
        self._waiting.setdefault(row.id, []).append(visitor)
        outcome = self.ledger.cancel(row.id, Cause.USER, reason, at=monotonic())
        self.perform()
        if outcome in (CancelOutcome.REQUESTED, CancelOutcome.HELD):
            return None
        self._waiting.pop(row.id, None)
        if outcome is CancelOutcome.REFUSED:
            return {"refused": f"{row.method} cannot be cancelled"}
        done = outcome in (CancelOutcome.ALREADY_DONE, CancelOutcome.ALREADY_REQUESTED)
        return {"over": row.state.value} if done else {"signal": "none"}

    # -- the ledger's port -------------------------------------------------------------------------------------

    def event(self, event: ev.Event) -> None:
        """Keeps an event. A cancel that is not the client's own is told to it."""
        self.store.event(event)
        match event:
            case ev.CancelRequested(id=id_, cause=cause, reason=reason) if cause is not Cause.CLIENT:
                self._answer_client(self.ledger.row(id_), cause, reason)
            case ev.CancelSignalled(id=id_, signal=way):
                for visitor in self._waiting.pop(id_, ()):
                    doors.answer(visitor, {"signal": way.value})
            case _:
                pass

    def send(self, id: RequestId, method: str, message: dict[str, Json]) -> None:
        """Sends a request of the tap's own, whose answer is not for the client."""
        self.kept.add(id, None)
        self._post(message, method, id=id, cancels=None)

    def signal(self, id: RequestId, signal: Signal, message: dict[str, Json] | None) -> None:
        """Sends the cancel of a request that the tap ends."""
        if message is not None:
            params = {**as_object(message["params"]), "requestId": self.observer.on_wire(id)}
            self._post({**message, "params": params}, str(message["method"]), id=None, cancels=id)
            return
        self.release(id)
        self.ledger.signalled(id, signal, at=monotonic())

    def release(self, id: RequestId) -> None:
        """Closes the connection to the server that a request has for itself."""
        exchange = self.exchanges.get(id)
        if exchange is not None:
            self.books.on_loop(exchange.close)

    def nothing(self, *_: Any, **__: Any) -> None:
        """A client that is observed does this by itself, or not."""

    unqueue = recall = reply = prompt = prompt_over = gather = gather_over = relist = resolve = nothing
