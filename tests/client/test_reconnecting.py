"""A session that the server ended is replaced by a new one, and nothing of the old one is sent again (C-33)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from mcp_tui.client import Client, ClientSettings, HttpTarget, connecting
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause
from mcp_tui.protocol.ledger import CancelOutcome
from mcp_tui.protocol.requests import State
from mcp_tui.transport import http_client
from tests.client.connected import HANG, Told, connected, row, serving
from tests.servers.http_scripted import RPC_ERROR, Call, HttpScript, is_rpc, served
from tests.waiting import until

OVER = "the server ended the session (HTTP 404)"

SESSIONS = [("2025-03-26", b""), ("2025-06-18", b"no such session"), ("2025-11-25", RPC_ERROR)]
"""Revisions, and the bodies of a 404 to a session that is over."""


class Sessions:
    """A server of the handshake era that hands out sessions ``s-1``, ``s-2``, … and knows none of the ``dead``.

    It lists the tool ``ok``; ``silent`` gets no answer. A ``doomed`` session dies as soon as it stands. ``gate`` holds
    back the answer to all but the first ``initialize``.
    """

    def __init__(self, revision: str = "2025-11-25", body: bytes = b"") -> None:
        self.revision = revision
        self.body = body
        self.made = 0
        self.dead: set[str] = set()
        self.doomed: Callable[[int], bool] = lambda _: False
        self.refused: Callable[[int], int] = lambda _: 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.cancelled: Counter[Any] = Counter()
        self._opened = served(revision, self._work)

    async def __call__(self, call: Call) -> None:
        session = call.headers.get("mcp-session-id")
        if call.rpc == "initialize":
            await self._initialize(call)
        elif session in self.dead:
            await call.respond(404, self.body, "application/json")
        else:
            if call.rpc == "notifications/cancelled":
                self.cancelled[call.message["params"]["requestId"]] += 1
            await self._opened(call)

    async def _work(self, call: Call) -> None:
        if call.rpc == "tools/list":
            await call.answer({"tools": [{"name": "ok", "inputSchema": {"type": "object"}}]})
        elif call.message["params"].get("name") == "silent":
            await call.disconnected()
        else:
            await call.answer({"content": [{"type": "text", "text": "ok"}]})

    async def _initialize(self, call: Call) -> None:
        assert "mcp-session-id" not in call.headers
        self.made += 1
        number = self.made
        if number > 1:
            await self.gate.wait()
        if status := self.refused(number):
            await call.respond(status)
            return
        if self.doomed(number):
            self.dead.add(f"s-{number}")
        result: dict[str, Any] = {"protocolVersion": self.revision, "capabilities": {"tools": {}}}
        await call.answer(result, {"Mcp-Session-Id": f"s-{number}"})

    def forget(self) -> None:
        """End every session that there is."""
        self.dead.update(f"s-{number}" for number in range(1, self.made + 1))


def settings(revision: str = "2025-11-25") -> ClientSettings:
    return ClientSettings(protocol=revision, grace=0.1)


async def silent(made: Client, count: int) -> list[ev.RequestId]:
    ids = [made.call_tool("silent", {}) for _ in range(count)]
    await until(lambda: all(row(made, each).sent_at is not None for each in ids))
    return ids


def renewed(told: Told, count: int = 2) -> Callable[[], bool]:
    return lambda: len(told.of(ev.Connected)) >= count


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction] - used by pytest
    monkeypatch.setattr(connecting, "PAUSES", (0.0, 0.01, 0.02, 0.03))


@pytest.mark.parametrize(("revision", "body"), SESSIONS)
async def test_c33_404_to_a_request_loses_all_rows_and_opens_a_new_session(revision: str, body: bytes):
    served = Sessions(revision, body)
    async with serving(served, settings(revision)) as (server, made, told):
        waiting = await silent(made, 3)
        served.forget()
        last = made.call_tool("ok", {})
        await until(renewed(told))
        before = len(server.calls)
        for each in (*waiting, last):
            assert (row(made, each).state, row(made, each).error) == (State.LOST, OVER)
        after = made.call_tool("ok", {})
        assert await made.wait(after) is not None
        assert isinstance(after, int)
        assert after > max(int(each.id) for each in made.requests.order if each.id != after)
        ids = [each.id for each in made.requests.order]
        assert len(set(ids)) == len(ids)
        notes = told.notes()
        assert "opening a new session" in notes
        (ended,) = told.of(ev.Disconnected)
        assert ended.detail == OVER
    new = [call for call in server.calls[before:] if call.method == "POST"]
    assert {call.headers["mcp-session-id"] for call in new} == {"s-2"}
    assert not served.cancelled
    first = next(n for n, call in enumerate(server.calls) if call.rpc == "initialize" and n > 0)
    later = server.calls[first:]
    assert "s-1" not in {call.headers.get("mcp-session-id") for call in later}
    assert not {call.id for call in later if call.method == "POST"} & {*waiting, last}


async def test_c33_404_to_a_cancel_opens_a_new_session_and_repeats_no_cancel_there():
    served = Sessions()
    async with serving(served, settings()) as (_, made, told):
        one, other = await silent(made, 2)
        served.forget()
        assert made.cancel(one, Cause.USER, "too slow") is CancelOutcome.REQUESTED
        await until(renewed(told))
        assert (row(made, one).state, row(made, one).undelivered) == (State.CANCELLED, "HTTP 404")
        assert row(made, one).settled == OVER
        assert (row(made, other).state, row(made, other).error) == (State.LOST, OVER)
        assert await made.wait(made.call_tool("ok", {})) is not None
    assert not served.cancelled


async def test_what_is_asked_for_meanwhile_waits_for_the_new_session_and_can_be_cancelled_unsent():
    served = Sessions()
    async with serving(served, settings()) as (server, made, told):
        served.gate.clear()
        served.forget()
        await made.wait(made.call_tool("ok", {}))
        await until(lambda: served.made == 2)
        kept = [made.call_tool("ok", {"n": number}) for number in range(3)]
        dropped = made.call_tool("ok", {"n": "never"})
        assert {row(made, each).state for each in (*kept, dropped)} == {State.QUEUED}
        assert made.cancel(dropped) is CancelOutcome.UNSENT
        served.gate.set()
        async with asyncio.timeout(HANG):
            answers = [await made.wait(each) for each in kept]
        assert None not in answers
        assert len(told.of(ev.Connected)) == 2
    asked = [
        call.message["params"]["arguments"].get("n") for call in server.calls if call.rpc == "tools/call"
    ]
    assert asked == [None, 0, 1, 2]


async def test_sessions_that_die_at_once_are_given_up_after_a_few_with_one_sentence():
    served = Sessions()
    served.doomed = lambda number: number > 1
    async with serving(served, settings()) as (_, made, told):
        served.forget()
        made.call_tool("ok", {})
        ends: list[ev.Disconnected] = []
        async with asyncio.timeout(HANG):
            while not (ends := [each for each in told.of(ev.Disconnected) if "last attempt" in each.detail]):
                if made.connected:
                    made.call_tool("ok", {})
                await asyncio.sleep(0.005)
        assert len(ends) == 1
        assert ends[0].detail.startswith(f"{OVER}; last attempt: ")
        assert served.made == 1 + len(connecting.PAUSES)
        assert (made.connected, made.renewal.active) == (False, False)
        refused = row(made, made.call_tool("ok", {}))
        assert (refused.state, refused.error) == (State.LOST, "not connected")
        assert not [each for each in made.requests.order if each.open]
        served.doomed = lambda _: False
        await made.connect()
        assert await made.wait(made.call_tool("ok", {})) is not None


class Stopping:
    """A server that is stopped while a stream is open that it waits for: that of a subscription, of GET, or of HTTP+SSE."""

    def __init__(self, era: str) -> None:
        self.era = era
        self.streams: list[Call] = []
        self.work = asyncio.Event()
        self._served = served("2025-11-25" if era == "get" else "2024-11-05", self._call, self._stream)

    async def __call__(self, call: Call) -> None:
        if self.era == "listen":
            await self._modern(call)
        elif self.era == "get" or call.method == "GET":
            await self._served(call)
        else:
            await call.respond(202)
            call.writer = self.streams[-1].writer
            if call.rpc == "initialize":
                await call.event(answer(call.id, {"protocolVersion": "2024-11-05", "capabilities": {}}))
            elif "id" in call.message:
                await self.work.wait()
                await call.event(answer(call.id, {}))

    async def _modern(self, call: Call) -> None:
        if call.rpc == "server/discover":
            capabilities = {"tools": {"listChanged": True}}
            await call.answer({"supportedVersions": ["2026-07-28"], "capabilities": capabilities})
        elif call.rpc == "subscriptions/listen":
            await self._stream(call)
        else:
            await self._call(call)

    async def _call(self, call: Call) -> None:
        if call.rpc == "tools/call":
            await self.work.wait()
        await call.answer()

    async def _stream(self, call: Call) -> None:
        self.streams.append(call)
        await call.stream()
        if self.era == "sse":
            await call.chunk(b"event: endpoint\ndata: /messages\n\n")
        elif self.era == "listen":
            meta = {"io.modelcontextprotocol/subscriptionId": call.id}
            params = {"notifications": {"toolsListChanged": True}, "_meta": meta}
            method = "notifications/subscriptions/acknowledged"
            await call.event({"jsonrpc": "2.0", "method": method, "params": params})
        await call.disconnected()


def answer(id: Any, result: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": result}


@pytest.mark.parametrize("era", ["listen", "get", "sse"])
async def test_the_idle_stream_of_a_server_that_is_stopping_is_closed_after_its_last_call(
    era: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(http_client, "IDLE_SECONDS", 0.0)
    monkeypatch.setattr(connecting, "PAUSES", (0.0, *[0.02] * 500))
    stopping = Stopping(era)
    async with HttpScript(stopping) as server:
        target = HttpTarget(url=server.url, transport="sse" if era == "sse" else "http")
        revision = {"listen": "2026-07-28", "get": "2025-11-25", "sse": "2024-11-05"}[era]
        async with connected(target, settings(revision)) as (made, told):
            made.subscriptions.watch_lists()
            await until(lambda: bool(stopping.streams))
            running = made.call_tool("slow", {})
            await server.until(is_rpc("tools/call"))
            server.refuse()
            refused = made.call_tool("slow", {})
            await made.wait(refused)
            assert row(made, refused).error.startswith("connection refused by 127.0.0.1")
            assert "the server is stopping" in told.notes()
            assert row(made, running).open, "a call that the server still works on is not lost"
            assert not stopping.streams[0].gone
            stopping.work.set()
            assert await made.wait(running) is not None
            assert row(made, running).state is State.COMPLETED
            await until(lambda: stopping.streams[0].gone)
            (ended,) = told.of(ev.Disconnected)
            assert "it refuses connections while its stream is open" in ended.detail
            waiting = made.call_tool("slow", {})
            await server.accept()
            assert await made.wait(waiting) is not None
            await until(lambda: len(stopping.streams) == 2)
            assert renewed(told)()
