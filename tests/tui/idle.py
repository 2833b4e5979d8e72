"""When an app has done all that it was told to: without the wall clock, so that a busy machine changes nothing.

Textual's own ``wait_for_idle`` sleeps 20 ms a key, and takes a process that got no time from the machine for an idle one.
Here an app is idle when no message waits in any of its queues, and none came while everything ready to run ran.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import CodeType
from typing import Any, Final

from textual import _callback
from textual.app import App
from textual.css.stylesheet import Stylesheet
from textual.message_pump import MessagePump

ROUNDS: Final = 5
"""Turns of the event loop in which nothing may be left to do."""

MOST: Final = 5000
"""Turns after which an app that always has something to do, an animation say, is left to itself."""

apps: set[App[Any]] = set()
"""Apps under test."""


_rest: list[asyncio.Handle] = []
"""What the event loop runs first after an app was found idle: until then nothing has happened."""


async def idle(min_sleep: float = 0.0, max_sleep: float = 0.0) -> None:
    """Return when every app under test has nothing left to do. Both parameters are Textual's, and mean nothing here."""
    loop: Any = asyncio.get_running_loop()
    if [*loop._ready] == _rest != []:  # Textual asks two or three times after each key
        return
    quiet = 0
    for _ in range(MOST):
        await asyncio.sleep(0)
        quiet = 0 if any(map(_busy, apps)) else quiet + 1
        if quiet == ROUNDS:
            for app in apps:
                _refresh(app)
        elif quiet == 2 * ROUNDS:
            _rest[:] = [loop.call_soon(_rest.clear)]
            return


def _busy(app: App[Any]) -> bool:
    if not app._running:
        return False
    pumps: list[MessagePump] = [app, *app._registry]
    for pump in pumps:  # a loop, since these are all widgets at every turn
        if pump._running and (pump._pending_message or pump._next_callbacks or pump.message_queue_size):
            return True
    return False


def _refresh(app: App[Any]) -> None:
    """Do at once what Textual leaves to a timer of a sixtieth of a second: a new size, a new layout."""
    if app._running and app._screen_stack:
        app._check_resize()
        app.screen._on_timer_update()


PARSE: Final[Any] = Stylesheet._parse_rules


def parsed_once(parsed: dict[Any, Any]) -> Callable[..., Any]:
    """A parser of style sheets that keeps what it made in ``parsed``: every app of a run would parse them all again."""

    def parse(sheet: Stylesheet, *args: Any, **more: Any) -> Any:
        known = (tuple(sheet._variables.items()), args, tuple(more.items()))
        if known not in parsed:
            parsed[known] = PARSE(sheet, *args, **more)
        return parsed[known]

    return parse


COUNT: Final[Any] = vars(_callback)["_count_parameters"]


def counted_once(known: dict[CodeType, int]) -> Callable[[Callable[..., Any]], int]:
    """A count of parameters that keeps what it counted: a function made for one call is read like the last of its kind."""

    def count(called: Callable[..., Any]) -> int:
        code = getattr(called, "__code__", None)
        if code is None or hasattr(called, "__wrapped__"):
            return COUNT(called)
        if code not in known:
            known[code] = COUNT(called)
        return known[code]

    return count
