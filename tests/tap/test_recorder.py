"""The recorder of a tap as a process: what it loads, how soon it is there, and what another one does in its place."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Event, Thread
from time import sleep
from types import SimpleNamespace
from typing import Any, Final

import pytest

from mcp_tui.live.sockets import sockets
from mcp_tui.protocol import events as ev
from mcp_tui.tap.recorder_link import AWAY, warn_of_full_disk
from tests.cli.running import run
from tests.slow import slow
from tests.tap.test_tap import OBEDIENT, Client, planted, recorded, recorder_of, tap
from tests.waiting import HANG, wait

HEAVY: Final = {
    "asyncio",
    "email",
    "h11",
    "httpcore",
    "httpx",
    "pydantic",
    "ssl",
    "subprocess",
    "tomllib",
}


@contextmanager
def connected(command: list[str], **more: Any) -> Generator[Client]:
    """A client of a tap, after its handshake."""
    client = Client(command, **more)
    try:
        client.connect()
        yield client
    finally:
        client.process.kill()
        client.process.__exit__(None, None, None)


REPORT: Final = """import atexit, json, sys
def report():
    with open(%r, "w") as file:
        json.dump(sorted(sys.modules), file)
atexit.register(report)"""


def test_a_recorder_loads_what_a_limit_and_a_journal_need_and_no_more(tmp_path: Path):
    found = tmp_path / "modules.json"
    with connected(planted(REPORT % str(found), tap("--max-timeout", "0.2", code=OBEDIENT))) as client:
        client.call(1, "silent")
        assert client.read()["result"]["isError"]
        assert client.end() == 0
    wait(lambda: found.exists() and found.read_text().endswith("]"))
    loaded: set[str] = set(json.loads(found.read_text()))
    assert loaded >= {"mcp_tui.protocol.ledger", "mcp_tui.journal.writer", "pydantic_core"}
    assert loaded & HEAVY == set()


WAITS: Final = """import mcp_tui.live.sockets as d, os
real = d.ListeningSocket.__init__
def opened(*given):
    real(*given)
    while not os.path.exists(%r): pass
d.ListeningSocket.__init__ = opened"""


def test_a_session_can_be_found_before_its_recorder_answers(tmp_path: Path):
    continues = tmp_path / "goes on"
    with connected(planted(WAITS % str(continues), tap(code=OBEDIENT))) as client:
        wait(lambda: len(sockets()) == 1)
        continues.touch()
        assert client.end() == 0


COUNTING: Final = """import json, sys
cancelled = []
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "notifications/cancelled":
        cancelled.append(asked["params"]["requestId"])
    if asked["method"] == "tools/call" and asked["params"]["name"] == "late":
        late = asked["id"]
    elif "id" in asked and asked.get("params", {}).get("name") != "silent":
        if asked["method"] == "ping":
            print(json.dumps({"jsonrpc": "2.0", "id": late, "result": {}}), flush=True)
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
        result = {"cancelled": cancelled} if asked["method"] == "ping" else result
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
"""A server that answers a call of ``silent`` never, and one of ``late`` before a ping, which tells what was cancelled."""

DIES: Final = """import mcp_tui.tap.recorder_loop as d, mcp_tui.tap.pipes as p, os, signal, sys
real = p.write
def write(sink, data):
    real(sink, data)
    if {word!r} in bytes(data) and not os.path.exists({marker!r}):
        open({marker!r}, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
d.write = write"""
"""Ends the first recorder when it has given an order with a certain word."""


def dying(word: bytes, folder: Path, *options: str) -> list[str]:
    code = DIES.replace("{word!r}", repr(word)).replace("{marker!r}", repr(str(folder / "died")))
    return planted(code.replace("{", "{{").replace("}", "}}"), tap(*options, code=COUNTING))


def in_flight() -> list[dict[str, Any]]:
    return [each for each in json.loads(run("ps", "--json").out) if each.get("id")]


