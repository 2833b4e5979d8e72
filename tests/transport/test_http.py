"""Streamable HTTP over real sockets: the session, and the end of the connection."""

from __future__ import annotations

import asyncio

import pytest

from mcp_tui.protocol.events import Signal
from mcp_tui.protocol.revisions import LATEST
from tests.servers.http_scripted import (
    HANG,
    Call,
    Heard,
    HttpScript,
    Stateful,
    cancelled,
    connected,
    http,
    is_rpc,
    is_verb,
    notification,
    opened,
    polite,
    request,
    shake_hands,
    shaken,
    silent,
)
from tests.servers.recorder import (
    Closed,
    Happened,
    Signalled,
    StreamEnded,
    Written,
    recorder,
)
from tests.waiting import turns

# -- the session of the handshake era --------------------------------------------------------------------------


@pytest.mark.parametrize("sse", [False, True])
async def test_the_session_id_goes_on_every_later_request(sse: bool):
    async def work(call: Call) -> None:
        if call.rpc == "tools/call" and call.id == 1:
            await call.disconnected()
        else:
            await polite(call)

    async with HttpScript(Stateful(work, sse=sse)) as server:
        transport = http(server)
        async with opened(transport) as heard:
            await shake_hands(transport, heard)
            await server.until(is_verb("GET"))
            transport.send(request(1, headers={"MCP-Protocol-Version": "2025-11-25"}))
            await heard.until(Written, lambda item: item.id == 1)
            transport.signal(1, Signal.NOTIFICATION, cancelled(1))
            await heard.until(Signalled)
        await server.until(is_verb("DELETE"))
        assert heard.items[-1] == Closed(detail="closed", expected=True)
    first, *later = server.calls
    assert "mcp-session-id" not in first.headers
    assert {call.headers.get("mcp-session-id") for call in later} == {"s-1"}
    assert {call.rpc or call.method for call in later} == {
        "notifications/initialized",
        "GET",
        "tools/call",
        "notifications/cancelled",
        "DELETE",
    }
    for call in later:
        if call.method != "POST":
            assert call.headers["mcp-protocol-version"] == "2025-11-25"


async def test_a_session_id_that_no_header_may_hold_is_ignored():
    async with shaken(Stateful(session="a b")) as (server, _, heard):
        assert any("session id" in item.text for item in heard.of(Happened))
    assert all("mcp-session-id" not in call.headers for call in server.calls)


async def test_the_modern_era_has_no_session_no_get_and_no_delete():
    async def script(call: Call) -> None:
        await call.answer(headers={"Mcp-Session-Id": "trap"})

    async with connected(script) as (server, transport, heard):
        transport.send(request(1, "server/discover"))
        await heard.until(StreamEnded)
        transport.negotiated(LATEST)
        transport.send(notification("notifications/x"))
        transport.send(request(2))
        await heard.until(StreamEnded, count=2)
        await turns()
    assert {call.method for call in server.calls} == {"POST"}
    assert all("mcp-session-id" not in call.headers for call in server.calls)


# -- closing ---------------------------------------------------------------------------------------------------


async def test_close_is_bounded_whatever_the_server_does():
    async with HttpScript(Stateful(silent)) as server:
        transport = http(server)
        heard = Heard()
        await transport.open(recorder(heard))
        transport.send(request(0, "initialize"))
        await heard.until(StreamEnded)
        transport.send(request(1))
        await server.until(is_rpc("tools/call"))
        transport.signal(1, Signal.NOTIFICATION, cancelled(1))
        async with asyncio.timeout(HANG):
            await transport.close()
            await transport.close()
        assert heard.of(Closed) == [Closed(detail="closed", expected=True)]
        assert [call.rpc or call.method for call in server.calls] == [
            "initialize",
            "tools/call",
            "notifications/cancelled",
            "DELETE",
        ]
