"""The process of a stdio server, from the start of its guard to the end of all that it started."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from io import FileIO
from typing import Final, cast

from mcp_tui.transport.base import spawn
from mcp_tui.transport.guard import LEFT_GRACE
from mcp_tui.transport.launching import GuardedStart, Launch, refused, take_start
from mcp_tui.transport.read_ahead import PipeReader

PASSING_ERRNOS: Final = frozenset({errno.EAGAIN, errno.EFAULT})
"""Errors with which an operating system under pressure refuses a start; a moment later it does not."""
SECOND_ATTEMPT_SECONDS: Final = 0.1
"""Seconds before the second attempt."""


class ServerProcess:
    """A running server, and our end of the socket to its guard."""

    def __init__(
        self,
        started: GuardedStart,
        reports: asyncio.StreamReader,
        requests: asyncio.StreamWriter,
    ) -> None:
        self.pid = 0
        """The server's own process id."""
        self.exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """Its exit code, negative for a signal, once there is one; its last lines may still be in its pipes then."""
        self.all_ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the server and all that it started has ended."""
        self.guard_code = 0
        """The exit code of the guard if that ended before the server, and so ended it; 0 if it did not."""
        self.ended = 0
        """Number of processes that the server had started, and that were still running when they were ended."""
        self.stdout = PipeReader()
        self.stderr = PipeReader()
        self._pipes: list[asyncio.ReadTransport] = []
        self._ready = 0  # in clock ticks since the machine started, as Linux tells the start of a process
        self._started = started
        self._guard = started.guard
        self._reports = reports
        self._requests = requests

    def ready(self) -> None:
        """Notes that what runs already is part of the server, such as the server itself behind npx or a shell."""
        # The boot time, not the monotonic one: the starts of processes in /proc count the time of a suspended machine, too.
        if sys.platform == "linux":
            self._ready = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))

    def terminate(self) -> None:
        """Sends SIGTERM to the server's process group."""
        self._request(b"T")

    def kill(self) -> None:
        """Sends SIGKILL to the server and all that it started."""
        self._request(b"K")

    def _request(self, what: bytes) -> None:
        self._requests.write(b"%s%d" % (what, self._ready))
        self.wake()

    def wake(self) -> None:
        """Continues the guard, which a server could have stopped (SIGSTOP): it reports exits and ends what is left."""
        with suppress(OSError):
            os.killpg(
                self._guard.pid, signal.SIGCONT
            )  # where it has a backup, that was started, and its group is the same

    def stop_reading(self) -> None:
        """Closes its stdout and stderr, whoever holds them open; the readers come to their end."""
        for pipe in self._pipes:
            pipe.close()

    def close(self) -> None:
        """Closes the link to the guard, which ends what still runs of the server."""
        self._requests.transport.abort()
        self.wake()

    async def read(self, stdout: FileIO, stderr: FileIO) -> None:
        """Connects our ends of its stdout and stderr."""
        for file, reader in ((stdout, self.stdout), (stderr, self.stderr)):
            pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda made=reader: made, file)
            self._pipes.append(pipe)

    async def begin(self) -> None:
        """Hands the rest of the environment to the guard, and waits until there is a server.

        Raises:
            TransportError: the guard could not start it.
        """
        self._requests.write(self._started.unsent)
        # A guard that could not even begin closes the socket without a word, or resets it: that has failed for a reason
        # unknown.
        report = b""
        with suppress(OSError):
            report = await self._reports.readline()
        word, value = report.split() or (b"failed", 0)
        if word == b"failed":
            raise refused(self._started.launch, int(value))
        self.pid = int(value)

    async def follow(self) -> None:
        """Reports the exit of the server, then waits for the end of the guard and of all that it guards."""
        try:
            with suppress(OSError):
                async for report in self._reports:
                    word, value = report.split()
                    if word == b"exited":
                        self.exit.set_result(int(value))
                    elif word == b"told":
                        self.guard_code = -int(value)
                    else:
                        self.ended = int(value)
        finally:
            await _reap(self._guard)
            # The socket ends with the guard, be its work done or not: one that was killed has reported no exit, and nobody
            # may wait for it. Where it has no backup, or that was killed too, the group may still run.
            if not self.exit.done():  # somebody killed the guard, and the server with it
                self.guard_code = self.guard_code or self._guard.returncode
                with suppress(OSError):  # nobody is left in its group
                    os.killpg(self.pid, signal.SIGTERM)
                    await asyncio.sleep(LEFT_GRACE)
                    os.killpg(self.pid, signal.SIGKILL)
                self.exit.set_result(-signal.SIGKILL)
            self.all_ended.set_result(None)


async def _reap(guard: subprocess.Popen[bytes]) -> None:
    while guard.poll() is None:  # noqa: ASYNC110 - its socket is closed: a moment at most
        await asyncio.sleep(0.005)


async def start(launch: Launch, stdin: asyncio.BaseProtocol) -> ServerProcess:
    """Starts a server and connects its pipes. A cancel or an exception on the way leaves no process behind.

    Raises:
        TransportError: the operating system will not run it.
    """
    try:
        try:
            return await _start_guarded(launch, stdin)
        except OSError as error:
            if error.errno not in PASSING_ERRNOS:
                raise
        await asyncio.sleep(SECOND_ATTEMPT_SECONDS)
        return await _start_guarded(launch, stdin)
    except OSError as error:
        raise refused(launch, error.errno or 0) from error


async def _start_guarded(launch: Launch, stdin: asyncio.BaseProtocol) -> ServerProcess:
    with ExitStack() as undo:
        started = take_start(launch)
        link, guard = undo.enter_context(started.link), started.guard
        files = [
            undo.enter_context(cast("FileIO", pipe)) for pipe in (guard.stdin, guard.stdout, guard.stderr)
        ]
        try:
            reports, requests = await asyncio.open_connection(sock=link)
            process = ServerProcess(started, reports, requests)
            undo.callback(process.close)
            undo.callback(process.stop_reading)
            await process.read(files[1], files[2])
            writing, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: stdin, files[0])
            undo.callback(writing.close)
            await process.begin()
        except BaseException:
            undo.close()  # so that the guard ends
            # shielded, so that a second cancel leaves no process behind either
            await asyncio.shield(spawn(_reap(guard), name="reap the guard"))
            raise
        # Only now: two readers may not wait on one stream, and begin() reads the report of the start.
        spawn(process.follow(), name="follow the guard to its end")
        undo.pop_all()
        return process
