"""Keys that are typed in a hurry: what follows a key that moved the focus belongs to the widget that has the focus now."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import App
from textual.widget import Widget

if TYPE_CHECKING:
    _Widget = Widget
else:
    _Widget = object


def handed_on(widget: Widget, event: events.Key) -> bool:
    """Hand a key on where ``widget`` has the focus no more; whether it was."""
    focused = widget.screen.focused
    if focused is None or focused is widget:
        return False
    event.stop()
    event.prevent_default()
    focused.post_message(events.Key(event.key, event.character))
    return True


class InOrder(_Widget):
    """Obeys every key where it arrives, in the order of typing.

    Textual runs a binding when its key has bubbled up to the app; a character typed behind it would overtake it.
    """

    async def _on_key(self, event: events.Key) -> None:
        focused = self.screen.focused
        if focused is not None and focused is not self and self in focused.ancestors:
            return  # it bubbles up from a part of this widget
        if handed_on(self, event):
            return
        app = cast("App[object]", self.app)  # pyright: ignore[reportUnknownMemberType] - of whatever result
        if await app._check_bindings(event.key):  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
            event.stop()
            event.prevent_default()
