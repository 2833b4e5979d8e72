"""Streams of streamable HTTP: those that end before their answer are resumed, and the server has one of its own."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcp_tui.protocol.revisions import LATEST
from mcp_tui.transport import http_streams
from mcp_tui.transport.base import Challenge, RequestToken
from tests.servers.http_scripted import (
    RPC_ERROR,
    Call,
    Stateful,
    cancelled,
    connected,
    is_verb,
    polite,
    request,
    shake_hands,
    shaken,
)
from tests.servers.recorder import Happened, Received, Signalled, StreamEnded
from tests.waiting import turns


class Dropping(Stateful):
    """Ends the stream of a call after an event with an id; `resumed` goes on with it."""

    def __init__(self, resumed: Callable[[Call], Any], *, cut: bool = True, retry: int = 30) -> None:
        super().__init__(self._work)
        self._resumed = resumed
        self._cut = cut
        self._retry = retry
        self.resumptions: list[Call] = []
        self.moments: list[float] = []

    async def _work(self, call: Call) -> None:
        if call.method == "GET" and "last-event-id" not in call.headers:
            await call.respond(405)
        elif call.method == "GET":
            self.resumptions.append(call)
            self.moments.append(asyncio.get_running_loop().time())
            await self._resumed(call)
        elif call.rpc == "tools/call":
            await call.stream()
            await call.event({"method": "notifications/message"})
            await call.chunk(
                "id: é-1\nretry: %d\ndata:\n\n".encode() % self._retry
            )  # primes, and is no message
            self.moments.append(asyncio.get_running_loop().time())
            if self._cut:
                call.cut()
            else:
                await call.end()
        else:
            await polite(call)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction] - used by pytest
    monkeypatch.setattr(http_streams, "SHORTEST_RETRY_SECONDS", 0.001)


@pytest.mark.parametrize("cut", [True, False])
async def test_c35_a_stream_that_ends_before_its_answer_is_resumed_at_the_time_that_was_asked_for(cut: bool):
    async def resumed(call: Call) -> None:
        await call.stream()
        if len(script.resumptions) == 1:
            await call.event({"method": "notifications/message", "more": 1}, id="2")
            script.moments.append(asyncio.get_running_loop().time())
            call.cut()
        else:
            await call.result(7)
            await call.end()

    script = Dropping(resumed, cut=cut, retry=100)
    async with shaken(script) as (_, transport, heard):
        transport.send(request(7))
        await heard.until(StreamEnded, lambda item: item.id == 7)
        ends = [item for item in heard.of(StreamEnded) if item.id == 7]
        assert [item.detail for item in ends] == [""]
        received = [item for item in heard.of(Received) if item.stream == 7]
        assert len(received) == 3
        assert json.loads(received[-1].raw)["id"] == 7
        notes = [item.text for item in heard.of(Happened) if "ended before the response" in item.text]
        assert ["closed by the server" in note for note in notes] == [not cut, False]
        assert all(note.endswith("resuming in 0.1 s") for note in notes)
        assert any("resumed" in item.text for item in heard.of(Happened))
    ids = [call.headers["last-event-id"].encode("latin-1").decode() for call in script.resumptions]
    assert ids == ["é-1", "2"]
    closed, first, again, second = script.moments
    assert first - closed >= 0.09
    assert second - again >= 0.09, "a time that was asked for once holds on"
    assert {call.headers.get("mcp-session-id") for call in script.resumptions} == {"s-1"}


async def test_resuming_is_given_up_after_some_failures():
    async def resumed(call: Call) -> None:
        await call.respond(503)

    async with shaken(script := Dropping(resumed, retry=1)) as (_, transport, heard):
        transport.send(request(7))
        end = await heard.until(StreamEnded, lambda item: item.id == 7)
        assert "503" in end.detail
    assert len(script.resumptions) == 6


async def test_a_token_that_expired_meanwhile_is_renewed_to_resume():
    class Tokens:
        access = "old"

        def for_request(self, method: str, url: object) -> RequestToken:
            return RequestToken(self.access, headers={"Authorization": f"Bearer {self.access}"})

        def answered(self, sent: RequestToken, status: int, nonce: str) -> None:
            pass

        def connected(self, ip: str) -> None:
            pass

        async def renew(self, challenge: Challenge) -> bool:
            self.access = "new"
            return True

    async def resumed(call: Call) -> None:
        if call.headers["authorization"] != "Bearer new":
            await call.respond(401)
            return
        await call.stream()
        await call.result(7)
        await call.end()

    script = Dropping(resumed, retry=1)
    async with connected(script, tokens=Tokens()) as (_, transport, heard):
        await shake_hands(transport, heard)
        transport.send(request(7))
        await heard.until(Received, lambda item: item.stream == 7 and b'"result"' in item.raw)
    assert len(script.resumptions) == 2


async def test_a_cancelled_stream_that_drops_is_not_resumed():
    dropping = asyncio.Event()

    async def work(call: Call) -> None:
        if call.rpc == "tools/call":
            await call.stream()
            await call.event({"method": "notifications/message"}, id="1", retry=10)
            await dropping.wait()
            call.cut()
        else:
            await polite(call)

    async with shaken(Stateful(work)) as (_, transport, heard):
        transport.send(request(7))
        await heard.until(Received, lambda item: item.stream == 7)
        transport.signal(cancelled(7))
        await heard.until(Signalled)
        dropping.set()
        end = await heard.until(StreamEnded, lambda item: item.id == 7)
        assert end.detail == "connection closed before the response"


async def test_c39_the_modern_era_never_resumes():
    async def script(call: Call) -> None:
        await call.stream()
        await call.event({"method": "notifications/message"}, id="1", retry=1)
        call.cut()

    async with connected(script) as (server, transport, heard):
        transport.negotiated(LATEST)
        transport.send(request(1))
        end = await heard.until(StreamEnded)
        assert end.detail == "connection closed before the response"
        await turns()
    assert len(server.calls) == 1


def listened(gets: list[Call], listen: Callable[[Call], Awaitable[None]]) -> Stateful:
    """A server that says something in its own stream, each time that it is opened."""

    async def work(call: Call) -> None:
        if call.method != "GET":
            await polite(call)
            return
        gets.append(call)
        await call.stream()
        await listen(call)

    return Stateful(work)


async def test_the_server_s_own_stream_is_opened_and_opened_again():
    gets: list[Call] = []

    async def listen(call: Call) -> None:
        await call.event({"n": len(gets)}, id=f"e{len(gets)}", retry=20)
        if len(gets) < 3:
            call.cut()
        else:
            await call.disconnected()

    async with shaken(listened(gets, listen)) as (_, _, heard):
        await heard.until(Received, lambda item: item.stream is None, 3)
        assert [json.loads(item.raw) for item in heard.of(Received)][1:] == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert [call.headers.get("last-event-id") for call in gets] == [None, "e1", "e2"]
    assert {call.headers["accept"] for call in gets} == {"text/event-stream"}


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_a_server_without_a_stream_of_its_own_is_let_be(status: int):
    async def work(call: Call) -> None:
        if call.method == "GET":
            await call.respond(status, RPC_ERROR, "application/json")
        else:
            await polite(call)

    async with shaken(Stateful(work)) as (server, transport, heard):
        await server.until(is_verb("GET"))
        transport.send(request(1))
        await heard.until(StreamEnded, count=2)
        await turns()
        assert not heard.of(Happened)
    assert len([call for call in server.calls if call.method == "GET"]) == 1
