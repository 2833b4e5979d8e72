"""The process of a stdio server, from the start of its guard to the end of all its descendants."""

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

READ_BYTES: Final = 64 * 1024
"""The most bytes of one read, as many as a pipe has by default."""

PASSING_ERRNOS: Final = frozenset({errno.EAGAIN, errno.EFAULT})
"""Temporary errors of a start under load, after which a second attempt usually succeeds."""
SECOND_ATTEMPT_SECONDS: Final = 0.1
"""The seconds before the second attempt."""


class ServerProcess:
    """A running server, and the client's end of the socket to its guard."""

    def __init__(
        self,
        started: GuardedStart,
        reports: asyncio.StreamReader,
        requests: asyncio.StreamWriter,
    ) -> None:
        self.pid = 0
        """The process id of the server."""
        self.exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """The exit code of the server, negative for a signal. Its last lines may still be in its pipes when this is set."""
        self.all_ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the server and all its descendants have ended."""
        self.guard_code = 0
        """The exit code of the guard if it ended before the server, which ends the server; otherwise 0."""
        self.ended = 0
        """The number of descendants of the server that were still running when they were ended."""
        self.stdout = PipeReader()
        self.stderr = PipeReader()
        self._pipes: list[asyncio.ReadTransport] = []
        self._ready = 0  # in clock ticks since the boot, like the starts of processes in /proc
        self._started = started
        self._guard = started.guard
        self._reports = reports
        self._requests = requests

    def ready(self) -> None:
        """Stores the time; processes started before are part of the server, such as the server behind npx or a shell."""
        # CLOCK_BOOTTIME, because the starts of processes in /proc include the time in which the machine was suspended.
        if sys.platform == "linux":
            self._ready = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))

    def terminate(self) -> None:
        """Sends SIGTERM to the server's process group."""
        self._request(b"T")

    def kill(self) -> None:
        """Sends SIGKILL to the server and all its descendants."""
        self._request(b"K")

    def _request(self, what: bytes) -> None:
        self._requests.write(b"%s%d" % (what, self._ready))
        self.wake()

    def wake(self) -> None:
        """Sends SIGCONT to the guard, which a server could have stopped (SIGSTOP)."""
        with suppress(OSError):
            os.killpg(
                self._guard.pid, signal.SIGCONT
            )  # where it has a backup, that was started, and its group is the same

    def stop_reading(self) -> None:
        """Closes stdout and stderr of the server, even if other processes have them open; the readers then end."""
        for pipe in self._pipes:
            pipe.close()

    def close(self) -> None:
        """Closes the socket to the guard, which then ends all remaining processes."""
        self._requests.transport.abort()
        self.wake()

    async def read(self, stdout: FileIO, stderr: FileIO) -> None:
        """Connects the readers to stdout and stderr of the server."""
        for file, reader in ((stdout, self.stdout), (stderr, self.stderr)):
            pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda made=reader: made, file)
            # asyncio's 256 kB are more than a pipe has, and memory of that size is mapped and unmapped for each read.
            with suppress(AttributeError):  # uvloop's pipes do not have it
                pipe.max_size = READ_BYTES  # pyright: ignore[reportAttributeAccessIssue]
            self._pipes.append(pipe)

    async def begin(self) -> None:
        """Sends the rest of the environment to the guard, and waits until the server runs.

        Raises:
            TransportError: the guard could not start the server.
        """
        self._requests.write(self._started.unsent)
        # If the guard itself fails, it closes or resets the socket without a report, so the reason is unknown.
        report = b""
        with suppress(OSError):
            report = await self._reports.readline()
        word, value = report.split() or (b"failed", 0)
        if word == b"failed":
            raise refused(self._started.launch, int(value))
        self.pid = int(value)

    async def follow(self) -> None:
        """Stores the exit code of the server, then waits for the end of the guard and of all descendants."""
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
            # The socket closes when the guard ends. A killed guard has reported no exit, so the exit code is set here.
            # Without a backup, or if that was killed too, the server's group may still run.
            if not self.exit.done():  # the guard was killed
                self.guard_code = self.guard_code or self._guard.returncode
                with suppress(OSError):  # the group is empty
                    os.killpg(self.pid, signal.SIGTERM)
                    await asyncio.sleep(LEFT_GRACE)
                    os.killpg(self.pid, signal.SIGKILL)
                self.exit.set_result(-signal.SIGKILL)
            self.all_ended.set_result(None)


async def _reap(guard: subprocess.Popen[bytes]) -> None:
    while guard.poll() is None:  # noqa: ASYNC110 - its socket is closed, so it ends at once
        await asyncio.sleep(0.005)


async def start(launch: Launch, stdin: asyncio.BaseProtocol) -> ServerProcess:
    """Starts a server, and connects its pipes. After a cancellation or an exception, no process is left.

    Raises:
        TransportError: the operating system does not run the program.
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
            # Shielded, so that no process is left after a second cancellation either.
            await asyncio.shield(spawn(_reap(guard), name="reap the guard"))
            raise
        # Started only now, because begin() reads from the same stream, which permits only one reader.
        spawn(process.follow(), name="follow the guard to its end")
        undo.pop_all()
        return process
