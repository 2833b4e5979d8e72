"""The stdio transport: a server as a process of ours, one message a line (transports, stdio, every revision)."""

from __future__ import annotations

import asyncio
import signal as signals
import time
from typing import Any, Final

from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.framing import Line, Oversized
from mcp_tui.protocol.revisions import Revision
from mcp_tui.transport.base import MAX_MESSAGE, SILENCE, Sink, Turn, spawn
from mcp_tui.transport.pipes import LineWriter, Pipe, Unfinished, read_lines
from mcp_tui.transport.process import Ends, ServerProcess, prepare, start
from mcp_tui.transport.targets import StdioTarget

STDERR_LINE: Final = 8 * 1024
"""Bytes shown of one line of stderr."""

STDIN_GRACE: Final = 2.0
"""Seconds from closing stdin to SIGTERM."""
TERM_GRACE: Final = 2.0
"""Seconds from SIGTERM to SIGKILL."""
KILL_GRACE: Final = 0.5
"""Seconds from SIGKILL to letting go of it; with the other two, and :data:`QUIET`, below five."""
HURRIED_GRACE: Final = 0.5
"""Seconds from SIGTERM to SIGKILL where the person does not want to wait."""

STDOUT_GRACE: Final = 1.0
"""Seconds that a server may go on running after it closed its stdout."""
QUIET: Final = 0.25
"""Seconds of silence after which the pipes of a server that has ended are taken to be empty, whoever holds them open."""
DRAIN: Final = 5.0
"""Seconds after which they are left in any case."""


