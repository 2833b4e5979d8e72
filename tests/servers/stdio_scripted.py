"""A stdio transport on one of the servers of ``stdio_server.py``, and all that it told."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

from mcp_tui.protocol.events import RequestId
from mcp_tui.transport.base import Outgoing
from mcp_tui.transport.stdio import StdioTransport
from mcp_tui.transport.targets import StdioTarget
from tests.servers.recorder import Closed, Item, Received, recorder
from tests.waiting import HANG

SERVER: Final = Path(__file__).with_name("stdio_server.py")

T = TypeVar("T")


def server(mode: str, *arguments: object) -> list[str]:
    """The command that starts a server in a mode."""
    return [sys.executable, "-S", str(SERVER), mode, *map(str, arguments)]


def over_stdio(command: list[str], **target: Any) -> StdioTransport:
    """A transport on a command; ``target`` has the other fields of :class:`StdioTarget`."""
    return StdioTransport(StdioTarget(command=tuple(command), **target))


def request(id: RequestId, *, size: int = 0) -> Outgoing:
    """A request of ours; ``size`` is that of its parameters, in bytes."""
    raw = b'{"jsonrpc":"2.0","id":%r,"method":"tools/call","params":"%s"}' % (id, b"p" * size)
    return Outgoing(raw=raw, method="tools/call", id=id)


def cancel(id: RequestId) -> Outgoing:
    """The notification that cancels a request."""
    raw = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%r}}' % id
    return Outgoing(raw=raw, method="notifications/cancelled", cancels=id)


class Wire:
    """An open transport. ``items`` is all that it told, ``lines`` what the server wrote to stdout."""

    def __init__(self, transport: StdioTransport) -> None:
        self.transport = transport
        self.items: list[Item] = []
        self.lines: list[bytes] = []
        self.report = self.note
        self._told = asyncio.Event()

    async def __aenter__(self) -> Wire:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.transport.terminate()

    async def open(self) -> None:
        await self.transport.open(recorder(lambda item: self.report(item)))  # noqa: PLW0108 - tests replace it

    def note(self, item: Item) -> None:
        self.items.append(item)
        if isinstance(item, Received):
            self.lines.append(item.raw)
        self._told.set()

    def all(self, kind: type[T]) -> list[T]:
        return [item for item in self.items if isinstance(item, kind)]

    async def until(self, true: Callable[[], object]) -> None:
        """Wait until something is true that an item makes true."""
        async with asyncio.timeout(HANG):
            while not true():
                self._told.clear()
                await self._told.wait()

    async def closed(self) -> Closed:
        await self.until(lambda: self.all(Closed))
        (closed,) = self.all(Closed)
        assert self.items[-1] is closed
        return closed


def processes(mark: str) -> list[int]:
    """The processes in whose command line a text stands."""
    if sys.platform.startswith("linux"):
        found: list[int] = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if mark.encode() in command:
                found.append(int(folder.name))
        return found
    listing = subprocess.run(
        ["ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True, check=True
    ).stdout
    return [int(line.split()[0]) for line in listing.splitlines() if mark in line]
