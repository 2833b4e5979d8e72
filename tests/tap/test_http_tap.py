"""The tap over HTTP, between a client of raw bytes and a scripted server: what passes, what it ends, and what it records."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import os
import signal
import subprocess
import sys
import weakref
import zlib
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, cast

import httpx
import pytest
from httpx_sse import EventSource

from mcp_tui.client.connecting import STOPPING
from mcp_tui.journal.journal_files import journal_folder, journals
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError
from mcp_tui.live import sockets
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Signal
from mcp_tui.protocol.http_access import HttpAccess
from mcp_tui.tap import http_sessions, recorder_link
from mcp_tui.tap.compressed_pipe import WRAPPED, CompressedPipe
from mcp_tui.tap.event_pipe import CUT_EVENT, EventPipe, as_event
from mcp_tui.tap.http_addresses import NAMED_TARGETS, ServerAddresses
from mcp_tui.tap.http_heads import as_head
from mcp_tui.tap.http_recorder import HttpRecorder
from mcp_tui.tap.http_session import TappedSession
from mcp_tui.tap.http_tap import HttpTap
from mcp_tui.tap.recorder_link import AWAY
from mcp_tui.tap.recorder_loop import RecorderLoop
from mcp_tui.tap.recorder_process import RecorderProcess
from mcp_tui.tap.recorder_records import VERSION, packed
from mcp_tui.tap.withheld_answers import WithheldAnswers
from mcp_tui.transport import http_client
from mcp_tui.transport.base import Challenge, RequestToken
from mcp_tui.transport.targets import HttpTarget
from tests.cli.running import MCP_TUI, running
from tests.servers.http_scripted import Call, HttpScript, Script, is_rpc, served
from tests.tap.test_tap import NOBODY, is_there, recorder_of
from tests.waiting import HANG, turns, until

if TYPE_CHECKING:
    from mcp_tui.config.tap_words import TapOptions

HANDSHAKE: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "other", "version": "3"},
}
MODERN: Final = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "other", "version": "3"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
SESSION: Final = {"Mcp-Session-Id": "s-1", "MCP-Protocol-Version": "2025-11-25"}


PROGRESS: Final = {
    "jsonrpc": "2.0",
    "method": "notifications/progress",
    "params": {"progressToken": 1, "progress": 1},
}


class Peer:
    """One connection of a client."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> None:
        self.reader = reader
        self.writer = writer
        self.path = path
        self.status = 0
        self.headers: dict[str, str] = {}

    def send(self, method: str, body: bytes = b"", path: str = "", /, **headers: str) -> None:
        """Sends a request; ``_`` stands for ``-`` in the names of headers."""
        given = {"Host": "127.0.0.1", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if method == "POST":
            given |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        self.writer.write(f"{method} {path or self.path} HTTP/1.1\r\n{lines}\r\n".encode() + body)

    async def head(self) -> int:
        """Reads the head of the response."""
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode()[:-4].split("\r\n")
        self.headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        self.status = int(first.split()[1])
        return self.status

    async def chunk(self) -> bytes:
        """Reads a chunk of the body; nothing at its end."""
        size = int(await self.reader.readline(), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def body(self) -> bytes:
        """Reads a whole body."""
        if "content-length" in self.headers:
            return await self.reader.readexactly(int(self.headers["content-length"]))
        return b"".join([chunk async for chunk in self._chunks()])

    async def _chunks(self) -> AsyncGenerator[bytes]:
        while chunk := await self.chunk():
            yield chunk

    async def answer(self) -> dict[str, Any]:
        """Reads a response that is one message, as JSON or as an event."""
        await self.head()
        body = await self.body()
        return json.loads(body.partition(b"data: ")[2] or body)


class Tapped:
    """A tap, ``None`` for one that does not run in this process, and its server."""

    def __init__(self, tap: Any, server: HttpScript, url: str) -> None:
        self.tap = tap
        self.server = server
        self.url = url
        self._peers: list[Peer] = []

    async def connect(self) -> Peer:
        port, path = self.url.rpartition(":")[2].split("/", 1)
        peer = Peer(*await asyncio.open_connection("127.0.0.1", int(port)), f"/{path}")
        self._peers.append(peer)
        return peer

    async def call(
        self, id: Any, method: str = "tools/call", *, modern: bool = False, **headers: str
    ) -> Peer:
        """Sends a request on a connection of its own."""
        params: dict[str, Any] = {"name": "slow", "arguments": {}}
        if method == "initialize":
            params = HANDSHAKE
        elif modern:
            params |= {"_meta": MODERN}
        peer = await self.connect()
        body = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        names = {
            name.replace("-", "_"): value
            for name, value in (SESSION if not modern and method != "initialize" else {}).items()
        }
        peer.send("POST", json.dumps(body).encode(), **names, **headers)
        return peer

    async def shake_hands(self) -> None:
        await (await self.call(0, "initialize")).answer()

    def close(self) -> None:
        for each in self._peers:
            each.writer.close()


class RecorderThread(RecorderProcess):
    """A recorder in this process."""

    def __init__(self) -> None:
        (its_records, self.records), (self.orders, its_orders) = os.pipe(), os.pipe()
        os.set_blocking(self.records, False)
        self.kind, self.session, self.pid = "http", "", NOBODY
        self.thread = Thread(target=RecorderLoop(its_records, its_orders, HttpRecorder).run)
        self.thread.start()


@asynccontextmanager
async def _tapped(
    script: Script, tokens: Any = None, *, user: str = "", **begin: Any
) -> AsyncGenerator[Tapped]:
    async with HttpScript(script) as server, asyncio.timeout(HANG):
        url = server.url.replace("//", f"//{user}")
        recorder = RecorderThread()
        watching = HttpTap(HttpTarget(url=url, name="watched"), tokens, cast("TapOptions", begin), recorder)
        tapped = Tapped(watching, server, await watching.open(0))
        try:
            yield tapped
        finally:
            tapped.close()
            await watching.close()
            watching.finish()
            recorder.thread.join(HANG)


def _stateful(work: Script) -> Script:
    async def script(call: Call) -> None:
        if call.rpc == "initialize":
            await call.answer(
                {"protocolVersion": "2025-11-25", "capabilities": {}}, {"Mcp-Session-Id": "s-1"}
            )
        elif call.rpc == "tools/call":
            await work(call)
        else:
            await call.respond(202 if call.method == "POST" else 200)

    return script


def _batched(work: Script) -> Script:
    async def script(call: Call) -> None:
        if isinstance(call.message if call.body else None, list) or call.rpc != "initialize":
            await work(call)
        else:
            headers = {"Mcp-Session-Id": "s-1"}
            await call.answer({"protocolVersion": "2025-03-26", "capabilities": {}}, headers)

    return script


def _told() -> list[ev.Event]:
    """The events of all journals."""
    found: list[ev.Event] = []
    for journal in journals(journal_folder()):
        with suppress(RecordingError):
            found += Recording.read(journal.paths[0]).events()
    return found


def _of(kind: type[ev.Event]) -> list[Any]:
    return [each for each in _told() if isinstance(each, kind)]


async def _at_socket(wanted: dict[str, Any], true: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """What the first session says of which something is true."""
    found: list[dict[str, Any]] = []

    async def look() -> bool:
        for path in sockets.sockets().values():
            answers = await asyncio.to_thread(sockets.ask, {"": path}, wanted, HANG)
            found.extend(told for each in answers.values() if true(told := json.loads(each.line)))
        return bool(found)

    while not await look():
        await asyncio.sleep(0.01)
    return found[0]


async def test_requests_and_events_pass_as_they_come():
    continues = asyncio.Event()

    async def work(call: Call) -> None:
        await call.stream({"X-Own": "1"})
        await call.event(
            {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}, id="e-1", retry=10
        )
        await continues.wait()
        await call.result()
        await call.end()

    async with _tapped(_stateful(work)) as tap:
        peer = await tap.call(
            7, Last_Event_ID="x", Authorization="Bearer aaaabbbb", X_Hop="1", Connection="X-Hop"
        )
        assert (await peer.head(), peer.headers["x-own"]) == (200, "1")
        assert (await peer.chunk()).startswith(b"id: e-1\nretry: 10\ndata: ")
        continues.set()
        assert json.loads((await peer.body()).partition(b"data: ")[2]) == {
            "jsonrpc": "2.0",
            "id": 7,
            "result": {},
        }
        (call,) = tap.server.calls
        assert (call.headers["last-event-id"], call.headers["authorization"]) == ("x", "Bearer aaaabbbb")
        assert call.headers["host"] in tap.server.url
        assert "x-hop" not in call.headers
        peer.send("DELETE", Mcp_Session_Id="s-1")
        await tap.server.until(lambda call: call.method == "DELETE")
    assert b"aaaabbbb" not in b"".join(each.paths[0].read_bytes() for each in journals(journal_folder()))


async def test_what_is_compressed_passes_so_and_is_read_by_the_recorder():
    async def work(call: Call) -> None:
        body = gzip.compress(
            json.dumps({"jsonrpc": "2.0", "id": call.id, "result": {"content": []}}).encode()
        )
        await call.respond(200, body, "application/json", {"Content-Encoding": "gzip"})

    async with _tapped(served("2026-07-28", work)) as tap:
        peer = await tap.call("z", modern=True, Accept_Encoding="gzip")
        assert (await peer.head(), peer.headers["content-encoding"]) == (200, "gzip")
        assert json.loads(gzip.decompress(await peer.body()))["id"] == "z"
    assert [(each.id, each.size > 0) for each in _of(ev.Completed)] == [("z", True)]


@pytest.mark.parametrize("modern", [False, True], ids=["2025-11-25", "2026-07-28"])
async def test_a_client_that_goes_is_gone_for_the_server(modern: bool):
    closed = asyncio.Event()

    async def work(call: Call) -> None:
        await call.disconnected()
        closed.set()

    async with _tapped(served("2026-07-28", work) if modern else _stateful(work)) as tap:
        if not modern:
            await tap.shake_hands()
        peer = await tap.call(1, modern=modern)
        await tap.server.until(is_rpc("tools/call"))
        peer.writer.close()
        await closed.wait()
        assert all(call.rpc != "notifications/cancelled" for call in tap.server.calls)
    cancels = [(each.cause, each.id) for each in _of(ev.CancelRequested)]
    lost = [each.detail for each in _of(ev.Lost)]
    if modern:
        assert (cancels, [each.signal for each in _of(ev.CancelSignalled)]) == (
            [(Cause.CLIENT, 1)],
            [Signal.STREAM_CLOSED],
        )
    else:
        assert (cancels, lost) == ([], ["the client closed its stream; the server may still be running it"])


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells whether the client still reads")
@pytest.mark.parametrize("early", [(), (2, 3)], ids=["one request", "three requests"])
async def test_a_client_that_ends_what_it_writes_still_reads(early: tuple[int, ...]):
    continues = asyncio.Event()

    async def work(call: Call) -> None:
        await continues.wait()
        await call.answer({"resultType": "complete"})

    async with _tapped(served("2026-07-28", work)) as tap:
        last = {"Connection": "close"}
        peer = await tap.call(1, modern=True, **({} if early else last))
        for id in early:  # sent before there is an answer to the first
            body = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call"}' % id
            peer.send("POST", body, **(last if id == early[-1] else {}))
        peer.writer.write_eof()
        await tap.server.until(is_rpc("tools/call"))
        await turns()
        continues.set()
        assert [(await peer.answer())["id"] for _ in (1, *early)] == [1, *early]
        assert await peer.reader.read() == b""


@pytest.mark.sends_anything
async def test_a_body_that_stops_being_http_ends_the_exchange():
    async with _tapped(served("2026-07-28", Call.answer)) as tap:
        peer = await tap.connect()
        peer.writer.write(
            b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
        )
        await until(lambda: tap.tap.exchanges)
        peer.writer.write(b"no chunk\r\n")
        assert await peer.head() == 400
        await peer.body()
        await until(lambda: not tap.tap.exchanges)


@pytest.mark.parametrize("is_first", [True, False], ids=["new connection", "idle connection"])
async def test_a_client_that_reads_slowly_slows_the_server_down_and_gets_everything(is_first: bool):
    size, written = 1 << 20, 0

    async def work(call: Call) -> None:
        nonlocal written
        if call.rpc == "ping":
            await call.answer()
            return
        await call.head(200, {"Content-Type": "text/plain", "Content-Length": str(64 * size)})
        for number in range(64):
            await call.raw(bytes([number]) * size)
            written += 1

    async with _tapped(served("2026-07-28", work)) as tap:
        if not is_first:
            await (await tap.call(1, "ping", modern=True)).answer()
        peer = await tap.call(2, modern=True)
        await peer.head()
        await until(lambda: any(not each.is_writable for each in tap.tap.connections))
        assert written < 64
        assert await peer.body() == b"".join(bytes([number]) * size for number in range(64))


async def test_a_server_that_goes_is_gone_for_the_client():
    async def work(call: Call) -> None:
        await call.stream()
        await call.chunk(b"data: ")
        call.cut()

    async with _tapped(_stateful(work)) as tap:
        peer = await tap.call(1)
        await peer.head()
        assert await peer.chunk() == b"data: "
        assert await peer.reader.read() == b""


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "tap.example"},
        {"Origin": "https://evil.example"},
        {"Sec_Fetch_Site": "cross-site", "Accept": "text/event-stream"},
    ],
    ids=lambda headers: next(iter(headers)),
)
async def test_websites_elsewhere_are_refused_until_a_person_allows_them(
    headers: dict[str, str], capfd: pytest.CaptureFixture[str]
):
    async with _tapped(served("2026-07-28", Call.answer)) as tap:
        for method in ("GET", "POST", "OPTIONS"):
            peer = await tap.connect()
            peer.send(method, **headers)
            assert await peer.head() == 403
            said = (await peer.body()).decode()
        assert tap.server.calls == []
        assert capfd.readouterr().err == said.replace("tap: ", "tap: a request was refused. ")  # once
        tap.tap.access = HttpAccess(["https://evil.example"], ["tap.example"])
        if "Sec_Fetch_Site" not in headers:
            peer = await tap.call(1, modern=True, **headers)
            assert "result" in await peer.answer()


