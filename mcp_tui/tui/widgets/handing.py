"""Keys that are typed in a hurry: what comes behind a key that moved the focus belongs to what has the focus now."""

from __future__ import annotations

from textual import events
from textual.widget import Widget


def handed_on(widget: Widget, event: events.Key) -> bool:
    """Hand a key on where ``widget`` has the focus no more; whether it was."""
    focused = widget.screen.focused
    if focused is None or focused is widget:
        return False
    event.stop()
    event.prevent_default()
    focused.post_message(events.Key(event.key, event.character))
    return True
