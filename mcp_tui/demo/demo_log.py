"""The server's own log: what it received and when, as JSON lines; and the control of time by tests.

The log is the witness in tests of cancellation, so it depends on nothing that the client does. With the environment
variable ``MCP_TUI_DEMO_CONTROL`` the server connects to that Unix socket, and a test is told what the log is told. No tool
then waits for the clock: before each of its timed steps it logs ``waiting`` and stands until the test allows the step.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, Final, cast

from mcp_tui.clock import utc_stamp, wall


class DemoLog:
    """Appends one JSON object a line: ``t`` (seconds since the server began, monotonic), ``wall`` (ISO 8601, UTC),
    ``transport`` (``stdio`` or ``http``), ``event``, and what belongs to the event:

    ``start``         ``pid``
    ``received``      the frame's ``method``, ``id``, ``params``; over HTTP also ``http_method``, ``headers``
    ``malformed``     ``detail``: what came was no message
    ``cancelled``     ``id``, ``tool``, ``how`` (``notification``, ``stream_closed``, ``tasks_cancel``), ``reason``
    ``disconnected``  ``id``, ``tool``: the peer closed the stream of a request, which in that era is no cancel
    ``sent``          ``id``, ``kind`` (``result``, ``error``, ``progress``, ``message``, ``acknowledged``, ``request`` and
                      ``cancelled`` of this server's own), ``progress``
    ``ran_on``        the same, for what had nowhere to be sent to any more
    ``task``          ``id``, ``status``: a task is over
    ``stopped``       ``id``, ``tool``: it ended without an answer
    ``dropped``       ``id``, ``tool``: it was still at work when the server, or its session, ended
    ``waiting``       ``id``, ``tool``, ``step``: it waits for a test to allow this timed step
    ``exit``          ``cause`` (``eof``, ``SIGINT``, ``SIGTERM``, ``stdout closed``, ``crash``), ``status``

    Without a path it writes nothing. ``control`` gets every line as well. Raises `OSError` when the file cannot be opened.
    """

    def __init__(self, path: Path | None, transport: str) -> None:
        self._began = time.monotonic()
        self._transport = transport
        self._file: int | None = None
        self.control: TestControl | None = None
        if path is not None:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def received(self, frame: dict[str, Any], **http: Any) -> None:
        """Logs a received `frame` with the fields of its HTTP request."""
        fields = {field: value for field, value in frame.items() if field != "jsonrpc"}
        self.event("received", **http, **fields)

    def event(self, name: str, **fields: Any) -> None:
        """Logs one event."""
        if self._file is None and self.control is None:
            return
        fields = {
            "t": round(time.monotonic() - self._began, 6),
            "wall": utc_stamp(wall()),
            "transport": self._transport,
            "event": name,
            **fields,
        }
        line = json.dumps(fields).encode() + b"\n"
        if self._file is not None:
            os.write(self._file, line)
        if self.control is not None:
            self.control.send(line)


CONTROL_VARIABLE: Final = "MCP_TUI_DEMO_CONTROL"


async def connect() -> TestControl | None:
    """Connects to the test that the environment names; returns ``None`` without one. Raises `OSError`."""
    path = os.environ.get(CONTROL_VARIABLE)
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
        """Waits until the test allows one more step of `tool`."""
        while self._allowed[tool] < 1:
            await self._changed.wait()
        self._allowed[tool] -= 1

    def send(self, line: bytes) -> None:
        """Sends one line of the log to the test."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(line)
