from __future__ import annotations

from mcp_tui.journal.store import Frames
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Requests
from mcp_tui.tui.widgets.timeline_pane import Timeline
from mcp_tui.view.filters import parse
from mcp_tui.view.outline import Outline
from mcp_tui.view.timeline import RequestSpans
from tests.tui.making import completed, requests, started
from tests.tui.painted import widget_text
from tests.tui.widgets.host import Clock, Host, inside


def made(of: Requests, clock: Clock, wanted: str = "") -> Timeline:
    outline = Outline(of)
    outline.refilter(parse(wanted), show_internal=False)
    return Timeline(RequestSpans(of, Frames(), origin=0.0), outline, now=clock)


def ids(shown: Timeline) -> list[object]:
    return [row.id for row in shown.rows]


def calls(count: int, *, every: float = 1.0) -> Requests:
    """Calls that come ``every`` seconds and take half a second each."""
    told: list[list[ev.Event]] = []
    for number in range(1, count + 1):
        at = number * every
        told.append([*started(number, at=at), completed(id=number, at=at + 0.5)])
    return requests(*told)


async def test_open_bars_grow_with_the_clock_and_what_is_over_stays():
    clock = Clock(5.0)
    shown = made(requests(started(1, at=1.0), [*started(2, at=2.0), completed(id=2, at=3.0)]), clock)
    async with Host(shown).run_test(size=(80, 12)):
        shown.refresh_spans()
        before = inside(shown)
        assert ids(shown) == [2, 1]
        clock.now = 7.0
        shown.refresh_spans()
        after = inside(shown)
        assert after[3].count("━") > before[3].count("━")
        assert after[2].count("━") == before[2].count("━")
        assert after[1].rstrip().endswith("now")


async def test_with_timers_off_the_time_alone_moves_nothing():
    clock = Clock(5.0)
    shown = made(requests(started(1, at=1.0)), clock)
    shown.timers = "off"
    async with Host(shown).run_test(size=(80, 12)):
        shown.refresh_spans()
        window = shown.window
        clock.now = 9.0
        shown.refresh_spans()
        assert shown.window == window


async def test_keys_pan_and_zoom_and_home_follows_again():
    clock = Clock(100.0)
    shown = made(calls(90), clock)
    async with Host(shown).run_test(size=(80, 12)) as pilot:
        shown.focus()
        assert shown.follow
        span = shown.span
        shown.zoom(1)
        assert shown.span < span
        await pilot.press("left")
        assert not shown.follow
        assert "ago" in widget_text(shown)
        right = shown.window.end
        await pilot.press("left")
        assert shown.window.end < right
        await pilot.press("right", "right", "right")
        assert shown.follow
        await pilot.press("end")
        assert 1 in ids(shown)
        assert not shown.follow
        await pilot.press("home")
        assert shown.follow


async def test_moving_tells_the_screen_and_enter_asks_for_the_row():
    clock = Clock(10.0)
    shown = made(calls(5), clock)
    told: list[tuple[str, object]] = []

    class Hearing(Host):
        def on_list_canvas_selected(self, event: Timeline.Selected) -> None:
            told.append(("selected", event.about))

        def on_list_canvas_activated(self, event: Timeline.Activated) -> None:
            told.append(("activated", event.about))

    async with Hearing(shown).run_test(size=(80, 12)) as pilot:
        shown.focus()
        shown.select(5)
        await pilot.press("j", "enter")
        await pilot.click(shown, offset=(10, 4))
        await pilot.click(shown, offset=(10, 5), times=2)
    assert told == [("selected", 4), ("activated", 4), ("selected", 3), ("activated", 3)]


async def test_what_the_filter_hides_has_no_bar():
    clock = Clock(10.0)
    shown = made(calls(5), clock, "-id:1 -id:3 -id:5")
    async with Host(shown).run_test(size=(80, 12)):
        shown.refresh_spans()
        assert ids(shown) == [4, 2]
        assert "×2" in inside(shown)[-1]
