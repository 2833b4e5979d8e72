"""How many connections are in the making, who waits for one, and what is tried again."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator

import pytest

from mcp_tui.transport.http_client import MAKING
from tests.servers.http_scripted import (
    HANG,
    HttpScript,
    http,
    opened,
    polite,
    request,
)
from tests.servers.recorder import Received, StreamEnded
from tests.waiting import turns


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


async def test_a_request_that_waits_is_taken_back_without_a_connection_and_leaves_its_place_to_the_next(
    deaf: Deaf,
):
    transport = http(deaf.url, insecure=True)
    async with opened(transport) as heard:
        for number in range(MAKING + 2):
            transport.send(request(number))
        await deaf.until(MAKING)
        transport.unqueue(MAKING)
        await turns()
        assert deaf.count == MAKING, "one that waited never had a connection"
        transport.unqueue(0)
        await deaf.until(MAKING + 1)
        assert deaf.gone <= 1
        transport.unqueue(MAKING + 1)  # the last one is connecting now, and can be taken back as well
        await turns()
        assert deaf.count == MAKING + 1
        assert heard.names() == []


async def test_a_listener_that_refuses_at_first_is_tried_again():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        transport = http(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp")
        async with opened(transport) as heard:
            transport.send(request(1))
            await turns()
            listener.setblocking(False)
            listener.listen()
            async with HttpScript(polite) as other:
                server = await asyncio.start_server(other._accepted, sock=listener)  # pyright: ignore[reportPrivateUsage]
                await heard.until(Received)
                await heard.until(StreamEnded)
                server.close()
            assert heard.names() == ["Writing", "Written", "Received", "StreamEnded"]
