"""A loop that stands still: what lay ready is read before a limit is judged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from mcp_tui.transport.standstill import TURNS, Alarm, Limit
from tests.simulation.loop import VirtualLoop

HOPS = 300
"""Turns of the loop from the socket to the one who waits: a large answer, read piece by piece."""


def stand_still(loop: VirtualLoop, until: float, then: Callable[[], object]) -> None:
    """Lets the loop stand still; what lay ready by then takes some turns of it."""
    loop.now = until

    def hop(left: int) -> None:
        if left:
            loop.call_soon(hop, left - 1)
        else:
            then()

    loop.call_soon(hop, HOPS)


@pytest.mark.parametrize("answered", [True, False])
def test_a_limit_that_comes_late_is_judged_behind_what_lay_ready(answered: bool):
    loop = VirtualLoop()

    async def main() -> None:
        answer = loop.create_future()
        loop.call_at(0.5, stand_still, loop, 3.5, lambda: answered and answer.set_result("in time"))
        if answered:
            async with Limit(2.0):
                assert await answer == "in time"
        else:
            with pytest.raises(TimeoutError):
                async with Limit(2.0):
                    await answer
            assert 3.5 <= loop.now < 3.51

    loop.play(main())


def test_an_alarm_says_how_late_it_is_before_it_reads_and_rings_in_time_otherwise():
    loop, heard = VirtualLoop(), list[str]()

    async def main() -> None:
        Alarm(1.0, lambda: heard.append(f"rings at {loop.now:.2f}"), lambda _: heard.append("late"))
        Alarm(
            3.0,
            lambda: heard.append(f"rings at {loop.now:.2f}"),
            lambda late: heard.append(f"late by {late:.2f}"),
        )
        loop.call_at(2.0, stand_still, loop, 4.5, lambda: heard.append("read"))
        cancelled = Alarm(3.0, lambda: heard.append("cancelled"))
        loop.call_at(2.5, cancelled.cancel)
        await asyncio.sleep(5.0)

    loop.play(main())
    assert heard == ["rings at 1.00", "late by 1.50", "read", "rings at 4.50"]


def test_a_server_that_never_stops_sending_does_not_put_a_limit_off_for_ever():
    loop = VirtualLoop()

    async def main() -> None:
        rang = loop.create_future()
        Alarm(1.0, lambda: rang.set_result(loop.now))

        def flood() -> None:
            loop.now += 1.0
            if not rang.done():
                loop.call_soon(flood)

        loop.call_at(0.5, stand_still, loop, 2.0, flood)
        assert await rang < TURNS

    loop.play(main())
