"""The times at which a ledger must look again: a heap with lazy removal.

Arming a timer again costs one push at most; what became stale is dropped when it comes up, or all at once when it
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
        self._heap: list[tuple[float, int, Key]] = []
        self._count = 0

    def arm(self, timer: Timer, id: RequestId, due: float | None) -> None:
        """Set a timer of the request ``id``, in place of what it was set to; ``None`` stops it."""
        key = (timer, id)
        if due is None:
            self._due.pop(key, None)
            return
        known = self._due.get(key)
        self._due[key] = due
        if known is None or due < known:
            self._push(due, key)
        # a later time leaves the old entry in the heap: it is pushed again when it comes up

    def _push(self, due: float, key: Key) -> None:
        self._count += 1
        heapq.heappush(self._heap, (due, self._count, key))
        if len(self._heap) > 2 * len(self._due) + SLACK:
            self._sweep()

    def _sweep(self) -> None:
        """Leave one entry for each timer."""
        self._heap[:] = [(due, count, key) for count, (key, due) in enumerate(self._due.items())]
        self._count = len(self._heap)
        heapq.heapify(self._heap)

    def before(self, at: float) -> bool:
        """Whether one may run out before ``at``. A stale one counts: this is asked for every message, and is cheap."""
        return bool(self._heap) and self._heap[0][0] < at

    def next(self) -> float | None:
        """The earliest time, or ``None``."""
        heap = self._heap
        while heap:
            due, _, key = heap[0]
            current = self._due.get(key)
            if current is not None and current <= due:
                return current
            heapq.heappop(heap)
            if current is not None:
                self._push(current, key)
        return None

    def pop_due(self, now: float) -> Iterator[Key]:
        """The timers that have run out, in order of their times; each is stopped."""
        while True:
            due = self.next()
            if due is None or due > now:
                return
            _, _, key = heapq.heappop(self._heap)
            if self._due.pop(key, None) is not None:
                yield key
