"""Experiments with a stdio server whose client disappears: stdin closed, client killed, stderr broken, wrapper killed.

Each starts a separate process without the client's transport, which would end the server by a signal.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, cast

from mcp_tui.client.client_settings import StdioTarget, Target
from mcp_tui.probe.judging import LOG, PROGRESS
from mcp_tui.probe.raw_connection import ProbeConnection
from mcp_tui.probe.report import Verdict
from mcp_tui.probe.rules import RULES
from mcp_tui.probe.trial import Trial
from mcp_tui.transport import base
from mcp_tui.transport.launching import prepare

OWN_EXIT_SECONDS: Final = 5.0
"""The seconds in which a server must exit, in addition to the rest of its tool's run and the time of its start."""

PROCESS_LOOK_SECONDS: Final = 0.01
"""The seconds between two checks of the processes."""

WRAPPER: Final = (
    sys.executable,
    "-S",
    "-c",
    "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))",
)
"""The command of a process between client and server, like npx, uvx, or a shell; the server inherits its pipes."""

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
"""The command of a process that starts the server with new pipes, like a client, and copies their data."""


class LoneServer(asyncio.SubprocessProtocol, base.Transport):
    """The transport to a server in a separate process group, with pipes that can be closed one by one.

    ``through`` is the command line of a process that starts the server: ``WRAPPER``, ``CLIENT``, or empty for none.
    """

    kind = "stdio"
    pid: int | None = None
    process: asyncio.SubprocessTransport

    def __init__(self, target: Target, through: tuple[str, ...] = ()) -> None:
        self._target = cast("StdioTarget", target)
        self._through = through
        self._rest = b""
        self._is_open = False

    async def open(self, sink: base.Sink) -> None:
        """Starts the server.

        Raises:
            TransportError: the program or the working directory does not exist.
        """
        self.sink = sink
        launch = prepare(self._target)
        # The new session is a process group, by which close() finds and kills all processes that the server started.
        command = (*self._through, launch.path, *self._target.command[1:])
        await asyncio.get_running_loop().subprocess_exec(
            lambda: self, *command, env=launch.environment, cwd=self._target.cwd, start_new_session=True
        )
        self._is_open = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Stores the process here, because it may have ended before :meth:`open` continues."""
        self.process = cast("asyncio.SubprocessTransport", transport)
        self.pid = self.process.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Passes each line of stdout to the sink."""
        if fd == 1:
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self.sink.received(raw=line)

    def process_exited(self) -> None:
        """Reports the end of the started process to the sink."""
        self.sink.closed(detail=f"the server exited (code {self.code})")

    def send(self, message: base.Outgoing) -> None:
        """Writes a message."""
        cast("asyncio.WriteTransport", self.process.get_pipe_transport(0)).write(message.raw + b"\n")
        self.sink.written(message=message)

    def break_pipe(self, number: int) -> None:
        """Closes the client's end of a pipe."""
        if (end := self.process.get_pipe_transport(number)) is not None:
            end.close()

    def kill(self) -> None:
        """Kills the started process, but not its child processes."""
        os.kill(self.process.get_pid(), signal.SIGKILL)

    @property
    def code(self) -> int | None:
        """The exit code of the started process; ``None`` while it runs."""
        return self.process.get_returncode()

    async def has_ended(self, within: float = 0.0) -> bool:
        """Waits for at most ``within`` seconds until all processes have ended; returns whether they have."""
        end = time.monotonic() + within
        while self.code is None or running(self.process.get_pid()):
            if time.monotonic() >= end:
                return False
            await asyncio.sleep(PROCESS_LOOK_SECONDS)
        return True

    async def close(self) -> None:
        """Kills all remaining processes."""
        if not self._is_open:
            return
        self._is_open, self.sink = False, base.SILENCE
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.get_pid(), signal.SIGKILL)
        await self.has_ended(1.0)
        self.process.close()


def running(group: int) -> list[int]:
    """Returns the ids of the running processes of a group, without zombies."""
    found: list[int] = []
    if Path("/proc/self/stat").exists():
        # Not "[0-9]*/stat", because glob then checks that file, and fails if the process ends just then.
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                state, _, of = (process / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[:3]
                if of == str(group) and state not in "ZX":
                    found.append(int(process.name))
        return found
    command = "ps", "-A", "-o", "pid=,pgid=,stat="
    listed = subprocess.run(command, check=False, capture_output=True, text=True)
    for line in listed.stdout.splitlines():
        pid, of, state = line.split()[:3]
        if of == str(group) and not state.startswith("Z"):
            found.append(int(pid))
    return found


_ENDING_WAYS: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "P-21": ("stdin was closed", ()),
    "P-29": ("the client was killed (kill -9)", CLIENT),
    "P-31": ("the wrapper was killed and stdin closed", WRAPPER),
}
"""A description of the way in which the client disappears, and the process that starts the server, by rule."""


