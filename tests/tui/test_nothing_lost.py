"""esc closes and destroys nothing: what was typed is there again, and no request is touched. ctrl+c leads out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual.widgets import Input

from mcp_tui.config.definitions import AskedInput
from mcp_tui.protocol.requests import State
from mcp_tui.tui.screens.dialog import InputsScreen
from mcp_tui.tui.screens.result import ResultScreen
from mcp_tui.tui.widgets.form import Form
from mcp_tui.view.text import words
from tests.tui.screens.host import Host
from tests.tui.snapshots.scenes import Stage, at_noon, staged

pytestmark = pytest.mark.sends_anything  # the far end is a script


def form(stage: Stage) -> dict[str, object]:
    return dict(stage.app.screen.query_one(Form).arguments())


def top(stage: Stage) -> str:
    return type(stage.app.screen).__name__


async def test_arguments_that_were_not_sent_are_there_when_the_form_opens_again():
    with at_noon():
        async with staged((80, 24)) as stage:
            await stage.back()
            await stage.bench.calling.tools("count_rows")
            await stage.type("orders")
            await stage.press("escape")
            assert stage.app.screen is stage.bench
            await stage.press("n")
            await stage.type("count")
            await stage.press("enter")
            assert form(stage) == {"table": "orders"}
            await stage.press("ctrl+s")
            assert stage.app.screen is stage.bench
            await stage.bench.calling.tools("count_rows")
            assert form(stage) == {}


@pytest.mark.parametrize("first", [(), ("m",)], ids=["one", "marked"])
async def test_a_reason_that_was_not_sent_is_among_the_recent_ones(first: tuple[str, ...]):
    with at_noon():
        async with staged((80, 24)) as stage:
            await stage.back()
            await stage.choose("in flight")
            await stage.press(*first, "c")
            await stage.type("wrong table")
            await stage.press("escape")
            assert stage.rows["in flight"].state is State.IN_FLIGHT
            await stage.press("c", "up")
            assert stage.app.screen.query_one(Input).value == "wrong table"


@pytest.mark.slow
async def test_one_more_server_that_was_not_opened_is_typed_when_one_is_asked_for_again():
    with at_noon():
        async with staged((80, 24)) as stage:
            await stage.back()
            await stage.press("v", "a")
            await stage.type("uvx-x")
            await stage.press("escape", "escape")
            assert stage.app.screen is stage.bench
            await stage.press("v", "a")
            assert stage.app.screen.query_one(Input).value == "uvx-x"


async def test_answers_to_what_a_config_file_asks_for_can_be_had_again():
    asked = [
        AskedInput(id="key", description="The key"),
        AskedInput(id="region", description="Where"),
    ]
    first = InputsScreen("x", asked)
    app = Host(first)
    async with app.run_test() as pilot:
        await pilot.press(*"abc", "escape")
        again = InputsScreen("x", asked, typed=first.typed)
        await app.push_screen(again)
        assert [each.value for each in again.query(Input)] == ["abc", ""]


async def test_a_path_that_nothing_was_written_to_is_there_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    content = [{"type": "text", "text": "one"}]
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": content}}).encode()
    screen = ResultScreen(raw, title=words("7 tools/call t"))
    async with Host(screen).run_test() as pilot:
        await pilot.pause()
        await pilot.press("w", *"-mine", "escape", "w")
        assert screen.query_one(Input).value.endswith("-mine")


OVER = "n E S v P ? f1 a ctrl+p"
"""Keys that lay something over the workbench in which ctrl+c does no more than close it."""


@pytest.mark.slow
async def test_escape_pressed_as_often_as_one_likes_and_ctrl_c_over_the_workbench_touch_no_request():
    with at_noon():
        async with staged((80, 24)) as stage:
            before = {name: row.state for name, row in stage.rows.items()}
            for opened in [*OVER.split(), "c", "X", "/", "z", "m", "ctrl+q"]:
                await stage.press(opened, *["escape"] * 4)
                await stage.until(lambda: stage.app.screen is stage.bench)
            for opened in OVER.split():
                await stage.press(opened)
                assert stage.app.screen is not stage.bench
                await stage.press("ctrl+c")
                await stage.until(lambda: stage.app.screen is stage.bench)
            assert {name: row.state for name, row in stage.rows.items()} == before


@pytest.mark.slow
async def test_ctrl_c_leaves_a_field_in_which_nothing_is_selected_and_keeps_its_text():
    with at_noon():
        async with staged((80, 24)) as stage:
            await stage.back()
            await stage.bench.calling.tools("count_rows")
            await stage.type("orders")
            await stage.press("ctrl+c")
            assert stage.app.screen is stage.bench
            await stage.bench.calling.tools("count_rows")
            assert form(stage) == {"table": "orders"}
            await stage.press("shift+home", "ctrl+c")
            assert top(stage) == "CallScreen"
            assert stage.app.clipboard == "orders"
