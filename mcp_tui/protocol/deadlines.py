"""The deadlines of requests: a heap with lazy removal.

Setting a timer costs one push. A stale entry is dropped when it comes to the top, or together with all others when
they are more than half of the heap. So ten thousand requests with progress need no scan.
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
    """The nearest limit of the request, or the end of its grace."""
    POLL = 1
    """The next poll of its task."""
    ACKNOWLEDGEMENT = 2
    """The acknowledgement of a subscription is overdue."""
    RELEASE = 3
    """The stream of a cancelled request has been open long enough."""


TimerKey = tuple[Timer, RequestId]

STALE_ENTRIES: Final = 64
"""The number of stale entries up to which the heap is not cleaned."""


class Deadlines:
    """The next time of each timer of each request, in monotonic seconds."""

    def __init__(self) -> None:
        self.soonest = inf
        """A lower bound of all times; :meth:`next` finds the earliest time itself."""
        self._due: dict[TimerKey, float] = {}
        # The flag separates numbers from strings, because Python cannot compare an id 7 with an id "7".
        self._heap: list[tuple[float, bool, TimerKey]] = []

    def arm(self, timer: Timer, id: RequestId, due: float | None) -> None:
        """Sets a timer of the request ``id``, or stops it (``None``)."""
        if due is None:
            # Many calls stop a timer that was never set; an empty table answers them without a lookup.
            if self._due:
                self._due.pop((timer, id), None)
            return
        key = (timer, id)
        self._due[key] = due
        self.soonest = min(due, self.soonest)
        heapq.heappush(self._heap, (due, isinstance(id, str), key))
        # Progress sets one timer again and again; without this the heap would grow with each message.
        if len(self._heap) > 2 * len(self._due) + STALE_ENTRIES:
            self._heap[:] = [(due, isinstance(key[1], str), key) for key, due in self._due.items()]
            heapq.heapify(self._heap)

    def next(self) -> float | None:
        """Returns the earliest time, or ``None``."""
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
