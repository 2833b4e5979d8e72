"""The workbench while it is loaded: its places stand, and what is typed waits for those who will know what to do with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.app import ComposeResult
from textual.containers import Container
from textual.strip import Strip

from mcp_tui.client.settings import StdioTarget
from mcp_tui.tui.keys.now import key_of
from mcp_tui.tui.screens.layout import TABS, LayoutScreen
from mcp_tui.tui.view.server import ServerFacts, title
from mcp_tui.tui.view.text import SafeText, safe, words
from mcp_tui.tui.widgets.canvas import Canvas

if TYPE_CHECKING:
    from mcp_tui.client.settings import Target
    from mcp_tui.tui.preferences import Preferences

NOT_YET: Final = frozenset(
    {
        "question.answer",
        "request.again",
        "request.cancel-all",
        "request.cancel-now",
        "request.copy",
        "request.edit",
        "request.extend",
        "request.save",
        "server.menu",
        "server.next",
        "server.sign-in",
    }
)
"""Keys that do nothing before there is a connection, by their ids."""


class Empty(Canvas):
    """A place with nothing in it yet but, perhaps, one sentence from its second line on."""

    said: SafeText = words("")

    def retitle(self, title: SafeText) -> None:
        self.caption(title, words(""))

    def render_line(self, y: int) -> Strip:
        return self.say_at(y - 1, self.said, indent=3) if y and self.said else self.blank()


class Opening(LayoutScreen):
    """The places of the workbench on a server that is about to be connected, as they looked the last time."""

    AUTO_FOCUS = "#requests"

    def __init__(self, target: Target, preferences: Preferences) -> None:
        super().__init__()
        name, limits, look = title(target), preferences.limits, preferences.look
        self.table = Empty(id="requests")
        self.table.retitle(words("Requests"))
        self.table.said = safe("Connecting to {}: …. Press {} to stop.", name, key_of("request.cancel"))
        self.panes: dict[str, Canvas] = {each: Empty(id=each) for each in TABS}
        self.bar.show(
            ServerFacts(
                name=name,
                transport=words("stdio" if isinstance(target, StdioTarget) else "http"),
                limits=None if limits is None else limits(target, ""),
            )
        )
        self.keys.show(NOT_YET)
        self._look = look
        if look is not None and look.pane in TABS:
            self.pane = look.pane

    def compose(self) -> ComposeResult:
        self.place(self.app.size.width)  # pyright: ignore[reportUnknownMemberType]
        self.show_pane(self.pane)
        yield self.bar
        with Container(id="body"):
            yield from self.placed(self.table)
        yield self.keys

    def on_mount(self) -> None:
        if self._look is not None:
            self.share_out(self._look.shares)
