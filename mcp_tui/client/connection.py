"""The connection that a client has now: one value, replaced in one assignment."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcp_tui.client.headers import Mirrors, headers, param_headers
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.revisions import Revision
from mcp_tui.transport import base
from mcp_tui.transport.base import TransportError


class ConnectError(TransportError):
    """The server was found but no session came of it."""


class NoCommonRevision(ConnectError):
    """Client and server share no protocol revision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """What is known of a server once the connection is ready. Texts are the server's and hostile."""

    transport: str
    revision: Revision
    name: str = ""
    version: str = ""
    title: str = ""
    instructions: str = ""
    capabilities: dict[str, Json] = field(default_factory=dict[str, Json])
    pid: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """A transport, and what is spoken over it.

    ``speaking`` is the revision that requests claim by their headers: the
    negotiated one, or the probe's before that. ``info`` is ``None`` until the connection is ready for requests.
    """

    transport: base.Transport
    speaking: Revision | None = None
    info: ServerInfo | None = None

    def outgoing(
        self, message: dict[str, Json], method: str, id_: RequestId | None, mirrors: dict[str, Mirrors]
    ) -> base.Outgoing:
        """A message as the transport takes it; over HTTP with the headers that say what it is."""
        made: dict[str, str] = {}
        if self.transport.kind == "http":
            made = headers(self.speaking, message)
            if method == "tools/call" and self.speaking is not None and self.speaking.method_headers:
                params = as_object(message.get("params"))
                mirrored = mirrors.get(str(params.get("name")))
                if mirrored:
                    made.update(param_headers(mirrored, params.get("arguments")))
        return base.Outgoing(raw=messages.encode(message), method=method, id=id_, headers=made)
