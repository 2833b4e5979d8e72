"""The stdio transport: a server as a process of ours, one message a line (transports, stdio, every revision)."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
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

# What the pipe was given cannot be overtaken, so a cancel waits for as much as this, and never for a queue of calls.
TURN_BYTES: Final = 16 * 1024
"""Bytes handed to the event loop at once, unless a single message has more."""
STDERR_LINE: Final = 8 * 1024
"""Bytes shown of one line of stderr."""

STDIN_GRACE: Final = 2.0
"""Seconds from closing stdin to SIGTERM."""
TERM_GRACE: Final = 2.0
"""Seconds from SIGTERM to SIGKILL."""
KILL_GRACE: Final = 0.5
"""Seconds from SIGKILL to giving the process up; with the other two, and :data:`LAST_LINES_SECONDS`, below five."""
HURRIED_GRACE: Final = 0.5
"""Seconds from SIGTERM to SIGKILL when the person does not want to wait."""

STDOUT_GRACE: Final = 1.0
"""Seconds that a server may go on running after it closed its stdout."""
DRAIN_SECONDS: Final = 5.0
"""Seconds for the last lines of a server that exited; its guard ends what holds its pipes open within one."""
LAST_LINES_SECONDS: Final = 0.25
"""The same for a server that was ended by us."""

STDIN_CLOSED: Final = "the server closed its stdin"


class LineWriter(asyncio.BaseProtocol):
    """The lines that go to the stdin of a server. A signal overtakes all that is queued, but never enters a line.

    The event loop is given one batch at a time, and the next one only when the pipe has accepted all of it: the queue stays
    here, where a message can be taken back or overtaken. A message that finds nothing queued is written from within the
    call; those that follow in the same turn of the loop are gathered and leave in the next one.
    """

    def __init__(self) -> None:
        self.sink: Sink = SILENCE
        self._pipe: asyncio.WriteTransport | None = None
        self._signals: OrderedDict[object, Outgoing] = OrderedDict()
        self._queue: OrderedDict[object, Outgoing] = OrderedDict()
        """Both by the id of the request; a message without one has a key of its own."""
        self._batch: deque[Outgoing] = deque()
        self._gathering = False
        self._flushing = False
        self._refusal = ""

    def send(self, message: Outgoing) -> None:
        """Queues a message behind those already queued."""
        self._queue[object() if message.id is None else message.id] = message
        if self._refusal:
            self.refuse(self._refusal, batch=False)
        elif not self._gathering and not self._batch:
            self._gathering = True
            asyncio.get_running_loop().call_soon(self._gathered)
            self._flush()

    def signal(self, message: Outgoing) -> None:
        """Writes a cancel ahead of everything queued."""
        self._signals[message.cancels] = message
        if self._refusal:
            self.refuse(self._refusal, batch=False)
        else:
            self._flush()

    def withdraw(self, id: RequestId) -> None:
        """Takes back a request, or its cancel, unless its writing has begun."""
        self._queue.pop(id, None)
        self._signals.pop(id, None)

    def refuse(self, detail: str, *, batch: bool = True) -> None:
        """Reports all that was not wholly written as not sent, now and from now on.

        Without ``batch`` what is being written still leaves.
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
        """Closes the server's stdin behind the batch that is being written, and refuses the rest."""
        # What is leaving still leaves: a cancel may be in it.
        self.refuse(self._refusal or detail, batch=False)
        if self._pipe is not None:
            self._pipe.close()

    def abandon(self) -> None:
        """Closes the pipe without regard to what it holds."""
        if self._pipe is None:
            return
        # close() waits until everything is written, which a server that does not read never lets happen.
        if self._pipe.get_write_buffer_size():
            self._pipe.abort()
        else:  # asyncio does not bear abort() on a pipe that is closing already
            self._pipe.close()

    # -- the event loop's side ---------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: under uvloop the pipes are no subclasses of asyncio's.
        self._pipe = cast("asyncio.WriteTransport", transport)
        # So that asyncio says when the pipe has accepted everything: what it still holds cannot be overtaken by a cancel.
        self._pipe.set_write_buffer_limits(high=0)
        self._flush()

    def resume_writing(self) -> None:
        """Goes on after the pipe has accepted the whole batch."""
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """Refuses everything: nobody reads the pipe any more, or it was closed by us."""
        self._pipe = None
        self.refuse(self._refusal or STDIN_CLOSED)

    # -- the queue ---------------------------------------------------------------------------------------------

    def _gathered(self) -> None:
        self._gathering = False
        self._flush()

    def _flush(self) -> None:
        """Reports what has left, and writes what is queued for as long as the pipe accepts it."""
        pipe = self._pipe
        if self._flushing or pipe is None:  # a report below led here: the loop goes on with it
            return
        self._flushing = True
        try:
            self._report(pipe.get_write_buffer_size())
            while not self._batch and not pipe.is_closing() and self._gather():
                pipe.write(b"".join([message.raw + b"\n" for message in self._batch]))
                self._report(pipe.get_write_buffer_size())
        finally:
            self._flushing = False

    def _gather(self) -> bool:
        """Makes the next batch and reports that it leaves; false if nothing is queued."""
        size = 0
        # C-07: a cancel goes before all that is queued, and behind the line that is being written.
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
        return bool(self._batch)

    def _report(self, left: int) -> None:
        """Reports each message of the batch that has left: none of its bytes is among the last ``left``."""
        behind = sum(len(message.raw) + 1 for message in self._batch) if left else 0
        while self._batch:
            if left:  # hardly ever: a pipe accepts a batch whole
                behind -= len(self._batch[0].raw) + 1
                if behind < left:
                    return
            self.sink.written(message=self._batch.popleft())


