"""HTTP requests to one server over httpx: connections, headers, TLS, and proxies.

httpx's pool checks every connection for every request, which halves its speed at twenty requests in flight, and leaves a
tenth at a hundred. Besides, a cancel must not wait for requests. So each request here has a separate connection: the idle
one that was used last, or a new one. The number of connections is unlimited, but only :data:`MAKING` are made at once.
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
from mcp_tui.transport.base import NO_TOKEN, RequestToken, TokenSource, TransportError, spawn
from mcp_tui.transport.http_cookies import Cookies
from mcp_tui.transport.http_errors import EXPECTED, cause, is_refused_or_reset
from mcp_tui.transport.http_proxy import Proxy, ProxyFailed, find, shown_proxies
from mcp_tui.transport.network_errors import REFUSED
from mcp_tui.transport.targets import HttpTarget
from mcp_tui.transport.unreachable import readable

IDLE_SECONDS: Final = 4.0
"""The seconds after which an unused connection is closed.

Many servers close theirs after five seconds; a shorter time avoids that a connection is closed while a request is sent.
"""

# Many listeners queue at most a hundred new connections, and drop or refuse others, for example those of a thousand calls.
MAKING: Final = 32
"""The most connections that are made at once for requests, and also for urgent messages."""

_KEEP_ALIVE: Final = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
_ONE_CONNECTION: Final = httpx.Limits(
    max_connections=1, max_keepalive_connections=1, keepalive_expiry=IDLE_SECONDS
)

Headers = Sequence[tuple[bytes, bytes]]

AGAIN: Final = (0.05, 0.1, 0.2)
"""The seconds before each further attempt to connect after a refusal or reset.

