"""The channel by which tests hold the time of servers."""

from __future__ import annotations

import pytest

from mcp_tui.client import ClientSettings
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import State
from tests.client.connected import connected
from tests.control import Control


@pytest.mark.parametrize("protocol", ["2025-11-25", "2026-07-28"])
async def test_a_tool_takes_the_steps_that_the_test_allows(control: Control, protocol: str) -> None:
    async with connected(control.demo(), ClientSettings(protocol=protocol)) as (client, told):
        request = client.call_tool("count", {"seconds": 3600, "steps": 3})
        for step in (1, 2, 3):
            await control.came("waiting", tool="count", step=step)
            assert len(told.of(ev.Progress)) < step
            control.step("count")
        response = await client.wait(request)
    assert response is not None
    row = client.requests.get(request)
    assert row is not None
    assert row.state is State.COMPLETED
    await control.came("gone")


async def test_a_tool_that_waits_for_the_test_takes_a_cancel(control: Control) -> None:
    async with connected(control.demo()) as (client, _):
        request = client.call_tool("grumpy", {"seconds": 3600})
        await control.came("waiting", tool="grumpy")
        client.cancel(request, reason="enough")
        assert (await control.came("cancelled", tool="grumpy"))["reason"] == "enough"
        await control.came("sent", kind="error")


async def test_released_tools_wait_no_more(control: Control) -> None:
    control.release("stubborn")
    async with connected(control.demo()) as (client, _):
        assert await client.wait(client.call_tool("stubborn", {"seconds": 3600})) is not None
