"""A process that has loaded the program once, and forks for each command and each stdio server: the same without its start.

``python -m tests.forking FD`` takes connections on a listening socket. Each brings what is to run and its files, and is
told its process id and then its exit status. A server is forked below a guard, as it is started by the program: only
``exec`` is left out, and only for the demo server and the scripts of the tests.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import os
import pkgutil
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Final, NoReturn, Self

from mcp_tui.transport import guard, launching

TESTS: Final = Path(__file__).parent
LOADED_LATE: Final = ("anyio", "httpcore", "http.server", "jsonschema_rs", "platformdirs")
"""What the program and the servers load when they need it."""
LOADED: Final = ("cli", "client", "config", "demo", "journal", "probe", "protocol", "transport")
ALONE: Final = {"-I", "-P", "-S"}
"""Options of a Python that reads less when it starts."""
MARK: Final = b"mark-"
"""Stands in the command line by which a test finds a process: such a one is started as it is."""
EXECVE: Final = os.execve


# -- in the process that asks ----------------------------------------------------------------------------------


@cache
def address() -> str:
    """The address at which a process of this module waits for work of this run."""
    folder = tempfile.mkdtemp(prefix="mcp-tui-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{folder}/commands")
    listener.listen(64)
    waiting = subprocess.Popen(
        [sys.executable, "-m", "tests.forking", str(listener.fileno())],
        stdin=subprocess.PIPE,
        pass_fds=[listener.fileno()],
        cwd=TESTS.parent,
    )
    listener.close()
    atexit.register(waiting.communicate)
    return f"{folder}/commands"


class Forked:
    """A forked process, as far as :class:`subprocess.Popen` is asked for one."""

    def __init__(
        self, what: str, words: list[str], folder: str, env: Mapping[str, str], files: list[int]
    ) -> None:
        sent = json.dumps({"what": what, "words": words, "folder": folder, "env": {**env}}).encode()
        self.connection = socket.socket(socket.AF_UNIX)
        self.connection.connect(self.ADDRESS or address())
        socket.send_fds(self.connection, [b"%d\n" % len(sent)], files)
        self.connection.sendall(sent)
        self.pid = int(self._line())
        self.returncode: int | None = None

    ADDRESS = ""
    """The address, where it is known already."""

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            line += self.connection.recv(1) or b"-9\n"
        return line

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            self.connection.settimeout(timeout)
            self.returncode = int(self._line())
            self.connection.close()
        return self.returncode

    def poll(self) -> int | None:
        if self.returncode is None:
            ended = select.poll()  # unlike select, with any number of open files
            ended.register(self.connection, select.POLLIN)
            if not ended.poll(0):
                return None
        return self.wait()

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


class Piped(Forked):
    """A forked process behind pipes, but for what is given as a file."""

    def __init__(
        self,
        what: str,
        words: Sequence[str],
        env: Mapping[str, str],
        *more: int,
        out: int = -1,
        size: int = -1,
    ) -> None:
        pipes = [os.pipe() for _ in range(3 if out < 0 else 2)]
        theirs = [pipes[0][0], pipes[1][1] if out < 0 else out, pipes[-1][1]]
        try:
            super().__init__(what, [*words], str(Path.cwd()), env, [*theirs, *more])
        finally:
            for file in {*theirs} - {out}:
                os.close(file)
        self.stdin = os.fdopen(pipes[0][1], "wb", size)
        self.stdout = os.fdopen(pipes[1][0], "rb", size) if out < 0 else None
        self.stderr = os.fdopen(pipes[-1][0], "rb", size)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.communicate()

    def communicate(self, timeout: float | None = None) -> tuple[bytes, bytes]:
        """Read to the end and wait for it; what is closed already is empty."""
        with contextlib.suppress(BrokenPipeError):
            self.stdin.close()
        with ThreadPoolExecutor(1) as beside:
            said = beside.submit(_rest, self.stderr)
            try:
                read = _rest(self.stdout)
            except BaseException:  # pytest's timeout, behind which nothing else ends the reader beside
                os.kill(self.pid, signal.SIGKILL)
                raise
        self.wait(timeout)
        return read, said.result()


def _rest(file: IO[bytes] | None) -> bytes:
    if file is None or file.closed:
        return b""
    with file:
        return file.read()


STARTED: Final[Any] = launching._start_guard  # pyright: ignore[reportPrivateUsage]


def start_guard(launch: launching.Launch, link: socket.socket) -> Any:
    """Stands for the function of the transport that starts a guard."""
    if launch.target.cwd is not None or launch.path != sys.executable:
        return STARTED(launch, link)
    return Piped("guard", [launch.path, *launch.target.command], {}, link.fileno(), size=0)


# -- in the process that forks ---------------------------------------------------------------------------------


def main() -> None:
    listener = socket.socket(fileno=int(sys.argv[1]))
    for name in LOADED_LATE:
        import_module(name)
    for name in LOADED:
        package = import_module(f"mcp_tui.{name}")
        for module in pkgutil.iter_modules(package.__path__, f"mcp_tui.{name}."):
            if not module.name.endswith("__main__"):
                with contextlib.suppress(ImportError):  # an extra is not installed
                    import_module(module.name)
    Forked.ADDRESS = listener.getsockname()
    ended, woken = socket.socketpair()
    woken.setblocking(False)
    signal.set_wakeup_fd(woken.fileno())
    signal.signal(signal.SIGCHLD, woken_by)
    gc.freeze()
    running: dict[int, socket.socket] = {}
    while sys.stdin not in (ready := select.select([listener, sys.stdin, ended], [], [])[0]):
        if listener in ready:
            connection, _ = listener.accept()
            with contextlib.suppress(OSError, ValueError):  # who asked may have ended
                running[serve(connection)] = connection
        if ended in ready:
            ended.recv(4096)
        with contextlib.suppress(ChildProcessError):
            while any(done := os.waitpid(-1, os.WNOHANG)):
                with contextlib.suppress(OSError, KeyError), running.pop(done[0]) as connection:
                    connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(done[1]))


def woken_by(*_: object) -> None:
    """Stands for a handler: without one, no signal is written to the socket that is waited for."""


def serve(connection: socket.socket) -> int:
    """Start what a connection asks for; its process id."""
    data, files, _, _ = socket.recv_fds(connection, 65_536, 4)
    size, _, data = data.partition(b"\n")
    while len(data) < int(size):
        if not (more := connection.recv(65_536)):
            raise ConnectionResetError
        data += more
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        become(json.loads(data), files)
    for file in files:
        os.close(file)
    connection.sendall(b"%d\n" % pid)
    return pid


def become(asked: dict[str, Any], files: list[int]) -> NoReturn:
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(len(files), 256)
    os.chdir(asked["folder"])
    if asked["what"] == "server":
        environment = {os.fsencode(name): os.fsencode(value) for name, value in asked["env"].items()}
        execute(asked["words"][0], asked["words"], environment)
    if asked["what"] == "guard":
        os.setsid()
        os.execve = execute  # type: ignore[assignment]
        sys.argv = ["guard.py", "3", *asked["words"]]
        guard.main()
        os._exit(0)
    launching._start_guard = start_guard  # pyright: ignore[reportPrivateUsage]
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.argv = ["mcp-tui", *asked["words"]]
    from mcp_tui.__main__ import run

    ended(run)


def execute(path: str, command: list[str], environment: Mapping[bytes, bytes]) -> None:
    """Stands for ``os.execve`` in a guard's child, which is the server from here on."""
    words = command[1:]
    while words and words[0] in ALONE:
        words = words[1:]
    module = words[1] if words[:1] == ["-m"] else ""
    ours = path == sys.executable and (
        words[0].startswith(str(TESTS)) or module in {"mcp_tui", "mcp_tui.demo"}
    )
    marked = MARK in os.fsencode(" ".join(words))
    obeyed = {name for name, value in environment.items() if value and name.startswith(b"PYTHON")}
    if not ours or marked or obeyed - {b"PYTHONDONTWRITEBYTECODE"}:
        EXECVE(path, command, environment)
    os.closerange(3, 256)  # the guard learns by it that the server runs
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    os.environ.clear()
    os.environb.update(environment)
    sys.argv = words[1:] if module else words
    if module:
        ended(lambda: runpy.run_module(module, run_name="__main__"))
    sys.path.insert(0, str(Path(words[0]).parent))
    ended(lambda: runpy.run_path(words[0], run_name="__main__"))


def ended(run: Callable[[], object]) -> NoReturn:
    """Run a program to its end, and end as Python does."""
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
    status: Any = 0
    try:
        run()
    except SystemExit as end:
        status = end.code
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        status = 1
    if isinstance(status, str):
        print(status, file=sys.stderr)
        status = 1
    with contextlib.suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(int(status or 0))


if __name__ == "__main__":
    main()