A listener that is overloaded or just starting refuses or resets connections.
"""

TOKEN: Final = "mcp_tui.token"  # noqa: S105 - the name of one
"""The extension of a response with the :class:`RequestToken` of its request."""

ADDRESS_EXTENSION: Final = "mcp_tui.address"
"""The extension of a response with the :class:`Address` of its request."""

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
    """The slots for connections that are being made, and the requests that wait for a slot or an idle connection."""

    def __init__(self) -> None:
        self.free = MAKING
        self.turns: deque[asyncio.Future[None]] = deque()

    async def wait(self) -> None:
        """Waits until the request is called. A new request may still take the slot first, so the caller checks again."""
        turn = asyncio.get_running_loop().create_future()
        self.turns.append(turn)
        await turn

    def call(self) -> bool:
        """Calls the first waiting request; returns whether there is one."""
        while self.turns:
            turn = self.turns.popleft()
            if not turn.done():
                turn.set_result(None)
                return True
        return False


class _Course:
    """The progress of one request until it is sent.

    ``sockets`` has its connections. ``begun`` says whether its headers are being sent, and ``passed`` whether it is past the
    proxy, if there is one. ``place`` releases the slot of a connection that is being made.
    """

    def __init__(
        self, tokens: TokenSource | None, starts: Callable[[], None], flushed: Callable[[], None]
    ) -> None:
        self.place = contextlib.ExitStack()
        self.sockets: list[Any] = []
        self.begun = self.passed = False
        self._tokens, self._starts, self._flushed = tokens, starts, flushed

    async def trace(self, event: str, info: dict[str, Any]) -> None:
        """Handles the trace events of httpcore about the connection and the request."""
        match event:
            case "connection.connect_tcp.complete" | "socks.connect_tcp.complete":
                self.sockets.append(info["return_value"])
                if self._tokens is not None:
                    self._tokens.connected(str(self.sockets[-1].get_extra_info("server_addr")[0]))
            # The CONNECT to a proxy is not the request itself, which can still be withdrawn.
            case "http11.send_request_headers.started" if info["request"].method != b"CONNECT":
                self.place.close()
                self.begun = self.passed = True
                self._starts()
            case "proxy.start_tls.started" | "socks.start_tls.started":
                self.passed = True  # later errors are from the server, behind the tunnel
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
        """The source of the token of each request; ``None`` if the user gave an ``Authorization`` header."""
        self._insecure = target.insecure
        # The client decides how long an answer may take: a tool may run for hours, and a stream may be silent for hours.
        self._timeout = {"connect": connect_timeout, "pool": None, "read": None, "write": None}
        self._make: Callable[[], Any] | None = None
        """The function that makes an unopened connection; ``None`` before :meth:`open` and after :meth:`close`."""
        self._idle: dict[Any, float] = {}
        """The idle connections, and since when they are; the newest is last."""
        self._closing: asyncio.TimerHandle | None = None
        """Closes the connections that are idle for too long."""
        # Separate slots, because a cancel must not wait for calls that are still connecting.
        self._slots = {urgent: ConnectionSlots() for urgent in (True, False)}
        self.proxy: Proxy | None = None
        """The proxy of the environment; ``None`` without one, and before :meth:`open`."""
        self.cookies = Cookies()
        self.between: tuple[str, ...] = ()
        """The proxies that are visible in the headers of the newest response."""

    def open(self) -> None:
        """Prepares for requests; sends nothing.

        Raises:
            TransportError: the proxy of the environment cannot be used, or a client certificate cannot be read.
        """
        context = self._context()
        try:
            self.proxy = find(self.address)
            self._make = self._maker(context)
        except ImportError as error:
            text = "The proxy of the environment is a SOCKS proxy. Install mcp-tui with the extra 'socks' to use it."
            raise TransportError(text) from error
        except (httpx.InvalidURL, RuntimeError, ValueError) as error:
            raise TransportError(
                f"Cannot use the proxy of the environment: {readable(str(error))}."
            ) from error

    def _maker(self, context: ssl.SSLContext) -> Callable[[], Any]:
        """Returns the function that makes a connection."""
        made = partial(
            httpx.AsyncHTTPTransport,
            verify=context,
            trust_env=False,
            limits=_ONE_CONNECTION,
            proxy=None if self.proxy is None else httpx.Proxy(self.proxy.url),
            socket_options=_KEEP_ALIVE,
        )
        # A connection is made once and discarded, because only this raises httpx's errors about a proxy, such as SOCKS
        # without its package.
        made()
        return made

    def _context(self) -> ssl.SSLContext:
        if self.address.secure and not self._insecure:
            context = ssl.create_default_context()  # the system's certificates, and SSL_CERT_FILE
        else:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used for plain HTTP
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
        """Makes one exchange; yields the response as soon as its headers have arrived, before its body.

        Leaving the context before the end of the body closes the connection. So does cancelling the task, at any time.

        Args:
            method: the HTTP method.
            headers: the headers of the protocol.
            body: the body, if any.
            exact: the headers of another client, sent instead of those of the user and the protocol.
            signed_in: whether a token, or the credentials of the URL, are added to ``exact`` if it has none.
            to: the address; by default that of the server.
            ip: the IP address to connect to; by default that of the host's name.
            urgent: whether the request must not wait for others.
            starts: called right before the first byte is written.
            flushed: called when the last byte was written to the operating system.

        Raises:
            httpx.HTTPError: the exchange failed; also the other errors of :data:`http_errors.EXPECTED`.
        """
        if self._make is None:
            raise httpx.UnsupportedProtocol("the connection is closed")
        course = _Course(self.tokens if self.proxy is None else None, starts, flushed)
        address = to or self.address
        url = address.url
        sent, made = self._outgoing(method, url, headers, exact, signed_in=signed_in)
        named: dict[str, Any] = {"sni_hostname": url.raw_host.decode("ascii")} if ip else {}
        """The name that a certificate must have if the URL has an IP address instead of the host's name."""
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
            # A client behind a tap handles its own cookies.
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
            # After an error the connection is closed and not used again: httpcore loses sockets within a TLS handshake,
            # and a request whose closing is interrupted stays in its pool forever.
            for each in course.sockets:
                await each.aclose()
            await connection.aclose()
            if self.proxy is not None and isinstance(error, EXPECTED):
                connected = bool(course.sockets) or course.begun
                raise self.proxy.failure(error, connected=connected, passed=course.passed) from error
            raise
        finally:
            course.place.close()
        self._keep_idle(connection)

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
        has_own = not signed_in or any(name.lower() == b"authorization" for name, _ in exact or ())
        sent = NO_TOKEN if self.tokens is None or has_own else self.tokens.for_request(method, url)
        if exact is None:
            return sent, self._headers({**headers, **sent.headers}, self.cookies.header(url), url.netloc)
        added = [(name.encode(), value.encode()) for name, value in sent.headers.items()]
        own = [] if has_own else self._given.get(b"authorization", [])
        return sent, [(b"Host", url.netloc), *exact, *added, *own]

    async def _obtain(
        self, make: Callable[[], Any], slots: ConnectionSlots, place: contextlib.ExitStack
    ) -> Any:
        """Returns the idle connection that was used last, or else a new one as soon as there is a slot.

        While waiting for a slot, it takes a connection that becomes idle, because new connections may hang until their
        timeout.
        """
        while not (self._idle or slots.free):
            try:
                await slots.wait()
            except asyncio.CancelledError:
                self._let_in()  # this request may have been called, so the next one is called instead
                raise
        if not self._idle:
            slots.free -= 1
            place.callback(self._leave, slots)
            return make()
        found, _ = self._idle.popitem()
        self._let_in()  # a slot for which this request was called is still free
        return found

    def _keep_idle(self, connection: Any) -> None:
        """Keeps a connection that is free again for the next request."""
        self._idle[connection] = asyncio.get_running_loop().time()
        self._let_in()
        if self._make is None:
            # close() was called meanwhile, and did not close this connection, which was in use.
            self._drop(connection)
        elif self._closing is None:
            self._close_later(IDLE_SECONDS)

    def _close_later(self, seconds: float) -> None:
        # One timer for all connections, because a timer for each request costs more than this.
        self._closing = asyncio.get_running_loop().call_later(seconds, self._close_idle)

    def _close_idle(self) -> None:
        self._closing, now = None, asyncio.get_running_loop().time()
        for connection, since in [*self._idle.items()]:
            if since + IDLE_SECONDS > now:
                return self._close_later(since + IDLE_SECONDS - now)
            self._drop(connection)
        return None

    def _leave(self, slots: ConnectionSlots) -> None:
        slots.free += 1
        self._let_in()

    def _let_in(self) -> None:
        """Calls a waiting request, urgent ones first, if there is a slot or an idle connection."""
        for slots in self._slots.values():
            if slots.turns and (self._idle or slots.free) and slots.call():
                return

    def _drop(self, connection: Any) -> None:
        del self._idle[connection]
        spawn(connection.aclose(), name="close an idle connection")

    def _headers(self, protocol: Mapping[str, str], cookies: str, host: bytes) -> list[tuple[bytes, bytes]]:
        """Returns the headers of the user, overridden by those of the protocol, with ``cookies`` after the user's."""
        ours = {b"host": host, b"user-agent": f"mcp-tui/{__version__}".encode()}
        merged = {**{name: [(name.title(), value)] for name, value in ours.items()}, **self._given}
        # Compression is not accepted: 1 MB of gzip may become 67 MB in a single chunk, before the size is checked.
        for name, value in {**protocol, "Accept-Encoding": "identity"}.items():
            merged[name.lower().encode()] = [(name.encode(), value.encode("latin-1", "replace"))]
        if cookies:
            values = [value for _, value in merged.get(b"cookie", [])]
            merged[b"cookie"] = [(b"Cookie", b"; ".join([*values, cookies.encode("latin-1", "replace")]))]
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
        if self._closing is not None:
            self._closing.cancel()
        while self._idle:
            await self._idle.popitem()[0].aclose()


async def _response(connection: httpx.AsyncBaseTransport, request: httpx.Request) -> httpx.Response:
    """Returns the response to a request; tries again if the connection is refused or reset while it is made."""
    # If the connection itself failed, no byte of the request was sent, so a call is not made twice.
    for pause in AGAIN:
        try:
            return await connection.handle_async_request(request)
        except httpx.ConnectError as error:
            if not is_refused_or_reset(error):
                raise
        await connection.aclose()  # httpcore would wait for a tunnel that was reset
        await asyncio.sleep(pause)
    return await connection.handle_async_request(request)


def ignored_headers(headers: Mapping[str, str]) -> list[str]:
    """Returns the names of the user's headers that are not sent, because the protocol sets them."""
    return [name for name in headers if name.lower() in _RESERVED_HEADERS]


def load_client_certificate(target: HttpTarget, context: ssl.SSLContext) -> None:
    """Loads the client certificate of a target, if it has one.

    Raises:
        TransportError: a file cannot be read, or has other content.
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
        # With an empty password, OpenSSL does not ask for one at the terminal.
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
