"""The client: connects a transport, a ledger, and a store, and keeps the ledger's time.

Reports of the transport go to the ledger. Its events are stored and passed to listeners, and its actions are carried
out. All of that happens in one call in the thread of the event loop. So a cancel has changed its row and is being
sent before :meth:`Client.cancel` returns.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from mcp_tui.client import catalogue
from mcp_tui.client.client_port import Listener, notify
from mcp_tui.client.client_settings import ClientSettings, Target
from mcp_tui.client.connecting import Renewal, connect
from mcp_tui.client.connection import Connection, Mirrors, ServerInfo, with_trace
from mcp_tui.client.deferred_requests import DeferredRequests
from mcp_tui.client.interactions import Interactions, Respond
from mcp_tui.client.negotiation import LOG_LEVEL
from mcp_tui.client.roots import sharing
from mcp_tui.client.stderr_lines import StderrLines
from mcp_tui.client.subscriptions import Subscriptions
from mcp_tui.journal.store import Store
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.errors import CallCancelled, CallEnded, CallFailed, CallLost, CallTimedOut
from mcp_tui.protocol.events import Cause, RequestId, Signal
from mcp_tui.protocol.framing import Oversized
from mcp_tui.protocol.ledger import CancelOutcome, Ledger
from mcp_tui.protocol.messages import Json, ResponseFrame
from mcp_tui.protocol.requests import TERMINAL, Request, State
from mcp_tui.protocol.revisions import Cancellation, Revision, cancellation
from mcp_tui.protocol.units import unpainted
from mcp_tui.transport import base
from mcp_tui.transport.suspension import Alarm

if TYPE_CHECKING:
    from mcp_tui.client.auth.authorization import Authorization

DEFAULT_REASON: Final = "User requested cancellation"
SHUTDOWN_REASON: Final = "client is shutting down"
SHUTDOWN_SECONDS: Final = 2.0
"""Seconds that the cancels of a quit have to be sent before the connection closes."""

CLOCK_LOOK_SECONDS: Final = 0.1
"""Seconds between two checks of the clock while a request is open, which notice and measure a suspension."""
SUSPENSION_SECONDS: Final = 0.5
"""The minimum number of seconds of a reported suspension in which a limit passed."""
LONG_SUSPENSION_SECONDS: Final = 2.0
"""The minimum number of seconds of any reported suspension."""
BEHIND_SECONDS: Final = 10.0
"""Seconds for which a limit waits until earlier input is handled."""
BEHIND_LOOK_SECONDS: Final = 0.01
"""Seconds between two checks for that."""

SOON_SECONDS: Final = 0.1
""":meth:`Client.handle_what_is_due` waits for a deadline within this number of seconds."""

GIVEN_UP: Final = "the task that waited for it was cancelled"
"""The reason of a cancel that follows the cancel of an asyncio task."""

CANCEL_BATCH: Final = 25
"""The number of requests that are cancelled in one turn of the loop, in two or three milliseconds."""

BATCH_PAUSE_SECONDS: Final = 0.002
"""Seconds between two batches, for keys and the drawing of the screen."""


class Client:
    """One server, its requests, and all their results.

    ``disconnected`` is set while there is no connection, and ``last_words`` says why the last one ended. ``mirrors``
    are the header annotations of the listed tools, ``task_support`` their ``taskSupport``. ``tokens`` authorizes
    requests to a server behind a URL; without it a refusal is final. ``respond`` answers the server's questions to a
    person; ``settings.offers`` declares which. ``store`` stores the events; ``now`` is a monotonic clock in seconds,
    that of the loop.

    A client outlives its connection: after a loss, :meth:`connect` opens another one, with the same rows and new ids.
    If an HTTP server ended only its session, ``renewal`` opens a new one.
    """

    def __init__(
        self,
        target: Target,
        settings: ClientSettings | None = None,
        *,
        store: Store | None = None,
        respond: Respond | None = None,
        tokens: Authorization | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.target = target
        self.settings = settings or ClientSettings()
        self.tokens = tokens
        self.store = store or Store()
        self.now = now
        self.ledger = Ledger(self, grace=self.settings.grace)
        self.requests = self.ledger.requests
        """The rows of all requests so far."""
        self.connection: Connection | None = None
        self.disconnected = asyncio.Event()
        self.closing = False
        """Whether the last attempt to connect was ended by :meth:`close`."""
        self.last_words = ""
        self.stderr = StderrLines()
        self.steps: list[ev.Note] = []
        """The steps of the last attempt to connect, oldest first."""
        self.refusals: dict[RequestId, base.RefusedResponse] = {}
        """The HTTP refusals while connecting, and of unauthorized requests, by the id of the row and without bodies."""
        self.mirrors: dict[str, Mirrors] = {}
        self.task_support: dict[str, str] = {}
        self._listeners: tuple[Listener, ...] = ()
        self._waiting: dict[RequestId, list[asyncio.Future[ResponseFrame | None]]] = {}
        self._resolved: set[RequestId] = set()  # requests whose signal is being sent, until they are over
        self._torn = False  # the last bytes were an incomplete message
        self._ended: Connection | None = None
        self._alarm: Alarm | None = None
        self._lag_reported = False
        self._newest_at = -math.inf
        """The time of the newest event or sent message."""
        self._alarm_at = math.inf
        self.interactions = Interactions(self, respond or sharing(self.settings.roots))
        # The part of the ledger's port about questions.
        self.prompt, self.prompt_over = self.interactions.prompt, self.interactions.prompt_over
        self.gather, self.gather_over = self.interactions.gather, self.interactions.gather_over
        self.renewal = Renewal(self)
        self.deferred = DeferredRequests(self)
        self.subscriptions = Subscriptions(self)

    @property
    def transport(self) -> base.Transport | None:
        """The transport of the current connection, or of the one that is being opened."""
        return None if self.connection is None else self.connection.transport

    @property
    def info(self) -> ServerInfo | None:
        """The server; ``None`` before the connection is ready for requests."""
        return None if self.connection is None else self.connection.info

    # -- the connection --------------------------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        """Whether the connection is ready for requests."""
        return self.info is not None

    @property
    def revision(self) -> Revision | None:
        """The negotiated revision; ``None`` before that."""
        return self.ledger.negotiated.revision

    async def connect(self) -> ServerInfo:
        """Opens the connection and negotiates a revision, within ``connect_timeout``.

        Raises:
            Unauthorized: the server requires authorization.
            NoCommonRevision: no revision in common.
            TransportError: any other reason why there is no session, in one sentence.
        """
        await self.renewal.stop()
        self.deferred.stop()
        connection = await connect(self)
        assert connection.info is not None  # the connection is ready
        return connection.info

    async def close(self) -> None:
        """Cancels all requests, waits at most two seconds until those cancels are sent, and ends the connection.

        A :meth:`connect` of another task fails.
        """
        self.deferred.stop()
        if (limit := self.deferred.limit) is not None and not self.renewal.active:
            # First: the end of the server would look like a refused probe, after which it is started again.
            self.closing = True
            limit.reschedule(asyncio.get_running_loop().time())
            while self.deferred.limit is limit:  # noqa: ASYNC110 - in the next turn of the loop
                await asyncio.sleep(0)
        # C-44. Before the renewal stops: a request that waits for a new session was never sent, so it is cancelled,
        # not lost.
        await self.cancel_all(Cause.SHUTDOWN, SHUTDOWN_REASON)
        await self.renewal.stop()
        await self.disconnect()
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm, self._alarm_at = None, math.inf
        self.store.flush()

    async def terminate(self) -> None:
        """Ends the connection without waiting for the server: a process gets SIGTERM, and SIGKILL half a second later."""
        if self.transport is not None:
            await self.transport.terminate()

    async def disconnect(self) -> None:
        """Ends the connection at once, and waits until it has ended, also if it ended without this client."""
        # First: messages that our closing makes a server send are not evidence about a cancel; messages read before
        # are.
        await self.handle_what_was_read()
        self.stop_watching(self.now())
        if self.transport is not None:
            await self.transport.close()
        if self._ended is not None:
            await self._ended.transport.close()
            self._ended = None

    def stop_watching(self, at: float) -> None:
        """Stops watching all cancelled requests: from now on their messages are not evidence."""
        if self.transport is not None:
            for each in self.transport.unfinished():
                size = len(each.begun)
                self.ledger.responses.unfinished(each.begun, size, at=each.read_at, stream=each.stream)
        self.ledger.receiving_ended("", at=at, expected=True)
        self.drain()

    async def cancel_all(self, cause: Cause, reason: str, ids: Sequence[RequestId] | None = None) -> int:
        """Cancels all requests in flight, or ``ids``, and waits at most two seconds until the signals are sent.

        Many requests are cancelled in batches, so that they block nothing; those that end meanwhile are skipped.
        Returns the number of cancelled requests.
        """
        ids = [row.id for row in self.requests.unfinished.values() if row.open] if ids is None else ids
        for number, id_ in enumerate(ids, 1):
            self.cancel(id_, cause, reason)
            if number % CANCEL_BATCH == 0:
                await asyncio.sleep(BATCH_PAUSE_SECONDS)
        pending = list(filter(is_leaving, self.requests.unfinished.values()))
        until = self.now() + SHUTDOWN_SECONDS
        while self.now() < until and any(map(is_leaving, pending)):  # noqa: ASYNC110 - many may leave at once
            await asyncio.sleep(0.01)
        return len(ids)

    # -- requests --------------------------------------------------------------------------------------------

    def call(
        self, method: str, params: Json = None, *, limits: ev.Limits | None = None, internal: bool = False
    ) -> RequestId:
        """Sends a request; returns its id at once. ``internal`` marks a request that the client makes for itself.

        A tool that must be called as a task is called so (tasks, 2025-11-25).
        """
        at = self.now()
        if method == "tools/call" and self.task_support:
            params = self._as_task(params)
        if self.settings.trace:
            params = with_trace(params)
        id_ = self.ledger.call(
            method, params, limits=limits or self.settings.limits, internal=internal, at=at
        )
        if self.connection is None and not self.renewal.active:
            self.ledger.refused(id_, "not connected", at=at)
        self.drain()
        return id_

    async def begin(
        self, method: str, params: Json = None, *, limits: ev.Limits | None = None, internal: bool = False
    ) -> Request:
        """Sends a request as :meth:`call` does; returns its row."""
        return self.ledger.row(self.call(method, params, limits=limits, internal=internal))

    def call_tool(
        self, name: str, arguments: dict[str, Json], *, limits: ev.Limits | None = None, task: bool = False
    ) -> RequestId:
        """Calls a tool: ``tools/call`` with its name and arguments.

        ``task`` requests a task if the tool supports that (2025-11-25).
        """
        params: dict[str, Json] = {"name": name, "arguments": arguments}
        if task and self.may_be_task(name):
            params["task"] = {}
        return self.call("tools/call", params, limits=limits)

    def _as_task(self, params: Json) -> Json:
        given = messages.as_object(params)
        name = given.get("name")
        must = isinstance(name, str) and self.task_support.get(name) == "required" and self.may_be_task(name)
        return {"task": {}, **given} if must else params

    def may_be_task(self, name: str) -> bool:
        """Whether a tool may be called as a task (tasks, 2025-11-25, "Tool-Level Negotiation")."""
        if self.info is None or not self.info.revision.core_tasks:
            return False
        requests = messages.as_object(messages.as_object(self.info.capabilities.get("tasks")).get("requests"))
        offered = "call" in messages.as_object(requests.get("tools"))
        return offered and self.task_support.get(name) in ("required", "optional")

    async def every(self, what: str) -> list[dict[str, Json]]:
        """Returns all entries of a list, every page: ``tools``, ``resources``, ``templates``, or ``prompts``.

        Raises:
            ListFailed: a page failed, timed out, was cancelled or lost.
        """
        return await catalogue.every(self, what)

    def cancel(
        self, id: RequestId, cause: Cause = Cause.USER, reason: str = DEFAULT_REASON, *, leave: bool = False
    ) -> CancelOutcome:
        """Cancels a request: its row changes now, and the signal is sent before everything queued.

        A person cannot cancel a request that has no signal; with ``leave`` the client stops waiting for it instead.
        """
        outcome = self.ledger.cancel(id, cause, reason, at=self.now(), leave=leave)
        self.drain()
        return outcome

    def resume_task(self, task_id: str) -> RequestId:
        """Resumes a task of an earlier session: the server's answer makes its row a task again."""
        return self.call("tasks/get", {"taskId": task_id})

    def set_log_level(self, level: str) -> RequestId | None:
        """Sets the minimum level of the server's log, by a request or by the ``_meta`` of each later request
        (2026-07-28).

        Returns the id of that request, ``None`` if there is none.
        """
        self.settings = replace(self.settings, log_level=level)
        agreed = self.ledger.negotiated
        if agreed.modern:
            meta = {key: value for key, value in agreed.meta.items() if key != LOG_LEVEL}
            self.ledger.negotiated = replace(agreed, meta={**meta, LOG_LEVEL: level} if level else meta)
            return None
        return self.call("logging/setLevel", {"level": level}) if level else None

    def cancellation(self, row: Request) -> Cancellation:
        """Returns the signal that would cancel this request, and whether a reason would reach the server."""
        agreed = self.ledger.negotiated
        task = row.as_task or bool(row.task_id)
        possible = agreed.cancels_tasks or (bool(row.task_id) and not row.task_core)
        between = row.state is State.AWAITING_INPUT
        return cancellation(
            agreed.revision, agreed.transport, row.method, task=task, possible=possible, between=between
        )

    def stop_waiting(self, id: RequestId) -> bool:
        """Stops watching a task and lets it run: that is not a cancel."""
        stopped = self.ledger.tasks.stop_waiting(id, at=self.now())
        self.drain()
        return stopped

    def extend(self, id: RequestId, seconds: float | None) -> bool:
        """Extends the nearest limit of a request by ``seconds``; ``None`` removes its limits."""
        extended = self.ledger.clocks.extend(id, seconds, at=self.now())
        self.drain()
        return extended

    async def wait(self, id: RequestId) -> ResponseFrame | None:
        """Waits until the outcome of a request is final, or its cancel cannot be delivered.

        Returns the response if it counts; a late one is evidence and is never returned. ``None`` means a cancel, a
        timeout, or a loss, which :meth:`result` tells apart. The result of a large response is parsed at each access.

        If the task of its last caller is cancelled, for example by :func:`asyncio.timeout`, the request is cancelled
        too, unless it is internal.
        """
        row = self.requests.get(id)
        if row is None:
            raise KeyError(id)
        if row.state in TERMINAL or id in self._resolved or is_undelivered(row):
            return await _stored_response(self.store, row) or _lost(row)
        # Each caller has its own future, so that cancelling one does not affect the others.
        waiting: asyncio.Future[ResponseFrame | None] = asyncio.get_running_loop().create_future()
        callers = self._waiting.setdefault(id, [])
        callers.append(waiting)
        try:
            return await waiting or _lost(row)
        except asyncio.CancelledError:
            callers.remove(waiting)
            if not callers and row.open and not row.internal:
                self.cancel(id, Cause.PARENT, GIVEN_UP, leave=True)
            raise

    async def result(self, id: RequestId) -> dict[str, Json]:
        """Waits as :meth:`wait` does, and returns the result.

        Raises:
            CallFailed: the server answered with an error, or with an invalid answer.
            CallLost: the connection ended.
            CallTimedOut: a limit passed.
            CallCancelled: the request was cancelled in another way.
        """
        frame = await self.wait(id)
        if frame is not None and frame.error is None:
            return messages.as_object(frame.result)
        raise _ended(self.ledger.row(id))

    async def request(
        self, method: str, params: Json = None, *, limits: ev.Limits | None = None, internal: bool = False
    ) -> ResponseFrame | None:
        """Sends a request and waits for its response; returns ``None`` if none arrived in time."""
        return await self.wait(self.call(method, params, limits=limits, internal=internal))

    def notify(self, method: str, params: Json = None) -> None:
        """Sends a notification."""
        self._write(messages.notification(method, params), method, None)
        self.drain()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Calls ``listener`` with every event as it happens; returns a function that stops that."""
        self._listeners += (listener,)
        return lambda: self._forget(listener)

    def _forget(self, listener: Listener) -> None:
        left = [*self._listeners]
        left.remove(listener)
        self._listeners = tuple(left)

    def event(self, event: ev.Event) -> None:
        """Stores an event and passes it to listeners. If a cancel cannot be delivered, the wait for its request ends."""
        if event.at < self._newest_at:
            event = replace(event, at=self._newest_at)  # the times in a recording never decrease
        self._newest_at = event.at
        self.store.event(event)
        notify(self._listeners, event)
        if isinstance(event, (ev.Undelivered, ev.CancelDelayed)):
            row = self.requests.get(event.id)
            if row is not None and is_undelivered(row):
                self._wake(event.id)

    report = event
    """Emits an event that does not come from the ledger."""

    def _read_at(self, at: float | None) -> float:
        """Returns the time at which input was read, or now; never earlier than the newest event, as in recordings."""
        return self.now() if at is None else max(at, self._newest_at)

    # -- the transport's sink (mcp_tui.transport.base.Sink) ---------------------------------------------------

    def received(
        self,
        *,
        raw: bytes,
        stream: RequestId | None = None,
        status: int = 0,
        outline: bytes | None = None,
        at: float | None = None,
    ) -> None:
        """Journals a message and passes it to the ledger."""
        at = self._read_at(at)
        frame = messages.parse(raw, outline)
        # Journaled first: the events that the ledger makes from the message refer to its number.
        seq = self._journal(raw, frame, at, stream)
        if stream is not None and status:
            self._refused_with(stream, base.RefusedResponse(status))
            frame = messages.as_answer(frame)
        self.ledger.receive(frame, at=at, seq=seq, stream=stream)
        self.drain()

    def cut_off(self, *, raw: bytes, outline: bytes | None, at: float | None = None) -> None:
        """Journals the bytes of an incomplete message; if they are a whole message, it is received."""
        frame = messages.parse(raw, outline)
        if isinstance(frame, messages.MalformedFrame):
            # An incomplete message says nothing about a request; the end of the connection, which follows, does.
            at = self._read_at(at)
            self._journal(raw, frame, at)
            self.ledger.responses.unfinished(raw, len(raw), at=at)
            self._torn = True
        else:
            self.received(raw=raw, outline=outline, at=at)

    def _journal(
        self, raw: bytes, frame: messages.Frame | messages.Batch, at: float, stream: RequestId | None = None
    ) -> int:
        method, identity = getattr(frame, "method", None), messages.storable_id(getattr(frame, "id", None))
        return self.store.frame("in", raw, at=at, stream=stream, method=method or "", id=identity)

    def too_large(
        self, message: Oversized, *, stream: RequestId | None = None, at: float | None = None
    ) -> None:
        """Passes the start and the end of a dropped message to the ledger."""
        at = self._read_at(at)
        self.ledger.responses.too_large(message, at=at, stream=stream)
        self.drain()

    def writing(self, *, message: base.Outgoing) -> None:
        """Tells the ledger that a request, or its cancel, cannot be taken back any more."""
        if message.id is not None:
            self.ledger.writing(message.id)
        elif message.cancels is not None:
            self.ledger.signal_leaving(message.cancels)
        self.ledger.perform()  # it changes no timeout

    def written(self, *, message: base.Outgoing) -> None:
        """Journals a sent message. That starts the clocks of a request, and the grace of a cancelled one."""
        at, id, cancels = self.now(), message.id, message.cancels
        self._newest_at = at
        seq = self.store.frame("out", message.raw, at=at, method=message.method, id=id)
        if id is not None:
            self.ledger.written(id, at=at, seq=seq)
        elif cancels is not None:
            # C-31: a POST gets a status; a pipe confirms nothing more.
            posted = self.ledger.negotiated.transport != "stdio"
            self.ledger.signalled(cancels, Signal.NOTIFICATION, at=at, answered=posted, seq=seq)
        self.drain()

    def accepted(self, *, message: base.Outgoing) -> None:
        """Tells the ledger that the server accepted a cancel."""
        if message.cancels is not None:
            session = getattr(self.transport, "session_id", None) is not None
            self.ledger.signal_accepted(message.cancels, at=self.now(), session=session)
            self.drain()

    def replied(self, *, message: base.Outgoing, raw: bytes, status: int) -> None:
        """Journals a message in the answer to a cancel, and passes it to the ledger."""
        if message.cancels is None:
            return
        at, frame = self.now(), messages.parse(raw)
        method, identity = getattr(frame, "method", None), messages.storable_id(getattr(frame, "id", None))
        seq = self.store.frame("in", raw, at=at, method=method or "", id=identity) if raw else 0
        self.ledger.responses.to_cancel(message.cancels, frame, status=status, at=at, seq=seq)
        self.drain()

    def unanswered(self, *, message: base.Outgoing, detail: str) -> None:
        """Tells the ledger that the status of a cancel cannot arrive any more."""
        if message.cancels is not None:
            self.ledger.signal_unanswered(message.cancels, detail, at=self.now())
            self.drain()

    def stream_ended(self, *, id: RequestId, detail: str = "") -> None:
        """Tells the ledger that the stream of a request ended."""
        self.ledger.stream_ended(id, detail, at=self.now())
        self.drain()

    def not_sent(self, *, message: base.Outgoing, detail: str, refusal: base.RefusedResponse) -> None:
        """Fails a request that did not reach the server or was refused, or defers it until there is a token."""
        at, challenge, id = self.now(), refusal.challenge, message.id
        if message.cancels is not None:
            self.ledger.signal_failed(message.cancels, detail, at=at, refused=bool(refusal.status))
        elif id is None:
            self._notification_failed(message.method, detail, refusal.status)
        else:
            seq = self.store.frame("in", refusal.body, at=at, stream=id) if refusal.body else 0
            if challenge is None or not self.deferred.defer(id, challenge, detail):
                self._refused_with(id, replace(refusal, body=b""))
                self.ledger.refused(id, detail, at=at, status=refusal.status, seq=seq)
        self.drain()
        if refusal.stopping:
            self.renewal.leave()

    def _notification_failed(self, method: str, detail: str, status: int) -> None:
        """Reports that a notification or an answer was not delivered, or that the server refused it."""
        at = self.now()
        if 200 <= status < 300:
            text = f"HTTP {status} with {detail} in answer to {method}, where 202 without a body is due"
            self.report(ev.Violation(at=at, rule="notification-body", detail=text))
        elif status and self.connected:
            what = "an answer to the server" if method == "response" else method
            self.report(ev.Degraded(at=at, detail=f"{what} was refused: {detail}"))
        elif not status:
            self.note(f"{method} was not delivered: {detail}")

    def _refused_with(self, stream: RequestId, refusal: base.RefusedResponse) -> None:
        if not self.connected or refusal.status in (401, 403):
            row = self.ledger.current(stream)
            self.refusals[stream if row is None else row.id] = refusal

    def stderr_line(self, *, text: str, cut: bool = False, at: float | None = None) -> None:
        """Logs a line of the server's stderr; a line that our own closing cut is only stored."""
        line = ev.Stderr(at=self._read_at(at), line=text)
        if cut:
            self.store.event(line)
            return
        self.stderr.add(unpainted(text))
        self.report(line)

    def dropped(self, *, what: str, raw: bytes = b"", stream: RequestId | None = None) -> None:
        """Tells the ledger that data was dropped, so that its request does not simply seem silent."""
        self.ledger.dropped(what, at=self.now(), stream=stream)
        self.drain()

    def happened(self, *, text: str) -> None:
        """Logs a fact about the connection."""
        self.note(text)

    def degraded(self, *, detail: str) -> None:
        """Logs an ability that the connection lost."""
        self.report(ev.Degraded(at=self.now(), detail=detail))

    def processes_ended(self, *, count: int) -> None:
        """Logs that processes of the server were still running at its end."""
        self.report(ev.ProcessesEnded(at=self.now(), count=count))

    def secrets(self, *, values: Iterable[str]) -> None:
        """Masks secrets of the server from now on."""
        self.store.learn(values)

    def receiving_ended(self, *, detail: str) -> None:
        """Settles cancelled requests, because no message can arrive any more; the end of the connection follows."""
        self.ledger.receiving_ended(detail, at=self.now())
        self.drain()

    def closed(
        self, *, detail: str, code: int | None = None, expected: bool = False, renewable: bool = False
    ) -> None:
        """Ends the connection; if only its session is gone, opens a new one."""
        if self._torn and not expected:
            detail += " in the middle of a message"
        self._torn = False
        # C-33: before the loss is reported, so that requests made because of it wait for the new session.
        if renewable and self.info is not None:
            # Not while connecting: then connect() gets the error and decides.
            self.renewal.begin(detail, handshake=not self.ledger.negotiated.modern)
        # Stored for disconnect(), because its process may still be ending.
        self._ended, self.connection = self.connection, None
        self.lost(detail, expected=expected, exited=code is not None)

    def lost(self, detail: str, *, expected: bool = False, exited: bool = False) -> None:
        """Reports the requests in flight as lost, but not those that wait for a new session."""
        self.last_words = (
            ending(detail, self.ledger.last_signal(), self.now()) if exited and not expected else detail
        )
        self.disconnected.set()
        self.ledger.closed(detail, at=self.now(), expected=expected, deferred=self.renewal.deferred)
        self.drain()

    def note(self, text: str) -> None:
        """Adds a line about the connection to the log."""
        self.report(ev.Note(at=self.now(), text=text))

    # -- the ledger's port (mcp_tui.protocol.ports.LedgerPort) -------------------------------------------------

    def drain(self) -> None:
        """Carries out all decisions of the ledger, and sets the timer for its next deadline."""
        ledger = self.ledger
        if ledger.performing:  # the outer call carries it out
            return
        ledger.perform()
        # Usually an alarm is set already, and early enough.
        if ledger.deadlines.soonest < self._alarm_at or (self._alarm is None and ledger.live):
            self._keep_time()

    def send(self, id: RequestId, method: str, message: dict[str, Json]) -> None:
        """Writes a request, or defers it while a new session is being opened."""
        if not (self.renewal.active and self.renewal.defer(id, method, message)):
            self._write(message, method, id)

    def signal(self, id: RequestId, signal: Signal, message: dict[str, Json] | None) -> None:
        """Sends a cancel ahead of everything queued, or closes the stream of its request."""
        connection = self.connection
        if connection is None:
            return
        if message is not None:
            notification = connection.outgoing(message, "notifications/cancelled", None, {})
            connection.transport.signal(replace(notification, cancels=id))
        # C-03, C-04: closing the stream is the cancel in 2026-07-28, and needs no headers of the response.
        elif connection.transport.release(id):
            self.ledger.signalled(id, signal, at=self.now())
        else:
            self.ledger.signal_failed(id, "its stream had ended before", at=self.now())

    def unqueue(self, id: RequestId) -> None:
        """Takes back a request of which no byte was written."""
        if self.renewal.deferred.pop(id, None) is None and self.connection is not None:
            self.connection.transport.withdraw(id)

    def recall(self, id: RequestId) -> None:
        """Takes back a signal that has not begun to leave."""
        if self.connection is not None:
            self.connection.transport.withdraw(id)

    def release(self, id: RequestId) -> None:
        """Closes the stream that the transport still keeps open for a request."""
        if self.connection is not None:
            self.connection.transport.release(id)

    def reply(self, message: dict[str, Json]) -> None:
        """Answers a request of the server."""
        self._write(message, "response", None)

    def relist(self, id: RequestId) -> None:
        """Lists the tools for their header annotations, then sends the refused request again."""
        if self.connection is not None:
            base.spawn(self._relist(id), name="list the tools again")

    async def _relist(self, id: RequestId) -> None:
        try:
            await catalogue.every(self, "tools")
        except catalogue.ListFailed as error:
            text = f"the server requires other headers, which tools/list would name: {error}"
            self.ledger.rounds.give_up(id, text, at=self.now())
        else:
            self.ledger.rounds.resend(id)
        self.drain()

    def resolve(self, id: RequestId, frame: ResponseFrame | None) -> None:
        """Ends the wait of a request's callers."""
        if id in self.ledger.live:
            self._resolved.add(id)
        else:
            self._resolved.discard(id)
        self._wake(id, frame)

    def _wake(self, id: RequestId, frame: ResponseFrame | None = None) -> None:
        for waiting in self._waiting.pop(id, ()):
            if not waiting.done():
                waiting.set_result(frame)

    def _write(self, message: dict[str, Json], method: str, id: RequestId | None) -> None:
        connection = self.connection
        if connection is not None:
            connection.transport.send(connection.outgoing(message, method, id, self.mirrors))

    # -- time ------------------------------------------------------------------------------------------------

    def _keep_time(self) -> None:
        """Sets the alarm for the ledger's next deadline, or for the next check of the clock while a request is open."""
        due = self.ledger.deadlines.next()
        if due is None and not self.ledger.live:
            return
        if self._alarm_at < math.inf and (due is None or self._alarm_at <= due):
            return  # it was set at the latest for a check of the clock
        now = self.now()
        due = now + CLOCK_LOOK_SECONDS if due is None else min(due, now + CLOCK_LOOK_SECONDS)
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = due
        self._alarm = Alarm(asyncio.get_running_loop().time() + due - now, self._tick, self._late)

    def _handled_to(self, now: float) -> float:
        """Returns the time up to which all input is handled, at least :data:`BEHIND_SECONDS` before now."""
        since = None if self.transport is None else self.transport.unhandled_since()
        return now if since is None else min(now, max(since, now - BEHIND_SECONDS))

    async def handle_what_was_read(self) -> None:
        """Waits until all input read by now is handled, at most :data:`BEHIND_SECONDS`."""
        begun = self.now()
        while self._handled_to(self.now()) < begun:  # noqa: ASYNC110 - a flood handles thousands meanwhile
            await asyncio.sleep(BEHIND_LOOK_SECONDS)

    async def handle_what_is_due(self, row: Request) -> None:
        """Waits until all input read by now is handled, and the next deadline of a cancelled request."""
        await self.handle_what_was_read()
        await asyncio.sleep(0)
        # The outcome of a cancel is decided once, at the end of watching, so that a command and the recording agree.
        while row.state is State.CANCEL_REQUESTED and row.signalled_at is not None:
            due = self.ledger.deadlines.next()
            if due is None or due > self.now() + SOON_SECONDS:
                break
            await asyncio.sleep(0.002)

    def _late(self, seconds: float) -> None:
        """Reports a suspension; the alarm calls :meth:`_tick` after all input of that time was read."""
        # No other alarm before that: a limit is judged only after all waiting input was read.
        self._alarm_at = -math.inf
        suspended = seconds + CLOCK_LOOK_SECONDS / 2  # it began between the last check and this one
        self.ledger.suspended_from, self.ledger.suspended_to = self.now() - suspended, math.inf
        due = self.ledger.deadlines.next()
        # A busy machine often pauses: a short pause in which no limit passed is not worth a line.
        if suspended >= (LONG_SUSPENSION_SECONDS if due is None or due > self.now() else SUSPENSION_SECONDS):
            self.report(ev.Suspended(at=self.now(), seconds=round(suspended, 1)))

    def _tick(self) -> None:
        self._alarm, self._alarm_at = None, math.inf
        now = self.now()
        self.ledger.suspended_to = min(self.ledger.suspended_to, now)
        handled_to = self._handled_to(now)
        # An answer that was read in time is not a timeout, however late it is handled: later limits are not judged
        # yet.
        self.ledger.tick(handled_to)
        due = self.ledger.deadlines.next()
        if due is not None and due <= now:
            self._report_lag(handled_to, now - handled_to)
            self._alarm_at = now + BEHIND_LOOK_SECONDS
            when = asyncio.get_running_loop().time() + BEHIND_LOOK_SECONDS
            self._alarm = Alarm(when, self._tick, self._late)
        else:
            self._lag_reported = False
        self.drain()

    def _report_lag(self, at: float, seconds: float) -> None:
        if seconds >= SUSPENSION_SECONDS and not self._lag_reported:
            self._lag_reported = True
            text = (
                f"mcp-tui is {seconds:.1f} s behind the server; a limit waits until what was read is handled"
            )
            self.report(ev.Note(at=at, text=text))


