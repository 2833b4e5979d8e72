"""The demo server as a process: its log, its signals, its end; and its messages on stdio, one a line (every revision)."""

from __future__ import annotations

import asyncio
import errno
import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, TypeAlias

from mcp_tui.demo import frames
from mcp_tui.demo.calls import Channel, well_formed
from mcp_tui.demo.demo_log import DemoLog, connect
from mcp_tui.demo.dispatch import Setting
from mcp_tui.demo.frames import DemoRefusal, Object
from mcp_tui.protocol.framing import LineFramer, Oversized
from mcp_tui.protocol.http_access import OWN_ACCESS, HttpAccess
from mcp_tui.protocol.json_values import list_or_none

USAGE: Final = 2
UNREACHABLE: Final = 4

_EXIT_STATUS: Final = {"eof": 0, "SIGINT": 130, "SIGTERM": 143, "stdout closed": 141}
"""The exit status for each cause of the end."""


Settle: TypeAlias = Callable[[Setting], Setting]


def main(
    http_port: int | None,
    log: Path | None,
    settle: Settle = lambda setting: setting,
    name: str = "demo",
    access: HttpAccess = OWN_ACCESS,
) -> int:
    """Runs the demo server until it is told to end and returns its exit status. `settle` makes another server of it, `name`
    is its command.

    `http_port` ``None`` means stdio, 0 any free port; over HTTP the URL is printed on a line of its own. `log` is the
    file for the server's own log, appended to. `access` says which requests are answered over HTTP.

    0: standard input was closed · 2: the log cannot be written · 4: the port cannot be had · 130, 143: SIGINT, SIGTERM
    · 141: standard output was closed. The tool ``crash`` ends the process with 3.
    """
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] - it is, when it was closed before we began
        return _EXIT_STATUS["stdout closed"]
    try:
        journal = DemoLog(log, "stdio" if http_port is None else "http")
    except OSError as error:
        _complain(name, f"Cannot write the log {log}: {error.strerror}.")
        return USAGE
    try:
        cause = asyncio.run(_run(http_port, access, journal, settle, name))
    except KeyboardInterrupt:  # before the signals were taken over
        cause = "SIGINT"
    journal.control = None
    status = _EXIT_STATUS.get(cause, UNREACHABLE)
    journal.event("exit", cause=cause, status=status)
    return status


def _complain(name: str, sentence: str) -> None:
    sys.stderr.write(f"mcp-tui {name}: {sentence}\n")


async def _run(http_port: int | None, access: HttpAccess, log: DemoLog, settle: Settle, name: str) -> str:
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
        setting = settle(Setting(log=log, spawn=spawn, end=end))
        try:
            await _serve(setting, http_port, access)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                _complain(name, f"Port {http_port} is in use. Choose another port, or 0 for any free port.")
            else:
                _complain(name, f"Cannot listen on 127.0.0.1:{http_port}: {error.strerror}.")
            return "no port"
        cause = await ended
        while tasks:  # one that ends may begin no other, but a connection may be accepted meanwhile
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
    return cause


async def _serve(setting: Setting, port: int | None, access: HttpAccess) -> None:
    """Begins to serve, on stdio or on a port. Raises `OSError` if the port is not available."""
    if port is None:
        Stdio(setting)
        return
    # Only for --http.
    from mcp_tui.demo.http_server import HttpServer

    url = await HttpServer(setting, access).open(port)
    try:
        # not print: what it cannot write, Python tries once more at the exit
        os.write(1, f"{url}\n".encode())
    except OSError:
        setting.end("stdout closed")


MESSAGE_BYTES: Final = 64 * 1024 * 1024
"""Bytes that one line may have; a longer one is dropped."""

_CHUNK_BYTES: Final = 256 * 1024  # bytes
_SWITCH_SECONDS: Final = 0.0005  # seconds after which a busy thread lets the reader in


class LineChannel(Channel):
    """One client that writes a message a line, however its bytes come here and leave."""

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self._setting = setting
        self._conversation = setting.converse(setting)
        self._conversation.aside = self
        self._lines = LineFramer(MESSAGE_BYTES)

    def take(self, data: bytes) -> None:
        """Takes bytes of the client; none are the end of its stream."""
        if not data:
            self._setting.end("eof")
            return
        for line in self._lines.feed(data):
            try:
                taken = self._messages(line)
            except DemoRefusal as refusal:
                self._setting.log.event("malformed", detail=refusal.message)
                revision = self._conversation.revision
                if revision is None or revision >= "2025-11-25":  # before, an error response must have an id
                    self.send(frames.error_frame(None, refusal))
            else:
                for frame in taken:
                    self._setting.log.received(frame)
                    self._conversation.receive(frame, self._conversation.caller, self)

    def _messages(self, line: bytes | Oversized) -> list[Object]:
        if isinstance(line, Oversized):
            raise frames.bad_request(f"larger than {MESSAGE_BYTES} bytes")
        message = frames.decode(line)
        batch = list_or_none(message)
        if batch is None:
            return [frames.checked(message)]
        if not batch or self._conversation.revision != "2025-03-26":
            raise frames.bad_request("batches are not supported")
        return well_formed(batch, self._setting.log)

    def close(self) -> None:
        """Ends the calls that are at work."""
        self._conversation.close()


class Stdio(LineChannel):
    """The one client of a process on stdio, whose requests are dropped with the process.

    Standard input has a thread, because it can be a pipe, a socket, a terminal, or a file, and is shared with other
    processes and so cannot be made non-blocking. Standard output is written to directly: a client that does not read
    holds the tools up. ``gone`` is set when nobody reads it.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._loop = asyncio.get_running_loop()
        sys.setswitchinterval(_SWITCH_SECONDS)
        threading.Thread(target=self._read, name="stdin", daemon=True).start()

    def send(self, frame: Object) -> bool:
        view = memoryview(frames.encode(frame) + b"\n")
        try:
            while view and not self.disconnected.is_set():
                try:
                    view = view[os.write(1, view[:_CHUNK_BYTES]) :]
                except BlockingIOError:  # whoever shares it made it non-blocking
                    select.select([], [1], [])
        except OSError:
            self.disconnected.set()
            self._setting.end("stdout closed")
        return not self.disconnected.is_set()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(0, _CHUNK_BYTES)
            except BlockingIOError:
                select.select([0], [], [])
                continue
            except OSError:
                data = b""
            try:
                self._loop.call_soon_threadsafe(self.take, data)
            except RuntimeError:  # the loop has ended
                return
            if not data:
                return
