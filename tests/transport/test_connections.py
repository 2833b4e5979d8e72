"""How many connections are in the making, who waits for one, and what is tried again."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncGenerator

import pytest

from mcp_tui.protocol.events import Signal
from mcp_tui.transport.base import spawn
from mcp_tui.transport.http_client import MAKING, Connection, Connections, Lease
from tests.servers.http_scripted import (
    HANG,
    HttpScript,
    cancelled,
    http,
    notification,
    opened,
    polite,
    request,
)
from tests.servers.recorder import Received, StreamEnded


class Deaf:
    """A listener that never shakes hands over TLS, so that every connection to it stays in the making."""

    def __init__(self) -> None:
        self.url = ""
        self.count = 0
        self.gone = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.count += 1
        with contextlib.suppress(ConnectionError):
            while await reader.read(65536):
                pass
        self.gone += 1
        writer.close()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(HANG):
            while self.count < count:
                await asyncio.sleep(0.01)


@pytest.fixture
async def deaf() -> AsyncGenerator[Deaf]:
    made = Deaf()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    yield made
    server.close()


async def test_requests_wait_their_turn_and_what_is_urgent_waits_for_none_of_them(deaf: Deaf):
    transport = http(deaf.url, insecure=True)
    async with opened(transport) as heard:
        for number in range(3 * MAKING):
            transport.send(request(number))
        await deaf.until(MAKING)
        await asyncio.sleep(0.1)
        assert deaf.count == MAKING
        transport.signal(999, Signal.NOTIFICATION, cancelled(999))
        transport.send(notification("notifications/x"))
        await deaf.until(MAKING + 2)
        assert heard.names() == []


async def test_a_request_that_waits_is_taken_back_without_a_connection_and_leaves_its_place_to_the_next(
    deaf: Deaf,
):
    transport = http(deaf.url, insecure=True)
    async with opened(transport) as heard:
        for number in range(MAKING + 2):
            transport.send(request(number))
        await deaf.until(MAKING)
        assert transport.unqueue(MAKING)
        await asyncio.sleep(0.05)
        assert deaf.count == MAKING, "one that waited never had a connection"
        assert transport.unqueue(0)
        await deaf.until(MAKING + 1)
        assert deaf.gone <= 1
        assert transport.unqueue(MAKING + 1), "the last one is connecting now, and can be taken back as well"
        await asyncio.sleep(0.05)
        assert deaf.count == MAKING + 1
        assert heard.names() == []


async def test_a_listener_that_refuses_at_first_is_tried_again():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        transport = http(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp")
        async with opened(transport) as heard:
            transport.send(request(1))
            await asyncio.sleep(0.02)
            listener.setblocking(False)
            listener.listen()
            async with HttpScript(polite) as other:
                server = await asyncio.start_server(other._accepted, sock=listener)  # pyright: ignore[reportPrivateUsage]
                await heard.until(Received)
                await heard.until(StreamEnded)
                server.close()
            assert heard.names() == ["Writing", "Written", "Received", "StreamEnded"]


# -- lines and leases, without a socket ------------------------------------------------------------------------


def pool() -> Connections:
    return Connections(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), None)


async def full(connections: Connections, *, urgent: bool = False) -> list[Lease]:
    """As many leases as may be in the making at once."""
    leases = [connections.lease(urgent=urgent) for _ in range(MAKING)]
    for lease in leases:
        await lease.obtain()
    return leases


async def waiting(connections: Connections, count: int, *, urgent: bool = False) -> list[Waiting]:
    made = [Waiting(connections.lease(urgent=urgent)) for _ in range(count)]
    await asyncio.sleep(0)
    return made


class Waiting:
    """A lease that is being obtained."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.task = spawn(lease.obtain(), name="obtain")

    async def connection(self) -> Connection:
        async with asyncio.timeout(HANG):
            await self.task
        return self.lease.connection


async def test_a_connection_that_comes_free_goes_to_what_is_urgent_then_to_the_first_that_waits():
    connections = pool()
    first, *_ = await full(connections)
    await full(connections, urgent=True)
    one, other = await waiting(connections, 2)
    (urgent,) = await waiting(connections, 1, urgent=True)
    free = [connections.make() for _ in range(2)]
    for each in free:
        connections.give_back(each)
    assert [await urgent.connection(), await one.connection()] == free
    assert not other.task.done()
    first.made()
    assert await other.connection() not in free
    await connections.close()
