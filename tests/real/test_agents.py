"""Agent programs behind a tap, with a model that a test scripts: a call that hangs is cancelled, and the agent goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_tui.journal.journal_files import journal_folder, journals
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol import events as ev
from tests.cli.running import run
from tests.control import Control
from tests.real.agents import AGENTS, Agent, Entry, Started
from tests.real.model import Call, Model
from tests.waiting import HANG, wait

pytestmark = [pytest.mark.real, pytest.mark.sends_anything, pytest.mark.timeout(300)]

REASON: Final = "it hangs"
ECHOED: Final = "still there?"


@contextmanager
def running(agent: Started, folder: Path) -> Generator[subprocess.Popen[str]]:
    """An agent program at work; at the end, nothing of it is left."""
    with subprocess.Popen(
        agent.command,
        cwd=folder,
        env=agent.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def hanging() -> list[dict[str, Any]]:
    """The calls of the tool that hangs, which a session tells once its recorder has started."""
    return [each for each in json.loads(run("ps", "--json").out) if each.get("name") == "stubborn"]


def ends() -> list[ev.Disconnected]:
    """How the only session ended."""
    (journal,) = journals(journal_folder())
    return [each for each in Recording.read(journal.paths[0]).events() if isinstance(each, ev.Disconnected)]


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agent_goes_on_after_a_call_is_cancelled_and_ends_its_server(
    agent: Agent, control: Control, tmp_path: Path
):
    if reason := agent.missing():
        pytest.skip(reason)
    home, folder = tmp_path / "home", tmp_path / "folder"
    home.mkdir()
    folder.mkdir()
    # some agent programs give their servers a short environment
    variables = control.env | {name: os.environ[name] for name in ("XDG_STATE_HOME", "XDG_RUNTIME_DIR")}
    with Model(Call("stubborn", {"seconds": 60}), Call("echo", {"text": ECHOED}), "I am done.") as model:
        started = agent.started(home, model.url, Entry([sys.executable, "-m", "mcp_tui.demo"], variables))
        installed = run("tap", "install", "demo", "--config", str(started.config), "--yes")
        assert installed.status == 0, installed.err
        with running(started, folder) as process:
            control.wait("waiting", tool="stubborn")
            wait(hanging)
            (row,) = hanging()
            assert (row["client"].split()[0], row["server"]) == (agent.client, "demo")
            cancelled = run("cancel", f"{row['session']}/{row['id']}", "--reason", REASON)
            assert (cancelled.status, cancelled.err) == (0, "")
            said, _ = process.communicate(timeout=HANG)
            wait(ends)
    assert process.returncode == 0, said
    assert "I am done." in said
    hung, echoed = model.results
    assert REASON in hung
    assert ECHOED in echoed
    (end,) = ends()
    assert (end.detail.startswith("the client ended the server"), end.expected) == (True, True), end
    # some cancel each call once more when it was answered
    (row,) = (each for each in json.loads(run("log", "--json").out) if each["cause"] != "client")
    assert (row["tool"], row["cause"], row["reason"], row["outcome"]) == (
        "stubborn",
        "user",
        REASON,
        "no_reply",
    )
