"""A client and the server of :mod:`tests.races.server`, over every transport in every revision."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_tui.client import Client, ClientSettings, HttpTarget, StdioTarget
from mcp_tui.client.settings import Target
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Limits
from mcp_tui.protocol.requests import Request
from mcp_tui.transport.base import spawn
from tests.protocol.playbook import MODERN, MODERN_HTTP, Wire
from tests.races import server as serving
from tests.races.server import Message, Server
from tests.servers.http_scripted import HANG, Call, HttpScript

UNLIMITED = Limits(timeout=None, max_timeout=None)
BRIEF = Limits(timeout=0.05, max_timeout=None)


class Web:
    """Carries the server's messages over HTTP, each request by a stream of its own, or all by the one of 2024-11-05.

    A call of the tool ``accepted`` gets HTTP 202, and ``wrong`` somebody else's answer. With ``refusing`` cancels are
    answered with HTTP 503.
    """

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.server = Server(str(wire.revision), self)
        self.heard: list[Message] = []
        self.listening: Call | None = None
        self.refusing = False
        self._streams: dict[Any, tuple[Call, asyncio.Event]] = {}
        self._out: list[tuple[Call, Message | list[Message]]] = []
        self._over: list[Any] = []
        self._end = asyncio.Event()

    # -- what the server says; it leaves in `_flush` ---------------------------------------------------------

    def say(self, id: Any, message: Message | list[Message]) -> None:
        aside = id is None or self.wire.transport == "sse"
        call = self.listening if aside else self._streams[id][0]
        assert call is not None
        self._out.append((call, message))

    def over(self, id: Any) -> None:
        self._over.append(id)

    def end(self, id: Any) -> None:
        if self.wire.transport == "sse":
            self._end.set()
        else:
            self.over(id)

    async def _flush(self) -> None:
        out, self._out = self._out, []
        over, self._over = self._over, []
        for call, message in out:
            await call.event(message)
        for id_ in over:
            if id_ in self._streams:
                self._streams[id_][1].set()

    # -- what comes in ---------------------------------------------------------------------------------------

    async def __call__(self, call: Call) -> None:
        if call.method == "GET" and self.wire.revision != MODERN:
            await self._listen(call)
        elif call.method != "POST":
            await call.respond(405)
        else:
            self.heard.append(call.message)
            if "id" in call.message and "method" in call.message and self.wire.transport == "http":
                await self._request(call)
            else:
                refused = self.refusing and call.rpc == "notifications/cancelled"
                await call.respond(503 if refused else 202)
                self.server.take(call.message)
                await self._flush()

    async def _listen(self, call: Call) -> None:
        await call.stream()
        if self.wire.transport == "sse":
            await call.chunk(b"event: endpoint\ndata: /messages\n\n")
        self.listening = call
        await self._end.wait()
        await call.end()

    async def _request(self, call: Call) -> None:
        message = call.message
        tool = message.get("params", {}).get("name")
        if tool == "accepted":
            await call.respond(202)
            return
        await call.stream()
        over = asyncio.Event()
        self._streams[call.id] = call, over
        if tool == "wrong":
            await call.event(serving.result(4242))
            over.set()
        else:
            self.server.take(message)
            await self._flush()
        await self._until_over(call, over)

    async def _until_over(self, call: Call, over: asyncio.Event) -> None:
        """Keep a stream until it is over or the client closes it."""
        watching = spawn(self._watch(call, over), name="the client's end of a stream")
        await over.wait()
        if call.gone:
            call.cut()
            return
        watching.cancel()
        await asyncio.wait([watching])
        await call.end()

    async def _watch(self, call: Call, over: asyncio.Event) -> None:
        await call.disconnected()
        self.heard.append({"closed": call.id})
        over.set()


@dataclass
class Played:
    """A connected client, and the server's end of it."""

    client: Client
    wire: Wire
    hears: Callable[[], list[Message]]
    web: Web | None = None
    events: list[ev.Event] = field(default_factory=list[ev.Event])

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(HANG):
            while not true():
                await asyncio.sleep(0.005)

    async def call(self, tool: str, limits: Limits = UNLIMITED) -> Request:
        """A call, once it is written."""
        row = self.book_row(self.client.call_tool(tool, {}, limits=limits))
        await self.until(lambda: row.sent_at is not None)
        return row

    def book_row(self, id: ev.RequestId) -> Request:
        row = self.client.book.get(id)
        assert row is not None
        return row

    async def cancelled(self, tool: str, reason: str = "wrong table") -> Request:
        """A call that was cancelled, once the server has heard of it."""
        row = await self.call(tool)
        await self.until(lambda: any(each.get("id") == row.id for each in self.hears()))
        self.client.cancel(row.id, reason=reason)
        assert (row.open, row.reason) == (False, reason)
        await self.until(lambda: self.signals(row) and row.signal is not None)
        return row

    def signals(self, row: Request) -> list[Message]:
        """What reached the server of the cancel of a request: notifications, and the end of its stream where that is one."""
        return [
            each
            for each in self.hears()
            if (each.get("closed") == row.id and self.wire == MODERN_HTTP)
            or (each.get("method") == "notifications/cancelled" and each["params"]["requestId"] == row.id)
        ]

    def told(self, kind: type[ev.Event]) -> list[ev.Event]:
        return [event for event in self.events if isinstance(event, kind)]

    def rules(self) -> set[str]:
        """The rules that the server broke."""
        return {event.rule for event in self.events if isinstance(event, ev.Violation)}

    async def answer(self, row: Request) -> object:
        """What a caller gets to see of a request."""
        async with asyncio.timeout(HANG):
            return await self.client.wait(row.id)


def _settings(wire: Wire) -> ClientSettings:
    return ClientSettings(protocol=str(wire.revision), limits=UNLIMITED, grace=2 * HANG)


@contextlib.asynccontextmanager
async def _target(
    wire: Wire, folder: Path
) -> AsyncGenerator[tuple[Target, Callable[[], list[Message]], Web | None]]:
    if wire.transport == "stdio":
        file = folder / "heard"

        def hears() -> list[Message]:
            return [json.loads(line) for line in file.read_text("utf-8").splitlines()]

        yield (
            StdioTarget(command=(sys.executable, "-S", serving.__file__, str(wire.revision), str(file))),
            hears,
            None,
        )
    else:
        async with HttpScript(web := Web(wire)) as script:
            yield HttpTarget(url=script.url, transport=wire.transport), lambda: web.heard, web


@contextlib.asynccontextmanager
async def playing(wire: Wire, folder: Path) -> AsyncGenerator[Played]:
    """A client that is connected over ``wire``; ``folder`` is for the files of this test."""
    async with _target(wire, folder) as (target, hears, web):
        client = Client(target, _settings(wire))
        played = Played(client, wire, hears, web)
        client.listen(played.events.append)
        info = await client.connect()
        assert (info.transport, info.revision.name) == (wire.transport, wire.revision)
        if web is not None and wire.revision != MODERN:
            await played.until(lambda: web.listening is not None)
        try:
            yield played
        finally:
            await client.close()