@pytest.mark.parametrize("word", [b'"decided"', b'"say"', b'"taken"', *slow(b'"hold"', b'"tell"', b'"go"')])
def test_a_call_is_ended_once_wherever_its_recorder_dies(word: bytes, tmp_path: Path):
    with connected(dying(word, tmp_path, "--max-timeout", "1")) as client:
        client.call(7, "late")
        ended = client.read()
        assert (ended["id"], ended["result"]["isError"]) == (7, True)
        assert client.complaint() == f"mcp-tui tap: the recorder was killed by signal 9. {AWAY}\n"
        client.write(id=8, method="ping")
        assert client.read() == {
            "jsonrpc": "2.0",
            "id": 8,
            "result": {"cancelled": [7]},
        }  # no late answer before it
        assert client.end() == 0
    told = recorded()
    assert [each.id for each in told if isinstance(each, ev.CancelSignalled)] == [7]
    assert [each.kind for each in told if isinstance(each, ev.Late)] == [ev.Kind.RESULT]
    assert "another one has started. It continues /" in "".join(
        each.text for each in told if isinstance(each, ev.Note)
    )
    logged = json.loads(run("log", "--json").out)
    assert [(each["id"], each["outcome"]) for each in logged] == [(7, "late_result")]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of other processes by /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_call_in_flight_can_be_cancelled_after_its_recorder(how: signal.Signals):
    with connected(tap("--name", "watched", code=COUNTING)) as client:
        client.call("silent", "silent")
        wait(lambda: [each["id"] for each in in_flight()] == ["silent"])
        (row,) = in_flight()
        os.kill(recorder_of(client.process.pid), how)
        assert ("was stopped" if how == signal.SIGSTOP else "was killed") in client.complaint()
        wait(lambda: [each["id"] for each in in_flight()] == ["silent"])
        assert in_flight()[0]["session"] == row["session"]
        assert run("cancel", f"{row['session']}/silent").status == 0
        assert client.read()["result"]["isError"]
        assert client.end() == 0


SLOW: Final = """import mcp_tui.protocol.observing as o, os, time
real = o.Observer.sent
def sent(self, frame, **more):
    if getattr(frame, "method", "") == "tools/call" and not os.path.exists(%r):
        open(%r, "w").close()
        %s
    real(self, frame, **more)
o.Observer.sent = sent"""


@pytest.mark.slow
@pytest.mark.parametrize("works", [True, False])
def test_a_recorder_that_hangs_is_replaced_and_one_that_works_is_not(works: bool, tmp_path: Path):
    mark = str(tmp_path / "slow")
    what = (
        "until = time.monotonic() + 5\n        while time.monotonic() < until: pass"
        if works
        else "time.sleep(600)"
    )
    with connected(planted(SLOW % (mark, mark, what), tap("--max-timeout", "1", code=COUNTING))) as client:
        client.call(1, "silent")
        assert client.read()["result"]["isError"]
        assert client.end() == 0
        assert client.process.stderr is not None
        said = client.process.stderr.read().decode()
    assert ("did not answer for" in said, said == "") == (not works, works)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of other processes by /proc")
@pytest.mark.parametrize("seed", range(12))
def test_each_call_is_answered_once_wherever_the_recorder_is_killed(seed: int):
    chance = Random(seed)
    with connected(tap("--max-timeout", "1", code=COUNTING)) as client:
        got: dict[int, list[dict[str, Any]]] = {}
        over = Event()

        def read() -> None:
            assert client.process.stdout is not None
            for line in client.process.stdout:
                answer = json.loads(line)
                got.setdefault(answer["id"], []).append(answer)
            over.set()

        Thread(target=read, daemon=True).start()
        kill_at, calls = chance.randrange(200), range(1, 201)
        for number in calls:
            text = "x" * chance.choice((0, 0, 100, 50_000))
            client.call(number, chance.choice(("any", "any", "any", "silent")), text=text)
            if number == kill_at:
                os.kill(recorder_of(client.process.pid), signal.SIGKILL)
            if chance.random() < 0.1:
                sleep(chance.random() / 10)
        wait(lambda: len(got) == len(calls))
        assert client.end() == 0
        assert over.wait(HANG)
    assert [len(got[number]) for number in calls] == [1] * len(calls)


def test_a_tap_that_ends_at_once_says_that_the_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("MCP_TUI_STATE", str(tmp_path / "state"))
    looked: list[Path] = []

    def room(folder: Path) -> SimpleNamespace:
        looked.append(folder)
        return SimpleNamespace(f_bavail=4 * len(looked), f_frsize=4096)

    monkeypatch.setattr(os, "statvfs", room)
    warn_of_full_disk()
    said = f"mcp-tui tap: No journal: the disk of {tmp_path / 'state'} is full. The traffic continues.\n"
    assert capfd.readouterr().err == said
    warn_of_full_disk()
    assert capfd.readouterr().err == ""
    assert looked == [tmp_path, tmp_path]
