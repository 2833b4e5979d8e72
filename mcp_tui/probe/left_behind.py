"""Experiments with a stdio server whose client goes away: stdin closed, client killed, stderr broken, wrapper killed.

Each has a process of its own, started here and not by the transport, which would end the server by a signal.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self, cast

from mcp_tui.client.settings import StdioTarget
from mcp_tui.probe.connection import INITIALIZED, OPENING, Peer
from mcp_tui.probe.report import Verdict
from mcp_tui.probe.trial import Trial
from mcp_tui.protocol import messages
from mcp_tui.protocol.messages import Json
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.process import prepare

EXIT_WAIT: Final = 5.0
"""Seconds that a server is given to exit by itself, beyond what its tool still takes."""

LOOK: Final = 0.01
"""Seconds between two looks at the pipes."""

WRAPPER: Final = (
    sys.executable,
    "-S",
    "-c",
    "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))",
)
"""Stands between client and server as npx, uvx or a shell does: the server inherits its pipes."""

CLIENT: Final = (
    sys.executable,
    "-S",
    "-c",
    """\
import os, subprocess, sys, threading

def copy(source, sink):
    while chunk := os.read(source, 1 << 16):
        os.write(sink, chunk)
    os.close(sink)

server = subprocess.Popen(sys.argv[1:], stdin=-1, stdout=-1, stderr=-1)
ends = (0, server.stdin.fileno()), (server.stdout.fileno(), 1), (server.stderr.fileno(), 2)
for source, sink in ends:
    threading.Thread(target=copy, args=(source, sink), daemon=True).start()
os._exit(server.wait() & 255)
""",
)
"""Starts the server on pipes of its own, as a client does, and passes on what comes through them."""


class LoneServer(asyncio.SubprocessProtocol):
    """A server in a process group of its own, whose pipes can be broken one by one."""

    transport: asyncio.SubprocessTransport

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        self.answered: set[int] = set()
        self._rest = b""
        self._id = 0

    @classmethod
    async def start(cls, peer: Peer, through: tuple[str, ...] = ()) -> Self:
        """Start a server; ``through`` is the command line of a process between it and us, ``WRAPPER`` or ``CLIENT``.

        Raises:
            TransportError: there is no such program or folder.
        """
        target = cast("StdioTarget", peer.target)
        launch = prepare(target)
        command = (*through, launch.path, *target.command[1:])
        _, server = await asyncio.get_running_loop().subprocess_exec(
            lambda: cls(peer), *command, env=launch.environment, cwd=target.cwd, start_new_session=True
        )
        return server

    async def open(self) -> None:
        """Shake hands.

        Raises:
            TransportError: the server does not answer.
        """
        self._write(self.peer.request(OPENING, *self.peer.hello()))
        if not await self.until(lambda: OPENING in self.answered, self.peer.settings.connect_timeout):
            raise TransportError("the server did not answer")
        if not self.peer.revision.modern:
            self._write(messages.notification(INITIALIZED))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what the process is reached by."""
        self.transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Note which requests were answered."""
        if fd == 1:
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                frame = messages.parse(line)
                if isinstance(frame, messages.ResponseFrame) and type(frame.id) is int:
                    self.answered.add(frame.id)

    def ask(self, method: str, params: dict[str, Json]) -> int:
        """Send a request; its id."""
        self._id += 1
        self._write(self.peer.request(self._id, method, params))
        return self._id

    def _write(self, message: dict[str, Json]) -> None:
        stdin = cast("asyncio.WriteTransport", self.transport.get_pipe_transport(0))
        stdin.write(messages.encode(message) + b"\n")

    async def until(self, condition: Callable[[], bool], within: float) -> bool:
        """Wait until the condition holds, for so many seconds at most; whether it does."""
        end = time.monotonic() + within
        while not condition():
            if time.monotonic() >= end:
                return False
            await asyncio.sleep(LOOK)
        return True

    def close(self, pipe: int) -> None:
        """Close our end of a pipe."""
        if (end := self.transport.get_pipe_transport(pipe)) is not None:
            end.close()

    def kill(self) -> None:
        """Kill the process that we started; what it started goes on."""
        os.kill(self.transport.get_pid(), signal.SIGKILL)

    @property
    def code(self) -> int | None:
        """The exit code, once the process that we started has ended."""
        return self.transport.get_returncode()

    def gone(self) -> bool:
        """Whether no process of it runs any more."""
        return self.code is not None and not running(self.transport.get_pid())

    async def end(self) -> None:
        """End whatever is left."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.transport.get_pid(), signal.SIGKILL)
        await self.until(lambda: self.code is not None, 1.0)
        self.transport.close()


