"""What ``cancel`` says of a request behind a tap over stdio: the signal left, was refused, or could not leave."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from mcp_tui.live.running import sessions
from tests.cli.running import Ran, run
from tests.tap.test_tap import Client, tap
from tests.waiting import wait

SERVER: Final = """
import json, os, sys, time
TASK = {"taskId": "t", "status": "working", "ttl": None, "createdAt": "2025-11-25T00:00:00Z"}
TASK["lastUpdatedAt"] = TASK["createdAt"]
def say(**told):
    print(json.dumps({"jsonrpc": "2.0", **told}), flush=True)
def progress():
    say(method="notifications/progress", params={"progressToken": "p", "progress": 1})
mode = %r
for line in iter(sys.stdin.buffer.raw.readline, b""):
    asked = json.loads(line)
    if asked["method"] == "initialize":
        offered = {"tools": {}, "tasks": {"cancel": {}, "requests": {"tools": {"call": {}}}}}
        told = {"protocolVersion": "2025-11-25", "capabilities": offered, "serverInfo": {"name": "s", "version": "1"}}
        say(id=asked["id"], result=told)
    elif asked["method"] == "tools/call" and "task" in asked["params"]:
        say(id=asked["id"], result={"task": TASK})
    elif asked["method"] == "tools/call" and mode == "deaf":
        os.close(0)
        progress()
        time.sleep(600)
    elif asked["method"] == "tools/call" and mode == "half a line":
        os.read(0, 1)
        progress()
        time.sleep(600)
    elif asked["method"] == "tasks/cancel" and mode == "refusing":
        say(id=asked["id"], error={"code": -32602, "message": "never"})
    elif asked["method"] == "tasks/cancel":
        say(id=asked["id"], result={**TASK, "status": "cancelled"})
"""


@pytest.fixture
def connected() -> Generator[Callable[[str], Client]]:
    """Connects a client through a tap to the server in a mode."""
    clients: list[Client] = []

    def made(mode: str) -> Client:
        clients.append(Client(tap(code=SERVER % mode)))
        clients[-1].connect()
        return clients[-1]

    yield made
    for each in clients:
        each.process.kill()
        each.process.__exit__(None, None, None)


def _call(client: Client, **more: Any) -> None:
    params = {"name": "x", "arguments": {}, "_meta": {"progressToken": "p"}, **more}
    client.write(id=1, method="tools/call", params=params)


def _in_flight() -> list[tuple[str, str]]:
    """The state of what is in flight, and the words for ``cancel``."""
    return [(row.state, f"{each.name}/{row.id}") for each in sessions()[0] for row in each.summary.requests]


def _cancelled(state: str = "in_flight") -> Ran:
    """Cancels the only request, once it is in this state."""
    wait(lambda: [each for each, _ in _in_flight()] == [state])
    return run("cancel", _in_flight()[0][1])


@pytest.mark.parametrize(
    ("mode", "state", "status", "said"),
    [
        ("deaf", "in_flight", 6, "not delivered: the server's stdin is closed."),
        ("", "task", 0, "Cancelled"),
        ("refusing", "task", 6, "sent, refused: error -32602 never."),
    ],
)
def test_a_cancel_is_told_as_it_ended(
    mode: str, state: str, status: int, said: str, connected: Callable[[str], Client]
):
    client = connected(mode)
    _call(client, **({"task": {}} if state == "task" else {}))
    client.read()  # the server is that far
    ran = _cancelled(state)
    assert (ran.status, said in ran.out + ran.err) == (status, True), ran


def test_a_cancel_that_waits_when_the_server_ends_is_told_at_once(connected: Callable[[str], Client]):
    client = connected("half a line")
    _call(client)
    assert client.process.stdin is not None
    client.process.stdin.write(b"{")
    client.process.stdin.flush()
    client.read()  # it has come: nothing of the tap's own can be written now
    with ThreadPoolExecutor() as beside:
        cancelling = beside.submit(_cancelled)
        assert "error" in client.read()
        client.process.send_signal(signal.SIGUSR1)
        ran = cancelling.result()
    assert (ran.status, "the cancel was not sent: " in ran.err) == (6, True), ran
