"""What is told of a server that exits soon after it was asked to cancel, and of one that is terminated."""

from __future__ import annotations

import asyncio
import re
import shlex

import pytest

from mcp_tui.client import ClientSettings, StdioTarget
from mcp_tui.client.connection import ConnectError
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import evidence
from mcp_tui.protocol.events import Cause, Limits
from mcp_tui.protocol.requests import State
from mcp_tui.transport.base import spawn
from tests.client.connected import DEMO, HANG, client, connected, scripted
from tests.waiting import until

HANDSHAKE = ClientSettings(protocol="2025-11-25", limits=Limits(timeout=None, max_timeout=None))


@pytest.mark.parametrize(("cause", "whose"), [(Cause.USER, "your cancel"), (Cause.TIMEOUT, "the cancel")])
async def test_c41_a_server_that_exits_on_a_cancel_is_told_as_that_and_can_be_started_again(
    cause: Cause, whose: str
):
    async with connected(scripted("delicate"), HANDSHAKE) as (made, told):
        cancelled, other = made.call_tool("silent", {}), made.call_tool("silent", {})
        await until(lambda: all(row.sent_at is not None for row in made.requests.order))
        made.cancel(cancelled, cause, "too slow")
        await until(lambda: told.of(ev.Disconnected))
        (ended,) = told.of(ev.Disconnected)
        assert (ended.detail, ended.expected) == ("server exited with code 7", False)
        assert made.last_words.startswith("server exited with code 7 (0.")
        assert made.last_words.endswith(f" s after {whose} of {cancelled})")
        rows = [made.requests.get(id_) for id_ in (cancelled, other)]
        assert [(row.state, row.settled or row.error) for row in rows if row] == [
            (State.CANCELLED, ended.detail),
            (State.LOST, ended.detail),
        ]
        await made.connect()
        again = made.call_tool("silent", {})
        assert isinstance(again, int)
        assert again > max(int(row.id) for row in made.requests.order[:-1])
        assert len({row.id for row in made.requests.order}) == len(made.requests.order)
        await until(lambda: (row := made.requests.get(again)) and row.state is State.IN_FLIGHT)


async def test_c08_a_server_that_does_not_read_is_terminated_and_its_rows_say_so():
    async with connected(scripted("unread"), HANDSHAKE) as (made, told):
        id_ = made.call_tool("silent", {})
        big = made.call_tool("silent", {"filler": "x" * 1_000_000})
        await until(lambda: (row := made.requests.get(id_)) and row.sent_at is not None)
        first = asyncio.get_running_loop().create_task(made.wait(id_))
        await asyncio.sleep(0)
        made.cancel(id_)
        row, waiting = made.requests.get(id_), made.requests.get(big)
        assert row is not None
        assert waiting is not None
        await until(lambda: row.delayed)
        async with asyncio.timeout(HANG):
            assert [await first, await made.wait(id_)] == [None, None]
        assert row.state is State.CANCEL_REQUESTED
        assert re.fullmatch(r"not written after \d+ s", row.delayed), "at least the two seconds of the limit"
        assert evidence.delivery(row) is evidence.Delivery.NONE
        async with asyncio.timeout(HANG):
            await made.terminate()
        assert told.of(ev.Disconnected)[-1].detail == "server was terminated by signal 15 (SIGTERM)"
        assert row.state is State.CANCELLED
        assert row.settled == "server was terminated by signal 15 (SIGTERM)"
        assert waiting.state is State.LOST
        await made.connect()
        assert made.connected


async def test_the_start_of_a_message_is_on_the_wire_and_says_nothing_about_a_request():
    async with connected(scripted("delicate"), HANDSHAKE) as (made, told):
        id_ = made.call_tool("silent", {})
        made.cut_off(raw=b'{"jsonrpc":"2.0","id":%d,"method":"ping","par' % id_, outline=None)
        head = list(made.store.frames)[-1]
        assert (head.direction, head.id, head.method) == ("in", id_, "ping")
        assert not told.of(ev.Violation)
        row = made.requests.get(id_)
        assert row is not None
        assert row.open


async def test_closing_while_another_task_connects_ends_that_and_starts_the_server_no_second_time():
    # The shell takes the probe, so that the demo server never answers it.
    made, told = client(StdioTarget(command=("sh", "-c", f"read probe; exec {shlex.join(DEMO.command)}")))

    async def connect() -> None:
        await made.connect()

    connecting = spawn(connect(), name="connect")
    async with asyncio.timeout(HANG):
        await until(lambda: told.of(ev.Sent))
        await made.close()
        with pytest.raises(ConnectError, match="The client was closed"):
            await connecting
    assert (made.transport, told.notes().count("started ")) == (None, 1)
