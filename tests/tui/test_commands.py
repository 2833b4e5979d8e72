"""The palette with very much in it: what is asked for by its name is found, stands first, and is what is done."""

from __future__ import annotations

import pytest

from mcp_tui.tui.commands import MOST, Commands
from mcp_tui.tui.screens.call import CallScreen
from mcp_tui.tui.screens.reason import ReasonScreen
from tests.tui.playing import TARGET
from tests.tui.snapshots.scenes import Stage, at_noon, staged
from tests.tui.test_keys import text

# The far end is a script; ten thousand requests take their time.
pytestmark = [pytest.mark.sends_anything, pytest.mark.slow]

MANY = 10_000


def call_many(stage: Stage) -> list[int]:
    """Ten thousand requests in flight; their ids."""
    ids = [
        stage.session.call("tools/call", {"name": "slow_sql", "arguments": {"statement": str(number)}})
        for number in range(MANY)
    ]
    assert len(stage.session.running) == MANY
    return [id_ for id_ in ids if isinstance(id_, int)]


async def choose(stage: Stage, query: str, found: str) -> None:
    """Take the first thing that the palette finds."""
    await stage.press("ctrl+p")
    await stage.type(query)
    await stage.until(lambda: found in text(stage))
    await stage.press("enter")


@pytest.mark.parametrize("place", [0, 206, 5000, -1])
async def test_of_ten_thousand_requests_the_one_that_is_named_is_cancelled(place: int):
    with at_noon():
        async with staged((80, 24), told=False) as stage:
            wanted = call_many(stage)[place]
            await choose(stage, f"cancel {wanted}", f"Cancel {wanted} tools/call slow_sql")
            await stage.until(lambda: isinstance(stage.app.screen, ReasonScreen))
            assert isinstance(stage.app.screen, ReasonScreen)
            assert stage.app.screen.row.id == wanted


async def test_a_tool_is_found_behind_a_thousand_others_and_called():
    with at_noon():
        async with staged((80, 24), told=False) as stage:
            call_many(stage)
            catalogue = stage.session.catalogue
            tools = [{"name": f"tool_{number}", "inputSchema": {"type": "object"}} for number in range(1000)]
            catalogue.put("tools", [*tools, {"name": "zebra", "inputSchema": {"type": "object"}}])
            await choose(stage, "call zebra", "Call zebra")
            await stage.until(lambda: isinstance(stage.app.screen, CallScreen))
            assert "Call zebra" in text(stage)


async def test_a_theme_is_chosen_while_ten_thousand_requests_are_in_flight():
    with at_noon():
        async with staged((80, 24), told=False) as stage:
            call_many(stage)
            await choose(stage, "theme fjord", "Theme: fjord")
            await stage.until(lambda: stage.app.theme == "fjord")


async def test_a_query_is_not_answered_with_ten_thousand_commands():
    with at_noon():
        async with staged((80, 24), told=False) as stage:
            call_many(stage)
            for query in ("c", "cancel 212", "slow"):
                found = [hit async for hit in Commands(stage.bench).search(query)]
                assert 0 < len(found) < 3 * MOST


async def test_requests_of_a_server_out_of_sight_are_found_among_ten_thousand():
    with at_noon():
        async with staged((80, 24), told=False) as stage:
            wanted = call_many(stage)[212]
            first = stage.app.screen
            stage.app.open(TARGET)
            await stage.until(lambda: stage.app.screen is not first)
            await choose(stage, f"cancel {wanted}", f"Cancel {wanted} tools/call slow_sql at")
            await stage.until(lambda: isinstance(stage.app.screen, ReasonScreen))
            assert stage.app.servers.current is stage.app.servers.all[0]
