"""HTTP requests to one server over httpx: connections, headers, TLS, and proxies.

httpx's pool looks at every connection for every request, which halves its speed at twenty requests in flight and
leaves a tenth at a hundred; and a cancel must wait for no request. So each request here has a connection of its
own: the one that was used last, if it is idle, or a new one. Their number has no limit, but only so many are made at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx

from mcp_tui import __version__
from mcp_tui.protocol.framing import header_fault
from mcp_tui.transport.addresses import Address, parse
from mcp_tui.transport.base import RequestToken, TokenSource, TransportError, spawn
from mcp_tui.transport.http_cookies import Cookies
from mcp_tui.transport.http_errors import EXPECTED, REFUSED, cause, is_refused_or_reset
from mcp_tui.transport.http_proxy import Proxy, ProxyFailed, find, shown_proxies
from mcp_tui.transport.targets import HttpTarget
from mcp_tui.transport.unreachable import readable

IDLE_SECONDS: Final = 4.0
"""Seconds that an unused connection is kept: less than the five after which many servers close theirs, so that no
connection is closed while a request is on its way."""

# Many listeners queue a hundred new connections at most, often fewer, and drop or refuse the rest of a thousand calls.
MAKING: Final = 32
"""Connections that may be made at once, for requests, and as many for urgent messages."""

_KEEP_ALIVE: Final = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
_ONE_CONNECTION: Final = httpx.Limits(
    max_connections=1, max_keepalive_connections=1, keepalive_expiry=IDLE_SECONDS
)

Headers = Sequence[tuple[bytes, bytes]]

HttpxConnection = httpx.AsyncHTTPTransport
"""A connection of httpx's: it carries one request at a time and opens itself when it must."""


AGAIN: Final = (0.05, 0.1, 0.2)
"""Seconds before each further attempt at a connection that was refused or reset, as a listener does that is overloaded or
just starting."""

TOKEN: Final = "mcp_tui.token"  # noqa: S105 - the name of one
"""The extension of a response that holds the :class:`RequestToken` of its request."""

ADDRESS_EXTENSION: Final = "mcp_tui.address"
"""The extension of a response that holds the :class:`Address` that it came from."""