class StdioTransport(LineWriter, Transport):
    """A server started by us and spoken to through its stdin and stdout, the same in every revision.

    Its program is looked up in the ``PATH`` of its own environment: the short list of :func:`~launching.server_environment`
    (all of ours with ``inherit_env``), then ``env``. ``max_message`` is the cap of one message in bytes.

    The sink is called from within :meth:`send` and :meth:`signal` too, when the pipe accepts the message at once.
    """

    kind = "stdio"

    _asked: asyncio.Future[None]
    """Done once :meth:`close` was called."""
    _hurry: asyncio.Future[None]
    """Done once :meth:`terminate` was called."""
    _readers: tuple[asyncio.Task[None], asyncio.Task[None]]
    """Read stdout and stderr to their ends."""

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
            TransportError: there is no such program or folder, or the operating system will not run it.
        """
        launch = prepare(self._target)
        loop = asyncio.get_running_loop()
        self.sink = sink
        self._asked, self._hurry = loop.create_future(), loop.create_future()
        self._process = process = await start(launch, self)
        # Nothing may be sent to a process that has ended; what it wrote before is still read to its last line.
        process.exit.add_done_callback(lambda code: self.refuse(exit_text(code.result(), process.guard_code)))
        self.pid = process.pid
        self.sink.happened(text=f"started {launch.path} (pid {self.pid})")
        self._life = spawn(self._live(process), name="follow the server to its end")
        turn = Turn()
        self._readers = (
            spawn(
                _read(
                    process.stdout,
                    self._messages,
                    turn,
                    self._received,
                    self._cut_off,
                ),
                name="read stdout",
            ),
            spawn(
                _read(process.stderr, LineFramer(STDERR_LINE), turn, self._logged, self._logged_half),
                name="read stderr",
            ),
        )

    def unhandled_since(self) -> float | None:
        """Returns the time at which the oldest bytes of stdout were read that are not handled yet."""
        return None if self._process is None else self._process.stdout.unhandled.since

    def unfinished(self) -> list[Unfinished]:
        """Returns the line that the server has begun."""
        begun = self._messages.unfinished
        if self._process is None or not begun:
            return []
        return [Unfinished(read_at=self._process.stdout.unhandled.read_at, begun=begun)]

    def negotiated(self, revision: Revision) -> None:
        """Notes that the server is ready: what it starts from now on is not part of it."""
        if self._process is not None:
            self._process.ready()

    async def close(self) -> None:
        """Ends the server: closes its stdin, after two seconds SIGTERM, after two more SIGKILL (lifecycle, shutdown).

        Calls share one ending, which goes on if a call is cancelled. It takes less than five seconds in all.
        """
        if self._life is not None:
            if not self._asked.done():
                self._asked.set_result(None)
            await asyncio.wait((self._life,))

    async def terminate(self) -> None:
        """Ends the server at once: SIGTERM, half a second later SIGKILL. Hastens a :meth:`close` under way."""
        if self._life is not None and not self._hurry.done():
            self._hurry.set_result(None)
        await self.close()

    # -- lines of the server -----------------------------------------------------------------------------------

    def _received(self, line: RawLine | Oversized, outline: bytes | None, at: float) -> None:
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
        # What a server that ends by itself writes last is whole, whether a line feed follows or not.
        if self._asked.done() and not isinstance(line, Oversized):
            self.sink.stderr_line(text=bytes_text(line), cut=True, at=at)
        else:
            self._logged(line, outline, at)

    # -- the end of the server ---------------------------------------------------------------------------------

    async def _live(self, process: ServerProcess) -> None:
        """Waits until the server ends, or is to end; then ends it, with all that it started."""
        exited, asked, sink = process.exit, self._asked, self.sink
        try:
            await asyncio.sleep(0)  # an eager task would begin before there are readers
            await _first(exited, self._readers[0], asked)
            if not exited.done() and not asked.done():
                # Told at once: nothing can be heard from here on, and nobody may be said to have listened in the meantime.
                self.sink.receiving_ended(detail="server closed its stdout")
                # Its exit would stay unknown if it had stopped its guard before.
                process.wake()
                await _first(exited, asked, seconds=STDOUT_GRACE)
            if exited.done():
                # C-41: its last lines may still lie in the pipes, and an answer among them counts.
                await _first(asyncio.gather(*self._readers), asked, seconds=DRAIN_SECONDS)
            if asked.done():
                await self._end(process, sink)
                await self._finish(process, "server did not end")
            else:
                # Told before the rest is ended, which takes seconds and changes nothing of what is known.
                await self._finish(process, "server closed its stdout but is still running")
                await self._end(process, sink)
        finally:
            process.close()

    async def _finish(self, process: ServerProcess, alive: str) -> None:
        """Reports that the connection is gone, behind the last line; ``alive`` says how if the server has not ended."""
        # A child may hold the pipes open for ever: from here on nobody waits for their ends.
        process.stop_reading()
        await asyncio.wait(self._readers)
        code = process.exit.result() if process.exit.done() else None
        detail = alive if code is None else exit_text(code, process.guard_code)
        self.refuse(detail)
        # Silent before it is said: whoever hears of the end may send again, and nothing may be reported after it.
        sink, self.sink = self.sink, SILENCE
        sink.closed(detail=detail, code=code, expected=self._asked.done())
        self.abandon()

    async def _end(self, process: ServerProcess, sink: Sink) -> None:
        """Ends the process and all that it started, as gently as it permits, and reports what still ran."""
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
        # By the time since the beginning, not grace after grace: a server that ignores everything holds nobody up for
        # longer.
        await _first(all_ended, seconds=started + STDIN_GRACE + TERM_GRACE + KILL_GRACE - time.monotonic())
        if process.exit.done():
            await asyncio.wait(self._readers, timeout=LAST_LINES_SECONDS)
        if process.ended:
            sink.processes_ended(count=process.ended)


_Take = Callable[[RawLine | Oversized, bytes | None, float], None]
"""Takes a line, the outline of a large one, and the time at which its end was read."""


async def _read(
    pipe: PipeReader,
    framer: LineFramer,
    turn: Turn,
    take: _Take,
    cut_off: _Take,
) -> None:
    """Hands the lines of a pipe to ``take``, in order, until it ends, and one whose end did not come to ``cut_off``.

    With a large one comes its outline.

    Lines may wait for the next turn, but each has the time at which it was read.
    """
    at = 0.0
    while (piece := await pipe.read()) is not None:
        at, data = piece
        lines, outline = framer.feed(data), framer.outline
        for line in lines:
            try:
                take(line, outline, at)
            except Exception as error:  # noqa: BLE001 - a listener raises anything; the reading goes on
                report = asyncio.get_running_loop().call_exception_handler
                report({"message": "a message could not be read", "exception": error})
            if turn.is_spent():  # asked here: a coroutine for each line costs more than the question
                await turn.give_way()
            outline = None
        if not lines:  # it was part of a large one
            await turn.breathe()
    for line in framer.close():
        cut_off(line, framer.outline, at)


async def _first(*ends: asyncio.Future[Any], seconds: float | None = None) -> None:
    await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
