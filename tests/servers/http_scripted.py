"""HTTP servers for tests, on raw sockets: a script decides on every byte and sees every disconnect.

`HttpScript` runs one coroutine a request; `Heard` gathers what a transport tells.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

from mcp_tui.protocol.revisions import LATEST_HANDSHAKE
from mcp_tui.transport.base import Outgoing, Transport
from mcp_tui.transport.http import HttpTransport
from mcp_tui.transport.targets import HttpTarget
from tests.servers.recorder import Item, StreamEnded, recorder
from tests.waiting import HANG

Script = Callable[["Call"], Awaitable[None]]
T = TypeVar("T")


class Call:
    """One HTTP request as it came, and the connection to answer it by."""

    def __init__(
        self,
        connection: int,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        head: bytes,
    ) -> None:
        self.connection = connection
        self.reader = reader
        self.writer = writer
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.path, _ = first.split(" ")
        pairs = (line.split(":", 1) for line in lines if line)
        self.headers = {name.lower(): value.strip() for name, value in pairs}
        self.body = b""
        self.gone = False

    @property
    def message(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def rpc(self) -> str:
        """The method of the JSON-RPC message, empty where there is none."""
        return self.message.get("method", "") if self.body else ""

    @property
    def id(self) -> Any:
        return self.message.get("id")

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        await self.raw(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode())

    async def respond(
        self, status: int, body: bytes = b"", kind: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        own = {"Content-Length": str(len(body)), **({"Content-Type": kind} if kind else {})}
        await self.head(status, {**own, **(headers or {})})
        await self.raw(body)

    async def answer(self, result: Any = None, headers: Mapping[str, str] | None = None) -> None:
        """A JSON body with the result of the request."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": self.id, "result": result or {}}
        await self.respond(200, json.dumps(message).encode(), "application/json", headers)

    async def stream(self, headers: Mapping[str, str] | None = None) -> None:
        """The head of an event stream."""
        own = {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}
        await self.head(200, {**own, **(headers or {})})

    async def chunk(self, data: bytes) -> None:
        await self.raw(b"%x\r\n%b\r\n" % (len(data), data))

    async def event(self, data: Any, *, id: str = "", retry: int | None = None, name: str = "") -> None:
        """One event; `data` is bytes as they are, or a value to be sent as JSON."""
        payload = data if isinstance(data, bytes) else json.dumps(data).encode()
        lines = b""
        if name:
            lines += b"event: %b\n" % name.encode()
        if id:
            lines += b"id: %b\n" % id.encode()
        if retry is not None:
            lines += b"retry: %d\n" % retry
        await self.chunk(lines + b"data: " + payload + b"\n\n")

    async def result(self, id: Any = None) -> None:
        """The result of the request, as an event."""
        await self.event({"jsonrpc": "2.0", "id": self.id if id is None else id, "result": {}})

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def disconnected(self) -> None:
        """Wait until the client has closed the connection."""
        with contextlib.suppress(ConnectionError):
            async with asyncio.timeout(HANG):
                extra = await self.reader.read(1)
            assert not extra, "the client sent more on this connection instead of closing it"
        self.gone = True

    def cut(self) -> None:
        """Close the connection, whatever was promised on it."""
        self.writer.close()


