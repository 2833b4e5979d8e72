"""The recorder that all taps of a user share: who shares it, what one tap can do to another one, and its end."""

from __future__ import annotations

import _socket
import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_tui.journal.journal_files import journal_folder, journals
from mcp_tui.journal.recording import Recording
from mcp_tui.live.running import sessions
from mcp_tui.tap.pipes import is_running
from mcp_tui.tap.recorder_process import RecorderProcess
from mcp_tui.tap.shared_recorder import LONG_BYTES
from mcp_tui.transport.base import Outgoing
from tests.servers.recorder import ProcessesEnded
from tests.servers.stdio_scripted import Wire, over_stdio
from tests.tap.test_tap import AWAY, Client, planted, tap
from tests.waiting import wait

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells of other processes by /proc"
)

SERVER: Final = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    arguments = call.get("params", {}).get("arguments", {})
    for _ in range(arguments.get("notes", 0)):
        note = {"level": "info", "data": "x" * arguments["size"]}
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": note}))
    if call.get("id") is not None and not arguments.get("hang"):
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": {"content": []}}), flush=True)
"""

Start = Callable[..., Client]


@pytest.fixture
def start() -> Generator[Start]:
    """Starts a tap with a connected client; all end with the test, and their recorder after them."""
    clients: list[Client] = []

    def started(*options: str, code: str = "", **env: str) -> Client:
        command = tap(*options, code=SERVER)
        client = Client(planted(code, command) if code else command, env={**os.environ, **env})
        clients.append(client)
        client.connect()
        return client

    yield started
    for each in clients:
        each.process.kill()
        each.process.__exit__(None, None, None)
    wait(lambda: not sessions()[0])


def recorders(count: int) -> list[int]:
    """The processes that record, one for each of so many sessions."""
    found: list[int] = []

    def all_are_there() -> bool:
        found[:] = [each.summary.pid for each in sessions()[0]]
        return len(found) == count

    wait(all_are_there)
    return found


def test_taps_share_a_process_that_ends_with_the_last(start: Start):
    clients = [start("--name", name) for name in "abc"]
    (pid,) = {*recorders(3)}
    (path,) = Path(os.environ["XDG_RUNTIME_DIR"], "mcp-tui").glob(".recorder-*")
    assert path.parent.stat().st_mode & 0o777 == 0o700
    other = start("--timeout", "60", XDG_CONFIG_HOME=os.environ["XDG_CONFIG_HOME"] + "/other")
    assert len({*recorders(4)} - {pid}) == 1
    assert other.end() == 0
    for each in clients[:2]:
        assert each.end() == 0
    clients[2].call(1, "works", notes=1, size=10)
    assert clients[2].read()["method"] == "notifications/message"
    assert clients[2].end() == 0
    wait(lambda: not is_running(pid))
    assert not path.exists()


def test_what_is_secret_is_that_in_the_environment_of_each_tap(start: Start):
    started = [start("--name", name, MY_API_KEY=f"value-of-{name}-{'q' * 20}") for name in "ab"]
    for each in started:
        for name in "ab":
            each.call(name, f"value-of-{name}-{'q' * 20}")
            assert each.read()["id"] == name
        assert each.end() == 0
    wait(lambda: not sessions()[0])
    for each in journals(journal_folder()):
        text = each.paths[0].read_text()
        name = each.name.split("-")[3]
        assert f"value-of-{name}-" not in text
        assert f"value-of-{'b' if name == 'a' else 'a'}-" in text


@pytest.mark.parametrize("size", [20, 2 * LONG_BYTES], ids=["flood", "long message"])
def test_a_tap_that_keeps_the_recorder_busy_gets_one_of_its_own(start: Start, size: int):
    other, busy = start("--timeout", "0.2", "--name", "other"), start("--name", "busy")
    (shared,) = {*recorders(2)}
    busy.call(1, "floods", notes=1 if size > LONG_BYTES else 50_000, size=size)
    while busy.read().get("id") != 1:
        pass
    wait(lambda: len({*recorders(2)}) == 2)
    other.call(7, "hangs", hang=True)
    assert other.read()["result"]["isError"]
    busy.call(2, "works")
    assert busy.read()["id"] == 2
    assert (busy.end(), other.end()) == (0, 0)
    wait(lambda: not sessions()[0] and not is_running(shared))
    found = [Recording.read(each.paths[0]) for each in journals(journal_folder())]
    assert sorted(len(each.table.first) for each in found) == [2, 3]
    assert not any(each.damaged or each.table.misfits for each in found)


async def test_a_client_that_ends_its_tap_leaves_the_recorder_to_the_other_taps(start: Start):
    async with Wire(over_stdio(tap("--name", "first", code=SERVER), env=dict(os.environ))) as first:
        first.transport.send(
            Outgoing(raw=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}', method="tools/list", id=1)
        )
        await first.until(lambda: first.lines)
        (shared,) = {*await asyncio.to_thread(recorders, 1)}
        other = await asyncio.to_thread(start, "--timeout", "0.2", "--name", "other")
        assert {*await asyncio.to_thread(recorders, 2)} == {shared}
        await first.transport.close()
        assert first.all(ProcessesEnded) == []
    other.call(7, "hangs", hang=True)
    assert (await asyncio.to_thread(other.read))["result"]["isError"]
    assert {*await asyncio.to_thread(recorders, 1)} == {shared}
    assert other.end() == 0


def test_an_error_in_one_tap_does_not_reach_another_one(start: Start):
    fails = "from mcp_tui.tap import stdio_recorder as module\\ntake = module.StdioRecorder.record\\n"
    fails += "def record(self, kind, at, number, data):\\n    if b'planted' in data: raise ValueError('planted')\\n"
    fails += "    take(self, kind, at, number, data)\\nmodule.StdioRecorder.record = record"
    code = fails.replace("\\n", "\n")
    one, other = start(code=code), start("--timeout", "0.2", code=code)
    (shared,) = {*recorders(2)}
    one.call(1, "planted")
    assert one.read()["id"] == 1
    assert "ValueError planted" in one.complaint()
    other.call(7, "hangs", hang=True)
    assert other.read()["result"]["isError"]
    assert is_running(shared)


@pytest.mark.parametrize("rounds", [2, pytest.param(50, marks=pytest.mark.slow)])
def test_taps_whose_recorder_is_killed_get_another_one(start: Start, rounds: int):
    clients = [start("--timeout", "0.2", "--name", f"s{number}") for number in range(3)]
    for number in range(rounds):
        # One, but for a tap that a busy machine made leave it.
        pids = {*recorders(3)}
        for each in clients:
            each.call(f"hangs {number}", "hangs", hang=True)
            each.call(f"works {number}", "works")
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for each in clients:
            came = {(message := each.read())["id"]: message for _ in range(2)}
            assert "result" in came[f"works {number}"]
            assert came[f"hangs {number}"]["result"]["isError"]
            assert each.complaint().endswith(f"{AWAY}\n")
    recorders(3)
    for each in clients:
        assert each.end() == 0
    wait(lambda: not sessions()[0])
    found = [Recording.read(each.paths[0]) for each in journals(journal_folder())]
    assert not any(each.skipped or each.table.misfits for each in found)


def test_a_copy_of_the_recorder_takes_its_place_and_ends_with_the_last_tap(start: Start):
    client, standby = start("--timeout", "0.2"), 0
    for number in range(2):
        (pid,) = recorders(1)
        standby = copy_of(pid)
        assert b"mcp_tui.tap.recorder" not in Path(f"/proc/{standby}/cmdline").read_bytes()  # it is none yet
        os.kill(pid, signal.SIGKILL)
        client.call(number, "hangs", hang=True)
        assert client.read()["result"]["isError"]
        assert recorders(1) == [standby]
    last = copy_of(standby)
    assert client.end() == 0
    wait(lambda: not is_running(standby) and not is_running(last))


def copy_of(pid: int) -> int:
    (copy,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(copy)


def test_what_cannot_be_shared_is_a_recorder_of_its_own(start: Start, tmp_path: Path):
    shared = start()
    recording = start("--record", str(tmp_path / "run.jsonl"))
    assert len({*recorders(2)}) == 2
    folder = Path(os.environ["XDG_RUNTIME_DIR"], "mcp-tui")
    folder.chmod(0o755)
    others = start()
    assert len({*recorders(3)}) == 3
    folder.chmod(0o700)
    for each in (shared, recording, others):
        each.call(1, "works")
        assert each.read()["id"] == 1
        assert each.end() == 0


def test_who_says_nothing_at_the_socket_keeps_nobody_out(start: Start):
    first = start()
    assert len(recorders(1)) == 1
    (path,) = Path(os.environ["XDG_RUNTIME_DIR"], "mcp-tui").glob(".recorder-*")
    with socket.socket(socket.AF_UNIX) as silent, socket.socket(socket.AF_UNIX) as odd:
        silent.connect(os.fspath(path))
        odd.connect(os.fspath(path))
        with suppress(OSError):
            odd.sendall(b"\xff(]\n")
        start("--name", "second")
        assert len({*recorders(2)}) == 1
        first.call(1, "works")
        assert first.read()["id"] == 1


def test_a_recorder_that_takes_a_tap_at_once_stays_the_only_one(
    monkeypatch: pytest.MonkeyPatch,
):
    shared = RecorderProcess("stdio", shared=True)
    assert shared.shared

    class Slow(_socket.socket):
        """Continues after the other end is closed, as a process may that has to wait for the processor."""

        def sendmsg(self, *given: Any) -> int:
            sent = super().sendmsg(*given)
            assert self.recv(1) == b""
            return sent

    monkeypatch.setattr(_socket, "socket", Slow)
    slow = RecorderProcess("stdio", shared=True)
    assert (slow.shared, slow.pid) == (True, 0)
    for each in (shared, slow):
        os.close(each.records)
        os.close(each.orders)
