"""Clients with several servers: one screen for all of one, and nothing of the others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from mcp_tui.journal.client_process import client_process, named_so
from mcp_tui.journal.client_recording import ClientRecording
from mcp_tui.journal.records import Header
from mcp_tui.live.control import Summary
from mcp_tui.live.running import Running, RunningClient, by_client, clients_named, sessions
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.screens.attach import AttachScreen
from mcp_tui.tui.sources.attached import sources
from tests.cli.running import run
from tests.tui.driving import Hands
from tests.waiting import HANG, until, wait

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux tells of other processes by /proc"
)

AGENT: Final = Path(__file__).with_name("agent.py")
SERVERS: Final = {"first-agent": ("files", "git", "web"), "other": ("files", "mail")}


class Agent:
    def __init__(self, name: str) -> None:
        command = [sys.executable, str(AGENT), name, *SERVERS[name]]
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def restart(self, server: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{server}\n")
        self.process.stdin.flush()

    def read(self) -> tuple[str, str]:
        """What came of the call on a server."""
        assert self.process.stdout is not None
        server, text = json.loads(self.process.stdout.readline())
        return server, text

    def hanging(self) -> list[str]:
        return sorted(row["server"] for row in json.loads(run("ps", "--json", "--client", self.name).out))


@pytest.fixture
def agents() -> Generator[tuple[Agent, Agent]]:
    made = Agent("first-agent"), Agent("other")
    try:
        for each in made:
            wait(lambda each=each: each.hanging() == sorted(SERVERS[each.name]))
        yield made
    finally:
        for each in made:
            each.process.kill()
            each.process.__exit__(None, None, None)
        wait(lambda: not sessions()[0])


def test_a_program_with_two_clients_has_the_names_of_both():
    made = [
        Running(name, Path(), Summary("tap", client, name, 1, "", (), client_pid=7))
        for name, client in (("a", ""), ("b", "editor 3"), ("c", "chat 1"), ("d", "editor 3"))
    ]
    assert [each.client_name for each in by_client(made)] == ["editor 3, chat 1"]
    assert [each.client_name for each in by_client(made[:1])] == ["unknown client"]


def test_two_servers_of_one_command_that_start_within_a_millisecond_are_both_read(tmp_path: Path):
    begun = {
        "files": 8123.25,
        "git": 8123.2500041,
        "files, by the recorder that replaced another": 8123.25 + 1e-11,
    }
    running: list[Running] = []
    for name, mono in begun.items():
        path = tmp_path / f"{name}.jsonl"
        path.write_bytes(Header(id=name, mono=mono, target="npx server").line())
        summary = Summary("tap", "agent", name, 1, str(path), (), client_pid=None)
        running.append(Running(name, tmp_path, summary))
    client = RunningClient(tuple(running))
    assert [each.name for each in sources(client)] == ["files", "git"]


class Attached(Hands[WorkbenchApp, AttachScreen]):
    kind = AttachScreen


async def test_a_screen_shows_all_servers_of_one_client_and_cancels_its_calls_alone(
    agents: tuple[Agent, Agent],
):
    agent, other = agents
    (client,) = clients_named(sessions()[0], str(agent.process.pid))
    recording = ClientRecording(client.client_name, sources(client))
    app = WorkbenchApp(None, opening=partial(AttachScreen, client, recording))
    async with app.run_test(size=(120, 36)) as pilot:
        shown = Attached(app, pilot)
        await shown.until(lambda: len(shown.bench.attached.running) == 3)
        await shown.until(lambda: "Server" in shown.text())
        lines = [line for line in shown.text().splitlines() if "silent" in line and "in flight" in line]
        for server in SERVERS[agent.name]:
            assert any(f" {server} " in line for line in lines)
        assert "mail" not in shown.text()
        await shown.press("/", *"server:git", "enter")
        await shown.until(lambda: len(shown.bench.table.outline) == 3)
        await shown.press("escape", "escape")
        # A server that starts again stays in the run.
        agent.restart("web")
        await shown.until(lambda: len(recording.joined.sources) == 4)
        await shown.until(lambda: len(shown.bench.attached.running) == 3)
        app.guard.release()
        await shown.press("X", *"enough", "enter")
        await until(lambda: not agent.hanging())
        came = dict(agent.read() for _ in range(3))
        assert came.keys() == {*SERVERS[agent.name]}
        assert all("enough" in text for text in came.values())
        assert other.hanging() == sorted(SERVERS[other.name])
        await shown.until(lambda: not shown.bench.attached.running)
    recording.close()


def test_a_run_goes_from_the_first_tap_of_a_client_to_its_last(agents: tuple[Agent, Agent]):
    agent, other = agents
    parts = run("ps").out.splitlines()
    (head,) = [number for number, line in enumerate(parts) if f"{agent.process.pid} " in line]
    assert parts[head].startswith("first-agent 1 · ")
    assert parts[head].endswith(" · 3 in flight")
    assert [line.split()[1] for line in parts[head + 1 : head + 4]] == [*SERVERS[agent.name]]
    for row in json.loads(run("ps", "--json", "--client", "other").out):
        assert run("cancel", f"{row['session']}/{row['id']}").status == 0
    agent.restart("web")
    wait(lambda: len(_files("export", "--client", agent.name, "--format", "jsonl")) == 4)
    assert len(_files("export", "--client", "OTHER", "--format", "jsonl")) == 2
    logged = json.loads(run("log", "--json", "--client", "other").out)
    assert {row["client"] for row in logged} == {"other 1"}
    assert len(logged) == 2
    assert run("check", "--client", "other 1", "--at-most", "1", "cause:user").status == 9
    for each in agents:
        each.process.kill()
        each.process.wait(HANG)
    wait(lambda: not sessions()[0])
    assert len(_files("export", "--client", agent.name, "--format", "jsonl")) == 4
    refused = run("log", "--client", "nobody")
    assert (refused.status, "first-agent 1" in refused.err) == (2, True)
    assert other.process.returncode


def _files(*words: str) -> set[str]:
    return {json.loads(line)["file"] for line in run(*words).out.splitlines()}


def test_what_only_waits_for_a_tap_is_not_its_client():
    code = "import os; from mcp_tui.journal.client_process import client_process; print(client_process(os.getppid()).pid)"
    # two commands, or the shell becomes the first
    words = ["/bin/sh", "-c", f"{sys.executable} -c '{code}'; true"]
    with subprocess.Popen(
        [sys.executable, "-c", f"import subprocess; subprocess.run({words!r})"],
        stdout=subprocess.PIPE,
        text=True,
    ) as agent:
        assert agent.communicate()[0] == f"{agent.pid}\n"
    assert client_process(1 << 30)[:2] == (1 << 30, 0.0)


def test_a_client_is_named_with_or_without_its_version():
    known = ["claude-code 2.1", "claude-ai 0.1", "Code 1.99", ""]
    assert named_so(known, "CODE") == {"Code 1.99"}
    assert named_so(known, "claude") == {"claude-code 2.1", "claude-ai 0.1"}
    assert named_so(known, "claude-code 2.1") == {"claude-code 2.1"}
    assert not named_so(known, "cod3")
