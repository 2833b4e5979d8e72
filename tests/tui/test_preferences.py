"""What a person set, as it works on a session: limits of single tools, and whether a timeout asks."""

from __future__ import annotations

from mcp_tui.client.settings import Target
from mcp_tui.protocol.events import Cause, Limits
from mcp_tui.protocol.requests import State
from mcp_tui.tui.preferences import Preferences
from tests.tui.driving import driving


async def test_a_tool_has_its_own_limits_and_may_be_cancelled_without_asking():
    def limits(target: Target, tool: str) -> Limits:
        return Limits(timeout=0.3 if (target.name, tool) == ("demo", "silent") else 60.0, ask=0.0)

    async with driving(size=(120, 36), preferences=Preferences(limits=limits)) as driven:
        silent, other = driven.call("silent"), driven.call("count", seconds=30)
        await driven.until(lambda: driven.row(silent).cause is Cause.TIMEOUT)
        assert driven.top is driven.bench
        assert driven.row(silent).limits.timeout == 0.3
        assert (driven.row(other).limits.timeout, driven.row(other).state) == (60.0, State.IN_FLIGHT)
