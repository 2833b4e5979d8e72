"""The event loop's time that streams share: what is due comes before what streams in."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import SimpleNamespace

import pytest

from mcp_tui.transport import base
from mcp_tui.transport.suspension import Limit
from tests.waiting import HANG


def test_a_timer_that_comes_due_in_a_flood_runs_before_the_next_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(base, "time", SimpleNamespace(monotonic=lambda: now))
    messages = range(40)
    read: list[int] = []
    seen: list[int] = []

    async def flood() -> None:
        nonlocal now
        turn = base.Turn()
        for message in messages:
            now += base.TURN_SECONDS / 4
            read.append(message)
            if message == 10:  # in the middle of a share
                asyncio.get_running_loop().call_later(0, lambda: seen.extend(read))
            await turn.breathe()

    asyncio.run(flood())
    assert read == [*messages]
    assert 10 < len(seen) <= 10 + 4 + 1


async def test_a_limit_goes_on_after_each_of_those_who_stopped_it_is_gone() -> None:
    limit = Limit(0.0)
    async with asyncio.timeout(HANG):
        with pytest.raises(TimeoutError):
            async with limit:
                with suppress(asyncio.CancelledError), limit.stopped():
                    with limit.stopped():
                        await asyncio.sleep(0)
                    await asyncio.sleep(0)
                    raise asyncio.CancelledError
                await asyncio.Event().wait()
    with limit.stopped():  # too late: it is over
        pass