async def test_a_request_without_a_host_and_one_with_two_are_refused():
    async with _tapped(served("2026-07-28", Call.answer)) as tap:
        for head, status in (
            (b"GET /mcp HTTP/1.0\r\n\r\n", 403),
            (b"GET /mcp HTTP/1.1\r\n\r\n", 400),
            (b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n", 400),
            (b"GET http://evil.example/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
        ):
            peer = await tap.connect()
            peer.writer.write(head)
            assert await peer.head() == status, head
        peer = await tap.connect()
        peer.writer.write(b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: " + b"a" * 100_000)
        assert await peer.head() == 431
        assert b"The headers of the client's request are too long." in await peer.body()
        assert tap.server.calls == []


class _Tokens:
    """A stored sign-in, whose token is renewed once."""

    current = "old-token"

    async def load(self) -> None: ...
    def share_secrets(self, learn: Any) -> None: ...
    def connected(self, ip: str) -> None: ...
    def answered(self, sent: RequestToken, status: int, nonce: str) -> None: ...
    def for_request(self, method: str, url: object) -> RequestToken:
        return RequestToken(self.current, headers={"Authorization": f"Bearer {self.current}"})

    async def renew(self, challenge: Challenge) -> bool:
        self.current = "new-token"
        return challenge.sent.access == "old-token"


@pytest.mark.parametrize("user", ["", "u:pw@"], ids=["stored", "in the URL"])
async def test_the_sign_in_is_for_the_endpoint_alone(user: str):
    async def work(call: Call) -> None:
        if call.path == "/mcp" and call.headers.get("mcp-name") == "moved":
            await call.respond(307, headers={"Location": f"{call.headers['x-at']}/mcp/"})
        else:
            await call.respond(200)

    events = {"Accept": "application/json, text/event-stream"}
    async with _tapped(work, None if user else _Tokens(), user=user) as tap:
        at = tap.server.url.removesuffix("/mcp")

        async def is_signed_in(method: str, path: str, **headers: str) -> bool:
            peer = await tap.connect()
            peer.send(method, b"", path, **headers)
            await peer.head()
            return "authorization" in tap.server.calls[-1].headers

        for path in ("/mcp", "/mcp?x=1"):
            assert await is_signed_in("POST", path)
            assert await is_signed_in("DELETE", path)
            assert await is_signed_in("GET", path, **events)
            assert not await is_signed_in("GET", path, Accept="*/*")
            assert not await is_signed_in("OPTIONS", path)
            assert not await is_signed_in("HEAD", path, **events)
        for path in (
            "/",
            "/mcp/",
            "//mcp",
            "/mcp/../admin",
            "/mcp/..%2fadmin",
            "/mcp/%2e%2e/admin",
            "/%6dcp",
            "/mcp;x",
            "/MCP",
            "/mcp%3fx",
            "/admin?/mcp",
            "/admin?/../mcp",
            "/.well-known/oauth-protected-resource/mcp",
        ):
            assert not await is_signed_in("POST", path), path
            assert not await is_signed_in("GET", path, **events), path
        # A path that the endpoint itself names is the endpoint, too: frameworks add a slash.
        assert await is_signed_in("POST", "/mcp", Mcp_Name="moved", X_At=at)
        assert await is_signed_in("POST", "/mcp/")


def test_the_query_of_the_url_is_for_requests_of_mcp_alone():
    addresses = ServerAddresses("https://host.example/mcp?key=hidden")
    assert addresses.of(b"/mcp", signed_in=True).url.query == b"key=hidden"
    assert addresses.of(b"/mcp", signed_in=False).url.query == b""
    assert addresses.of(b"/mcp?x", signed_in=True).url.query == b"x"


def test_addresses_that_the_server_names_lead_to_the_tap():
    addresses = ServerAddresses("https://host.example/mcp")
    for named, passed in (
        (b"https://host.example/m?s=1", b"/m?s=1"),
        (b"//host.example:443/m", b"/m"),
        (b"/m?s=2", b"/m?s=2"),
        (b"m", b"m"),
        (b"https://host.example//evil.example/m", b"/.//evil.example/m"),
        (b"https://other.example/m", b"https://other.example/m"),
    ):
        assert addresses.through_tap(named, signed_in=False) == passed
    assert not addresses.is_endpoint(b"/m?s=1")
    for number in range(NAMED_TARGETS + 1):
        addresses.through_tap(b"/m?s=%d" % number, signed_in=True)
    assert [addresses.is_endpoint(b"/m?s=%d" % number) for number in (0, 1, NAMED_TARGETS)] == [
        False,
        True,
        True,
    ]


async def test_a_server_that_cannot_be_reached_is_told_to_the_client_and_in_a_row():
    async with _tapped(served("2026-07-28", Call.answer)) as tap:
        await tap.server.__aexit__(None, None, None)
        peer = await tap.call(1, modern=True)
        assert await peer.head() == 502
        assert (await peer.body()).startswith(b"mcp-tui tap: Connection refused by 127.0.0.1")
    assert [each.detail.partition(" by ")[0] for each in _of(ev.Lost)] == ["connection refused"]


@pytest.mark.parametrize("era", ["modern", "handshake", "sse"])
async def test_a_server_that_is_stopping_is_not_held_by_a_stream_once_its_last_call_is_over(
    era: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(http_client, "IDLE_SECONDS", 0.0)
    modern, sse, continues = era == "modern", era == "sse", asyncio.Event()
    streams: list[Call] = []

    async def listen(call: Call) -> None:
        streams.append(call)
        await call.stream()
        await call.event(b"/messages" if sse else PROGRESS, name="endpoint" * sse)
        await call.disconnected()

    async def script(call: Call) -> None:
        if call.method == "GET" or call.rpc == "subscriptions/listen":
            await listen(call)
        elif call.rpc == "initialize":
            await call.answer({"protocolVersion": "2025-11-25"}, {"Mcp-Session-Id": "s-1"})
        elif sse:
            await call.respond(202)
            await continues.wait()
            await streams[0].event({"jsonrpc": "2.0", "id": call.id, "result": {}})
        else:
            await continues.wait()
            await call.answer()

    async with _tapped(script) as tap:

        async def call(id: int, method: str = "tools/call") -> Peer:
            params: dict[str, Any] = {"name": "slow"} if method == "tools/call" else {"notifications": {}}
            params |= {"_meta": MODERN} if modern else {}
            body = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()
            peer = await tap.connect()
            named = {"Mcp_Session_Id": "s-1"} if era == "handshake" else {}
            peer.send("POST", body, "/messages" if sse else "", **named)
            return peer

        if not modern and not sse:
            await tap.shake_hands()
        stream = await call(1, "subscriptions/listen") if modern else await tap.connect()
        if not modern:
            stream.send("GET", Accept="text/event-stream", **({} if sse else {"Mcp_Session_Id": "s-1"}))
        await stream.head()
        await stream.chunk()
        running = await call(2)
        await tap.server.until(is_rpc("tools/call"))
        tap.server.refuse()
        assert await (await call(3)).head() == 502
        await until(lambda: len(_of(ev.Lost)) == 1)
        assert not streams[0].gone, "the server still works on a call"
        continues.set()
        assert await stream.chunk() if sse else (await running.answer())
        await until(lambda: streams[0].gone)
        assert not await stream.reader.read(), "the stream of the client ends, too"
    assert [each.text for each in _of(ev.Note)].count(f"{STOPPING}; its stream is closed") == 1


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (202, 0, "Cancelled"),
        (401, 6, "the cancel was sent, refused: HTTP 401."),
        (200, 6, "the cancel was sent, refused: error -32601 never."),
        ("none", 0, "Cancelled"),
        ("no connection", 6, "the cancel was not delivered: connection refused"),
    ],
)
async def test_a_cancel_is_told_as_the_server_answered_it(answer: int | str, status: int, said: str):
    async def script(call: Call) -> None:
        if call.rpc == "tools/call" and answer == "no connection":
            tap.server.refuse()
        if call.rpc == "initialize":
            headers = {"Mcp-Session-Id": "s-1"}
            await call.answer({"protocolVersion": "2025-11-25", "capabilities": {}}, headers)
        elif call.rpc == "tools/call" or answer == "none":
            await call.disconnected()
        else:
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "never"}}
            body = json.dumps(error).encode() if answer == 200 and call.rpc.endswith("cancelled") else b""
            await call.respond(401 if answer == 401 else 200 if body else 202, body, "application/json")

    async with _tapped(script) as tap:
        await tap.shake_hands()
        await tap.call("c", Connection="close")
        await tap.server.until(is_rpc("tools/call"))
        await _at_socket({"ask": "list"}, lambda told: any(each["id"] == "c" for each in told["requests"]))
        (name,) = sockets.sockets()
        ran = await running("cancel", f"{name}/c")
        assert (ran.status, said in ran.out + ran.err) == (status, True), ran


