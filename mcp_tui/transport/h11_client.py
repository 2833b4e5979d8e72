"""The requests of a tap to its server: h11 on asyncio transports, in place of httpx, which takes five times as long.

A tap adds that time to every call of its client. Errors are those of httpx. Through a proxy of the environment, requests are
httpx's.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import socket
import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from functools import lru_cache, partial
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

CHUNKED: Final = (b"Transfer-Encoding", b"chunked")

_WITH_BODY: Final = ("POST", "PUT", "PATCH")
"""The methods whose requests have a body, even if that is empty."""

T = TypeVar("T")

Body = bytes | list[bytes] | AsyncIterable[bytes] | None
"""The body of a request: the whole, all its parts, or its parts as they come. Without a length, each part is a chunk."""


class PlainResponse:
    """The head of a response, and the parts of its body as they come. ``sent`` is the token of its request."""

    def __init__(
        self,
        status: int,
        raw: list[tuple[bytes, bytes]],
        reason: bytes,
        body: AsyncIterable[bytes],
        sent: RequestToken,
    ) -> None:
        self.status, self.raw, self.reason, self.body, self.sent = status, raw, reason, body, sent
        self.headers = joined_headers(raw)


class H11Connection(asyncio.Protocol):
    """A connection that carries one request at a time. Iterated over, it yields the parts of the body of the response."""

    transport: asyncio.Transport

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES)
        self.is_usable = False
        """Whether a request can be sent."""
        self.events: deque[h11.Event] = deque()
        """What of the response is not taken yet: its head, parts of its body, and its end."""
        self.error: Exception | None = None
        """What ends the response behind these events."""
        self.notify: Callable[[], None] = nothing
        """Called when there are new ones of them."""
        self._is_idle = self._is_whole = True
        """Whether there is no request; whether all of its response has come."""
        self._unread = 0
        self._writable: asyncio.Future[None] | None = None

    # -- what asyncio reports ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.is_usable = cast("asyncio.Transport", transport), True
        own = transport.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        self._poll = select.poll()
        self._poll.register(own.fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        if self._is_idle:
            self.is_usable = False  # What nobody asked for would be taken for the next response.
            return
        if self.error is not None:
            return
        self._unread += len(data)
        if self._unread > UNREAD_BYTES:
            self.transport.pause_reading()
        self._read(data)

    def eof_received(self) -> None:
        if self.is_usable and self._http.their_state is h11.SEND_RESPONSE:
            self.error = httpx.RemoteProtocolError("Server disconnected without sending a response.")
        self._ended()

    def connection_lost(self, exc: Exception | None) -> None:
        self.resume_writing()
        if self.is_usable and exc is not None:
            self.error = httpx.ReadError(str(exc))
            self.error.__cause__ = exc
        self._ended()

    def pause_writing(self) -> None:
        self._writable = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    def _ended(self) -> None:
        if self.is_usable:
            self.is_usable = False
            if self.error is None and not self._is_idle:
                self._read(b"")
            self.notify()

    def _read(self, data: bytes) -> None:
        http = self._http
        try:
            http.receive_data(data)
            while not self._is_whole:
                event: Any = http.next_event()
                if event is h11.NEED_DATA:
                    break
                # By type, because isinstance() takes longer for the classes of h11.
                if type(event) is not h11.InformationalResponse:
                    self.events.append(event)
                    self._is_whole = type(event) is h11.EndOfMessage
                elif event.status_code == 101:
                    raise h11.RemoteProtocolError("the server changed to another protocol")
        except h11.RemoteProtocolError as error:
            self.error = httpx.RemoteProtocolError(str(error))
            self.error.__cause__ = error
        self.notify()

    # -- for the client ----------------------------------------------------------------------------------------

    @property
    def is_quiet(self) -> bool:
        """Whether a request can be sent, and nothing waits to be read, not even the end."""
        return self.is_usable and not self._poll.poll(0)

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

    def send(
        self, method: str, target: bytes, headers: Headers, body: Body, *, is_checked: bool = False
    ) -> None:
        """Writes a request, without a body that still comes. Headers that h11 has read are checked.

        Raises:
            httpx.LocalProtocolError: the request is not valid HTTP.
        """
        self._is_idle = self._is_whole = False
        send, framed = self._http.send, _framed(method, headers, body)
        parts = body if isinstance(body, list) else [body] if isinstance(body, bytes) else []
        is_complete = body is None or isinstance(body, (bytes, list))
        if is_checked and is_complete and framed[-1] != CHUNKED:
            first = b"%b %b HTTP/1.1" % (method.encode("ascii"), target)
            self._write([*plain_head(first, framed), *parts])
            # h11 has checked all of this when it was read, so it only has to know that there is a request.
            send(_bare(method))
            send(h11.EndOfMessage())
            return
        try:
            written = [send(h11.Request(method=method, target=target, headers=framed))]
            written += [send(h11.Data(data=each)) for each in parts]
            if is_complete:
                written.append(send(h11.EndOfMessage()))
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        self._write(written)

    async def send_rest(self, body: AsyncIterable[bytes]) -> None:
        """Writes a body as it comes."""
        try:
            async for each in body:
                self._write([self._http.send(h11.Data(data=each))])
                if self._writable is not None:
                    await self._writable
            self._write([self._http.send(h11.EndOfMessage())])
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error

    def _write(self, parts: list[bytes]) -> None:
        if not self.transport.is_closing():
            self.transport.write(b"".join(parts))

    def take(self) -> Any:
        """Takes the next event of the response, which must be there."""
        event = self.events.popleft()
        if not self.events:
            if self._unread > UNREAD_BYTES and not self.transport.is_closing():
                self.transport.resume_reading()
            self._unread = 0
        return event

    async def event(self) -> Any:
        """Waits for the next event of the response.

        Raises:
            httpx.TransportError: the connection broke, or the response is not valid HTTP.
        """
        while not self.events:
            if self.error is not None:
                raise self.error
            there = asyncio.Event()
            self.notify = there.set
            await there.wait()
        return self.take()

    def __aiter__(self) -> H11Connection:
        return self

    async def __anext__(self) -> bytes:
        event = await self.event()
        if isinstance(event, h11.Data):
            return bytes(event.data)
        raise StopAsyncIteration

    def release(self) -> bool:
        """Makes the connection free for another request, or closes it if the response is incomplete."""
        http, self.notify = self._http, nothing
        is_whole = http.our_state is h11.DONE and http.their_state is h11.DONE and not self.events
        if is_whole and self.is_usable and not http.trailing_data[0]:
            http.start_next_cycle()
            self._is_idle = True
            return True
        self.abort()
        return False

    def abort(self) -> None:
        """Closes the connection at once."""
        self.is_usable, self.notify = False, nothing
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
                        if self.tokens is not None:
                            self.tokens.connected(str(connection.transport.get_extra_info("peername")[0]))
                place.close()
                sent = self.send(connection, method, headers, body, signed_in=signed_in, to=to)
                if not (body is None or isinstance(body, (bytes, list))):
                    await connection.send_rest(body)
                flushed()
                result = await take(self.response(await connection.event(), connection, sent))
            except BaseException:
                connection.abort()
                raise
        self.release(connection)
        return result

    def idle(self) -> H11Connection | None:
        """Returns an idle connection for a request that is sent in this turn of the loop, if there is one."""
        found = next(reversed(self._idle), None) if self.proxy is None else None
        # It may be closed, and asyncio has not reported that yet; in the next turn it will have.
        if found is None or not found.is_quiet:
            return None
        del self._idle[found]
        self._let_in()  # a slot for which a request was called is still free
        return found

    def send(
        self,
        connection: H11Connection,
        method: str,
        headers: Headers,
        body: Body,
        *,
        signed_in: bool,
        to: Address,
        is_checked: bool = False,
    ) -> RequestToken:
        """Writes a request, without a body that still comes; returns its token."""
        sent, made = self._outgoing(method, to.url, {}, headers, signed_in=signed_in)
        is_checked = is_checked and len(made) == len(headers) + 1  # Only Host was added.
        connection.send(method.upper(), to.url.raw_path, made, body, is_checked=is_checked)
        return sent

    def response(self, head: h11.Response, connection: H11Connection, sent: RequestToken) -> PlainResponse:
        """Returns the response with this head."""
        raw, reason = head.headers.raw_items(), bytes(head.reason)
        made = PlainResponse(head.status_code, raw, reason, connection, sent)
        if self.tokens is not None and sent.access:
            self.tokens.answered(sent, made.status, made.headers.get("dpop-nonce", ""))
        return made

    def release(self, connection: H11Connection) -> None:
        """Keeps a connection for the next request, if its response was taken."""
        if connection.release():
            self._keep_idle(connection)


def _framed(method: str, headers: Headers, body: Body) -> list[tuple[bytes, bytes]]:
    """Returns the headers of a request, Host first, with those that say where its body ends, as httpx adds them."""
    host, *others = headers
    if any(name.lower() == b"content-length" for name, _ in others):
        return [host, *others]
    if body is None or body == b"":
        return [host, *([(b"Content-Length", b"0")] if method in _WITH_BODY else ()), *others]
    if isinstance(body, bytes):
        return [host, *others, (b"Content-Length", b"%d" % len(body))]
    return [host, *others, CHUNKED]


def plain_head(first: bytes, headers: Headers) -> list[bytes]:
    """Returns the head of a message as bytes: its first line, and headers that h11 has checked when it read them."""
    return [first, b"\r\n", *map(b"%b: %b\r\n".__mod__, headers), b"\r\n"]


@lru_cache(maxsize=16)
def _bare(method: str) -> h11.Request:
    """Returns a request without anything that h11 need not know to read the response."""
    return h11.Request(method=method, target="/", headers=[("Host", "")])


async def _each(parts: list[bytes]) -> AsyncGenerator[bytes]:
    for part in parts:
        yield part
