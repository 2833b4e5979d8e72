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

    def insists(self, label: str, done: Callable[[], object]) -> None:
        """Press the key of a label, and again where the screen asks for that because something changed just then."""

        def refused() -> object:
            return re.search(r"[Pp]ress (the key )?again\.", self.terminal.text())

        while not done():
            self.does(label)
            self.terminal.until(lambda: done() or refused())
            self.terminal.until(lambda: done() or not refused())

    def sees(self, *needles: str) -> None:
        self.terminal.see(*needles)

    def types(self, text: str, then: str) -> None:
        self.terminal.press(text)
        self.sees(then)

    def calls(self, tool: str) -> None:
        """Open the list of tools, and leave one of them in it."""
        self.does("to call a tool")
        self.sees("Call a tool", "type to filter")
        self.types(tool, "1 of ")

    def finds(self, words: str, command: str) -> None:
        """Look for a command in the palette."""
        self.does("Palette")
        self.sees("Search for commands")
        self.types(words, command)
        self.terminal.until(lambda: self.terminal.text().count("  (") <= 1)

    def quits(self) -> None:
        self.does("Quit")
        self.sees("Quit mcp-tui?", "Stay")  # behind the question the footer says Quit, too
        self.terminal.answer(self.read("Quit"), "Quit mcp-tui?")
        assert self.terminal.ended() == 0
        assert all(self.pressed)

    def pane(self, name: str) -> None:
        """Open the pane whose name on a tab begins so, by the range of keys that the footer names for panes."""
        first = re.search(r"(\d)-(\d) Pane", self.terminal.text())
        assert first, self.terminal.text()
        tabs = next(line for line in self.terminal.screen.display if "Detail" in line and name in line)
        names = re.findall(r"[A-Z][a-z]+", tabs[tabs.index("Detail") :])
        key = str(int(first[1]) + next(at for at, each in enumerate(names) if each.startswith(name)))
        assert first[1] <= key <= first[2]
        self.pressed.append(key)
        self.terminal.press(key)


@pytest.fixture(params=[(80, 24), (120, 30), (140, 40)], ids=str)
def come(terminals: Callable[..., Terminal], request: pytest.FixtureRequest) -> Callable[..., Newcomer]:
    """Brings a newcomer to the demo server, started with some more options."""
    columns, lines = request.param

    def comes(*options: str) -> Newcomer:
        made = Newcomer(terminals("--demo", *options, columns=columns, lines=lines))
        made.sees("No requests yet.")
        return made

    return comes


def test_from_the_start_to_a_cancelled_request_and_its_line_in_the_log(
    come: Callable[..., Newcomer], control: Control
) -> None:
    somebody = come(*control.options)
    terminal = somebody.terminal
    somebody.calls("stub")
    somebody.does("Call")
    somebody.sees("▸ in flight", "stubborn")
    somebody.does("Cancel")
    somebody.sees("Reason")
    somebody.types("wrong table", "wrong table")
    somebody.does("Cancel it")
    somebody.sees("◔ cancel requested")
    control.wait("cancelled")
    control.release("stubborn")
    if terminal.screen.columns < 140:
        somebody.pane("Cancel")
    terminal.until(lambda: re.search(r"\d\d:\d\d:\d\d.* stubborn +you +wrong", terminal.text()))
    somebody.sees("late result at +")
    somebody.does("Help")
    somebody.sees("What the table shows")
    while not re.search(r"\^q  quit", terminal.text()):
        terminal.press("\x1b[6~")  # it says that there is more
        terminal.read()
    terminal.press("\x1b")
    terminal.until(lambda: "esc Close" not in terminal.text())
    somebody.quits()


def test_from_an_answer_to_a_filter_another_argument_and_a_repeat(come: Callable[..., Newcomer]) -> None:
    somebody = come()
    text = somebody.terminal.text
    somebody.calls("echo")
    somebody.does("Arguments")
    somebody.sees("Call echo")
    somebody.types("hello", "text  hello")
    somebody.does("Call")
    somebody.sees("✓ completed", "hello")
    somebody.insists("Edit", lambda: "Call echo" in text())
    somebody.sees("text  hello")
    somebody.types(" again", "hello again")
    somebody.does("Call")
    somebody.sees("· 2 shown", "hello again")
    somebody.insists("Again", lambda: "· 3 shown" in text())
    somebody.does("Filter")
    somebody.sees("Filter requests")
    somebody.types("zzz\r", "No match for 'zzz' (3 hidden)")
    somebody.sees("n New")  # while it was typed the footer had other keys
    somebody.quits()


@pytest.mark.sends_anything  # the probe does
def test_from_a_probe_to_a_recording_and_back(come: Callable[..., Newcomer]) -> None:
    somebody = come()
    terminal = somebody.terminal
    somebody.calls("silent")
    somebody.does("Call")
    somebody.does("Cancel")
    somebody.does("Cancel it")
    somebody.sees("no reply")
    somebody.finds("probe", "run the cancellation probe")
    terminal.press("\r")
    somebody.sees("Does this server stop when told to?")
    somebody.insists("Start", lambda: re.search(r"P-\d\d +…", terminal.text()))
    somebody.sees("stops when told to: yes")
    somebody.does("Back")
    somebody.finds("recording", "Open a recording…")
    terminal.press("\r")
    somebody.sees("this session")
    somebody.does("Open read-only")
    somebody.sees("paused")
    somebody.does("Play")
    somebody.sees("playing")
    somebody.does("Play")
    somebody.does("Cancelled")
    somebody.sees("cancel requested 6")
    somebody.does("Back")
    terminal.until(lambda: "paused" not in terminal.text())
    somebody.quits()
