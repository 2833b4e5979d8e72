"""How much of its history a row keeps: all of what tells its story, and the last of what a server can send without end."""

from __future__ import annotations

from typing import Final

from mcp_tui.protocol import events as ev

HISTORY: Final = 128
"""Events of a row kept for its detail, at least. From twice as many on, the oldest of those that a server can send
without end (progress, duplicates) are let go. The journal has them all."""

_ENDLESS: Final = frozenset(
    {
        ev.Progress,
        ev.Duplicate,
        ev.Undelivered,
        ev.Overdue,
        ev.Extended,
        ev.Paused,
        ev.Resumed,
        ev.Delivered,
        ev.TaskStatus,
    }
)
"""Events of which a row may have any number; every other comes a few times at most."""


def shortened(history: list[ev.Event]) -> list[ev.Event]:
    """A history of more events than :data:`HISTORY`, without the oldest of those that may go."""
    surplus = len(history) - HISTORY
    kept: list[ev.Event] = []
    for old in history:
        if surplus and (type(old) in _ENDLESS or (isinstance(old, ev.Late) and old.kind is ev.Kind.PROGRESS)):
            surplus -= 1
        else:
            kept.append(old)
    return kept
