"""HTTP requests to one server, over httpx: who waits for whom, what leaves when, and which headers go along.

httpx's pool looks at every connection for every request, which halves its speed at twenty requests in flight and
leaves a tenth at a hundred; and a cancel must wait for no request. So each request here has a connection of its
own: the one that was used last, if it is idle, or a new one. There is no limit to how many there are, but to how many
are in the making (:mod:`mcp_tui.transport.connections`).
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
import time
import urllib.request
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Final, Protocol

import httpx

from mcp_tui import __version__
from mcp_tui.transport.addresses import Address, readable
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.connections import Connections, Lease, allow_files
from mcp_tui.transport.http_errors import cause, passing

AGAIN: Final = (0.05, 0.1, 0.2)
"""Seconds before each further attempt at a connection that was refused or reset: a listener with many at its door does
that, and so does one that is just starting."""

DOWN: Final = 1.0
"""Seconds for which a listener that refused all of them is tried but once."""

_FRAMING: Final = {
    "connection",
    "content-length",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
_PROTOCOL: Final = {
    "accept",
    "accept-encoding",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
}
"""With the framing of HTTP/1.1, the headers that nobody sets but the protocol itself."""

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")


def _nothing() -> None:
    pass


class _Stream(Protocol):
    """A socket as httpcore holds it."""

    async def aclose(self) -> None: ...


async def _close(streams: list[_Stream]) -> None:
    while streams:
        await streams.pop().aclose()


class HttpClient:
    """HTTP to one server: headers, TLS, proxy, and the moments at which a request begins and ends to leave."""

    def __init__(
        self, address: Address, headers: Mapping[str, str], *, insecure: bool, connect_timeout: float
    ) -> None:
        self.address = address
        self._given = _checked(headers)
        if address.authorization is not None:
            self._given.setdefault(b"authorization", (b"Authorization", address.authorization.encode()))
        self._insecure = insecure
        self._timeout = {"connect": connect_timeout, "pool": None, "read": None, "write": None}
        self._connections: Connections | None = None
        self._down_until = 0.0
        self.proxy = ""
        """The proxy that stands between, as a person may see it; empty where there is none."""

    def open(self) -> None:
        """Prepare for requests; nothing is sent.

        Raises:
            TransportError: the environment names a proxy that cannot be used.
        """
        proxy = None if self.address.loopback else _proxy(self.address)
        try:
            made = None if proxy is None else httpx.Proxy(proxy)
            self._connections = Connections(self._context(), made)
            self._connections.make()
            allow_files()
        except (httpx.InvalidURL, ImportError, RuntimeError, ValueError) as error:
            raise TransportError(
                f"the proxy of the environment cannot be used: {readable(str(error))}"
            ) from error
        if made is not None:
            self.proxy = readable(f"{made.url.scheme}://{made.url.netloc.decode('ascii', 'replace')}")

    def _context(self) -> ssl.SSLContext:
        if self.address.secure and not self._insecure:
            return ssl.create_default_context()  # the system's certificates, and SSL_CERT_FILE
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # for plain HTTP it is never used
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context

    @contextlib.asynccontextmanager
    async def request(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        *,
        to: Address | None = None,
        urgent: bool = False,
        starts: Callable[[], None] = _nothing,
        flushed: Callable[[], None] = _nothing,
    ) -> AsyncGenerator[httpx.Response]:
        """One exchange: the response as soon as its headers are here, its body still to come.

        Leaving the context before the body's end closes the connection, whatever the state it is in; so does the end of
        the task, also before there are headers. What is ``urgent`` waits for no connection of anything else. ``starts``
        is called right before the first byte is written, ``flushed`` when the operating system has the last.

        Raises:
            httpx.HTTPError: and others of :data:`http_errors.EXPECTED`.
        """
        if self._connections is None:
            raise httpx.UnsupportedProtocol("the connection is closed")
        lease = self._connections.lease(urgent=urgent)
        half_open: list[_Stream] = []
        begun = False

        async def trace(event: str, info: dict[str, Any]) -> None:
            nonlocal begun
            match event:
                case "connection.connect_tcp.started":
                    await lease.connecting()
                case "connection.connect_tcp.complete":
                    half_open.append(info["return_value"])
                case "connection.start_tls.complete":
                    half_open.clear()
                case "http11.send_request_headers.started" if info["request"].method != b"CONNECT":
                    half_open.clear()
                    lease.made()
                    begun = True
                    starts()
                case "http11.send_request_body.complete" if begun:
                    flushed()
                case _:
                    pass

        request = httpx.Request(
            method,
            (to or self.address).url,
            headers=self._headers(headers),
            content=body,
            extensions={"timeout": self._timeout, "trace": trace},
        )
        connections = self._connections
        await lease.obtain()
        try:
            response = await self._ask(lease, request, half_open)
            try:
                yield response
            finally:
                await response.aclose()
        except BaseException:
            # httpcore forgets sockets in the middle of a TLS handshake, and a request whose closing is interrupted
            # stays in its pool for good: so what did not end well is closed and not used again.
            await _close(half_open)
            await lease.connection.aclose()
            raise
        finally:
            lease.made()
        connections.give_back(lease.connection)

    async def _ask(self, lease: Lease, request: httpx.Request, half_open: list[_Stream]) -> httpx.Response:
        """The response to a request; a connection that was refused or reset before it stood is tried again, briefly."""
        for pause in AGAIN:
            try:
                return await lease.connection.handle_async_request(request)
            except httpx.ConnectError as error:
                if not passing(error) or time.monotonic() < self._down_until:
                    raise
            await _close(half_open)
            await lease.replace()
            await asyncio.sleep(pause)
        try:
            return await lease.connection.handle_async_request(request)
        except httpx.ConnectError:
            self._down_until = time.monotonic() + DOWN
            raise

    def _headers(self, protocol: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
        """The user's headers, and over them the protocol's."""
        merged = {b"user-agent": (b"User-Agent", f"mcp-tui/{__version__}".encode()), **self._given}
        for name, value in {**protocol, "Accept-Encoding": "identity"}.items():
            merged[name.lower().encode()] = (name.encode(), value.encode("latin-1", "replace"))
        return list(merged.values())

    def cannot(self, error: BaseException) -> str:
        """The sentence for a message that did not get there."""
        return f"cannot reach {readable(self.address.host, 100)}: {cause(error)}"

    async def close(self) -> None:
        """Close what is idle and take no more requests."""
        connections, self._connections = self._connections, None
        if connections is not None:
            await connections.close()


def left_out(headers: Mapping[str, str]) -> list[str]:
    """Which of the headers that a person gave are not sent, by name: the protocol sets them itself."""
    return [name for name in headers if name.lower() in _FRAMING | _PROTOCOL]


def _checked(headers: Mapping[str, str]) -> dict[bytes, tuple[bytes, bytes]]:
    checked: dict[bytes, tuple[bytes, bytes]] = {}
    for name, value in headers.items():
        value = value.strip(" \t")
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise TransportError(f"the header {readable(name, 60)!r} cannot be sent: it is not valid in HTTP")
        if name.lower() not in _FRAMING | _PROTOCOL:
            checked[name.lower().encode()] = (name.encode(), value.encode("utf-8", "replace"))
    return checked


def _proxy(address: Address) -> str | None:
    """The proxy that the environment (or the system's settings) wants for an address."""
    if urllib.request.proxy_bypass(address.url.host):
        return None
    proxies = urllib.request.getproxies()
    found = proxies.get(address.url.scheme) or proxies.get("all")
    return None if not found else found if "://" in found else f"http://{found}"
