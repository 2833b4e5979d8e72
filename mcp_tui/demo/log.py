"""The server's own log: what it received and when, as JSON lines.

It is the witness in tests of cancellation, so it depends on nothing that the client does.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


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
    ``waiting``       ``id``, ``tool``, ``step``: it waits for a test to allow this timed step (see `control`)
    ``exit``          ``cause`` (``eof``, ``SIGINT``, ``SIGTERM``, ``stdout closed``, ``crash``), ``status``

    Without a path it writes nothing. ``listener`` gets every line as well. Raises `OSError` when the file cannot be opened.
    """

    def __init__(self, path: Path | None, transport: str) -> None:
        self._began = time.monotonic()
        self._transport = transport
        self._file: int | None = None
        self.listener: Callable[[bytes], object] | None = None
        if path is not None:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def received(self, frame: dict[str, Any], **http: Any) -> None:
        """Append that `frame` came, with what belongs to its HTTP request."""
        self.event(
            "received", **http, **{field: value for field, value in frame.items() if field != "jsonrpc"}
        )

    def event(self, name: str, **fields: Any) -> None:
        """Append one event, in one write."""
        if self._file is None and self.listener is None:
            return
        from mcp_tui.clock import utc_stamp, wall

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
        if self.listener is not None:
            self.listener(line)
