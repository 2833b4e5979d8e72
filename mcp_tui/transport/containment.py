"""What a server may put into a response, and how much of it: caps, server-sent events as bytes, turns of the loop.

httpx-sse has no limit of its own and reads text. Here bytes are counted while they come, the data of an event never
becomes text (so what is no UTF-8 reaches the parser as it was sent), and everything else about an event is left to
httpx-sse's decoder.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, Callable, Iterator
from dataclasses import dataclass
from typing import Final

# The public reader of httpx-sse takes a response and makes text of it; its decoder of lines is what is wanted here.
from httpx_sse._decoders import SSEDecoder

HEAD: Final = 64 * 1024
"""Bytes kept of what is dropped or refused: enough to find the id of the message it was."""

TAIL: Final = 512
"""Bytes kept of the end of an event that is left out: many servers write the id behind everything else."""

BUDGET: Final = 0.004
"""Seconds in one turn of the event loop that all streams of one connection may take together."""

_BOM: Final = b"\xef\xbb\xbf"
_FRAGMENT: Final = 4096
"""Bytes from which a piece of data is kept as it came; smaller ones are gathered, so that they cost no object each."""
_LARGE: Final = 1 << 20
"""Bytes from which pieces are joined in a thread: joining lets go of the interpreter there, and 64 MB take a while."""
_LONGEST_RETRY: Final = 3600.0


class Oversize(Exception):
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


class Pieces:
    """The bytes of one message as they come in, up to a cap."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._pieces: list[bytes] = []
        self._small = bytearray()
        self.size = 0

    def add(self, piece: bytes) -> None:
        """Raises :class:`Oversize` when there is too much of it."""
        self.size += len(piece)
        if len(piece) < _FRAGMENT:
            self._small += piece
        else:
            self._flush()
            self._pieces.append(piece)
        if self.size > self._cap:
            raise Oversize(self.head(), self.size, self._tail())

    def _flush(self) -> None:
        if self._small:
            self._pieces.append(bytes(self._small))
            self._small = bytearray()

    def head(self) -> bytes:
        """The first :data:`HEAD` bytes at most."""
        self._flush()
        head = bytearray()
        for piece in self._pieces:
            head += piece[: HEAD - len(head)]
            if len(head) >= HEAD:
                break
        return bytes(head)

    def _tail(self) -> bytes:
        """The last :data:`TAIL` bytes at most, as far as they are not in the head."""
        tail = b""
        for piece in reversed(self._pieces):
            tail = piece[-TAIL:] + tail
            if len(tail) >= TAIL:
                break
        beyond = min(TAIL, self.size - HEAD)
        return tail[-beyond:] if beyond > 0 else b""

    async def join(self) -> bytes:
        """All of it, without holding up the loop."""
        self._flush()
        if len(self._pieces) == 1:
            return self._pieces[0]
        if self.size < _LARGE:
            return b"".join(self._pieces)
        return await asyncio.to_thread(b"".join, self._pieces)


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One server-sent event.

    ``id`` is the last event id that holds from here on, as Latin-1, empty where there is none; ``retry`` is in
    seconds, ``None`` where the event does not set it.
    """

    name: str
    data: Pieces
    id: str
    retry: float | None


class EventDecoder:
    """Splits a stream of bytes into server-sent events (HTML, "Event stream interpretation"), however it is cut.

    ``cap`` is what one event may hold, in bytes. With ``skipped`` an event above it is told there when it ends, and left
    out, and the stream goes on; without, it ends the decoder. What stands behind the last blank line is no event.
    """

    def __init__(self, cap: int, skipped: Callable[[Oversize], None] | None = None) -> None:
        self._cap = cap
        self._skipped = skipped
        self._fields = SSEDecoder()
        self._data = Pieces(cap)
        self._has_data = False
        self._in_data = False
        self._pending = bytearray()
        self._first = True
        self._after_cr = False
        self._skipping: Oversize | None = None
        self._in_line = False

    @property
    def partial(self) -> bool:
        """Whether the stream stands inside an event."""
        return self._has_data or bool(self._pending)

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """Take the next piece of the stream; yields the events that it ends.

        Raises:
            Oversize: an event is above the cap, and nobody wants it skipped. The decoder is of no use after that.
        """
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        for piece in chunk.splitlines(keepends=True):
            line = piece.rstrip(b"\r\n")
            ends = len(line) < len(piece)
            if ends and not line and not self._in_line:
                if (event := self._blank()) is not None:
                    yield event
            elif self._skipping is not None:
                self._skipping.goes_on(line)
            else:
                try:
                    if ends:
                        self._end(line)
                    else:
                        self._begin(line)
                except Oversize as error:
                    self._skip(error)
            self._in_line = not ends

    def _skip(self, error: Oversize) -> None:
        if self._skipped is None:
            raise error
        self._skipping, self._in_data = error, False
        self._data, self._pending = Pieces(self._cap), bytearray()

    def _begin(self, line: bytes) -> None:
        """A line that goes on in the next piece."""
        if self._in_data:
            self._data.add(line)
            return
        self._pending += line
        if len(self._pending) > len(b"data: ") and self._pending.startswith(b"data:"):
            self._keep(bytes(self._pending))
            self._pending = bytearray()
            self._in_data = True
        elif len(self._pending) > self._cap:
            raise Oversize(bytes(self._pending[:HEAD]), len(self._pending))

    def _end(self, line: bytes) -> None:
        """A line, or the rest of one, with its end."""
        if self._in_data:
            self._data.add(line)
            self._in_data = False
            return
        if self._pending:
            line = bytes(self._pending) + line
            self._pending = bytearray()
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if line.startswith(b"data:") or line == b"data":
            self._keep(line)
        elif line:
            self._fields.decode(line.decode("latin-1"))

    def _keep(self, line: bytes) -> None:
        """Keep the value of a data line; httpx-sse's decoder sees an empty one in its stead."""
        self._first = False
        if self._has_data:
            self._data.add(b"\n")
        else:
            self._has_data = True
            self._fields.decode("data:")
        self._data.add(line[6:] if line[5:6] == b" " else line[5:])

    def _blank(self) -> ServerEvent | None:
        self._first = False
        found = self._fields.decode("")
        skipped, self._skipping = self._skipping, None
        if skipped is not None and self._skipped is not None:
            self._has_data = False
            self._skipped(skipped)
            return None
        if found is None:
            return None
        data, self._data, self._has_data = self._data, Pieces(self._cap), False
        retry = None if found.retry is None else min(max(found.retry, 0), 1000 * int(_LONGEST_RETRY)) / 1000
        return ServerEvent(found.event, data, found.id, retry)


class Turn:
    """The time of the event loop that the streams of one connection share, so that a flood starves nothing else.

    While anything is ``urgent`` they get one message each: a POST takes a dozen turns until it has left.
    """

    def __init__(self, budget: float = BUDGET) -> None:
        self.urgent: set[object] = set()
        self._budget = budget
        self._until: float | None = None

    async def breathe(self) -> None:
        """Wait for the loop's next turn if this one's share is spent."""
        now = time.monotonic()
        if self._until is None:
            self._until = now + self._budget
            asyncio.get_running_loop().call_soon(self._over)
        elif now >= self._until or self.urgent:
            await asyncio.sleep(0)

    def _over(self) -> None:
        self._until = None


async def read_body(stream: AsyncIterable[bytes], cap: int, announced: int | None, turn: Turn) -> bytes:
    """A whole body. ``announced`` is its ``Content-Length``.

    Raises:
        Oversize: it is longer than ``cap`` bytes, or says so; then only its head was read.
    """
    body = Pieces(cap)
    too_long = announced is not None and announced > cap
    async for chunk in stream:
        body.add(chunk)
        if too_long and body.size >= HEAD:
            break
        await turn.breathe()
    if too_long:
        raise Oversize(body.head(), announced or body.size)
    return await body.join()


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