class StdioTransport(LineWriter):
    """A server started by us and spoken to through its stdin and stdout. Implements :class:`~base.Transport`.

    Its program is looked up in the ``PATH`` of its own environment: the short list of :func:`~process.server_environment`
    (all of ours with ``inherit_env``), then ``env``. ``max_message`` is the cap of one message in bytes.

    The sink is called from within :meth:`send` and :meth:`signal` too, where the pipe takes the message at once.
    """

    kind = "stdio"

    _asked: asyncio.Future[None]
    """Done once :meth:`close` was called."""
    _hurry: asyncio.Future[None]
    """Done once :meth:`terminate` was called."""
    _exit: asyncio.Future[int]
    """The exit code."""
    _pipes: tuple[Pipe, Pipe]
    """The server's stdout and stderr."""
    _readers: tuple[asyncio.Task[None], asyncio.Task[None]]

    def __init__(self, target: StdioTarget, *, max_message: int = MAX_MESSAGE) -> None:
        super().__init__()
        self.pid: int | None = None
        self._target = target
        self._max_message = max_message
        self._life: asyncio.Task[None] | None = None
        self._finished = False

    # -- the port

    async def open(self, sink: Sink) -> None:
        """Start the server.

        Raises:
            TransportError: there is no such program or folder, or the operating system will not run it.
        """
        launch = prepare(self._target)
        loop = asyncio.get_running_loop()
        self.sink = sink
        self._asked, self._hurry, self._exit = (loop.create_future() for _ in range(3))
        self._pipes = stdout, stderr = Pipe(), Pipe()
        ends = Ends(stdin=self, stdout=stdout, stderr=stderr, exited=self._exited)
        process = await start(launch, ends)
        self.pid = process.pid
        self.sink.happened(text=f"started {launch.path} (pid {self.pid})")
        self._life = spawn(self._live(process), name="follow the server to its end")
        turn = Turn()
        self._readers = (
            spawn(read_lines(stdout, self._max_message, turn, self._take), name="read stdout"),
            spawn(read_lines(stderr, STDERR_LINE, turn, self._take_stderr), name="read stderr"),
        )

    def release(self, id: RequestId) -> None:
        """Nothing: on stdio no request has a stream of its own."""

    def negotiated(self, revision: Revision) -> None:
        """Nothing: stdio is the same in every revision."""

    async def close(self) -> None:
        """End the server: close its stdin, after two seconds SIGTERM, after two more SIGKILL (lifecycle, shutdown).

        Calls share one ending, which goes on where a call is cancelled. It takes less than five seconds in all.
        """
        if self._life is not None:
            if not self._asked.done():
                self._asked.set_result(None)
            await asyncio.wait((self._life,))

    async def terminate(self) -> None:
        """End the server at once: SIGTERM, half a second later SIGKILL. Hastens a :meth:`close` under way."""
        if self._life is not None and not self._hurry.done():
            self._hurry.set_result(None)
        await self.close()

    # -- what comes

    def _take(self, line: Line | Oversized) -> None:
        if isinstance(line, Oversized):
            self.sink.too_large(head=line.head, size=line.size, tail=line.tail)
        else:
            self.sink.received(raw=bytes(line), unfinished=isinstance(line, Unfinished))

    def _take_stderr(self, line: Line | Oversized) -> None:
        if isinstance(line, Oversized):
            text = line.head[:STDERR_LINE].decode("utf-8", "replace") + f"… ({line.size} bytes)"
        else:
            text = line.decode("utf-8", "replace")
        self.sink.stderr_line(text=text)

    # -- how it ends

    def _exited(self, code: int) -> None:
        self._exit.set_result(code)
        self.refuse(ended_how(code))

    async def _live(self, process: ServerProcess) -> None:
        """Wait for the end of the server, or for the wish to end it; then end it, with all that it started."""
        exited, asked = self._exit, self._asked
        try:
            await asyncio.sleep(0)  # an eager task would begin before there are readers
            await _first(exited, self._readers[0], asked)
            if not exited.done() and not asked.done():
                self.sink.unheard(detail="server closed its stdout")
                await _first(exited, asked, seconds=STDOUT_GRACE)
            if exited.done():
                await self._drain(asked)
            if not asked.done():
                await self._finish(process, "server closed its stdout but is still running")
            await self._end(process)
            await self._finish(process, "server did not end")
        finally:
            process.close()

    async def _drain(self, unless: asyncio.Future[None] | None = None, *, most: float = DRAIN) -> None:
        """Wait for the last lines of a server that has ended: where somebody holds its pipes open, until they are quiet.

        It takes ``most`` seconds at most.
        """
        began = now = time.monotonic()
        while any(not reader.done() for reader in self._readers) and not (unless and unless.done()):
            if now >= min(max(began, *(pipe.heard_at for pipe in self._pipes)) + QUIET, began + most):
                break
            await asyncio.wait(self._readers, timeout=QUIET / 5)
            now = time.monotonic()

    async def _finish(self, process: ServerProcess, alive: str) -> None:
        """Tell that the connection is gone, behind the last line; ``alive`` says how where the server has not ended."""
        if self._finished:
            return
        self._finished = True
        process.stop_reading()
        await asyncio.wait(self._readers)
        code = self._exit.result() if self._exit.done() else None
        detail = alive if code is None else ended_how(code)
        self.refuse(detail)
        sink, self.sink = self.sink, SILENCE
        sink.closed(detail=detail, code=code, expected=self._asked.done())
        self.abandon()

    async def _end(self, process: ServerProcess) -> None:
        """End the process and all that it started, as gently as it lets us."""
        started, gone, hurry = time.monotonic(), process.gone, self._hurry
        self.end_input("the connection is being closed")
        await _first(gone, hurry, seconds=STDIN_GRACE)
        if not gone.done():
            process.terminate()
            if not hurry.done():
                await _first(gone, hurry, seconds=TERM_GRACE)
            else:
                await _first(gone, seconds=HURRIED_GRACE)
            if not gone.done():
                process.kill()
        until = started + STDIN_GRACE + TERM_GRACE + KILL_GRACE
        await _first(gone, seconds=until - time.monotonic())
        if self._exit.done():
            await self._drain(most=until + QUIET - time.monotonic())


async def _first(*ends: asyncio.Future[Any], seconds: float | None = None) -> None:
    await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


def ended_how(code: int) -> str:
    """How a process ended, in words; ``code`` is negative for a signal."""
    if code >= 0:
        return f"server exited with code {code}"
    try:
        name = f" ({signals.Signals(-code).name})"
    except ValueError:  # a real-time signal
        name = ""
    return f"server was terminated by signal {-code}{name}"
