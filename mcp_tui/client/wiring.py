"""What connects a client to the world: items of the transport go into the ledger, and what it decides is carried out.

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
from mcp_tui.protocol.events import RequestId
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

    def receive(self, item: base.Item) -> None:  # noqa: C901 - one case an item
        """Take in an item of the transport; this is the callback that transports are opened with."""
        at = self.now()
        ledger = self.ledger
        match item:
            case base.Received():
                self._received(item, at)
            case base.TooLarge():
                ledger.too_large(item.head, item.size, at=at, tail=item.tail, stream=item.stream)
            case base.Writing():
                ledger.writing(item.id)
            case base.Written():
                seq = self.store.frame("out", item.raw, at=at, method=item.method, id=item.id)
                if item.id is not None:
                    ledger.written(item.id, at=at, seq=seq)
                elif ledger.transport == "stdio":
                    self._done(item.method)
            case base.Accepted():
                self._done(item.method)
            case base.SignalLeaving():
                ledger.signal_leaving(item.id)
            case base.Signalled():
                ledger.signalled(item.id, item.signal, at=at, seq=self._signal_frame(item.raw, at))
            case base.SignalFailed():
                self._signal_frame(item.raw, at)
                ledger.signal_failed(item.id, item.detail, at=at)
            case base.StreamEnded():
                if not item.resumable:
                    ledger.stream_ended(item.id, item.detail, at=at)
            case base.NotSent():
                self._not_sent(item, at)
            case base.StderrLine():
                self.stderr_tail.append(item.text)
                self._tell(ev.Stderr(at=at, line=item.text))
            case base.Happened():
                self.note(item.text)
            case base.Closed():
                self._closed(item)
        self._drain()

    def _received(self, item: base.Received, at: float) -> None:
        frame = messages.parse(item.raw)
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
        seq = self.store.frame("in", item.raw, at=at, stream=item.stream, method=method or "", id=identity)
        if item.stream is not None and item.status:
            self.http_status[item.stream] = item.status
        if item.unfinished and isinstance(frame, messages.MalformedFrame):
            # the start of a message says nothing about a request; that the connection is gone, which follows, does
            size = len(item.raw)
            self._tell(
                ev.Note(at=at, text=f"the server ended in the middle of a message, after {size} bytes of it")
            )
            return
        self.ledger.receive(frame, at=at, seq=seq, stream=item.stream)

    def _signal_frame(self, raw: bytes | None, at: float) -> int:
        return 0 if raw is None else self.store.frame("out", raw, at=at, method="notifications/cancelled")

    def _not_sent(self, item: base.NotSent, at: float) -> None:
        if item.id is None:
            self._tell(ev.Note(at=at, text=f"{item.method} was not delivered: {item.detail}"))
            self._done(item.method)
            return
        seq = self.store.frame("in", item.body, at=at, stream=item.id) if item.body else 0
        self.http_status[item.id] = item.status
        self.ledger.refused(item.id, item.detail, at=at, status=item.status, seq=seq)

    def _closed(self, item: base.Closed) -> None:
        if item.renewable and self.info is not None:
            self.renewal.begin(item.detail)
        self._ended, self.transport, self.info = self.transport, None, None
        self.lost(ending(item, self.book, self.now()))

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
