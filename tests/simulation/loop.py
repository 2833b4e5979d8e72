"""An event loop whose time is virtual: where nothing is ready it jumps to the next timer."""

from __future__ import annotations

import asyncio
from asyncio import base_events
from collections.abc import Coroutine
from typing import Any, Final

TURN: Final = 1e-6
"""Seconds that a turn of the loop takes. Time that stood still between two timers would let rounding spin for ever."""

TURNS: Final = 200_000
"""Turns after which a schedule is taken for one that never ends."""


class Stuck(Exception):
    """Nothing is ready and no timer runs, or there is no end of either: somebody waits for what never comes."""


class VirtualLoop(base_events.BaseEventLoop):
    """Tasks, futures and timers; no files, no threads. ``failures`` is what its exception hook was told."""

    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.turns = 0
        self.failures: list[str] = []
        self._selector = self
        self.set_exception_handler(self._failed)

    def time(self) -> float:
        return self.now

    def select(self, timeout: float | None) -> tuple[()]:
        """Stands where a loop waits for files: until the next timer, which takes no time."""
        self.turns += 1
        if self.turns > TURNS:
            raise Stuck(f"no end after {TURNS} turns of the loop")
        if timeout is None:
            raise Stuck("nothing is ready and no timer runs")
        self.now += timeout + TURN
        return ()

    def _process_events(self, event_list: object) -> None:
        pass

    def left(self) -> list[asyncio.Task[Any]]:
        """The tasks that are not over, but for the one that asks."""
        current = asyncio.current_task(self)
        return [task for task in asyncio.all_tasks(self) if task is not current]

    def _write_to_self(self) -> None:
        pass

    def _failed(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.failures.append(f"{context.get('message')}: {context.get('exception')!r}")

    def timers(self) -> list[asyncio.TimerHandle]:
        """The timers that still run."""
        return [timer for timer in self._scheduled if not timer.cancelled()]

    def play(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine to its end, and close."""
        try:
            asyncio.set_event_loop(self)
            self.run_until_complete(coroutine)
        finally:
            self._let_go()
            asyncio.set_event_loop(None)
            self.close()

    def _let_go(self) -> None:
        """Ends what still runs, so that nothing of it runs on a loop that is closed."""
        left = self.left()
        for task in left:
            task.cancel()
        self.turns = 0
        if left:
            self.run_until_complete(asyncio.wait(left, timeout=60.0))
        self.run_until_complete(self.shutdown_asyncgens())


class VirtualTime:
    """Stands where a module of the product has ``time``."""

    @staticmethod
    def monotonic() -> float:
        return asyncio.get_running_loop().time()
