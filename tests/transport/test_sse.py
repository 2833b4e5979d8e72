"""HTTP with SSE (2024-11-05) over real sockets, against servers whose every byte is scripted."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from mcp_tui.transport import http_exchanges
from mcp_tui.transport.base import TransportError, Unauthorized
from mcp_tui.transport.http import SseTransport
from mcp_tui.transport.targets import HttpTarget
from tests.servers.http_scripted import (
    HANG,
    Call,
    Heard,
    HttpScript,
    cancelled,
    notification,
    opened,
    request,
)
from tests.servers.recorder import (
    Accepted,
    Closed,
    Received,
    Signalled,
    Written,
    recorder,
)
from tests.waiting import turns


def sse(server: HttpScript, headers: dict[str, str] | None = None, **options: Any) -> SseTransport:
    return SseTransport(HttpTarget(url=server.url, headers=headers or {}), **options)


class Sse:
    """A server of 2024-11-05 that answers every request by its one stream. `say` puts bytes on it."""

    def __init__(self, endpoint: str = "/messages?session=1", status: int = 202) -> None:
        self.endpoint = endpoint
        self.status = status
        self.streaming: Call | None = None
        self.ending = asyncio.Event()

    async def __call__(self, call: Call) -> None:
        if call.method == "GET":
            self.streaming = call
            await call.stream()
            await call.chunk(f"event: endpoint\r\ndata: {self.endpoint}\r\n\r\n".encode())
            await self.ending.wait()
            return
        await call.respond(self.status, b"Accepted")
        if "id" in call.message and self.status == 202:
            assert self.streaming is not None
            await self.streaming.result(call.id)

    @property
    def stream(self) -> Call:
        assert self.streaming is not None
        return self.streaming


async def test_a_request_goes_to_the_endpoint_and_its_answer_comes_by_the_stream():
    async with HttpScript(Sse()) as server:
        transport = sse(server, {"X-Key": "k"})
        async with opened(transport) as heard:
            assert [call.method for call in server.calls] == ["GET"]
            message = request(1, "initialize")
            transport.send(message)
            received = await heard.until(Received)
            assert (json.loads(received.raw)["id"], received.stream, received.status) == (1, None, 0)
            transport.send(notification("notifications/initialized"))
            await heard.until(Accepted)
            assert heard.names() == ["Writing", "Written", "Received", "Writing", "Written", "Accepted"]
            assert heard.of(Written)[0] == Written(message=message)
        assert heard.items[-1] == Closed(detail="closed", expected=True)
    get, post, _ = server.calls
    assert get.path == "/mcp"
    assert get.headers["accept"] == "text/event-stream"
    assert (post.path, post.body) == ("/messages?session=1", message.raw)
    assert {call.headers["x-key"] for call in server.calls} == {"k"}
    assert {call.method for call in server.calls} == {"GET", "POST"}


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (401, "", Unauthorized),
        (403, "", Unauthorized),
        (404, "text/html", TransportError),
        (200, "text/html", TransportError),
        (302, "", TransportError),
        (500, "", TransportError),
    ],
)
async def test_an_address_without_such_a_stream(status: int, kind: str, error: type[TransportError]):
    async def script(call: Call) -> None:
        await call.respond(status, b"x", kind, {"Location": "http://other/"})

    async with HttpScript(script) as server:
        with pytest.raises(TransportError) as caught:
            await sse(server).open(recorder(Heard()))
        assert type(caught.value) is error
        assert str(status) in str(caught.value)


async def test_a_cancel_does_not_overtake_its_request(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_exchanges, "OVERTAKEN_SECONDS", HANG)
    before: list[str] = []
    signalled = asyncio.Event()

    class Slow(Sse):
        async def __call__(self, call: Call) -> None:
            if call.method == "POST" and call.message.get("id") == 1:
                await signalled.wait()
                await turns()
                before.extend(each.rpc for each in server.calls if each.method == "POST")
            await super().__call__(call)

    async with HttpScript(Slow()) as server:
        transport = sse(server)
        async with opened(transport) as heard:
            transport.send(request(1))
            await heard.until(Written)
            transport.signal(cancelled(1))
            signalled.set()
            await heard.until(Signalled)
    assert before == [request(1).method]


async def test_the_end_of_the_stream_is_the_end_of_the_connection():
    script = Sse()
    async with HttpScript(script) as server:
        transport = sse(server)
        async with opened(transport) as heard:
            transport.send(request(1))
            await heard.until(Received)
            script.stream.cut()
            script.ending.set()
            closed = await heard.until(Closed)
            assert not closed.expected
            assert "event stream" in closed.detail
            transport.send(request(2))
            await turns()
        assert heard.items[-1] == closed


async def test_a_stream_that_ends_within_an_event_is_said_to_have_done_so():
    script = Sse()
    async with HttpScript(script) as server, opened(sse(server)) as heard:
        await script.stream.chunk(b'data: {"jsonrpc":')
        await script.stream.end()
        closed = await heard.until(Closed)
    assert closed.detail == "the server closed its event stream in the middle of a message"
