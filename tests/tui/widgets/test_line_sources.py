"""Every line source grows, drops and is narrowed while its list is hidden; nothing raises, and the cursor stays."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui.journal.records import FrameHead
from mcp_tui.journal.store import EventLog, Frames
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Book
from mcp_tui.tui.view.cancellations import Cancellations
from mcp_tui.tui.view.lines import EMPTY, FilteredLines, ItemSource, Line, line
from mcp_tui.tui.view.text import clean
from mcp_tui.tui.view.wire import log_lines, wire_lines
from mcp_tui.tui.widgets.line_list import LineList
from tests.tui.making import cancelled, late, started
from tests.tui.widgets.host import Host, inside

Grow = Callable[[int], None]


def logged() -> tuple[ItemSource[Any], Grow]:
    log = EventLog(8, 10_000)
    return log_lines(log, origin=0.0), lambda count: log.append(
        ev.Stderr(at=float(count), line=f"line {count}")
    )


def on_the_wire() -> tuple[ItemSource[Any], Grow]:
    frames = Frames(8)
    return wire_lines(frames, origin=0.0), lambda count: frames.append(
        FrameHead(count, float(count), "in", "ping")
    )


def cancellations() -> tuple[ItemSource[Any], Grow]:
    book = Book()
    lines = Cancellations(book, origin=0.0, now=lambda: 9.0)

    def grow(count: int) -> None:
        told = [*started(count), *cancelled(id=count, settled=""), late(id=max(1, count // 2))]
        for event in told:
            book.apply(event)

    return lines, grow


class Seeking:
    """A recording: its lines are there or not, as the moment is put."""

    version = 0

    def __init__(self) -> None:
        self.source, self.grow = on_the_wire()
        self.until = 0

    @property
    def numbers(self) -> range:
        return range(min(self.until, self.source.numbers.stop))

    def item(self, number: int) -> Any:
        assert number in self.numbers
        return number

    def line(self, number: int, width: int) -> Line:
        return line(clean(str(number)), key=number) if number in self.numbers else EMPTY


def recording() -> tuple[ItemSource[Any], Grow]:
    made = Seeking()
    chosen = random.Random(7)

    def grow(count: int) -> None:
        made.grow(count)
        made.until = chosen.randint(0, made.source.numbers.stop)

    return made, grow


STEPS = st.lists(
    st.sampled_from(
        (
            *("grow", "grow", "grow", "hide", "show", "filter", "all", "order", "look", "resize"),
            *("up", "down", "pageup", "pagedown", "home", "end", "click"),
        )
    ),
    min_size=10,
    max_size=60,
)


@pytest.mark.parametrize("made", [logged, on_the_wire, cancellations, recording])
@pytest.mark.parametrize("newest_first", [False, True])
@settings(max_examples=5, deadline=None)
@given(steps=STEPS)
def test_a_list_survives_whatever_its_source_does_while_hidden(
    made: Callable[[], tuple[ItemSource[Any], Grow]], newest_first: bool, steps: list[str]
):
    asyncio.run(survive(*made(), steps, newest_first=newest_first))


def cursor(shown: LineList) -> int | None:
    """The number of the line under the cursor."""
    key = None if shown.cursor_line is None else shown.lines.key(shown.cursor_line)
    assert not isinstance(key, tuple)
    return key


async def survive(source: ItemSource[Any], grow: Grow, steps: list[str], *, newest_first: bool) -> None:
    lines: FilteredLines[Any] = FilteredLines(source)
    shown = LineList(lines, newest_first=newest_first)
    count = 0
    async with Host(shown).run_test(size=(40, 9)) as pilot:
        shown.focus()
        for step in steps:
            match step:
                case "grow":
                    for _ in range(3):
                        count += 1
                        grow(count)
                case "hide" | "show":
                    shown.display = step == "show"
                    await pilot.pause()
                case "filter":
                    lines.filter(lambda item: crc32(str(item).encode()) % 3 > 0)
                case "all":
                    lines.filter(None)
                case "order":
                    lines.filter(None, str)
                case "look":
                    before = cursor(shown)
                    lines.update()
                    shown.refresh_source()
                    if before is not None and before in lines.numbers:
                        assert cursor(shown) == before
                case "resize":
                    await pilot.resize_terminal(40, 6 if shown.size.height > 6 else 12)
                case "click":
                    shown.select(next(iter(lines.numbers), 0))
                case _:
                    await pilot.press(step)
            assert len(inside(shown)) == shown.inner.height
            assert shown.selected is None or shown.selected.segments is not None


def test_a_line_that_the_ring_dropped_reads_as_nothing():
    source, grow = logged()
    lines: FilteredLines[Any] = FilteredLines(source)
    grow(1)
    (first,) = lines.numbers
    for count in range(2, 40):
        grow(count)
    assert not lines.line(first, 80).segments
