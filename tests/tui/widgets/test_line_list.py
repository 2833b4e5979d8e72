from __future__ import annotations

import asyncio
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.view.lines import FilteredLines, Line, line
from mcp_tui.view.text import SafeText, words
from tests.tui.painted import widget_text
from tests.tui.widgets.host import Host, inside
from tests.view.test_lines import Values


class Ring(Values):
    """The last ``size`` lines."""

    def __init__(self, count: int, size: int = 100) -> None:
        super().__init__()
        self.size = size
        self.add(count)

    def add(self, count: int) -> None:
        super().add(count)
        self.dropped = max(0, len(self.values) - self.size)


def texts(shown: LineList) -> list[str]:
    """The lines in sight, the cursor's marked."""
    return [text.rstrip().removeprefix(" ").removesuffix(" said") for text in inside(shown)]


async def test_the_newest_line_is_in_sight_at_the_bottom():
    made = Ring(20)
    shown = LineList(made, title="Log")
    async with Host(shown).run_test(size=(40, 7)):
        assert texts(shown) == ["t15", "t16", "t17", "t18", "t19"]
        made.add(2)
        assert texts(shown)[-1] == "t19"
        shown.refresh_source()
        assert texts(shown) == ["t17", "t18", "t19", "t20", "t21"]
        assert "Log" in widget_text(shown)


@pytest.mark.parametrize("newest_first", [False, True])
async def test_scrolling_away_stops_following_and_coming_back_starts_it(newest_first: bool):
    made = Ring(20)
    shown = LineList(made, newest_first=newest_first)
    away, back = ("G", "g") if newest_first else ("g", "G")
    async with Host(shown).run_test(size=(60, 7)) as pilot:
        shown.focus()
        await pilot.press(away)
        assert not shown.follow
        before = texts(shown)
        made.add(20)
        shown.refresh_source()
        assert texts(shown) == before
        assert "35 newer" in widget_text(shown)
        await pilot.press(back)
        assert shown.follow
        made.add(1)
        shown.refresh_source()
        assert "t40" in texts(shown)


async def test_lines_stay_in_place_while_the_ring_lets_older_ones_go():
    made = Ring(20, size=20)
    shown = LineList(made)
    host = Host(shown)
    async with host.run_test(size=(60, 7)) as pilot:
        shown.focus()
        await pilot.press("pageup", "pagedown", "pageup", "pageup")
        before = texts(shown)
        made.add(3)
        assert widget_text(shown)
        shown.refresh_source()
        assert texts(shown) == before
        assert "3 older dropped" in widget_text(shown)
        made.add(37)
        assert texts(shown) == before
        shown.text_select_all()
        shown.forget()
        assert set(texts(shown)) == {"", "›"}
        assert host.screen.get_selected_text() is not None
        shown.refresh_source()
        assert texts(shown)[0] == "t40"
        assert shown.selected is None


async def test_long_lines_go_on_to_the_side():
    class Long(Ring):
        def line(self, number: int, width: int) -> Line:
            return line((words("time "), "muted"), SafeText("漢字" * 15 + "end"))

    shown = LineList(Long(1))
    async with Host(shown).run_test(size=(40, 5)) as pilot:
        shown.focus()
        assert inside(shown)[0].startswith(" time 漢字")
        assert inside(shown)[0].endswith("…")
        await pilot.press(*["right"] * 5)
        assert inside(shown)[0].rstrip().endswith("end")
        await pilot.press(*["l", "left", "h"], *["left"] * 5)
        assert inside(shown)[0].startswith(" time 漢字")
        assert shown.render_line(0).cell_length == shown.inner.width


async def test_only_lines_in_sight_are_asked_for():
    class Counted(Ring):
        def line(self, number: int, width: int) -> Line:
            asked.add(number)
            return super().line(number, width)

    asked: set[int] = set()
    shown = LineList(Counted(1_000_000, 1_000_000))
    async with Host(shown).run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        assert texts(shown)[-1] == "t999999"
        shown.focus()
        await pilot.press("g")
        await pilot.pause()
        assert texts(shown)[0] == "›t0"
        assert len(asked) < 100


@pytest.mark.parametrize(
    ("newest_first", "copied"), [(False, "5 said\nt16 said\nt1"), (True, "9 said\nt18 said\nt1")]
)
async def test_text_can_be_selected_and_copied(newest_first: bool, copied: str):
    made = Ring(20)
    shown = LineList(made, newest_first=newest_first)
    host = Host(shown)
    async with host.run_test(size=(40, 7)) as pilot:
        await pilot.mouse_down(shown, offset=(4, 1))
        await pilot.hover(shown, offset=(3, 3))
        await pilot.mouse_up(shown, offset=(3, 3))
        await pilot.pause()
        assert host.screen.get_selected_text() == copied
        marked = [segment.text for segment in shown.render_line(1) if segment.style and segment.text.strip()]
        assert "".join(marked).startswith("t1")
        made.add(2)
        shown.refresh_source()
        assert host.screen.get_selected_text() == copied
        assert widget_text(shown)


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
@settings(max_examples=10, deadline=None)
@given(steps=STEPS)
def test_a_list_survives_whatever_its_source_does_while_hidden(newest_first: bool, steps: list[str]):
    asyncio.run(survive(steps, newest_first=newest_first))


def cursor(shown: LineList) -> int | None:
    """The number of the line under the cursor."""
    key = None if shown.cursor_line is None else shown.lines.key(shown.cursor_line)
    assert not isinstance(key, tuple)
    return key


async def survive(steps: list[str], *, newest_first: bool) -> None:
    """Take the steps on a source that raises where it is asked for what it does not have; those of the product do not."""
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
