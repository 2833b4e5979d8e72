"""A loop or a process that is suspended: what lay ready is read before a limit is judged."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_tui.client import ClientSettings, StdioTarget
from mcp_tui.protocol.events import Event, Limits, Progress
from mcp_tui.protocol.states import State
from mcp_tui.transport.suspension import CATCH_UP_TURNS, Alarm, Limit
from tests.cli.running import Command
from tests.client.connected import connected
from tests.simulation.loop import VirtualLoop
from tests.waiting import wait

HOPS = 300
"""Turns of the loop from the socket to the one who waits: a large answer, read piece by piece."""


def suspend_loop(loop: VirtualLoop, until: float, then: Callable[[], object]) -> None:
    """Suspends the loop; what lay ready by then takes some turns of it."""
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
        loop.call_at(0.5, suspend_loop, loop, 3.5, lambda: answered and answer.set_result("in time"))
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
        loop.call_at(2.0, suspend_loop, loop, 4.5, lambda: heard.append("read"))
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

        loop.call_at(0.5, suspend_loop, loop, 2.0, flood)
        assert await rang < CATCH_UP_TURNS

    loop.play(main())


ANSWERS_WHILE_STOPPED = """
import json, os, sys, time
def send(**members): print(json.dumps({"jsonrpc": "2.0", **members}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, id = message["method"], message.get("id")
    if method == "initialize":
        server = {"name": "s", "version": "1"}
        send(id=id, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server})
    elif method == "tools/list":
        send(id=id, result={"tools": [{"name": "slow", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        while not os.path.exists(sys.argv[1]): time.sleep(0.01)
        send(id=id, result={"content": [{"type": "text", "text": "in time"}]})
        open(sys.argv[2], "w").close()
    elif method == "notifications/cancelled":
        open(sys.argv[3], "w").close()
    elif id is not None:
        send(id=id, error={"code": -32601, "message": "no"})
"""


@pytest.mark.clock("a limit runs out while the process is stopped")
@pytest.mark.parametrize("limit", ["--timeout", "--max-timeout", "--cancel-after"])
def test_an_answer_that_came_while_the_process_was_stopped_is_a_result(limit: str, tmp_path: Path):
    go, answered, cancelled = (tmp_path / name for name in ("go", "answered", "cancelled"))
    server = ("--", sys.executable, "-c", ANSWERS_WHILE_STOPPED, *map(str, (go, answered, cancelled)))
    command = Command("call", "slow", "--json", "--no-journal", limit, "2", "--linger", "0.1", *server)
    command.until("sent")
    command.process.send_signal(signal.SIGSTOP)
    go.touch()
    wait(answered.exists, lambda: "no answer")
    time.sleep(2.5)
    command.process.send_signal(signal.SIGCONT)
    assert command.end() == (0, "")
    assert command.lines[-1]["state"] == "completed"
    (stood,) = [each["seconds"] for each in command.lines if each["event"] == "stood_still"]
    assert stood >= 2.4
    assert not cancelled.exists()


FLOODS_AND_ANSWERS = """
import json, sys
def send(**members): sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\\n"); sys.stdout.flush()
for line in sys.stdin:
    message = json.loads(line)
    method, id = message["method"], message.get("id")
    if method == "initialize":
        server = {"name": "s", "version": "1"}
        send(id=id, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": server})
    elif method == "tools/call":
        token = message["params"]["_meta"]["progressToken"]
        for done in range(1500):
            send(method="notifications/progress", params={"progressToken": token, "progress": done})
        send(id=id, result={"content": []})
    elif id is not None:
        send(id=id, error={"code": -32601, "message": "no"})
"""


@pytest.mark.clock("a limit runs out while the client handles what it has read")
async def test_an_answer_that_was_read_in_time_is_a_result_however_late_it_is_handled():
    target = StdioTarget(command=(sys.executable, "-c", FLOODS_AND_ANSWERS))
    limits = Limits(timeout=None, max_timeout=2.0)

    def slow(event: Event) -> None:
        if isinstance(event, Progress):
            time.sleep(0.002)

    async with connected(target, ClientSettings(protocol="2025-11-25", limits=limits)) as (client, told):
        client.listen(slow)
        row = client.ledger.row(client.call_tool("flood", {}))
        await client.wait(row.id)
        assert (row.state, row.cause) == (State.COMPLETED, None)
        assert row.elapsed(0.0) < 2.0, "the answer's time is that of its reading"
        assert "behind the server" in told.notes()
