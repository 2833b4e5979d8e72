"""What the request table costs, next to a Textual app with one line of text in the same run.

``python -m benchmarks.table`` prints, for 36 to 10,000 rows in flight, the time to the first frame and the time of one
tick of all timers (layout, drawing and encoding), and the ratios to the bare app. Trust the ratios.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable

from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.widget import Widget
from textual.widgets import Static

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Book
from mcp_tui.tui.widgets.request_table import RequestTable

ROWS = (36, 1_000, 10_000)
TICKS = 50
ROUNDS = 5
SIZE = (140, 40)


class Bench(App[None]):
    """One widget on a screen."""

    CSS = "Screen > * { height: 1fr; }"

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget

    def compose(self) -> ComposeResult:
        yield self.widget


def book(rows: int) -> Book:
    """That many requests in flight."""
    made = Book()
    for number in range(1, rows + 1):
        made.apply(ev.Called(at=0.0, id=number, method="tools/call", name="slow_sql"))
        made.apply(ev.Sent(at=0.0, id=number))
        made.apply(ev.Progress(at=1.0, id=number, progress=number % 100, total=100))
    return made


async def measure(widget: Widget, tick: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds to the first frame, and of the median tick."""
    began = time.perf_counter()
    app = Bench(widget)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        first = time.perf_counter() - began
        taken: list[float] = []
        for _ in range(TICKS):
            began = time.perf_counter()
            tick()
            for strip in widget.render_lines(Region(0, 0, *widget.outer_size)):
                strip.render(app.console)
            taken.append(time.perf_counter() - began)
    return first * 1000, statistics.median(taken) * 1000


async def main() -> None:
    """Measure in turns, so that a noisy machine is noisy for all."""
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(ROUNDS):
        static = Static("bare", markup=False)
        found.setdefault("bare app", []).append(await measure(static, static.refresh))
        for rows in ROWS:
            now = [2.0]
            table = RequestTable(book(rows), now=lambda now=now: now[0])

            def tick(table: RequestTable = table, now: list[float] = now) -> None:
                now[0] += 0.1
                table.refresh_rows()

            found.setdefault(f"{rows:,} rows", []).append(await measure(table, tick))
    bare_first = min(first for first, _ in found["bare app"])
    print(f"{'':12} {'first frame':>12} {'ratio':>6} {'tick':>9}")
    for name, rounds in found.items():
        first, ticked = min(first for first, _ in rounds), min(ticked for _, ticked in rounds)
        print(f"{name:12} {first:9.1f} ms {first / bare_first:6.2f} {ticked:6.2f} ms")


if __name__ == "__main__":
    asyncio.run(main())
