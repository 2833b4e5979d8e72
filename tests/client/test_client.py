"""The client on real servers: requests, cancels, limits, and connections that end. Under both ways to start a task."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

from mcp_tui.client import ClientSettings
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Limits
from mcp_tui.protocol.ledger import CancelOutcome
from mcp_tui.protocol.requests import State
from tests.client.connected import DEMO, HANG, connected, row, scripted
from tests.waiting import until

QUICK = ClientSettings(grace=0.2)
HANDSHAKE = ClientSettings(grace=0.2, protocol="2025-11-25")

FACTORIES = ["default"] + (["eager"] if sys.version_info >= (3, 12) else [])


@pytest.fixture(autouse=True, params=FACTORIES)
async def _tasks(request: pytest.FixtureRequest) -> None:  # pyright: ignore[reportUnusedFunction] - used by pytest
    if request.param == "eager":
        factory: Any = getattr(asyncio, "eager_task_factory")  # noqa: B009 - not in 3.11
        asyncio.get_running_loop().set_task_factory(factory)


def text(frame: Any) -> str:
    return frame.result["content"][0]["text"]


@pytest.mark.parametrize("settings", [QUICK, HANDSHAKE], ids=["modern", "handshake"])
async def test_a_call_and_its_answer(settings: ClientSettings):
    async with connected(DEMO, settings) as (made, told):
        id_ = made.call_tool("echo", {"text": "hi"})
        assert text(await made.wait(id_)) == "hi"
        assert text(await made.wait(id_)) == "hi"  # and again, when the outcome stands
        assert row(made, id_).state is State.COMPLETED
        assert [type(each).__name__ for each in told if getattr(each, "id", None) == id_] == [
            "Called",
            "Sent",
            "Completed",
        ]
        assert made.connected


async def test_a_large_result_is_read_when_it_is_asked_for():
    async with connected(scripted("large"), HANDSHAKE) as (made, _):
        id_ = made.call_tool("odd", {})
        frame: Any = None
        for _ in range(2):  # as it comes, and from the store
            frame = await made.wait(id_)
            assert len(frame.outline["content"][0]["text"]) < len(text(frame)) == 20_000_000
        assert await made.result(id_) == frame.result
        assert row(made, id_).summary == "x" * 200


@pytest.mark.parametrize("settings", [QUICK, HANDSHAKE], ids=["modern", "handshake"])
async def test_a_cancel_changes_the_row_at_once_and_its_late_answer_is_evidence(settings: ClientSettings):
    async with connected(DEMO, settings) as (made, told):
        id_ = made.call_tool("stubborn", {"seconds": 0.4})
        await until(lambda: row(made, id_).sent_at is not None)
        assert made.cancel(id_, Cause.USER, "too slow") is CancelOutcome.REQUESTED
        assert row(made, id_).state is State.CANCEL_REQUESTED
        assert made.cancel(id_) is CancelOutcome.ALREADY_REQUESTED
        assert await made.wait(id_) is None
        assert await made.wait(id_) is None  # a wait that comes after the cancel does not hang either
        await until(lambda: told.of(ev.Late) and told.of(ev.Late)[-1].kind is ev.Kind.RESULT)
        assert await made.wait(id_) is None
        assert row(made, id_).state is State.CANCELLED
        assert (row(made, id_).reason, row(made, id_).reason_delivered) == ("too slow", True)


async def test_an_idle_limit_cancels_and_more_time_puts_it_off():
    async with connected(DEMO, QUICK) as (made, _):
        limits = Limits(timeout=0.3, max_timeout=None)
        short = made.call_tool("silent", {}, limits=limits)
        longer = made.call_tool("racer", {"milliseconds": 700}, limits=limits)
        forever = made.call_tool("racer", {"milliseconds": 700}, limits=limits)
        await until(lambda: row(made, forever).sent_at is not None)
        assert made.extend(longer, 30)
        assert made.extend(forever, None)
        assert await made.wait(short) is None
        assert row(made, short).cause is Cause.TIMEOUT
        assert await made.wait(longer) is not None
        assert await made.wait(forever) is not None
        assert not made.extend(longer, 1)


async def test_a_request_is_cancelled_with_the_last_task_that_waited_for_it():
    async with connected(DEMO, QUICK) as (made, _):
        id_ = made.call_tool("silent", {})
        await until(lambda: row(made, id_).sent_at is not None)
        one, other = [asyncio.get_running_loop().create_task(made.result(id_)) for _ in range(2)]
        await asyncio.sleep(0)
        one.cancel()
        await asyncio.wait([one])
        assert row(made, id_).open
        other.cancel()
        await asyncio.wait([other])
        assert (row(made, id_).cause, row(made, id_).state) == (Cause.PARENT, State.CANCEL_REQUESTED)
        await until(lambda: row(made, id_).reason_delivered)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await made.request("tools/call", {"name": "silent", "arguments": {}})
        assert made.requests.order[-1].cause is Cause.PARENT


async def test_closing_cancels_what_is_in_flight():
    async with connected(DEMO, QUICK) as (made, told):
        id_ = made.call_tool("silent", {})
        await until(lambda: row(made, id_).sent_at is not None)
    assert row(made, id_).cause is Cause.SHUTDOWN
    assert row(made, id_).state is State.CANCELLED
    assert made.transport is None
    assert made.disconnected.is_set()
    assert len(told.of(ev.Disconnected)) == 1
    async with asyncio.timeout(HANG):
        await made.close()  # twice does no harm
    late = made.call_tool("echo", {"text": "x"})
    assert row(made, late).state is State.LOST
    frame = await made.wait(late)
    assert frame is not None
    assert frame.error is not None
    assert frame.error.message == "not connected"


async def test_a_listener_that_raises_holds_up_no_cancel_and_starves_no_other():
    raised: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: raised.append(told["exception"]))

    def broken(event: ev.Event) -> None:
        raise LookupError(type(event).__name__)

    async with connected(DEMO, QUICK) as (made, _):
        id_ = made.call_tool("sleep", {"seconds": 60})
        await until(lambda: row(made, id_).sent_at is not None)
        ignore = made.listen(broken)
        heard: list[ev.Event] = []
        made.listen(heard.append)
        assert made.cancel(id_) is CancelOutcome.REQUESTED
        assert row(made, id_).signalled_at is not None
        assert [type(each) for each in heard] == [ev.CancelRequested, ev.CancelSignalled]
        ignore()
    assert [str(each) for each in raised] == ["CancelRequested", "CancelSignalled"]


async def test_listeners_hear_everything_until_they_leave():
    async with connected(DEMO, QUICK) as (made, told):
        heard: list[ev.Event] = []

        def once(event: ev.Event) -> None:
            heard.append(event)
            leave()  # in the midst of being told

        leave = made.listen(once)
        await made.wait(made.call_tool("echo", {"text": "x"}))
        assert len(heard) == 1
        before = len(told)
        made.note("a line")
        assert told[before:] == [ev.Note(at=told[-1].at, text="a line")]
        assert list(made.store.log)[-1] == told[-1]