async def test_a_cancel_of_a_task_is_told_as_the_server_answered_it():
    async def script(call: Call) -> None:
        if call.rpc == "initialize":
            tasks: dict[str, Any] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
            told = {"protocolVersion": "2025-11-25", "capabilities": {"tasks": tasks}}
            await call.answer(told, {"Mcp-Session-Id": "s-1"})
        elif call.rpc == "tools/call":
            times = dict.fromkeys(("createdAt", "lastUpdatedAt"), "2025-11-25T00:00:00Z")
            await call.answer({"task": {"taskId": "t", "status": "working", "ttl": None, **times}})
        elif call.rpc == "tasks/cancel":
            error = {"jsonrpc": "2.0", "id": call.id, "error": {"code": -32602, "message": "never"}}
            await call.respond(200, json.dumps(error).encode(), "application/json")
        else:
            await call.respond(202)

    async with _tapped(script) as tap:
        await tap.shake_hands()
        peer = await tap.connect()
        params: dict[str, Any] = {"name": "slow", "arguments": {}, "task": {}}
        body = {"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": params}
        peer.send(
            "POST",
            json.dumps(body).encode(),
            **{name.replace("-", "_"): value for name, value in SESSION.items()},
        )
        await peer.answer()
        await _at_socket(
            {"ask": "list"}, lambda told: any(each["state"] == "task" for each in told["requests"])
        )
        (name,) = sockets.sockets()
        ran = await running("cancel", f"{name}/c")
        assert (ran.status, "sent, refused: error -32602 never." in ran.err) == (6, True), ran


