"""One process with the recorders of many taps over stdio: most of a recorder's memory is its program.

Each tap has its own loop (:mod:`mcp_tui.tap.recorder_loop`), and each loop gets a short turn. A loop that needs much of the
processor, or gets a long message, continues in a separate process: this process forks, and each side closes what belongs to
the other. An error ends the loop of one tap, whose relay starts another one. A copy of this process takes over if it dies.

The process ends with the last tap. Its socket is in a folder that only its user can enter.
"""

from __future__ import annotations

import array
import ast
import fcntl
import os
import resource
import selectors
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, process_time
from typing import Final

from mcp_tui.live.sockets import ListeningSocket, accepted
from mcp_tui.tap.recorder_loop import RecorderLoop
from mcp_tui.tap.recorder_process import NAME
from mcp_tui.tap.stdio_recorder import StdioRecorder

HELLO_BYTES: Final = 1 << 18
FIRST_SECONDS: Final = 10.0
"""Seconds that the process waits for its first tap, and that each tap has for its first record."""

TURN_SECONDS: Final = 0.002
"""Seconds of parsing in a turn."""

BUSY_SECONDS: Final = 0.05
BUSY_SHARE: Final = 0.03
"""A tap gets a separate process once it has used so many seconds of the processor, and more than this share of the time."""

STANDBY: Final = "mcp_tui.tap.stand_by"
"""The name of the process that stands by, in place of :data:`NAME`."""

WAITING_BYTES: Final = 1 << 17
"""The bytes of records left over by a turn from which a tap gets a separate process: more comes than a turn can take."""

LONG_BYTES: Final = 1 << 20
"""The size of a line, in bytes, from which a tap gets a separate process."""


