"""The client: one connection, its ledger, its store. ``from mcp_tui.client import Client`` is the Python API.

Connect, call, wait, cancel, listen to events, close::

    client = Client(StdioTarget(command=("python", "server.py")))
    await client.connect()
    id = client.call_tool("slow", {"seconds": 5})
    client.cancel(id, reason="too slow")
    await client.wait(id)  # None: there is no result
    row = client.requests.get(id)  # state, cause, reason, signal, and ``late``: what arrived after the cancel
    await client.close()

A coroutine answers the server's questions to a person; :class:`Offers` declares them::

    async def respond(inquiry: Inquiry) -> Answer:
        if inquiry.method == "elicitation/create":
            return {"action": "accept", "content": {"confirmed": True}}
        return Refusal("not here")

    offers = Offers(elicitation=frozenset({"form"}))
    client = Client(target, ClientSettings(offers=offers), respond=respond)

The same coroutine answers requests of the server's (handshake era), input-required rounds, and the questions of tasks
(2026-07-28). ``inquiry.over`` is set when no answer is needed any more; then its answer is dropped.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mcp_tui.client.auth.authorization import Authorization
    from mcp_tui.client.catalogue import ListFailed
    from mcp_tui.client.client import Client
    from mcp_tui.client.client_settings import ClientSettings, HttpTarget, Offers, StdioTarget, Target
    from mcp_tui.client.connection import ConnectError, NoCommonRevision
    from mcp_tui.client.interactions import Answer, Inquiry, Refusal, Respond
    from mcp_tui.protocol.errors import CallCancelled, CallEnded, CallFailed, CallLost, CallTimedOut, McpError
    from mcp_tui.transport.base import TransportError, Unauthorized

__all__ = [
    "Answer",
    "Authorization",
    "CallCancelled",
    "CallEnded",
    "CallFailed",
    "CallLost",
    "CallTimedOut",
    "Client",
    "ClientSettings",
    "ConnectError",
    "HttpTarget",
    "Inquiry",
    "ListFailed",
    "McpError",
    "NoCommonRevision",
    "Offers",
    "Refusal",
    "Respond",
    "StdioTarget",
    "Target",
    "TransportError",
    "Unauthorized",
]

_HOMES: Final = {
    "client.auth.authorization": ("Authorization",),
    "client.catalogue": ("ListFailed",),
    "client.client": ("Client",),
    "client.connection": ("ConnectError", "NoCommonRevision"),
    "client.interactions": ("Answer", "Inquiry", "Refusal", "Respond"),
    "client.client_settings": ("ClientSettings", "HttpTarget", "Offers", "StdioTarget", "Target"),
    "protocol.errors": ("CallCancelled", "CallEnded", "CallFailed", "CallLost", "CallTimedOut", "McpError"),
    "transport.base": ("TransportError", "Unauthorized"),
}
"""The module of each name. A module is loaded at the first use of its names: naming a target does not load the client."""


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"mcp_tui.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
