"""Timers for a process that may be suspended: stopped, starved of the processor, or with its event loop blocked.

A timer that fires late says nothing about the server: its answer may lie in the pipe or the socket, in time. So what is
ready is read first, and only then is the limit judged. This needs nothing of the loop but turns: each asks the operating
system for what is ready.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Final

LATE_SECONDS: Final = 0.1
"""Seconds behind its time from which a timer is late; a loop that merely has much to do is not."""

CATCH_UP_TURNS: Final = 1000
"""Turns of the loop in which all that was ready is read: a full socket takes less than half of them."""

CATCH_UP_SECONDS: Final = 2.0
"""Seconds that this may take if a server never stops sending; :data:`FEWEST_TURNS` turns are taken all the same."""
FEWEST_TURNS: Final = 100


def _no_matter(_: float) -> None:
    pass


class Alarm:
    """Calls ``ring`` at a time of the running loop; if the loop comes late, once all that was ready has been read.

    ``late`` is called before the reading, with the seconds by which the loop came late.
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
        """Stops it."""
        self._handle.cancel()

    def _fire(self) -> None:
        now = self._loop.time()
        if now - self._when < LATE_SECONDS:
            self._ring()
        else:
            # Many turns, not one: a reader hands on a few milliseconds of messages in each, and the answer may be the last
            # of them.
            self._handle = self._loop.call_soon(self._read, CATCH_UP_TURNS, now + CATCH_UP_SECONDS)
            self._late(now - self._when)

    def _read(self, turns: int, until: float) -> None:
        if turns and (turns > CATCH_UP_TURNS - FEWEST_TURNS or self._loop.time() < until):
            self._handle = self._loop.call_soon(self._read, turns - 1, until)
        else:
            self._ring()


class Limit:
    """A context like :func:`asyncio.timeout` whose time is up only when all that was ready in it has been read."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._timeout = asyncio.timeout(None)
        self._alarm: Alarm | None = None
        self._when: float | None = None
        self._left: float | None = None
        self._stops = 0

    @contextlib.contextmanager
    def stopped(self) -> Generator[None]:
        """Stops the time meanwhile; several may do so at once."""
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
        """Sets another time of the loop."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._when = when
        self._alarm = None if when is None else Alarm(when, self._up)

    def _up(self) -> None:
        # asyncio's own timeout has no time before this: it would be up in the first turn after a suspension, with the answer
        # still unread.
        self._timeout.reschedule(asyncio.get_running_loop().time())

    async def __aenter__(self) -> Limit:
        await self._timeout.__aenter__()
        if self._seconds is not None:
            self.reschedule(asyncio.get_running_loop().time() + self._seconds)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._left = None  # whoever stopped it comes back too late
        self.reschedule(None)
        return await self._timeout.__aexit__(kind, error, trace)
