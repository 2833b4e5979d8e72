"""What a window of time shows of a session: requests that pass the filter, messages in each cell, how long answers take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from typing import Final

from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view.lines import Segments
from mcp_tui.tui.view.spans import Spans
from mcp_tui.tui.view.text import fit, safe, words
from mcp_tui.tui.view.timeline import Latency, Window, latencies, rate, sparkline

LOOKED: Final = 2_000
"""Requests that one key, and one frame where most are filtered out, looks through at most."""

MEASURED: Final = 1_000
"""The newest requests that percentiles are made of."""


class Seen:
    """Counts what a window shows, and nothing twice.

    Attributes:
        left_out: whether :meth:`during` has stopped before the end, because too many did not pass.
        latencies: of the newest requests, as of the last :meth:`measure`.
    """

    def __init__(self, spans: Spans, shows: Callable[[Request], bool]) -> None:
        self.left_out = False
        self.latencies: list[Latency] = []
        self._spans = spans
        self._shows = shows
        self._edges: dict[int, int] = {}
        self._counts: list[int] = []
        self._step = 0.0
        self._counted_at = 0.0
        self._measured_at: float | None = None

    def during(self, window: Window, below: int | None = None) -> Iterator[tuple[int, Request]]:
        """The requests in a window that pass the filter, newest first, with their places; those before ``below``."""
        found = self._spans.during(window.begin, window.end, below)
        self.left_out = False
        for looked, each in enumerate(found):
            if looked == LOOKED:
                self.left_out = True
                return
            if self._shows(each[1]):
                yield each

    def count(self, window: Window, now: float) -> None:
        """Count the messages in each cell. Edges that lie behind us are counted once."""
        if len(self._edges) > 4 * window.cells or self._step != window.step or now < self._counted_at:
            self._edges.clear()
        self._step, self._counted_at = window.step, now
        known: list[int] = []
        for edge in range(window.first, window.first + window.cells + 1):
            count = self._edges.get(edge)
            if count is None:
                count = self._spans.messages(edge * window.step)
                if edge * window.step < now - 1:
                    self._edges[edge] = count
            known.append(count)
        self._counts = [max(0, after - before) for before, after in pairwise(known)]

    def rates(self, window: Window, gutter: int) -> Segments:
        """The messages of each cell as a sparkline, with the most of them in words before it."""
        most = max(self._counts, default=0)
        often = rate(most, window.step)
        said = (
            (safe(" messages, most {}", often) if gutter > 22 else safe(" most {}", often))
            if most
            else words("")
        )
        return (fit(said, gutter), "muted"), (sparkline(self._counts, most), "accent")

    def measure(self, now: float) -> None:
        """Find how long answers take, once a second."""
        if self._measured_at is not None and 0 <= now - self._measured_at < 1:
            return
        self._measured_at = now
        newest = islice(self._spans.during(float("-inf"), float("inf")), MEASURED)
        self.latencies = latencies(row for _, row in newest if self._shows(row))
