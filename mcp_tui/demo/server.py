"""The demo server as a process: its transport, its log, its signals, its end."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Final

from mcp_tui.demo.dispatch import Setting
from mcp_tui.demo.log import DemoLog, connect

USAGE: Final = 2
UNREACHABLE: Final = 4

_STATUS: Final = {"eof": 0, "SIGINT": 130, "SIGTERM": 143, "stdout closed": 141}
"""The exit status for each cause of the end."""


def main(http_port: int | None, log: Path | None) -> int:
    """Runs the demo server until it is told to end and returns its exit status.

    `http_port` ``None`` means stdio, 0 any free port; over HTTP the URL is printed on a line of its own. `log` is the
    file for the server's own log, appended to.

    0: standard input was closed · 2: the log cannot be written · 4: the port cannot be had · 130, 143: SIGINT, SIGTERM
    · 141: standard output was closed. The tool ``crash`` ends the process with 3.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - it is, when it was closed before we began
        return _STATUS["stdout closed"]
    try:
        journal = DemoLog(log, "stdio" if http_port is None else "http")
    except OSError as error:
        _complain(f"Cannot write the log {log}: {error.strerror}.")
        return USAGE
    try:
        cause = asyncio.run(_run(http_port, journal))
    except KeyboardInterrupt:  # before the signals were taken over
        cause = "SIGINT"
    journal.control = None
    status = _STATUS.get(cause, UNREACHABLE)
    journal.event("exit", cause=cause, status=status)
    return status


def _complain(sentence: str) -> None:
    sys.stderr.write(f"mcp-tui demo: {sentence}\n")


async def _run(http_port: int | None, log: DemoLog) -> str:
    """Serves until the end and returns its cause."""
    ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    tasks: set[asyncio.Task[None]] = set()

    def end(cause: str) -> None:
        if not ended.done():
            ended.set_result(cause)

    def spawn(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = group.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return task

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end, number.name)
    log.control = await connect()
    log.event("start", pid=os.getpid())
    async with asyncio.TaskGroup() as group:
        setting = Setting(log=log, spawn=spawn, end=end)
        try:
            await _serve(setting, http_port)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                _complain(f"Port {http_port} is in use. Choose another port, or 0 for any free port.")
            else:
                _complain(f"Cannot listen on 127.0.0.1:{http_port}: {error.strerror}.")
            return "no port"
        cause = await ended
        while tasks:  # one that ends may begin no other, but a connection may be accepted meanwhile
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
    return cause


async def _serve(setting: Setting, port: int | None) -> None:
    """Begins to serve, on stdio or on a port. Raises `OSError` if the port is not available."""
    if port is None:
        from mcp_tui.demo.stdio import StdioServer

        StdioServer(setting)
        return
    from mcp_tui.demo.http import HttpServer

    url = await HttpServer(setting).open(port)
    try:
        # not print: what it cannot write, Python tries once more at the exit
        os.write(1, f"{url}\n".encode())
    except OSError:
        setting.end("stdout closed")
