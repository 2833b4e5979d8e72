"""The times at which a ledger must look again: a heap with lazy removal.

Arming a timer again costs one push; what became stale is dropped when it comes up, or all at once when it
is the greater part. So ten thousand requests with progress cost no scan, and what is over leaves nothing behind.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from enum import IntEnum
from typing import Final

from mcp_tui.protocol.events import RequestId


class Timer(IntEnum):
    """The timers of a request."""

    LIMIT = 0
    """Its nearest limit, or the end of its grace."""
    POLL = 1
    """The next question after its task."""
    ACKNOWLEDGEMENT = 2
    """The acknowledgement of a subscription is overdue."""
    RELEASE = 3
    """The stream of a cancelled request has been open for long enough."""


Key = tuple[Timer, RequestId]

SLACK: Final = 64
"""Stale entries that are not worth a sweep."""


class Deadlines:
    """At most one time for each timer of each request, the earliest first. Times are monotonic seconds."""

    def __init__(self) -> None:
        self._due: dict[Key, float] = {}
        self._heap: list[tuple[float, Key]] = []

    def arm(self, timer: Timer, id: RequestId, due: float | None) -> None:
        """Set a timer of the request ``id``, in place of what it was set to; ``None`` stops it."""
        key = (timer, id)
        if due is None:
            self._due.pop(key, None)
            return
        self._due[key] = due
        heapq.heappush(self._heap, (due, key))
        if len(self._heap) > 2 * len(self._due) + SLACK:
            self._heap[:] = [(due, key) for key, due in self._due.items()]
            heapq.heapify(self._heap)

    def next(self) -> float | None:
        """The earliest time, or ``None``."""
        while self._heap:
            due, key = self._heap[0]
            if self._due.get(key) == due:
                return due
            heapq.heappop(self._heap)
        return None

    def pop_due(self, now: float) -> Iterator[Key]:
        """The timers that have run out, in order of their times; each is stopped."""
        while (due := self.next()) is not None and due <= now:
            _, key = heapq.heappop(self._heap)
            del self._due[key]
            yield key
