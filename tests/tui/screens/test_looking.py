"""The mouse on the panes: text is selected, copied and saved, a double click opens, the footer is pressed."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_tui.protocol.requests import State
from tests.tui.driving import driving


async def test_selected_text_is_copied_and_saved_and_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with driving(size=(100, 30)) as driven:
        await driven.press("4")
        await driven.until(lambda: driven.bench.log_list.shown > 2)
        region = driven.bench.log_list.region
        await driven.pilot.mouse_down(driven.bench.log_list, offset=(4, 1))
        await driven.pilot.hover(driven.bench.log_list, offset=(30, 1))
        await driven.pilot.mouse_up(driven.bench.log_list, offset=(30, 1))
        await driven.pilot.pause()
        assert region == driven.bench.log_list.region
        text = driven.bench.get_selected_text()
        assert text
        assert text in driven.inside("log")
        await driven.press("ctrl+c")
        assert driven.app.clipboard == text
        assert "(if your terminal supports OSC 52). w saves to a file" in driven.text()
        await driven.press("w")
        assert (tmp_path / "mcp-tui-selection.txt").read_text() == f"{text}\n"
        assert "mcp-tui-selection.txt" in driven.text()
        await driven.press("escape")
        assert not driven.bench.get_selected_text()


async def test_a_click_selects_and_a_double_click_opens() -> None:
    async with driving(size=(100, 30)) as driven:
        first = await driven.in_flight("silent")
        await driven.in_flight("silent")
        await driven.pilot.click(driven.bench.table, offset=(10, 3))
        assert driven.bench.table.selected is first
        await driven.pilot.click(driven.bench.table, offset=(10, 3), times=2)
        await driven.pilot.pause()
        assert driven.bench.pane == "detail"
        assert driven.bench.focused is driven.bench.detail


async def test_a_click_on_a_key_in_the_footer_presses_it() -> None:
    async with driving(size=(100, 30)) as driven:
        row = await driven.in_flight("silent")
        at = driven.inside("keys").index("C Cancel now")
        await driven.pilot.click(driven.bench.keys, offset=(at + 2, 0))
        await driven.until(lambda: row.state is State.CANCEL_REQUESTED)


async def test_a_click_on_a_button_of_a_dialog_answers() -> None:
    async with driving(size=(100, 30)) as driven:
        driven.call("count", seconds=60)
        await driven.press("q")
        await driven.pilot.click("#yes")
        await driven.until(lambda: driven.left)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (140, 40)])
async def test_the_arguments_of_a_tool_are_a_table_and_a_key_shows_the_schema(size: tuple[int, int]) -> None:
    async with driving(size=size) as driven:
        await driven.until(lambda: driven.bench.catalogue.shown > 2)
        await driven.press("2", "down")
        entry = driven.bench.entry()
        assert entry is not None
        name = entry.name
        await driven.press("1", "z")
        await driven.until(lambda: f"name    {name}" in driven.inside("detail"))
        await driven.press("G")
        await driven.until(lambda: "shows the raw schema" in driven.inside("detail"))
        assert "Required" in driven.inside("detail")
        assert '"properties"' not in driven.inside("detail")
        await driven.press("t", "g")
        await driven.until(lambda: '"properties"' in driven.inside("detail"))
        await driven.press("0", "1")
        await driven.until(lambda: f"name    {name}" not in driven.inside("detail"))
