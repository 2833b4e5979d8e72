"""Addresses of HTTP servers: what may be connected to, and what of it may be shown.

Credentials in a URL become an ``Authorization`` header and are shown nowhere; a query is sent and not shown, as
keys travel in it.
"""

from __future__ import annotations

import base64
import ipaddress
from dataclasses import field

import httpx

from mcp_tui.protocol.values import frozen
from mcp_tui.transport.base import TransportError


@frozen
class Address:
    """Where a server is: an absolute http or https URL without user, password and fragment."""

    url: httpx.URL
    authorization: str | None = field(default=None, repr=False)
    """The value of the ``Authorization`` header that stood in the URL as ``user:password@``."""

    @property
    def host(self) -> str:
        """Host and port for a sentence: ``127.0.0.1:8080``, ``example.org``, ``[::1]:80``."""
        return self.url.netloc.decode("ascii", "replace")

    @property
    def shown(self) -> str:
        """The URL as a person may see it: no credentials, and the query as ``?…``."""
        return readable(f"{self.url.copy_with(query=None)}{'?…' if self.url.query else ''}")

    @property
    def secure(self) -> bool:
        return self.url.scheme == "https"

    @property
    def loopback(self) -> bool:
        """Whether the host is this machine, so that no proxy can stand between."""
        host = self.url.host.rstrip(".").lower()
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(host.partition("%")[0]).is_loopback
        except ValueError:
            return False

    @property
    def origin(self) -> str:
        """Scheme, host and port, without a path."""
        return f"{self.url.scheme}://{self.url.netloc.decode('ascii', 'replace')}"

    def same_origin(self, other: Address) -> bool:
        """Whether another address has the same scheme, host and port."""
        return _origin(self.url) == _origin(other.url)

    def resolve(self, reference: str) -> Address:
        """The address that the server's own ``endpoint`` event names (HTTP with SSE, 2024-11-05).

        Raises:
            TransportError: it is no URL, or of another origin, where no message of ours may go.
        """
        try:
            url = self.url.join(reference.strip())
            same = _origin(url) == _origin(self.url)
        except (httpx.InvalidURL, ValueError) as error:
            raise TransportError(
                f"The server sent an invalid endpoint URL: {readable(reference)!r}."
            ) from error
        if not same:
            raise TransportError(
                f"The server named an endpoint on another origin: {Address(_bare(url)).shown}. Nothing is sent there."
            )
        return Address(_bare(url), self.authorization)


def parse(text: str) -> Address:
    """Check a URL that a person or a config file gave.

    Raises:
        TransportError: it is not an http or https URL with a host; the sentence does not repeat credentials.
    """
    try:
        url = httpx.URL(text.strip())
        port = url.port
    except (httpx.InvalidURL, ValueError, TypeError) as error:
        why = readable(str(error)).rstrip(".")
        raise TransportError(f"Invalid URL: {why[:1].lower()}{why[1:]}.") from error
    if url.scheme not in {"http", "https"}:
        found = f"not {readable(url.scheme, 20)!r}" if url.scheme else "not without a scheme"
        raise TransportError(f"A server's URL begins with http:// or https://, {found}.")
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


def readable(text: str, limit: int = 200) -> str:
    """Text of a server inside a sentence of ours: one line, nothing unprintable, ``limit`` characters at most."""
    head = "".join(character if character.isprintable() else "�" for character in text[: limit + 1])
    return head if len(head) <= limit else head[: limit - 1] + "…"


def _bare(url: httpx.URL) -> httpx.URL:
    return url.copy_with(username=None, password=None, fragment=None)


def _origin(url: httpx.URL) -> tuple[str, bytes, int]:
    return url.scheme, url.raw_host.lower(), url.port or (443 if url.scheme == "https" else 80)
