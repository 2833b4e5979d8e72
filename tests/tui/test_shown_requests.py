"""What acts on several requests acts on those that the filter shows."""

from __future__ import annotations

from mcp_tui.tui.screens.cancelling import MarkedScreen
from tests.tui.driving import driving


async def test_a_table_that_is_empty_by_its_filter_says_so() -> None:
    async with driving() as driven:
        await driven.press("/")
        await driven.type("zzz")
        await driven.press("enter")
        driven.call("echo", text="x")
        await driven.until(lambda: "No match for 'zzz' (1 hidden)" in driven.inside("requests"))
        await driven.press("z")
        await driven.until(lambda: "0 of 1, 5 internal hidden" in driven.text())


async def test_mark_all_and_cancel_all_under_a_filter_mean_what_the_filter_shows() -> None:
    async with driving() as driven:
        first, second = await driven.in_flight("silent"), await driven.in_flight("silent")
        await driven.press("/")
        await driven.type("id:999")
        await driven.press("enter", "X")
        assert "The filter shows no running request" in driven.inside("keys")
        await driven.press("escape", "/")
        await driven.type(f"id:{first.id}")
        await driven.press("enter", "M")
        assert driven.bench.table.marked_rows == [first]
        await driven.press("M")
        assert not driven.bench.table.marks
        await driven.press("X")
        assert isinstance(driven.top, MarkedScreen)
        assert driven.top.open == [first]
        assert "Cancel 1 request (1 hidden by the filter keep running)" in driven.text()
        await driven.press("enter")
        await driven.until(lambda: not first.open)
        assert second.open


async def test_a_call_that_needs_sampling_says_how_to_turn_it_on() -> None:
    async with driving() as driven:
        driven.call("ask", what="sampling")
        await driven.until(lambda: "✗ failed" in driven.inside("requests"))
        await driven.until(lambda: "Sampling is off. Set MCP_TUI_SAMPLING=ask" in driven.inside("detail"))
