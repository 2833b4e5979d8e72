"""The moments at which a ledger must look again: a heap with lazy removal.

Arming a request again costs one push at most; what became stale is dropped when it comes up, or all at once when it
is the greater part. So ten thousand requests with progress cost no scan, and what is over leaves nothing behind.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Final

from mcp_tui.protocol.events import RequestId

_Key = tuple[type, RequestId]

SLACK: Final = 64
"""Stale entries that are not worth a sweep."""


class Deadlines:
    """At most one moment for each request, the earliest first. Moments are monotonic seconds."""

    def __init__(self) -> None:
        self._due: dict[_Key, float] = {}
        self._heap: list[tuple[float, int, RequestId]] = []
        self._count = 0

    def arm(self, id: RequestId, due: float | None) -> None:
        """Set the moment of ``id``, in place of the one it had; ``None`` takes it away."""
        key = (type(id), id)
        if due is None:
            self._due.pop(key, None)
            return
        known = self._due.get(key)
        self._due[key] = due
        if known is None or due < known:
            self._push(due, id)
        # a later moment leaves the old entry in the heap: it is pushed again when it comes up

    def _push(self, due: float, id: RequestId) -> None:
        self._count += 1
        heapq.heappush(self._heap, (due, self._count, id))
        if len(self._heap) > 2 * len(self._due) + SLACK:
            self._sweep()

    def _sweep(self) -> None:
        """Leave one entry for each request."""
        self._heap[:] = [(due, count, key[1]) for count, (key, due) in enumerate(self._due.items())]
        self._count = len(self._heap)
        heapq.heapify(self._heap)

    def next(self) -> float | None:
        """The earliest moment, or ``None``."""
        heap = self._heap
        while heap:
            due, _, id_ = heap[0]
            current = self._due.get((type(id_), id_))
            if current is not None and current <= due:
                return current
            heapq.heappop(heap)
            if current is not None:
                self._push(current, id_)
        return None

    def pop_due(self, now: float) -> Iterator[RequestId]:
        """The requests whose moment has come, in order of their moments; each loses it."""
        while True:
            due = self.next()
            if due is None or due > now:
                return
            _, _, id_ = heapq.heappop(self._heap)
            if self._due.pop((type(id_), id_), None) is not None:
                yield id_
