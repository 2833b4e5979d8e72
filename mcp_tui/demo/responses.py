"""The two forms of an HTTP response to a request: a stream of events, or one JSON body (streamable HTTP)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from mcp_tui.demo.callers import DemoCaller
from mcp_tui.demo.calls import Channel
from mcp_tui.demo.frames import METHOD_NOT_FOUND, MISSING_CAPABILITY, Object, encode
from mcp_tui.demo.http1 import HttpConnection

JSON: Final = "application/json"
SSE: Final = "text/event-stream"


def _status(frame: Object | list[Object]) -> HTTPStatus:
    """The status of a response in 2026-07-28, where some errors have one of their own."""
    match frame:
        case {"error": {"code": code}} if code == METHOD_NOT_FOUND:
            return HTTPStatus.NOT_FOUND
        case {"error": {"code": code}} if code == MISSING_CAPABILITY:
            return HTTPStatus.BAD_REQUEST
        case _:
            return HTTPStatus.OK


class _Response(Channel):
    """What comes of one request, on its connection."""

    def __init__(self, connection: HttpConnection) -> None:
        super().__init__()
        self.gone = connection.gone
        self._connection = connection

    async def drain(self) -> None:
        await self._connection.drain()

    async def flush(self) -> None:
        await self._connection.flush()


class Stream(_Response):
    """A response of server-sent events. With `deferred` (2026-07-28) its head leaves with the first of them."""

    def __init__(self, connection: HttpConnection, *, deferred: bool) -> None:
        super().__init__(connection)
        self._open = False
        self._ended = False
        if not deferred:
            self._start()

    def _start(self) -> None:
        self._open = True
        self._connection.start_stream(SSE)

    def send(self, frame: Object | list[Object]) -> bool:
        if self.gone.is_set() or self._ended:
            return False
        if not self._open and (status := _status(frame)) != HTTPStatus.OK:
            self._ended = True
            self._connection.respond(status, encode(frame), JSON)
            return True
        if not self._open:
            self._start()
        self._connection.chunk(b"event: message\ndata: %b\n\n" % encode(frame))
        return True

    def end(self) -> None:
        if self._ended or self.gone.is_set():
            return
        self._ended = True
        if self._open:
            self._connection.end_stream()
        else:
            self._connection.close()


class Body(_Response):
    """A response of one JSON body: only a response fits into it, and only the first."""

    def __init__(
        self, connection: HttpConnection, caller: DemoCaller, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(connection)
        self._modern = caller.modern
        self._headers = headers
        self._sent = False

    def send(self, frame: Object | list[Object]) -> bool:
        if self.gone.is_set() or self._sent or (isinstance(frame, dict) and "method" in frame):
            return False
        self._sent = True
        status = _status(frame) if self._modern else HTTPStatus.OK
        self._connection.respond(status, encode(frame), JSON, self._headers)
        return True

    def end(self) -> None:
        if not self._sent and not self.gone.is_set():
            self._connection.close()
