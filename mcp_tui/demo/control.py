"""Time in the hands of a test: it lets a tool's steps pass, and is told what the server's log is told.

With the environment variable ``MCP_TUI_DEMO_CONTROL`` the server connects to that Unix socket. No tool then waits for
the clock: before each of its timed steps it logs ``waiting`` and stands until the test allows the step.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
from collections import defaultdict
from typing import Final, cast

VARIABLE: Final = "MCP_TUI_DEMO_CONTROL"


async def connect() -> TestControl | None:
    """Return the control that the environment names, ``None`` where it names none. Raises `OSError`."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    _, control = await asyncio.get_running_loop().create_unix_connection(TestControl, path)
    return control


class TestControl(asyncio.Protocol):
    """The connection to a test, which sends JSON lines: ``{"tool": NAME, "steps": COUNT}``, null for every step."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._rest = b""
        self._allowed: defaultdict[str, float] = defaultdict(float)
        self._changed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            order = json.loads(line)
            self._allowed[order["tool"]] += math.inf if order["steps"] is None else order["steps"]
        self._changed.set()  # wakes all that wait now …
        self._changed.clear()  # … and none that comes later

    async def step(self, tool: str) -> None:
        """Wait until the test allows one more step of `tool`."""
        while self._allowed[tool] < 1:
            await self._changed.wait()
        self._allowed[tool] -= 1

    def tell(self, line: bytes) -> None:
        """Send one line of the log to the test."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(line)