def running(group: int) -> list[int]:
    """The processes of a group that have not ended, zombies left out."""
    found: list[int] = []
    if Path("/proc/self/stat").exists():
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                state, _, of = stat.read_text("utf-8", "replace").rpartition(")")[2].split()[:3]
                if of == str(group) and state not in "ZX":
                    found.append(int(stat.parent.name))
        return found
    listed = subprocess.run(
        ("ps", "-A", "-o", "pid=,pgid=,stat="), check=False, capture_output=True, text=True
    ).stdout
    for line in listed.splitlines():
        pid, of, state = line.split()[:3]
        if of == str(group) and not state.startswith("Z"):
            found.append(int(pid))
    return found


def _stdin_closes(server: LoneServer) -> None:
    server.close(0)


def _wrapper_dies(server: LoneServer) -> None:
    server.kill()
    server.close(0)


async def _left(
    trial: Trial,
    rule: str,
    what: str,
    deed: Callable[[LoneServer], None],
    through: tuple[str, ...] = (),
    *,
    busy: bool,
) -> None:
    """Do something to a server, ``busy`` or not, and see whether all its processes end."""
    server = await LoneServer.start(trial.setup.peer, through)
    try:
        await server.open()
        left = await _work(server, trial) if busy else 0.0
        trial.told = []
        trial.tell(what + (" with a call in flight" if busy else " with nothing in flight"))
        if server.gone():
            trial.found(rule, Verdict.NOT_OBSERVABLE, "the server had exited before")
            return
        began = time.monotonic()
        deed(server)
        gone = await server.until(server.gone, EXIT_WAIT + left)
        took = time.monotonic() - began
        if gone:
            code = "" if through else f" (code {server.code})"
            words = f"it exited after {took:.2f} s{code}"
            if left and took >= 0.85 * left:
                words += ", when the tool had ended"
            trial.found(rule, Verdict.PASS, words)
            return
        pids = ", ".join(str(pid) for pid in running(server.transport.get_pid()))
        trial.tell(f"still running after {took:.1f} s: process {pids}")
        tool = f"; its tool would have ended after {left:.1f} s" if left else ""
        trial.found(rule, Verdict.WARNING, f"it was still running {took:.1f} s later{tool}")
    finally:
        await server.end()


async def _work(server: LoneServer, trial: Trial) -> float:
    """Let the server work; the seconds that its tool still takes."""
    choice, control = trial.choice, trial.control
    server.ask("tools/call", {"name": choice.name, "arguments": choice.arguments})
    wait = min(trial.mid, 0.5)
    await server.until(lambda: False, wait)
    return control.length - wait if control.duration is not None else EXIT_WAIT


async def stdin_closed(trial: Trial) -> None:
    """P-21: a server that works is given the time that its tool still takes."""
    await _left(trial, "P-21", "stdin was closed", _stdin_closes, busy=False)
    if trial.findings[0].verdict is Verdict.PASS and trial.setup.busy:
        trial.findings.clear()
        await _left(trial, "P-21", "stdin was closed", _stdin_closes, busy=True)


async def client_killed(trial: Trial) -> None:
    """P-29: the server loses its parent and all three pipes at the same moment."""
    what = "the client was killed (kill -9)"
    await _left(trial, "P-29", what, LoneServer.kill, CLIENT, busy=trial.setup.busy)


async def wrapper_killed(trial: Trial) -> None:
    """P-31: a process between client and server is killed; the client then closes stdin."""
    what = "the wrapper was killed and stdin closed"
    await _left(trial, "P-31", what, _wrapper_dies, WRAPPER, busy=trial.setup.busy)


async def stderr_broken(trial: Trial) -> None:
    """P-30: a client may ignore what the server writes to stderr."""
    setup = trial.setup
    server = await LoneServer.start(setup.peer)
    trial.tell("the client closed its end of stderr")
    try:
        await server.open()
        server.close(2)
        # asyncio closes it at the next turn of its loop, and the server may not be told anything before
        await asyncio.sleep(0)
        if setup.busy:
            await _work(server, trial)
        next_ = server.ask("tools/list", {})
        await server.until(
            lambda: next_ in server.answered or server.code is not None,
            setup.patience + setup.length,
        )
        if next_ in server.answered:
            trial.found("P-30", Verdict.PASS, "the next call was answered")
            return
        code = server.code
        how = "no answer" if code is None else f"the server exited (code {code})"
        trial.found("P-30", Verdict.WARNING, f"the next call was not answered: {how}")
    finally:
        await server.end()