@pytest.mark.parametrize("streams", [False, True], ids=["before the head", "in the stream"])
async def test_a_person_cancels_for_a_client_of_the_handshake(streams: bool):
    continues = asyncio.Event()

    async def work(call: Call) -> None:
        if streams:
            await call.stream()
            await call.event(
                {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
            )
        await continues.wait()
        await (call.result() if streams else call.answer())
        await (call.end() if streams else call.raw(b""))

    async with _tapped(_stateful(work)) as tap:
        await tap.shake_hands()
        peer = await tap.call("c", Authorization="Bearer t")
        if streams:
            await peer.head()
            await peer.chunk()
        await _at_socket({"ask": "list"}, lambda told: any(each["id"] == "c" for each in told["requests"]))
        told = await _at_socket(
            {"ask": "cancel", "id": "c", "reason": "hangs"}, lambda told: "signal" in told
        )
        assert told == {"version": 1, "signal": "notification"}
        answer = (
            await peer.answer() if not streams else json.loads((await peer.body()).partition(b"data: ")[2])
        )
        assert (answer["id"], answer["result"]["isError"]) == ("c", True)
        assert answer["result"]["content"][0]["text"].startswith("cancelled by a person: hangs. ")
        assert answer["result"]["_meta"]["mcp-tui/ended"]["answerIsKept"] is True
        call = await tap.server.until(is_rpc("notifications/cancelled"))
        assert call.message["params"] == {"requestId": "c", "reason": "hangs"}
        assert [call.headers[name] for name in ("mcp-session-id", "authorization")] == ["s-1", "Bearer t"]
        continues.set()
        await until(lambda: _of(ev.Late))
    assert [each.kind for each in _of(ev.Late)] == [ev.Kind.RESULT]


async def test_a_limit_closes_the_stream_of_2026_07_28_and_answers_the_client():
    closed = asyncio.Event()

    async def work(call: Call) -> None:
        await call.stream()
        await call.event(
            {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
        )
        await call.disconnected()
        closed.set()

    async with _tapped(served("2026-07-28", work), max_timeout=0.2) as tap:
        peer = await tap.call(5, modern=True)
        await peer.head()
        answer = json.loads((await peer.body()).rpartition(b"data: ")[2])
        assert answer["result"]["isError"]
        assert (
            "timed out after 0.2 s (maximum), a limit of mcp-tui tap. "
            in answer["result"]["content"][0]["text"]
        )
        assert answer["result"]["_meta"]["mcp-tui/ended"]["answerIsKept"] is False  # nothing more can come
        await closed.wait()
        assert [call.rpc for call in tap.server.calls] == ["tools/call"]
    assert [each.signal for each in _of(ev.CancelSignalled)] == [Signal.STREAM_CLOSED]


async def test_a_limit_holds_for_a_call_after_a_long_silence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(recorder_link, "AWAKE", -1)  # what hands the records on sleeps at once

    async def work(call: Call) -> None:
        await call.stream()
        await call.disconnected()

    async with _tapped(served("2026-07-28", work), max_timeout=0.2) as tap:
        peer = await tap.call(5, modern=True)
        await peer.head()
        async with asyncio.timeout(HANG):
            assert json.loads((await peer.body()).rpartition(b"data: ")[2])["result"]["isError"]


@pytest.mark.parametrize("cut", [None, -9, 0], ids=["after an event", "within one", "before any"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_limit_ends_a_compressed_stream_in_one_piece(encoding: str, cut: int | None):
    note = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"data":"%b"}}\n\n' % (
        b"a" * 99_999
    )
    note = note[:cut]

    async def work(call: Call) -> None:
        await call.stream({"Content-Encoding": encoding})
        encoder = zlib.compressobj(wbits=WRAPPED[encoding])
        if note:
            await call.chunk(encoder.compress(note) + encoder.flush(zlib.Z_SYNC_FLUSH))
        await call.disconnected()

    async with _tapped(served("2026-07-28", work), max_timeout=0.2) as tap:
        peer = await tap.call(5, modern=True, Accept_Encoding=encoding)
        await peer.head()
        decoder = zlib.decompressobj(WRAPPED[encoding])  # which checks the sum
        text = decoder.decompress(await peer.body())
    assert (decoder.eof, decoder.unused_data) == (True, b"")
    passed, _, last = text.rpartition(b"event: message\ndata: ")
    assert (passed, json.loads(last)["result"]["isError"]) == (note + (b"\n" + CUT_EVENT) * (cut == -9), True)


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("is_late", [True, False])
def test_an_event_that_has_passed_in_part_is_ended_for_what_is_said(end: bytes, is_late: bool):
    event = b'id: 1%bdata: {"id":7,"result":"aaa"}%b%b' % (end, end, end)
    for cut in range(1, len(event) - len(end) + 1):
        kept = WithheldAnswers()
        pipe = EventPipe(lambda kept=kept: kept)
        assert pipe.feed(event + event[:cut]) == event + event[:cut]
        kept.add(7 if is_late else 8, None)
        said = pipe.say(b"said", last=False) or b""
        assert pipe.feed(event[cut:] + event) == (b"id: 1\n\n" if is_late else event) + event
        # What a client takes for messages: no part of one is among them.
        stream = httpx.Response(
            200, headers={"Content-Type": "text/event-stream"}, content=event[:cut] + said
        )
        messages = [each for each in EventSource(stream).iter_sse() if each.event == "message" and each.data]
        assert [each.data for each in messages] == ["said"]


def test_a_piece_that_ends_within_a_blank_line_passes_whole_with_its_rest():
    event = b"data: {}\r\n\r\n"
    for cut in range(1, len(event)):
        kept = WithheldAnswers()
        kept.add(7, None)
        pipe = EventPipe(lambda kept=kept: kept)
        assert pipe.feed(event[:cut]) + pipe.feed(event[cut:]) == event


def test_the_first_event_is_withheld_as_any_other():
    kept = WithheldAnswers()
    kept.add(7, None)
    pipe = EventPipe(lambda: kept, lambda event: event)
    assert pipe.feed(as_event(b'{"id":7,"result":{}}') + as_event(b"{}")) == as_event(b"{}")


def test_the_endpoint_is_found_behind_what_has_no_data():
    pipe = EventPipe(lambda: None, lambda event: event.replace(b"server", b"tap"))
    passed = pipe.feed(b": hello\n\nretry: 9\n\nevent: endpoint\ndata: server\n\ndata: server\n\n")
    assert passed == b": hello\n\nretry: 9\n\nevent: endpoint\ndata: tap\n\ndata: server\n\n"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_compressed_stream_is_sifted_from_the_end_of_a_block(size: int):
    kept = WithheldAnswers()
    pipe = CompressedPipe(EventPipe(lambda: kept), "gzip")
    encoder, decoder = zlib.compressobj(wbits=31), zlib.decompressobj(31)
    events = [
        as_event(b'{"id":%d,"result":"%b"}' % (id, b"same words in all of them" * 9)) for id in range(6)
    ]
    passed = b""
    for id, event in enumerate(events):
        if id == 2:
            kept.add(3, None)
        if id == 4:
            passed += decoder.decompress(pipe.say(b"said", last=False) or b"")
        data = encoder.compress(event) + encoder.flush(zlib.Z_SYNC_FLUSH)
        pieces = [data[at : at + size] for at in range(0, len(data), size)]
        passed += b"".join(decoder.decompress(pipe.feed(piece)) for piece in pieces)
    passed += decoder.decompress(pipe.close())
    said = as_event(b"said")
    assert passed == b"".join([*events[:3], said, *events[4:]])
    assert decoder.eof


def test_within_a_block_nothing_is_said():
    pipe = CompressedPipe(EventPipe(WithheldAnswers), "gzip")
    encoder = zlib.compressobj(wbits=31)
    pipe.feed((encoder.compress(as_event(b"1" * 999)) + encoder.flush(zlib.Z_SYNC_FLUSH))[:-9])
    assert pipe.say(b"said", last=True) is None


@pytest.mark.sends_anything
@pytest.mark.parametrize("continues", [True, False])
def test_a_request_that_is_answered_before_it_is_complete_is_a_row(continues: bool):
    body = b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"slow"}}'
    rest = [(b"o", body[60:]), (b"d", b"")] if continues else []
    _keep((b"q", _POSTED), (b"o", body[:60]), (b"a", as_head(b"413", [])), *rest, (b"n", b""))
    (row,) = _of(ev.Called)
    assert (row.id, row.name) == (5, "slow" if continues else "")
    (failed,) = _of(ev.Failed)
    assert (failed.id, "HTTP 413" in failed.message) == (5, True)


