"""The goals for speed: one declared row each, with how it is measured."""

from __future__ import annotations

from typing import NamedTuple


class Goal(NamedTuple):
    """A figure, and what it has to be.

    ``where`` is client, scenario (``driver.py``, ``workbench.py``, or ``__main__.py``), and figure. ``goal`` is ``≤`` or
    ``≥`` and a number, or a number of times that which another client reaches: ``≥ 1.5 × mcp``.
    """

    what: str
    where: str
    unit: str
    goal: str

    @property
    def client(self) -> str:
        """Whose figure it is."""
        return self.where.split()[0]

    @property
    def scenario(self) -> str:
        """What is measured."""
        return self.where.split()[1]

    @property
    def figure(self) -> str:
        """Its name among those of the scenario."""
        return self.where.split()[2]

    @property
    def other(self) -> str:
        """The client that it is compared with, or nothing."""
        return self.goal.split()[3] if "×" in self.goal else ""

    def holds(self, found: float, other: float = 1.0) -> bool:
        """Whether the goal is reached."""
        side, bound = self.goal.split()[:2]
        limit = float(bound.replace(",", "")) * other
        return found <= limit if side == "≤" else found >= limit


GOALS = (
    Goal("requests/s, 1,000 in flight", "ours in_flight_1000 per_second", "/s", "≥ 40,000"),
    Goal("… with the journal", "journal in_flight_1000 per_second", "/s", "≥ 28,000"),
    Goal("requests/s, 10,000 in flight", "ours in_flight_10000 per_second", "/s", "≥ 36,000"),
    Goal("round trip, client and server on one CPU", "ours round_trip_pinned us", "µs", "≤ 90"),
    Goal("… under uvloop", "uvloop round_trip_pinned us", "µs", "≤ 60"),
    Goal("round trip, free", "ours round_trip us", "µs", "≤ 120"),
    Goal("memory a request in flight", "ours memory bytes", "B", "≤ 2,500"),
    Goal("growth a finished request", "ours growth bytes", "B", "≤ 100"),
    Goal("workbench, 50 calls/s, 400 finished", "workbench aging young_core", "% of a core", "≤ 10"),
    Goal("… with all its finished requests", "workbench aging core", "% of a core", "≤ 10"),
    Goal("… compared with 400", "workbench aging ratio", "×", "≤ 1.2"),
    Goal("… longest stall", "workbench aging stall", "ms", "≤ 30"),
    Goal("… memory", "workbench aging mb", "MB", "≤ 250"),
    Goal("workbench, 100 notifications/s", "workbench notifications core", "% of a core", "≤ 5"),
    Goal("to the terminal at 50 calls/s", "terminal screen calls_kB", "kB/s", "≤ 40"),
    Goal("key to the frame that shows it, p99: idle", "terminal screen idle_p99", "ms", "≤ 50"),
    Goal("… 10 in flight", "terminal screen in_flight_p99", "ms", "≤ 50"),
    Goal("… 100 notifications/s", "terminal screen notes_100_p99", "ms", "≤ 50"),
    Goal("… 1,000 notifications/s", "terminal screen notes_1000_p99", "ms", "≤ 50"),
    Goal("… 50 calls/s, 400 finished", "terminal screen calls_p99", "ms", "≤ 50"),
    Goal("… 50 calls/s, 50,000 finished", "terminal screen calls_old_p99", "ms", "≤ 50"),
    Goal("enter in the cancel dialog to the server, p99: idle", "terminal cancel_key 0_p99", "ms", "≤ 20"),
    Goal("… 100 notifications/s", "terminal cancel_key 100_p99", "ms", "≤ 20"),
    Goal("… 10,000 notifications/s", "terminal cancel_key 10000_p99", "ms", "≤ 20"),
    Goal("… median", "terminal cancel_key 10000_median", "ms", "≤ 5"),
    Goal("… 50,000 notifications/s", "terminal cancel_key 50000_p99", "ms", "≤ 20"),
    Goal("a timeout, later than set, p99: idle", "ours timeouts idle_p99", "ms", "≤ 50"),
    Goal("… 50,000 notifications/s", "ours timeouts flood_p99", "ms", "≤ 50"),
    Goal("cancel from the call, 50,000 notifications/s: median", "ours cancel call_median", "ms", "≤ 0.1"),
    Goal("… p99", "ours cancel call_p99", "ms", "≤ 1.6"),
    Goal("cancel from the moment it was due, same flood: median", "ours cancel due_median", "ms", "≤ 0.4"),
    Goal("… p99", "ours cancel due_p99", "ms", "≤ 20"),
    Goal("flood of 100,000 notifications: API", "ours flood seconds", "s", "≤ 0.5"),
    Goal("… with the journal", "journal flood seconds", "s", "≤ 0.8"),
    Goal("… workbench with the journal", "workbench flood seconds", "s", "≤ 1.2"),
    Goal("64 MB, one string: stall", "ours large_string stall", "ms", "≤ 50"),
    Goal("… with the journal", "journal large_string stall", "ms", "≤ 50"),
    Goal("… in the workbench", "workbench large stall", "ms", "≤ 50"),
    Goal("… time", "ours large_string seconds", "s", "≤ 2"),
    Goal("… memory at most", "ours large_string mb", "MB", "≤ 300"),
    Goal("64 MB, 1.2 M items: time", "ours large_items seconds", "s", "≤ 1"),
    Goal("… memory at most", "ours large_items mb", "MB", "≤ 250"),
    Goal("… stall", "ours large_items stall", "ms", "≤ 50"),
    Goal("copying the answer of 64 MB: to the terminal", "workbench large copy_mb", "MB", "≤ 1"),
    Goal("`call echo`, the whole process", "ours call seconds", "s", "≤ 0.17"),
    Goal("… compared with the Inspector's CLI", "ours call seconds", "s", "≤ 0.6 × inspector"),
    Goal("first frame", "ours startup first", "ms", "≤ 205"),
    Goal("connected frame", "ours startup connected", "ms", "≤ 330"),
    Goal("tap: added to a call, median", "ours tap median", "µs", "≤ 200"),
    Goal("… p99", "ours tap p99", "µs", "≤ 1,000"),
    Goal("… part of the throughput without it", "ours tap throughput", "×", "≥ 0.8"),
    Goal("… added to the server's first byte", "ours tap first", "ms", "≤ 30"),
    Goal("… added to the exit behind a flood", "ours tap exit", "ms", "≤ 500"),
    Goal("… processor of its books, a frame", "ours tap cpu", "µs", "≤ 50"),
    Goal("streamable HTTP, one at a time", "ours http_1 per_second", "/s", "≥ 1.5 × mcp"),
    Goal("… 20 at once", "ours http_20 per_second", "/s", "≥ 1.5 × mcp"),
    Goal("… 100 at once", "ours http_100 per_second", "/s", "≥ 1.5 × mcp"),
)

TITLES = {
    "floor": "floor",
    "mcp": "mcp 2",
    "ts1": "TypeScript 1",
    "ts2": "TypeScript 2",
    "inspector": "Inspector",
    "fastmcp": "fastmcp",
    "bare": "bare Textual app",
    "relay": "bare relay",
    "socat": "socat",
}
"""What people would use otherwise, and what nothing can be faster than."""
