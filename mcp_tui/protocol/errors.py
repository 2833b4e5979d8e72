"""The exceptions of the Python API. All that it raises about a server, a request, or a file is a :class:`McpError`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_tui.protocol.requests import Request


class McpError(Exception):
    """The root of the exceptions of the Python API. The text says in words for people what happened."""


class CallEnded(McpError):
    """A request that ended without a result. ``row`` is everything that is known of it."""

    def __init__(self, text: str, row: Request) -> None:
        super().__init__(text)
        self.row = row


class CallFailed(CallEnded):
    """The server answered with an error, or with what is no answer. ``row.code`` is the error's code, if it has one."""


class CallLost(CallEnded):
    """No answer can come any more: the connection ended."""


class CallCancelled(CallEnded):
    """The request was cancelled, by :meth:`Client.cancel` or by the end of the client."""


class CallTimedOut(CallCancelled, TimeoutError):
    """The request reached its idle or its maximum limit, and was cancelled."""
