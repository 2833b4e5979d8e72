"""The main job by somebody who has never read anything but the screen: each key is one that the screen names just then."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import pytest

from tests.tui.terminal import Terminal

pytestmark = [pytest.mark.pty, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")]

TYPED = {"enter": "\r", "esc": "\x1b", "space": " ", "tab": "\t", "↓": "\x1b[B", "↑": "\x1b[A"}


class Newcomer:
    """Reads a screen and presses what it names. What a key does is known by its label alone."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.pressed: list[str] = []

    def read(self, label: str) -> str:
        """The key that is named before a label: ``n New`` in a colour of its own, or ``Press n to call a tool``."""
        name = r"(\^[a-z]|ctrl\+[a-z]|enter|esc|space|tab|[↑↓]|[^\s\w]|\w)"
        screen = self.terminal.screen
        for y, line in enumerate(screen.display):
            for found in re.finditer(rf"(?<!\S){name} {label}(?!\w)", line):
                colours = [screen.buffer[y][x].fg for x in (found.start(1), found.end(1) + 1)]
                if colours[0] != colours[1] or line[: found.start()].endswith("Press "):
                    return found[1]
        return ""

    def does(self, label: str) -> None:
        """Wait for a label, and press its key."""
        self.terminal.until(lambda: self.read(label))
        key = self.read(label)
        self.pressed.append(key)
        if key.startswith(("^", "ctrl+")):
            self.terminal.press(chr(ord(key[-1]) - 96))
        else:
            self.terminal.press(TYPED.get(key, key))

    def insists(self, label: str, done: Callable[[], object]) -> None:
        """Press the key of a label, and again where the screen asks for that because something changed just then."""
        refused = "Press the key again."
        while not done():
            self.does(label)
            self.terminal.until(lambda: done() or refused in self.terminal.text())
            self.terminal.until(lambda: done() or refused not in self.terminal.text())

    def sees(self, *needles: str) -> None:
        self.terminal.see(*needles)

    def pane(self, name: str) -> None:
        """Open the pane whose name is a tab, by the range of keys that the footer names for panes."""
        first = re.search(r"(\d)-(\d) Pane", self.terminal.text())
        assert first, self.terminal.text()
        tabs = next(line for line in self.terminal.screen.display if "Detail" in line and name in line)
        names = re.findall(r"[A-Z][a-z]+", tabs)
        key = str(int(first[1]) + names.index(name))
        assert first[1] <= key <= first[2]
        self.pressed.append(key)
        self.terminal.press(key)


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (140, 40)])
def test_from_the_start_to_a_cancelled_request_and_its_line_in_the_log(
    terminals: Callable[..., Terminal], columns: int, lines: int
) -> None:
    terminal = terminals("--demo", columns=columns, lines=lines)
    somebody = Newcomer(terminal)
    somebody.sees("No requests yet.")
    somebody.does("to call a tool")
    somebody.sees("Call a tool", "type to filter")
    terminal.press("stub")
    somebody.sees("1 of ")
    somebody.does("Call")
    somebody.sees("▸ in flight", "stubborn")
    somebody.does("Cancel")
    somebody.sees("Reason")
    terminal.press("wrong table")
    somebody.sees("wrong table")
    somebody.does("cancel it")
    somebody.sees("◔ cancel requested")
    if "Cancellations" in terminal.text() and columns < 120:
        somebody.pane("Cancellations")
    terminal.until(lambda: re.search(r"\d\d:\d\d:\d\d.* stubborn +you +wrong", terminal.text()))
    somebody.sees("late result at +")
    if columns >= 120:
        somebody.does("Quit")
        somebody.sees("Quit mcp-tui?")
        terminal.answer(somebody.read("Quit"), "Quit mcp-tui?")
    else:
        somebody.does("Help")
        somebody.sees("Keys")
        while not re.search(r"\^q  quit", terminal.text()):
            terminal.press("\x1b[6~")  # it says that there is more
            terminal.read()
        terminal.press("\x1b")
        somebody.sees("? Help")
        terminal.press("\x11")
    assert terminal.ended() == 0
    assert all(somebody.pressed)


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (120, 30), (140, 40)])
def test_from_an_answer_to_a_filter_another_argument_and_a_repeat(
    terminals: Callable[..., Terminal], columns: int, lines: int
) -> None:
    terminal = terminals("--demo", columns=columns, lines=lines)
    somebody = Newcomer(terminal)
    somebody.sees("No requests yet.")
    somebody.does("to call a tool")
    somebody.sees("Call a tool", "type to filter")
    terminal.press("echo")
    somebody.sees("1 of ")
    somebody.does("arguments")
    somebody.sees("Call echo")
    terminal.press("hello")
    somebody.sees("text  hello")
    somebody.does("Call")
    somebody.sees("✓ completed", "hello")
    somebody.insists("Edit", lambda: "Call echo" in terminal.text())
    somebody.sees("text  hello")
    terminal.press(" again")
    somebody.sees("hello again")
    somebody.does("Call")
    somebody.sees("· 2 shown", "hello again")
    somebody.insists("Again", lambda: "· 3 shown" in terminal.text())
    somebody.does("Filter")
    somebody.sees("Filter requests")
    terminal.press("zzz\r")
    somebody.sees("No match for 'zzz' (3 hidden)")
    somebody.does("Quit")
    somebody.sees("Quit mcp-tui?")
    terminal.answer(somebody.read("Quit"), "Quit mcp-tui?")
    assert terminal.ended() == 0
    assert all(somebody.pressed)