_POSTED: Final = as_head(b"1 POST /mcp", [])
_CALL: Final = b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"slow"}}'
_JSON: Final = as_head(b"200", [(b"Content-Type", b"application/json")])
_EVENTS: Final = as_head(b"200", [(b"Content-Type", b"text/event-stream")])
_RESULT: Final = b'data: {"jsonrpc":"2.0","id":5,"result":{}}\n\n'


def _gap(kind: bytes) -> tuple[bytes, bytes]:
    return b"g", kind + (1000).to_bytes(8, "big")


def _keep(*told: tuple[bytes, bytes]) -> None:
    """Records exchanges, each of which begins with the head of a request; bodies of responses are of the first."""
    (its_records, records), (orders, its_orders) = os.pipe(), os.pipe()
    begin = {"url": "http://127.0.0.1:1/mcp", "name": "watched", "version": VERSION}
    number = 0
    for kind, data in ((b"b", repr(begin).encode()), *told, (b"x", b"")):
        number += kind == b"q"
        of = 1 if kind in (b"i", b"g") else number
        os.write(records, packed([(kind, 1.0, of, data)]))
    os.close(records)
    assert RecorderLoop(its_records, its_orders, HttpRecorder).run()
    os.close(orders)


@pytest.mark.sends_anything
def test_the_start_of_an_answer_whose_rest_is_missing_says_nothing():
    answer = [(b"a", _JSON), (b"i", b'{"jsonrpc":"2.0","id":5,')]
    for missing in ([(b"n", b"reset")], [_gap(b"i"), (b"n", b"")]):
        _keep((b"q", _POSTED), (b"o", _CALL), (b"d", b""), *answer, *missing)
    unseen = "the tap did not see whether it was answered"
    assert {each.detail for each in _of(ev.Lost)} == {"reset", unseen}
    assert _of(ev.Violation) == []


