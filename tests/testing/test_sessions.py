"""Sessions and the question whether a tool stops: how they end."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mcp_tui.client import ClientSettings
from mcp_tui.client.connection import ConnectError
from mcp_tui.probe.judging import HEARTBEAT
from mcp_tui.probe.report import TIME_OVER
from mcp_tui.probe.run import WAY_OUT
from mcp_tui.testing import McpSession, assert_stops_when_cancelled
from mcp_tui.testing.stopping import advising_here
from mcp_tui.transport.base import spawn
from tests.control import Control
from tests.waiting import HANG

INTERRUPTED = """
from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.testing import McpSession, assert_stops_when_cancelled

server = StdioTarget(command={command!r}, env={env!r})
try:
    {work}
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    "work",
    [
        "assert_stops_when_cancelled(server, 'count', {'seconds': 9}, patience=9999)",
        "with McpSession(server) as session: session.call('count', {'seconds': 9})",
    ],
    ids=["probe", "session"],
)
def test_ctrl_c_ends_the_test_and_the_server_at_once(control: Control, work: str):
    target = control.demo()
    code = INTERRUPTED.format(command=target.command, env=target.env, work=work)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        control.wait("waiting", tool="count")
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=HANG)[0] == "interrupted\n"
    gone = sum(each["event"] == "start" for each in control.events)
    for _ in range(gone):
        control.wait("gone")


def test_two_starts_show_whether_a_tool_stops(tmp_path: Path):
    log = tmp_path / "work.log"
    server = [sys.executable, "-m", "mcp_tui.demo", "--log", str(log)]
    assert_stops_when_cancelled(server, "count", {"seconds": 1, "steps": 10}, heartbeat=log)
    assert sum(json.loads(line)["event"] == "start" for line in log.read_text().splitlines()) == 2


def test_what_it_advises_is_what_it_takes():
    with pytest.raises(AssertionError, match="Nothing shows whether echo stops") as told:
        assert_stops_when_cancelled([sys.executable, "-m", "mcp_tui.demo"], "echo", {"text": "x"})
    assert "--" not in str(told.value)
    for advice in (HEARTBEAT, WAY_OUT, TIME_OVER):
        assert "--" not in advising_here(f"It is so: {advice}.")


def test_a_server_that_does_not_start_is_told_with_its_lines_and_parameters():
    code = "import sys; print('no database', file=sys.stderr, flush=True); sys.stdin.read()"
    silent = [sys.executable, "-c", code]
    with pytest.raises(ConnectError) as told, McpSession(silent, ClientSettings(connect_timeout=1.0)):
        pass
    assert str(told.value).endswith("raise connect_timeout of ClientSettings.")
    assert told.value.__notes__ == ["stderr: no database"]


def test_a_session_is_closed_once_and_says_so_afterwards(control: Control):
    with McpSession(control.demo()) as session:
        call = session.start("count")
        session.close()
        session.close()
        assert not call.row.open
        with pytest.raises(RuntimeError, match="The session is closed"):
            session.tools()
    control.wait("gone")
    McpSession(control.demo()).close()  # it never connected


def test_a_session_ends_what_still_runs_beside_it(control: Control):
    ended = threading.Event()

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def starts() -> asyncio.Task[None]:
        return spawn(waits(), name="a test's own task")

    with McpSession(control.demo()) as session:
        task = session.run(starts())
    assert (task.cancelled(), ended.is_set()) == (True, True)
