"""A connection to an HTTP server in place of httpx's, for the tap: h11 on an asyncio transport.

It has the interface of :class:`httpx.AsyncHTTPTransport`, with the requests, responses, and errors of httpx, and the trace
events that :mod:`mcp_tui.transport.http_client` uses. httpx's own takes three times as long for a request, and a tap adds
that to every call of its client. Proxies stay with httpx.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from typing import Any, Final, cast

import h11
import httpx

HEAD_BYTES: Final = 100 * 1024
"""The maximum size of a response's head, in bytes; the same as httpx's."""

UNREAD_BYTES: Final = 1 << 18
"""The number of unread bytes of a response from which on the server has to wait."""

EYEBALLS_SECONDS: Final = 0.25
"""Seconds after which the next address of a host is tried too (RFC 8305)."""


class _Socket(asyncio.Protocol):
    """The bytes of a connection."""

    def __init__(self) -> None:
        self.unread = bytearray()
        self.is_over = False
        """Whether nothing more can be read."""
        self.error: Exception | None = None
        self._parts: list[bytes] = []
        self._wait: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None

    # -- what asyncio reports ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        own = transport.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        self.unread += data
        if len(self.unread) > UNREAD_BYTES:
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self.is_over = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_over, self.error = True, self.error or exc
        self.resume_writing()
        self._wake()

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    # -- for the connection ------------------------------------------------------------------------------------

    def _wake(self) -> None:
        if self._wait is not None and not self._wait.done():
            self._wait.set_result(None)

    async def read(self) -> bytes:
        """Returns the received bytes; empty at the end.

        Raises:
            httpx.ReadError: the connection broke.
        """
        while not self.unread and not self.is_over:
            self._wait = asyncio.get_running_loop().create_future()
            await self._wait
        if not self.unread and self.error is not None:
            raise httpx.ReadError(str(self.error)) from self.error
        data = bytes(self.unread)
        self.unread.clear()
        if len(data) > UNREAD_BYTES and not self.transport.is_closing():
            self.transport.resume_reading()
        return data

    def write(self, data: bytes | None) -> None:
        """Writes bytes in the next turn of the loop, together with all others of this turn."""
        if not self._parts:
            asyncio.get_running_loop().call_soon(self.flush)
        self._parts.append(data or b"")

    def flush(self) -> None:
        """Writes all bytes now."""
        parts, self._parts = self._parts, []
        if parts and not self.transport.is_closing():
            self.transport.writelines(parts)

    async def drain(self) -> None:
        """Waits until the server has read enough."""
        if self._writable is not None:
            await self._writable

    # -- for the trace -----------------------------------------------------------------------------------------

    def get_extra_info(self, name: str) -> Any:
        """Returns the address of the server for ``server_addr``."""
        return self.transport.get_extra_info("peername" if name == "server_addr" else name)

    async def aclose(self) -> None:
        """Closes the connection at once."""
        self.transport.abort()


class H11Connection(httpx.AsyncBaseTransport):
    """A connection that carries one request at a time, and connects when needed. ``context`` is for ``https`` URLs."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._socket: _Socket | None = None
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request; returns its response before the body.

        Raises:
            httpx.TransportError: the connection could not be made or broke, or the response is not valid HTTP.
        """
        trace = request.extensions["trace"]
        # Bytes that nobody asked for would be taken for the next response.
        if self._socket is None or self._socket.is_over or self._socket.unread:
            await self.aclose()
            self._socket = await self._connected(request)
            await trace("connection.connect_tcp.complete", {"return_value": self._socket})
        url = request.url
        with _as_httpx():
            head = h11.Request(method=request.method, target=url.raw_path, headers=request.headers.raw)
            await trace("http11.send_request_headers.started", {"request": request})
            self._socket.write(self._http.send(head))
            async for data in cast("AsyncIterator[bytes]", request.stream):
                self._socket.write(self._http.send(h11.Data(data=data)))
                await self._socket.drain()
            self._socket.write(self._http.send(h11.EndOfMessage()))
        self._socket.flush()
        await trace("http11.send_request_body.complete", {})
        event = await self._event()
        while not isinstance(event, h11.Response):
            if isinstance(event, h11.InformationalResponse) and event.status_code != 101:
                event = await self._event()
                continue
            raise httpx.RemoteProtocolError("the server changed to another protocol")
        return httpx.Response(
            event.status_code,
            headers=event.headers.raw_items(),
            stream=_Body(self),
            extensions={"reason_phrase": bytes(event.reason)},
        )

    async def _connected(self, request: httpx.Request) -> _Socket:
        url, is_secure = request.url, request.url.scheme == "https"
        name = request.extensions.get("sni_hostname") or url.host
        try:
            async with asyncio.timeout(request.extensions["timeout"]["connect"]):
                _, made = await asyncio.get_running_loop().create_connection(
                    _Socket,
                    url.host,
                    url.port or (443 if is_secure else 80),
                    ssl=self._context if is_secure else None,
                    server_hostname=name if is_secure else None,
                    happy_eyeballs_delay=EYEBALLS_SECONDS,
                )
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except OSError as error:
            # asyncio's error for a connection that ends within the TLS handshake has no number.
            if not (is_secure and isinstance(error, ConnectionResetError) and error.errno is None):
                raise httpx.ConnectError(str(error)) from error
        else:
            return made
        ended = ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "")
        ended.reason = "TLS/SSL connection has been closed (EOF)"
        raise httpx.ConnectError(str(ended)) from ended

    async def _event(self) -> Any:
        """Returns the next event of the response."""
        assert self._socket is not None
        while True:
            with _as_httpx():
                event = self._http.next_event()
            if event is not h11.NEED_DATA:
                return event
            data = await self._socket.read()
            if not data and self._http.their_state is h11.SEND_RESPONSE:
                raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
            self._http.receive_data(data)

    async def body(self) -> AsyncIterator[bytes]:
        """Yields the body of the response as it comes."""
        while isinstance(event := await self._event(), h11.Data):
            yield bytes(event.data)

    async def release(self) -> None:
        """Makes the connection free for another request, or closes it if the response is incomplete."""
        is_whole = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        if is_whole and not self._http.trailing_data[0]:
            self._http.start_next_cycle()
        else:
            await self.aclose()

    async def aclose(self) -> None:
        """Closes the connection."""
        made, self._socket = self._socket, None
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        if made is not None:
            made.transport.abort()


class _Body(httpx.AsyncByteStream):
    """The body of a response."""

    def __init__(self, connection: H11Connection) -> None:
        self._connection = connection

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._connection.body()

    async def aclose(self) -> None:
        await self._connection.release()


@contextmanager
def _as_httpx() -> Generator[None]:
    """Raises errors of h11 as those of httpx."""
    try:
        yield
    except h11.RemoteProtocolError as error:
        raise httpx.RemoteProtocolError(str(error)) from error
    except h11.LocalProtocolError as error:
        raise httpx.LocalProtocolError(str(error)) from error
