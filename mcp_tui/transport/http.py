"""The two transports over HTTP.

Streamable HTTP (transports, 2025-03-26 to 2025-11-25; streamable HTTP, 2026-07-28): every message is a separate exchange
on a separate connection, so no message waits for another one. A cancel is a POST that overtakes all others, or the
closing of the connection of the request, even before it has a response.

HTTP with SSE, the transport of 2024-11-05: one GET stream carries all messages from the server, and POSTs carry those to the
server. The first event of the stream, ``endpoint``, has the address for the POSTs (transports, 2024-11-05, "HTTP with
SSE"). C-42: the stream is the only channel from the server, so the session ends with it; a new stream is a new session.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import Final

from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.revisions import Revision
from mcp_tui.transport.base import (
    MAX_MESSAGE,
    EndpointError,
    Outgoing,
    Sink,
    TokenSource,
    TransportError,
    Unauthorized,
    spawn,
)
from mcp_tui.transport.http_bodies import ServerEvent
from mcp_tui.transport.http_client import HttpClient, ignored_headers
from mcp_tui.transport.http_errors import EXPECTED, cause
from mcp_tui.transport.http_exchanges import Cancel, Exchange, Sending, SharedExchange
from mcp_tui.transport.http_streams import (
    INCOMPLETE,
    NO_SESSION_ID,
    HttpSession,
    Refused,
    listen,
    opened,
    read_events,
)
from mcp_tui.transport.suspension import Limit
from mcp_tui.transport.targets import HttpTarget
from mcp_tui.transport.unreachable import readable

LISTEN_SECONDS: Final = 0.5
"""The most seconds that :meth:`HttpTransport.initialized` waits for the server's own stream, so that no request is lost."""

CONNECT_SECONDS: Final = 10.0
"""The most seconds for a connection, and for the first event of HTTP with SSE."""

FAREWELL_SECONDS: Final = 1.0
"""The most seconds for each of the four steps of :meth:`HttpTransport.close`."""


class HttpTransport(HttpSession):
    """A connection to one server over streamable HTTP.

    Every request has the target's ``headers``, except those that the protocol sets. ``max_message`` is in bytes. The
    client is responsible for all time limits except :data:`CONNECT_SECONDS`. ``tokens`` has the access token of each
    request.

    Raises:
        TransportError: the URL or a header cannot be used.
    """

    kind = "http"
    pid: int | None = None

    def __init__(
        self, target: HttpTarget, *, max_message: int = MAX_MESSAGE, tokens: TokenSource | None = None
    ) -> None:
        super().__init__(HttpClient(target, connect_timeout=CONNECT_SECONDS, tokens=tokens), max_message)
        self._target = target
        self._sendings: dict[tuple[str, RequestId | None], Sending] = {}
        """Messages being sent: a ``request`` or its ``cancel``, by the request's id; a ``notice``, by its object id."""
        self._stream: asyncio.Task[None] | None = None
        """The task that reads the stream that belongs to no request."""
        self._closing = False
        self.continues_session = False
        """Whether :meth:`close` keeps the session, without sending DELETE."""

    # -- open and close --------------------------------------------------------------------------------------------

    async def open(self, sink: Sink) -> None:
        """Prepares for requests; sends nothing before the first message.

        Raises:
            TransportError: the proxy of the environment cannot be used.
        """
        self.http.open()
        self.sink, self.over = sink, False
        for name in ignored_headers(self._target.headers):
            sink.happened(text=f"the header {readable(name, 60)} is ignored: the protocol sets it")
        if self.http.proxy is not None:
            sink.happened(text=f"through {self.http.proxy}")
        if self.http.address.secure and self._target.insecure:
            sink.happened(text="server certificate NOT verified (--insecure)")

    async def close(self) -> None:
        """Waits until notifications and cancels are sent, deletes the session, and closes every connection."""
        if self._closing:
            return
        self._closing = True
        # C-44: cancels are sent first, then streams are closed, then the session is deleted, because no message of the
        # session can arrive after that.
        if not self.over:
            await _at_most(
                asyncio.gather(*(each.flushed() for each in self._sendings.values() if each.urgent))
            )
        tasks = self.drop()
        if tasks:
            await asyncio.wait(tasks, timeout=FAREWELL_SECONDS)
        if not self.over and self.session_id is not None and not self.continues_session:
            await _at_most(self.end_session())
        await _at_most(self.http.close())
        self.end("closed", expected=True)

    async def end_session(self) -> int | None:
        """Deletes the session; the server may refuse this (transports, "Session Management"). The transport stays open.

        Returns the HTTP status; ``None`` if there is no session or no response.
        """
        if self.session_id is None:
            return None
        with contextlib.suppress(*EXPECTED):
            async with self.request("DELETE", self.headers(), urgent=True) as response:
                return response.status_code
        return None

    async def terminate(self) -> None:
        """Does the same as :meth:`close`, because there is no process to end."""
        await self.close()

    def drop(self) -> list[asyncio.Task[None]]:
        """Closes every exchange except the calling one; returns the tasks that are ending."""
        current = asyncio.current_task()
        tasks: list[asyncio.Task[None]] = []
        for sending in self._sendings.values():
            if sending.task is not current:
                sending.close()
                tasks.append(sending.task)
        if self._stream is not None and self._stream is not current:
            self._stream.cancel()
            tasks.append(self._stream)
        return tasks

    # -- messages --------------------------------------------------------------------------------------------------

    def negotiated(self, revision: Revision) -> None:
        """Sets the negotiated revision; from 2026-07-28 on there is no session."""
        self.revision = revision
        if revision.modern:
            self.session_id = None

    async def initialized(self, message: Outgoing) -> None:
        """POSTs ``notifications/initialized``; if it is accepted, opens the server's own stream, and waits for it."""
        if not self._usable:
            return
        sending = self._notify(message)
        await sending.received.wait()
        # An error with status 200, or a lost connection, is no refusal, because many servers continue to work after it.
        if sending.refusal is not None and not 200 <= (sending.refusal.response.status or 200) < 300:
            raise self._refused_handshake(message, sending.refusal)
        if sending.refusal is None and self._stream is None and self._usable:
            answered = asyncio.Event()
            self._stream = spawn(listen(self, answered), name="the server's own stream")
            await _at_most(answered.wait(), LISTEN_SECONDS)

    def _refused_handshake(self, message: Outgoing, refusal: Refused) -> TransportError:
        text = f"The handshake was refused at {message.method}: {refusal}"
        if self.asks_for_session(refusal.response):
            text += f". {NO_SESSION_ID}"
        challenge = refusal.response.challenge
        return TransportError(text) if challenge is None else Unauthorized(text, challenge)

    @property
    def _usable(self) -> bool:
        """Whether messages may be sent: after :meth:`open`, and before :meth:`Sink.closed`."""
        return not self.over and not self._closing

    def send(self, message: Outgoing) -> None:
        """POSTs a message at once, as a separate exchange. After :meth:`Sink.closed`, nothing is sent."""
        if not self._usable:
            return
        if message.id is None:
            self._notify(message)
        else:
            self._keep("request", message.id, self._exchange(message, message.id))

    def _notify(self, message: Outgoing) -> Sending:
        return self._keep("notice", id(message), Sending(self, message))

    def _keep(self, kind: str, id: RequestId | None, sending: Sending) -> Sending:
        self._sendings[kind, id] = sending
        sending.task.add_done_callback(lambda _: self._sendings.pop((kind, id), None))
        return sending

    def _exchange(self, message: Outgoing, id: RequestId) -> Sending:
        return Exchange(self, message, id)

    def signal(self, message: Outgoing) -> None:
        """POSTs a cancel as a separate exchange."""
        if self._usable:
            exchange = self._sendings.get(("request", message.cancels))
            if exchange is not None:
                # C-36: the cancel may wait for the body of the request. The request is marked before, so that its stream
                # is not resumed in that time.
                exchange.settle()
            self._keep("cancel", message.cancels, Cancel(self, message, exchange))

    def withdraw(self, id: RequestId) -> None:
        """Withdraws a request or its cancel that still waits for a connection."""
        for kind in ("request", "cancel"):
            sending = self._sendings.get((kind, id))
            if sending is not None and not sending.begun:
                sending.close()

    def release(self, id: RequestId) -> bool:
        """Closes the connection of a request at once, and does not resume its stream; returns whether there was one.

        C-37: a server may keep the stream open forever.
        """
        exchange = self._sendings.get(("request", id))
        if exchange is None or exchange.task.done():
            return False
        exchange.close()
        return True


