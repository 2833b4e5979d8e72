"""The bodies of HTTP responses: server-sent events, and how much of a body is read."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterable
from io import BytesIO
from typing import Final

from mcp_tui.protocol.framing import HEAD, LineFramer, Oversized
from mcp_tui.protocol.values import frozen
from mcp_tui.transport.base import Turn
from mcp_tui.transport.http_errors import EXPECTED

FIELDS: Final = 1024
"""Bytes of an event beside its data that do not count against the cap: names of fields, and an id."""

PATIENCE: Final = 5.0
"""Seconds for a body that is only shown, or dropped."""

_FIELD: Final = re.compile(rb"(data|event|id|retry)(?:: ?|$)")
_LONGEST_RETRY: Final = 3_600_000
"""Milliseconds."""


@frozen
class ServerEvent:
    """One server-sent event.

    ``id`` is the event's own id as Latin-1, ``None`` if it has none; ``retry`` is in seconds, ``None`` if the event does
    not set it.
    """

    name: str
    data: bytes
    id: str | None
    retry: float | None


class EventDecoder:
    """Decodes server-sent events (HTML, "Event stream interpretation") from bytes, however they are cut.

    Data stays bytes, so that data that is not UTF-8 reaches the parser as it was sent. An event of more than ``cap``
    bytes is dropped and reported once, when it ends.
    """

    def __init__(self, cap: int) -> None:
        self._framer = LineFramer(cap + FIELDS, b"\n\n")
        self._after_return = False

    def feed(self, chunk: bytes) -> list[ServerEvent | Oversized]:
        """Returns the events that the next piece of the stream ends."""
        if self._after_return:
            chunk = chunk.removeprefix(b"\n")
        self._after_return = chunk.endswith(b"\r")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return [
            Oversized(head=_event(block.head).data, size=block.size, tail=block.tail)
            if isinstance(block, Oversized)
            else _event(block)
            for block in self._framer.feed(chunk)
        ]

    def close(self) -> bool:
        """Returns whether the stream ended inside an event, which is dropped."""
        return any(isinstance(rest, Oversized) or _event(rest).data for rest in self._framer.close())


def _event(block: bytes) -> ServerEvent:
    """Returns the event that the lines between two blank ones make."""
    name, id_, retry = "message", None, None
    data: list[bytes] = []
    start = 0
    while start < len(block):  # one copy of a value that may have 64 MB
        end = block.find(b"\n", start)
        end = len(block) if end < 0 else end
        found = _FIELD.match(block, start, end)
        value = block[found.end() : end] if found else b""
        start = end + 1
        match found and found[1]:
            case b"data":
                data.append(value)
            case b"event":
                name = value.decode("utf-8", "replace") or "message"
            case b"id":
                id_ = id_ if b"\0" in value else value.decode("latin-1")
            case b"retry" if value.isdigit():
                retry = min(int(value[:10]), _LONGEST_RETRY) / 1000
            case _:
                pass
    return ServerEvent(name, b"\n".join(data), id_, retry)


async def read_body(stream: AsyncIterable[bytes], cap: int, turn: Turn) -> bytes | Oversized:
    """Returns a whole body, or the start of one that is longer than ``cap`` bytes."""
    body = BytesIO()
    async for chunk in stream:
        body.write(chunk)
        if body.tell() > cap:
            return Oversized(head=body.getvalue()[:HEAD], size=body.tell())
        await turn.breathe()
    return body.getvalue()


async def read_head(stream: AsyncIterable[bytes], limit: int = HEAD) -> bytes:
    """Returns the start of a body that is not an answer: ``limit`` bytes at most, and what comes before it breaks."""
    body = bytearray()
    with contextlib.suppress(*EXPECTED):
        async with asyncio.timeout(PATIENCE):
            async for chunk in stream:
                body += chunk
                if len(body) >= limit:
                    break
    return bytes(body[:limit])
