"""How a cancel leaves over streamable HTTP, in either era."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from mcp_tui.protocol.events import Signal
from mcp_tui.protocol.revisions import LATEST
from tests.servers.http_scripted import (
    HANG,
    Call,
    cancelled,
    connected,
    is_rpc,
    request,
    silent,
)
from tests.servers.recorder import (
    SignalAccepted,
    SignalLeaving,
    Signalled,
    StreamEnded,
    Written,
)
from tests.waiting import turns

# -- cancelling by closing -------------------------------------------------------------------------------------


async def open_stream(call: Call) -> None:
    await call.stream()
    await call.event({"method": "notifications/message"})
    await call.disconnected()


async def half_a_body(call: Call) -> None:
    await call.head(200, {"Content-Type": "application/json", "Content-Length": "1000"})
    await call.raw(b'{"jsonrpc"')
    await call.disconnected()


@pytest.mark.parametrize("script", [silent, open_stream, half_a_body])
async def test_closing_the_stream_closes_the_socket_headers_or_not(script: Callable[[Call], Any]):
    """The cancel of 2026-07-28: nothing is posted, and the connection is never used again."""

    async def either(call: Call) -> None:
        await (script(call) if call.id == 1 else call.answer())

    async with connected(either) as (server, transport, heard):
        transport.negotiated(LATEST)
        transport.send(request(1))
        call = await server.until(lambda _: True)
        if script is not silent:
            await turns()
        before = len(heard.items)
        transport.signal(1, Signal.STREAM_CLOSED, None)
        assert heard.items[before:] == [
            SignalLeaving(id=1),
            Signalled(id=1, signal=Signal.STREAM_CLOSED),
        ]
        async with asyncio.timeout(HANG):
            while not call.gone:
                await asyncio.sleep(0.01)
        transport.send(request(2))
        await heard.until(StreamEnded)
        assert [item.id for item in heard.of(StreamEnded)] == [2]
    assert [call.rpc for call in server.calls] == ["tools/call", "tools/call"]
    assert server.calls[0].connection != server.calls[1].connection


# -- cancelling by notification --------------------------------------------------------------------------------


async def test_a_cancel_overtakes_everything_and_blocks_nothing():
    """The server answers neither the request nor its cancel: the next call goes on all the same."""
    hanging = asyncio.Event()

    async def script(call: Call) -> None:
        match call.rpc:
            case "notifications/cancelled":
                await hanging.wait()
                await call.respond(202)
            case "tools/call" if call.id == 1:
                await call.disconnected()
            case _:
                await call.answer()

    async with connected(script) as (server, transport, heard):
        transport.send(request(1))
        await heard.until(Written)
        message = cancelled(1)
        transport.signal(1, Signal.NOTIFICATION, message)
        assert (await server.until(is_rpc("notifications/cancelled"))).body == message.raw
        transport.send(request(2))
        await heard.until(StreamEnded, lambda item: item.id == 2)
        assert heard.of(SignalLeaving) == [SignalLeaving(id=1)]
        transport.recall(1)  # too late
        assert heard.of(Signalled) == [
            Signalled(id=1, signal=Signal.NOTIFICATION, raw=message.raw, answered=True)
        ]
        assert not heard.of(SignalAccepted)
        hanging.set()
        assert await heard.until(SignalAccepted) == SignalAccepted(id=1)
        assert not server.calls[0].gone, "a stream that is closed is no cancel in this era"
