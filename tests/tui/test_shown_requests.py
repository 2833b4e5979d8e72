"""What acts on several requests acts on those that the filter shows; an empty table names the keys to begin with."""

from __future__ import annotations

from mcp_tui.config import saved
from mcp_tui.config.saved import SavedCall, SavedServer
from mcp_tui.config.settings import DEFAULTS
from mcp_tui.tui.screens.cancelling import MarkedScreen
from mcp_tui.tui.screens.dialog import MenuScreen
from tests.tui.driving import driving


async def test_empty_table_names_the_keys_to_begin_with() -> None:
    async with driving() as driven:
        await driven.until(lambda: "Press n to call a tool." in driven.inside("requests"))
        shown = driven.inside("requests")
        for step in (
            "Press n to call a tool.",
            "^p  Every command",
            "?   Keys",
            "b   Saved",
            "S   Reconnect",
        ):
            assert step in shown
        await driven.press("/")
        await driven.type("zzz")
        await driven.press("enter")
        driven.call("echo", text="x")
        await driven.until(lambda: "No match for 'zzz' (1 hidden)" in driven.inside("requests"))
        await driven.press("z")
        await driven.until(lambda: "0 of 1, 5 internal hidden" in driven.text())


async def test_mark_all_marks_what_the_filter_shows_and_again_clears() -> None:
    async with driving() as driven:
        ids = [(await driven.in_flight("silent")).id for _ in range(3)]
        await driven.press("/")
        await driven.type(f"-id:{ids[0]}")
        await driven.press("enter", "M")
        assert [row.id for row in driven.bench.table.marked_rows] == ids[:0:-1]
        await driven.press("M")
        assert not driven.bench.table.marks


async def test_cancel_all_under_a_filter_means_what_the_filter_shows() -> None:
    async with driving() as driven:
        first, second = await driven.in_flight("silent"), await driven.in_flight("silent")
        await driven.press("/")
        await driven.type("id:999")
        await driven.press("enter", "X")
        assert "The filter shows no running request" in driven.inside("keys")
        await driven.press("escape", "/")
        await driven.type(f"id:{first.id}")
        await driven.press("enter", "X")
        assert isinstance(driven.top, MarkedScreen)
        assert driven.top.open == [first]
        assert "Cancel 1 request (1 hidden by the filter keep running)" in driven.text()
        await driven.press("enter")
        await driven.until(lambda: not first.open)
        assert second.open


async def test_saved_calls_have_a_key_and_a_list() -> None:
    async with driving() as driven:
        await driven.press("b")
        assert "No saved calls yet." in driven.inside("keys")
        call = SavedCall(name="mine", tool="echo", arguments={"text": "hi"}, server=SavedServer(name="demo"))
        saved.save(DEFAULTS.saved_folder, call)
        await driven.press("b")
        assert isinstance(driven.top, MenuScreen)
        assert "Saved call: mine" in driven.text()
        await driven.press("enter")
        await driven.until(lambda: "✓ completed" in driven.inside("requests"))
        assert "hi" in driven.inside("requests")


async def test_the_footer_names_a_key_once_by_what_it_does_where_the_focus_is() -> None:
    async with driving(size=(140, 40)) as driven:
        driven.call("echo", text="x")
        await driven.press("1")
        await driven.until(lambda: "/ Find" in driven.inside("keys"))
        assert "/ Filter" not in driven.inside("keys")
        await driven.press("1")
        await driven.until(lambda: "/ Filter" in driven.inside("keys"))


async def test_a_call_that_needs_sampling_says_how_to_turn_it_on() -> None:
    async with driving() as driven:
        driven.call("ask", what="sampling")
        await driven.until(lambda: "✗ failed" in driven.inside("requests"))
        await driven.until(lambda: "Sampling is off. Set MCP_TUI_SAMPLING=ask" in driven.inside("detail"))
