"""What a frame of the timeline costs, next to a Textual app with one line of text in the same run.

``python -m benchmarks.timeline`` prints, for 100 to 10,000 requests, all in flight or nearly all over, the time of one
frame in which the clock has moved (looking, layout, drawing and encoding), and of one after an event. Trust the ratios.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.widgets import Static

from benchmarks.table import measure
from mcp_tui.journal.records import FrameHead
from mcp_tui.journal.store import Frames
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Book
from mcp_tui.tui.view.outline import Outline
from mcp_tui.tui.view.timeline import BookSpans
from mcp_tui.tui.widgets.timeline_pane import Timeline

ROWS = (100, 1_000, 10_000)
ROUNDS = 3
EVERY = 0.01


def book(rows: int, *, over: bool) -> tuple[Book, Frames]:
    """That many requests, one each hundredth of a second, and two messages of each."""
    made, frames = Book(), Frames()
    for number in range(1, rows + 1):
        at = number * EVERY
        made.apply(ev.Called(at=at, id=number, method="tools/call", name="slow_sql"))
        made.apply(ev.Sent(at=at, id=number))
        frames.append(FrameHead(2 * number - 1, at, "out"))
        frames.append(FrameHead(2 * number, at, "in"))
        made.apply(ev.Progress(at=at, id=number, progress=number % 100, total=100))
        if over:
            made.apply(ev.Completed(at=at + 1, id=number, size=100))
    return made, frames


def ticking(rows: int, *, over: bool, event: bool) -> tuple[Timeline, Callable[[], object]]:
    """A timeline, and what lets its time pass, with an event each time or without."""
    told, frames = book(rows, over=over)
    told.apply(ev.Called(at=rows * EVERY, id=0, method="tools/call", name="slow_sql"))
    told.apply(ev.Sent(at=rows * EVERY, id=0))
    now = [rows * EVERY + 1.0]
    outline = Outline(told)
    outline.update()
    shown = Timeline(BookSpans(told, frames, origin=0.0), outline, now=lambda: now[0])

    def tick() -> None:
        now[0] += 0.11
        if event:
            told.apply(ev.Progress(at=now[0], id=0, progress=now[0]))
        shown.refresh_spans()

    return shown, tick


async def main() -> None:
    """Measure in turns, so that a noisy machine is noisy for all."""
    found: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        static = Static("bare", markup=False)
        found.setdefault("bare app", []).append((await measure(static, static.refresh))[1])
        for rows in ROWS:
            for over in (True, False):
                for event in (False, True):
                    name = (
                        f"{rows:,} {'over' if over else 'in flight'}, {'an event' if event else 'the time'}"
                    )
                    found.setdefault(name, []).append(
                        (await measure(*ticking(rows, over=over, event=event)))[1]
                    )
    print(f"{'a frame after':32} {'median':>9}")
    for name, rounds in found.items():
        print(f"{name:32} {min(rounds):6.2f} ms")


if __name__ == "__main__":
    asyncio.run(main())
