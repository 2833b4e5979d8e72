"""The pipes of a stdio server: lines that it writes, and lines that wait to be written to it."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Final, SupportsIndex, cast

from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.framing import Line, LineFramer, Oversized
from mcp_tui.protocol.values import frozen
from mcp_tui.transport.base import NO_ANSWER, SILENCE, Outgoing, Sink, Turn

READ: Final = 256 * 1024
"""Bytes taken of a pipe at once."""


class Unfinished(bytes):
    """A line whose end did not come: the pipe was at its end before."""


class Pipe(asyncio.StreamReader):
    """A pipe that is read. ``heard_at`` is when bytes came last, or a line of them was taken, in monotonic seconds."""

    heard_at = 0.0

    def feed_data(self, data: Iterable[SupportsIndex]) -> None:
        self.heard_at = time.monotonic()
        super().feed_data(data)


async def read_lines(pipe: Pipe, cap: int, turn: Turn, take: Callable[[Line | Oversized], None]) -> None:
    """Hand the lines of a pipe to ``take``, in order, until it ends.

    While lines wait for the next turn hardly anything is read: memory holds little more than one unfinished line, and the
    server waits where it writes too fast.
    """
    framer = LineFramer(cap)
    while data := await pipe.read(READ):
        for line in framer.feed(data):
            try:
                take(line)
            except Exception as error:  # noqa: BLE001 - a listener raises anything; the reading goes on
                tell = asyncio.get_running_loop().call_exception_handler
                tell({"message": "a message could not be taken", "exception": error})
            pipe.heard_at = time.monotonic()  # what is not read meanwhile is no silence
            await turn.breathe()
    for line in framer.close():
        take(Unfinished(line) if isinstance(line, bytes) else line)


BATCH: Final = 16 * 1024
"""Bytes handed to the event loop at once, unless a single message has more."""

STDIN_CLOSED: Final = "the server closed its stdin"


@frozen
class _Leaving:
    message: Outgoing
    cancels: RequestId | None = None
    signal: Signal = Signal.NONE


class LineWriter(asyncio.BaseProtocol):
    """What goes to the stdin of a server, in lines. A signal overtakes all that is queued, but never enters a line.

    The event loop is given one batch at a time, and the next one only when the pipe has taken all of it: what
    waits, waits here, where it can be taken back or overtaken. What is sent while nothing waits is written from
    within the call; what follows in the same turn of the loop is gathered and leaves in the next one.
    """

    def __init__(self) -> None:
        self.sink: Sink = SILENCE
        self._pipe: asyncio.WriteTransport | None = None
        self._signals: OrderedDict[object, _Leaving] = OrderedDict()
        self._queue: OrderedDict[object, _Leaving] = OrderedDict()
        """By the id of the request; a message without one by nothing that anybody knows."""
        self._batch: deque[_Leaving] = deque()
        self._gathering = False
        self._flushing = False
        self._refusal = ""

    # -- what it is told

    def send(self, message: Outgoing) -> None:
        """Queue a message behind those already queued."""
        self._queue[object() if message.id is None else message.id] = _Leaving(message)
        if self._refusal:
            self.refuse(self._refusal)
        elif not self._gathering and not self._batch:
            self._gathering = True
            asyncio.get_running_loop().call_soon(self._gathered)
            self._flush()

    def signal(self, id: RequestId, signal: Signal, message: Outgoing | None) -> None:
        """Write ``message``, which cancels ``id``, ahead of everything queued."""
        assert message is not None  # no request has a stream of its own here
        self._signals[id] = _Leaving(message, id, signal)
        if self._refusal:
            self.refuse(self._refusal)
        else:
            self._flush()

    def unqueue(self, id: RequestId) -> None:
        """Take a queued request back, unless its writing has begun."""
        self._queue.pop(id, None)

    def recall(self, id: RequestId) -> None:
        """Withdraw a signal, unless it has begun to leave."""
        self._signals.pop(id, None)

    def refuse(self, detail: str, *, batch: bool = True) -> None:
        """Report all that was not wholly written as not sent; the same goes for all that still comes.

        Without ``batch`` what is being written still leaves.
        """
        self._refusal = detail
        refused = [*self._signals.values(), *self._queue.values()]
        if batch:
            refused = [*self._batch, *refused]
            self._batch = deque()
        self._signals.clear()
        self._queue.clear()
        for leaving in refused:
            message = leaving.message
            if leaving.cancels is not None:
                self.sink.signal_failed(id=leaving.cancels, detail=detail)
            if leaving.cancels is None or message.id is not None:
                self.sink.not_sent(message=message, detail=detail, refusal=NO_ANSWER)

    def end_input(self, detail: str) -> None:
        """Close the server's stdin behind the batch that is being written; refuse the rest."""
        self.refuse(self._refusal or detail, batch=False)
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
                self.sink.written(message=message)
            if leaving.cancels is not None:
                self.sink.signalled(id=leaving.cancels, signal=leaving.signal, raw=message.raw)
