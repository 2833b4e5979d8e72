"""The pipes of a stdio server: lines that it writes, and lines that wait to be written to it."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from itertools import count
from typing import Final, cast

from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.framing import Line, LineFramer, Oversized
from mcp_tui.protocol.values import frozen
from mcp_tui.transport.base import SILENCE, Outgoing

BUDGET: Final = 0.004
"""Seconds in one turn of the event loop that the lines of one pipe may take."""


class Unfinished(bytes):
    """A line whose end did not come: the pipe was at its end before."""


class LineReader(asyncio.Protocol):
    """Reads one pipe, and hands its lines to ``take``, in order.

    Lines that do not fit into the budget of a turn wait for the next one, and nothing is read meanwhile: so
    memory holds one read and one unfinished line at most, and the server waits where it writes too fast.
    ``ended`` is called once, after the last line.
    """

    def __init__(self, cap: int, take: Callable[[Line | Oversized], None], ended: Callable[[], None]) -> None:
        self._framer = LineFramer(cap)
        self._take = take
        self._ended = ended
        self._lines: deque[Line | Oversized] = deque()
        self._pipe: asyncio.ReadTransport | None = None
        self._waiting = False
        self._at_end = False
        self.done = False
        self.heard_at = time.monotonic()
        """Monotonic seconds of the last sign of life: bytes that came, or lines that were handed on."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._pipe = cast("asyncio.ReadTransport", transport)

    def data_received(self, data: bytes) -> None:
        self._lines += self._framer.feed(data)
        if not self._waiting:
            self._hand_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """The pipe is at its end: nobody has it open for writing any more."""
        self._pipe = None
        if not self._at_end:
            self._at_end = True
            self._lines += self._rest()
            if not self._waiting:
                self._hand_on()

    def stop(self) -> None:
        """Read no more, and hand on what is here, the unfinished line too."""
        self._at_end = True
        if self._pipe is not None:
            self._pipe.close()
        self._lines += self._rest()
        self._hand_on(budget=float("inf"))

    def _rest(self) -> list[Line | Oversized]:
        return [Unfinished(line) if isinstance(line, bytes) else line for line in self._framer.close()]

    def _hand_on(self, budget: float = BUDGET) -> None:
        self._waiting = False
        self.heard_at = now = time.monotonic()
        until = now + budget
        try:
            while self._lines and now < until:
                self._take(self._lines.popleft())
                now = time.monotonic()
        finally:
            self._go_on()

    def _go_on(self) -> None:
        if self._lines:
            self._waiting = True
            if self._pipe is not None:
                self._pipe.pause_reading()
            asyncio.get_running_loop().call_soon(self._resume)
        elif self._at_end:
            if not self.done:
                self.done = True
                self._ended()
        elif self._pipe is not None:
            self._pipe.resume_reading()

    def _resume(self) -> None:
        if self._waiting:
            self._hand_on()


BATCH: Final = 16 * 1024
"""Bytes handed to the event loop at once, unless a single message has more."""

STDIN_CLOSED: Final = "the server closed its stdin"

_Key = tuple[type, RequestId]
"""An id by type and value: ``1`` and ``"1"`` are two ids. A message without an id has a number of type ``NoneType``."""


def _key(id: RequestId) -> _Key:
    return type(id), id


@frozen
class _Leaving:
    message: Outgoing
    cancels: RequestId | None = None
    signal: Signal = Signal.NONE