@pytest.mark.sends_anything
def test_a_request_of_which_bytes_are_missing_is_a_row():
    told = [(b"q", _POSTED), (b"o", _CALL[:60]), _gap(b"o"), (b"d", b""), (b"a", _EVENTS), (b"i", _RESULT)]
    _keep(*told, (b"n", b""))
    assert [each.bytes for each in _of(ev.Oversize)] == [1060]
    assert [each.id for each in _of(ev.Completed)] == [5]


@pytest.mark.sends_anything
def test_a_request_whose_start_is_missing_is_no_fault_of_the_client():
    told = [(b"q", _POSTED), _gap(b"o"), (b"o", _CALL[9:]), (b"d", b""), (b"a", _EVENTS), (b"i", _RESULT)]
    _keep(*told, (b"n", b""))
    assert (len(_of(ev.Oversize)), _of(ev.Violation)) == (1, [])


@pytest.mark.sends_anything
@pytest.mark.parametrize("rest", [b'"rest of 4"}\n\n', b"id: 1\ndata: of 4}\n\n", b""])
def test_a_stream_is_read_on_behind_missing_bytes(rest: bytes):
    endpoint = b"event: endpoint\ndata: /m\n\n"
    calls: list[tuple[bytes, bytes]] = []
    for id in (4, 5):
        posted = (b"q", as_head(b"2 POST /m", [])), (b"o", _CALL.replace(b"5", b"%d" % id)), (b"d", b"")
        calls += [*posted, (b"a", as_head(b"202", [])), (b"n", b""), *([_gap(b"i")] if id == 4 else [])]
    stream = [(b"q", as_head(b"1 GET /mcp", [])), (b"d", b""), (b"a", _EVENTS), (b"i", endpoint)]
    _keep(*stream, *calls, (b"i", rest + _RESULT))
    assert [(each.id, each.detail) for each in _of(ev.Lost)] == [
        (4, "the tap did not see whether it was answered")
    ]
    assert [each.id for each in _of(ev.Completed)] == [5]
    assert any("1,000 bytes" in each.text for each in _of(ev.Note))
    assert _of(ev.Violation) == []


async def test_the_same_id_of_two_clients_is_two_rows():
    continues = asyncio.Event()

    async def work(call: Call) -> None:
        await continues.wait()
        await call.answer({"resultType": "complete"})

    async with _tapped(served("2026-07-28", work)) as tap:
        peers = [await tap.call(1, modern=True) for _ in range(2)]
        await tap.server.until(is_rpc("tools/call"), 2)
        await until(lambda: len(sockets.sockets()) == 2)
        continues.set()
        assert [(await peer.answer())["id"] for peer in peers] == [1, 1]
    assert [each.id for each in _of(ev.Completed)] == [1, 1]
    assert [each.client for each in _of(ev.Connected)] == ["other 3", "other 3"]
    assert _of(ev.Violation) == []


