"""A request over streamable HTTP, from its first byte to its last answer."""

from __future__ import annotations

import json

import pytest

from tests.servers.http_scripted import (
    RPC_ERROR,
    Call,
    connected,
    polite,
    request,
)
from tests.servers.recorder import (
    Happened,
    Received,
    StreamEnded,
    TooLarge,
    Writing,
    Written,
)

# -- a request and its answer ----------------------------------------------------------------------------------


async def test_the_life_of_a_request_answered_by_json():
    async with connected(polite) as (server, transport, heard):
        assert not server.calls, "opening sends nothing"
        message = request(1, headers={"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call"})
        transport.send(message)
        await heard.until(StreamEnded)
        assert heard.items == [
            Writing(id=1),
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


@pytest.mark.parametrize("status", [400, 404, 422, 500])
async def test_an_error_status_with_a_json_rpc_body_is_a_message(status: int):
    async def script(call: Call) -> None:
        await call.respond(status, RPC_ERROR, "text/plain", {"Mcp-Session-Id": "trap"})

    async with connected(script) as (_, transport, heard):
        transport.send(request(1, "server/discover"))
        await heard.until(StreamEnded)
        assert heard.items[2:] == [
            Received(raw=RPC_ERROR, stream=1, status=status),
            StreamEnded(id=1),
        ]


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ({"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}, b"7\r\ndata: a\r\n"),
        ({"Content-Type": "application/json", "Content-Length": "100"}, b'{"jsonrpc"'),
        ({"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}, b"zz\r\n"),
    ],
)
async def test_a_connection_that_breaks_in_the_middle_of_the_answer(head: dict[str, str], body: bytes):
    async def script(call: Call) -> None:
        await call.head(200, head)
        await call.raw(body)
        call.cut()

    async with connected(script) as (_, transport, heard):
        transport.send(request(1))
        item = await heard.until(StreamEnded)
        assert item.detail
        assert not heard.of(Received)


# -- containment -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sse", [True, False])
async def test_a_message_above_the_cap_ends_its_request_and_nothing_else(sse: bool):
    async def script(call: Call) -> None:
        payload = b'{"jsonrpc":"2.0","id":1,"result":"' + b"x" * 200_000 + b'"}'
        if call.id == 2:
            await call.answer()
        elif sse:
            await call.stream()
            await call.event(payload)
            await call.end()
        else:
            await call.respond(200, payload, "application/json")
            await call.disconnected()

    async with connected(script, max_message=100_000) as (_, transport, heard):
        transport.send(request(1))
        end = await heard.until(StreamEnded)
        (large,) = heard.of(TooLarge)
        assert large.stream == 1
        assert large.head.startswith(b'{"jsonrpc":"2.0","id":1,')
        assert len(large.head) <= 65536
        assert large.size > 100_000
        assert end.id == 1
        transport.send(request(2))
        await heard.until(Received)
