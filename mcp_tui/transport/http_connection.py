"""A connection of HTTP/1.1 for httpx: h11 over asyncio, for one request at a time.

That of httpcore, with its pool and the layers below, takes several times as long for a request, and hands head and body of
it to the system one by one. It is used where there is a proxy.
"""

from __future__ import annotations

import asyncio
import os
import re
import select
import socket
import ssl
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, Final, cast

import h11
import httpx

HEAD_BYTES: Final = 100 * 1024
"""Bytes that the head of a response may have."""

UNREAD_BYTES: Final = 256 * 1024
"""Bytes of a response that may wait to be read; then no more are taken from the system."""

EYEBALLS_SECONDS: Final = 0.25
"""Seconds after which the next address of a host is tried beside the one that is silent (RFC 8305)."""

_NUMBER: Final = re.compile(r"\[Errno (\d+)\]")


class _Link(asyncio.Protocol):
    """The two ends of a connection's bytes."""

    def __init__(self) -> None:
        self.http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        self._parts: list[bytes] = []
        self._unread = 0
        self._ended = False
        """Nothing more can come."""
        self._broken: Exception | None = None
        self._more: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    # -- what asyncio reports ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.transport.set_write_buffer_limits(0)
        given: socket.socket = transport.get_extra_info("socket")
        given.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        self.http.receive_data(data)
        self._unread += len(data)
        if self._unread > UNREAD_BYTES:
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._broken = exc
        self._end()
        self._writable.set()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            if self._broken is None:
                self.http.receive_data(b"")
        self._wake()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _wake(self) -> None:
        if self._more is not None and not self._more.done():
            self._more.set_result(None)

    # -- for the connection ------------------------------------------------------------------------------------

    @property
    def is_idle(self) -> bool:
        """Whether it can carry another request: the server has neither closed it nor said anything."""
        if self.http.our_state is not h11.IDLE or self._ended or self._unread:
            return False
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket"), select.POLLIN)
        return not poll.poll(0)  # what the event loop has not seen yet

    def get_extra_info(self, name: str) -> Any:
        """Returns the address at the other end, by httpcore's name for it."""
        return self.transport.get_extra_info({"server_addr": "peername"}.get(name, name))

    async def aclose(self) -> None:
        """Closes it, whatever is missing."""
        self.transport.abort()

    def send(self, event: h11.Event) -> None:
        """Writes what comes at once in one piece."""
        if not self._parts:
            asyncio.get_running_loop().call_soon(self.flush)
        self._parts += self.http.send_with_data_passthrough(event) or ()

    def flush(self) -> None:
        """Hands to the system what was sent."""
        parts, self._parts = self._parts, []
        if parts and not self.transport.is_closing():
            self.transport.write(b"".join(parts))

    async def drain(self) -> None:
        """Waits until the system has what was flushed."""
        await self._writable.wait()

    async def event(self) -> Any:
        """Returns the next event of the response.

        Raises:
            httpx.TransportError: there is none.
        """
        while True:
            silent = self._ended and self.http.their_state is h11.SEND_RESPONSE
            try:
                event = self.http.next_event()
            except h11.RemoteProtocolError as error:
                text = "Server disconnected without sending a response." if silent else str(error)
                raise httpx.RemoteProtocolError(text) from error
            if event is not h11.NEED_DATA:
                return event
            if self._ended:
                if self._broken is not None:
                    raise httpx.ReadError(str(self._broken)) from self._broken
                raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
            self._unread = 0
            self.transport.resume_reading()
            self._more = asyncio.get_running_loop().create_future()
            await self._more

    def over(self) -> None:
        """Ends an exchange: the connection is used again, or closed if something of the exchange is missing."""
        done = self.http.our_state is h11.DONE and self.http.their_state is h11.DONE
        if done:
            self._unread = len(self.http.trailing_data[0])
            self.http.start_next_cycle()
        elif self.http.our_state is not h11.IDLE:
            self.transport.abort()


class _Body(httpx.AsyncByteStream):
    def __init__(self, link: _Link) -> None:
        self._link = link

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        while isinstance(event := await self._link.event(), h11.Data):
            yield bytes(event.data)

    async def aclose(self) -> None:
        self._link.over()


class Http11Connection(httpx.AsyncBaseTransport):
    """Opens itself when it must. Its requests have the extensions ``trace`` and ``timeout``, as httpcore knows them."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._link: _Link | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Returns the response as soon as its head is here.

        Raises:
            httpx.TransportError: there is none.
        """
        trace = request.extensions["trace"]
        link = self._link
        if link is None or not link.is_idle:
            if link is not None:
                link.transport.abort()
            link = self._link = await self._connected(request)
            await trace("connection.connect_tcp.complete", {"return_value": link})
        await trace("http11.send_request_headers.started", {"request": request})
        await self._send(link, request)
        await trace("http11.send_request_body.complete", {"request": request})
        while not isinstance(event := await link.event(), h11.Response):
            if not isinstance(event, h11.InformationalResponse):
                raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        return httpx.Response(
            event.status_code,
            headers=event.headers.raw_items(),
            stream=_Body(link),
            extensions={"http_version": b"HTTP/" + event.http_version, "reason_phrase": event.reason},
        )

    async def _send(self, link: _Link, request: httpx.Request) -> None:
        stream = cast("httpx.AsyncByteStream", request.stream)
        try:
            link.send(
                h11.Request(method=request.method, target=request.url.raw_path, headers=request.headers.raw)
            )
            async for data in stream:
                link.send(h11.Data(data=data))
                if len(data) > UNREAD_BYTES:
                    link.flush()
                await link.drain()
            link.send(h11.EndOfMessage())
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        link.flush()
        await link.drain()

    async def _connected(self, request: httpx.Request) -> _Link:
        url = request.url
        host, secure = url.raw_host.decode("ascii"), url.scheme == "https"
        try:
            async with asyncio.timeout(request.extensions["timeout"]["connect"]):
                _, link = await asyncio.get_running_loop().create_connection(
                    _Link,
                    host,
                    url.port or (443 if secure else 80),
                    ssl=self._context if secure else None,
                    server_hostname=request.extensions.get("sni_hostname", host) if secure else None,
                    happy_eyeballs_delay=EYEBALLS_SECONDS,
                )
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except OSError as error:
            number = _NUMBER.search(str(error))
            if error.errno is None and number:  # of several addresses Python keeps the words alone
                error = OSError(int(number[1]), os.strerror(int(number[1])))
            elif secure and error.errno is None and isinstance(error, ConnectionResetError):
                error = ssl.SSLEOFError()
                error.reason = "EOF_IN_THE_HANDSHAKE"  # asyncio says that it was reset
            raise httpx.ConnectError(str(error)) from error
        return link

    async def aclose(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            with suppress(RuntimeError):
                link.transport.abort() if link.http.our_state is not h11.IDLE else link.transport.close()