_FRAMING: Final = {
    "connection",
    "content-length",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
_CONTENT: Final = {"accept", "accept-encoding", "content-type", "last-event-id"}
_MCP_HEADERS: Final = {"mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id"}
_RESERVED_HEADERS: Final = _FRAMING | _CONTENT | _MCP_HEADERS
"""Headers that only the protocol sets."""


def nothing() -> None:
    """Does nothing."""


class ConnectionSlots:
    """Places for connections in the making, and the requests that wait for one, or for an idle connection."""

    def __init__(self) -> None:
        self.free = MAKING
        self._turns: deque[asyncio.Future[None]] = deque()

    async def wait(self) -> None:
        """Waits until it is the turn of a request; somebody new may come first all the same."""
        turn = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        await turn

    def call(self) -> bool:
        """Calls the first that still waits; returns whether there is one."""
        while self._turns:
            turn = self._turns.popleft()
            if not turn.done():
                turn.set_result(None)
                return True
        return False


class _Course:
    """The course of one request until it has left: its ``sockets``, whether it ``begun`` to leave, and whether it ``passed``
    the proxy, if there is one. ``place`` holds a place among the connections in the making, if one is made.
    """

    def __init__(
        self, tokens: TokenSource | None, starts: Callable[[], None], flushed: Callable[[], None]
    ) -> None:
        self.place = contextlib.ExitStack()
        self.sockets: list[Any] = []
        self.begun = self.passed = False
        self._tokens, self._starts, self._flushed = tokens, starts, flushed

    async def trace(self, event: str, info: dict[str, Any]) -> None:
        """Follows what httpcore reports of the connection and the request."""
        match event:
            case "connection.connect_tcp.complete" | "socks.connect_tcp.complete":
                self.sockets.append(info["return_value"])
                if self._tokens is not None:
                    self._tokens.connected(str(self.sockets[-1].get_extra_info("server_addr")[0]))
            # The CONNECT to a proxy is not the request itself: a cancel may still take that back.
            case "http11.send_request_headers.started" if info["request"].method != b"CONNECT":
                self.place.close()
                self.begun = self.passed = True
                self._starts()
            case "proxy.start_tls.started" | "socks.start_tls.started":
                self.passed = True  # from here on the server is heard through the tunnel
            case "http11.send_request_body.complete" if self.begun:
                self._flushed()
            case _:
                pass


class HttpClient:
    """The HTTP connections to one server."""

    def __init__(
        self,
        target: HttpTarget,
        *,
        connect_timeout: float,
        tokens: TokenSource | None = None,
    ) -> None:
        """Checks the URL and the headers."""
        self.address = parse(target.url)
        self._target = target
        self._given = _checked([*target.headers.items(), *target.repeated])
        if self.address.authorization is not None:
            self._given.setdefault(
                b"authorization", [(b"Authorization", self.address.authorization.encode())]
            )
        self.tokens = None if b"authorization" in self._given else tokens
        """The source of the token of each request; ``None`` if a person gave a header instead."""
        self._insecure = target.insecure
        # How long an answer may take is the client's to decide: a tool may run, and a stream be silent, for hours.
        self._timeout = {"connect": connect_timeout, "pool": None, "read": None, "write": None}
        self._make: Callable[[], HttpxConnection] | None = None
        """Makes a connection, which is not open yet; ``None`` before :meth:`open` and after :meth:`close`."""
        self._idle: dict[HttpxConnection, asyncio.TimerHandle] = {}
        # Two rooms: a cancel must not wait for calls that are still connecting.
        self._slots = {urgent: ConnectionSlots() for urgent in (True, False)}
        self.proxy: Proxy | None = None
        """The proxy of the environment; ``None`` if there is none, or before :meth:`open`."""
        self.cookies = Cookies()
        self.between: tuple[str, ...] = ()
        """The proxies that the headers of the newest response show."""

    def open(self) -> None:
        """Prepares for requests; nothing is sent.

        Raises:
            TransportError: the environment names a proxy that cannot be used, or a client certificate cannot be read.
        """
        context = self._context()
        try:
            self.proxy = find(self.address)
            made = None if self.proxy is None else httpx.Proxy(self.proxy.url)
            self._make = partial(
                httpx.AsyncHTTPTransport,
                verify=context,
                trust_env=False,
                limits=_ONE_CONNECTION,
                proxy=made,
                socket_options=_KEEP_ALIVE,
            )
            # Made once and thrown away: what httpx has against a proxy, such as SOCKS without its package, it says only
            # here.
            self._make()
        except ImportError as error:
            text = "The proxy of the environment is a SOCKS proxy. Install mcp-tui with the extra 'socks' to use it."
            raise TransportError(text) from error
        except (httpx.InvalidURL, RuntimeError, ValueError) as error:
            raise TransportError(
                f"Cannot use the proxy of the environment: {readable(str(error))}."
            ) from error

    def _context(self) -> ssl.SSLContext:
        if self.address.secure and not self._insecure:
            context = ssl.create_default_context()  # the system's certificates, and SSL_CERT_FILE
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # for plain HTTP it is never used
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        load_client_certificate(self._target, context)
        return context

    @contextlib.asynccontextmanager
    async def request(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | AsyncIterable[bytes] | None = None,
        *,
        exact: Headers | None = None,
        signed_in: bool = True,
        to: Address | None = None,
        ip: str = "",
        urgent: bool = False,
        starts: Callable[[], None] = nothing,
        flushed: Callable[[], None] = nothing,
    ) -> AsyncGenerator[httpx.Response]:
        """Makes one exchange: yields the response as soon as its headers are here, its body still to come.

        Leaving the context before the body's end closes the connection in whatever state it is; so does the end of the
        task, also before there are headers. An ``urgent`` request waits for no other. ``starts`` is called right before
        the first byte is written, ``flushed`` when the operating system has the last. ``ip`` is where to connect; without
        it the name of the host is looked up. ``exact`` are the headers of another client, sent in place of a person's and of
        those of the protocol; with ``signed_in`` a token is added, or what the URL has for one, if they have none.

        Raises:
            httpx.HTTPError: and others of :data:`http_errors.EXPECTED`.
        """
        if self._make is None:
            raise httpx.UnsupportedProtocol("the connection is closed")
        course = _Course(self.tokens if self.proxy is None else None, starts, flushed)
        address = to or self.address
        url = address.url
        sent, made = self._outgoing(method, url, headers, exact, signed_in=signed_in)
        named: dict[str, Any] = {"sni_hostname": url.raw_host.decode("ascii")} if ip else {}
        """The name that a certificate must have, where the URL has the IP address in its place."""
        request = httpx.Request(
            method,
            url.copy_with(host=ip) if ip else url,
            headers=made,
            content=body,
            extensions={"timeout": self._timeout, "trace": course.trace, **named},
        )
        connection = await self._obtain(self._make, self._slots[urgent], course.place)
        try:
            response = await _response(connection, request)
            response.extensions |= {TOKEN: sent, ADDRESS_EXTENSION: address}
            # The client behind a tap keeps its own cookies.
            if exact is None:
                self.cookies.take(url, response)
                self.between = shown_proxies(response.headers)
            if self.tokens is not None and sent.access:
                self.tokens.answered(sent, response.status_code, response.headers.get("dpop-nonce", ""))
            try:
                yield response
            finally:
                await response.aclose()
        except BaseException as error:
            # httpcore forgets sockets in the middle of a TLS handshake, and a request whose closing is interrupted
            # stays in its pool for good: so what did not end well is closed and not used again.
            for each in course.sockets:
                await each.aclose()
            await connection.aclose()
            if self.proxy is not None and isinstance(error, EXPECTED):
                connected = bool(course.sockets) or course.begun
                raise self.proxy.failure(error, connected=connected, passed=course.passed) from error
            raise
        finally:
            course.place.close()
        self._idle[connection] = asyncio.get_running_loop().call_later(IDLE_SECONDS, self._drop, connection)
        self._let_in()
        if self._make is None:
            # close() has run meanwhile, and did not know of a connection that was in use.
            self._drop(connection)

    def _outgoing(
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str],
        exact: Headers | None,
        *,
        signed_in: bool,
    ) -> tuple[RequestToken, Headers]:
        """Returns the token of a request, and all its headers."""
        given = not signed_in or any(name.lower() == b"authorization" for name, _ in exact or ())
        sent = RequestToken() if self.tokens is None or given else self.tokens.for_request(method, str(url))
        if exact is None:
            return sent, self._headers({**headers, **sent.headers}, self.cookies.header(url), url.netloc)
        added = [(name.encode(), value.encode()) for name, value in sent.headers.items()]
        own = [] if given else self._given.get(b"authorization", [])
        return sent, [(b"Host", url.netloc), *exact, *added, *own]

    async def _obtain(
        self, make: Callable[[], HttpxConnection], slots: ConnectionSlots, place: contextlib.ExitStack
    ) -> HttpxConnection:
        """Returns the connection that was used last, if it is idle, else a new one as soon as there is room.

        One that comes free meanwhile is taken: those in the making may hang until the limit of each.
        """
        while not (self._idle or slots.free):
            try:
                await slots.wait()
            except asyncio.CancelledError:
                self._let_in()  # it may have been called already
                raise
        if not self._idle:
            slots.free -= 1
            place.callback(self._leave, slots)
            return make()
        found, timer = self._idle.popitem()
        timer.cancel()
        self._let_in()  # it may have been called for a place, which is still free
        return found

    def _leave(self, slots: ConnectionSlots) -> None:
        slots.free += 1
        self._let_in()

    def _let_in(self) -> None:
        """Calls a request that waits, if there is something for it: an urgent one first."""
        for slots in self._slots.values():
            if (self._idle or slots.free) and slots.call():
                return

    def _drop(self, connection: HttpxConnection) -> None:
        self._idle.pop(connection).cancel()
        spawn(connection.aclose(), name="close an idle connection")

    def _headers(self, protocol: Mapping[str, str], cookies: str, host: bytes) -> list[tuple[bytes, bytes]]:
        """Returns the user's headers, overridden by the protocol's. ``cookies`` of the server follow those of the user."""
        ours = {b"host": host, b"user-agent": f"mcp-tui/{__version__}".encode()}
        merged = {**{name: [(name.title(), value)] for name, value in ours.items()}, **self._given}
        # Nothing is ever unpacked: one megabyte of gzip can be 67 in a single chunk, before a cap could see it.
        for name, value in {**protocol, "Accept-Encoding": "identity"}.items():
            merged[name.lower().encode()] = [(name.encode(), value.encode("latin-1", "replace"))]
        if cookies:
            given = [value for _, value in merged.get(b"cookie", [])]
            merged[b"cookie"] = [(b"Cookie", b"; ".join([*given, cookies.encode("latin-1", "replace")]))]
        return [each for values in merged.values() for each in values]

    def failure_text(self, error: BaseException) -> str:
        """Returns the sentence for a message that was not delivered."""
        if isinstance(error, ProxyFailed):
            return error.advised
        host, why = readable(self.address.host, 100), cause(error)
        return f"{why} by {host}" if why == REFUSED else f"cannot reach {host}: {why}"

    async def close(self) -> None:
        """Closes idle connections and accepts no more requests."""
        self._make = None
        while self._idle:
            connection, timer = self._idle.popitem()
            timer.cancel()
            await connection.aclose()


