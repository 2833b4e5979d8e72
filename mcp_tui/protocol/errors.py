"""The exceptions of the Python API. Every failure of a server, a request, or a file is an :class:`McpError`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_tui.protocol.requests import Request


class McpError(Exception):
    """The base class of the exceptions of the Python API. The text tells a person what happened."""


class CallEnded(McpError):
    """A request ended without a result. ``row`` is the request with everything known about it."""

    def __init__(self, text: str, row: Request) -> None:
        super().__init__(text)
        self.row = row


class CallFailed(CallEnded):
    """The server answered with an error, or with an invalid answer. ``row.code`` is the code of the error, if any."""


class CallLost(CallEnded):
    """The connection ended, so no answer can arrive."""


class CallCancelled(CallEnded):
    """The request was cancelled, by :meth:`Client.cancel` or by the end of the client."""


class CallTimedOut(CallCancelled, TimeoutError):
    """The request reached its timeout or its max timeout, and was cancelled."""
