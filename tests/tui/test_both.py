"""The pane with the log and the wire in one list."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.journal.frames import FrameHead
from mcp_tui.tui.look import Look
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.widgets.line_list import LineList
from tests.tui.driving import Driven, driving
from tests.tui.replaying import replaying

SIZES = [(80, 24), (120, 36), (140, 40), (200, 60)]


def under(lines: LineList) -> str:
    """The line under the cursor."""
    assert lines.selected is not None
    return lines.selected.text


async def move_to(driven: Driven, lines: LineList, what: str) -> None:
    """Move up to a line."""
    for _ in range(lines.count):
        await driven.press("up")
        if what in under(lines):
            return
    raise AssertionError(f"no line has {what!r}")


@pytest.mark.parametrize("size", SIZES)
async def test_the_log_and_the_wire_are_told_in_one_list_by_time(size: tuple[int, int]):
    async with driving(size=size) as driven:
        row = await driven.in_flight("stubborn", seconds=1)
        await driven.press("C", "7")
        await driven.until(lambda: f"cancelled {row.id} stubborn" in driven.inside("both"))
        assert "[Both]" in driven.text()
        assert driven.bench.both.region.height > 5
        await driven.press("home")
        await driven.until(lambda: "client    connected" in driven.inside("both"))
        lines = [line for line in driven.inside("both").splitlines() if line.count(":") >= 2]
        assert len({line.index(":") for line in lines}) == 1, "times stand below each other"
        assert {line[2] for line in lines} >= {"→", "←", " "}
        times = [line[line.index(":") - 2 :][:12] for line in lines]
        assert times == sorted(times)
        await driven.press("7")
        assert driven.bench.focused is driven.bench.table, "its key leads back"


@pytest.mark.parametrize("size", SIZES)
async def test_a_click_on_its_tab_shows_it(size: tuple[int, int]):
    async with driving(size=size) as driven:
        await driven.press("4")
        log = driven.bench.log_list
        title = next(line for line in driven.text().splitlines() if "[Log]" in line)
        await driven.pilot.click(log, offset=(title.index("Both") + 1 - log.region.x, 0))
        await driven.until(lambda: "[Both]" in driven.text())
        assert driven.bench.focused is driven.bench.both


async def test_it_is_there_again_the_next_time(tmp_path: Path):
    kept = tmp_path / "look.json"
    async with driving(size=(140, 40), preferences=Preferences(look=Look.read(kept))) as driven:
        await driven.press("7")
    assert Look.read(kept).pane == "both"
    async with driving(size=(140, 40), preferences=Preferences(look=Look.read(kept))) as driven:
        await driven.until(lambda: "[Both]" in driven.text())
        await driven.until(lambda: "tools/list" in driven.inside("both"))


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
async def test_the_cursor_goes_with_one_from_list_to_list(size: tuple[int, int]):
    async with driving(size=size) as driven:
        bench = driven.bench
        row = await driven.in_flight("stubborn", seconds=0.4)
        await driven.press("C")
        await driven.until(lambda: row.late)
        await driven.press("5")
        await move_to(driven, bench.wire, f"cancelled {row.id} stubborn")
        await driven.press("7")
        await driven.until(lambda: bench.both.selected is not None)
        assert f"cancelled {row.id} stubborn" in under(bench.both), "the same line"
        await driven.press("4")
        await driven.pilot.pause()
        assert bench.log_list.selected is None, "nothing in the log tells of it"
        await driven.press("home")
        assert "started" in under(bench.log_list)
        await driven.press("7")
        await driven.until(lambda: "client    started" in under(bench.both))


async def test_enter_opens_the_frame_and_esc_leads_back_to_the_list():
    async with driving(size=(80, 24)) as driven:
        row = await driven.in_flight("silent")
        await driven.press("7")
        await move_to(driven, driven.bench.both, f"tools/call {row.id}")
        await driven.press("enter")
        await driven.until(lambda: "→ to the server" in driven.text())
        await driven.press("escape")
        await driven.until(lambda: "[Both]" in driven.text())
        assert driven.bench.focused is driven.bench.both


async def test_its_filter_takes_the_terms_of_both():
    async with driving(size=(140, 40)) as driven:
        await driven.in_flight("silent")
        await driven.press("7", "slash")
        await driven.type("dir:out")
        await driven.until(lambda: "←" not in driven.inside("both") and "client" not in driven.inside("both"))
        assert "→" in driven.inside("both")
        for _ in "dir:out":
            await driven.press("backspace")
        await driven.type("source:client")
        await driven.until(lambda: "→" not in driven.inside("both"))
        assert "connected" in driven.inside("both")
        assert "filter source:client" in driven.inside("both")
        await driven.press("escape")
        await driven.until(lambda: "→" in driven.inside("both"))


async def test_a_recording_has_it_at_each_of_its_moments(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    async with driving(size=(80, 24), record=path) as driven:
        row = await driven.in_flight("stubborn", seconds=0.3)
        await driven.press("C")
        await driven.until(lambda: row.late)
    async with replaying(path) as replayed:
        await replayed.press("7")
        await replayed.until(lambda: f"cancelled {row.id} stubborn" in replayed.inside("both"))
        lists = replayed.bench.mixed, replayed.bench.logged, replayed.bench.framed
        at_end = [each.end for each in lists]
        assert at_end[0] == at_end[1] + at_end[2]
        shown = [lists[0].item(number) for number in range(at_end[0])]
        times = [told.at for told in shown if told is not None]
        assert times == sorted(times)
        await replayed.press("[")
        await replayed.until(lambda: lists[0].end < at_end[0])
        assert [lists[0].item(number) for number in range(lists[0].end)] == shown[: lists[0].end]


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_the_wire_names_what_each_frame_is_about(size: tuple[int, int]):
    async with driving(size=size) as driven:
        row = await driven.in_flight("chatty", seconds=1)
        await driven.press("C", "5")
        await driven.until(lambda: row.late)
        for said in (
            f"tools/call {row.id} chatty",
            f"cancelled {row.id} chatty",
            f"progress {row.id} chatty",
        ):
            await driven.until(lambda said=said: said in driven.inside("wire"))
        assert ("notifications/progress" in driven.inside("wire")) is (size[0] == 80)


async def test_a_response_says_what_it_answers_and_one_of_ours_is_none_to_a_request_of_ours():
    async with driving(size=(140, 40)) as driven:
        await driven.press("5")
        await driven.until(lambda: "response 2 tools/list" in driven.inside("wire"))
        theirs = FrameHead(seq=9, at=1.0, direction="in", id=2)
        ours = FrameHead(seq=9, at=1.0, direction="out", id=2)
        assert driven.bench.row_of(theirs) is driven.row(2)
        assert driven.bench.row_of(ours) is None
