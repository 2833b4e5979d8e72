"""Timers for a process that may be suspended: stopped, starved of CPU, or with a blocked event loop.

If a timer fires late, the server's answer may already be in the pipe or the socket. So all available input is read first,
and only then the timeout is checked. This needs only turns of the loop, in each of which the loop polls for input.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Final

LATE_SECONDS: Final = 0.1
"""The seconds after its time from which a timer counts as late; a busy loop is faster than that."""

CATCH_UP_TURNS: Final = 1000
"""The most turns of the loop in which available input is read; a full socket takes less than half of them."""

CATCH_UP_SECONDS: Final = 2.0
"""The most seconds for this if a server never stops sending, but at least :data:`FEWEST_TURNS` turns."""
FEWEST_TURNS: Final = 100


def _no_matter(_: float) -> None:
    pass


class Alarm:
    """Calls ``ring`` at a time of the running loop; if the loop is late, after all available input has been read.

    ``late`` is called before the reading, with the seconds by which the loop is late.
    """

    def __init__(
        self, when: float, ring: Callable[[], None], late: Callable[[float], None] = _no_matter
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._when = when
        self._ring = ring
        self._late = late
        self._handle: asyncio.Handle = self._loop.call_at(when, self._fire)

    def cancel(self) -> None:
        """Cancels the alarm."""
        self._handle.cancel()

    def _fire(self) -> None:
        now = self._loop.time()
        if now - self._when < LATE_SECONDS:
            self._ring()
        else:
            # Many turns, because a reader handles only a few milliseconds of messages in each, and the answer may be the
            # last message.
            self._handle = self._loop.call_soon(self._read, CATCH_UP_TURNS, now + CATCH_UP_SECONDS)
            self._late(now - self._when)

    def _read(self, turns: int, until: float) -> None:
        if turns and (turns > CATCH_UP_TURNS - FEWEST_TURNS or self._loop.time() < until):
            self._handle = self._loop.call_soon(self._read, turns - 1, until)
        else:
            self._ring()


class Limit:
    """A context like :func:`asyncio.timeout` that only expires after all available input has been read."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(None)
        self._alarm: Alarm | None = None
        self._when: float | None = None
        self._left: float | None = None
        self._stops = 0

    @contextlib.contextmanager
    def stopped(self) -> Generator[None]:
        """Pauses the timeout within the context; such contexts may overlap."""
        loop = asyncio.get_running_loop()
        if not self._stops and self._when is not None:
            self._left = self._when - loop.time()
            self.reschedule(None)
        self._stops += 1
        try:
            yield
        finally:
            self._stops -= 1
            if not self._stops and self._left is not None:
                self.reschedule(loop.time() + self._left)

    def reschedule(self, when: float | None) -> None:
        """Sets the time of the loop at which the timeout expires; ``None`` for never."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._when = when
        self._alarm = None if when is None else Alarm(when, self._up)

    def _up(self) -> None:
        # asyncio's own timeout is only set here, because it would expire in the first turn after a suspension, before the
        # answer is read.
        self._timeout.reschedule(asyncio.get_running_loop().time())

    async def __aenter__(self) -> Limit:
        await self._timeout.__aenter__()
        if self._seconds is not None:
            self.reschedule(asyncio.get_running_loop().time() + self._seconds)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._left = None  # a later end of a pause must not set the timeout again
        self.reschedule(None)
        return await self._timeout.__aexit__(kind, error, trace)
