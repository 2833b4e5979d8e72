"""A line source grows, shrinks and is narrowed while its list is hidden; nothing raises, and the cursor stays.

The source raises where it is asked for what it does not have, which the sources of the product do not.
"""

from __future__ import annotations

import asyncio
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui.tui.view.lines import FilteredLines
from mcp_tui.tui.widgets.line_list import LineList
from tests.tui.view.test_lines import Values
from tests.tui.widgets.host import Host, inside

STEPS = st.lists(
    st.sampled_from(
        (
            *(
                "grow",
                "grow",
                "grow",
                "drop",
                "back",
                "change",
                "hide",
                "show",
                "filter",
                "all",
                "order",
                "look",
                "resize",
            ),
            *("up", "down", "pageup", "pagedown", "home", "end", "click"),
        )
    ),
    min_size=10,
    max_size=60,
)


@pytest.mark.parametrize("newest_first", [False, True])
@settings(max_examples=20, deadline=None)
@given(steps=STEPS)
def test_a_list_survives_whatever_its_source_does_while_hidden(newest_first: bool, steps: list[str]):
    asyncio.run(survive(steps, newest_first=newest_first))


def cursor(shown: LineList) -> int | None:
    """The number of the line under the cursor."""
    key = None if shown.cursor_line is None else shown.lines.key(shown.cursor_line)
    assert not isinstance(key, tuple)
    return key


async def survive(steps: list[str], *, newest_first: bool) -> None:
    source = Values()
    lines: FilteredLines[int] = FilteredLines(source)
    shown = LineList(lines, newest_first=newest_first)
    async with Host(shown).run_test(size=(40, 9)) as pilot:
        shown.focus()
        for step in steps:
            match step:
                case "grow":
                    source.add(3)
                case "drop" | "back" | "change":
                    getattr(source, step)()
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
