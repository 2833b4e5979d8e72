"""The imperative shell: one connection, its ledger, its store.

``from mcp_tui.client import Client`` is the public Python API: connect, call, cancel, listen to events, close.
"""

from __future__ import annotations

from mcp_tui.client.client import Client
from mcp_tui.client.errors import ConnectError, NoCommonRevision
from mcp_tui.client.settings import ClientSettings, HttpTarget, StdioTarget, Target

__all__ = [
    "Client",
    "ClientSettings",
    "ConnectError",
    "HttpTarget",
    "NoCommonRevision",
    "StdioTarget",
    "Target",
]
