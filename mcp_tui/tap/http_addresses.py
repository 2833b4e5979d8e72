"""The addresses of a server behind a tap over HTTP: where a request goes, and whether the sign-in goes with it.

The sign-in (a stored token, the user and the query of the URL) is for the MCP endpoint alone. Whatever else lies on the
server gets what the client sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mcp_tui.protocol.http_access import asks_for_events
from mcp_tui.transport.addresses import Address, parse
from mcp_tui.transport.base import TransportError

NAMED_TARGETS: Final = 1000
"""The number of newest targets that are remembered."""


class ServerAddresses:
    """The addresses of the server behind ``url``. Raises `TransportError` if that is not one."""

    def __init__(self, url: str) -> None:
        self.endpoint = parse(url)
        self.path = self.endpoint.url.raw_path.partition(b"?")[0]
        self._named: dict[bytes, None] = {}
        """The targets that the endpoint gave as its replacement, newest last."""

    def is_endpoint(self, target: bytes) -> bool:
        """Whether a target is the MCP endpoint: exactly its path, with any query, or its replacement."""
        return target.partition(b"?")[0] == self.path or target in self._named

    def signs_in(self, method: str, target: bytes, headers: Mapping[str, str]) -> bool:
        """Whether a request of the client gets the sign-in: it has a method of MCP, and goes to the endpoint."""
        return self.is_endpoint(target) and (
            asks_for_events(headers) if method == "GET" else method in ("POST", "DELETE")
        )

    def of(self, target: bytes, *, signed_in: bool) -> Address:
        """Returns the address for a target; with ``signed_in``, that of the endpoint has the query of the URL."""
        if signed_in and target == self.path:
            return self.endpoint
        return Address(self.endpoint.url.copy_with(raw_path=target), self.endpoint.authorization)

    def through_tap(self, named: bytes, *, signed_in: bool) -> bytes:
        """Returns an address that the server names so that the client comes back to the tap, under any name.

        With ``signed_in`` the address stands in place of the endpoint from now on (redirects, HTTP+SSE).
        """
        try:
            target = self.endpoint.resolve(named.decode("utf-8", "replace")).url.raw_path
        except TransportError:
            return named
        if signed_in:
            self._named.pop(target, None)
            self._named[target] = None
            if len(self._named) > NAMED_TARGETS:
                del self._named[next(iter(self._named))]
        if not named.lower().startswith((b"http://", b"https://", b"//")):
            return named
        # What begins with two slashes names a host; a dot between them keeps it a path.
        return b"/." + target if target.startswith(b"//") else target
