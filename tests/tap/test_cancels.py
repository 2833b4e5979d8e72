"""What ``cancel`` says of a request behind a tap over stdio: the signal left, was refused, or could not leave."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_tui.journal.journal_files import journal_folder, journals
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
        assert client.read()["result"]["isError"]
        client.process.send_signal(signal.SIGUSR1)
        ran = cancelling.result()
    assert (ran.status, "the cancel was not sent: " in ran.err) == (6, True), ran


def test_a_number_and_a_text_are_told_apart_and_can_be_named(connected: Callable[[str], Client]):
    client = connected("")
    for id_ in (7, "7", -1):
        client.write(id=id_, method="tools/call", params={"name": "x", "arguments": {}})
    wait(lambda: len(_in_flight()) == 3)
    session = _in_flight()[0][1].partition("/")[0]
    assert all(f"{session}/{id_} " in run("ps").out for id_ in ("number:7", "text:7", "-1"))
    ran = run("cancel", f"{session}/7")
    assert (ran.status, "7 names two requests, number:7 and text:7." in ran.err) == (2, True)
    for named, id_ in {"text:7": "7", "7": 7, "number:-1": -1}.items():
        assert run("cancel", f"{session}/{named}").status == 0
        assert client.read()["id"] == id_
    ran = run("cancel", f'{session}/"7"')
    assert (ran.status, "is being cancelled already" in ran.err) == (7, True)
    assert run("cancel", f"{session}/number:x").status == 2


def test_a_session_says_who_calls_from_where_and_has_the_name_of_its_server(
    connected: Callable[[str], Client], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    _call(connected(""))
    # The call may be recorded before the answer to initialize, which has the name.
    wait(lambda: [each["server"] for each in json.loads(run("ps", "--json").out)] == ["s"])
    (row,) = json.loads(run("ps", "--json").out)
    assert (row["client_pid"], row["client_folder"]) == (os.getpid(), str(Path.cwd()))
    assert f" {os.getpid()} " in run("ps").out
    (journal,) = journals(journal_folder())
    assert re.fullmatch(r"[\dT-]+-s-\d+", journal.name)
    assert run("cancel", f"{row['session']}/1").status == 0
    # Its journal is elsewhere, as that of a client that starts its servers without the variable.
    monkeypatch.setenv("MCP_TUI_STATE", str(tmp_path))
    assert str(journal.paths[0]) in run("log").out
    assert "1\n" in run("log", row["session"], "--sums").out
