"""The interface of a client to its parts, so that they do not import it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

from mcp_tui.client.client_settings import ClientSettings, Target
from mcp_tui.client.connection import Mirrors, ServerInfo
from mcp_tui.journal.store import Store
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.ledger import CancelOutcome, Ledger
from mcp_tui.protocol.messages import Json, ResponseFrame
from mcp_tui.protocol.requests import Request, Requests
from mcp_tui.transport.base import RefusedResponse

if TYPE_CHECKING:
    from mcp_tui.client.auth.authorization import Authorization

Listener = Callable[[ev.Event], None]


def notify(listeners: Iterable[Listener], event: ev.Event) -> None:
    """Calls listeners with an event."""
    for listener in listeners:
        try:
            listener(event)
        except Exception as error:  # noqa: BLE001 - one bad listener must hold up no cancel, and starve no other
            report = asyncio.get_running_loop().call_exception_handler
            report({"message": "a listener raised", "exception": error})


class AnyClient(Protocol):
    """The members of a client that commands and its parts use. :class:`~mcp_tui.client.client.Client` documents them."""

    store: Store
    settings: ClientSettings
    requests: Requests
    refusals: dict[RequestId, RefusedResponse]
    mirrors: dict[str, Mirrors]
    task_support: dict[str, str]

    @property
    def info(self) -> ServerInfo | None: ...
    def now(self) -> float: ...
    def listen(self, listener: Listener, /) -> Callable[[], None]: ...
    def report(self, event: ev.Event, /) -> None: ...
    async def wait(self, id: RequestId, /) -> ResponseFrame | None: ...


class Requester(AnyClient, Protocol):
    """The members of a client that a command with a few requests uses, on its own connection or that of another session.

    Implemented by :class:`~mcp_tui.client.client.Client` and :class:`~mcp_tui.live.shared_connection.SharedClient`.
    """

    target: Target

    async def connect(self) -> ServerInfo: ...
    async def close(self) -> None: ...
    def lost(self, detail: str, *, expected: bool = False) -> None: ...
    async def begin(
        self, method: str, params: Json = None, *, limits: ev.Limits | None = None, internal: bool = False
    ) -> Request: ...
    def cancel(
        self, id: RequestId, cause: Cause = ..., reason: str = ..., *, leave: bool = False
    ) -> CancelOutcome: ...
    async def handle_what_is_due(self, row: Request, /) -> None: ...
    def stop_watching(self, at: float) -> None: ...


class Caller(AnyClient, Protocol):
    """The members of a client that its parts use. :class:`~mcp_tui.client.client.Client` alone implements and documents
    them.
    """

    ledger: Ledger
    tokens: Authorization | None

    def note(self, text: str, /) -> None: ...
    def call(
        self, method: str, params: Json = None, *, limits: ev.Limits | None = None, internal: bool = False
    ) -> RequestId: ...
    def cancel(self, id: RequestId, cause: Cause = ..., reason: str = ...) -> CancelOutcome: ...
    def drain(self) -> None: ...