def is_undelivered(row: Request) -> bool:
    """Whether the cancel of a request could not be written in time, or was refused."""
    return row.state is State.CANCEL_REQUESTED and bool(row.undelivered or row.delayed)


def is_leaving(row: Request) -> bool:
    """Whether the cancel of a request is not sent yet."""
    return row.state is State.CANCEL_REQUESTED and row.signal is None and not is_undelivered(row)


def _ended(row: Request) -> CallEnded:
    """Returns the exception of a request that has no result."""
    if row.cause in (Cause.TIMEOUT, Cause.MAX_TIMEOUT):
        return CallTimedOut(row.reason, row)
    if row.cause is not None:
        return CallCancelled(row.reason or "cancelled", row)
    if row.state is State.LOST:
        return CallLost(row.error, row)
    return CallFailed(row.error or "no result", row)


def _lost(row: Request) -> ResponseFrame | None:
    """Returns the error of a request that was lost; ``None`` for any other."""
    if row.state is not State.LOST:
        return None
    return ResponseFrame(id=row.id, error=messages.RpcError(code=None, message=row.error))


async def _stored_response(store: Store, row: Request) -> ResponseFrame | None:
    raw = store.payload(row.response_seq) if row.response_seq and row.rule is None else None
    outline = None if raw is None else await base.outlined(raw, base.Turn())
    frame = None if raw is None else messages.response_in(raw, row.id, outline)
    if row.task_id and not row.task_core and frame is not None:
        inside = messages.as_object(frame.result).get("result")  # the answer to a poll contains the result
        return ResponseFrame(id=row.id, outline=inside, size=frame.size) if isinstance(inside, dict) else None
    return frame


EXIT_AFTER_CANCEL_SECONDS: Final = 2.0
"""Seconds after a cancel in which the server's exit is reported together with it."""


def ending(detail: str, last: Request | None, at: float) -> str:
    """Returns why the connection ended at ``at``, and how long after the cancel of ``last`` if that is short.

    Some servers exit when they are cancelled. The sentence claims only the order of both events.
    """
    if last is None or last.signalled_at is None or at - last.signalled_at > EXIT_AFTER_CANCEL_SECONDS:
        return detail
    cancel = "your cancel" if last.cause is Cause.USER else "the cancel"
    return f"{detail} ({max(0.0, at - last.signalled_at):.2f} s after {cancel} of {last.id})"