async def _response(connection: HttpxConnection, request: httpx.Request) -> httpx.Response:
    """Returns the response to a request; a connection that is refused or reset while it is made is tried again."""
    # Nothing of the request has left where the connection itself failed, so it is no second attempt at a call.
    for pause in AGAIN:
        try:
            return await connection.handle_async_request(request)
        except httpx.ConnectError as error:
            if not is_refused_or_reset(error):
                raise
        await connection.aclose()  # httpcore holds a tunnel that was reset for busy, and would wait for it
        await asyncio.sleep(pause)
    return await connection.handle_async_request(request)


def ignored_headers(headers: Mapping[str, str]) -> list[str]:
    """Returns the names of a person's headers that are not sent, because the protocol sets them itself."""
    return [name for name in headers if name.lower() in _RESERVED_HEADERS]


def load_client_certificate(target: HttpTarget, context: ssl.SSLContext) -> None:
    """Loads the client certificate of a target, if it has one.

    Raises:
        TransportError: a file cannot be read, or holds something else.
    """
    if not target.client_cert:
        return
    for path in filter(None, (target.client_cert, target.client_key)):
        try:
            with Path(path).open("rb"):
                pass
        except OSError as error:
            why = os.strerror(error.errno or 0).lower()
            raise TransportError(f"Cannot read the client certificate {path!r}: {why}.") from None
    try:
        # an empty password, so that OpenSSL does not ask for one at the terminal
        context.load_cert_chain(target.client_cert, target.client_key or None, password="")
    except (ssl.SSLError, ValueError) as error:
        key = target.client_key or target.client_cert
        if getattr(error, "reason", "") == "KEY_VALUES_MISMATCH":
            text = f"The key in {key!r} does not belong to the client certificate {target.client_cert!r}."
        else:
            text = (
                f"No certificate in {target.client_cert!r}, or no unencrypted key in {key!r}. "
                "Both must be PEM (--client-cert, --client-key)."
            )
        raise TransportError(text) from None


def _checked(headers: Sequence[tuple[str, str]]) -> dict[bytes, list[tuple[bytes, bytes]]]:
    checked: dict[bytes, list[tuple[bytes, bytes]]] = {}
    for name, value in headers:
        value = value.strip(" \t")
        if fault := header_fault(name, value):
            raise TransportError(f"{fault}. Replace or remove that character.")
        if name.lower() not in _RESERVED_HEADERS:
            checked.setdefault(name.lower().encode(), []).append((name.encode(), value.encode()))
    return checked
