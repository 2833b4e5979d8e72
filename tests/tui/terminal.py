"""A pseudo terminal: the program in it, what it wrote, and the screen that this makes."""

from __future__ import annotations

import os
import sys
import termios
import time
from collections.abc import Callable, Sequence
from typing import Any

import pexpect
import pyte

from tests.waiting import HANG

MODES = {1000, 1002, 1003, 1004, 1006, 1049, 2004, 2048}
"""Private modes that a shell must not find set."""


class Terminal:
    """A pseudo terminal with a screen behind it."""

    def __init__(
        self,
        *words: str,
        columns: int = 80,
        lines: int = 24,
        env: dict[str, str] | None = None,
        program: Sequence[str] = (sys.executable, "-m", "mcp_tui"),
    ) -> None:
        self.screen = pyte.Screen(columns, lines)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.process: pexpect.spawn[Any] = pexpect.spawn(
            program[0],
            [*program[1:], *words],
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

    def press(self, keys: str | bytes) -> None:
        self.process.send(keys)

    def answer(self, key: str, question: str) -> None:
        """Answer a question, as often as that takes: a key in a hurry does not answer what has only just opened."""
        self.see(question)
        end = time.monotonic() + HANG
        while self.process.isalive() and question in self.text():
            assert time.monotonic() < end, f"still asked:\n{self.text()}"
            self.press(key)
            pressed = time.monotonic()
            while time.monotonic() < pressed + 1.0:
                self.read()

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
