"""The goals for speed: one declared row each, with how it is measured."""

from __future__ import annotations

from typing import NamedTuple

Figures = dict[str, float]
Found = dict[str, dict[str, Figures]]
"""Figures by scenario and client."""

SCALED = ("s", "ms", "µs", "% of a core")
"""Units of which a machine that is half as fast has about twice as much."""


class Goal(NamedTuple):
    """A figure, and what it has to be.

    ``where`` is client, scenario (``driver.py``, or a function of ``__main__.py``), and figure. ``goal`` is ``≤`` or ``≥``
    and a number, or a number of times another figure: ``≥ 5 × mcp`` is that of another client in the same scenario, and
    ``≥ 0.75 × ours in_flight_1000`` in another one; a third word names another figure.
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
    def is_ratio(self) -> bool:
        """Whether it is compared with another figure of the same run."""
        return "×" in self.goal

    @property
    def other(self) -> tuple[str, str, str]:
        """Client, scenario, and figure that it is compared with."""
        words = self.goal.partition("× ")[2].split()
        own = self.where.split()
        return words[0], (words[1:] or own[1:])[0], (words[2:] or own[2:])[0]

    def found(self, found: Found) -> float | None:
        """The ratio or the figure, where there is one."""
        own = value(found, self.client, self.scenario, self.figure)
        if own is None or not self.is_ratio:
            return own
        other = value(found, *self.other)
        return own / other if other else None

    def holds(self, found: float) -> bool:
        """Whether the goal is reached."""
        side, bound = self.goal.split()[:2]
        limit = float(bound.replace(",", ""))
        return found <= limit if side == "≤" else found >= limit

    def verdict(self, found: Found, slowness: float) -> str:
        """Whether the goal is reached here, or by its share on a machine that is ``slowness`` times as fast."""
        own = self.found(found)
        if own is None:
            return "not measured"
        if self.holds(own):
            return "holds"
        return "holds scaled" if self.scales and self.holds(own / slowness) else "MISSED"

    @property
    def scales(self) -> bool:
        """Whether the figure depends on the speed of the machine as ``python -c pass`` does."""
        return self.unit in SCALED and not self.is_ratio


def value(found: Found, client: str, scenario: str, figure: str) -> float | None:
    """A figure, where there is one."""
    return found.get(scenario, {}).get(client, {}).get(figure)


GOALS = (
    Goal("requests a second, 1,000 in flight: beside mcp", "ours in_flight_1000 per_second", "/s", "≥ 5 × mcp"),
    Goal("… beside the floor", "ours in_flight_1000 per_second", "/s", "≥ 0.33 × floor"),
    Goal("… with the journal, beside without", "journal in_flight_1000 per_second", "/s", "≥ 0.7 × ours"),
    Goal("… 10,000 in flight, beside 1,000", "ours in_flight_10000 per_second", "/s", "≥ 0.75 × ours in_flight_1000"),
    Goal("round trip, client and server on one CPU: beside the floor", "ours round_trip_pinned us", "µs", "≤ 1.5 × floor"),
    Goal("`call echo`, the whole process: beside the Inspector", "ours call seconds", "s", "≤ 0.28 × inspector"),
    Goal("first frame of the workbench: beside a bare app", "ours startup first", "ms", "≤ 1.25 × bare"),
    Goal("… the server's tools on it", "ours startup tools", "ms", "≤ 1.6 × bare startup first"),
    Goal(
        "50 calls/s, processor: 50,000 beside 400 finished", "terminal screen old_core", "%",
        "≤ 1.2 × terminal screen calls_core",
    ),
    Goal("streamable HTTP, one at a time: beside mcp", "ours http_1 per_second", "/s", "≥ 1 × mcp"),
    Goal("… beside TypeScript", "ours http_1 per_second", "/s", "≥ 1 × ts1"),
    Goal("… 20 at once: beside mcp", "ours http_20 per_second", "/s", "≥ 1 × mcp"),
    Goal("… beside TypeScript", "ours http_20 per_second", "/s", "≥ 1 × ts1"),
    Goal("… 100 at once: beside mcp", "ours http_100 per_second", "/s", "≥ 1 × mcp"),
    Goal("… beside TypeScript", "ours http_100 per_second", "/s", "≥ 1 × ts1"),
    Goal("an idle workbench beside that of 5dad7e7b", "ours idle workbench", "% of a core", "≤ 0.6 × before"),
    Goal("… an idle `attach`, beside it", "ours idle attach", "% of a core", "≤ 1 × before idle workbench"),
    Goal("a dialog opened at 120×36, the largest of six", "ours dialogs worst", "kB", "≤ 0.3 × before"),
    Goal("tap: throughput, beside a bare relay", "ours tap per_second", "/s", "≥ 0.95 × relay"),
    Goal("… with `--once`, a call that is no repeat, beside without", "once tap call", "µs", "≤ 1.05 × ours"),
    Goal("… over HTTP, a call, beside a bridge", "ours tap http", "µs", "≤ 0.35 × supergateway"),
    Goal("… beside 5dad7e7b", "ours tap http", "µs", "≤ 0.35 × before"),
    Goal("… memory of a further one, 20 taps, beside 5dad7e7b", "ours taps_memory further", "MB", "≤ 0.37 × before"),
    Goal("… beside MCPHawk's wrapper", "ours taps_memory further", "MB", "≤ 0.43 × mcphawk"),
    Goal("a long recording: `check`, beside `jq -c`", "ours recordings check", "s", "≤ 0.7 × jq recordings seconds"),
    Goal("… `export --format csv`", "ours recordings csv", "s", "≤ 0.7 × jq recordings seconds"),
    Goal("… `export --format otlp`", "ours recordings otlp", "s", "≤ 0.7 × jq recordings seconds"),
    Goal("… `log --sums`", "ours recordings sums", "s", "≤ 0.1 × jq recordings seconds"),
    Goal("… `check`, beside 5dad7e7b", "ours recordings check", "s", "≤ 0.4 × before"),
    Goal("`mock`, processor a call: 2,000 equal calls beside 500", "ours mock many", "ms", "≤ 1.2 × ours mock few"),
    Goal("enter in the cancel dialog to the server, worst of 20: idle", "terminal cancel_key 0_p99", "ms", "≤ 20"),
    Goal("… 100 notifications/s", "terminal cancel_key 100_p99", "ms", "≤ 20"),
    Goal("… 10,000 notifications/s, p99 of 100", "terminal cancel_key 10000_p99", "ms", "≤ 20"),
    Goal("… median", "terminal cancel_key 10000_median", "ms", "≤ 5"),
    Goal("… 50,000 notifications/s, worst of 20", "terminal cancel_key 50000_p99", "ms", "≤ 20"),
    Goal("a timeout, later than set, p99 of 100: idle", "ours timeouts idle_p99", "ms", "≤ 50"),
    Goal("… 50,000 notifications/s", "ours timeouts flood_p99", "ms", "≤ 50"),
    Goal("key to the frame that shows it, worst of 60: idle", "terminal screen idle_p99", "ms", "≤ 50"),
    Goal("… 10 in flight", "terminal screen in_flight_p99", "ms", "≤ 50"),
    Goal("… 100 notifications/s", "terminal screen notes_100_p99", "ms", "≤ 50"),
    Goal("… 1,000 notifications/s", "terminal screen notes_1000_p99", "ms", "≤ 50"),
    Goal("… 50 calls/s, 400 finished", "terminal screen calls_p99", "ms", "≤ 50"),
    Goal("… 50 calls/s, 50,000 finished", "terminal screen old_p99", "ms", "≤ 50"),
    Goal("an idle workbench, share of a core", "ours idle workbench", "% of a core", "≤ 0.5"),
    Goal("a dialog opened at 120×36, the largest of six", "ours dialogs worst", "kB", "≤ 8"),
    Goal("100,000 tools: key in the filter to its frame, worst of 18", "ours filtering cpu", "ms", "≤ 50"),
    Goal("a long recording: memory at most", "ours recordings mb", "MB", "≤ 100"),
    Goal("`ps` with 100 sessions, ten open calls each", "ours fleet_100 ps", "s", "≤ 0.3"),
    Goal("`make run` on a new machine, with uv: first words", "ours fresh words", "s", "≤ 1"),
    Goal("… first frame", "ours fresh frame", "s", "≤ 33"),
    Goal("tap: first ten calls, limit 1 s, four busy processes beside: late", "ours first_calls late", "s", "≤ 0.3"),
    Goal("100 notifications/s, share of a core", "terminal screen notes_100_core", "% of a core", "≤ 5"),
    Goal("50 calls/s, to the terminal", "terminal screen calls_kB", "kB/s", "≤ 40"),
    Goal("memory of a request in flight", "ours memory bytes", "B", "≤ 3,000"),
    Goal("memory with a million finished", "ours million mb", "MB", "≤ 250"),
    Goal("64 MB, one string: stall", "ours large_string stall", "ms", "≤ 50"),
    Goal("… in the workbench", "workbench large stall", "ms", "≤ 50"),
    Goal("… memory at most", "ours large_string mb", "MB", "≤ 300"),
    Goal("64 MB, 1.2 million items: stall", "ours large_items stall", "ms", "≤ 50"),
    Goal("… memory at most", "ours large_items mb", "MB", "≤ 250"),
    Goal("1,000 sessions with ten open calls each: `ps`", "ours fleet ps", "s", "≤ 1"),
    Goal("… a scrape of `metrics`", "ours fleet metrics", "s", "≤ 1"),
    Goal("four taps with `--otlp`: spans made", "ours spans made", "MB/s", "≥ 5"),
    Goal("… frames that are not recorded", "ours spans frames_lost", "", "≤ 0"),
    Goal("tap: a limit beside another tap's flood, worst of 100: later", "ours tap_limits added", "ms", "≤ 50"),
    Goal("tap: added to a call, median", "ours tap median", "µs", "≤ 200"),
    Goal("… p99", "ours tap p99", "µs", "≤ 1,000"),
    Goal("… over HTTP, median", "ours tap http", "µs", "≤ 200"),
    Goal("… added to the server's first byte", "ours tap first", "ms", "≤ 30"),
    Goal("… added to the exit behind a flood", "ours tap exit", "ms", "≤ 500"),
    Goal("… processor of its recorder, a frame", "ours tap cpu", "µs", "≤ 50"),
)  # fmt: skip

TITLES = {
    "floor": "floor",
    "bare": "bare Textual app",
    "none": "no tap",
    "once": "tap --once",
    "before": "5dad7e7b",
    "mcp": "mcp 2",
    "ts1": "TypeScript 1",
    "ts2": "TypeScript 2",
    "inspector": "Inspector",
    "fastmcp": "fastmcp",
    "relay": "bare relay",
    "socat": "socat",
    "supergateway": "supergateway",
    "mcphawk": "MCPHawk",
    "jq": "jq",
}
"""The least that is possible, and what people would use otherwise."""

FLOORS = ("floor", "bare", "none")
