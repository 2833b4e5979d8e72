"""The garbage collector of the workbench: off until the first screen; after that, full collections run only while nobody
types.

After some minutes of a busy session a full collection takes 60 ms or more, for which each key would have to wait.
"""

from __future__ import annotations

import gc
import time
from typing import Any, Final

from textual.app import App

from mcp_tui.transport.base import Turn

PAUSE_SECONDS: Final = 0.5
"""Seconds without a key after which a person reads or is away."""

EVERY_SECONDS: Final = 10.0
"""The minimum number of seconds between two collections: a key may arrive during one."""

LOOK_SECONDS: Final = 1.0

DUE: Final = 10
"""The number of collections of the middle generation after which a full one is due, as in Python itself."""

AT_LEAST: Final = 1000
"""The same for a person who never pauses."""


class Collector:
    """Collects garbage while a person pauses."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def begin(self, app: App[Any]) -> None:
        """Enables collecting if the start disabled it; permanently excludes the objects loaded so far."""
        if not gc.isenabled():
            gc.freeze()
            gc.set_threshold(*gc.get_threshold()[:2], AT_LEAST)
            gc.enable()
            app.set_interval(LOOK_SECONDS, self._check)

    def _check(self) -> None:
        now = time.monotonic()
        if (
            gc.get_count()[2] >= DUE
            and now - self._last >= EVERY_SECONDS
            and now - Turn.pressed >= PAUSE_SECONDS
        ):
            gc.collect()
            self._last = time.monotonic()
