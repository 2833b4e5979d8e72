"""A stdio server as a process: started behind the guard, or plainly where there is none; ended with all it started."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Final, Protocol

from mcp_tui.transport.base import spawn
from mcp_tui.transport.launch import Launch, refused

if sys.platform == "win32":
    from mcp_tui.transport.jobobject import JobObject

TERM: Final = 15
KILL: Final = 9
"""POSIX's numbers; the ``signal`` module of Windows lacks the second."""

GUARD: Final = Path(__file__).with_name("guard.py")

PASSING: Final = frozenset({errno.EAGAIN, errno.EFAULT})
"""What an operating system under pressure refuses a start with, and no longer a moment later."""
BREATH: Final = 0.1
"""Seconds to that moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """What the three pipes of a server and its end are connected to."""

    stdin: asyncio.BaseProtocol
    stdout: asyncio.Protocol
    stderr: asyncio.Protocol
    exited: Callable[[int], None]
    """Called once with the exit code, negative for a signal; what the server wrote may still be in the pipes."""


class ServerProcess(Protocol):
    """A running server."""

    pid: int
    """The server's own process id."""
    gone: asyncio.Future[None]
    """Done when the server and, where that can be known, all that it started has ended."""

    def terminate(self) -> None:
        """Send SIGTERM to the server's process group (Windows: end it)."""
        ...

    def kill(self) -> None:
        """Send SIGKILL to the server and all that it started."""
        ...

    def close(self) -> None:
        """Let go of the process, which ends what still runs of it."""
        ...


async def start(launch: Launch, ends: Ends, *, guarded: bool) -> ServerProcess:
    """Start a server and connect its pipes. A cancel or an exception on the way leaves no process behind.

    Raises:
        TransportError: the operating system will not run it.
    """
    plainly = sys.platform == "win32" or not guarded or getattr(sys, "frozen", False) or not sys.executable
    begin = _start_plainly if plainly else _start_guarded
    try:
        return await begin(launch, ends)
    except OSError as error:
        if error.errno not in PASSING:
            raise refused(launch, error.errno or 0) from error
    await asyncio.sleep(BREATH)
    try:
        return await begin(launch, ends)
    except OSError as error:
        raise refused(launch, error.errno or 0) from error


# -- behind the guard ------------------------------------------------------------------------------------------


class _Guarded(asyncio.Protocol):
    """The client's end of the socket to the guard."""

    def __init__(self, guard: subprocess.Popen[bytes], exited: Callable[[int], None]) -> None:
        loop = asyncio.get_running_loop()
        self.pid = 0
        self.gone: asyncio.Future[None] = loop.create_future()
        self.started: asyncio.Future[tuple[str, int]] = loop.create_future()
        self._guard = guard
        self._exited = exited
        self._running = True
        self._socket: asyncio.WriteTransport | None = None
        self._report = b""

    def write(self, data: bytes) -> None:
        if self._socket is not None and not self._socket.is_closing():
            self._socket.write(data)

    def terminate(self) -> None:
        self.write(b"T")

    def kill(self) -> None:
        self.write(b"K")

    def close(self) -> None:
        if self._socket is not None:
            self._socket.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._socket = transport

    def data_received(self, data: bytes) -> None:
        *lines, self._report = (self._report + data).split(b"\n")
        for line in lines:
            word, value = line.split()
            if word == b"exited":
                self._end(int(value))
            elif not self.started.done():
                self.started.set_result((word.decode(), int(value)))

    def connection_lost(self, exc: Exception | None) -> None:
        """The guard has ended: its work is done, or somebody killed it, and the server with it."""
        if not self.started.done():
            self.started.set_result(("failed", 0))
        spawn(self.reap(), name="reap the guard")

    async def reap(self) -> None:
        """Wait for the end of the guard, which is the end of all that it guards."""
        while self._guard.poll() is None:  # noqa: ASYNC110 - it closed its socket by ending: a moment at most
            await asyncio.sleep(0.005)
        if self.pid and self._running:
            _send(self.pid, KILL)
            self._end(-KILL)
        if not self.gone.done():
            self.gone.set_result(None)

    def _end(self, code: int) -> None:
        if self._running:
            self._running = False
            self._exited(code)


