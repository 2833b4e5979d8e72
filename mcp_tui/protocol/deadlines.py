"""Deadlines of requests: a heap with lazy removal.

Setting a timer again costs one push. Stale entries are dropped when they come up, or all at once when they are more than
half of the heap, so ten thousand requests with progress need no scan.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from enum import IntEnum
from math import inf
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


TimerKey = tuple[Timer, RequestId]

STALE_ENTRIES: Final = 64
"""Stale entries up to which the heap is not cleaned."""


class Deadlines:
    """At most one time for each timer of each request, the earliest first. Times are monotonic seconds."""

    def __init__(self) -> None:
        self.soonest = inf
        """No time is earlier than this; :meth:`next` finds the time itself."""
        self._due: dict[TimerKey, float] = {}
        # the flag parts ids that are numbers from texts, which have no order between them
        self._heap: list[tuple[float, bool, TimerKey]] = []

    def arm(self, timer: Timer, id: RequestId, due: float | None) -> None:
        """Sets a timer of the request ``id``, or stops it (``None``)."""
        if due is None:
            if self._due:
                self._due.pop((timer, id), None)
            return
        key = (timer, id)
        self._due[key] = due
        self.soonest = min(due, self.soonest)
        heapq.heappush(self._heap, (due, isinstance(id, str), key))
        if len(self._heap) > 2 * len(self._due) + STALE_ENTRIES:
            self._heap[:] = [(due, isinstance(key[1], str), key) for key, due in self._due.items()]
            heapq.heapify(self._heap)

    def next(self) -> float | None:
        """The earliest time, or ``None``."""
        while self._heap:
            due, _, key = self._heap[0]
            if self._due.get(key) == due:
                self.soonest = due
                return due
            heapq.heappop(self._heap)
        self.soonest = inf
        return None

    def pop_due(self, now: float) -> Iterator[TimerKey]:
        """Yields the timers that have run out, earliest first, and stops each."""
        while (due := self.next()) is not None and due <= now:
            _, _, key = heapq.heappop(self._heap)
            del self._due[key]
            yield key
