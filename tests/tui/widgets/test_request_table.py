from __future__ import annotations

from collections.abc import Sequence

import pytest
from rich.cells import cell_len
from textual.events import MouseScrollDown, MouseScrollUp
from textual.geometry import Region

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Requests
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.view.badges import Badge
from mcp_tui.view.table_columns import SORTS, TableLine
from tests.tui.hostile import PAYLOADS, assert_harmless
from tests.tui.making import called, cancelled, completed, late, progress, requests, started
from tests.tui.painted import widget_text
from tests.tui.widgets.host import Clock, Host, inside
from tests.view.test_outline import family

NAME, STATE = (next(sort for sort in SORTS if sort.value == each) for each in ("name", "state"))


def table(made: Requests | None = None, now: float = 1.0) -> tuple[RequestTable, Clock]:
    clock = Clock(now)
    return RequestTable(made or Requests(), now=clock), clock


def many(count: int) -> Requests:
    return requests(*(started(number) for number in range(1, count + 1)))


def show_message(shown: RequestTable, *events: ev.Event | Sequence[ev.Event]) -> None:
    """Events, and then the screen's timer."""
    for event in events:
        for each in [event] if isinstance(event, ev.Event) else event:
            apply(shown, each)
    shown.refresh_rows()


def apply(shown: RequestTable, event: ev.Event) -> None:
    assert isinstance(shown.requests, Requests)
    shown.requests.apply(event)


def ids(shown: RequestTable) -> list[str]:
    """The ids in sight, top to bottom, the cursor's marked."""
    found = ((line[:1].strip(), *line[14:].split()[:1]) for line in inside(shown)[1:])
    return ["".join(each) for each in found if each[-1].isdigit()]


STORY = [
    [
        *started(201, at=0.0, name="export_every_invoice"),
        ev.Failed(at=0.04, id=201, message="no b", code=-32602),
    ],
    [*started(202), completed(id=202, at=0.1)],
    [*started(206), *cancelled(id=206, at=2.2, reason="wrong database", settled="")],
    [*started(207), *cancelled(id=207, at=5.0), late(id=207, at=5.412)],
    [*started(212, at=1.0), *cancelled(id=212, at=9.7)],
    [*started(213, at=8.3), progress(17, message="rows", id=213, at=12.0)],
    [*started(214), progress(62, 100, id=214, at=12.0)],
]


LONG = "crawl_every_page_of_the_documentation"
WHY = "it looked at the pages of the wrong edition, 第二版, which nobody reads 🙈 any more"


async def test_whatever_is_in_a_row_its_columns_line_up():
    host = Host(table()[0])
    async with host.run_test(size=(80, 14)) as pilot:
        for width in (60, 80, 140):
            await pilot.resize_terminal(width, 14)
            for name in ("add", LONG, "検索する" * 6, "🦀" * 20):
                for reason in ("", WHY, "理由" * 40):
                    story = [*started(1, name=name), *cancelled(id=1, reason=reason, settled="")]
                    shown, _ = table(requests(story, *STORY))
                    await host.put(shown)
                    await pilot.pause()
                    lines = inside(shown)
                    assert {cell_len(line) for line in lines} == {shown.inner.width}
                    if width >= 80:
                        ends = {cell_len(line[: line.rindex(".") + 3]) for line in lines[1:9]}
                        end = lines[0][: lines[0].index("Elapsed") + len("Elapsed")]
                        assert ends == {cell_len(end)}


async def test_a_lost_row_repeats_nothing_that_the_bar_says_until_that_changes() -> None:
    why = "server exited with code 3"
    lost = [
        (*started(id_), ev.Lost(at=1.0, id=id_, detail=said)) for id_, said in ((1, why), (2, "HTTP 502"))
    ]
    shown, _ = table(requests(*lost))
    async with Host(shown).run_test(size=(120, 10)) as pilot:
        await pilot.pause()
        for told, seen in (
            ("Server exited with code 3 (2 s after your cancel of 9).", False),
            ("Server exited with code 34.", True),
            ("", True),
        ):
            shown.set_loss(told)
            text = widget_text(shown)
            assert (why in text, "HTTP 502" in text) == (seen, True), told


async def test_only_what_moved_is_drawn_again(monkeypatch: pytest.MonkeyPatch):
    shown, clock = table(requests(started(1), started(2), completed(id=2)))
    drawn: list[tuple[Region, ...]] = []
    async with Host(shown).run_test(size=(80, 10)) as pilot:
        await pilot.pause()

        def refresh(*regions: Region, layout: bool = False) -> None:
            drawn.append(regions)

        monkeypatch.setattr(shown, "refresh", refresh)
        shown.refresh_rows()
        assert drawn == []
        clock.now += 0.1
        shown.refresh_rows()
        ((region,),) = drawn
        assert (region.y, region.height) == (2, 1)
        assert region.x > 30
        shown.refresh_rows()
        assert len(drawn) == 1
        # An old timer moves once a second.
        clock.now = 20.0
        shown.refresh_rows()
        clock.now = 20.5
        shown.refresh_rows()
        assert len(drawn) == 2
        show_message(shown, completed(id=1))
        drawn.clear()
        clock.now = 99.0
        shown.refresh_rows()
        assert drawn == []


# -- the cursor ------------------------------------------------------------------------------------------------


async def test_following_never_pushes_the_cursor_out_of_sight():
    shown, _ = table(many(3))
    async with Host(shown).run_test(size=(80, 12)):
        show_message(shown, *(started(number) for number in range(4, 40)))
        assert shown.follow
        assert ids(shown)[-1] == "›3"
        shown.select(39)
        show_message(shown, started(40))
        shown.follow = True
        assert ids(shown)[:2] == ["40", "›39"]


