"""Addresses of HTTP servers: the check of URLs, and the part of a URL that may be shown.

Credentials in a URL become an ``Authorization`` header, and are never shown. The query is sent, but not shown, because it
may contain keys.
"""

from __future__ import annotations

import base64
import contextlib
import ipaddress
from dataclasses import field

import httpx

from mcp_tui.protocol.values import frozen
from mcp_tui.transport.unreachable import TransportError, readable


@frozen
class Address:
    """The address of a server: an absolute http or https URL without user, password, and fragment."""

    url: httpx.URL
    authorization: str | None = field(default=None, repr=False)
    """The value of the ``Authorization`` header for ``user:password@`` in the URL; ``None`` without credentials."""

    @property
    def host(self) -> str:
        """The host and port for sentences: ``127.0.0.1:8080``, ``example.org``, ``[::1]:80``."""
        return self.url.netloc.decode("ascii", "replace")

    @property
    def shown(self) -> str:
        """The URL for the user, without credentials, and with the query as ``?…``."""
        return readable(f"{self.url.copy_with(query=None)}{'?…' if self.url.query else ''}")

    @property
    def secure(self) -> bool:
        return self.url.scheme == "https"

    @property
    def loopback(self) -> bool:
        """Whether the host is this machine, so that there is no proxy in between."""
        # Every name below localhost is this machine (RFC 6761, 6.3), and a final dot changes nothing.
        host = self.url.host.rstrip(".").lower()
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(host.partition("%")[0]).is_loopback
        except ValueError:
            return False

    @property
    def origin(self) -> str:
        """The scheme, host, and port, without a path."""
        return f"{self.url.scheme}://{self.host}"

    def same_origin(self, other: Address) -> bool:
        """Returns whether another address has the same scheme, host, and port."""
        return self.origin == other.origin

    def beside(self, reference: str) -> Address | None:
        """Returns the address that a redirect names; ``None`` if it has another origin or is invalid."""
        with contextlib.suppress(httpx.InvalidURL, ValueError):
            found = Address(_bare(self.url.join(reference.strip())), self.authorization)
            return found if self.same_origin(found) else None
        return None

    def resolve(self, reference: str) -> Address:
        """Returns the address that the server's ``endpoint`` event names (HTTP with SSE, 2024-11-05).

        Raises:
            TransportError: the address is not a URL, or has another origin, to which no message may be sent.
        """
        try:
            found = Address(_bare(self.url.join(reference.strip())), self.authorization)
        except (httpx.InvalidURL, ValueError) as error:
            raise TransportError(
                f"The server sent an invalid endpoint URL: {readable(reference)!r}."
            ) from error
        if not self.same_origin(found):
            raise TransportError(
                f"The server named an endpoint on another origin: {found.shown}. Nothing is sent there."
            )
        return found


def parse(text: str) -> Address:
    """Parses a URL from the user or a config file.

    Raises:
        TransportError: the text is not an http or https URL with a host. The error does not repeat credentials.
    """
    try:
        url = httpx.URL(text.strip())
        port = url.port
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        why = readable(str(error)).rstrip(".")
        raise TransportError(f"Invalid URL: {why[:1].lower()}{why[1:]}.") from error
    if url.scheme not in {"http", "https"}:
        found = f"not {readable(url.scheme, 20)!r}" if url.scheme else "not without a scheme"
        raise TransportError(f"A URL begins with http:// or https://, {found}.")
    if not url.host:
        raise TransportError("The URL has no host. Use http://HOST:PORT/PATH.")
    if "%" in url.raw_host.decode("ascii", "replace") and ":" not in url.host:
        raise TransportError(f"Invalid host name in the URL: {readable(url.host, 100)!r}.")
    if port is not None and not 0 < port < 65536:
        raise TransportError(f"Invalid port {port} in the URL. Use 1 to 65535.")
    authorization = None
    if url.username or url.password:
        pair = f"{url.username}:{url.password}".encode()
        authorization = "Basic " + base64.b64encode(pair).decode("ascii")
    return Address(_bare(url), authorization)


def _bare(url: httpx.URL) -> httpx.URL:
    return url.copy_with(username=None, password=None, fragment=None)
