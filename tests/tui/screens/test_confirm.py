from __future__ import annotations

from mcp_tui.tui.screens.dialog import ConfirmScreen
from mcp_tui.tui.view.text import SafeText, clean
from tests.tui.hostile import PAYLOADS, assert_harmless
from tests.tui.screens.host import Host


def question(*lines: SafeText) -> Host:
    return Host(
        ConfirmScreen(
            "Cancel 3 in flight?", lines or (clean("3 requests"),), yes="Cancel all", no="Keep waiting"
        )
    )


async def test_a_click_on_a_button_answers():
    host = question()
    async with host.run_test() as pilot:
        await pilot.pause()
        await pilot.click("#yes")
        await pilot.pause()
        assert host.answer is True


async def test_hostile_lines_are_shown_and_not_obeyed_and_the_answers_stay_in_sight():
    host = question(*(clean(payload) for payload in PAYLOADS.values()))
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "Keep waiting" in host.shown
        assert_harmless(host.shown.replace("\n", ""))
