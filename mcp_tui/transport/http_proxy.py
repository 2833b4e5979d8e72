"""Proxies between this machine and a server: that of the environment, who set it, and how its faults are told from the
server's; and those that the headers of a response show.
"""

from __future__ import annotations

import os
import urllib.request
from typing import Final

import httpx

from mcp_tui.protocol.values import frozen
from mcp_tui.transport.addresses import Address
from mcp_tui.transport.http_errors import RESET, cause
from mcp_tui.transport.unreachable import TransportError, readable

SCHEMES: Final = ("http", "https", "socks5", "socks5h")

_MARKS: Final = {
    "x-varnish": "Varnish",
    "cf-ray": "Cloudflare",
    "x-amz-cf-id": "CloudFront",
    "x-envoy-upstream-service-time": "Envoy",
}
"""Headers that one proxy alone adds."""

_SERVERS: Final = (
    "apache",
    "ats",
    "awselb",
    "cloudflare",
    "cloudfront",
    "envoy",
    "haproxy",
    "squid",
    "varnish",
)
"""How the header ``Server`` begins where a proxy wrote it."""

_PROMPT: Final = ("caddy", "nginx", "openresty")
"""Proxies that close their stream to the server at once when a client closes its own."""


def shown_proxies(headers: httpx.Headers) -> tuple[str, ...]:
    """Returns the proxies that the headers of a response show, but those that pass the end of a stream on at once."""
    via = (each.strip() for each in headers.get("via", "").split(","))
    # "1.1 name (product)": the name may be a pseudonym
    names = [(each.partition("(")[2].rstrip(")") or each.rpartition(" ")[2]).strip() for each in via]
    names += [name for header, name in _MARKS.items() if header in headers]
    names += [name for name in [headers.get("server", "")] if name.lower().startswith(_SERVERS)]
    shown = {each.partition("/")[0].lower(): readable(each, 40) for each in reversed(names) if each}
    return tuple(name for key, name in shown.items() if not key.startswith(_PROMPT))


@frozen
class Proxy:
    """A proxy: its ``url`` with credentials, the ``setting`` that names it, and whether it only makes a ``tunnel``.

    Through a tunnel the server is heard itself. Without one, for http URLs, every response may be the proxy's own.
    """

    url: httpx.URL
    setting: str
    tunnel: bool
    host: str
    """The server's host and port, which could be reached without it."""

    @property
    def shown(self) -> str:
        """The proxy without its credentials: ``http://proxy.example:3128``."""
        return readable(f"{self.url.scheme}://{self.url.netloc.decode('ascii', 'replace')}", 100)

    def __str__(self) -> str:
        return f"the proxy {self.shown} (from {self.setting})"

    @property
    def speaker(self) -> str:
        """Who may have written a response."""
        return "the server" if self.tunnel else f"the server or {self}"

    @property
    def wants_password(self) -> str:
        """The sentence about HTTP 407."""
        if self.url.username or self.url.password:
            return f"{self} refuses its user and password (HTTP 407). Check them in {self.setting}"
        form = f"{self.url.scheme}://USER:PASSWORD@{self.url.netloc.decode('ascii', 'replace')}"
        return f"{self} requires a user and a password (HTTP 407). Set {self.setting} to {form}"

    def failure(self, error: BaseException, *, connected: bool, passed: bool) -> ProxyFailed:
        """Returns what became of a request in words.

        ``connected``: the proxy was reached. ``passed``: the request itself was begun, behind the tunnel if there is one.
        """
        why = cause(error)
        if not connected:
            return ProxyFailed(f"cannot connect to {self}: {why}", self)
        if not passed and isinstance(error, httpx.ProxyError):
            said = readable(str(error))
            if said.startswith("407"):
                return ProxyFailed(self.wants_password, self, advice=False)
            return ProxyFailed(f"{self} does not connect to {self.host}: HTTP {said}", self)
        if passed and self.tunnel:
            return ProxyFailed(f"{why}, behind {self}".replace(RESET, "connection reset"), self)
        return ProxyFailed(f"{self} failed: {why.removesuffix(' by the server')}", self)


class ProxyFailed(httpx.ProxyError):
    """An error on the way through a proxy; its text is a clause that names who failed."""

    def __init__(self, text: str, proxy: Proxy, *, advice: bool = True) -> None:
        super().__init__(text)
        self.advised = f"{text}. Check {proxy.setting}, or add {proxy.host} to no_proxy" if advice else text
        """The clause with what to do, for a message that was not delivered."""


def find(address: Address) -> Proxy | None:
    """Returns the proxy for an address from the environment, or from the system's settings.

    Raises:
        httpx.InvalidURL: it is not a URL.
        ValueError: it is not a URL.
        TransportError: it is not one of a proxy.
    """
    if address.loopback or any(map(urllib.request.proxy_bypass, (address.url.host, address.host))):
        return None
    found = urllib.request.getproxies()
    for kind in (address.url.scheme, "all"):
        if text := found.get(kind):
            url = httpx.URL(text if "://" in text else f"http://{text}")
            names = (f"{kind}_proxy", f"{kind}_proxy".upper())
            setting = next((name for name in names if os.environ.get(name)), "the system's settings")
            made = Proxy(url, setting, address.secure or url.scheme.startswith("socks"), address.host)
            if url.scheme not in SCHEMES or not url.host:
                forms = ", ".join(f"{scheme}://HOST:PORT" for scheme in SCHEMES)
                raise TransportError(f"Cannot use {made}. Use one of these forms: {forms}.")
            return made
    return None
