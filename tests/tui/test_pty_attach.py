"""``attach`` in a real terminal: the session of a foreign client, and a key that cancels there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest

from mcp_tui.live.running import sessions
from tests.cli.running import MCP_TUI
from tests.control import Control
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
