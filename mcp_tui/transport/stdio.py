"""The stdio transport: a server as a child process, with one message per line (transports, stdio, every revision)."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.framing import LineFramer, Oversized, RawLine
from mcp_tui.protocol.messages import bytes_text
from mcp_tui.protocol.revisions import Revision
from mcp_tui.transport.base import (
    MAX_MESSAGE,
    NO_ANSWER,
    SILENCE,
    Outgoing,
    Sink,
    Transport,
    Turn,
    Unfinished,
    spawn,
)
from mcp_tui.transport.launching import prepare
from mcp_tui.transport.process import ServerProcess, start
from mcp_tui.transport.read_ahead import PipeReader
from mcp_tui.transport.targets import StdioTarget
from mcp_tui.transport.unreachable import exit_text

# A cancel cannot overtake data in the pipe, so it waits for at most this many bytes, and never for a queue of calls.
TURN_BYTES: Final = 16 * 1024
"""The most bytes given to the event loop at once, unless a single message has more."""
STDERR_LINE: Final = 8 * 1024
"""The most bytes shown of one line of stderr."""

STDIN_GRACE: Final = 2.0
"""The seconds from closing stdin to SIGTERM."""
TERM_GRACE: Final = 2.0
"""The seconds from SIGTERM to SIGKILL."""
KILL_GRACE: Final = 0.5
"""The seconds to wait after SIGKILL; with the other two, and :data:`LAST_LINES_SECONDS`, less than five."""
HURRIED_GRACE: Final = 0.5
"""The seconds from SIGTERM to SIGKILL if the user does not want to wait."""

STDOUT_GRACE: Final = 1.0
"""The most seconds for which a server may run after it has closed its stdout."""
DRAIN_SECONDS: Final = 5.0
"""The most seconds for the last lines of a server that exited; its guard ends other users of its pipes within 1 s."""
LAST_LINES_SECONDS: Final = 0.25
"""The most seconds for the last lines of a server that the client ended."""

STDIN_CLOSED: Final = "the server closed its stdin"


class LineWriter(asyncio.BaseProtocol):
    """Writes lines to the stdin of a server. A cancel overtakes all queued messages, but never interrupts a line.

    The event loop gets one batch at a time, and the next batch only when the pipe has accepted the whole one before. So
    queued messages can still be withdrawn or overtaken. :meth:`send` writes the first message since the last input at
    once; further messages in the same turn of the loop are collected, and written in the next turn.
    """

    def __init__(self) -> None:
        self.sink: Sink = SILENCE
        self._pipe: asyncio.WriteTransport | None = None
        self._signals: OrderedDict[object, Outgoing] = OrderedDict()
        self._queue: OrderedDict[object, Outgoing] = OrderedDict()
        """The keys of both are ids of requests; a message without an id has a unique key."""
        self._batch: deque[Outgoing] = deque()
        self._read_at = 0.0
        """The time at which the newest input was read."""
        self._last: float | None = None
        """The newest input when a message was written at once; further ones may come in the same turn."""
        self._flushing = False
        self._refusal = ""

    def send(self, message: Outgoing) -> None:
        """Adds a message to the end of the queue."""
        self._queue[object() if message.id is None else message.id] = message
        if self._refusal:
            self.refuse(self._refusal, batch=False)
        elif not self._batch:
            if self._last != self._read_at:
                self._last = self._read_at
                self._flush()
            elif len(self._queue) == 1:
                asyncio.get_running_loop().call_soon(self._gathered)

    def signal(self, message: Outgoing) -> None:
        """Writes a cancel before all queued messages."""
        self._signals[message.cancels] = message
        if self._refusal:
            self.refuse(self._refusal, batch=False)
        else:
            self._flush()

    def withdraw(self, id: RequestId) -> None:
        """Withdraws a request, or its cancel, unless its writing has started."""
        self._queue.pop(id, None)
        self._signals.pop(id, None)

    def refuse(self, detail: str, *, batch: bool = True) -> None:
        """Reports all messages that are not completely written as not sent, now and later.

        Without ``batch``, the messages that are being written are not refused.
        """
        self._refusal = detail
        refused = [*self._signals.values(), *self._queue.values()]
        if batch:
            refused = [*self._batch, *refused]
            self._batch = deque()
        self._signals.clear()
        self._queue.clear()
        for message in refused:
            self.sink.not_sent(message=message, detail=detail, refusal=NO_ANSWER)

    def end_input(self, detail: str) -> None:
        """Closes the server's stdin after the batch that is being written, and refuses all other messages."""
        # The present batch is still written, because it may have a cancel.
        self.refuse(self._refusal or detail, batch=False)
        if self._pipe is not None:
            self._pipe.close()

    def abandon(self) -> None:
        """Closes the pipe, even if it has unwritten data."""
        if self._pipe is None:
            return
        # close() waits until all data is written, which never happens if the server does not read.
        if self._pipe.get_write_buffer_size():
            self._pipe.abort()
        else:  # asyncio fails on abort() of a pipe that is already closing
            self._pipe.close()

    # -- the event loop's side ---------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast instead of an assertion, because uvloop's pipes are not subclasses of asyncio's.
        self._pipe = cast("asyncio.WriteTransport", transport)
        # With this limit, asyncio reports when the pipe has accepted all data, which a cancel cannot overtake.
        self._pipe.set_write_buffer_limits(high=0)
        self._flush()

    def resume_writing(self) -> None:
        """Continues after the pipe has accepted the whole batch."""
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Refuses all messages, because the server or the client has closed the pipe."""
        self._pipe = None
        self.refuse(self._refusal or STDIN_CLOSED)

    # -- the queue ---------------------------------------------------------------------------------------------

    def _gathered(self) -> None:
        self._last = None
        self._flush()

    def _flush(self) -> None:
        """Reports written messages, and writes queued ones while the pipe accepts them."""
        pipe = self._pipe
        if self._flushing or pipe is None:  # called from a report below, whose loop continues
            return
        self._flushing = True
        try:
            if self._batch:
                self._report(pipe.get_write_buffer_size())
            while (self._signals or self._queue) and not self._batch and not pipe.is_closing():
                self._gather()
                pipe.write(b"".join([message.raw + b"\n" for message in self._batch]))
                self._report(pipe.get_write_buffer_size())
        finally:
            self._flushing = False

    def _gather(self) -> None:
        """Makes the next batch, and reports that it is being written."""
        size = 0
        # C-07: a cancel is written before all queued messages, and after the line that is being written.
        while waiting := self._signals or self._queue:
            key, message = waiting.popitem(last=False)
            size += len(message.raw) + 1
            if self._batch and size > TURN_BYTES:
                waiting[key] = message
                waiting.move_to_end(key, last=False)
                break
            self._batch.append(message)
        writing = self.sink.writing
        for message in tuple(self._batch):
            writing(message=message)

    def _report(self, unwritten: int) -> None:
        """Reports the written messages of the batch; ``unwritten`` is the number of bytes that the pipe has not accepted."""
        behind = sum(len(message.raw) + 1 for message in self._batch) if unwritten else 0
        while self._batch:
            if unwritten:  # rare, because a pipe usually accepts a whole batch
                behind -= len(self._batch[0].raw) + 1
                if behind < unwritten:
                    return
            self.sink.written(message=self._batch.popleft())


class StdioTransport(LineWriter, Transport):
    """A server that runs as a child process, with messages over stdin and stdout, in every revision.

    The program is found in the ``PATH`` of the server's environment (:func:`~launching.server_environment`).
    ``max_message`` is the maximum size of a message in bytes. If the pipe accepts a message at once, :meth:`send` and
    :meth:`signal` call the sink.
    """

    kind = "stdio"

    _asked: asyncio.Future[None]
    """Done once :meth:`close` was called."""
    _hurry: asyncio.Future[None]
    """Done once :meth:`terminate` was called."""
    _readers: tuple[asyncio.Future[None], asyncio.Future[None]]
    """Done when stdout and stderr are read to their ends."""

    def __init__(self, target: StdioTarget, *, max_message: int = MAX_MESSAGE) -> None:
        super().__init__()
        self.pid: int | None = None
        self._target = target
        self._process: ServerProcess | None = None
        self._life: asyncio.Task[None] | None = None
        self._messages = LineFramer(max_message, outlined=True)

    async def open(self, sink: Sink) -> None:
        """Starts the server.

        Raises:
            TransportError: the program or the folder does not exist, or the operating system does not run the program.
        """
        launch = prepare(self._target)
        loop = asyncio.get_running_loop()
        self.sink = sink
        self._asked, self._hurry = loop.create_future(), loop.create_future()
        self._process = process = await start(launch, self)
        # No message may be sent to a process that has ended, but its output is still read to the last line.
        process.exit.add_done_callback(lambda code: self.refuse(exit_text(code.result(), process.guard_code)))
        self.pid = process.pid
        self.sink.happened(text=f"started {launch.path} (pid {self.pid})")
        turn, out, err = Turn(), process.stdout, process.stderr
        out.follow(_read(out, self._messages, turn, self._received, self._cut_off))
        err.follow(_read(err, LineFramer(STDERR_LINE), turn, self._logged, self._logged_half))
        self._readers = (out.over, err.over)
        self._life = spawn(self._live(process), name="follow the server to its end")

    def unhandled_since(self) -> float | None:
        """Returns the time at which the oldest unhandled bytes of stdout were read; ``None`` if all are handled."""
        return None if self._process is None else self._process.stdout.unhandled.since

    def unfinished(self) -> list[Unfinished]:
        """Returns the incomplete line of the server, if there is one."""
        begun = self._messages.unfinished
        if self._process is None or not begun:
            return []
        return [Unfinished(read_at=self._process.stdout.unhandled.read_at, begun=begun)]

    def negotiated(self, revision: Revision) -> None:
        """Marks the server as ready; processes that it starts later are not part of the server itself."""
        if self._process is not None:
            self._process.ready()

    async def close(self) -> None:
        """Ends the server: closes its stdin, sends SIGTERM after two seconds, and SIGKILL after two more (lifecycle,
        shutdown).

        Several calls share one shutdown, which continues if a call is cancelled. It takes less than five seconds in all.
        """
        if self._life is not None:
            if not self._asked.done():
                self._asked.set_result(None)
            await asyncio.wait((self._life,))

    async def terminate(self) -> None:
        """Ends the server at once: SIGTERM, half a second later SIGKILL. Speeds up a running :meth:`close`."""
        if self._life is not None and not self._hurry.done():
            self._hurry.set_result(None)
        await self.close()

    # -- lines of the server -----------------------------------------------------------------------------------

    def _received(self, line: RawLine | Oversized, outline: bytes | None, at: float) -> None:
        self._read_at = at
        if isinstance(line, Oversized):
            self.sink.too_large(line, at=at)
        else:
            self.sink.received(raw=line, outline=outline, at=at)

    def _cut_off(self, line: RawLine | Oversized, outline: bytes | None, at: float) -> None:
        if isinstance(line, Oversized):
            self._received(line, outline, at)
        else:
            self.sink.cut_off(raw=line, outline=outline, at=at)

    def _logged(self, line: RawLine | Oversized, _outline: bytes | None, at: float) -> None:
        if isinstance(line, Oversized):
            text = bytes_text(line.head[:STDERR_LINE]) + f"… ({line.size} bytes)"
        else:
            text = bytes_text(line)
        self.sink.stderr_line(text=text, at=at)

    def _logged_half(self, line: RawLine | Oversized, outline: bytes | None, at: float) -> None:
        # If a server exits by itself, its last line is complete, even without a line feed.
        if self._asked.done() and not isinstance(line, Oversized):
            self.sink.stderr_line(text=bytes_text(line), cut=True, at=at)
        else:
            self._logged(line, outline, at)

    # -- the end of the server ---------------------------------------------------------------------------------

    async def _live(self, process: ServerProcess) -> None:
        """Waits until the server ends or :meth:`close` is called; then ends the server and all its descendants."""
        exited, asked, sink = process.exit, self._asked, self.sink
        try:
            await _first(exited, self._readers[0], asked)
            if not exited.done() and not asked.done():
                # Reported at once, because messages can no longer arrive, and no request may count as watched from here on.
                self.sink.receiving_ended(detail="server closed its stdout")
                # Woken, because a guard that the server has stopped would not report the exit of the server.
                process.wake()
                await _first(exited, asked, seconds=STDOUT_GRACE)
            if exited.done():
                # C-41: the last lines may still be in the pipes, and an answer among them counts.
                await _first(asyncio.gather(*self._readers), asked, seconds=DRAIN_SECONDS)
            if asked.done():
                await self._end(process, sink)
                await self._finish(process, "server did not end")
            else:
                # Reported before the other processes are ended, which takes seconds, and does not change the report.
                await self._finish(process, "server closed its stdout but is still running")
                await self._end(process, sink)
        finally:
            process.close()

    async def _finish(self, process: ServerProcess, alive: str) -> None:
        """Reports, after the last line, that the connection has ended; ``alive`` is the reason if the server still runs."""
        # A child process may keep the pipes open forever, so reading stops here.
        process.stop_reading()
        await asyncio.wait(self._readers)
        code = process.exit.result() if process.exit.done() else None
        detail = alive if code is None else exit_text(code, process.guard_code)
        self.refuse(detail)
        # The sink is replaced before the report, because its receiver may send, which must cause no further report.
        sink, self.sink = self.sink, SILENCE
        sink.closed(detail=detail, code=code, expected=self._asked.done())
        self.abandon()

    async def _end(self, process: ServerProcess, sink: Sink) -> None:
        """Ends the process and all its descendants, step by step, and reports processes that still ran."""
        started, all_ended, hurry = time.monotonic(), process.all_ended, self._hurry
        self.end_input("the connection is being closed")
        await _first(all_ended, hurry, seconds=STDIN_GRACE)
        if not all_ended.done():
            process.terminate()
            if not hurry.done():
                await _first(all_ended, hurry, seconds=TERM_GRACE)
            else:
                await _first(all_ended, seconds=HURRIED_GRACE)
            if not all_ended.done():
                process.kill()
        # The limit counts from the start of the shutdown, so that a server that ignores all signals does not delay it
        # further.
        await _first(all_ended, seconds=started + STDIN_GRACE + TERM_GRACE + KILL_GRACE - time.monotonic())
        if process.exit.done():
            await asyncio.wait(self._readers, timeout=LAST_LINES_SECONDS)
        if process.ended:
            sink.processes_ended(count=process.ended)


_Take = Callable[[RawLine | Oversized, bytes | None, float], None]
"""Handles a line, the outline of a large one, and the time at which its end was read."""


def _read(
    pipe: PipeReader,
    framer: LineFramer,
    turn: Turn,
    take: _Take,
    cut_off: _Take,
) -> Iterator[bool]:
    """Passes the lines of a pipe to ``take``, in order, until it ends, and an incomplete last line to ``cut_off``.

    A large line has an outline. Lines may wait for another turn of the loop, but each has the time at which it was read.
    The iterator is for :meth:`PipeReader.follow`.
    """
    at, is_first, over = 0.0, False, False
    while not over:
        if pipe.unhandled:
            at, data = pipe.take()
            lines = framer.feed(data)
        elif pipe.ended:
            lines, take, over = framer.close(), cut_off, True
        else:
            yield False
            is_first = True
            continue
        outline = framer.outline
        for line in lines:
            # The first line after a wait needs no share of the turn, so a single response does not start its clock.
            if not is_first and turn.is_spent():
                yield True
            is_first = False
            try:
                take(line, outline, at)
            except Exception as error:  # noqa: BLE001 - whatever a listener raises, reading continues
                report = asyncio.get_running_loop().call_exception_handler
                report({"message": "a message could not be read", "exception": error})
            outline = None
        if not lines and turn.is_spent():  # a piece of a large line
            yield True
        pipe.unhandled.handled()


async def _first(*ends: asyncio.Future[Any], seconds: float | None = None) -> None:
    await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
