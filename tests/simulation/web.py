"""The world below the HTTP transports: exchanges without sockets.

One exchange keeps its order; exchanges overtake each other as they like. An exchange may be refused, lost after it was
written, answered with a status, cut anywhere, taken up again behind an event id, with events told twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from typing import Any, Final

import httpx

from mcp_tui.transport.addresses import parse
from mcp_tui.transport.base import RequestToken
from mcp_tui.transport.http_client import ADDRESS_EXTENSION, TOKEN, HttpClient
from tests.simulation.servers import Message, Server, encode
from tests.simulation.world import TICK, World, here

SLOW: Final = 4.0
"""Seconds for which some servers hold back the answer to a notification."""


def _nothing() -> None:
    pass


class Exchange:
    """One request and its response, seen from both ends; also the response as the transport reads it."""

    def __init__(self, world: World, verb: str, message: Any, headers: Mapping[str, str]) -> None:
        self.verb = verb
        self.message = message
        self.sent = headers
        self.status_code = 0
        self.headers = httpx.Headers()
        self.extensions: dict[str, Any] = {
            TOKEN: RequestToken(),
            ADDRESS_EXTENSION: parse("http://simulated/mcp"),
        }
        self.headed: asyncio.Future[None] = world.loop.create_future()
        self.left = False
        self.on_closed: Callable[[], None] = _nothing
        self._world = world
        self._chunks: deque[bytes | Exception | None] = deque()
        self._news: asyncio.Future[None] | None = None
        self._arrives = 0.0
        self._over = False
        self._told_end = False

    def __str__(self) -> str:
        return self.verb if self.message is None else f"{self.verb} {encode(self.message).decode()}"

    # -- the server's end ------------------------------------------------------------------------------------

    @property
    def open(self) -> bool:
        """Whether the server may still write."""
        return not self._over and not self.left

    def head(self, status: int, headers: dict[str, str]) -> None:
        self._schedule(self._headed, status, headers)

    def write(self, data: bytes) -> None:
        if self.open:
            rng = self._world.rng
            cut = rng.randrange(len(data)) if len(data) > 1 and self._world.chance(0.05) else 0
            for piece in (data[:cut], data[cut:]):
                if piece:
                    self._schedule(self._put, piece)

    def end(self) -> None:
        if self.open:
            self._over = True
            self._schedule(self._put, None)

    def break_off(self) -> None:
        """The connection is cut, now."""
        if self.open:
            self._over = True
            self._schedule(self._put, httpx.ReadError("cut"))

    def respond(self, status: int, kind: str = "", body: bytes = b"") -> None:
        self.head(status, {"content-type": kind} if kind else {})
        self.write(body)
        self.end()

    def _schedule(self, then: Callable[..., None], *arguments: object) -> None:
        world = self._world
        self._arrives = max(self._arrives + TICK, world.loop.now + world.latency())
        world.at(self._arrives, then, *arguments)

    def _headed(self, status: int, headers: dict[str, str]) -> None:
        self.status_code, self.headers = status, httpx.Headers(headers)
        if not self.headed.done():
            self.headed.set_result(None)

    def _put(self, chunk: bytes | Exception | None) -> None:
        self._told_end = not isinstance(chunk, bytes)
        if isinstance(chunk, Exception) and not self.headed.done():
            self.headed.set_exception(chunk)
            return
        self._chunks.append(chunk)
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    # -- the client's end ------------------------------------------------------------------------------------

    @property
    def is_success(self) -> bool:
        return 200 <= self.status_code < 300

    async def aiter_raw(self) -> AsyncIterator[bytes]:
        while True:
            while not self._chunks:
                self._news = self._world.loop.create_future()
                await self._news
            chunk = self._chunks.popleft()
            if chunk is None:
                self._chunks.appendleft(None)
                return
            if isinstance(chunk, Exception):
                self._chunks.appendleft(chunk)
                raise chunk
            yield chunk

    def leave(self) -> None:
        """The client closed it: the server learns of that later."""
        if self.left:
            return
        self.left = True
        if self.headed.done() and not self.headed.cancelled():
            self.headed.exception()
        if not self._told_end:
            self._world.say("client", f"closes {self}")
            self._world.watch.closes(self.message)
            self._world.later(self._world.latency(), self.on_closed)


class SimulatedClient(HttpClient):
    """Stands where the HTTP transports have their connections."""

    def open(self) -> None:
        self._world = here()
        self._web = web_of(self._world)
        self._open = True

    async def close(self) -> None:
        self._open = False

    @contextlib.asynccontextmanager
    async def request(
        self, method: str, headers: Mapping[str, str], body: object = None, **told: Any
    ) -> AsyncGenerator[Any]:
        if not self._open:
            raise httpx.UnsupportedProtocol("the connection is closed")
        world = self._world
        assert body is None or isinstance(body, bytes)  # a tap is not simulated
        message = None if body is None else json.loads(body)
        exchange = Exchange(world, method, message, headers)
        await asyncio.sleep(world.latency() if world.chance(0.5) else 0.0)
        if world.chance(world.plan.refuse):
            world.say("network", f"refuses {exchange}")
            raise httpx.ConnectError("connection refused")
        told.get("starts", _nothing)()
        world.say("client", exchange)
        if message is not None:
            world.watch.posts(message)
        try:
            if world.chance(0.2):
                await asyncio.sleep(world.latency())
            told.get("flushed", _nothing)()
            self._web.carry(exchange)
            await exchange.headed
            yield exchange
        finally:
            exchange.leave()


class Stream:
    """What a server sends for one request, or for none; with event ids, it can be taken up again."""

    def __init__(self, web: Web, number: int) -> None:
        self.number = number
        self.exchange: Exchange | None = None
        self.done = False
        self._web = web
        self._log: list[bytes] = []

    def attach(self, exchange: Exchange, behind: int = 0) -> None:
        """Sends by ``exchange`` from now on; first what it missed."""
        self.exchange = exchange
        exchange.head(200, {"content-type": "text/event-stream", **self._web.session_header(exchange)})
        if self._web.resumes and not self._log:
            self._append(b"retry: 500\n", b"")
        again = 1 if self._web.world.plan.replays and behind else 0
        for event in self._log[max(0, behind - again) :]:
            exchange.write(event)
        self._perhaps_over()

    def send(self, message: Message | list[Message] | bytes) -> None:
        if self.done:
            return
        raw = encode(message)
        self._web.world.say("server ->", b"(stream %d) " % self.number + raw)
        event = self._append(b"", raw)
        if self.exchange is not None:
            self.exchange.write(event)
            if self._web.world.chance(self._web.world.plan.cut):
                self.exchange.break_off()

    def _append(self, before: bytes, raw: bytes) -> bytes:
        id_ = b"id: %d-%d\n" % (self.number, len(self._log) + 1) if self._web.world.plan.event_ids else b""
        self._log.append(before + id_ + b"data: " + raw + b"\n\n")
        return self._log[-1]

    def finish(self) -> None:
        self.done = True
        self._perhaps_over()

    def _perhaps_over(self) -> None:
        if self.done and self.exchange is not None:
            self.exchange.end()


class Body:
    """An answer as one JSON body: it has no room for anything but the response."""

    def __init__(self, web: Web, exchange: Exchange) -> None:
        self._web = web
        self._exchange = exchange
        self._answered = False

    def send(self, message: Message | list[Message] | bytes) -> None:
        if not isinstance(message, dict) or "method" in message or self._answered:
            return
        self._answered = True
        raw = encode(message)
        self._web.world.say("server ->", raw)
        self._exchange.head(
            200, {"content-type": "application/json", **self._web.session_header(self._exchange)}
        )
        self._exchange.write(raw)

    def finish(self) -> None:
        if not self._answered:  # a server that gave the call up has to say something
            self._exchange.head(202, {})
        self._exchange.end()


class Web:
    """A server behind HTTP: sessions, streams, and what happens to each request."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.plan = world.plan
        self.server = Server(world)
        self.server.aside = self._aside
        world.server = self.server
        self.resumes = self.plan.event_ids and self.plan.revision in (
            "2025-03-26",
            "2025-06-18",
            "2025-11-25",
        )
        self.streams: dict[int, Stream] = {}
        self.listening: Stream | None = None
        self.session = 0
        self._numbers = 0

    def session_header(self, exchange: Exchange) -> dict[str, str]:
        if (
            exchange.message is None
            or exchange.message.get("method") != "initialize"
            or not self.plan.session
        ):
            return {}
        self.session += 1
        return {"mcp-session-id": f"s-{self.session}"}

    def _aside(self) -> Stream | None:
        open_ = self.listening is not None and self.listening.exchange is not None
        return self.listening if open_ and self.world.chance(0.7) else None

    def _stream(self) -> Stream:
        self._numbers += 1
        stream = self.streams[self._numbers] = Stream(self, self._numbers)
        return stream

    def forget(self) -> None:
        """The session is gone: every message of it is answered with 404, and its streams are cut."""
        self.session += 1
        self.cut()
        self.server.calls.clear()
        self.server.tasks.clear()

    def cut(self) -> None:
        """Cut every stream there is."""
        for stream in self.streams.values():
            if stream.exchange is not None:
                stream.exchange.break_off()

    # -- what comes in ---------------------------------------------------------------------------------------

    def carry(self, exchange: Exchange) -> None:
        """A request was written: it arrives, or does not."""
        if exchange.verb == "POST" and self.world.chance(self.plan.loss):
            self.world.say("network", f"loses {exchange}")
            exchange.break_off()
            return
        self.world.later(self.world.latency(), self._arrives, exchange)

    def _arrives(self, exchange: Exchange) -> None:
        session = exchange.sent.get("Mcp-Session-Id")
        if session is not None and session != f"s-{self.session}":
            exchange.respond(404)
        elif exchange.verb == "DELETE":
            exchange.respond(204)
        elif exchange.verb == "GET":
            self._get(exchange)
        elif self.plan.kind == "sse":
            exchange.respond(202)
            if self.listening is not None:
                self.server.take(exchange.message, self.listening)
        elif "method" not in exchange.message or "id" not in exchange.message:
            self._notice(exchange)
        else:
            self._request(exchange)

    def _get(self, exchange: Exchange) -> None:
        number, _, event = exchange.sent.get("Last-Event-ID", "").partition("-")
        if number and int(number) in self.streams:
            self.streams[int(number)].attach(exchange, int(event))
        elif self.plan.kind == "sse":
            self.listening = self._shared(exchange)
            exchange.write(b"event: endpoint\ndata: /messages\n\n")
        elif not self.plan.listens:
            exchange.respond(405)
        else:
            self.listening = self._stream()
            self.listening.attach(exchange)

    def _shared(self, exchange: Exchange) -> Stream:
        """The one stream of the transport of 2024-11-05, which does not end with a response."""
        stream = self._stream()
        stream.attach(exchange)
        stream.finish = _nothing
        return stream

    def _notice(self, exchange: Exchange) -> None:
        world = self.world
        world.say("-> server", encode(exchange.message))
        self.server.take(exchange.message, _Nowhere())
        refused = (
            world.chance(self.plan.status) and exchange.message.get("method") != "notifications/initialized"
        )
        answer = world.rng.choice((400, 401, 503)) if refused else 202
        if world.chance(self.plan.slow_posts) and not refused:
            world.later(SLOW, exchange.respond, answer)
        else:
            exchange.respond(answer)

    def _request(self, exchange: Exchange) -> None:
        world, message = self.world, exchange.message
        world.say("-> server", encode(message))
        exchange.on_closed = lambda: self.server.abandoned(message["id"])
        if message["method"] == "tools/call" and world.chance(self.plan.status):
            exchange.respond(world.rng.choice((202, 400, 500, 503)))
        elif message["method"] != "tools/call" or world.chance(self.plan.as_json):
            self.server.take(message, Body(self, exchange))
        else:
            stream = self._stream()
            stream.attach(exchange)
            self.server.take(message, stream)


class _Nowhere:
    def send(self, message: Message | list[Message] | bytes) -> None:
        pass

    def finish(self) -> None:
        pass


def web_of(world: World) -> Web:
    """The server of a world that is reached by HTTP: one, for however many connections."""
    if world.web is None:
        world.web = Web(world)
    return world.web