async def test_a_session_that_was_idle_for_too_long_continues_as_one_and_is_not_kept(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(http_sessions, "SESSIONS", 2)
    gone: list[weakref.ref[object]] = []
    closes = TappedSession.close

    def close(session: TappedSession, detail: str, **how: Any) -> None:
        gone.append(weakref.ref(session.ledger))
        closes(session, detail, **how)

    monkeypatch.setattr(TappedSession, "close", close)

    async def script(call: Call) -> None:
        if call.rpc == "initialize":
            headers = {"Mcp-Session-Id": f"s-{len(tap.server.calls)}"}
            await call.answer({"protocolVersion": "2025-11-25", "capabilities": {}}, headers)
        else:
            await call.answer()

    async with _tapped(script) as tap:
        for id in (0, 0, 0, 0, 1, 2, 3, 0):
            peer = await tap.call(id, "tools/call" if id else "initialize")  # the calls in s-1
            await peer.answer()
            peer.writer.close()
        await until(lambda: len(_of(ev.Completed)) == 8)
        await until(lambda: [gc.collect()] and all(each() is None for each in gone[:2]))
    assert sorted(
        [each.id for each in Recording.read(journal.paths[0]).events() if isinstance(each, ev.Completed)]
        for journal in journals(journal_folder())
    ) == [[0]] * 5 + [[1, 2, 3]]


async def test_http_sse_comes_back_to_the_tap_and_its_late_answer_is_withheld():
    streams: list[Call] = []

    async def script(call: Call) -> None:
        if call.method == "GET":
            streams.append(call)
            await call.stream()
            await call.event(tap.server.url.replace("/mcp", "/messages?s=1").encode(), name="endpoint")
            await call.disconnected()
            return
        await call.respond(202)
        if call.rpc == "initialize":
            await streams[0].event(
                {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2024-11-05", "capabilities": {}}}
            )
        elif call.rpc == "tools/call" and call.message["params"]["name"] == "quick":
            await streams[0].event({"jsonrpc": "2.0", "id": call.id, "result": {}})

    async with _tapped(script) as tap:
        stream = await tap.connect()
        stream.send("GET", Accept="text/event-stream")
        await stream.head()
        endpoint = (await stream.chunk()).partition(b"data: ")[2].strip().decode()
        assert endpoint == "/messages?s=1"

        async def call(id: int, method: str, params: dict[str, Any]) -> None:
            peer = await tap.connect()
            body = json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode()
            peer.send("POST", body, "/messages?s=1")
            assert await peer.head() == 202

        await call(0, "initialize", HANDSHAKE)
        assert b"2024-11-05" in await stream.chunk()
        for id in (8, 9):
            await call(id, "tools/call", {"name": "slow"})
        await _at_socket({"ask": "cancel", "id": "9"}, lambda told: told.get("signal") == "notification")
        assert b"cancelled by a person" in await stream.chunk()
        assert (await tap.server.until(is_rpc("notifications/cancelled"))).path == "/messages?s=1"
        for id in (9, "x"):
            await streams[0].event({"jsonrpc": "2.0", "id": id, "result": {}})
        assert b'"x"' in await stream.chunk()
        await _at_socket({"ask": "cancel", "id": "8"}, lambda told: told.get("signal") == "notification")
        assert b"cancelled by a person" in await stream.chunk()
        # What a client asks for again, by the same id, passes before the recorder knows of it, which comes later.
        await call(8, "tools/call", {"name": "quick"})
        assert b'"result"' in await stream.chunk()
    assert [each.kind for each in _of(ev.Late)] == [ev.Kind.RESULT]


async def test_what_a_client_asks_for_by_an_id_of_an_ended_call_passes():
    async def work(call: Call) -> None:
        await call.stream()
        if len(tap.server.calls) == 2:
            await call.disconnected()
        else:
            await call.result()
            await call.end()

    async with _tapped(_stateful(work)) as tap:
        await tap.shake_hands()
        peer = await tap.call(9)
        await _at_socket({"ask": "cancel", "id": "9"}, lambda told: "signal" in told)
        assert (await peer.answer())["result"]["isError"]
        # Before the recorder knows of it, which comes later.
        assert (await (await tap.call(9)).answer())["result"] == {}


@pytest.mark.parametrize("media", ["application/json", "text/event-stream"])
async def test_the_rest_of_a_batch_is_answered_after_one_of_it_was_cancelled(media: str):
    continues = asyncio.Event()

    async def script(call: Call) -> None:
        await continues.wait()
        answers: list[Any] = [{"jsonrpc": "2.0", "id": id, "result": {}} for id in (1, 2)]
        if media == "application/json":
            await call.respond(200, json.dumps(answers, indent=1).encode(), media)
        else:
            await call.respond(200, as_event(json.dumps(answers).encode()), media)

    async with _tapped(_batched(script)) as tap:
        await tap.shake_hands()
        peer = await tap.connect()
        calls = [
            {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "x"}} for id in (1, 2)
        ]
        peer.send("POST", json.dumps(calls).encode(), Mcp_Session_Id="s-1")
        await _at_socket({"ask": "cancel", "id": "1"}, lambda told: "signal" in told)
        await peer.head()
        assert json.loads((await peer.chunk()).partition(b"data: ")[2])["result"]["isError"]
        continues.set()
        assert json.loads((await peer.body()).partition(b"data: ")[2]) == [
            {"jsonrpc": "2.0", "id": 2, "result": {}}
        ]


async def test_a_client_that_waits_without_a_stream_is_told_on_the_next_one():
    async def script(call: Call) -> None:
        if call.method == "GET":
            await call.stream()
            await call.event({"jsonrpc": "2.0", "id": 1, "result": {}}, id="e-2")
            await call.disconnected()
        elif call.rpc == "tools/call":
            await call.stream()
            await call.event(b"", id="e-1", retry=10)
            await call.end()
        else:
            await call.respond(202)

    async with _tapped(_batched(script)) as tap:
        await tap.shake_hands()
        peer = await tap.call(1)
        await peer.head()
        assert (await peer.body()).startswith(b"id: e-1\n")
        await _at_socket({"ask": "cancel", "id": "1"}, lambda told: "signal" in told)
        peer.send("GET", Last_Event_ID="e-1", Mcp_Session_Id="s-1")
        await peer.head()
        assert (
            await peer.chunk() == b"id: e-2\n\n"
        )  # the late answer is withheld, and not what to resume from
        assert json.loads((await peer.chunk()).partition(b"data: ")[2])["result"]["isError"]


@pytest.mark.parametrize("media", ["application/json", "text/event-stream"])
async def test_what_cannot_be_decompressed_passes_and_ends_no_recorder(media: str):
    async def work(call: Call) -> None:
        await call.respond(200, b"no gzip", media, {"Content-Encoding": "gzip"})

    async with _tapped(served("2026-07-28", work)) as tap:
        peer = await tap.call(1, modern=True)
        await peer.head()
        assert await peer.body() == b"no gzip"
    assert any("is not recorded" in each.text for each in _of(ev.Note))


async def test_a_length_beside_chunks_does_not_pass():
    async def work(call: Call) -> None:
        await call.head(200, {"Content-Length": "99", "Transfer-Encoding": "chunked"})
        await call.raw(b"2\r\n{}\r\n0\r\n\r\n")

    async with _tapped(served("2026-07-28", work)) as tap:
        peer = await tap.call(1, modern=True)
        await peer.head()
        assert ("content-length" in peer.headers, await peer.body()) == (False, b"{}")


async def test_a_stored_sign_in_is_used_and_renewed():
    async def work(call: Call) -> None:
        if call.headers["authorization"] == "Bearer new-token":
            await call.answer({"resultType": "complete"})
        else:
            await call.respond(401, headers={"WWW-Authenticate": "Bearer"})

    async with _tapped(served("2026-07-28", work), _Tokens()) as tap:
        assert "result" in await (await tap.call(1, modern=True)).answer()
        peer = await tap.call(2, modern=True, Authorization="Bearer mine")
        assert await peer.head() == 401  # what the client gave is its own business


@pytest.mark.parametrize("is_first", [True, False], ids=["new connection", "idle connection"])
async def test_a_token_that_cannot_be_sent_is_told_to_the_client(is_first: bool):
    tokens = _Tokens()
    async with _tapped(served("2026-07-28", Call.answer), tokens) as tap:
        if not is_first:
            await (await tap.call(1, modern=True)).answer()
        tokens.current = "two\r\nlines"
        peer = await tap.call(2, modern=True)
        assert await peer.head() == 502
        assert b"not valid as HTTP" in await peer.body()
        await until(lambda: not tap.tap.exchanges)
        assert len(tap.server.calls) == (0 if is_first else 1)


async def test_the_user_of_the_url_is_sent_and_no_secret_is_recorded():
    secrets = (
        "Basic dTpwdy1zM2NyZXQ=",
        "pw-s3cret",
        "Basic bWU6b3duLXMzY3JldA==",
        "own-s3cret",
        "c00kie-1",
        "c00kie-2",
    )

    async def work(call: Call) -> None:
        assert call.headers["authorization"] == secrets[0 if call.id == 1 else 2]
        await call.answer(
            {"resultType": "complete", "content": [{"type": "text", "text": " ".join(secrets)}]}
        )

    async with _tapped(served("2026-07-28", work), user="u:pw-s3cret@") as tap:
        cookies = "a=c00kie-1; b=c00kie-2"
        await (await tap.call(1, modern=True, Cookie=cookies)).answer()
        await (await tap.call(2, modern=True, Cookie=cookies, Authorization=secrets[2])).answer()
    # The first answer came before the client sent the second password.
    recorded = b"".join(each.paths[0].read_bytes() for each in journals(journal_folder())).split(b'"id":2')
    assert [each for each in secrets if each.rpartition(" ")[2].encode() in recorded[-1]] == []


async def test_the_traffic_goes_on_when_the_recorder_fails(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    def fails(*_: object, **__: object) -> None:
        raise ValueError("\x1b[31mplanted")

    async with _tapped(served("2026-07-28", Call.answer)) as tap:
        monkeypatch.setattr("mcp_tui.tap.http_recorder.messages.parse", fails)
        for id in (1, 2):
            assert (await (await tap.call(id, modern=True)).answer())["id"] == id
        await until(lambda: len(_of(ev.Completed)) == 2)  # by another one, in a process of its own
    (line,) = capfd.readouterr().err.splitlines()
    assert line == f"mcp-tui tap: the recorder failed (ValueError �[31mplanted). {AWAY}"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of other processes by /proc")
@pytest.mark.parametrize("killed", ["recorder", "tap"])
async def test_the_traffic_outlives_the_recorder_and_nothing_outlives_the_tap(killed: str):
    async with HttpScript(served("2026-07-28", Call.answer)) as server, asyncio.timeout(HANG):
        command = [*MCP_TUI, "tap", "--http", "0", server.url]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            url = (await asyncio.to_thread(process.stderr.readline)).strip().rpartition(" ")[2]
            tap = Tapped(None, server, url)
            assert (await (await tap.call(1, modern=True)).answer())["id"] == 1
            await until(lambda: _of(ev.Completed))
            recorder = recorder_of(process.pid)
            os.kill(recorder if killed == "recorder" else process.pid, signal.SIGKILL)
            await until(lambda: not is_there(recorder))
            if killed == "recorder":
                said = f"mcp-tui tap: the recorder was killed by signal 9. {AWAY}\n"
                assert await asyncio.to_thread(process.stderr.readline) == said
                assert (await (await tap.call(2, modern=True)).answer())["id"] == 2
                await until(lambda: {each.id for each in _of(ev.Completed)} == {1, 2})
                process.terminate()
            tap.close()
    await until(lambda: bool(_of(ev.Disconnected)))
    lost = "the tap was ended" if killed == "recorder" else "the tap was killed"
    assert [each.detail for each in _of(ev.Disconnected)] == [lost]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells of other processes by /proc")
async def test_a_call_keeps_its_limit_when_the_recorder_is_killed():
    async def work(call: Call) -> None:
        await call.stream()
        await call.disconnected()

    async with HttpScript(_stateful(work)) as server, asyncio.timeout(HANG):
        command = [*MCP_TUI, "tap", "--http", "0", "--max-timeout", "1", server.url]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            url = (await asyncio.to_thread(process.stderr.readline)).strip().rpartition(" ")[2]
            tap = Tapped(None, server, url)
            await tap.shake_hands()
            peer = await tap.call("c")
            await server.until(is_rpc("tools/call"))
            os.kill(recorder_of(process.pid), signal.SIGKILL)
            answer = await peer.answer()
            assert (answer["id"], answer["result"]["isError"]) == ("c", True)
            cancel = await server.until(is_rpc("notifications/cancelled"))
            assert (cancel.message["params"]["requestId"], cancel.headers["mcp-session-id"]) == ("c", "s-1")
            process.terminate()
            tap.close()
    await until(lambda: bool(_of(ev.Disconnected)))


def test_a_signal_ends_it_well_and_a_port_that_is_taken_is_told():
    command = [*MCP_TUI, "tap", "--http", "0", "http://127.0.0.1:9/mcp?key=hidden"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as tap:
        assert tap.stderr is not None
        url = tap.stderr.readline().strip().rpartition(" ")[2]
        port = url.rpartition(":")[2].partition("/")[0]
        assert url == f"http://127.0.0.1:{port}/mcp"
        second = subprocess.run(
            [*MCP_TUI, "tap", "--http", port, "http://127.0.0.1:9/mcp"],
            capture_output=True,
            text=True,
            check=False,
            timeout=HANG,
        )
        assert (second.returncode, second.stderr.count("\n")) == (2, 1)
        assert f"Cannot listen at port {port}" in second.stderr
        os.kill(tap.pid, signal.SIGTERM)
        assert (tap.wait(HANG), tap.stderr.read()) == (0, "")
