"""``attach`` in a real terminal: the session of a foreign client, and a key that cancels there."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_tui.cli.output import Exit
from mcp_tui.live.running import sessions
from tests.cli.running import MCP_TUI
from tests.control import Control
from tests.live.test_via import Machine
from tests.tap.test_tap import Client
from tests.tui.terminal import Terminal
from tests.waiting import HANG, wait

pytestmark = [pytest.mark.pty, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")]


def test_a_key_cancels_what_a_foreign_client_calls(
    terminals: Callable[..., Terminal], control: Control
) -> None:
    command = [*MCP_TUI, "tap", "--name", "files", "--", sys.executable, "-m", "mcp_tui.demo"]
    client = Client(command, env={**os.environ, **control.env})
    try:
        client.connect()
        wait(lambda: [each.summary.client for each in sessions()[0]] == ["other 3"])
        terminal = terminals("attach")
        terminal.see("initialize", "other 3 (")
        client.call(7, "stubborn", seconds=1)
        terminal.see("in flight", "stubborn")
        terminal.press("c")
        terminal.see("Cancel 7")
        terminal.press("it hangs\r")
        assert client.read()["result"]["content"][0]["text"].startswith("cancelled by a person: it hangs. ")
        control.wait("cancelled", id=7, reason="it hangs")
        terminal.see("cancelling")
        client.process.kill()
        client.process.wait(HANG)
        terminal.see("The session of other 3 (", "has ended")
        terminal.press("\x11")
        assert terminal.ended() == 0
    finally:
        client.process.kill()
        client.process.__exit__(None, None, None)


@pytest.mark.skipif(sys.platform != "linux", reason="finds a process by /proc")
def test_a_session_of_another_machine_is_attached_to_and_its_end_restores_the_terminal(
    terminals: Callable[..., Terminal], control: Control, tmp_path: Path
) -> None:
    there = Machine(tmp_path, "build1")
    with there.calling(control):
        (row,) = there.listed()
        terminal = terminals("attach", f"build1:{row['session']}", "--via", there.via)
        terminal.see("count", "in flight")
        terminal.press("c")
        terminal.see(f"Cancel {row['id']}")
        terminal.press("$(touch made)\r")
        control.wait("cancelled", reason="$(touch made)")
        terminal.press("\x11")
        assert terminal.ended() == 0
        terminal.assert_restored()
    with there.calling(control):  # and the connection is lost
        terminal = terminals("attach", "--via", there.via)
        terminal.see("count", "in flight")
        os.kill(int(Path(f"/proc/{terminal.pid}/task/{terminal.pid}/children").read_text()), signal.SIGKILL)
        assert terminal.ended() == Exit.UNREACHABLE
        terminal.assert_restored()
        assert b"build1: signal 9 ended the command." in terminal.raw
