"""How tests wait: until something is true, with one bound that no busy machine comes near."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

HANG: Final = 60.0
"""Seconds after which what does not come is taken for a hang."""


async def turns(count: int = 100) -> None:
    """Let everything run that can: what was sent within this process has arrived then, and been answered."""
    for _ in range(count):
        await asyncio.sleep(0)


def wait(true: Callable[[], object], shown: Callable[[], str] = str) -> None:
    """Wait until something is true, where nothing else goes on. ``shown`` says what there is instead."""
    end = time.monotonic() + HANG
    while not true():
        assert time.monotonic() < end, f"still not true:\n{shown()}"
        time.sleep(0.01)


async def until(true: Callable[[], object], shown: Callable[[], str] = str) -> None:
    """Wait until something is true. ``shown`` says what there is instead, for the failure."""
    end = time.monotonic() + HANG
    asked = time.monotonic()
    while not true():
        now = time.monotonic()
        assert now < end, f"still not true:\n{shown()}"
        # to read a whole screen takes as long as to draw it: most of the time belongs to what is waited for
        await asyncio.sleep(max(0.01, 2 * (now - asked)))
        asked = time.monotonic()
