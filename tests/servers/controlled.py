"""For servers of tests that wait for their test instead of the clock; the test's end is ``tests/control.py``."""

from __future__ import annotations

import json
import os
import socket
from typing import Any


class Controlled:
    """A blocking connection to the test. Without the variable nothing is told and every step passes at once."""

    def __init__(self) -> None:
        path = os.environ.get("MCP_TUI_DEMO_CONTROL")
        self._socket: socket.socket | None = None
        self._allowed: dict[str, float] = {}
        if path:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(path)
            self._orders = self._socket.makefile("rb")

    def tell(self, event: str, **fields: Any) -> None:
        """Tell the test that something happened."""
        if self._socket is not None:
            self._socket.sendall(json.dumps({"event": event, **fields}).encode() + b"\n")

    def step(self, tool: str) -> None:
        """Say ``waiting`` and wait until the test allows one more step of this name."""
        if self._socket is None:
            return
        self.tell("waiting", tool=tool)
        while self._allowed.get(tool, 0) < 1:
            line = self._orders.readline()
            if not line:
                os._exit(0)  # the test is over
            order = json.loads(line)
            steps = float("inf") if order["steps"] is None else order["steps"]
            self._allowed[order["tool"]] = self._allowed.get(order["tool"], 0) + steps
        self._allowed[tool] -= 1
