"""The context of a tool, for libraries that have none, or none that `tools.py` knows."""
# pyright: basic

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any


class Progress:
    """Reports the progress of one call."""

    def __init__(self, send: Callable[..., Awaitable[Any]]) -> None:
        self._send = send

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        await self._send(progress, total, message)
