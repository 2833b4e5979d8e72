"""Where a field's text is typed."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from textual import events
from textual.app import App

from mcp_tui.tui.keys.panes import FIELD
from mcp_tui.tui.widgets.editor import Editor
from mcp_tui.tui.widgets.handing import handed_on


class Typing(Editor):
    """Where a row's text is typed. The keys that move in the form go to the row first.

    Keys that come behind the one that moved the focus on are handed on, so that what is typed in a hurry lands in order.
    """

    SCOPES = (FIELD,)  # looked up by the row, not bound

    def __init__(self, takes: Callable[[str, str | None], bool]) -> None:
        super().__init__()
        self._takes = takes

    async def _on_key(self, event: events.Key) -> None:
        if handed_on(self, event):
            return
        if self._takes(event.key, event.character):
            event.stop()
            event.prevent_default()
        elif bindings := self._bindings.key_to_bindings.get(event.key):
            # here, and not when the key has bubbled up: characters behind it would overtake it
            app = cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType] - of whatever result
            if any([await app.run_action(each.action, self) for each in bindings]):
                event.stop()
                event.prevent_default()