async def _left(trial: Trial, connection: ProbeConnection, rule: str, *, busy: bool) -> None:
    """Removes the client of a server, ``busy`` or idle, and judges whether all its processes end.

    The process that started the server is killed, and its stdin is closed unless that process was the client.
    """
    what, through = _ENDING_WAYS[rule]
    server = LoneServer(trial.server.client.target, through)
    await connection.open(server)
    remaining, unread = await _work(trial, connection, rule) if busy else (0.0, "")
    trial.evidence = []
    trial.note(what + (" with a call in flight" if busy else " with nothing in flight"))
    if await server.has_ended():
        trial.give_up(rule, "the server had exited before")
    began = time.monotonic()
    server.sink = base.SILENCE  # later output is not part of a session
    if through:
        server.kill()
    if through != CLIENT:
        server.break_pipe(0)
    has_ended = await server.has_ended(OWN_EXIT_SECONDS + trial.server.connecting + remaining)
    took = time.monotonic() - began
    # Data that the client had not copied is lost with the client; data in the stdin of the server is read before its end.
    if has_ended and unread and through == CLIENT:
        trial.unseen(rule, f"it exited after {took:.2f} s, but {unread}")
    elif has_ended:
        code = "" if through else f" (code {server.code})"
        after_tool = ", when the tool had ended" if remaining and took >= 0.85 * remaining else ""
        trial.passed(rule, f"it exited after {took:.2f} s{code}{after_tool}")
    if has_ended:
        return
    pids = ", ".join(str(pid) for pid in running(server.process.get_pid()))
    trial.note(f"still running after {took:.1f} s: process {pids}")
    tool = f"; its tool would have ended after {remaining:.1f} s" if remaining else ""
    trial.warned(rule, f"it was still running {took:.1f} s later{tool}")


async def _work(trial: Trial, connection: ProbeConnection, rule: str) -> tuple[float, str]:
    """Calls the slow tool, and waits until it works.

    Returns the seconds until its expected end, and a text if nothing shows that the server has read the call. Progress, a
    log message, or the answer to a later request shows it.

    Raises:
        Judged: the call ended too early, so ``rule`` cannot be judged.
    """
    choice, control = trial.choice, trial.control
    trace = connection.call(choice.name, choice.arguments)
    behind = connection.echo()

    def is_read() -> bool:
        # Heartbeats do not count, because they may come from another experiment.
        signs = trace.signs(connection.now())
        return bool(behind.responses or signs.get(PROGRESS) or signs.get(LOG))

    await asyncio.sleep(min(trial.mid, 0.5))
    first = min((at for each in (PROGRESS, LOG) for at in control.times(each)), default=math.inf)
    if (control.echoes and not control.blocks) or first < 0.5 * control.length:
        # On a busy machine the server may not have read the call yet.
        await connection.until(lambda: is_read() or trace.over(), connection.now() + trial.server.patience)
    trial.in_flight(rule, trace)
    remaining = control.length - (connection.now() - trace.sent_at)
    doubt = "nothing shows that it had read the call: it answers nothing while its tool works"
    unread = "" if is_read() else doubt
    return OWN_EXIT_SECONDS if control.duration is None else max(0.0, remaining), unread


async def abandoned(trial: Trial, rule: str) -> None:
    """P-21, P-29, and P-31: removes the client of an idle server, then that of a server with a call in flight."""
    await _left(trial, trial.connection, rule, busy=False)
    # If the idle server stays, the rule is broken already, and the busy one is not tried.
    if trial.findings[0].verdict is Verdict.PASS and trial.server.busy:
        trial.findings.clear()
        again = trial.server.connect(f"{RULES[rule].experiment} with a call in flight")
        try:
            await _left(trial, again, rule, busy=True)
        finally:
            await again.close()


async def stderr_broken(trial: Trial) -> None:
    """P-30: the client closes its end of stderr, because it may ignore stderr."""
    server, connection = trial.server, trial.connection
    process = LoneServer(server.client.target)
    trial.note("the client closed its end of stderr")
    await connection.open(process)
    process.break_pipe(2)
    # asyncio closes the pipe in the next iteration of its loop; no message may be sent before.
    await asyncio.sleep(0)
    if server.busy and server.control.answer is None:
        await _work(trial, connection, "P-30")
    elif server.busy and (how := await trial.spared("P-30", await trial.begin())):
        trial.warned("P-30", f"a call {how}")
        return
    found = await trial.next_call("P-30")
    trial.evidence += found.evidence
    trial.found("P-30", Verdict.WARNING if found.verdict is Verdict.FAIL else found.verdict, found.sentence)
