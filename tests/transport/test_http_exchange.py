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
    NotSent,
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


# -- responses that are no answers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "body", "headers", "words"),
    [
        (202, "", b"", {}, "without a response .HTTP 202."),
        (204, "", b"", {}, "HTTP 204 with an empty body"),
        (201, "application/json", b"{}", {}, "HTTP 201 with JSON instead of HTTP 200"),
        (200, "application/json", b"", {}, "with an empty body. Is this the MCP endpoint"),
        (200, "text/html; charset=utf-8", b"<html>", {}, "HTTP 200 with text/html instead of JSON"),
        (200, "", b"{}", {}, "Is this the MCP endpoint"),
        (
            301,
            "",
            b"",
            {"Location": "https://other.example/mcp?key=hidden"},
            "redirects to https://other.example/mcp ",
        ),
        (307, "", b"", {"Location": "http://[broken"}, "redirects to http://.broken"),
        (
            307,
            "",
            b"",
            {"Location": "/elsewhere?key=1"},
            r"/mcp redirects to http://127.0.0.1:\d+/elsewhere ",
        ),
        (301, "", b"", {"Location": "sub/mcp"}, r"/sub/mcp \(HTTP 301\)"),
        (308, "", b"", {}, "redirects to nowhere"),
        (200, "", b"{}", {}, "without a Content-Type"),
        (400, "text/plain", b"no \x1b\n way", {}, r"HTTP 400 Bad Request \(it says: no . way\)"),
        (404, "text/html", b"<h1>no", {}, "HTTP 404 Not Found"),
        (405, "", b"", {}, "HTTP 405 Method Not Allowed"),
        (429, "", b"", {"Retry-After": "30"}, "HTTP 429 Too Many Requests. Retry after 30 s"),
        (
            503,
            "text/html",
            b"<p>",
            {"Retry-After": "Sat, 21 Nov 2026 20:00:00 GMT"},
            "Retry from Sat, 21 Nov",
        ),
        (500, "application/json", b'{"detail":"oops"}', {}, r"Internal Server Error \(it says: oops\)"),
        (500, "application/problem+json", b'{"error":{"message":"deep"}}', {}, r"\(it says: deep\)"),
        (502, "text/html", b"<h1>no", {}, "Bad Gateway$"),
        (599, "application/json", b"[]", {}, "HTTP 599"),
        (200, "application/json", b"{}", {"Content-Encoding": "gzip"}, "compressed its answer .gzip."),
        (200, "text/event-stream", b"\x1f\x8b", {"Content-Encoding": "br"}, "compressed its answer .br."),
        (
            401,
            "application/json",
            RPC_ERROR,
            {"WWW-Authenticate": 'Bearer realm="x", scope="a b"'},
            "requires sign-in .HTTP 401.",
        ),
        (403, "", b"", {}, "denies access .HTTP 403."),
    ],
)
async def test_a_response_that_is_no_answer_is_told_in_a_sentence(
    status: int, kind: str, body: bytes, headers: dict[str, str], words: str
):
    async def script(call: Call) -> None:
        if call.id == 1:
            await call.respond(status, body, kind, headers)
        else:
            await call.answer()

    async with connected(script) as (_, transport, heard):
        transport.send(request(1))
        item = await heard.until(NotSent)
        assert (item.id, item.refusal.status) == (1, status)
        assert item.refusal.body in (body, b"")
        assert pytest.raises(AssertionError, match=words).matches(AssertionError(item.detail)), item.detail
        assert "hidden" not in item.detail
        assert item.detail.isprintable()
        assert heard.names() == ["Writing", "Written", "NotSent"]
        transport.send(request(2))
        await heard.until(Received)


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
