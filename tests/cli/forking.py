"""A process that has loaded the command line once, and forks for each command: the same program without its start.

``python -m tests.cli.forking FD`` takes connections on a listening socket. Each brings the words, the folder, the
environment and the three standard files of a command, and is told its process id and then its exit status.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import pkgutil
import select
import socket
import sys
import threading
from importlib import import_module
from typing import Any, Final, NoReturn

LOADED: Final = ("cli", "client", "config", "journal", "probe", "protocol", "transport")


def main() -> None:
    listener = socket.socket(fileno=int(sys.argv[1]))
    sys.modules["sniffio"] = None  # type: ignore[assignment] # as __main__ does
    for name in LOADED:
        package = import_module(f"mcp_tui.{name}")
        for module in pkgutil.iter_modules(package.__path__, f"mcp_tui.{name}."):
            import_module(module.name)
    gc.freeze()
    while listener in select.select([listener, sys.stdin], [], [])[0]:  # stdin ends with the tests
        connection, _ = listener.accept()
        if os.fork() == 0:
            serve(connection)
        connection.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def serve(connection: socket.socket) -> NoReturn:
    data, files, _, _ = socket.recv_fds(connection, 65_536, 3)
    size, _, data = data.partition(b"\n")
    while len(data) < int(size):
        data += connection.recv(65_536)
    pid = os.fork()
    if pid == 0:
        connection.close()
        become(json.loads(data), files)
    for file in files:
        os.close(file)
    connection.sendall(b"%d\n" % pid)
    connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os._exit(0)


def become(command: dict[str, Any], files: list[int]) -> NoReturn:
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, 256)
    os.chdir(command["folder"])
    os.environ.clear()
    os.environ.update(command["env"])
    sys.argv = ["mcp-tui", *command["words"]]
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115
    status: Any = 0
    try:
        from mcp_tui.__main__ import run

        run()
    except SystemExit as ended:
        status = ended.code
    finally:
        threading._shutdown()  # type: ignore[attr-defined]
        sys.stdout.flush()
        os._exit(int(status or 0))


if __name__ == "__main__":
    main()
