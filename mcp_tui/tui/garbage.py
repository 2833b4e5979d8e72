"""The garbage collector of the workbench: off until the first frame, and then of everything only while nobody types.

A collection of everything takes 60 ms and more after some minutes of a busy session, for which each key would have to wait.
"""

from __future__ import annotations

import gc
import time
from typing import Any, Final

from textual.app import App

from mcp_tui.transport.base import Turn

PAUSE_SECONDS: Final = 0.5
"""Seconds without a key after which somebody reads, or is away."""

EVERY_SECONDS: Final = 10.0
"""Seconds between two collections at least: a key may come in the middle of one."""

LOOK_SECONDS: Final = 0.25

DUE: Final = 10
"""Collections of the middle generation after which one of everything is due, as in Python itself."""

AT_LEAST: Final = 1000
"""The same for somebody who never pauses."""


class Collector:
    """Collects in the pauses of a person."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def begin(self, app: App[Any]) -> None:
        """Turns collecting on again if the start turned it off; leaves out for good what was loaded until now."""
        if not gc.isenabled():
            gc.freeze()
            gc.set_threshold(*gc.get_threshold()[:2], AT_LEAST)
            gc.enable()
            app.set_interval(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        now = time.monotonic()
        if (
            gc.get_count()[2] >= DUE
            and now - self._last >= EVERY_SECONDS
            and now - Turn.pressed >= PAUSE_SECONDS
        ):
            gc.collect()
            self._last = time.monotonic()
