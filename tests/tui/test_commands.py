"""The palette with very much in it: what is asked for by its name is found, stands first, and is what is done."""

from __future__ import annotations

import pytest

from mcp_tui.tui.commands import MOST, Commands
from mcp_tui.tui.screens.call import CallScreen
from mcp_tui.tui.screens.cancelling import ReasonScreen
from tests.tui.playing import TARGET
from tests.tui.snapshots.scenes import Stage, at_noon, staged

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
    await stage.until(lambda: found in stage.text())
    await stage.press("enter")


async def test_what_is_named_is_found_among_ten_thousand_requests_and_a_thousand_tools():
    with at_noon():
        async with staged((80, 24), told=False) as stage:
            ids = call_many(stage)
            tools = [{"name": f"tool_{number}", "inputSchema": {"type": "object"}} for number in range(1000)]
            last = {"name": "zebra", "inputSchema": {"type": "object"}}
            stage.session.catalogue.put("tools", [*tools, last])
            for wanted in (ids[0], ids[206], ids[-1]):
                await choose(stage, f"cancel {wanted}", f"Cancel {wanted} tools/call slow_sql")
                await stage.until(lambda: isinstance(stage.app.screen, ReasonScreen))
                assert isinstance(stage.app.screen, ReasonScreen)
                assert stage.app.screen.row.id == wanted
                await stage.press("escape")
            await choose(stage, "call zebra", "Call zebra")
            await stage.until(lambda: isinstance(stage.app.screen, CallScreen))
            assert "Call zebra" in stage.text()
            await stage.press("escape")
            for query in ("c", "cancel 212", "slow"):
                found = [hit async for hit in Commands(stage.bench).search(query)]
                assert 0 < len(found) < 3 * MOST
            first = stage.app.screen
            stage.app.open(TARGET)
            await stage.until(lambda: stage.app.screen is not first)
            await choose(stage, f"cancel {ids[212]}", f"Cancel {ids[212]} tools/call slow_sql at")
            await stage.until(lambda: isinstance(stage.app.screen, ReasonScreen))
            assert stage.app.servers.current is stage.app.servers.all[0]
