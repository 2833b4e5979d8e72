"""What connects a client to the world: what its transport tells goes into the ledger, and what that decides is carried out.

Everything that the ledger says is stored, told to listeners, and done, in its order, in one call and in the event loop's
thread.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from mcp_tui.client import connecting
from mcp_tui.client.endings import ending
from mcp_tui.client.headers import headers
from mcp_tui.client.interactions import Interactions
from mcp_tui.client.mirroring import Mirrors, param_headers
from mcp_tui.client.progress import Doing
from mcp_tui.client.reconnecting import Renewal
from mcp_tui.client.settings import ClientSettings, Target
from mcp_tui.journal.store import Store
from mcp_tui.protocol import effects as fx
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.ledger import Ledger
from mcp_tui.protocol.messages import Json, ResponseFrame
from mcp_tui.protocol.requests import Book, State
from mcp_tui.protocol.revisions import Revision
from mcp_tui.transport import base

Listener = Callable[[ev.Event], None]


class Wiring:
    """The inside of a client: transport, ledger, store, and the clock between them."""

    interactions: Interactions
    renewal: Renewal

    def __init__(
        self, target: Target, settings: ClientSettings, store: Store, now: Callable[[], float]
    ) -> None:
        self.target = target
        self.settings = settings
        self.store = store
        self.now = now
        self.ledger = Ledger(grace=self.settings.grace)
        self.transport: base.Transport | None = None
        self.info: connecting.ServerInfo | None = None
        self.disconnected = asyncio.Event()
        self.last_words = ""
        self.stderr_tail: deque[str] = deque(maxlen=20)
        self.steps: list[Doing] = []
        """What the last attempt to connect did, oldest first."""
        self.http_status: dict[RequestId, int] = {}
        self.speaking: Revision | None = None
        self.mirrors: dict[str, Mirrors] = {}
        self.task_support: dict[str, str] = {}
        self._listeners: list[Listener] = []
        self._waiting: dict[RequestId, asyncio.Future[ResponseFrame | None]] = {}
        self._resolved: set[RequestId] = set()
        self._draining = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: float | None = None
        self._delivered: dict[str, asyncio.Future[None]] = {}
        self._ended: base.Transport | None = None

    @property
    def book(self) -> Book:
        """All requests so far, as rows."""
        return self.ledger.book

    # -- what comes in ---------------------------------------------------------------------------------------

    # A client is the sink of its transport (:class:`mcp_tui.transport.base.Sink`).

    def received(
        self, *, raw: bytes, stream: RequestId | None = None, status: int = 0, unfinished: bool = False
    ) -> None:
        """Journal a message and have the ledger judge it."""
        at = self.now()
        frame = messages.parse(raw)
        method = (
            ""
            if isinstance(frame, (ResponseFrame, messages.PollutionFrame, messages.Batch))
            else frame.method
        )
        identity = (
            messages.kept(frame.id)
            if isinstance(frame, (ResponseFrame, messages.RequestFrame, messages.MalformedFrame))
            else None
        )
        seq = self.store.frame("in", raw, at=at, stream=stream, method=method or "", id=identity)
        if stream is not None and status:
            self.http_status[stream] = status
            frame = messages.as_answer(frame)
        if unfinished and isinstance(frame, messages.MalformedFrame):
            # the start of a message says nothing about a request; that the connection is gone, which follows, does
            self.note(f"the server ended in the middle of a message, after {len(raw)} bytes of it")
        else:
            self.ledger.receive(frame, at=at, seq=seq, stream=stream)
        self._drain()

    def too_large(
        self, *, head: bytes, size: int, stream: RequestId | None = None, tail: bytes = b""
    ) -> None:
        """Have the ledger judge what is known of a message that was dropped."""
        self.ledger.too_large(head, size, at=self.now(), tail=tail, stream=stream)
        self._drain()

    def writing(self, *, id: RequestId) -> None:
        """From here on a request cannot be taken back."""
        self.ledger.writing(id)
        self._drain()

    def written(self, *, raw: bytes, method: str, id: RequestId | None = None) -> None:
        """Journal what was sent; a request's clocks start."""
        at = self.now()
        seq = self.store.frame("out", raw, at=at, method=method, id=id)
        if id is not None:
            self.ledger.written(id, at=at, seq=seq)
        elif self.ledger.transport == "stdio":
            self._done(method)
        self._drain()

    def accepted(self, *, method: str) -> None:
        """A notification arrived."""
        self._done(method)

    def signal_leaving(self, *, id: RequestId) -> None:
        """From here on a cancel cannot be withdrawn."""
        self.ledger.signal_leaving(id)
        self._drain()

    def signalled(self, *, id: RequestId, signal: Signal, raw: bytes | None = None) -> None:
        """Journal a cancel that left."""
        at = self.now()
        self.ledger.signalled(id, signal, at=at, seq=self._signal_frame(raw, at))
        self._drain()

    def signal_failed(self, *, id: RequestId, detail: str, raw: bytes | None = None) -> None:
        """Journal a cancel that could not be delivered."""
        at = self.now()
        self._signal_frame(raw, at)
        self.ledger.signal_failed(id, detail, at=at)
        self._drain()

    def stream_ended(
        self, *, id: RequestId, status: int = 0, detail: str = "", resumable: bool = False
    ) -> None:
        """Nothing more comes on the stream of a request, unless it is resumed."""
        if not resumable:
            self.ledger.stream_ended(id, detail, at=self.now())
            self._drain()

    def not_sent(
        self, *, method: str, detail: str, id: RequestId | None = None, status: int = 0, body: bytes = b""
    ) -> None:
        """A message did not reach the server, or was refused; a request fails of it."""
        at = self.now()
        if id is None:
            self.note(f"{method} was not delivered: {detail}")
            self._done(method)
        else:
            seq = self.store.frame("in", body, at=at, stream=id) if body else 0
            self.http_status[id] = status
            self.ledger.refused(id, detail, at=at, status=status, seq=seq)
        self._drain()

    def stderr_line(self, *, text: str) -> None:
        """Log a line of the server's stderr."""
        self.stderr_tail.append(text)
        self._tell(ev.Stderr(at=self.now(), line=text))
        self._drain()

    def happened(self, *, text: str) -> None:
        """Log a fact about the connection."""
        self.note(text)
        self._drain()

    def closed(
        self, *, detail: str, code: int | None = None, expected: bool = False, renewable: bool = False
    ) -> None:
        """The connection is gone; where only its session is, a new one is opened."""
        if renewable and self.info is not None:
            self.renewal.begin(detail)
        self._ended, self.transport, self.info = self.transport, None, None
        self.lost(detail if expected or code is None else ending(detail, self.book, self.now()))

    def _signal_frame(self, raw: bytes | None, at: float) -> int:
        return 0 if raw is None else self.store.frame("out", raw, at=at, method="notifications/cancelled")

    def lost(self, detail: str) -> None:
        """There is no connection any more: what was in flight is lost with it, but not what waits for a new session."""
        at = self.now()
        if held := self.renewal.held:
            for row in self.book.order:
                if (row.open or row.state is State.CANCEL_REQUESTED) and row.wire_id not in held:
                    self.ledger.refused(row.wire_id, detail, at=at)
        else:
            self.ledger.closed(detail, at=at)
        self._drain()
        for method in tuple(self._delivered):
            self._done(method)
        self.last_words = detail
        self.disconnected.set()
        gone = ev.Disconnected(at=at, detail=detail)
        self.book.apply(gone)
        self._tell(gone)

    def _done(self, method: str) -> None:
        future = self._delivered.pop(method, None)
        if future is not None and not future.done():
            future.set_result(None)

    def note(self, text: str) -> None:
        """Put a line about the connection into the log."""
        self._tell(ev.Note(at=self.now(), text=text))

    def _drained(self, done: bool) -> bool:
        self._drain()
        return done

    def _drain(self) -> None:
        """Tell and carry out what the ledger decided, in order; effects may make it decide more."""
        if self._draining:
            return
        self._draining = True
        try:
            while items := self.ledger.take():
                for item in items:
                    if not isinstance(item, ev.Event):
                        self.carry_out(item)
                        continue
                    self._tell(item)
                    if isinstance(item, ev.Undelivered) and self.undelivered(item.id):
                        self._wake(item.id)
        finally:
            self._draining = False
        self._keep_time()

    def _tell(self, event: ev.Event) -> None:
        self.store.event(event)
        for listener in tuple(self._listeners):
            listener(event)

    def undelivered(self, id: RequestId) -> bool:
        """Whether the cancel of a request could not be delivered, by now: what may still come of it is not waited for."""
        row = self.book.get(id)
        return row is not None and row.state is State.CANCEL_REQUESTED and bool(row.undelivered)

    def _wake(self, id: RequestId, frame: ResponseFrame | None = None) -> None:
        """Let whoever waits for a request go on."""
        future = self._waiting.pop(id, None)
        if future is not None and not future.done():
            future.set_result(frame)

    def carry_out(self, effect: fx.Effect) -> None:
        """Do what the ledger decided."""
        transport = self.transport
        if isinstance(effect, fx.Resolve):
            self._resolved.add(effect.id)
            self._wake(effect.id, effect.frame)
            return
        self._ask(effect)
        if self.renewal.takes(effect) or transport is None:
            return
        match effect:
            case fx.Send():
                transport.send(self._outgoing(effect.message, effect.method, effect.id))
            case fx.SendSignal():
                message = effect.message
                notification = (
                    None if message is None else self._outgoing(message, "notifications/cancelled", None)
                )
                transport.signal(effect.id, effect.signal, notification)
            case fx.Unqueue():
                transport.unqueue(effect.id)
            case fx.Recall():
                transport.recall(effect.id)
            case fx.Release():
                transport.release(effect.id)
            case fx.Reply():
                transport.send(self._outgoing(effect.message, "response", None))
            case fx.Relist():
                base.spawn(self.relist(effect.id), name="list the tools again")
            case _:
                pass

    def _ask(self, effect: fx.Effect) -> None:
        """Have somebody answer, or be told that nobody needs to."""
        match effect:
            case fx.Prompt():
                self.interactions.prompt(effect)
            case fx.PromptOver():
                self.interactions.prompt_over(effect)
            case fx.Gather():
                self.interactions.gather(effect)
            case fx.GatherOver():
                self.interactions.gather_over(effect)
            case _:
                pass

    async def relist(self, id_: RequestId) -> None:
        """See :meth:`mcp_tui.client.client.Client.relist`."""
        raise NotImplementedError

    def _outgoing(self, message: dict[str, Json], method: str, id_: RequestId | None) -> base.Outgoing:
        made = self._headers(message, method) if self.ledger.transport == "http" else {}
        return base.Outgoing(raw=messages.encode(message), method=method, id=id_, headers=made)

    def _headers(self, message: dict[str, Json], method: str) -> dict[str, str]:
        made = headers(self.speaking, message)
        if method == "tools/call" and self.speaking is not None and self.speaking.method_headers:
            params = messages.as_object(message.get("params"))
            mirrors = self.mirrors.get(str(params.get("name")))
            if mirrors:
                made.update(param_headers(mirrors, params.get("arguments")))
        return made

    # -- time ------------------------------------------------------------------------------------------------

    def _keep_time(self) -> None:
        """Have :meth:`_tick` called when the ledger's next deadline falls due."""
        due = self.ledger.next_deadline()
        if due is None or (self._timer_at is not None and self._timer_at <= due):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = due
        self._timer = asyncio.get_running_loop().call_later(max(0.0, due - self.now()), self._tick)

    def _tick(self) -> None:
        self._timer = self._timer_at = None
        self.ledger.tick(self.now())
        self._drain()
        self._keep_time()
