"""Sizes of panes: by keys, and as they were the last time."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from textual import events
from textual.widget import Widget

from mcp_tui.client.client import Client
from mcp_tui.config.settings import DEFAULTS
from mcp_tui.journal.store import Store
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.preferences import Look, Preferences
from mcp_tui.tui.screens.layout import TABS
from mcp_tui.view.server_bar import Link
from tests.tui.driving import DEMO, Driven, driving


def shown(driven: Driven) -> list[Widget]:
    return [pane for pane in (driven.bench.table, *driven.bench.panes.values()) if pane.display]


@pytest.mark.slow
async def test_keys_give_room_to_the_pane_in_use_and_to_those_below():
    async with driving(size=(140, 40)) as driven:
        bench = driven.bench
        detail, table = bench.detail.region, bench.table.region
        await driven.press("2", "(", "(")
        assert bench.detail.region.width > detail.width
        await driven.press(")", ")", ")", ")")
        assert bench.detail.region.width < detail.width
        await driven.press("1", ")", ")", ")", ")")
        assert bench.detail.region.width > detail.width
        await driven.press("=")
        assert bench.table.region.height < table.height or table.height == 3
        await driven.press(*["-"] * 6)
        assert bench.table.region.height > table.height
        await driven.press(*["="] * 60)
        assert all(pane.region.height >= 3 for pane in shown(driven))


async def test_a_key_that_can_move_no_border_says_so():
    async with driving(size=(80, 24)) as driven:
        await driven.until(lambda: driven.session.link is Link.CONNECTED)
        await driven.press(")")
        assert "No border to move" in driven.text()
        height = driven.bench.table.region.height
        await driven.press(*["-"] * 4)
        assert driven.bench.table.region.height > height


async def drag(driven: Driven, start: tuple[int, int], end: tuple[int, int]) -> None:
    await driven.pilot.mouse_down(offset=start)
    # the pilot moves the mouse only without a button
    await driven.pilot._post_mouse_events([events.MouseMove], None, end, button=1)  # pyright: ignore[reportPrivateUsage]
    await driven.pilot.mouse_up(offset=end)
    await driven.pilot.pause()


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 36), (200, 60)])
async def test_borders_are_dragged_with_the_mouse(width: int, height: int):
    async with driving(size=(width, height)) as driven:
        bench = driven.bench
        edge = bench.table.region.bottom - 1
        await drag(driven, (bench.table.region.x + 20, edge), (bench.table.region.x + 20, edge + 4))
        assert bench.table.region.bottom - 1 == edge + 4
        if width == 80:
            return
        if bench.wide:
            edge = bench.catalogue.region.right - 1
            await drag(driven, (edge, height - 4), (edge + 7, height - 4))
            assert bench.catalogue.region.right - 1 == edge + 7
        await driven.press("4")
        edge = bench.log_list.region.x
        await drag(driven, (edge, height - 4), (edge - 5, height - 4))
        assert bench.log_list.region.x == edge - 5


async def test_the_requests_grow_with_their_rows_up_to_45_percent():
    async with driving(size=(120, 36)) as driven:
        assert driven.bench.table.region.height == 8
        for _ in range(7):
            driven.call("grumpy")
        await driven.until(lambda: driven.bench.table.region.height == 10)
        for _ in range(30):
            driven.call("grumpy")
        await driven.until(lambda: driven.bench.table.region.height == 16)
        detail = driven.bench.detail.region
        assert 100 * detail.width >= 55 * 120
        assert 100 * detail.height >= 45 * 36


async def test_it_looks_as_it_was_left(tmp_path: Path) -> None:
    path = tmp_path / "look.json"

    def app() -> WorkbenchApp:
        look = Look.read(path)
        preferences = Preferences(look=look, settings=replace(DEFAULTS, theme=look.theme or DEFAULTS.theme))
        return WorkbenchApp(DEMO, lambda chosen: Client(chosen, store=Store()), preferences)

    first = app()
    async with first.run_test(size=(140, 40)) as pilot:
        driven = Driven(first, pilot)
        # Connected: a client that is closed while it connects may start its server again.
        await driven.until(lambda: first.session is not None and first.session.link is Link.CONNECTED)
        await driven.until(lambda: driven.bench.table.size)
        first.load_themes()
        await driven.press("5", "o", "=", "=")
        first.choose_theme("mcp-tui-light")
        height = driven.bench.wire.region.height
        await driven.session.client.close()
    second = app()
    async with second.run_test(size=(140, 40)) as pilot:
        driven = Driven(second, pilot)
        # Connected: a client that is closed while it connects may start its server again.
        await driven.until(lambda: second.session is not None and second.session.link is Link.CONNECTED)
        await driven.until(lambda: driven.bench.table.size)
        await driven.until(lambda: driven.bench.is_mounted and driven.bench.wire.region.height)
        assert driven.bench.wire.display
        assert driven.bench.wire.region.height == height
        assert driven.bench.table.outline.show_internal
        assert second.theme == "mcp-tui-light"
        await driven.session.client.close()


async def test_the_detail_stands_beside_the_tabs_from_100_cells_on() -> None:
    async with driving(size=(100, 30)) as driven:
        bench = driven.bench
        table, detail = bench.table, bench.detail
        await driven.press("4")
        assert table.region.right == bench.log_list.region.right == 100
        assert detail.region.y == bench.log_list.region.y == table.region.bottom
        assert (detail.region.x, detail.region.right) == (0, bench.log_list.region.x)
        height = detail.region.height
        await driven.press("=", "=")
        await driven.until(lambda: detail.region.height > height)
        await driven.pilot.resize_terminal(99, 30)
        await driven.until(lambda: not detail.display and bench.log_list.region.width == 99)
        await driven.pilot.resize_terminal(170, 30)
        await driven.until(lambda: bench.catalogue.region.right == table.region.x)
        assert (table.region.x, detail.region.right) == (detail.region.x, bench.log_list.region.x)
        assert bench.log_list.display
        await driven.pilot.resize_terminal(169, 30)
        await driven.until(lambda: detail.region.right == bench.log_list.region.x)


async def test_tabs_have_their_names_at_every_width_that_has_room() -> None:
    widths = [44, 60, 100]
    async with driving(size=(widths[0], 30)) as driven:
        driven.call("grumpy")
        for width, key in product(widths, "123456"):
            await driven.pilot.resize_terminal(width, 30)
            await driven.press(key)
            marked = str(driven.bench.panes[driven.bench.pane].border_title)
            title = marked.replace("[bold reverse]", "").replace("[/bold reverse]", "")
            sharing = driven.bench.sharing
            if driven.bench.pane in sharing:
                assert f"[bold reverse] {TABS[driven.bench.pane]}"[:20] in marked
                names = (str(TABS[name]).replace("Cancellations", "Cancel") for name in sharing)
                assert width < 60 or all(name in title for name in names)
            assert title in driven.text()


@pytest.mark.slow
async def test_tabs_have_their_names_again_once_there_is_room_for_them() -> None:
    async with driving(size=(80, 24)) as driven:
        await driven.press("1", "2")
        await driven.pilot.resize_terminal(40, 24)
        await driven.until(lambda: " Catalogue " in driven.text() and "Timeline" not in driven.text())
        await driven.press("1", "2")
        await driven.pilot.resize_terminal(80, 24)
        await driven.until(lambda: " Catalogue " in driven.text() and "Timeline" in driven.text())
        await driven.press("1")
        await driven.until(lambda: "  Detail " in driven.text())
        assert "Timeline" in driven.text()
        await driven.press("question_mark")
        await driven.until(lambda: driven.top is not driven.bench)
        for width in (60, 200, 120, 80):  # while a dialog covers them
            await driven.pilot.resize_terminal(width, 24)
            await driven.until(lambda width=width: driven.bench.size.width == width)
        await driven.press("escape")
        await driven.until(lambda: driven.top is driven.bench and "Timeline" in driven.text())
