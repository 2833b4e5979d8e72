"""Races of streams that drop, as the whole client sees them over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from mcp_tui.client import Client, ClientSettings, HttpTarget
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Signal
from mcp_tui.protocol.requests import Request, State
from tests.protocol.playbook import HANDSHAKEN, MODERN, MODERN_HTTP, ON_HTTP, Wire
from tests.servers.http_scripted import HANG, Call, HttpScript

HANDSHAKEN_HTTP = [wire for wire in ON_HTTP if wire in HANDSHAKEN]

resuming = pytest.mark.parametrize("wire", HANDSHAKEN_HTTP, ids=str)


class Dropping:
    """Cuts the stream of a call behind an event that has an id."""

    def __init__(self, *, retry: int = 10) -> None:
        self.retry = retry
        self.resumptions = 0
        self.cancels = 0

    async def __call__(self, call: Call) -> None:
        if call.rpc == "server/discover":
            await call.answer({"resultType": "complete", "supportedVersions": [MODERN], "capabilities": {}})
        elif call.rpc == "initialize":
            asked = call.message["params"]["protocolVersion"]
            await call.answer({"protocolVersion": asked, "capabilities": {}})
        elif call.rpc == "tools/call":
            await call.stream()
            await call.event({"jsonrpc": "2.0", "method": "notifications/message"}, id="1", retry=self.retry)
            call.cut()
        elif call.method == "GET" and "last-event-id" in call.headers:
            self.resumptions += 1
            await call.stream()
            await call.event({"jsonrpc": "2.0", "id": 2, "result": {"content": []}}, id="2")
            await call.end()
        elif call.method != "POST":
            await call.respond(405)
        else:
            self.cancels += call.rpc == "notifications/cancelled"
            await call.respond(202)


async def connected(server: HttpScript, wire: Wire) -> Client:
    client = Client(HttpTarget(url=server.url), ClientSettings(protocol=str(wire.revision), grace=0.0))
    await client.connect()
    return client


def called(client: Client) -> Request:
    row = client.book.get(client.call_tool("slow", {}))
    assert row is not None
    assert row.id == 2
    return row


def resumed_soon(event: ev.Event) -> bool:
    return isinstance(event, ev.Note) and "resumed in" in event.text


def signalled(event: ev.Event) -> bool:
    return isinstance(event, ev.CancelSignalled)


async def told(client: Client, wanted: Callable[[ev.Event], bool]) -> None:
    """Wait for an event."""
    happened = asyncio.Event()
    ignore = client.listen(lambda event: happened.set() if wanted(event) else None)
    async with asyncio.timeout(HANG):
        await happened.wait()
    ignore()


@resuming
async def test_c35_a_stream_that_drops_behind_an_event_id_is_resumed_and_the_call_completes(wire: Wire):
    async with HttpScript(script := Dropping()) as server:
        client = await connected(server, wire)
        row = called(client)
        async with asyncio.timeout(HANG):
            assert await client.wait(row.id) is not None
        await client.close()
    assert (row.state, script.resumptions) == (State.COMPLETED, 1)


@resuming
async def test_c36_a_cancel_while_reconnecting_is_posted_and_nothing_is_resumed(wire: Wire):
    async with HttpScript(script := Dropping(retry=60_000)) as server:
        client = await connected(server, wire)
        row = called(client)
        await told(client, resumed_soon)
        assert row.state is State.IN_FLIGHT
        client.cancel(row.id, reason="no")
        async with asyncio.timeout(HANG):
            assert await client.wait(row.id) is None
        if row.signal is None:
            await told(client, signalled)
        await client.close()
    assert row.signal is Signal.NOTIFICATION
    assert (script.cancels, script.resumptions) == (1, 0)


@pytest.mark.parametrize("wire", [MODERN_HTTP], ids=str)
async def test_c39_in_2026_07_28_event_ids_mean_nothing_and_the_call_is_lost(wire: Wire):
    async with HttpScript(script := Dropping(retry=1)) as server:
        client = await connected(server, wire)
        row = called(client)
        async with asyncio.timeout(HANG):
            assert await client.wait(row.id) is None
        await asyncio.sleep(0.1)
        await client.close()
    assert row.state is State.LOST
    assert script.resumptions == 0
    assert [call.rpc for call in server.calls].count("tools/call") == 1
