"""HTTP with SSE, the transport of 2024-11-05: one GET stream for all that comes in, POSTs for all that goes out.

The stream names the address of the POSTs by its first event, ``endpoint`` (transports, 2024-11-05, "HTTP with SSE").
It is the only way in, so its end is the end of the connection (C-42).
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Final

from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.transport.base import EndpointError, Outgoing, Sink, TransportError, Unauthorized, spawn
from mcp_tui.transport.http import HttpTransport
from mcp_tui.transport.http_errors import EXPECTED, cause
from mcp_tui.transport.http_posts import Sending, Unanswered
from mcp_tui.transport.http_streams import INCOMPLETE, Cursor, HttpSession, Refused, StreamReader, follow

OVERTAKEN: Final = 0.1
"""Seconds that a cancel waits for the server to take the request that it names."""


class SseTransport(HttpTransport):
    """A way to one server over HTTP with SSE. The parameters are those of :class:`HttpTransport`."""

    kind = "sse"

    _endpoint: asyncio.Future[None]
    _reading: asyncio.Task[None] | None = None

    async def open(self, sink: Sink) -> None:
        """Open the stream and wait, at most ``connect_timeout`` seconds, until it names the endpoint.

        Raises:
            Unauthorized: HTTP 401 or 403.
            TransportError: the address refuses, is no event stream, or names an endpoint elsewhere.
        """
        await super().open(sink)
        assert self._session is not None
        self._endpoint = asyncio.get_running_loop().create_future()
        self._reading = spawn(self._read(self._session), name="the server's stream")
        try:
            async with asyncio.timeout(self._connect_timeout):
                await self._endpoint
        except BaseException as error:
            self._reading.cancel()
            await asyncio.wait([self._reading])
            await self._session.http.close()
            if isinstance(error, TimeoutError):
                text = f"{self._session.http.address.shown} did not name an endpoint within {self._connect_timeout:g} s"
                raise TransportError(text) from None
            raise

    async def _read(self, session: HttpSession) -> None:
        try:
            within = await self._follow(session) == INCOMPLETE
            detail = f"the server closed its event stream{' in the middle of a message' if within else ''}"
        except Refused as error:
            refusal = TransportError(str(error))
            if error.challenge is not None:
                refusal = Unauthorized(str(error), error.challenge)
            self._fail(refusal)
            return
        except EXPECTED as error:
            detail = f"the event stream broke: {cause(error)}"
            self._fail(TransportError(session.http.cannot(error)))
        self._fail(TransportError("The server closed its event stream before it named an endpoint."))
        if session.endpoint is not None:
            session.lose(detail)

    async def _follow(self, session: HttpSession) -> str:
        def other(name: str, data: bytes) -> bool:
            if name == "endpoint" and session.endpoint is None:
                try:
                    session.endpoint = session.http.address.resolve(data.decode("utf-8", "replace"))
                except TransportError as error:
                    self._fail(EndpointError(str(error)))
                else:
                    if not self._endpoint.done():
                        self._endpoint.set_result(None)
            return name == "endpoint"

        reader = StreamReader(message=session.received, other=other, skips=True)
        return await follow(session, Cursor(), reader, lambda: None)

    def _fail(self, error: TransportError) -> None:
        if not self._endpoint.done():
            self._endpoint.set_exception(error)

    def _drop(self) -> list[asyncio.Task[None]]:
        tasks = super()._drop()
        if self._reading is not None and self._reading is not asyncio.current_task():
            self._reading.cancel()
            tasks.append(self._reading)
        return tasks

    def negotiated(self, revision: str, *, modern: bool) -> None:
        """Nothing follows from the revision: there is no session, and no other stream."""

    def _exchange(self, session: HttpSession, message: Outgoing, id: RequestId) -> Sending:
        return _Request(session, message)

    def signal(self, id: RequestId, signal: Signal, message: Outgoing | None) -> None:
        """POST the notification; a request has no stream of its own to close."""
        if signal is Signal.STREAM_CLOSED:
            if self._session is not None:
                self._session.sink.signal_failed(id=id, detail="no request has a stream of its own here")
        else:
            super().signal(id, signal, message)


class _Request(Unanswered):
    """A request whose response comes on the one stream."""

    urgent = False

    def __init__(self, session: HttpSession, message: Outgoing) -> None:
        self._taken = asyncio.Event()
        super().__init__(session, message)

    async def flushed(self) -> bool:
        """Wait until the server has it, for :data:`OVERTAKEN` seconds at most once the last byte has left.

        Its cancel is a POST on another connection, and would be about nothing if it were read first (C-05).
        """
        left = await super().flushed()
        if left:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(OVERTAKEN):
                    await self._taken.wait()
        return left

    def _accepted(self) -> None:
        """The answer comes by the stream."""
        self._taken.set()

    def _failed(self, error: Refused) -> None:
        self._taken.set()
        super()._failed(error)
