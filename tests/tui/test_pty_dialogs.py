"""What opening a dialog writes to the terminal: on a line of 64 kbit/s, 8 kB take a second."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.tui.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")]

MOST_BYTES = 8_000

DIALOGS = {
    "?": ["╭─ Keys", "What the table shows"],
    "\x10": ["╭─ Commands", "enter Run"],
    "S": ["╭─ Server ", "enter Choose"],
    "v": ["╭─ 1 server", "esc Back"],
    "b": ["╭─ Saved calls", "enter Choose"],
    "y": ["╭─ Copy ", "Secrets are masked."],
    "E": ["╭─ Export ", "Markdown: for people"],
    "R": ["╭─ Repeat ", "How many times"],
    "e": ["╭─ Call echo", "^s Call"],
    "d": ["compared", "− first"],
}
"""What is on the screen then, by the key."""


def test_a_dialog_opens_with_few_bytes(terminals: Callable[..., Terminal]) -> None:
    terminal = terminals("--demo", columns=120, lines=36, env={"COLORTERM": "truecolor"})
    terminal.see("echo", "stubborn")
    costs: dict[str, int] = {}

    def opened(key: str, *needles: str) -> None:
        """Press a key, and count what comes until these words stand on the screen, and nothing follows."""
        before = drawn()  # what closed before is drawn
        terminal.press(key)
        terminal.see(*needles)
        costs[needles[0]] = drawn() - before

    def drawn() -> int:
        """Read until nothing follows; return the bytes so far."""
        last = -1
        while last != len(terminal.raw):
            last = len(terminal.raw)
            terminal.read()
        return last

    def call(tool: str, arguments: str, state: str) -> None:
        opened("n", "╭─ Call a tool", "esc Close")
        terminal.press(tool)
        terminal.see("1 of 15")
        opened("\r", f"╭─ Call {tool}", "esc Back")
        terminal.press(f"{arguments}\x13")
        terminal.until(lambda: "╭─ Call" not in terminal.text() and state in terminal.text())

    call("echo", "first", "✓ completed")
    call("echo", "second", '"second"')
    terminal.press("\x1b[B")
    terminal.see("›✓ completed      6")
    terminal.press("\x1b[A")  # a row to which one moved may be acted on at once
    terminal.see("›✓ completed      7")
    for key, needles in DIALOGS.items():
        opened(key, *needles)
        terminal.press("\x1b")
        terminal.until(lambda needles=needles: needles[0] not in terminal.text())
    terminal.press("1")
    opened("\r", "─ 1 of 2", "esc Back")
    terminal.press("\x1b")
    terminal.until(lambda: "─ 1 of 2" not in terminal.text())
    call("silent", "", "in flight")
    opened("c", "╭─ Cancel ")
    terminal.press("\x1b")
    terminal.until(lambda: "╭─ Cancel " not in terminal.text())
    opened("q", "╭─ Quit")
    too_much = {name: bytes_ for name, bytes_ in costs.items() if bytes_ > MOST_BYTES}
    assert not too_much, costs
