"""Proxies between this machine and a server.

These are the proxy of the environment, whose errors are distinguished from those of the server, and proxies that are visible
in the headers of responses.
"""

from __future__ import annotations

import os
import urllib.request
from typing import Final

import httpx

from mcp_tui.protocol.values import frozen
from mcp_tui.transport.addresses import Address
from mcp_tui.transport.http_errors import cause
from mcp_tui.transport.network_errors import RESET
from mcp_tui.transport.unreachable import TransportError, readable

SCHEMES: Final = ("http", "https", "socks5", "socks5h")

_MARKS: Final = {
    "x-varnish": "Varnish",
    "cf-ray": "Cloudflare",
    "x-amz-cf-id": "CloudFront",
    "x-envoy-upstream-service-time": "Envoy",
}
"""Headers that only one proxy adds, with its name."""

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
"""The starts of ``Server`` headers that proxies write."""

_PROMPT: Final = ("caddy", "nginx", "openresty")
"""Proxies that close the stream to the server at once when the client closes its stream."""


def shown_proxies(headers: httpx.Headers) -> tuple[str, ...]:
    """Returns the proxies in the headers of a response, except those that pass on the end of a stream at once."""
    via = (each.strip() for each in headers.get("via", "").split(","))
    # In "1.1 name (product)", the name may be a pseudonym.
    names = [(each.partition("(")[2].rstrip(")") or each.rpartition(" ")[2]).strip() for each in via]
    names += [name for header, name in _MARKS.items() if header in headers]
    names += [name for name in [headers.get("server", "")] if name.lower().startswith(_SERVERS)]
    shown = {each.partition("/")[0].lower(): readable(each, 40) for each in reversed(names) if each}
    return tuple(name for key, name in shown.items() if not key.startswith(_PROMPT))


@frozen
class Proxy:
    """A proxy: its ``url`` with credentials, the ``setting`` that names it, and whether it only makes a ``tunnel``.

    Responses through a tunnel are from the server. Without a tunnel, for http URLs, every response may be from the proxy.
    """

    url: httpx.URL
    setting: str
    tunnel: bool
    host: str
    """The host and port of the server, for ``no_proxy``."""

    @property
    def shown(self) -> str:
        """The URL of the proxy without credentials: ``http://proxy.example:3128``."""
        return readable(f"{self.url.scheme}://{self.url.netloc.decode('ascii', 'replace')}", 100)

    def __str__(self) -> str:
        return f"the proxy {self.shown} (from {self.setting})"

    @property
    def speaker(self) -> str:
        """A phrase for who may have written a response."""
        return "the server" if self.tunnel else f"the server or {self}"

    @property
    def wants_password(self) -> str:
        """The sentence about HTTP 407."""
        if self.url.username or self.url.password:
            return f"{self} refuses its user and password (HTTP 407). Check them in {self.setting}"
        form = f"{self.url.scheme}://USER:PASSWORD@{self.url.netloc.decode('ascii', 'replace')}"
        return f"{self} requires a user and a password (HTTP 407). Set {self.setting} to {form}"

    def failure(self, error: BaseException, *, connected: bool, passed: bool) -> ProxyFailed:
        """Returns the error of a request.

        ``connected`` says whether the proxy was reached, and ``passed`` whether the request was past the proxy or in the
        tunnel.
        """
        why = cause(error)
        if not connected:
            return ProxyFailed(f"cannot connect to {self}: {why}", self)
        if not passed and isinstance(error, httpx.ProxyError):
            reason = readable(str(error))
            if reason.startswith("407"):
                return ProxyFailed(self.wants_password, self, advice=False)
            return ProxyFailed(f"{self} does not connect to {self.host}: HTTP {reason}", self)
        if passed and self.tunnel:
            return ProxyFailed(f"{why}, behind {self}".replace(RESET, "connection reset"), self)
        return ProxyFailed(f"{self} failed: {why.removesuffix(' by the server')}", self)


class ProxyFailed(httpx.ProxyError):
    """An error of a request through a proxy. The text is a clause that says who failed."""

    def __init__(self, text: str, proxy: Proxy, *, advice: bool = True) -> None:
        super().__init__(text)
        self.advised = f"{text}. Check {proxy.setting}, or add {proxy.host} to no_proxy" if advice else text
        """The clause with advice, for a message that was not delivered."""


def find(address: Address) -> Proxy | None:
    """Returns the proxy for an address from the environment or the system's settings; ``None`` without one.

    Raises:
        httpx.InvalidURL: the setting is not a URL.
        ValueError: the setting is not a URL.
        TransportError: the setting is not the URL of a proxy.
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
