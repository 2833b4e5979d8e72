"""The bodies of HTTP responses: how much of one is read, and its server-sent events."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from typing import Final

import httpx
from httpx_sse import EventSource

from mcp_tui.protocol.framing import BOM, HEAD, TAIL
from mcp_tui.protocol.patterns import possessive
from mcp_tui.protocol.values import frozen
from mcp_tui.transport.base import Turn
from mcp_tui.transport.http_errors import EXPECTED

FIELDS: Final = 1024
"""Bytes of an event beside its data that do not count against the cap: names of fields, and an id."""

_DATA: Final = re.compile(rb"(?:\A|\n)data(?:: ?|(?=\n))")
_COMMENTS: Final = possessive(rb"(?::[^\n]*+\n)++")
_LONGEST_RETRY: Final = 3_600_000
"""Milliseconds."""
_LARGE: Final = 1 << 20
"""Bytes from which pieces are joined in a thread."""


class OversizedBody(Exception):
    """A message above the cap. ``head`` is its start, ``size`` the bytes counted or announced.

    ``tail`` is its end, where it was read that far, as far as it is not in the head.
    """

    def __init__(self, head: bytes, size: int, tail: bytes = b"") -> None:
        super().__init__(f"a message of {size:,} bytes or more")
        self.head = head[:HEAD]
        self.size = size
        self.tail = tail

    def goes_on(self, piece: bytes) -> None:
        """More of it came and is dropped."""
        self.size += len(piece)
        room = HEAD - len(self.head)
        self.head += piece[:room]
        self.tail = (self.tail + piece[room:][-TAIL:])[-TAIL:]


@frozen
class ServerEvent:
    """One server-sent event.

    ``id`` is the last event id that holds from here on, as Latin-1, empty where there is none; ``retry`` is in
    seconds, ``None`` where the event does not set it.
    """

    name: str
    data: bytes
    id: str
    retry: float | None


class EventStream(httpx.AsyncByteStream):
    """Server-sent events (HTML, "Event stream interpretation") out of bytes, however they are cut.

    httpx-sse decodes them. It has no limit of its own and makes text of all; here it is given whole events alone, none above
    the cap, and as Latin-1, so that data that is not UTF-8 reaches the parser as it was sent. ``cap`` is what one event
    may hold, in bytes. With ``skipped`` an event above it is told there when it ends, and left out; without, it ends the
    stream.
    """

    def __init__(
        self,
        chunks: AsyncIterable[bytes],
        cap: int,
        turn: Turn,
        skipped: Callable[[OversizedBody], None] | None = None,
    ) -> None:
        self._chunks = chunks
        self._cap = cap + FIELDS
        self._turn = turn
        self._skipped = skipped
        self._held: list[bytes] = []
        """The pieces of the event that has not ended yet."""
        self._size = 0
        """Their bytes."""
        self._dropped: OversizedBody | None = None
        """What is left of that event in their place, where it is above the cap."""
        self._line_ended = True

    @property
    def partial(self) -> bool:
        """Whether the stream ended inside an event, which is dropped."""
        return not self._line_ended or _DATA.search(b"".join(self._held)) is not None

    async def events(self) -> AsyncGenerator[ServerEvent]:
        """The events, until the server ends the stream.

        Raises:
            OversizedBody: an event is above the cap, and nobody wants it skipped.
            httpx.DecodingError: what is sent cannot be decoded.
            Exception: what broke the connection.
        """
        headers = {"Content-Type": "text/event-stream; charset=iso-8859-1"}
        source = EventSource(httpx.Response(200, headers=headers, stream=self))
        try:
            async for found in source.aiter_sse():
                retry = None if found.retry is None else min(max(found.retry, 0), _LONGEST_RETRY) / 1000
                yield ServerEvent(found.event, found.data.encode("latin-1"), found.id, retry)
        except (OversizedBody, *EXPECTED):
            raise
        except Exception as error:
            raise httpx.DecodingError(f"the event stream cannot be decoded: {error}") from error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._lines():
            await self._turn.breathe()
            start = 0
            # where none of them can be too large, all events that end in a chunk pass as one
            small = self._dropped is None and self._size + len(chunk) <= self._cap
            while end := self._end_of_event(chunk, start, last=small):
                self._hold(chunk[start:end])
                held, dropped, start = self._held, self._dropped, end
                self._held, self._dropped, self._size = [], None, 0
                if dropped is not None and self._skipped is not None:
                    self._skipped(_told(dropped))
                for piece in held:
                    yield piece
                    if len(held) > 1:
                        await self._turn.breathe()
            if start < len(chunk):
                self._hold(chunk[start:])
                if self._line_ended and self._size <= HEAD and _COMMENTS.fullmatch(b"".join(self._held)):
                    self._held, self._size = [], 0  # pings without end are no event, however many

    def _hold(self, piece: bytes) -> None:
        """Keep a piece of the event that goes on, until it ends."""
        self._line_ended = piece.endswith(b"\n")
        self._size += len(piece)
        self._held.append(piece)
        if self._size > self._cap:
            self._dropped = self._dropped or OversizedBody(b"", 0)
            for each in self._held:
                self._dropped.goes_on(each)
            self._held = []
            if self._skipped is None:
                raise _told(self._dropped)

    async def _lines(self) -> AsyncIterator[bytes]:
        """The stream without its byte order mark, each line ended by a line feed."""
        start, after_cr = b"", False
        first = True
        async for chunk in self._chunks:
            if first:
                start += chunk
                if len(start) < len(BOM) and BOM.startswith(start):
                    continue
                first, chunk = False, start.removeprefix(BOM)
            if after_cr and chunk.startswith(b"\n"):
                chunk = chunk[1:]
                after_cr = False
            if not chunk:
                continue
            after_cr = chunk.endswith(b"\r")
            if b"\r" in chunk:
                chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            yield chunk

    def _end_of_event(self, chunk: bytes, start: int, *, last: bool) -> int:
        """Where the event ends that goes on at ``start``, or the ``last`` one in the chunk; 0 where none does."""
        found = chunk.rfind(b"\n\n", start) if last else chunk.find(b"\n\n", start)
        if self._line_ended and chunk.startswith(b"\n", start) and (found < 0 or not last):
            return start + 1
        return 0 if found < 0 else found + 2


def _told(event: OversizedBody) -> OversizedBody:
    """The message that an event above the cap holds."""
    first = _DATA.search(event.head)
    data = b"" if first is None else _DATA.sub(b"\n", event.head[first.end() :])
    return OversizedBody(data, event.size, event.tail.rstrip(b"\n"))


async def read_body(stream: AsyncIterable[bytes], cap: int, announced: int | None, turn: Turn) -> bytes:
    """A whole body. ``announced`` is its ``Content-Length``.

    Raises:
        OversizedBody: it is longer than ``cap`` bytes, or says so; then only its head was read.
    """
    too_long = announced is not None and announced > cap
    pieces: list[bytes] = []
    size = 0
    async for chunk in stream:
        pieces.append(chunk)
        size += len(chunk)
        if size > cap or (too_long and size >= HEAD):
            break
        await turn.breathe()
    if too_long or size > cap:
        raise OversizedBody(b"".join(pieces)[:HEAD], max(size, announced or 0))
    # joining lets go of the interpreter, and 64 MB take a while
    return await asyncio.to_thread(b"".join, pieces) if size >= _LARGE else b"".join(pieces)


async def read_head(stream: AsyncIterable[bytes], limit: int, seconds: float) -> bytes:
    """The start of a body that will not be used: at most ``limit`` bytes, and what comes within ``seconds``.

    Raises:
        Exception: whatever broke the stream before anything came.
    """
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in stream:
                body += chunk
                if len(body) >= limit:
                    break
    except TimeoutError:
        pass
    except Exception:
        if not body:
            raise
    return bytes(body[:limit])
