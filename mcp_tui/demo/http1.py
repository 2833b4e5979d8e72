"""As much of an HTTP/1.1 server as the demo needs: one connection, its requests one after the other (RFC 9112)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, cast

HEAD_CAP: Final = 64 * 1024
"""Bytes that the request line and all headers may have together."""

BODY_CAP: Final = 64 * 1024 * 1024
"""Bytes that a request's body may have."""

_LINGER: Final = 1.0  # seconds for what was written to leave


@dataclass(frozen=True, slots=True)
class Request:
    """One request. Header names are lower case; a header that came several times has its values joined by commas."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    last: bool


class BadRequest(Exception):
    """What came is no HTTP that this server takes. It is answered with `status` and the connection closed."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Gone(Exception):
    """The peer has closed the connection."""


class Connection(asyncio.Protocol):
    """One connection from a client.

    ``gone`` is set once the peer has closed it. ``settled`` is set while no response is owed: the last one is
    complete, or can no longer be.
    """

    def __init__(self, accepted: Callable[[Connection], object]) -> None:
        self.gone = asyncio.Event()
        self.settled = asyncio.Event()
        self._accepted = accepted
        self._left: Callable[[], object] | None = None
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._arrived = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()

    # -- what asyncio tells ------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._accepted(self)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._arrived.set()
        # The reader is never paused, lest a disconnect go unseen: this alone bounds what can pile up.
        if len(self._buffer) > HEAD_CAP + BODY_CAP and self._transport is not None:
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

    async def request(self) -> Request | None:
        """The next request, ``None`` when no more can come. Raises `BadRequest`."""
        try:
            return await self._request()
        except _Gone:
            return None

    async def _request(self) -> Request:
        head = await self._until(b"\r\n\r\n", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        line, *fields = head.lstrip(b"\r\n").decode("latin-1").split("\r\n")
        match line.split(" "):
            case [method, target, "HTTP/1.1"]:
                pass
            case [_, _, version] if version.startswith("HTTP/"):
                raise BadRequest(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "only HTTP/1.1 is spoken here")
            case _:
                raise BadRequest(HTTPStatus.BAD_REQUEST, "malformed request line")
        headers: dict[str, str] = {}
        for field in fields:
            name, colon, value = field.partition(":")
            if not colon or not name or name != name.strip():
                raise BadRequest(HTTPStatus.BAD_REQUEST, "malformed header")
            name, value = name.lower(), value.strip(" \t")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        self._left = None
        if not self.gone.is_set():
            self.settled.clear()
        body = await self._body(headers)
        last = "close" in headers.get("connection", "").lower()
        return Request(method, target.partition("?")[0], headers, body, last)

    async def _body(self, headers: Mapping[str, str]) -> bytes:
        coding, length = headers.get("transfer-encoding"), headers.get("content-length")
        if coding is None and length is None:
            return b""
        if coding is not None and (coding.lower() != "chunked" or length is not None):
            raise BadRequest(HTTPStatus.BAD_REQUEST, "only a length or chunked, not both, is taken")
        if length is not None:
            _bounded(length, 10, 0)
        if headers.get("expect", "").lower() == "100-continue":
            self._write(b"HTTP/1.1 100 Continue\r\n\r\n")
        return await self._chunks() if length is None else await self._exactly(int(length))

    async def _chunks(self) -> bytes:
        body = bytearray()
        while True:
            line = (await self._until(b"\r\n", HTTPStatus.BAD_REQUEST)).decode("latin-1")
            size = _bounded(line.partition(";")[0].strip(), 16, len(body))
            if size == 0:
                break
            body += await self._exactly(size)
            if await self._exactly(2) != b"\r\n":
                raise BadRequest(HTTPStatus.BAD_REQUEST, "malformed chunk")
        while await self._until(b"\r\n", HTTPStatus.BAD_REQUEST):
            pass  # trailers say nothing that is needed here
        return bytes(body)

    async def _until(self, mark: bytes, too_long: HTTPStatus) -> bytes:
        seen = 0
        while (at := self._buffer.find(mark, seen)) < 0:
            if len(self._buffer) > HEAD_CAP:
                raise BadRequest(too_long, "a line or head is too long")
            seen = max(0, len(self._buffer) - len(mark) + 1)
            await self._more()
        part = bytes(self._buffer[:at])
        del self._buffer[: at + len(mark)]
        return part

    async def _exactly(self, size: int) -> bytes:
        while len(self._buffer) < size:
            await self._more()
        part = bytes(self._buffer[:size])
        del self._buffer[:size]
        return part

    async def _more(self) -> None:
        if self.gone.is_set():
            raise _Gone
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
        self._write(body)
        self.settled.set()

    def start_stream(self, content_type: str) -> None:
        """Begin a response whose body comes in chunks."""
        headers = {"Content-Type": content_type, "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        self._head(HTTPStatus.OK, {**headers, "Transfer-Encoding": "chunked"})

    def chunk(self, data: bytes) -> None:
        """Send a part of the body, not empty."""
        self._write(b"%x\r\n%b\r\n" % (len(data), data))

    def end_stream(self) -> None:
        """End the body."""
        self._write(b"0\r\n\r\n")
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
        fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._write(f"HTTP/1.1 {status.value} {status.phrase}\r\n{fields}\r\n".encode("latin-1"))

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)


def _bounded(digits: str, base: int, already: int) -> int:
    """The length that `digits` say. Raises `BadRequest` when they say none, or with `already` one above the cap."""
    if not digits.isascii() or not digits.isalnum() or len(digits) > 20:
        raise BadRequest(HTTPStatus.BAD_REQUEST, "malformed length")
    try:
        size = int(digits, base)
    except ValueError:
        raise BadRequest(HTTPStatus.BAD_REQUEST, "malformed length") from None
    if already + size > BODY_CAP:
        raise BadRequest(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body may have {BODY_CAP} bytes")
    return size
