from __future__ import annotations

import pytest

from mcp_tui.tui.screens.confirm import ConfirmScreen
from mcp_tui.tui.view.text import SafeText, clean
from tests.tui.hostile import PAYLOADS, assert_harmless
from tests.tui.screens.host import Host


def question(*lines: SafeText) -> Host:
    return Host(
        ConfirmScreen(
            "Cancel 3 in flight?", lines or (clean("3 requests"),), yes="cancel all", no="keep waiting"
        )
    )


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["y"], True),
        (["n"], False),
        (["escape"], False),
        (["ctrl+c"], False),
        (["enter"], False),
        (["left", "enter"], True),
        (["tab", "enter"], True),
        (["right", "right", "enter"], False),
    ],
)
async def test_keys(keys: list[str], answer: bool):
    host = question()
    async with host.run_test() as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        assert host.answer is answer


async def test_a_click_on_a_button_answers():
    host = question()
    async with host.run_test() as pilot:
        await pilot.pause()
        await pilot.click("#yes")
        await pilot.pause()
        assert host.answer is True


async def test_what_is_at_stake_is_shown():
    host = question(clean("214  tools/call crawl"), clean("213  tools/call index"))
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        for said in ("Cancel 3 in flight?", "214  tools/call crawl", "213", "cancel all", "keep waiting"):
            assert said in host.shown


async def test_hostile_lines_are_shown_and_not_obeyed_and_the_answers_stay_in_sight():
    host = question(*(clean(payload) for payload in PAYLOADS.values()))
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "keep waiting" in host.shown
        assert_harmless(host.shown.replace("\n", ""))
