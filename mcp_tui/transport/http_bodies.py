"""The bodies of HTTP responses: server-sent events, and bodies read up to a size."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Callable
from io import BytesIO
from typing import Final

import httpx
from httpx_sse import EventSource

from mcp_tui.protocol.framing import LINE_HEAD_BYTES, LineFramer, Oversized
from mcp_tui.protocol.large_messages import MessageOutline
from mcp_tui.protocol.values import frozen
from mcp_tui.transport.base import Turn
from mcp_tui.transport.http_errors import EXPECTED
from mcp_tui.transport.read_ahead import BodyReader
from mcp_tui.transport.suspension import Limit

JSON_TYPE: Final = "application/json"
EVENT_STREAM_TYPE: Final = "text/event-stream"

EVENT_FIELD_BYTES: Final = 1024
"""The bytes of an event for names of fields and an id, in addition to the maximum size of its data."""

SHOWN_BODY_SECONDS: Final = 5.0
"""The most seconds for reading a body that is only shown or dropped."""

LINE_END: Final = re.compile(rb"\r\n|\r|\n")
"""The end of a line of server-sent events."""

_RETRY_MILLISECONDS: Final = 3_600_000
"""The longest retry time that a server can set, in milliseconds."""
_DECODED_BYTES: Final = 1 << 18
"""The bytes of an event that are decoded at once."""


@frozen
class ServerEvent:
    """A server-sent event. ``id`` is the last event id so far, in Latin-1. ``retry`` is in seconds; ``None`` if not set."""

    name: str
    data: bytes
    id: str
    retry: float | None


def fields_of(event: bytes) -> tuple[bytes, bytes, bool]:
    """Returns the name and the data of an event, and whether the event has an id."""
    name, data, has_id = b"message", list[bytes](), False
    for line in LINE_END.split(event):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            data.append(value)
        elif field == b"event":
            name = value
        elif field == b"id":
            has_id = True
    return name, b"\n".join(data), has_id


class EventBlocks:
    """Splits the bytes of server-sent events at blank lines; chunks and line ends may be of any form."""

    def __init__(self, cap: int) -> None:
        self._framer = LineFramer(cap, b"\n\n")
        self._after_return = False

    def feed(self, data: bytes) -> list[bytes | Oversized]:
        """Adds the next bytes; returns the events that they complete."""
        # If a CRLF is split between two chunks, its carriage return has already ended the line.
        data = data.removeprefix(b"\n") if self._after_return else data
        self._after_return = data.endswith(b"\r")
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return self._framer.feed(data)

    @property
    def overflows(self) -> bool:
        """Whether the incomplete event exceeds the maximum size."""
        return self._framer.overflows

    @property
    def unfinished(self) -> bytes:
        """The start of the incomplete event; empty if it exceeds the maximum size."""
        return self._framer.unfinished

    def close(self) -> list[bytes | Oversized]:
        """Ends the stream; returns the incomplete event, if there is one."""
        return self._framer.close()


class EventStream(httpx.AsyncByteStream):
    """Server-sent events (HTML, "Event stream interpretation") from chunks of bytes.

    httpx-sse decodes the events. It has no size limit, so it only gets complete events of at most ``cap`` bytes. They are
    decoded as Latin-1, so that data that is not UTF-8 reaches the parser unchanged. A larger event is dropped, and
    reported to ``oversized`` at its end. On a request's ``own`` stream, it is reported at once, because it may never end,
    and reading stops.

    ``cut`` says whether the stream ended within an event, which is dropped. ``half`` is the number of bytes of the
    incomplete event. ``at`` is the time at which the last bytes of the newest event were read, in monotonic seconds.
    """

    def __init__(
        self,
        chunks: AsyncIterable[bytes],
        cap: int,
        turn: Turn,
        oversized: Callable[[Oversized], None],
        *,
        own: bool = False,
    ) -> None:
        self.cut = False
        self.at = 0.0
        self.reader = BodyReader(chunks, turn)
        self._blocks = EventBlocks(cap + EVENT_FIELD_BYTES)
        self._turn = turn
        self._oversized = oversized
        self._own = own

    @property
    def half(self) -> int:
        """The number of bytes of the incomplete event; 0 if it has no data."""
        return len(self._blocks.unfinished) if self.unfinished else 0

    @property
    def unfinished(self) -> bytes:
        """The data of the incomplete event."""
        return fields_of(self._blocks.unfinished)[1]

    async def events(self) -> AsyncGenerator[ServerEvent]:
        """Yields the events until the server ends the stream. Raises the error of a broken connection."""
        headers = {"Content-Type": f"{EVENT_STREAM_TYPE}; charset=iso-8859-1"}
        source = EventSource(httpx.Response(200, headers=headers, stream=self))
        # Closed explicitly, because the connection would stay open until the generator is garbage-collected.
        async with contextlib.aclosing(source.aiter_sse()) as found:
            async for event in found:
                # The server's number may have hundreds of digits, too many for a float.
                retry = None if event.retry is None else min(max(event.retry, 0), _RETRY_MILLISECONDS) / 1000
                yield ServerEvent(event.event, event.data.encode("latin-1"), event.id, retry)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (piece := await self.reader.read()) is not None:
            self.at, chunk = piece
            blocks = self._blocks.feed(chunk)
            if self._own and self._blocks.overflows:
                blocks += self._blocks.close()
            for block in blocks:
                if isinstance(block, Oversized):
                    # The start of the message, without names of fields, because the id of the request is searched in it.
                    head = fields_of(block.head)[1] or block.head
                    self._oversized(Oversized(head=head, size=block.size, tail=block.tail))
                    if self._own:
                        return
                    continue
                # httpx-sse decodes each piece in one go. 64 MB at once would delay a cancel, so other work runs between
                # pieces.
                *pieces, last = [
                    block[at : at + _DECODED_BYTES] for at in range(0, len(block), _DECODED_BYTES)
                ] or [b""]
                for piece in pieces:
                    yield piece
                    await self._turn.breathe()
                yield last + b"\n\n"
        # An event without a final blank line is discarded (HTML, "Event stream interpretation").
        self.cut = self._blocks.overflows or self.half > 0


async def read_body(
    stream: AsyncIterable[bytes],
    cap: int,
    turn: Turn,
    announced: int = 0,
    outline: MessageOutline | None = None,
    cut: Callable[[int], None] = lambda _: None,
) -> bytes | Oversized:
    """Returns a complete body, or the start of a body that is longer than ``cap`` bytes.

    ``announced`` is the ``Content-Length``. The chunks are added to ``outline``. If the connection breaks within the body,
    ``cut`` is called with the number of bytes received.
    """
    body = BytesIO()
    try:
        async for chunk in stream:
            body.write(chunk)
            if body.tell() > cap or announced > cap:
                return Oversized(head=body.getvalue()[:LINE_HEAD_BYTES], size=max(body.tell(), announced))
            if outline is not None:
                outline.feed(chunk)
            await turn.breathe()
    except EXPECTED:
        if body.tell():
            cut(body.tell())
        raise
    return body.getvalue()


async def read_head(stream: AsyncIterable[bytes], limit: int = LINE_HEAD_BYTES) -> bytes:
    """Returns at most ``limit`` bytes from the start of a body; fewer if the connection breaks or time runs out."""
    body = bytearray()
    with contextlib.suppress(*EXPECTED):
        async with Limit(SHOWN_BODY_SECONDS):
            async for chunk in stream:
                body += chunk
                if len(body) >= limit:
                    break
    return bytes(body[:limit])
