"""The client: wires a transport, a ledger and a store together, and keeps the ledger's time.

Items of the transport go into the ledger; what comes out of it is stored, told to listeners, and carried out. All of
it happens in the event loop's thread and in one call, so a cancel changes its row and is on its way before
:meth:`Client.cancel` returns.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from mcp_tui.client import connecting
from mcp_tui.client.headers import headers
from mcp_tui.client.mirroring import Mirrors, param_headers
from mcp_tui.client.reconnecting import Renewal
from mcp_tui.client.settings import ClientSettings, Target
from mcp_tui.journal.store import Store
from mcp_tui.protocol import effects as fx
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.effects import CancelOutcome
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.ledger import Ledger
from mcp_tui.protocol.messages import Json, ResponseFrame
from mcp_tui.protocol.requests import Book, Request, State
from mcp_tui.protocol.revisions import Cancellation, Revision, cancellation
from mcp_tui.transport import base

Listener = Callable[[ev.Event], None]

DEFAULT_REASON: Final = "User requested cancellation"
SHUTDOWN_REASON: Final = "client is shutting down"
SHUTDOWN_WAIT: Final = 2.0
"""Seconds that the cancels of a quit may take to leave before the connection is closed."""

BATCH: Final = 25
"""Requests that are cancelled in one turn of the loop: two or three milliseconds' worth."""

BREATH: Final = 0.002
"""Seconds between two batches, in which keys are heard and the screen is drawn."""


