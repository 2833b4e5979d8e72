"""Connections to one origin: who gets which, and how many may be in the making at once.

A listener takes a hundred connections that come at once, often fewer, and drops or refuses the rest. So of a thousand
requests a few connect at a time and the others wait in order; whichever comes free first, a connection that is idle
again or room for a new one, the first of them gets. What is urgent waits in a line of its own, behind nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import time
from collections import deque
from typing import Final

import httpx

from mcp_tui.transport.base import spawn

IDLE: Final = 4.0
"""Seconds that an unused connection is kept: less than the five after which many servers close theirs, so that no
request meets a connection that is closed while it is on its way."""

MAKING: Final = 32
"""Connections of one line that may be in the making at once; there are two lines."""

FILES: Final = 8192
"""Open files that are asked for: each request in flight has a connection of its own, and many systems begin at 256."""

_KEEP_ALIVE: Final = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
_ONE: Final = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=IDLE)

Connection = httpx.AsyncHTTPTransport
"""A connection of httpx's, open or not: it carries one request at a time and opens itself where it must."""


class WaitingLine:
    """Requests that wait for a connection, first come first served, and how many are connecting."""

    def __init__(self) -> None:
        self.making = 0
        self._waiting: deque[asyncio.Future[Connection | None]] = deque()

    @property
    def empty(self) -> bool:
        """Whether nobody waits."""
        while self._waiting and self._waiting[0].done():
            self._waiting.popleft()
        return not self._waiting

    def wait(self) -> asyncio.Future[Connection | None]:
        """Stand at the end; the result is a connection that came free, or ``None`` for room to make one."""
        place = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        return place

    def serve(self, found: Connection | None) -> bool:
        """Let the first go on with it; false where nobody waits."""
        if self.empty:
            return False
        self._waiting.popleft().set_result(found)
        return True


class Lease:
    """A connection for one request. While it is in the making it takes up room in its line."""

    def __init__(self, connections: Connections, line: WaitingLine) -> None:
        self.connection: Connection
        self._connections = connections
        self._line = line
        self._making = False

    async def obtain(self) -> None:
        """Get a connection that is idle, or room for a new one."""
        found = await self._connections.get(self._line)
        self._making = found is None
        self.connection = self._connections.make() if found is None else found

    async def connecting(self) -> None:
        """It is being opened: one that was idle was closed by the server meanwhile, and takes up room now."""
        if not self._making:
            await self._connections.room(self._line)
            self._making = True

    async def replace(self) -> None:
        """Another one in its place."""
        await self.connection.aclose()
        self.connection = self._connections.make()

    def made(self) -> None:
        """It stands, or never will."""
        if self._making:
            self._making = False
            self._connections.leave_room(self._line)


class Connections:
    """Connections to one origin; each carries one request at a time."""

    def __init__(self, context: ssl.SSLContext, proxy: httpx.Proxy | None) -> None:
        self._context = context
        self._proxy = proxy
        self._idle: deque[tuple[float, Connection]] = deque()
        self._urgent = WaitingLine()
        self._ordinary = WaitingLine()
        self._sweeper: asyncio.TimerHandle | None = None
        self._closed = False

    def make(self) -> Connection:
        """A connection that is not open yet. Raises what httpx raises for a proxy that it cannot use."""
        return httpx.AsyncHTTPTransport(
            verify=self._context, trust_env=False, limits=_ONE, proxy=self._proxy, socket_options=_KEEP_ALIVE
        )

    def lease(self, *, urgent: bool) -> Lease:
        """A connection for one request, to be obtained."""
        return Lease(self, self._urgent if urgent else self._ordinary)

    async def get(self, line: WaitingLine) -> Connection | None:
        """The connection that was used last, or ``None`` for room to make one: at once, or when those before have theirs."""
        if line.empty:
            if self._idle:
                return self._idle.pop()[1]
            if line.making < MAKING:
                line.making += 1
                return None
        return await self._served(line)

    async def room(self, line: WaitingLine) -> None:
        """Room to make a connection, whatever is idle."""
        if line.empty and line.making < MAKING:
            line.making += 1
            return
        while (found := await self._served(line)) is not None:
            self.give_back(found)

    async def _served(self, line: WaitingLine) -> Connection | None:
        place = line.wait()
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():  # it was served and called off in one turn of the loop
                self._return(line, place.result())
            raise

    def _return(self, line: WaitingLine, found: Connection | None) -> None:
        if found is None:
            self.leave_room(line)
        else:
            self.give_back(found)

    def leave_room(self, line: WaitingLine) -> None:
        """A connection of this line is made, or given up."""
        if not line.serve(None):
            line.making -= 1

    def give_back(self, connection: Connection) -> None:
        """A connection whose request is over, be it open or closed: httpx opens it again where it must."""
        if self._closed:
            spawn(connection.aclose(), name="close a connection")
        elif not self._urgent.serve(connection) and not self._ordinary.serve(connection):
            self._idle.append((time.monotonic() + IDLE, connection))
            if self._sweeper is None:
                self._sweeper = asyncio.get_running_loop().call_later(IDLE + 0.1, self._sweep)

    def _sweep(self) -> None:
        self._sweeper = None
        now = time.monotonic()
        while self._idle and self._idle[0][0] <= now:
            spawn(self._idle.popleft()[1].aclose(), name="close an idle connection")
        if self._idle:
            self._sweeper = asyncio.get_running_loop().call_later(self._idle[0][0] - now + 0.1, self._sweep)

    async def close(self) -> None:
        """Close what is idle. Connections in use are closed with their requests."""
        self._closed = True
        if self._sweeper is not None:
            self._sweeper.cancel()
            self._sweeper = None
        while self._idle:
            await self._idle.popleft()[1].aclose()


def allow_files() -> None:
    """Raise the limit of open files as far as this process may, up to :data:`FILES`."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
