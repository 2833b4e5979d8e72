"""Input that is read at once, and handled when there is time.

If a client is busy, for example with a flood, the server is not late. So each piece has the time at which it was read, and a
timeout is only checked when all pieces read before it have been handled.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, Iterator
from typing import Final, cast

from mcp_tui.transport.base import Turn, spawn

AHEAD_BYTES: Final = 4 * 1024 * 1024
"""The most bytes of one stream that wait to be handled; above it, reading pauses, and the server waits."""


class Unhandled:
    """The pieces of one stream that were read but not handled yet, each with its time on the clock of the event loop."""

    def __init__(self) -> None:
        self.since: float | None = None
        """The time of the oldest piece, including the one that is being handled; ``None`` if all are handled."""
        self.is_full = False
        self.read_at = 0.0
        """The time at which the newest piece was read."""
        self._pieces: deque[tuple[float, bytes]] = deque()
        self._bytes = 0
        self._now = asyncio.get_running_loop().time

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def add(self, data: bytes) -> None:
        """Adds a piece that was read just now."""
        self.read_at = at = self._now()
        self._pieces.append((at, data))
        self._bytes += len(data)
        self.is_full = self._bytes > AHEAD_BYTES
        if self.since is None:
            self.since = at

    def take(self) -> tuple[float, bytes]:
        """Removes and returns the oldest piece, which is handled next."""
        self.since, data = self._pieces.popleft()
        self._bytes -= len(data)
        self.is_full = self._bytes > AHEAD_BYTES
        return self.since, data

    def handled(self) -> None:
        """Marks the piece from :meth:`take` as handled."""
        self.since = self._pieces[0][0] if self._pieces else None


class PipeReader(asyncio.Protocol):
    """Reads a pipe of a server as soon as it has data, even while handling is busy.

    If nothing else is being handled, data is handled in the turn of the loop that reads it: a task would start a turn later.
    """

    def __init__(self) -> None:
        self.unhandled = Unhandled()
        self.ended = False
        """Whether nothing more can be read; the rest may still be unhandled."""
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when all is read and handled."""
        self._pipe: asyncio.ReadTransport | None = None
        self._paused = False
        self._work: Iterator[bool] = iter(())
        self._waits = False

    def follow(self, work: Iterator[bool]) -> None:
        """Continues ``work`` until its end, from the next turn of the loop on.

        It yields false to wait for data, and true to give way to other work.
        """
        self._work = work
        asyncio.get_running_loop().call_soon(self._continue)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._pipe = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        self.unhandled.add(data)
        if self.unhandled.is_full and self._pipe is not None:
            self._pipe.pause_reading()
            self._paused = True
        if self._waits:
            self._continue()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended, self._pipe = True, None
        if self._waits:
            self._continue()

    def _continue(self) -> None:
        self._waits, gives_way = False, None
        try:
            gives_way = next(self._work, None)
        finally:
            if gives_way is None:  # also after an error, because others wait for the end
                self.over.set_result(None)
        self._waits = gives_way is False
        if gives_way:  # until the timers of this turn have run, as in Turn.give_way()
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.call_soon, self._continue)

    def take(self) -> tuple[float, bytes]:
        """Removes and returns the oldest piece, with the time of its reading."""
        piece = self.unhandled.take()
        if self._paused and not self.unhandled.is_full and self._pipe is not None:
            self._paused = False
            self._pipe.resume_reading()
        return piece


class BodyReader:
    """Reads the body of a response. If handling takes longer than a turn, a task reads ahead."""

    def __init__(self, chunks: AsyncIterable[bytes], turn: Turn) -> None:
        self.unhandled = Unhandled()
        self._chunks = aiter(chunks)
        self._turn = turn
        self._changed = asyncio.Event()
        self._reading: asyncio.Task[None] | None = None
        self._error: Exception | None = None

    async def __aenter__(self) -> BodyReader:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.unhandled.since = None
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait((self._reading,))

    async def read(self) -> tuple[float, bytes] | None:
        """Returns the next piece with the time of its reading, once the last one is handled; ``None`` at the end.

        Raises:
            Exception: the connection broke.
        """
        self.unhandled.handled()
        if self._reading is None and self._turn.is_spent():
            self._reading = spawn(self._read_ahead(), name="read ahead")
        if self._reading is None:
            data = await anext(self._chunks, None)
            if data is None:
                return None
            self.unhandled.add(data)
        while not self.unhandled:
            if self._reading is None or self._reading.done():
                if self._error is not None:
                    raise self._error
                return None
            self._changed.clear()
            await self._changed.wait()
        self._changed.set()
        return self.unhandled.take()

    async def _read_ahead(self) -> None:
        try:
            async for data in self._chunks:
                self.unhandled.add(data)
                self._changed.set()
                while self.unhandled.is_full:
                    self._changed.clear()
                    await self._changed.wait()
        except Exception as error:  # noqa: BLE001 - read() raises it
            self._error = error
        finally:
            self._changed.set()
