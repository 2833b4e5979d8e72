"""Decides which HTTP requests a listener on this machine answers, and refuses those of websites.

Any website can make a browser send requests to 127.0.0.1, also under a name of its own that resolves to that address
(DNS rebinding; transports, "Security Warning"). It cannot choose the headers ``Host``, ``Origin``, and Fetch Metadata
(``Sec-Fetch-…``), so these show where a request comes from. Programs send only ``Host``, or headers that say that no
page sent the request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from mcp_tui.protocol.patterns import late

_NAMES: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""The names of this machine."""

_HOST: Final = late(r"(\[[0-9a-f:.]+\]|[a-z0-9_~-](?:[a-z0-9._~-]*[a-z0-9_~-])?)\.?(?::([0-9]{0,5}))?")
_SCHEME: Final = late(r"[a-z][a-z0-9+.-]*")
_NOT_WANTED: Final = late(r"q=0(?:\.0*)?")
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}

_DECIDING: Final = ("host", "origin", "sec-fetch-site", "sec-fetch-mode", "referer")
"""The headers that decide whether a request is answered."""

_SHOWN: Final = 100
"""The maximum number of characters of a header that a refusal repeats."""


def host_of(text: str) -> tuple[str, str] | None:
    """Returns the name and the port of a ``Host``, in lower case and without a final dot; ``None`` if it is invalid."""
    found = _HOST.fullmatch(text.lower())
    return None if found is None else (found[1], found[2] or "")


def origin_of(text: str) -> str | None:
    """Returns an ``Origin`` as a browser writes it; ``None`` if it is invalid, or ``null``, which any website can send."""
    scheme, parted, authority = text.lower().partition("://")
    host = ("", "") if scheme == "file" and not authority else host_of(authority)
    if not parted or host is None or _SCHEME.fullmatch(scheme) is None:
        return None
    name, port = host
    return f"{scheme}://{name}" + (f":{port}" if port and port != _DEFAULT_PORTS.get(scheme) else "")


def joined_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Returns headers by their names in lower case; the values of a repeated header are joined by commas."""
    found: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def asks_for_events(headers: Mapping[str, str]) -> bool:
    """Whether ``Accept`` permits event streams, as it must for a GET of MCP ("Listening for Messages from the Server")."""
    for each in headers.get("accept", "").lower().split(","):
        media, *parameters = (part.strip() for part in each.split(";"))
        if media == "text/event-stream":
            return not any(_NOT_WANTED.fullmatch(part) for part in parameters)
    return False


class HttpAccess:
    """The access rules of one listener. ``origins`` and ``hosts`` are additional ones that a person allows."""

    def __init__(self, origins: Iterable[str] = (), hosts: Iterable[str] = ()) -> None:
        self._origins = {origin_of(each) for each in origins}
        self._hosts = {host_of(each) for each in hosts}
        self._allowed: object = None
        """What decided about the last request that may be answered: most requests are like the one before."""

    def refusal(self, headers: Mapping[str, str]) -> str:
        """Returns why a request is refused and what to do, in sentences; empty if the request may be answered."""
        found = [headers.get(name) for name in _DECIDING]
        why = "" if found == self._allowed else self._refusal(headers)
        self._allowed = self._allowed if why else found
        return why

    def _refusal(self, headers: Mapping[str, str]) -> str:
        host, origin = headers.get("host", ""), headers.get("origin")
        site, mode = (headers.get(f"sec-fetch-{name}", "").lower() for name in ("site", "mode"))
        found = host_of(host)
        # A website can make its own name resolve to 127.0.0.1, but then that name is in Host (DNS rebinding).
        if found is None or (found[0] not in _NAMES and self._hosts.isdisjoint({found, (found[0], "")})):
            named = f"Host {_shown(host)} does not name this machine" if host else "The request has no Host"
            return f"{named}. {_advice('host', found and found[0])}"
        if origin is not None and not self._is_allowed(origin):
            return f"Origin {_shown(origin)} is not on this machine. {_advice('origin', origin_of(origin))}"
        # A page in the address bar or in a frame would run with the rights of a page of this machine.
        if mode == "navigate":
            return "A browser opened this address as a page. Give it to an MCP client instead."
        if mode == "no-cors" and site != "none":
            return "A web page loads this address as its own content. Give it to an MCP client instead."
        if origin is not None:
            return ""
        # The GET of a page may lack an Origin. Desktop programs that are built on a browser send "none".
        if site not in ("", "none", "same-origin"):
            return (
                "A page of another site sent this request, without an Origin. Only pages of this machine may."
            )
        referer = "/".join(headers.get("referer", "").split("/", 3)[:3])
        if referer and not self._is_allowed(referer):
            return (
                f"Referer {_shown(referer)} is not on this machine. {_advice('origin', origin_of(referer))}"
            )
        return ""

    def _is_allowed(self, origin: str) -> bool:
        found = origin_of(origin)
        if found is None:
            return False
        scheme, _, authority = found.partition("://")
        host = host_of(authority)
        is_local = scheme in _DEFAULT_PORTS and host is not None and host[0] in _NAMES
        return is_local or found in self._origins


OWN_ACCESS: Final = HttpAccess()
"""Allows only programs and pages of this machine."""


def _advice(option: str, value: str | None) -> str:
    if value is None or len(value) > _SHOWN:
        return "Requests of websites are refused."
    return f"To allow it, start mcp-tui with --allow-{option} {value}"


def _shown(text: str) -> str:
    head = "".join(
        character if character.isascii() and character.isprintable() else "?" for character in text
    )
    return f"'{head[:_SHOWN]}…'" if len(head) > _SHOWN else f"'{head}'"