class SharedRecorder:
    """Serves the socket ``listener`` at a ``path`` until no tap is left.

    ``open_socket`` opens the control socket of a session; it returns ``None`` if there can be none.
    ``stand_back`` lowers the priority of a process.
    """

    def __init__(
        self,
        listener: int,
        path: str,
        *,
        open_socket: Callable[[str], ListeningSocket | None],
        stand_back: Callable[[], object],
    ) -> None:
        self._open_socket = open_socket
        self._listener = socket.socket(fileno=listener)
        self._path = path
        self._stand_back = stand_back
        self._taps: dict[int, _Tap] = {}
        self._hellos: dict[socket.socket, _Hello] = {}
        self._later: list[tuple[float, Callable[[], object]]] = []
        self._until = monotonic() + FIRST_SECONDS
        self._standby = -1
        """The pipe to the process that takes over if this one dies."""

    def run(self) -> int:
        """Works until no tap is left."""
        os.chdir("/")
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no process waits for the exit of a fork
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, hard), hard))
        self._listener.setblocking(False)
        self._start_standby()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        while not self._is_over():
            for key, _ in self._selector.select(self._patience()):
                key.data()
            now = monotonic()
            for each in list(self._taps.values()):
                if each.due <= now:
                    self._step(each)
            self._do_later(now)
        return 0

    def _start_standby(self) -> None:
        """Forks a copy of this process, which waits for the end of this one and then continues with the same socket.

        A new recorder would need a second on a busy machine to start, and no limit would hold in that second.
        """
        while True:
            waits, self._standby = os.pipe()
            try:
                is_parent = os.fork() > 0
            except OSError:  # too many processes, so there is no copy
                os.close(self._standby)
                self._standby, is_parent = -1, True
            if is_parent:
                os.close(waits)
                return
            os.close(self._standby)
            _rename(NAME, STANDBY)
            if os.read(waits, 1):
                os._exit(0)
            os.close(waits)
            _rename(STANDBY, NAME)
            self._until = monotonic() + FIRST_SECONDS

    def _end_standby(self) -> None:
        if self._standby >= 0:
            with suppress(OSError):
                os.write(self._standby, b"x")
            os.close(self._standby)
            self._standby = -1

    def _is_over(self) -> bool:
        """Whether no tap is left; if so, closes the socket first, so that no other one can connect."""
        if self._taps or self._hellos or self._later or monotonic() < self._until:
            return False
        if self._path:
            self._end_standby()
            number = os.open(os.path.dirname(self._path), os.O_RDONLY)  # noqa: PTH120
            fcntl.flock(number, fcntl.LOCK_EX)
            with suppress(OSError):
                os.unlink(self._path)  # noqa: PTH108
            self._path = ""
            os.close(number)
            self._accept()  # taps that connected before that
        return not self._hellos

    def _patience(self) -> float | None:
        now = monotonic()
        dues = [each.due for each in self._taps.values()]
        dues += [at for at, _ in self._later] + [each.until for each in self._hellos.values()]
        if not self._taps:
            dues.append(self._until)
        due = min(dues, default=float("inf"))
        return None if due == float("inf") else max(0.0, due - now)

    # -- taps ------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        while (link := accepted(self._listener)) is not None:
            self._hellos[link] = _Hello(monotonic() + FIRST_SECONDS)
            self._selector.register(link, selectors.EVENT_READ, lambda link=link: self._greet(link))

    def _greet(self, link: socket.socket) -> None:
        """Reads the first record of a tap, and receives its pipes."""
        hello = self._hellos[link]
        data = b""
        with suppress(OSError):
            data, rights, _, _ = link.recvmsg(HELLO_BYTES, socket.CMSG_SPACE(8))
            for level, kind, numbers in rights:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                    hello.pipes.frombytes(numbers[: len(numbers) // 4 * 4])
        hello.data += data
        if data and not data.endswith(b"\n"):
            return
        # A tap that is not understood gets no recorder; the others continue.
        with suppress(Exception):
            session, relay, environment = ast.literal_eval(hello.data.decode())
            if len(hello.pipes) == 2:
                self._begin(hello, session, relay, environment)
                hello.pipes = array.array("i")
        self._forget(link)

    def _forget(self, link: socket.socket) -> None:
        self._selector.unregister(link)
        self._hellos.pop(link).close()
        link.close()

    def _begin(self, hello: _Hello, session: str, relay: int, environment: dict[bytes, bytes]) -> None:
        loop = RecorderLoop(
            hello.pipes[0],
            hello.pipes[1],
            StdioRecorder,
            listening=self._open_socket(session),
            environment={os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()},
            relay=relay,
        )
        self._until = 0.0
        loop.start()
        loop.order({"recorder": os.getpid()})
        tap = self._taps[loop.fileno()] = _Tap(loop)
        self._selector.register(loop.fileno(), selectors.EVENT_READ, lambda: self._step(tap))

    def _step(self, tap: _Tap) -> None:
        if tap.loop.is_over:
            return
        began = process_time()
        try:
            tap.loop.step(0.0, TURN_SECONDS)
            wait = tap.loop.patience()
        except Exception as error:  # noqa: BLE001 - the others go on
            self._drop(tap)
            tap.loop.fail(error)
            return
        now = monotonic()
        tap.due = float("inf") if wait is None else now + wait
        if tap.loop.is_over:
            self._drop(tap)
            with suppress(Exception):
                tap.loop.end()
            self._later += [(now + seconds, work) for seconds, work in tap.loop.last_work]
        elif tap.is_heavy(now, process_time() - began):
            self._part(tap)

    def _drop(self, tap: _Tap) -> None:
        number = tap.loop.fileno()
        self._selector.unregister(number)
        del self._taps[number]

    def _part(self, tap: _Tap) -> None:
        """Moves a tap to a separate process."""
        try:
            is_parent = os.fork() > 0
        except OSError:  # too many processes, so the tap stays
            return
        if is_parent:
            self._drop(tap)
            tap.loop.abandon()
            return
        code = 1
        try:
            # This tap needs much of the processor; limits of the others must not wait for that.
            os.setsid()
            self._stand_back()
            self._selector.close()
            self._listener.close()
            if self._standby >= 0:
                os.close(self._standby)
            for link, hello in self._hellos.items():
                link.close()
                hello.close()
            for each in self._taps.values():
                if each is not tap:
                    each.loop.abandon()
            tap.loop.order({"recorder": os.getpid()})
            code = not tap.loop.run(started=True)
        finally:
            os._exit(code)

    def _do_later(self, now: float) -> None:
        due = [work for at, work in self._later if at <= now]
        self._later = [each for each in self._later if each[0] > now]
        for work in due:
            work()
        for link in [link for link, each in self._hellos.items() if each.until <= now]:
            self._forget(link)


class _Hello:
    """The part of a tap's first record that has arrived, and ``until`` when the whole has to be there."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.data = b""
        self.pipes = array.array("i")

    def close(self) -> None:
        """Closes the pipes, which no other object owns."""
        for each in self.pipes:
            os.close(each)


class _Tap:
    """A tap. ``due`` is when its loop has something to do."""

    def __init__(self, loop: RecorderLoop) -> None:
        self.loop = loop
        self.due = 0.0
        self._used = self._at = 0.0

    def is_heavy(self, now: float, used: float) -> bool:
        """Whether it needs a separate process, after a turn that ``used`` so many seconds of the processor."""
        self._used = max(0.0, self._used - BUSY_SHARE * (now - self._at)) + used
        self._at = now
        is_behind = self.loop.waiting_bytes > WAITING_BYTES
        return is_behind or self._used > BUSY_SECONDS or self.loop.begun_bytes > LONG_BYTES


def _rename(old: str, new: str) -> None:
    """Writes another name of the same length into the command line of this process, as lists of processes show it."""
    with suppress(OSError, IndexError):  # only Linux has these files
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])
        with open("/proc/self/mem", "r+b", buffering=0) as memory:  # noqa: PTH123 - a device, not a file
            memory.seek(start)
            words = memory.read(end - start)
            memory.seek(start)
            memory.write(words.replace(old.encode(), new.encode()))
