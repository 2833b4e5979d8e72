"""The terminal as it was, however the session came to its end; endings by signals and defects are in ``test_pty.py``."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable

import pytest

from tests.tui.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")]

COLUMNS = 150


def started(terminals: Callable[..., Terminal]) -> Terminal:
    terminal = terminals("--demo", columns=COLUMNS, lines=30)
    terminal.see("No requests yet.")
    return terminal


def call(terminal: Terminal, name: str, only: str) -> None:
    terminal.press("n")
    terminal.see("Call a tool")
    terminal.press(name)
    terminal.see(only)
    terminal.press("\x13")


def test_after_ctrl_c_where_nothing_is_in_flight(terminals: Callable[..., Terminal]) -> None:
    terminal = started(terminals)
    terminal.press("\x03")
    assert terminal.ended() == 0
    terminal.assert_restored()


def test_after_ctrl_c_twice_over_a_request_in_flight(terminals: Callable[..., Terminal]) -> None:
    terminal = started(terminals)
    call(terminal, "silen", "1 of 14")
    terminal.see("▸ in flight")
    terminal.press("\x03")
    terminal.see("Reason")
    terminal.press("\x03")
    terminal.see("cancel requested")
    terminal.press("\x03")
    assert terminal.ended() == 0
    terminal.assert_restored()


def test_after_the_server_has_crashed(terminals: Callable[..., Terminal]) -> None:
    terminal = started(terminals)
    call(terminal, "crash", "1 of 14")
    terminal.answer("y", "y Call")
    terminal.see("∅ lost", "Press S to restart it.")
    terminal.press("\x11")
    assert terminal.ended() == 0
    terminal.assert_restored()


def test_after_the_server_was_killed(terminals: Callable[..., Terminal]) -> None:
    terminal = started(terminals)
    pid = re.search(r"pid (\d+)", terminal.text())
    assert pid, terminal.text()
    os.kill(int(pid[1]), signal.SIGKILL)
    terminal.see("terminated by signal 9", "Press S to restart it")
    terminal.press("\x11")
    assert terminal.ended() == 0
    terminal.assert_restored()
