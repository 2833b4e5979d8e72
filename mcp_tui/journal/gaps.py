"""Gaps: what a journal lost while it could not be written."""

from __future__ import annotations

from typing import Final

from mcp_tui.protocol.messages import Json

RETRY: Final = 1.0
"""Seconds between two attempts to go on after a write has failed; twice as many after each time that it fails again."""

PATIENCE: Final = 60.0
"""Seconds between two attempts at most."""


class Lost:
    """What could not be written: how much, why, and since when in the records' own time."""

    def __init__(
        self, why: str = "", *, torn: bool = False, wait: float = RETRY, frames: int = 0, events: int = 0
    ) -> None:
        self.torn = torn
        self._wait = wait
        self._why = why
        self._frames = frames
        self._events = events
        self._at = 0.0
        self._tried: float | None = None

    def __bool__(self) -> bool:
        return bool(self._frames or self._events)

    def __str__(self) -> str:
        return f"{self._frames:,} frames and {self._events:,} events"

    def take(self, at: float, *, frames: int = 0, events: int = 0) -> None:
        """One more is lost."""
        self._frames += frames
        self._events += events
        self._at = at
        if self._tried is None:
            self._tried = at

    def due(self) -> bool:
        """Whether it is time to try again."""
        if self._tried is None or self._at < self._tried + self._wait:
            return False
        self._tried = self._at
        return True

    def record(self) -> dict[str, Json]:
        """The gap, as the file tells it."""
        return {
            "record": "gap",
            "mono": self._at,
            "frames": self._frames,
            "events": self._events,
            "why": self._why,
        }
