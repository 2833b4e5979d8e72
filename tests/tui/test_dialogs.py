"""Dialogs are as large as what they hold, name each key once, and leave in sight what they are about."""

from __future__ import annotations

import pytest

from mcp_tui.tui.screens.dialog import ConfirmScreen, Dialog
from tests.slow import slow
from tests.tui.driving import Driven, driving


def boxed(driven: Driven) -> list[str]:
    """The lines within the frame of the dialog on top."""
    top = driven.top
    assert isinstance(top, Dialog)
    box = top.query_one("#dialog").content_region
    return [line[box.x : box.right].strip() for line in driven.text().splitlines()[box.y : box.bottom]]


async def test_q_quits_when_nothing_runs_and_asks_otherwise() -> None:
    async with driving() as driven:
        await driven.in_flight("silent")
        await driven.press("q")
        assert isinstance(driven.top, ConfirmScreen)
        assert "Quit? 1 request in flight" in driven.text()
        assert boxed(driven)[-1] == "y Cancel and quit   n Stay"
        await driven.press("n", "C")
        await driven.until(lambda: not driven.session.calls)
        await driven.press("q")
        await driven.until(lambda: driven.app.return_code == 0)


@pytest.mark.parametrize("size", [(80, 24), *slow((110, 30), (140, 40))])
async def test_reason_prompt_stands_beside_its_row_while_others_come_and_is_about_that_one(
    size: tuple[int, int],
) -> None:
    async with driving(size=size) as driven:
        row = await driven.in_flight("silent")
        await driven.press("c")
        for _ in range(3):
            driven.session.call("tools/call", {"name": "silent", "arguments": {}})
        await driven.until(lambda: len(driven.session.running) == 4)
        table = driven.bench.table
        await driven.until(lambda: "›▸ in flight" in driven.inside("requests").splitlines()[5])
        assert table.selected is row
        assert table.line_on_screen == table.region.y + 5
        await driven.until(lambda: driven.top.query_one("#dialog").region.y == table.region.y + 6)
        await driven.type("this one")
        await driven.press("enter")
        assert row.reason == "this one"
        assert len(driven.session.running) == 3
        assert row not in driven.session.running


async def test_reason_prompt_of_the_last_row_stands_above_it() -> None:
    async with driving(size=(80, 12)) as driven:
        for _ in range(8):
            driven.call("silent")
        await driven.press("z", "G", "c")
        line = driven.bench.table.line_on_screen
        assert line is not None
        await driven.until(lambda: driven.top.query_one("#dialog").region.bottom == line)


async def test_a_form_of_one_field_leaves_the_table_in_sight() -> None:
    async with driving() as driven:
        await driven.press("n")
        await driven.until(lambda: "Call a tool" in driven.text())
        await driven.type("echo")
        await driven.press("enter")
        await driven.until(lambda: "Call echo" in driven.text())
        assert driven.top.query_one("#dialog").outer_size.height <= 14
        table = driven.bench.table.region
        assert driven.top.query_one("#dialog").region.y > table.y + 3
        assert boxed(driven)[-1].startswith("^s Call  tab Next")
