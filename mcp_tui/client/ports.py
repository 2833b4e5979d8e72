"""The interface of a client to its parts, so that they need not import it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from mcp_tui.client.connection import Mirrors, ServerInfo
from mcp_tui.client.settings import ClientSettings
from mcp_tui.journal.store import Store
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.ledger import CancelOutcome, Ledger
from mcp_tui.protocol.messages import Json, ResponseFrame
from mcp_tui.protocol.requests import Book
from mcp_tui.transport.base import RefusedResponse

if TYPE_CHECKING:
    from mcp_tui.client.auth.authorization import Authorization

Listener = Callable[[ev.Event], None]


class Caller(Protocol):
    """A client, as its parts see it. :class:`~mcp_tui.client.client.Client` alone implements it, and describes all of it."""

    store: Store
    settings: ClientSettings
    ledger: Ledger
    book: Book
    tokens: Authorization | None
    refusals: dict[RequestId, RefusedResponse]
    mirrors: dict[str, Mirrors]
    task_support: dict[str, str]

    @property
    def info(self) -> ServerInfo | None: ...
    def now(self) -> float: ...
    def listen(self, listener: Listener, /) -> Callable[[], None]: ...
    def tell(self, event: ev.Event, /) -> None: ...
    def note(self, text: str, /) -> None: ...
    def call(
        self, method: str, params: Json = None, *, limits: ev.Limits | None = None, internal: bool = False
    ) -> RequestId: ...
    def cancel(self, id: RequestId, cause: Cause = ..., reason: str = ...) -> CancelOutcome: ...
    def drain(self) -> None: ...
    async def wait(self, id: RequestId, /) -> ResponseFrame | None: ...