class Client:
    """One server, its requests, and everything that came of them.

    ``disconnected`` is set while there is no connection any more, and ``last_words`` says why the last one ended.
    ``speaking`` is the revision that requests claim by their headers: the negotiated one, or the probe's before that.
    ``mirrors`` are the header annotations of the tools that were listed.

    A client survives its connection: after a loss :meth:`connect` opens another one, with the same books and new ids.
    Where an HTTP server ended its session alone, ``renewal`` opens a new one by itself.
    ``store`` keeps what happens; ``now`` is a monotonic clock in seconds, the event loop's.
    """

    def __init__(
        self,
        target: Target,
        settings: ClientSettings | None = None,
        *,
        store: Store | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.target = target
        self.settings = settings or ClientSettings()
        self.store = store or Store()
        self.now = now
        self.ledger = Ledger(grace=self.settings.grace)
        self.transport: base.Transport | None = None
        self.info: connecting.ServerInfo | None = None
        self.disconnected = asyncio.Event()
        self.last_words = ""
        self.stderr_tail: deque[str] = deque(maxlen=20)
        self.http_status: dict[RequestId, int] = {}
        self.speaking: Revision | None = None
        self.mirrors: dict[str, Mirrors] = {}
        self._listeners: list[Listener] = []
        self._waiting: dict[RequestId, asyncio.Future[ResponseFrame | None]] = {}
        self._resolved: set[RequestId] = set()
        self._draining = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at: float | None = None
        self._delivered: dict[str, asyncio.Future[None]] = {}
        self._ended: base.Transport | None = None
        self.renewal = Renewal(self)

    # -- the connection --------------------------------------------------------------------------------------

    @property
    def book(self) -> Book:
        """All requests so far, as rows."""
        return self.ledger.book

    @property
    def connected(self) -> bool:
        """Whether the connection is ready for requests."""
        return self.info is not None

    @property
    def revision(self) -> Revision | None:
        """The negotiated revision, ``None`` before that."""
        return self.ledger.revision

    async def connect(self) -> connecting.ServerInfo:
        """Open the connection and settle on a revision, within ``connect_timeout``.

        Raises:
            Unauthorized: the server wants authorization.
            NoCommonRevision: no revision in common.
            TransportError: everything else that keeps a session from coming about, in one sentence.
        """
        await self.renewal.stop()
        return await connecting.connect(self)

    async def close(self) -> None:
        """Cancel what is in flight, wait for those cancels to leave (at most two seconds), and end the connection."""
        await self.cancel_all(Cause.SHUTDOWN, SHUTDOWN_REASON)
        await self.renewal.stop()
        await self.disconnect()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = self._timer_at = None
        self.store.flush()

    async def disconnect(self) -> None:
        """End the connection at once, and wait until nothing is left of it, or of one that ended by itself."""
        if self.transport is not None:
            await self.transport.close()
        if self._ended is not None:
            await self._ended.close()
            self._ended = None

    async def cancel_all(self, cause: Cause, reason: str, ids: Sequence[RequestId] | None = None) -> int:
        """Cancel everything in flight, or ``ids``, and wait, at most two seconds, until the signals have left.

        Many are cancelled in batches, so that they hold nothing up; what ends meanwhile is left alone. How many there were.
        """
        ids = [row.id for row in self.book.order if row.open] if ids is None else ids
        for number, id_ in enumerate(ids, 1):
            self.cancel(id_, cause, reason)
            if number % BATCH == 0:
                await asyncio.sleep(BREATH)
        pending = [
            row for row in self.book.order if row.state is State.CANCEL_REQUESTED and row.signal is None
        ]
        until = self.now() + SHUTDOWN_WAIT
        while any(
            row.signal is None and not row.undelivered and row.state is State.CANCEL_REQUESTED
            for row in pending
        ):
            if self.now() >= until:
                break
            await asyncio.sleep(0.01)
        return len(ids)

    # -- requests --------------------------------------------------------------------------------------------

    def call(
        self, method: str, params: Json = None, *, limits: ev.Limits | None = None, own: bool = False
    ) -> RequestId:
        """Send a request; returns its id at once. ``own`` marks requests that the client makes for itself."""
        at = self.now()
        id_ = self.ledger.call(method, params, limits=limits or self.settings.limits, own=own, at=at)
        if self.transport is None and not self.renewal.active:
            self.ledger.refused(id_, "not connected", at=at)
        self._drain()
        return id_

    def call_tool(
        self, name: str, arguments: dict[str, Json], *, limits: ev.Limits | None = None
    ) -> RequestId:
        """Call a tool: ``tools/call`` with its name and arguments."""
        return self.call("tools/call", {"name": name, "arguments": arguments}, limits=limits)

    def cancel(self, id: RequestId, cause: Cause = Cause.USER, reason: str = DEFAULT_REASON) -> CancelOutcome:
        """Cancel a request: its row changes now, the signal leaves ahead of everything queued."""
        outcome = self.ledger.cancel(id, cause, reason, at=self.now())
        self._drain()
        return outcome

    def cancellation(self, row: Request) -> Cancellation:
        """How a cancel of this request would leave, and what would become of a reason."""
        return cancellation(self.ledger.revision, self.ledger.transport, row.method)

    def extend(self, id: RequestId, seconds: float | None) -> bool:
        """Give a request ``seconds`` more before its nearest limit, or lift its limits with ``None``."""
        extended = self.ledger.extend(id, seconds, at=self.now())
        self._drain()
        return extended

    async def wait(self, id: RequestId) -> ResponseFrame | None:
        """Wait until a request's outcome stands. The response if it counts: a late one is evidence, and never returned."""
        row = self.book.get(id)
        if row is None:
            raise KeyError(id)
        future = self._waiting.get(id)
        if future is None:
            if id in self._resolved:
                return self._stored_response(row)
            future = self._waiting[id] = asyncio.get_running_loop().create_future()
        return await asyncio.shield(future)

    async def request(
        self, method: str, params: Json = None, *, limits: ev.Limits | None = None, own: bool = False
    ) -> ResponseFrame | None:
        """Send a request and wait for its response; ``None`` where none came in time."""
        return await self.wait(self.call(method, params, limits=limits, own=own))

    def _stored_response(self, row: Request) -> ResponseFrame | None:
        raw = self.store.payload(row.response_seq) if row.response_seq else None
        frame = None if raw is None else messages.parse(raw)
        if isinstance(frame, messages.Batch):
            answers = (each for each in frame.frames if isinstance(each, ResponseFrame))
            return next((each for each in answers if each.id == row.id), None)
        return frame if isinstance(frame, ResponseFrame) else None

    def notify(self, method: str, params: Json = None) -> None:
        """Send a notification."""
        message = messages.notification(method, params)
        if self.transport is not None:
            self.transport.send(self._outgoing(message, method, None))
        self._drain()

    async def delivered(self, method: str, params: Json = None) -> None:
        """Send a notification and wait until it was written, or over HTTP taken or refused."""
        future = self._delivered[method] = asyncio.get_running_loop().create_future()
        self.notify(method, params)
        await future

    def _done(self, method: str) -> None:
        future = self._delivered.pop(method, None)
        if future is not None and not future.done():
            future.set_result(None)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Be told every event as it happens; the result ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def note(self, text: str) -> None:
        """Put a line about the connection into the log."""
        self._tell(ev.Note(at=self.now(), text=text))

    def tell(self, event: ev.Event) -> None:
        """Put an event of the connection into the store and tell it to the listeners."""
        self._tell(event)

    # -- wiring ----------------------------------------------------------------------------------------------

    def receive(self, item: base.Item) -> None:  # noqa: C901 - one case an item
        """Take in an item of the transport; this is the callback that transports are opened with."""
        at = self.now()
        ledger = self.ledger
        match item:
            case base.Received():
                self._received(item, at)
            case base.TooLarge():
                ledger.too_large(item.head, item.size, at=at, stream=item.stream)
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
            frame.id
            if isinstance(frame, (ResponseFrame, messages.RequestFrame, messages.MalformedFrame))
            else None
        )
        seq = self.store.frame("in", item.raw, at=at, stream=item.stream, method=method or "", id=identity)
        if item.stream is not None and item.status:
            self.http_status[item.stream] = item.status
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
        self.lost(item.detail)

    def lost(self, detail: str) -> None:
        """There is no connection any more: what was in flight is lost with it, but not what waits for a new session."""
        at = self.now()
        if held := self.renewal.held:
            for row in self.book.order:
                if (row.open or row.state is State.CANCEL_REQUESTED) and row.id not in held:
                    self.ledger.refused(row.id, detail, at=at)
        else:
            self.ledger.closed(detail, at=at)
        self._drain()
        for method in tuple(self._delivered):
            self._done(method)
        self.last_words = detail
        self.disconnected.set()
        self._tell(ev.Disconnected(at=at, detail=detail))

    def _drain(self) -> None:
        """Tell and carry out what the ledger decided, in order; effects may make it decide more."""
        if self._draining:
            return
        self._draining = True
        try:
            while items := self.ledger.take():
                for item in items:
                    if isinstance(item, ev.Event):
                        self._tell(item)
                    else:
                        self.carry_out(item)
        finally:
            self._draining = False
        self._keep_time()

    def _tell(self, event: ev.Event) -> None:
        self.store.event(event)
        for listener in tuple(self._listeners):
            listener(event)

    def carry_out(self, effect: fx.Effect) -> None:
        """Do what the ledger decided."""
        transport = self.transport
        if isinstance(effect, fx.Resolve):
            self._resolved.add(effect.id)
            future = self._waiting.pop(effect.id, None)
            if future is not None and not future.done():
                future.set_result(effect.frame)
            return
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