class HttpScript:
    """A server on 127.0.0.1 that runs `script` for each request. `calls` are the requests, in order of arrival."""

    def __init__(self, script: Script, *, context: ssl.SSLContext | None = None) -> None:
        self._script = script
        self._context = context
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._news = asyncio.Event()
        self._connections = 0
        self.calls: list[Call] = []
        self.errors: list[BaseException] = []
        self.url = ""

    async def __aenter__(self) -> HttpScript:
        await self._listen(0)
        return self

    async def _listen(self, port: int) -> None:
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", port, ssl=self._context)
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"{'https' if self._context else 'http'}://127.0.0.1:{port}/mcp"

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        if kind is None:
            assert not self.errors, self.errors

    def refuse(self) -> None:
        """Take no more connections, as a server does that is stopping: those that are open stay."""
        assert self._server is not None
        self._server.close()

    async def accept(self) -> None:
        """Take connections again, as the next process does."""
        await self._listen(int(self.url.rpartition(":")[2].partition("/")[0]))

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._connections += 1
        try:
            await self._serve(self._connections, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        except Exception as error:  # noqa: BLE001 - told by the test that uses the server
            self.errors.append(error)
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _serve(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while not writer.is_closing():
            head = await reader.readuntil(b"\r\n\r\n")
            call = Call(number, reader, writer, head[:-4])
            call.body = await reader.readexactly(int(call.headers.get("content-length", "0")))
            self.calls.append(call)
            self._news.set()
            await self._script(call)
            await writer.drain()

    async def until(self, wanted: Callable[[Call], bool], count: int = 1) -> Call:
        """Wait until `count` requests arrived for which `wanted` holds; the last of them."""
        async with asyncio.timeout(HANG):
            while True:
                found = [call for call in self.calls if wanted(call)]
                if len(found) >= count:
                    return found[count - 1]
                self._news.clear()
                await self._news.wait()


class Heard:
    """What a transport told, in order. An instance is the callback."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._news = asyncio.Event()

    def __call__(self, item: Item) -> None:
        self.items.append(item)
        self._news.set()

    def of(self, kind: type[T]) -> list[T]:
        return [item for item in self.items if isinstance(item, kind)]

    def names(self) -> list[str]:
        """The kinds of what was told, without the lines for the log."""
        return [name for item in self.items if (name := type(item).__name__) != "Happened"]

    async def until(self, kind: type[T], wanted: Callable[[T], bool] = lambda _: True, count: int = 1) -> T:
        """Wait until the `count`th item of a kind was told for which `wanted` holds."""
        try:
            async with asyncio.timeout(HANG):
                while True:
                    found = [item for item in self.of(kind) if wanted(item)]
                    if len(found) >= count:
                        return found[count - 1]
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"no {kind.__name__}; heard {self.items[-20:]}") from None


@contextlib.asynccontextmanager
async def opened(transport: Transport) -> AsyncGenerator[Heard]:
    """An open transport and what it tells; closed in the end."""
    heard = Heard()
    await transport.open(recorder(heard))
    try:
        yield heard
    finally:
        async with asyncio.timeout(HANG):
            await transport.close()


@contextlib.asynccontextmanager
async def connected(
    script: Script,
    headers: dict[str, str] | None = None,
    *,
    context: ssl.SSLContext | None = None,
    **options: Any,
) -> AsyncGenerator[tuple[HttpScript, HttpTransport, Heard]]:
    """A server that follows a script, an open transport to it, and what that tells."""
    async with HttpScript(script, context=context) as server:
        transport = http(server, headers, **options)
        async with opened(transport) as heard:
            yield server, transport, heard


@contextlib.asynccontextmanager
async def shaken(script: Script) -> AsyncGenerator[tuple[HttpScript, HttpTransport, Heard]]:
    """The same, with the handshake of 2025-11-25 behind it."""
    async with connected(script) as (server, transport, heard):
        await shake_hands(transport, heard)
        yield server, transport, heard


def request(
    id: int | str, method: str = "tools/call", headers: dict[str, str] | None = None, **params: Any
) -> Outgoing:
    message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
    return Outgoing(raw=json.dumps(message).encode(), method=method, id=id, headers=headers or {})


def notification(method: str, **params: Any) -> Outgoing:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return Outgoing(raw=json.dumps(message).encode(), method=method)


def cancelled(id: int | str, reason: str = "too slow") -> Outgoing:
    return replace(notification("notifications/cancelled", requestId=id, reason=reason), cancels=id)


# -- scripts that many tests share ------------------------------------------------------------

RPC_ERROR = b'{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Bad Request"}}'


def is_rpc(method: str) -> Callable[[Call], bool]:
    return lambda call: call.rpc == method


def is_verb(verb: str) -> Callable[[Call], bool]:
    return lambda call: call.method == verb


async def polite(call: Call) -> None:
    """Answers whatever comes."""
    if call.method != "POST":
        await call.respond(405)
    elif "id" in call.message:
        await call.answer()
    else:
        await call.respond(202)


def served(revision: str, work: Script, listen: Script | None = None) -> Script:
    """A server of a revision. ``work`` gets the requests behind the opening, ``listen`` the GETs."""

    async def script(call: Call) -> None:
        offered: dict[str, Any] = {"capabilities": {"tools": {}}}
        if call.rpc == "server/discover":
            await call.answer({"resultType": "complete", "supportedVersions": ["2026-07-28"], **offered})
        elif call.rpc == "initialize":
            await call.answer({"protocolVersion": revision, **offered})
        elif call.method == "GET":
            await (call.respond(405) if listen is None else listen(call))
        elif call.method == "POST" and call.rpc and "id" in call.message:
            await work(call)
        else:
            await call.respond(202)

    return script


async def silent(call: Call) -> None:
    """Answers nothing, and sees when the client goes."""
    await call.disconnected()


class Stateful:
    """A server with a session. Its `work` answers what is no part of the handshake."""

    def __init__(
        self, work: Callable[[Call], Any] = polite, *, sse: bool = False, session: str = "s-1"
    ) -> None:
        self.work = work
        self.sse = sse
        self.session = {"Mcp-Session-Id": session} if session else {}

    async def __call__(self, call: Call) -> None:
        if call.rpc != "initialize":
            await self.work(call)
        elif self.sse:
            await call.stream(self.session)
            await call.result()
            await call.end()
        else:
            await call.answer({"protocolVersion": "2025-11-25"}, self.session)


async def shake_hands(transport: HttpTransport, heard: Heard) -> None:
    transport.send(request(0, "initialize"))
    await heard.until(StreamEnded, lambda item: item.id == 0)
    transport.negotiated(LATEST_HANDSHAKE)
    await transport.initialized(notification("notifications/initialized"))


def http(server: HttpScript | str, headers: dict[str, str] | None = None, **options: Any) -> HttpTransport:
    url = server if isinstance(server, str) else server.url
    target = HttpTarget(url=url, headers=headers or {}, insecure=options.pop("insecure", False))
    return HttpTransport(target, **options)
