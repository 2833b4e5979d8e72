"""The stream of the server's own (GET, 2025-03-26 to 2025-11-25)."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import pytest

from tests.servers.http_scripted import (
    RPC_ERROR,
    Call,
    Stateful,
    is_verb,
    polite,
    request,
    shaken,
)
from tests.servers.recorder import Happened, Received, StreamEnded
from tests.waiting import turns


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