async def _at_most(awaited: Awaitable[object], seconds: float = FAREWELL_SECONDS) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await awaited


# -- HTTP with SSE ---------------------------------------------------------------------------------------------


class SseTransport(HttpTransport):
    """A connection to one server over HTTP with SSE. The parameters are those of :class:`HttpTransport`."""

    kind = "sse"

    _endpoint: asyncio.Future[None]

    async def open(self, sink: Sink) -> None:
        """Opens the stream, and waits until it names the endpoint.

        Raises:
            Unauthorized: the server answered with HTTP 401 or 403.
            TransportError: the connection was refused, there is no event stream, or the endpoint has another origin.
        """
        await super().open(sink)
        http = self.http
        self._endpoint = asyncio.get_running_loop().create_future()
        self._stream = spawn(self._read(), name="the server's stream")
        try:
            async with Limit(CONNECT_SECONDS):
                await self._endpoint
        # A cancel of connecting is caught as well, because the unread stream would stay open.
        except BaseException as error:
            self._stream.cancel()
            await asyncio.wait([self._stream])
            await http.close()
            if isinstance(error, TimeoutError):
                text = f"{http.address.shown} did not name an endpoint within {CONNECT_SECONDS:g} s"
                raise TransportError(text) from None
            raise

    async def _read(self) -> None:
        try:
            async with opened(self) as response:
                besides = await read_events(response, self, None, self.deliver, self._other)
            within = " in the middle of a message" if besides == INCOMPLETE else ""
            detail = f"the server closed its event stream{within}"
        except Refused as error:
            challenge = error.response.challenge
            text = str(error)
            self._fail(TransportError(text) if challenge is None else Unauthorized(text, challenge))
            return
        except EXPECTED as error:
            detail = f"the event stream broke: {cause(error)}"
            self._fail(TransportError(self.http.failure_text(error)))
        self._fail(TransportError("The server closed its event stream before it named an endpoint."))
        # Before the endpoint is known, open() reports the error.
        if self.endpoint is not None:
            self.lose(detail, renewable=True)

    def _other(self, event: ServerEvent) -> bool:
        """Handles an ``endpoint`` event; only the first one counts."""
        if event.name == "endpoint" and not self._endpoint.done():
            try:
                self.endpoint = self.http.address.resolve(event.data.decode("utf-8", "replace"))
                self._endpoint.set_result(None)
            except TransportError as error:
                self._fail(EndpointError(str(error)))
        return event.name == "endpoint"

    def _fail(self, error: TransportError) -> None:
        if not self._endpoint.done():
            self._endpoint.set_exception(error)

    def _exchange(self, message: Outgoing, id: RequestId) -> Sending:
        return SharedExchange(self, message)
