"""The process of a stdio server: its command and environment, its start behind the guard, and its end."""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, suppress
from io import FileIO
from pathlib import Path
from typing import Final, cast

from mcp_tui.protocol.values import fact
from mcp_tui.transport.base import TransportError, spawn
from mcp_tui.transport.targets import StdioTarget

INHERITED: Final = frozenset(
    {"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
)
"""Variables that a server gets from the client's environment, with those that begin with ``LC_``."""


def server_environment(target: StdioTarget) -> dict[str, str]:
    """Returns the environment of a server: the short list of ours, or all of it, then the target's.

    The list is short because a client's environment holds secrets. ``NO_COLOR`` is set because stderr is shown as plain
    text.
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if target.inherit_env or name in INHERITED or name.startswith("LC_")
    }
    return inherited | {"NO_COLOR": "1"} | target.env


@fact
class Launch:
    """A server that can be started. ``path`` is the absolute path of its program."""

    path: str
    target: StdioTarget
    environment: dict[str, str]


def prepare(target: StdioTarget) -> Launch:
    """Finds the program of a server, in the ``PATH`` of its own environment.

    Raises:
        TransportError: there is no such program or folder, or it may not be run.
    """
    command, cwd = target.command, target.cwd
    if not command or not command[0]:
        raise TransportError("No server command. Put the program and its arguments after --.")
    environment = server_environment(target)
    for text in (*command, *environment, *environment.values()):
        try:
            os.fsencode(text)
        except UnicodeEncodeError:
            raise TransportError(
                f"The server's command or environment is not valid text: {text!r}."
            ) from None
        if "\0" in text:
            raise TransportError("The server's command or environment contains a NUL character. Remove it.")
    if bad := [name for name in environment if not name or "=" in name]:
        raise TransportError(f"Invalid environment variable name {bad[0]!r}. Use -e NAME=VALUE.")
    if cwd is not None and not cwd.is_dir():
        what = "is not a directory" if cwd.exists() else "does not exist"
        raise TransportError(f"The working directory {cwd} {what}. Choose another one.")
    if cwd is not None and not os.access(cwd, os.X_OK):
        raise TransportError(f"Cannot enter the working directory {cwd}. Check its permissions.")
    path = find_program(target)
    # Compared at each start: PATH or a link may lead elsewhere than when a person said yes.
    if target.approved and os.path.realpath(path) != target.approved:
        raise TransportError(
            f"Not started: {path} is not the program that you approved ({target.approved}). "
            "Open the server from the list of servers to approve it again."
        )
    return Launch(path=path, target=target, environment=environment)


def find_program(target: StdioTarget) -> str:
    """Returns the absolute path of the program that starts for a server, found in the ``PATH`` of its own environment.

    Raises:
        TransportError: there is no such program, or it may not be run.
    """
    name, cwd = target.command[0], target.cwd or Path()
    if os.path.dirname(name):  # noqa: PTH120 - "./x" and "x" differ here, and are one for pathlib
        path = (cwd / name).absolute()
        if found := shutil.which(str(path)):
            return found
        if path.is_dir():
            raise TransportError(
                f"Not a program but a directory: {name}. Give the path of the server's program."
            )
        if path.exists():
            raise TransportError(
                f"Not executable: {name}. Run chmod +x on it, or name the program that runs it."
            )
        raise TransportError(f"No such file: {name}. Check the path of the server's program.")
    # The server's own PATH, not ours: what a person is shown for approval is found by this same function, and must be what
    # runs then.
    search = server_environment(target).get("PATH", os.defpath)
    if found := shutil.which(name, path=search):
        return str(Path(found).absolute())
    if found := shutil.which(name, os.F_OK, search):
        raise TransportError(
            f"Not executable: {found}. Run chmod +x on it, or name the program that runs it."
        )
    if len(name.split()) > 1:
        how = "Put only the program into command, and the other words into args."
        if not target.name:
            how = "Remove the quotes around it: each word is an argument of its own."
        raise TransportError(f"Command not found: {name}. It looks like a whole command line. {how}")
    raise TransportError(f"Command not found: {name}. Install it or give its full path.")


_WHY: Final = {
    0: f"Its guard process ({sys.executable}) exited at once.",
    errno.ENOENT: "The interpreter named in its first line (#!) does not exist. Install it or correct the line.",
    errno.ENOEXEC: "It is not a program for this machine, nor a script that names its interpreter in the first line (#!).",
    errno.EACCES: "Permission denied for it or its interpreter (#!). Check the permissions.",
    errno.E2BIG: "The arguments and the environment are too long. Shorten them.",
}
"""The reasons why the operating system would not run a program, by errno; 0 if it is unknown."""


def refused(launch: Launch, error: int) -> TransportError:
    """Returns the error of a program that was found but could not be started."""
    why = _WHY.get(error) or os.strerror(error)
    return TransportError(f"Cannot start {shlex.quote(launch.target.command[0])}. {why}")


# -- its start and its end -------------------------------------------------------------------------------------

GUARD: Final = Path(__file__).with_name("guard.py")

PASSING: Final = frozenset({errno.EAGAIN, errno.EFAULT})
"""Errors with which an operating system under pressure refuses a start; a moment later it does not."""
SECOND_ATTEMPT_SECONDS: Final = 0.1
"""Seconds before the second attempt."""


class ServerProcess:
    """A running server, and our end of the socket to its guard."""

    def __init__(
        self,
        guard: subprocess.Popen[bytes],
        reports: asyncio.StreamReader,
        requests: asyncio.StreamWriter,
    ) -> None:
        self.pid = 0
        """The server's own process id."""
        self.exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """Its exit code, negative for a signal, once there is one; its last lines may still be in its pipes then."""
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the server and all that it started has ended."""
        self.guard_code = 0
        """The exit code of the guard if that ended before the server, and so ended it; 0 if it did not."""
        self.ended = 0
        """Number of processes that the server had started, and that were still running when they were ended."""
        self.stdout = asyncio.StreamReader()
        self.stderr = asyncio.StreamReader()
        self._pipes: list[asyncio.ReadTransport] = []
        self._ready = 0  # in clock ticks since the machine started, as Linux tells the start of a process
        self._guard = guard
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
            self._guard.send_signal(signal.SIGCONT)

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
            protocol = asyncio.StreamReaderProtocol(reader)
            pipe, _ = await asyncio.get_running_loop().connect_read_pipe(lambda made=protocol: made, file)
            self._pipes.append(pipe)

    async def begin(self, launch: Launch) -> None:
        """Hands the environment to the guard, and waits until there is a server.

        Raises:
            TransportError: the guard could not start it.
        """
        block = b"\0".join(os.fsencode(f"{name}={value}") for name, value in launch.environment.items())
        self._requests.write(b"%d\n%s" % (len(block), block))
        # A guard that could not even begin closes the socket without a word, or resets it: that has failed for a reason
        # unknown.
        report = b""
        with suppress(OSError):
            report = await self._reports.readline()
        word, value = report.split() or (b"failed", 0)
        if word == b"failed":
            raise refused(launch, int(value))
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
            # may wait for it. What a wrapper such as npx started is still in the group then.
            if not self.exit.done():  # somebody killed the guard, and the server with it
                self.guard_code = self._guard.returncode
                with suppress(OSError):  # nobody is left in its group
                    os.killpg(self.pid, signal.SIGKILL)
                self.exit.set_result(-signal.SIGKILL)
            self.gone.set_result(None)


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
            if error.errno not in PASSING:
                raise
        await asyncio.sleep(SECOND_ATTEMPT_SECONDS)
        return await _start_guarded(launch, stdin)
    except OSError as error:
        raise refused(launch, error.errno or 0) from error


async def _start_guarded(launch: Launch, stdin: asyncio.BaseProtocol) -> ServerProcess:
    with ExitStack() as undo:
        link, its_link = socket.socketpair()
        undo.enter_context(link)
        # Our copy of the guard's end is closed as soon as the guard has its own, or the guard's death would not end the
        # socket.
        with its_link:
            guard = _start_guard(launch, its_link)
        files = [
            undo.enter_context(cast("FileIO", pipe)) for pipe in (guard.stdin, guard.stdout, guard.stderr)
        ]
        try:
            reports, requests = await asyncio.open_connection(sock=link)
            process = ServerProcess(guard, reports, requests)
            undo.callback(process.close)
            undo.callback(process.stop_reading)
            await process.read(files[1], files[2])
            writing, _ = await asyncio.get_running_loop().connect_write_pipe(lambda: stdin, files[0])
            undo.callback(writing.close)
            await process.begin(launch)
        except BaseException:
            undo.close()  # so that the guard ends
            # shielded, so that a second cancel leaves no process behind either
            await asyncio.shield(spawn(_reap(guard), name="reap the guard"))
            raise
        # Only now: two readers may not wait on one stream, and begin() reads the report of the start.
        spawn(process.follow(), name="follow the guard to its end")
        undo.pop_all()
        return process


def _start_guard(launch: Launch, link: socket.socket) -> subprocess.Popen[bytes]:
    """Starts the guard with its end of the link to us; its pipes are the server's."""
    number = link.fileno()
    # Isolated and without site: each start waits for the guard, and no PYTHONPATH may change it.
    guard = [sys.executable, "-I", "-S", "-E", str(GUARD), str(number)]
    # asyncio's own subprocess would kill the guard when the loop is closed, and just then the guard has work to do.
    return subprocess.Popen(
        [*guard, launch.path, *launch.target.command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=launch.target.cwd,
        pass_fds=(number,),
        # Or ctrl+c in our terminal would reach guard and server before anything was cancelled or closed.
        start_new_session=True,
    )