async def test_the_wheel_scrolls_and_leaves_the_cursor():
    shown, _ = table(many(30))
    async with Host(shown).run_test(size=(80, 12)) as pilot:
        await pilot.pause()
        shown.post_message(MouseScrollDown(shown, 10, 3, 0, 1, 0, False, False, False))
        await pilot.pause()
        assert ids(shown)[0] != "›30"
        assert not shown.follow
        assert shown.selected is shown.requests.get(30)
        assert shown.line_on_screen is None
        for _ in range(5):
            shown.post_message(MouseScrollUp(shown, 10, 3, 0, -1, 0, False, False, False))
        await pilot.pause()
        assert ids(shown)[0] == "›30"
        assert shown.follow
        assert shown.line_on_screen is not None


# -- what is shown ---------------------------------------------------------------------------------------------


async def test_a_filter_hides_and_the_cursor_waits():
    shown, _ = table(requests(started(1), started(2), [*started(3), completed(id=3)]))
    async with Host(shown).run_test(size=(80, 12)) as pilot:
        shown.focus()
        assert shown.selected is shown.requests.get(3)
        shown.refilter("state:flight")
        assert ids(shown) == ["2", "1"]
        assert shown.selected is None
        assert "filter state:flight · 2 of 3" in widget_text(shown)
        await pilot.press("enter", "down")
        assert shown.selected is shown.requests.get(2)
        shown.refilter("")
        assert ids(shown) == ["3", "›2", "1"]


async def test_a_row_that_leaves_the_filter_leaves_no_other_under_the_cursor():
    shown, _ = table(requests(started(1), started(2)))
    async with Host(shown).run_test(size=(80, 12)):
        shown.refilter("state:flight")
        assert shown.selected is shown.requests.get(2)
        show_message(shown, completed(id=2))
        assert ids(shown) == ["1"]
        assert shown.selected is None


@pytest.mark.usefixtures("painted")
async def test_ten_thousand_rows_draw_only_those_in_sight(monkeypatch: pytest.MonkeyPatch):
    shown, clock = table(many(10_000))
    asked: set[object] = set()
    made = TableLine.badge.fget
    assert made is not None

    def counted(line: TableLine) -> Badge:
        asked.add(line.item.key)
        return made(line)

    monkeypatch.setattr(TableLine, "badge", property(counted))
    async with Host(shown).run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert len(asked) < 500
        asked.clear()
        clock.now += 0.1
        shown.refresh_rows()
        await pilot.pause()
        assert 0 < len(asked) <= 24
        shown.focus()
        await pilot.press("G")
        assert ids(shown)[-1] == "›1"
        assert shown.virtual_size.height == 10_001


async def test_hostile_text_is_harmless():
    host = Host(table()[0])
    async with host.run_test(size=(120, 14)) as pilot:
        for text in PAYLOADS.values():
            told = requests(
                [called(1, method=text, name=text)],
                [*started(2, name=text), progress(3, message=text, id=2)],
                [*started(3), *cancelled(id=3, reason=text, settled=text)],
                [*started(4), ev.Failed(at=1.0, id=4, message=text, code=-1)],
                [*started(5), ev.Lost(at=1.0, id=5, detail=text)],
                called(text),
                ev.ServerRequestReceived(at=1.0, request_id=text, method=text, parent=1),
                ev.ServerRequestWithdrawn(at=2.0, request_id=text, reason=text),
            )
            shown, _ = table(told)
            await host.put(shown)
            await pilot.pause()
            shown.select(1)
            shown.unfold()
            for filter in (text, ""):
                shown.refilter(filter)
                assert_harmless(widget_text(shown).replace("\n", ""))
                assert {strip.cell_length for strip in map(shown.render_line, range(12))} == {
                    shown.inner.width
                }


# -- what belongs to a row, order and marks ------------------------------------------------------------------------


async def test_what_belongs_to_a_row_stands_under_it_once_it_is_opened():
    shown, _ = table(family(), 6.0)
    async with Host(shown).run_test(size=(80, 12)) as pilot:
        show_message(shown, ev.ServerRequestReceived(at=5.5, request_id="r-1", method="roots/list"))
        await pilot.pause()
        assert inside(shown)[1].split()[:4] == ["◂", "asks", "r-1", "roots/list"]
        assert inside(shown)[4].startswith(" ▸ in flight      1  slow_sql")
        assert "[+3]" in inside(shown)[3]
        shown.select(2)
        assert shown.unfold()
        await pilot.pause()
        lines = inside(shown)
        assert "[-3]" in lines[3]
        assert "◂ asks" in lines[4]
        assert "  sampling/" in lines[4]
        assert "+45 ms" in lines[4]
        assert "  tasks/get" in lines[5]
        assert "+1.0 s" in lines[5]
        assert {len(line) for line in lines[1:8]} == {len(lines[0])}


async def test_marks_stand_in_the_gutter_and_are_of_what_is_shown():
    shown, _ = table(many(3))
    async with Host(shown).run_test(size=(80, 12)) as pilot:
        await pilot.pause()
        for id_ in (3, 1):
            shown.select(id_)
            assert shown.mark()
        await pilot.pause()
        assert [line[:3] for line in inside(shown)[1:4]] == [" ▸▪", " ▸ ", "›▸▪"]
        assert [row.id for row in shown.marked_rows] == [3, 1]
        assert "2 marked" in str(shown.border_subtitle)
        shown.refilter("id:1")
        assert [row.id for row in shown.marked_rows] == [1]
        shown.refilter("")
        assert shown.mark()
        assert [row.id for row in shown.marked_rows] == [3]
        shown.unmark()
        assert shown.marked_rows == []
        assert "marked" not in str(shown.border_subtitle)
