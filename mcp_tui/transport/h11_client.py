"""The requests of a tap to its server: h11 on asyncio transports, in place of httpx, which takes five times as long.

A tap adds that time to every call of its client. Errors are those of httpx. Through a proxy of the environment, requests are
httpx's.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Iterable
from functools import partial
from typing import Any, Final, TypeVar, cast

import h11
import httpx

from mcp_tui.protocol.http_access import joined_headers
from mcp_tui.transport.addresses import Address
from mcp_tui.transport.base import RequestToken
from mcp_tui.transport.http_client import AGAIN, TOKEN, Headers, HttpClient, nothing
from mcp_tui.transport.http_errors import is_refused_or_reset

HEAD_BYTES: Final = 100 * 1024
"""The maximum size of a response's head, in bytes; the same as httpx's."""

UNREAD_BYTES: Final = 1 << 18
"""The number of unread bytes of a response from which on the server has to wait."""

EYEBALLS_SECONDS: Final = 0.25
"""Seconds after which the next address of a host is tried too (RFC 8305)."""

_WITH_BODY: Final = ("POST", "PUT", "PATCH")
"""The methods whose requests have a body, even if that is empty."""

T = TypeVar("T")

Body = bytes | list[bytes] | AsyncIterable[bytes] | None
"""The body of a request: the whole, all its parts, or its parts as they come. Without a length, each part is a chunk."""


class PlainResponse:
    """The head of a response, and the parts of its body as they come. ``sent`` is the token of its request."""

    def __init__(
        self, status: int, raw: Headers, reason: bytes, body: AsyncIterable[bytes], sent: RequestToken
    ) -> None:
        self.status, self.raw, self.reason, self.body, self.sent = status, raw, reason, body, sent
        self.headers = joined_headers(raw)


class H11Connection(asyncio.Protocol):
    """A connection that carries one request at a time. Iterated over, it yields the parts of the body of the response."""

    transport: asyncio.Transport

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        self._unread = 0
        """The number of bytes received since the last look for an event."""
        self.is_over = True
        """Whether nothing more can be read."""
        self._error: Exception | None = None
        self._wait: asyncio.Future[None] | None = None
        self._writable: asyncio.Future[None] | None = None

    # -- what asyncio reports ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.is_over = cast("asyncio.Transport", transport), False
        own = transport.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def data_received(self, data: bytes) -> None:
        self._http.receive_data(data)
        self._unread += len(data)
        if self._unread > UNREAD_BYTES:
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        self.is_over = True
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_over, self._error = True, self._error or exc
        self.resume_writing()
        self._wake()

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    def _wake(self) -> None:
        if self._wait is not None and not self._wait.done():
            self._wait.set_result(None)

    # -- for the client ----------------------------------------------------------------------------------------

    @property
    def is_usable(self) -> bool:
        """Whether a request can be sent: bytes that nobody asked for would be taken for the response."""
        return not (self.is_over or self._unread)

    async def connect(self, url: httpx.URL, seconds: float | None) -> None:
        """Connects to the host of a URL.

        Raises:
            httpx.TransportError: the connection could not be made.
        """
        is_secure = url.scheme == "https"
        try:
            async with asyncio.timeout(seconds):
                await asyncio.get_running_loop().create_connection(
                    lambda: self,
                    url.host,
                    url.port or (443 if is_secure else 80),
                    ssl=self._context if is_secure else None,
                    server_hostname=url.host if is_secure else None,
                    happy_eyeballs_delay=EYEBALLS_SECONDS,
                )
        except TimeoutError as error:
            raise httpx.ConnectTimeout(str(error)) from error
        except OSError as error:
            # asyncio's error for a connection that ends within the TLS handshake has no number.
            if not (is_secure and isinstance(error, ConnectionResetError) and error.errno is None):
                raise httpx.ConnectError(str(error)) from error
        else:
            return
        ended = ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "")
        ended.reason = "TLS/SSL connection has been closed (EOF)"
        raise httpx.ConnectError(str(ended)) from ended

    async def send(self, method: str, target: bytes, headers: Headers, body: Body) -> None:
        """Writes a request.

        Raises:
            httpx.LocalProtocolError: the request is not valid HTTP.
        """
        send, data = self._http.send, h11.Data
        try:
            head = h11.Request(method=method, target=target, headers=_framed(method, headers, body))
            parts = [send(head)]
            if isinstance(body, bytes):
                parts.append(send(data(body)))
            elif isinstance(body, list):
                parts += [send(data(each)) for each in body]
            elif body is not None:
                self._write(parts)
                async for each in body:
                    self._write([send(data(each))])
                    if self._writable is not None:
                        await self._writable
                parts = []
            self._write([*parts, send(h11.EndOfMessage())])
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error

    def _write(self, parts: Iterable[bytes]) -> None:
        if not self.transport.is_closing():
            self.transport.writelines(parts)

    async def response(self) -> h11.Response:
        """Returns the head of the response.

        Raises:
            httpx.TransportError: the connection broke, or the response is not valid HTTP.
        """
        while not isinstance(event := await self._event(), h11.Response):
            if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                raise httpx.RemoteProtocolError("the server changed to another protocol")
        return event

    async def _event(self) -> Any:
        """Returns the next event of the response."""
        while True:
            if not self._unread and not self.is_over and self._http.their_state is h11.SEND_RESPONSE:
                event: Any = h11.NEED_DATA  # There is nothing to look at.
            else:
                try:
                    event = self._http.next_event()
                except h11.RemoteProtocolError as error:
                    raise httpx.RemoteProtocolError(str(error)) from error
            if event is not h11.NEED_DATA:
                return event
            if self._unread > UNREAD_BYTES and not self.transport.is_closing():
                self.transport.resume_reading()
            self._unread = 0
            if self.is_over:
                if self._error is not None:
                    raise httpx.ReadError(str(self._error)) from self._error
                if self._http.their_state is h11.SEND_RESPONSE:
                    raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
                self._http.receive_data(b"")
            else:
                self._wait = asyncio.get_running_loop().create_future()
                await self._wait

    def __aiter__(self) -> H11Connection:
        return self

    async def __anext__(self) -> bytes:
        event = await self._event()
        if isinstance(event, h11.Data):
            return bytes(event.data)
        self._unread = len(self._http.trailing_data[0])
        raise StopAsyncIteration

    def release(self) -> bool:
        """Makes the connection free for another request, or closes it if the response is incomplete."""
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE and self.is_usable:
            self._http.start_next_cycle()
            return True
        self.abort()
        return False

    def abort(self) -> None:
        """Closes the connection at once."""
        if hasattr(self, "transport"):
            self.transport.abort()

    async def aclose(self) -> None:
        """Closes an idle connection."""
        self.abort()


class H11Client(HttpClient):
    """The connections of a tap to its server."""

    def _maker(self, context: ssl.SSLContext) -> Callable[[], Any]:
        return partial(H11Connection, context) if self.proxy is None else super()._maker(context)

    async def exchange(
        self,
        method: str,
        headers: Headers,
        body: Body,
        take: Callable[[PlainResponse], Awaitable[T]],
        *,
        signed_in: bool,
        to: Address,
        urgent: bool = False,
        flushed: Callable[[], None] = nothing,
    ) -> T:
        """Makes one exchange; returns what ``take`` returns, which gets the response before its body.

        A body that ``take`` leaves before its end closes the connection. So does cancelling the task, at any time.

        Args:
            method: the HTTP method.
            headers: the headers, without those of the connection.
            body: the body, if any.
            take: takes the response.
            signed_in: whether a token, or the credentials of the URL, are added if there are none.
            to: the address.
            urgent: whether the request must not wait for others.
            flushed: called when the last byte was written to the operating system.

        Raises:
            httpx.HTTPError: the exchange failed; also the other errors of :data:`http_errors.EXPECTED`.
        """
        if self.proxy is not None:
            content = _each(body) if isinstance(body, list) else body
            send = partial(self.request, method, {}, content, exact=headers, signed_in=signed_in, to=to)
            async with send(urgent=urgent, flushed=flushed) as made:
                reason, sent = made.extensions.get("reason_phrase", b""), made.extensions[TOKEN]
                return await take(
                    PlainResponse(made.status_code, made.headers.raw, reason, made.aiter_raw(), sent)
                )
        make, url = self._make, to.url
        if make is None:
            raise httpx.UnsupportedProtocol("the connection is closed")
        sent, framed = self._outgoing(method, url, {}, headers, signed_in=signed_in)
        with contextlib.ExitStack() as place:
            connection: H11Connection = await self._obtain(make, self._slots[urgent], place)
            try:
                # If the connection itself fails, no byte of the request was sent, so a call is not made twice.
                for pause in (*AGAIN, None):
                    if connection.is_usable:
                        break
                    connection.abort()
                    connection = make()
                    try:
                        await connection.connect(url, self._timeout["connect"])
                    except httpx.ConnectError as error:
                        if pause is None or not is_refused_or_reset(error):
                            raise
                        await asyncio.sleep(pause)
                    else:
                        self._connected(connection)
                place.close()
                await connection.send(method.upper(), url.raw_path, framed, body)
                flushed()
                head = await connection.response()
                raw, reason = head.headers.raw_items(), bytes(head.reason)
                response = PlainResponse(head.status_code, raw, reason, connection, sent)
                if self.tokens is not None and sent.access:
                    self.tokens.answered(sent, response.status, response.headers.get("dpop-nonce", ""))
                result = await take(response)
            except BaseException:
                connection.abort()
                raise
        if connection.release():
            self._rest(connection)
        return result

    def _connected(self, connection: H11Connection) -> None:
        if self.tokens is not None:
            self.tokens.connected(str(connection.transport.get_extra_info("peername")[0]))


def _framed(method: str, headers: Headers, body: Body) -> list[tuple[bytes, bytes]]:
    """Returns the headers of a request, Host first, with those that say where its body ends, as httpx adds them."""
    host, *others = headers
    if any(name.lower() == b"content-length" for name, _ in others):
        return [host, *others]
    if body is None or body == b"":
        return [host, *([(b"Content-Length", b"0")] if method in _WITH_BODY else ()), *others]
    if isinstance(body, bytes):
        return [host, *others, (b"Content-Length", b"%d" % len(body))]
    return [host, *others, (b"Transfer-Encoding", b"chunked")]


async def _each(parts: list[bytes]) -> AsyncGenerator[bytes]:
    for part in parts:
        yield part
