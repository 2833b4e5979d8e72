"""Time in the hands of a test: servers wait for it to let their steps pass, and tell it what they do.

The demo server connects to the socket that the variable in ``Control.env`` names; see ``tests/README.md``.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.demo.demo_log import CONTROL_VARIABLE
from tests.waiting import HANG

Event = dict[str, Any]


class Control:
    """The test's end of the channel. Every server that connects gets all orders, those given before as well.

    A context manager; `step`, `release` and `wait` may be called from any thread, `came` from a coroutine.
    """

    def __init__(self) -> None:
        # Not pytest's folder: the path of a socket has at most 104 bytes.
        self._folder = Path(tempfile.mkdtemp(prefix="mcp-"))
        self.path: Final = str(self._folder / "control")
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        self._changed = threading.Condition()
        self._orders = b""
        self._servers: list[socket.socket] = []
        self._closed = False
        self.events: list[Event] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the channel."""
        self._listener.close()
        with self._changed:
            self._closed = True
            for server in self._servers:
                server.close()
        shutil.rmtree(self._folder)

    @property
    def env(self) -> dict[str, str]:
        """What the environment of a server needs."""
        return {CONTROL_VARIABLE: self.path}

    @property
    def options(self) -> list[str]:
        """What the command line ``mcp-tui … --demo`` needs."""
        return ["-e", f"{CONTROL_VARIABLE}={self.path}"]

    def demo(self, *options: str) -> StdioTarget:
        """The demo server as a target of the Python API."""
        command = (sys.executable, "-m", "mcp_tui.demo", *options)
        return StdioTarget(command=command, env=self.env, name="demo")

    # -- orders ------------------------------------------------------------------------------------------------

    def step(self, tool: str, count: int | None = 1) -> None:
        """Let `count` steps of a tool pass, whichever calls of it come to them first; ``None``: all from now on."""
        order = json.dumps({"tool": tool, "steps": count}).encode() + b"\n"
        with self._changed:
            self._orders += order
            for server in self._servers:
                with suppress(OSError):
                    server.sendall(order)

    def release(self, *tools: str) -> None:
        """Let all steps of these tools pass from now on."""
        for tool in tools:
            self.step(tool, None)

    # -- events ------------------------------------------------------------------------------------------------

    def wait(self, event: str, **fields: object) -> Event:
        """Wait for the first event with these fields that was not waited for yet, and return it.

        The events are those of the server's log (`mcp_tui.demo.demo_log`): ``received``, ``waiting`` (it stands before a
        timed step), ``cancelled``, ``sent``, ``stopped`` …, and ``gone``: the server's process ended.
        """
        wanted = {"event": event, **fields}.items()
        with self._changed:
            found: list[Event] = []

            def came() -> bool:
                found[:] = [line for line in self.events if wanted <= _flat(line).items()][:1]
                return bool(found)

            assert self._changed.wait_for(came, HANG), f"{dict(wanted)} never came, but {self.events}"
            self.events.remove(found[0])
            return found[0]

    async def came(self, event: str, **fields: object) -> Event:
        """Wait as `wait` does, while the event loop goes on."""
        return await asyncio.to_thread(self.wait, event, **fields)

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                server, _ = self._listener.accept()
                with self._changed:
                    if self._closed:  # it came while the channel was ended
                        server.close()
                        return
                    self._servers.append(server)
                    with suppress(OSError):  # it has ended already, but others may come
                        server.sendall(self._orders)
                threading.Thread(target=self._read, args=(server,), daemon=True).start()

    def _read(self, server: socket.socket) -> None:
        with suppress(OSError), server.makefile("rb") as lines:
            for line in lines:
                self._take(json.loads(line))
        self._take({"event": "gone"})

    def _take(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()


def _flat(event: Event) -> Event:
    """The fields that can be compared as they are."""
    return {name: value for name, value in event.items() if not isinstance(value, (dict, list))}
