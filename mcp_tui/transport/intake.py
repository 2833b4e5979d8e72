"""What a stdio server writes, line by line, without letting a flood of it hold up anything else."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from mcp_tui.protocol.framing import Line, LineFramer, Oversized

BUDGET: Final = 0.004
"""Seconds in one turn of the event loop that the lines of one pipe may take."""


class Unfinished(bytes):
    """A line whose end did not come: the pipe was at its end before."""


class Intake(asyncio.Protocol):
    """Reads one pipe, and hands its lines to ``take``, in order.

    Lines that do not fit into the budget of a turn wait for the next one, and nothing is read meanwhile: so
    memory holds one read and one unfinished line at most, and the server waits where it writes too fast.
    ``ended`` is called once, after the last line.
    """

    def __init__(self, cap: int, take: Callable[[Line | Oversized], None], ended: Callable[[], None]) -> None:
        self._framer = LineFramer(cap)
        self._take = take
        self._ended = ended
        self._lines: deque[Line | Oversized] = deque()
        self._pipe: asyncio.ReadTransport | None = None
        self._waiting = False
        self._at_end = False
        self.done = False
        self.heard_at = time.monotonic()
        """Monotonic seconds of the last sign of life: bytes that came, or lines that were handed on."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.ReadTransport)
        self._pipe = transport

    def data_received(self, data: bytes) -> None:
        self._lines += self._framer.feed(data)
        if not self._waiting:
            self._hand_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """The pipe is at its end: nobody has it open for writing any more."""
        self._pipe = None
        if not self._at_end:
            self._at_end = True
            self._lines += self._rest()
            if not self._waiting:
                self._hand_on()

    def stop(self) -> None:
        """Read no more, and hand on what is here, the unfinished line too."""
        self._at_end = True
        if self._pipe is not None:
            self._pipe.close()
        self._lines += self._rest()
        self._hand_on(budget=float("inf"))

    def _rest(self) -> list[Line | Oversized]:
        return [Unfinished(line) if isinstance(line, bytes) else line for line in self._framer.close()]

    def _hand_on(self, budget: float = BUDGET) -> None:
        self._waiting = False
        self.heard_at = now = time.monotonic()
        until = now + budget
        try:
            while self._lines and now < until:
                self._take(self._lines.popleft())
                now = time.monotonic()
        finally:
            self._go_on()

    def _go_on(self) -> None:
        if self._lines:
            self._waiting = True
            if self._pipe is not None:
                self._pipe.pause_reading()
            asyncio.get_running_loop().call_soon(self._resume)
        elif self._at_end:
            if not self.done:
                self.done = True
                self._ended()
        elif self._pipe is not None:
            self._pipe.resume_reading()

    def _resume(self) -> None:
        if self._waiting:
            self._hand_on()
