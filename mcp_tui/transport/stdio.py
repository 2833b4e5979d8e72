"""The stdio transport: a server as a process of ours, one message a line (transports, stdio, every revision)."""

from __future__ import annotations

import asyncio
import os
import signal as signals
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.framing import Line, Oversized
from mcp_tui.transport.base import MAX_MESSAGE, SILENCE, Outgoing, Sink, spawn
from mcp_tui.transport.pipes import LineReader, LineWriter, Unfinished
from mcp_tui.transport.process import Ends, ServerProcess, prepare, server_environment, start

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


class StdioTransport:
    """A server started by us and spoken to through its stdin and stdout. Implements :class:`~base.Transport`.

    ``command`` is the program and its arguments, never a shell's line. The program is looked up in the ``PATH`` of
    the server's own environment: the short list of :func:`~process.server_environment` (all of ours with
    ``inherit_env``), then ``env``. ``max_message`` is the cap of one message in bytes.

    The sink is called from within :meth:`send` and :meth:`signal` too, where the pipe takes the message at once.
    """

    kind = "stdio"

    _hurry: asyncio.Future[None]
    _closed: asyncio.Future[None]

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        inherit_env: bool = False,
        max_message: int = MAX_MESSAGE,
    ) -> None:
        self.pid: int | None = None
        self._command = tuple(command)
        self._environment = server_environment(os.environ, env or {}, whole=inherit_env)
        self._cwd = cwd
        self._stdin = LineWriter()
        self._stdout = LineReader(max_message, self._take, self._pipe_ended)
        self._stderr = LineReader(STDERR_LINE, self._take_stderr, self._pipe_ended)
        self._sink = SILENCE
        self._process: ServerProcess | None = None
        self._code: int | None = None
        self._exited_at: float | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[None] | None = None
        self._closing = False
        self._finishing = False

    # -- the port

    async def open(self, sink: Sink) -> None:
        """Start the server.

        Raises:
            TransportError: there is no such program or folder, or the operating system will not run it.
        """
        launch = prepare(self._command, self._environment, self._cwd)
        loop = asyncio.get_running_loop()
        self._sink = self._stdin.sink = sink
        self._hurry, self._closed = loop.create_future(), loop.create_future()
        ends = Ends(stdin=self._stdin, stdout=self._stdout, stderr=self._stderr, exited=self._exited)
        self._process = await start(launch, ends)
        self.pid = self._process.pid
        self._sink.happened(text=f"started {launch.path} (pid {self.pid})")
        loop.call_soon(self._pipe_ended)  # it may have ended meanwhile

    def send(self, message: Outgoing) -> None:
        self._stdin.send(message)

    def unqueue(self, id: RequestId) -> None:
        self._stdin.unqueue(id)

    def signal(self, id: RequestId, signal: Signal, message: Outgoing | None) -> None:
        if message is None:
            self._sink.signal_failed(id=id, detail="stdio has no stream to close")
        else:
            self._stdin.signal(id, signal, message)

    def recall(self, id: RequestId) -> None:
        self._stdin.recall(id)

    def release(self, id: RequestId) -> None:
        """Nothing: on stdio no request has a stream of its own."""

    def negotiated(self, revision: str, *, modern: bool) -> None:
        """Nothing: stdio is the same in every revision."""

    async def close(self) -> None:
        """End the server: close its stdin, after two seconds SIGTERM, after two more SIGKILL (lifecycle, shutdown).

        Calls share one ending, which goes on where a call is cancelled. It takes less than five seconds in all.
        """
        if self._process is not None:
            self._closing = True
            await asyncio.shield(self._end())

    async def terminate(self) -> None:
        """End the server at once: SIGTERM, half a second later SIGKILL. Hastens a :meth:`close` under way."""
        if self._process is not None and not self._hurry.done():
            self._hurry.set_result(None)
        await self.close()

    # -- what comes

    def _take(self, line: Line | Oversized) -> None:
        if isinstance(line, Oversized):
            self._sink.too_large(head=line.head, size=line.size, tail=line.tail)
        else:
            self._sink.received(raw=bytes(line), unfinished=isinstance(line, Unfinished))

    def _take_stderr(self, line: Line | Oversized) -> None:
        if isinstance(line, Oversized):
            text = line.head[:STDERR_LINE].decode("utf-8", "replace") + f"… ({line.size} bytes)"
        else:
            text = line.decode("utf-8", "replace")
        self._sink.stderr_line(text=text)

    # -- how it ends

    def _exited(self, code: int) -> None:
        self._code = code
        self._exited_at = time.monotonic()
        self._stdin.refuse(ended_how(code))
        self._pipe_ended()

    def _pipe_ended(self) -> None:
        """A pipe or the process came to its end: decide what is still waited for."""
        if self._finishing or self._process is None:
            return
        if self._exited_at is not None and self._stdout.done and self._stderr.done:
            self._finish()
        elif self._closing:
            return  # the ladder decides
        elif self._exited_at is not None:
            self._wait(QUIET, self._drained)
        elif self._stdout.done:
            if self._patience is None:
                self._sink.unheard(detail="server closed its stdout")
            self._wait(STDOUT_GRACE, self._mute)

    def _wait(self, seconds: float, then: Callable[[], None]) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self._patience = asyncio.get_running_loop().call_later(seconds, then)

    def _drained(self) -> None:
        """The server has ended, but somebody holds its pipes open: leave them when they are quiet."""
        assert self._exited_at is not None
        if self._finishing:
            return
        now = time.monotonic()
        quiet_at = max(self._stdout.heard_at, self._stderr.heard_at, self._exited_at) + QUIET
        if now < min(quiet_at, self._exited_at + DRAIN):
            self._wait(QUIET / 5, self._drained)
        else:
            self._finish()

    def _mute(self) -> None:
        """The server closed its stdout and goes on running: nothing can come of it any more."""
        self._finish("server closed its stdout but is still running")
        self._end()

    def _finish(self, detail: str = "") -> None:
        if self._finishing:
            return
        self._finishing = True
        if self._patience is not None:
            self._patience.cancel()
        for reader in (self._stderr, self._stdout):
            reader.stop()
        detail = detail or ("server did not end" if self._code is None else ended_how(self._code))
        self._stdin.refuse(detail)
        sink, self._sink, self._stdin.sink = self._sink, SILENCE, SILENCE
        sink.closed(detail=detail, code=self._code, expected=self._closing)
        self._closed.set_result(None)
        self._stdin.abandon()
        self._end()

    def _end(self) -> asyncio.Task[None]:
        if self._ending is None:
            self._ending = spawn(self._ladder(), name="end the server")
        return self._ending

    async def _ladder(self) -> None:
        """End the process and all that it started, as gently as it lets us."""
        assert self._process is not None
        await asyncio.sleep(0)  # an eager task would begin before _ending holds it
        gone, hurry, started = self._process.gone, self._hurry, time.monotonic()
        self._stdin.close("the connection is being closed")
        await asyncio.wait((gone, hurry), timeout=STDIN_GRACE, return_when=asyncio.FIRST_COMPLETED)
        if not gone.done():
            self._process.terminate()
            if not hurry.done():
                await asyncio.wait((gone, hurry), timeout=TERM_GRACE, return_when=asyncio.FIRST_COMPLETED)
            else:
                await asyncio.wait((gone,), timeout=HURRIED_GRACE)
            if not gone.done():
                self._process.kill()
        until = started + STDIN_GRACE + TERM_GRACE + KILL_GRACE
        await asyncio.wait((gone,), timeout=until - time.monotonic())
        if self._exited_at is not None:
            self._drained()
        await asyncio.wait((self._closed,), timeout=until + QUIET - time.monotonic())
        self._finish()
        self._process.close()


def ended_how(code: int) -> str:
    """How a process ended, in words; ``code`` is negative for a signal."""
    if code >= 0:
        return f"server exited with code {code}"
    try:
        name = f" ({signals.Signals(-code).name})"
    except ValueError:  # a real-time signal
        name = ""
    return f"server was terminated by signal {-code}{name}"
