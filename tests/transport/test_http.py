"""Streamable HTTP over real sockets: requests, cancels, the session, and the end of the connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from mcp_tui.protocol.revisions import LATEST
from mcp_tui.transport.http_bodies import SHOWN_BODY_SECONDS
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
    Dropped,
    Happened,
    NotSent,
    Received,
    SignalAccepted,
    SignalLeaving,
    Signalled,
    StreamEnded,
    Writing,
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
            transport.signal(cancelled(1))
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


async def test_the_handshake_does_not_wait_for_the_body_of_an_acceptance():
    async def work(call: Call) -> None:
        if call.rpc == "notifications/initialized":
            await call.head(202, {"Transfer-Encoding": "chunked"})
            await call.disconnected()
        else:
            await polite(call)

    async with asyncio.timeout(SHOWN_BODY_SECONDS / 2), shaken(Stateful(work)) as (server, _, _):
        await server.until(is_verb("GET"))


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
        transport.signal(cancelled(1))
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


# -- a request and its answer ----------------------------------------------------------------------------------


async def test_the_life_of_a_request_answered_by_json():
    async with connected(polite) as (server, transport, heard):
        assert not server.calls, "opening sends nothing"
        message = request(1, headers={"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"})
        transport.send(message)
        await heard.until(StreamEnded)
        assert heard.items == [
            Writing(message=message),
            Written(message=message),
            Received(raw=b'{"jsonrpc": "2.0", "id": 1, "result": {}}', stream=1, status=200),
            StreamEnded(id=1),
        ]
    call = server.calls[0]
    assert (call.method, call.path, call.body) == ("POST", "/mcp", message.raw)
    assert call.headers["accept"] == "application/json, text/event-stream"
    assert call.headers["content-type"] == "application/json"
    assert call.headers["accept-encoding"] == "identity"
    assert call.headers["mcp-protocol-version"] == "2026-07-28"
    assert call.headers["mcp-method"] == "tools/call"
    assert "mcp-session-id" not in call.headers


async def test_the_life_of_a_request_answered_by_a_stream():
    async def script(call: Call) -> None:
        await call.stream()
        await call.chunk(b": hello\n\n")
        await call.event({"method": "notifications/progress"}, name="message", id="x")
        await call.event({"a": 1}, name="stranger")
        await call.event({"jsonrpc": "2.0", "method": "x"}, name="progress")
        await call.chunk(b"retry: 5\nid: 3\ndata:\n\n")  # primes, and is no message
        await call.result()
        await call.event({"after": "the answer"})
        await call.end()

    async with connected(script) as (_, transport, heard):
        transport.send(request("a"))
        await heard.until(StreamEnded)
        assert [json.loads(item.raw) for item in heard.of(Received)] == [
            {"method": "notifications/progress"},
            {"jsonrpc": "2.0", "id": "a", "result": {}},
            {"after": "the answer"},
        ]
        assert {(item.stream, item.status) for item in heard.of(Received)} == {("a", 0)}
        assert heard.of(StreamEnded) == [StreamEnded(id="a")]
        assert "stranger" in heard.of(Happened)[0].text
        (dropped,) = heard.of(Dropped)
        assert (dropped.what, dropped.stream) == ("an event named 'progress'", "a")


@pytest.mark.parametrize(
    ("chunk", "what"),
    [(b"event: odd\ndata: 1\n\n", "events named 'odd'"), (b"data: {", "an incomplete event")],
)
async def test_a_stream_without_a_response_is_said_to_have_held_something_else(chunk: bytes, what: str):
    async def script(call: Call) -> None:
        await call.stream()
        await call.chunk(chunk)
        await call.end()

    async with connected(script) as (_, transport, heard):
        transport.send(request("a"))
        ended = await heard.until(StreamEnded)
        assert ended.detail.startswith(f"the stream ended without a response, with {what}")


EVENTS = {"Content-Type": "text/event-stream"}
JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("head", "body", "what"),
    [
        (EVENTS, b"data: {", "half an event (7 bytes)"),
        (EVENTS | {"Content-Length": "1000"}, b": hello\n\ndata: {", "half an event (7 bytes)"),
        (EVENTS | {"Content-Encoding": "gzip"}, b"\x1f\x8b", "a body in the encoding gzip"),
        (JSON | {"Content-Length": "1000"}, b'{"jsonrpc"', "half a body (10 bytes)"),
        (EVENTS | {"Content-Length": "1000"}, b"data: {}\n\n", None),
    ],
    ids=["stream", "broken stream", "encoding", "broken body", "between two events"],
)
async def test_what_no_client_reads_is_reported_as_dropped(
    head: dict[str, str], body: bytes, what: str | None
):
    async def script(call: Call) -> None:
        await call.head(200, head)
        await call.raw(body)
        call.writer.close()

    async with connected(script) as (_, transport, heard):
        transport.send(request("a"))
        await heard.until(StreamEnded if "Content-Encoding" not in head else NotSent)
        assert heard.of(Dropped) == ([] if what is None else [Dropped(what=what, stream="a")])


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
        assert transport.release(1)
        assert heard.items[before:] == []
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
        transport.signal(message)
        assert (await server.until(is_rpc("notifications/cancelled"))).body == message.raw
        transport.send(request(2))
        await heard.until(StreamEnded, lambda item: item.id == 2)
        assert heard.of(SignalLeaving) == [SignalLeaving(message=message)]
        transport.withdraw(1)  # too late
        assert heard.of(Signalled) == [Signalled(message=message)]
        assert not heard.of(SignalAccepted)
        hanging.set()
        assert await heard.until(SignalAccepted) == SignalAccepted(message=message)
        assert not server.calls[0].gone, "a stream that is closed is no cancel in this era"
