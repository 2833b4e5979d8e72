"""The main job by somebody who has never read anything but the screen: each key is one that the screen names just then."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import pytest

from tests.control import Control
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

    def sees(self, *needles: str) -> None:
        self.terminal.see(*needles)

    def types(self, text: str, then: str) -> None:
        self.terminal.press(text)
        self.sees(then)

    def pane(self, name: str) -> None:
        """Open the pane whose name on a tab begins so, by the range of keys that the footer names for panes."""

        def tabs() -> str:
            lines = self.terminal.screen.display
            words = ("Detail", name, "Timeline")
            return next((line for line in lines if all(word in line for word in words)), "")

        self.terminal.until(tabs)
        first = re.search(r"(\d)-(\d) Pane", self.terminal.text())
        assert first, self.terminal.text()
        names = ["Requests", "Detail", *re.findall(r"[A-Z][a-z]+", tabs().partition("Detail")[2])]
        key = str(int(first[1]) + next(at for at, each in enumerate(names) if each.startswith(name)))
        assert first[1] <= key <= first[2]
        self.pressed.append(key)
        self.terminal.press(key)


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (140, 40)])
def test_from_the_start_to_a_cancelled_request_and_its_line_in_the_log(
    terminals: Callable[..., Terminal], control: Control, columns: int, lines: int
) -> None:
    terminal = terminals("--demo", *control.options, columns=columns, lines=lines)
    somebody = Newcomer(terminal)
    somebody.sees("No requests yet.")
    somebody.does("to call a tool")
    somebody.sees("Call a tool", "type to filter")
    somebody.types("stub", "1 of ")
    somebody.does("Call")
    somebody.sees("▸ in flight", "stubborn")
    somebody.does("Cancel")
    somebody.sees("Reason")
    somebody.types("wrong table", "wrong table")
    somebody.does("Cancel it")
    somebody.sees("◔ cancelling")
    control.wait("cancelled")
    control.release("stubborn")
    somebody.pane("Cancel")
    terminal.until(lambda: re.search(r" 6 +stubborn +(you +)?wrong", terminal.text()))
    somebody.sees("late result")
    somebody.does("Help")
    somebody.sees("What the table shows")
    while not re.search(r"\^q  quit", terminal.text()):
        terminal.press("\x1b[6~")  # it says that there is more
        terminal.read()
    terminal.press("\x1b")
    terminal.until(lambda: "esc Close" not in terminal.text())
    somebody.does("Quit")
    assert terminal.ended() == 0
    assert all(somebody.pressed)