async def _start_guarded(launch: Launch, ends: Ends) -> ServerProcess:
    loop = asyncio.get_running_loop()
    with ExitStack() as undo:
        guard, link, pipes = _start_guard(launch, undo)
        process = _Guarded(guard, ends.exited)
        try:
            connection, _ = await loop.create_connection(lambda: process, sock=link)
            undo.callback(connection.abort)
            for pipe, protocol in zip(pipes[1:], (ends.stdout, ends.stderr), strict=True):
                reading, _ = await loop.connect_read_pipe(lambda protocol=protocol: protocol, pipe)
                undo.callback(reading.close)
            writing, _ = await loop.connect_write_pipe(lambda: ends.stdin, pipes[0])
            undo.callback(writing.close)
            block = b"\0".join(os.fsencode(f"{name}={value}") for name, value in launch.environment.items())
            process.write(b"%d\n%s" % (len(block), block))
            word, value = await process.started
            if word == "failed":
                raise refused(launch, value)
        except BaseException:
            undo.close()  # which tells the guard to end
            await process.reap()
            raise
        process.pid = value
        undo.pop_all()
        return process


def _start_guard(
    launch: Launch, undo: ExitStack
) -> tuple[subprocess.Popen[bytes], socket.socket, list[FileIO]]:
    """Start the guard; returns it, the socket to it, and our ends of the server's pipes, stdin first."""
    link, its_link = socket.socketpair()
    undo.enter_context(link)
    with its_link, ExitStack() as its_own:
        ours: list[FileIO] = []
        its: list[int] = []
        for mode in "wrr":
            ends = os.pipe()
            our_end, its_end = ends if mode == "r" else ends[::-1]
            its_own.callback(os.close, its_end)
            ours.append(undo.enter_context(FileIO(our_end, mode)))
            its.append(its_end)
        number = its_link.fileno()
        guard = subprocess.Popen(
            [sys.executable, "-I", "-S", "-E", str(GUARD), str(number), launch.path, *launch.command],
            stdin=its[0],
            stdout=its[1],
            stderr=its[2],
            cwd=launch.cwd,
            pass_fds=(number,),
            start_new_session=True,
        )
    return guard, link, ours


# -- plainly ---------------------------------------------------------------------------------------------------


class _Plain(asyncio.SubprocessProtocol):
    """A server without a guard: on Windows in a job object, elsewhere in a session of its own."""

    def __init__(self, ends: Ends) -> None:
        self.pid = 0
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ends = ends
        self._process: asyncio.SubprocessTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._process = process = transport
        self.pid = process.get_pid()
        if sys.platform == "win32":
            try:
                self._job = JobObject(self.pid)
            except OSError:  # it has ended already, or may not be put into a job
                self._job = None
        for fd, protocol in enumerate((self._ends.stdin, self._ends.stdout, self._ends.stderr)):
            pipe = process.get_pipe_transport(fd)
            assert pipe is not None
            protocol.connection_made(pipe)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        (self._ends.stdout if fd == 1 else self._ends.stderr).data_received(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        (self._ends.stdin, self._ends.stdout, self._ends.stderr)[fd].connection_lost(exc)

    def resume_writing(self) -> None:
        self._ends.stdin.resume_writing()

    def process_exited(self) -> None:
        assert self._process is not None
        code = self._process.get_returncode()
        self._ends.exited(0 if code is None else code)
        self.kill()
        self.gone.set_result(None)

    def terminate(self) -> None:
        if sys.platform == "win32":
            self.kill()
        else:
            _send(self.pid, TERM)

    def kill(self) -> None:
        if sys.platform == "win32":
            if self._job is not None:
                self._job.kill()
            elif self._process is not None and self._process.get_returncode() is None:
                self._process.kill()
        else:
            _send(self.pid, KILL)

    def close(self) -> None:
        self.kill()
        if self._process is not None:
            self._process.close()


async def _start_plainly(launch: Launch, ends: Ends) -> ServerProcess:
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
    process = _Plain(ends)
    try:
        await asyncio.get_running_loop().subprocess_exec(
            lambda: process,
            *launch.command,
            executable=launch.path,
            env=launch.environment,
            cwd=launch.cwd,
            start_new_session=True,
            creationflags=flags,
        )
    except asyncio.CancelledError:
        if process.pid:
            process.kill()
        raise
    return process


def _send(group: int, number: int) -> None:
    if sys.platform != "win32":
        try:
            os.killpg(group, number)
        except OSError:  # nobody is left in it
            return
