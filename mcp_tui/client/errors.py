"""What connecting can fail with. Each text is one sentence for a person: what happened, and what to do.

TransportError (mcp_tui.transport.base)
├── Unauthorized            HTTP 401 or 403
└── ConnectError            no connection within the time, no answer to the handshake, the server exited
    └── NoCommonRevision    both sides speak MCP, but no revision in common
"""

from __future__ import annotations

from mcp_tui.transport.base import TransportError, Unauthorized

__all__ = ["ConnectError", "NoCommonRevision", "TransportError", "Unauthorized"]


class ConnectError(TransportError):
    """The server was found but no session came of it."""


class NoCommonRevision(ConnectError):
    """Client and server share no protocol revision."""
