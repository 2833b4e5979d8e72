"""Single requests to URLs that a server named: small documents and forms, for authorization.

The URL may be hostile. So requests use only https, or http to this machine, follow no redirect, and have limited time and
size. They go to a private address only if the MCP server itself has one. They have none of the headers that the user gave
for the MCP server.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from typing import Final

import httpx

from mcp_tui.protocol.framing import Oversized
from mcp_tui.protocol.values import frozen
from mcp_tui.transport.addresses import Address, parse
from mcp_tui.transport.base import TransportError, Turn
from mcp_tui.transport.http_bodies import read_body
from mcp_tui.transport.http_client import HttpClient
from mcp_tui.transport.http_errors import EXPECTED, foreign_encoding
from mcp_tui.transport.suspension import Limit
from mcp_tui.transport.targets import VERIFIED, HttpTarget, Tls
from mcp_tui.transport.unreachable import readable

DOCUMENT_BYTES: Final = 512 * 1024
"""The most bytes of a document; metadata and tokens have a few thousand."""

FETCH_SECONDS: Final = 15.0
"""The most seconds for one request, from the lookup of the name to the last byte."""

_FROM: Final = {
    "public": {"public"},
    "private": {"public", "private"},
    "link-local": {"public", "link-local"},
    "loopback": {"public", "private", "loopback"},
}
"""The kinds of addresses that a server may name, by the kind of its own address."""

_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")
_PRIVATE: Final = tuple(map(ipaddress.ip_network, ("192.0.0.0/24", "64:ff9b:1::/48", "fec0::/10")))
"""Private networks that not every version of Python counts as private."""


@frozen
class Fetched:
    """A response: its status, its headers, and its body."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def address_kind(ip: str) -> str:
    """Returns the kind of an IP address; a reserved one counts as private, and the unspecified one as loopback.

    An IPv6 address that embeds an IPv4 address (mapped, compatible, 6to4, NAT64) counts as the latter, to which it leads.
    """
    address = ipaddress.ip_address(ip.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        within = address in _NAT64 or (address in _COMPATIBLE and int(address) > 1)
        tail = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if within else address
        address = address.ipv4_mapped or address.sixtofour or tail
    if any(address in network for network in _PRIVATE):
        return "private"
    if address.is_loopback or address.is_unspecified:
        return "loopback"
    if address.is_link_local:
        return "link-local"
    return "public" if address.is_global and not address.is_multicast else "private"


class Fetcher:
    """Makes requests on behalf of an MCP server, whose address decides which other addresses it may name.

    ``tls`` is only used for the origin of that server.
    """

    def __init__(self, server: Address, *, tls: Tls = VERIFIED) -> None:
        self.server = server
        self._tls = tls
        self._allowed: set[str] | None = None

    def connected(self, ip: str) -> None:
        """Handles the IP address of a connection to the server, which decides instead of a later lookup.

        After connections to addresses of several kinds, only kinds that all of them may name are permitted.
        """
        allowed = _FROM[address_kind(ip)]
        self._allowed = allowed if self._allowed is None else self._allowed & allowed

    async def fetch(
        self, url: str, form: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Fetched:
        """Gets a document, or POSTs a ``form`` with its content type in ``headers``.

        Raises:
            TransportError: the URL is not permitted, or there was no answer in time.
        """
        address = self.permitted(url)
        tls = self._tls if address.same_origin(self.server) else VERIFIED
        target = HttpTarget(url=url, **asdict(tls))
        client = HttpClient(target, connect_timeout=FETCH_SECONDS / 3)  # so that another address can be tried
        try:
            async with Limit(FETCH_SECONDS):
                if self._allowed is None:
                    await self._guess()
                client.open()
                # A proxy looks up names itself, so only literal addresses can be checked.
                ips = _literal(address) if client.proxy else await _resolved(address)
                self._check(address, ips)
                # Connects to the checked addresses, because another lookup could return others.
                *others, last = [""] if client.proxy else ips
                for ip in others:
                    with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                        return await _exchange(client, form, headers or {}, ip)
                return await _exchange(client, form, headers or {}, last)
        except TimeoutError:
            raise TransportError(f"no answer from {address.shown} within {FETCH_SECONDS:g} s") from None
        except EXPECTED as error:
            raise TransportError(client.failure_text(error)) from error
        finally:
            await client.close()

    @staticmethod
    def permitted(url: str) -> Address:
        """Returns the address of a permitted URL: https, or http to this machine, without credentials.

        Raises:
            TransportError: the URL is not permitted ("Communication Security", authorization, 2025-03-26 and later).
        """
        address = parse(url)
        if address.authorization is not None:
            raise TransportError(f"the URL {address.shown} has credentials in it, so it is not used")
        if not address.secure and not address.loopback:
            raise TransportError(f"{address.shown} does not use https, so it is not used for signing in")
        return address

    async def _guess(self) -> None:
        """Before any connection to the server, looks up its name; permits only kinds that all its addresses may name."""
        with suppress(OSError, UnicodeError):
            for ip in await _resolved(self.server):
                self.connected(ip)
        # If the name cannot be looked up here (a proxy knows it), only public addresses are permitted.
        self._allowed = self._allowed or _FROM["public"]

    def _check(self, address: Address, ips: list[str]) -> None:
        """Raises an error for an IP address of a kind that the MCP server may not name."""
        # All addresses are checked, because a name with a public and a private address could lead into the user's network.
        for ip in ips:
            kind = address_kind(ip)
            if kind not in (self._allowed or ()):
                raise TransportError(
                    f"{address.shown} is at the {kind} address {ip}, which the MCP server may not name"
                )


async def _resolved(address: Address) -> list[str]:
    """Returns the IP addresses of a host, at least one.

    Raises:
        OSError: the name cannot be looked up.
    """
    if literal := _literal(address):
        return literal
    host, port = address.url.raw_host.decode("ascii"), address.url.port
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


def _literal(address: Address) -> list[str]:
    """Returns the IP address if the host is one, even as a single number; empty for a name."""
    host = address.url.host
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        with suppress(OSError, UnicodeError):
            return [str(ipaddress.ip_address(socket.inet_aton(host)))]
    return []


async def _exchange(client: HttpClient, form: bytes | None, headers: Mapping[str, str], ip: str) -> Fetched:
    method = "GET" if form is None else "POST"
    async with client.request(method, {"Accept": "application/json", **headers}, form, ip=ip) as response:
        if encoding := foreign_encoding(response.headers):
            raise httpx.DecodingError(f"the answer is compressed ({readable(encoding)})")
        body = await read_body(response.aiter_raw(), DOCUMENT_BYTES, Turn())
        if isinstance(body, Oversized):
            shown = client.address.shown
            raise TransportError(
                f"the answer of {shown} is larger than {DOCUMENT_BYTES // 1024} kB, so it is not read"
            )
        return Fetched(response.status_code, response.headers, body)
