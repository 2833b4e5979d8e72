"""One HTTP/1.1 connection of the demo server: its requests one after the other, by h11."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, cast

import h11

HEAD_CAP: Final = 64 * 1024
"""Bytes that the request line and all headers may have together."""

BODY_CAP: Final = 64 * 1024 * 1024
"""Bytes that a request's body may have."""

_LINGER: Final = 1.0  # seconds for what was written to leave


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. Header names are lower case; a header that came several times has its values joined by commas."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class BadRequest(Exception):
    """What came is no HTTP that this server takes. It is answered with `status` and the connection closed."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = HTTPStatus(status)


class HttpConnection(asyncio.Protocol):
    """One connection from a client.

    ``gone`` is set once the peer has closed it. ``settled`` is set while no response is owed: the last one is
    complete, or can no longer be.
    """

    def __init__(self, accepted: Callable[[HttpConnection], object]) -> None:
        self.gone = asyncio.Event()
        self.settled = asyncio.Event()
        self._accepted = accepted
        self._left: Callable[[], object] | None = None
        self._transport: asyncio.Transport | None = None
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_CAP)
        self._unread = 0
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    # -- what asyncio tells ------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._accepted(self)

    def data_received(self, data: bytes) -> None:
        self._http.receive_data(data)
        self._arrived.set()
        # The reader is never paused, lest a disconnect go unseen: this alone bounds what can pile up.
        self._unread += len(data)
        if self._unread > HEAD_CAP + BODY_CAP and self._transport is not None:
            self._transport.abort()

    def eof_received(self) -> None:
        self._lose(by_peer=True)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose(by_peer=True)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _lose(self, *, by_peer: bool) -> None:
        if by_peer and self._left is not None and not self.settled.is_set():
            self._left()  # at once: what waits for `gone` must not end before it is known why
        self._left = None
        self.gone.set()
        for event in (self.settled, self._arrived, self._writable):
            event.set()

    # -- the request -------------------------------------------------------------------------------------------

    async def request(self) -> HttpRequest | None:
        """The next request, ``None`` when no more can come. Raises `BadRequest`."""
        if self._http.our_state is h11.MUST_CLOSE:
            return None
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        try:
            head = await self._event()
            if not isinstance(head, h11.Request):
                return None
            if head.http_version != b"1.1":
                raise BadRequest(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "only HTTP/1.1 is spoken here")
            headers: dict[str, str] = {}
            for raw_name, raw_value in head.headers:
                name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
                headers[name] = f"{headers[name]}, {value}" if name in headers else value
            self._left = None
            if not self.gone.is_set():
                self.settled.clear()
            body = bytearray()
            size = int(headers.get("content-length", "0"))
            event: h11.Event | None = head
            while size <= BODY_CAP and not isinstance(event, h11.EndOfMessage):
                event = await self._event()
                if event is None:
                    return None
                if isinstance(event, h11.Data):
                    body += event.data
                    size = max(size, len(body))
        except h11.RemoteProtocolError as error:
            raise BadRequest(error.error_status_hint, str(error)) from error
        if size > BODY_CAP:
            raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {BODY_CAP} bytes")
        return HttpRequest(head.method.decode(), head.target.decode().partition("?")[0], headers, bytes(body))

    async def _event(self) -> h11.Event | None:
        """What comes next, ``None`` where nothing can."""
        while True:
            event = self._http.next_event()
            if isinstance(event, h11.Event):
                return event
            self._unread = 0
            if self.gone.is_set():
                return None
            if self._http.they_are_waiting_for_100_continue:
                self._send(h11.InformationalResponse(status_code=HTTPStatus.CONTINUE, headers=[]))
            self._arrived.clear()
            await self._arrived.wait()

    # -- the response ------------------------------------------------------------------------------------------

    async def attend(self, left: Callable[[], object]) -> None:
        """Wait until the response is complete; call `left` if the peer closes the connection before that."""
        if self.gone.is_set():
            left()
            return
        self._left = left
        await self.settled.wait()
        self._left = None

    def respond(
        self,
        status: HTTPStatus,
        body: bytes = b"",
        content_type: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send a whole response."""
        kind = {"Content-Type": content_type} if content_type else {}
        length = {} if status == HTTPStatus.NO_CONTENT else {"Content-Length": str(len(body))}
        self._head(status, {**kind, **length, **(headers or {})})
        self.chunk(body)
        self.end_stream()

    def start_stream(self, content_type: str) -> None:
        """Begin a response whose body comes in chunks."""
        headers = {"Content-Type": content_type, "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        self._head(HTTPStatus.OK, headers)

    def chunk(self, data: bytes) -> None:
        """Send a part of the body."""
        self._send(h11.Data(data=data))

    def end_stream(self) -> None:
        """End the body."""
        self._send(h11.EndOfMessage())
        self.settled.set()

    def close(self) -> None:
        """Close the connection once what was written has left."""
        if self._transport is not None:
            self._transport.close()
        self._lose(by_peer=False)

    async def drain(self) -> None:
        """Wait until the peer has taken enough of what was written."""
        await self._writable.wait()

    async def flush(self) -> None:
        """Wait until everything that was written has left, a second at most."""
        transport = self._transport
        for _ in range(100):
            if transport is None or not transport.get_write_buffer_size():
                break
            await asyncio.sleep(_LINGER / 100)

    def _head(self, status: HTTPStatus, headers: Mapping[str, str]) -> None:
        fields = list(headers.items())
        self._send(h11.Response(status_code=status, headers=fields, reason=status.phrase))

    def _send(self, event: h11.Event) -> None:
        parts = self._http.send_with_data_passthrough(event)
        if parts and self._transport is not None and not self._transport.is_closing():
            self._transport.writelines(parts)
