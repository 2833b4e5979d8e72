"""How many connections are in the making, who waits for one, and what is tried again."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncGenerator

import pytest

from mcp_tui.protocol.events import Signal
from mcp_tui.transport import connections as module
from mcp_tui.transport.base import spawn
from mcp_tui.transport.connections import MAKING, Connection, Connections, Lease
from tests.servers.http_scripted import (
    HANG,
    HttpScript,
    cancelled,
    http,
    notification,
    opened,
    polite,
    request,
    silent,
)
from tests.servers.recorder import NotSent, Received, SignalFailed, StreamEnded, Written


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


async def test_requests_leave_in_order():
    async with HttpScript(silent) as server:
        transport = http(server)
        async with opened(transport) as heard:
            for number in range(3 * MAKING):
                transport.send(request(number))
            await heard.until(Written, count=3 * MAKING)
            ids = [item.id for item in heard.of(Written)]
    behind = [place - number for place, number in enumerate(ids) if isinstance(number, int)]
    assert max(map(abs, behind)) < MAKING, "none is overtaken by more than are connecting at once"


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


async def test_a_listener_that_refuses_always_is_given_up_and_then_tried_once_each(
    monkeypatch: pytest.MonkeyPatch,
):
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def noted(seconds: float) -> None:
        pauses.append(seconds)
        await sleep(0)

    monkeypatch.setattr("mcp_tui.transport.http_client.asyncio.sleep", noted)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        transport = http(f"http://127.0.0.1:{nobody.getsockname()[1]}/mcp")
        async with opened(transport) as heard:
            transport.send(request(1))
            assert (await heard.until(NotSent)).detail.endswith("connection refused")
            tried = [each for each in pauses if each]
            transport.send(request(2))
            transport.signal(3, Signal.NOTIFICATION, cancelled(3))
            await heard.until(NotSent, count=2)
            await heard.until(SignalFailed)
            assert [each for each in pauses if each] == tried
            assert len(tried) == 3


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


async def test_who_is_called_off_in_the_turn_in_which_it_is_served_passes_it_on():
    connections = pool()
    first, second, *_ = await full(connections)
    gone, also_gone, third, fourth = await waiting(connections, 4)
    free = connections.make()
    connections.give_back(free)  # serves the first
    first.made()  # and the second
    gone.task.cancel()
    also_gone.task.cancel()
    assert await third.connection() is free
    assert await fourth.connection() is not free
    assert gone.task.cancelled()
    assert also_gone.task.cancelled()
    second.made()
    await connections.close()


async def test_who_is_called_off_while_it_waits_is_passed_over():
    connections = pool()
    first, *_ = await full(connections)
    gone, served = await waiting(connections, 2)
    gone.task.cancel()
    await asyncio.sleep(0)
    first.made()
    await served.connection()
    assert gone.task.cancelled()
    await connections.close()


async def test_a_connection_that_was_closed_while_it_was_idle_takes_up_room_when_it_is_opened_again():
    connections = pool()
    idle = [connections.make() for _ in range(2)]
    for each in idle:
        connections.give_back(each)
    stale = connections.lease(urgent=False)
    await stale.obtain()
    assert stale.connection is idle[1]
    other = connections.lease(urgent=False)
    await other.obtain()
    leases = await full(connections)
    opening = spawn(stale.connecting(), name="open again")
    await asyncio.sleep(0)
    assert not opening.done()
    free = connections.make()
    connections.give_back(free)  # of no use to what opens its own
    await asyncio.sleep(0)
    assert not opening.done()
    leases[0].made()
    async with asyncio.timeout(HANG):
        await opening
    again = connections.lease(urgent=False)
    await again.obtain()
    assert again.connection is free
    await connections.close()


def test_more_files_may_be_open(monkeypatch: pytest.MonkeyPatch):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = min(256, soft)
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))
    try:
        monkeypatch.setattr(module, "FILES", few + 1)
        module.allow_files()
        now = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert now == (few + 1 if hard == resource.RLIM_INFINITY or hard > few else few, hard)
        monkeypatch.setattr(module, "FILES", few - 1)
        module.allow_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == now, "never lowered"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
