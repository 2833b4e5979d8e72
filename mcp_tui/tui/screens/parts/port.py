"""What a part may use of the screen that holds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from textual.app import App
from textual.screen import ModalScreen
from textual.widget import Widget

from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.key_guard import KeyGuard
from mcp_tui.tui.payloads import Payloads
from mcp_tui.tui.scene import Scene
from mcp_tui.tui.screens.tabs import TabTitles
from mcp_tui.tui.session import Session
from mcp_tui.tui.view.catalogue import Entry
from mcp_tui.tui.view.text import SafeText
from mcp_tui.tui.widgets.bars import KeyBar
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.tui.widgets.request_table import RequestTable

Result = TypeVar("Result")


class Port(Protocol):
    """A screen of a session or a recording, as its parts know it."""

    @property
    def host(self) -> App[object]:
        """The app."""
        ...

    @property
    def scene(self) -> Scene: ...
    @property
    def keys(self) -> KeyBar: ...
    @property
    def table(self) -> RequestTable: ...
    @property
    def tab_titles(self) -> TabTitles: ...
    @property
    def wire(self) -> LineList: ...
    @property
    def payloads(self) -> Payloads: ...
    @property
    def guard(self) -> KeyGuard: ...
    @property
    def beside(self) -> bool: ...
    @property
    def on_top(self) -> bool:
        """Whether no other screen covers this one."""
        ...

    @property
    def in_focus(self) -> Widget | None:
        """The widget that has the focus."""
        ...

    def entry(self) -> Entry | None:
        """What the server offers under the cursor, while the catalogue has the focus."""
        ...

    def detailed(self) -> Request | None:
        """The request that the detail is about; ``None`` where it tells of the connection."""
        ...

    def advice(self, row: Request) -> SafeText:
        """What a person can do about a request beyond the keys at the bottom; empty for nothing."""
        ...

    def tell(self, text: SafeText, tone: str = "warning", *, seconds: float = 6.0) -> None:
        """Say one sentence in place of the keys, for a while."""

    def refuse(self, text: SafeText, tone: str = "warning") -> None:
        """Say why a key did nothing, and let what is typed behind it go."""

    def steady(self) -> bool:
        """Whether a key may act on what is under the cursor; says so where not."""
        ...

    def get_selected_text(self) -> str | None: ...
    def set_focus(self, widget: Widget | None) -> None: ...
    def show_pane(self, name: str) -> None: ...
    def choose_pane(self, name: str) -> None:
        """Show a pane because a person asked for it."""

    def go_to(self, id: RequestId) -> None:
        """Put the cursor on a request and show its detail."""

    def look(self) -> None:
        """Draw what changed."""

    def forget(self) -> None:
        """Draw every pane anew."""

    async def ask(
        self, screen: ModalScreen[Result], answered: Callable[[Result | None], None] | None = None
    ) -> None:
        """Open a dialog and wait until it hears keys."""


class SessionPort(Port, Protocol):
    """The workbench, as the parts know it that act on a server."""

    @property
    def session(self) -> Session: ...
    def call(self, method: str, params: dict[str, Json] | None) -> RequestId | None:
        """Send a request and put the cursor on it; ``None`` where there is no connection."""
        ...

    def connected(self) -> bool:
        """Whether requests can be sent; says why where not."""
        ...
