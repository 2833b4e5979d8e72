"""The program in a real terminal: the main job by its keys, and the terminal as it was, however it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import termios
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pexpect
import pyte
import pytest

pytestmark = [pytest.mark.pty, pytest.mark.skipif(os.name == "nt", reason="needs a POSIX terminal")]

HANG = 30.0
"""Seconds after which what does not come is taken for a hang."""

MODES = {1000, 1002, 1003, 1004, 1006, 1049, 2004, 2048}
"""Private modes that a shell must not find set."""


class Terminal:
    """A pseudo terminal with a screen behind it."""

    def __init__(
        self, *words: str, columns: int = 80, lines: int = 24, env: dict[str, str] | None = None
    ) -> None:
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.process: pexpect.spawn[Any] = pexpect.spawn(
            sys.executable,
            ["-m", "mcp_tui", *words],
            dimensions=(lines, columns),
            env={**os.environ, **(env or {})},  # type: ignore[arg-type]
            timeout=HANG,
            echo=True,
        )
        self.before = termios.tcgetattr(self.process.child_fd)

    @property
    def pid(self) -> int:
        pid = self.process.pid
        assert pid is not None
        return pid

    def read(self) -> None:
        """Take in what the program wrote."""
        try:
            data = self.process.read_nonblocking(65536, timeout=0.05)
        except (pexpect.TIMEOUT, pexpect.EOF):
            return
        self.raw += data
        # Of the private sequences that the screen does not know it would print the rest as text.
        self.stream.feed(data)

    def text(self) -> str:
        return "\n".join(self.screen.display)

    def until(self, true: Callable[[], object]) -> None:
        end = time.monotonic() + HANG
        while not true():
            assert time.monotonic() < end, f"still not true:\n{self.text()}"
            self.read()

    def see(self, *needles: str) -> None:
        """Wait until all of this stands on the screen."""
        self.until(lambda: all(needle in self.text() for needle in needles))

    def press(self, keys: str) -> None:
        self.process.send(keys)

    def ended(self) -> int:
        """Wait for the end; the exit status, or 128 and the number of the signal."""
        end = time.monotonic() + HANG
        while self.process.isalive():
            assert time.monotonic() < end, f"still running:\n{self.text()}"
            self.read()
        self.read()
        status, number = self.process.exitstatus, self.process.signalstatus
        return status if status is not None else 128 + (number or 0)

    def modes(self) -> set[int]:
        """Private modes of :data:`MODES` that are set, by the last word on each."""
        found: set[int] = set()
        for mode in MODES:
            on, off = self.raw.rfind(f"\x1b[?{mode}h".encode()), self.raw.rfind(f"\x1b[?{mode}l".encode())
            if on > off:
                found.add(mode)
        return found

    def assert_restored(self) -> None:
        assert self.modes() == set()
        assert self.raw.rfind(b"\x1b[?25h") > self.raw.rfind(b"\x1b[?25l"), "the cursor is hidden"
        assert self.raw.rfind(b"\x1b[?7h") >= self.raw.rfind(b"\x1b[?7l"), "lines do not wrap"
        assert self.raw.count(b"\x1b[<u") >= self.raw.count(b"\x1b[>1u"), "keys are still encoded"
        after = termios.tcgetattr(self.process.child_fd)
        assert after[:4] == self.before[:4], "the line discipline is another one"


@pytest.fixture
def terminals() -> Generator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_(*words: str, **given: Any) -> Terminal:
        opened.append(Terminal(*words, **given))
        return opened[-1]

    yield open_
    for terminal in opened:
        with contextlib.suppress(OSError, pexpect.ExceptionPexpect):
            terminal.process.close(force=True)


def received(log: Path) -> str:
    return log.read_text() if log.exists() else ""


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (140, 40)])
def test_the_main_job(terminals: Callable[..., Terminal], columns: int, lines: int) -> None:
    terminal = terminals("--demo", columns=columns, lines=lines)
    terminal.see("✓ mcp-tui-demo", "stubborn", "No requests yet. Press n to call a tool.")
    terminal.press("n")
    terminal.see("Call a tool")
    terminal.press("stubb")
    terminal.see("1 of 12")
    terminal.press("\x13")
    terminal.see("▸ in flight", "tools/call stubborn", "▸ 1 in flight")
    terminal.press("c")
    terminal.see("Reason", "sent to the server; logged")
    terminal.press("wrong table\r")
    terminal.see("◔ cancel requested", "◔ 1 requested")
    terminal.see("↯ late, ignored", "result +", "↯ 1 late")
    terminal.press("3")
    terminal.see("wrong table", "late result +", "user")
    terminal.press("\x11")
    assert terminal.ended() == 0
    terminal.assert_restored()


def test_keys_typed_ahead_of_the_prompt_are_its_reason(terminals: Callable[..., Terminal]) -> None:
    terminal = terminals("--demo")
    call_silent(terminal)
    terminal.press("cquick\r")
    terminal.see("cancel requested")
    terminal.press("1")
    terminal.see("user: quick")


class TestTheTerminalIsAsItWas:
    def test_after_quitting_with_a_request_in_flight(
        self, terminals: Callable[..., Terminal], tmp_path: Path
    ) -> None:
        log = tmp_path / "server.jsonl"
        terminal = terminals("--", sys.executable, "-m", "mcp_tui.demo", "--log", str(log))
        call_silent(terminal)
        terminal.press("\x11")
        terminal.see("1 request in flight")
        terminal.press("\x11")
        assert terminal.ended() == 0
        terminal.assert_restored()
        assert "notifications/cancelled" in received(log)

    @pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
    def test_after_a_signal_and_the_server_was_told(
        self, terminals: Callable[..., Terminal], tmp_path: Path, name: str
    ) -> None:
        log = tmp_path / "server.jsonl"
        terminal = terminals("--", sys.executable, "-m", "mcp_tui.demo", "--log", str(log))
        call_silent(terminal)
        number = signal.Signals[name]
        os.kill(terminal.pid, number)
        assert terminal.ended() == 128 + number
        terminal.assert_restored()
        assert "notifications/cancelled" in received(log)

    def test_after_a_signal_under_a_prompt(self, terminals: Callable[..., Terminal]) -> None:
        terminal = terminals("--demo")
        call_silent(terminal)
        terminal.press("c")
        terminal.see("Reason")
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.ended() == 128 + signal.SIGTERM
        terminal.assert_restored()

    def test_after_a_signal_while_it_starts(self, terminals: Callable[..., Terminal]) -> None:
        terminal = terminals("--demo")
        terminal.until(lambda: b"\x1b[?1049h" in terminal.raw)
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.ended() == 128 + signal.SIGTERM
        terminal.assert_restored()

    def test_after_a_defect(self, terminals: Callable[..., Terminal], tmp_path: Path) -> None:
        # Nothing in the program fails on purpose, so a module on the path makes one of its actions do so.
        (tmp_path / "sitecustomize.py").write_text(
            "import sys, importlib.abc\n"
            "class Breaker(importlib.abc.MetaPathFinder):\n"
            "    def find_spec(self, name, path, target=None):\n"
            "        if name == 'mcp_tui.tui.screens.help':\n"
            "            raise ZeroDivisionError('a defect')\n"
            "sys.meta_path.insert(0, Breaker())\n"
        )
        terminal = terminals("--demo", env={"PYTHONPATH": str(tmp_path)})
        terminal.see("stubborn")
        terminal.press("?")
        assert terminal.ended() == 1
        terminal.assert_restored()
        assert b"a defect" in terminal.raw

    def test_when_the_terminal_goes_away_so_do_program_and_server(
        self, terminals: Callable[..., Terminal], tmp_path: Path
    ) -> None:
        log = tmp_path / "server.jsonl"
        terminal = terminals("--", sys.executable, "-m", "mcp_tui.demo", "--log", str(log))
        call_silent(terminal)
        os.close(terminal.process.child_fd)
        end = time.monotonic() + HANG
        while os.waitpid(terminal.pid, os.WNOHANG) == (0, 0):
            assert time.monotonic() < end, "still running"
            time.sleep(0.05)
        assert "notifications/cancelled" in received(log)


class TestNoTerminal:
    def test_a_dumb_one_is_refused_in_one_sentence(self, terminals: Callable[..., Terminal]) -> None:
        terminal = terminals("--demo", columns=200, env={"TERM": "dumb"})
        assert terminal.ended() == 2
        assert terminal.raw.decode().strip().startswith("mcp-tui: the workbench needs a terminal")
        assert terminal.raw.count(b"\n") == 1

    def test_no_color_has_no_colour(self, terminals: Callable[..., Terminal]) -> None:
        terminal = terminals("--demo", env={"NO_COLOR": ""})
        terminal.see("stubborn")
        terminal.press("\x11")
        assert terminal.ended() == 0
        import re

        for red, green, blue in re.findall(rb"38;2;(\d+);(\d+);(\d+)", terminal.raw):
            assert red == green == blue


def call_silent(terminal: Terminal) -> None:
    """Call a tool that never answers."""
    terminal.see("stubborn")
    terminal.press("n")
    terminal.see("Call a tool")
    terminal.press("silen")
    terminal.see("2 of 12", "leaves its stream open")
    terminal.press("\x13")
    terminal.see("▸ in flight", "tools/call silent")