class LineWriter(asyncio.BaseProtocol):
    """Writes lines to the stdin of a server. A signal overtakes all that is queued, but never enters a line.

    The event loop is given one batch at a time, and the next one only when the pipe has taken all of it: what
    waits, waits here, where it can be taken back or overtaken. What is sent while nothing waits is written from
    within the call; what follows in the same turn of the loop is gathered and leaves in the next one.
    """

    def __init__(self) -> None:
        self.sink = SILENCE
        self._pipe: asyncio.WriteTransport | None = None
        self._signals: OrderedDict[_Key, _Leaving] = OrderedDict()
        self._queue: OrderedDict[_Key, _Leaving] = OrderedDict()
        self._numbers = count()
        self._batch: deque[_Leaving] = deque()
        self._gathering = False
        self._flushing = False
        self._refusal = ""

    # -- what it is told

    def send(self, message: Outgoing) -> None:
        """Queue a message behind those already queued."""
        key = (type(None), next(self._numbers)) if message.id is None else _key(message.id)
        self._queue[key] = _Leaving(message)
        if self._refusal:
            self.refuse(self._refusal)
        elif not self._gathering and not self._batch:
            self._gathering = True
            asyncio.get_running_loop().call_soon(self._gathered)
            self._flush()

    def signal(self, id: RequestId, signal: Signal, message: Outgoing) -> None:
        """Write ``message``, which cancels ``id``, ahead of everything queued."""
        self._signals[_key(id)] = _Leaving(message, id, signal)
        if self._refusal:
            self.refuse(self._refusal)
        else:
            self._flush()

    def unqueue(self, id: RequestId) -> None:
        """Take a queued request back, unless its writing has begun."""
        self._queue.pop(_key(id), None)

    def recall(self, id: RequestId) -> None:
        """Withdraw a signal, unless it has begun to leave."""
        self._signals.pop(_key(id), None)

    def refuse(self, detail: str) -> None:
        """Report all that was not wholly written as not sent; the same goes for all that still comes."""
        self._refuse([*self._batch, *self._signals.values(), *self._queue.values()], detail)

    def close(self, detail: str) -> None:
        """Close the server's stdin behind the batch that is being written; refuse the rest."""
        leaving = self._batch
        self._refuse([*self._signals.values(), *self._queue.values()], self._refusal or detail)
        self._batch = leaving
        if self._pipe is not None:
            self._pipe.close()

    def abandon(self) -> None:
        """Close the pipe without regard to what it holds."""
        if self._pipe is None:
            return
        if self._pipe.get_write_buffer_size():
            self._pipe.abort()
        else:  # asyncio does not bear abort() on a pipe that is closing already
            self._pipe.close()

    # -- what the event loop tells

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._pipe = cast("asyncio.WriteTransport", transport)
        self._pipe.set_write_buffer_limits(high=0)
        self._flush()

    def resume_writing(self) -> None:
        """The pipe has taken the whole batch."""
        self._flushing = True
        try:
            self._report(0)
        finally:
            self._flushing = False
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody reads the pipe any more, or it was closed by us."""
        self._pipe = None
        self.refuse(self._refusal or STDIN_CLOSED)

    # -- how it leaves

    def _gathered(self) -> None:
        self._gathering = False
        self._flush()

    def _flush(self) -> None:
        """Write what waits, and report what has left, for as long as the pipe takes it."""
        if self._flushing or self._pipe is None:  # an item reported below led here: the loop goes on with it
            return
        self._flushing = True
        try:
            while not (pipe := self._pipe).is_closing():
                self._report(pipe.get_write_buffer_size())
                if self._batch or not self._gather():
                    return
                pipe.write(b"".join([leaving.message.raw + b"\n" for leaving in self._batch]))
        finally:
            self._flushing = False

    def _gather(self) -> bool:
        """Make the next batch and say that it leaves."""
        size = 0
        while waiting := self._signals or self._queue:
            key, leaving = next(iter(waiting.items()))
            size += len(leaving.message.raw) + 1
            if self._batch and size > BATCH:
                break
            del waiting[key]
            self._batch.append(leaving)
        for leaving in tuple(self._batch):
            if leaving.cancels is not None:
                self.sink.signal_leaving(id=leaving.cancels)
            if leaving.message.id is not None:
                self.sink.writing(id=leaving.message.id)
        return bool(self._batch)

    def _report(self, left: int) -> None:
        """Say of each message of the batch that it has left, unless one of its bytes is among the last ``left``."""
        behind = sum(len(leaving.message.raw) + 1 for leaving in self._batch)
        while self._batch:
            message = self._batch[0].message
            behind -= len(message.raw) + 1
            if behind < left:
                return
            leaving = self._batch.popleft()
            if leaving.cancels is None or message.id is not None:
                self.sink.written(raw=message.raw, method=message.method, id=message.id)
            if leaving.cancels is not None:
                self.sink.signalled(id=leaving.cancels, signal=leaving.signal, raw=message.raw)

    def _refuse(self, refused: list[_Leaving], detail: str) -> None:
        self._refusal = detail
        self._batch = deque()
        self._signals.clear()
        self._queue.clear()
        for leaving in refused:
            message = leaving.message
            if leaving.cancels is not None:
                self.sink.signal_failed(id=leaving.cancels, detail=detail)
            if leaving.cancels is None or message.id is not None:
                self.sink.not_sent(method=message.method, detail=detail, id=message.id)
