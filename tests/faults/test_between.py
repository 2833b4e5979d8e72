"""Faults of what is between mcp-tui and a server: proxies, gateways, balancers; streams and sessions that go away."""

# ruff: noqa: E501 - one line a fault
from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest

from mcp_tui.client import Client, ClientSettings, HttpTarget, connecting, subscriptions
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import State
from mcp_tui.transport import http_streams
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.http_bodies import ServerEvent
from mcp_tui.transport.http_streams import SHORTEST_RETRY_SECONDS, Cursor
from tests.client.connected import client, row, serving
from tests.faults.session import call
from tests.servers.http_scripted import Call, HttpScript, is_rpc, served
from tests.simulation.loop import VirtualLoop
from tests.waiting import HANG, until

OLD = "2025-11-25"
Speak = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


# -- proxies -----------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def proxy(speak: Speak) -> AsyncGenerator[str]:
    """A proxy that reads the head of each request before it speaks; its host and port."""

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readuntil(b"\r\n\r\n")
            await speak(reader, writer)
        writer.transport.abort()

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


def says(answer: bytes) -> Speak:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    return speak


async def failure(url: str) -> str:
    """Why there is no connection to a server."""
    made = Client(HttpTarget(url=url, transport="http"), ClientSettings(protocol=OLD))
    async with asyncio.timeout(HANG):
        try:
            with pytest.raises(TransportError) as raised:
                await made.connect()
        finally:
            await made.close()
    return str(raised.value)


CONNECTS = [
    ("http", b"", "The proxy http://{} (from {}) failed: connection closed before the response."),
    ("http", b"HTTP/1.1 407 No\r\ncontent-length: 0\r\n\r\n", "requires a user and a password (HTTP 407). Set {1} to http://USER:PASSWORD@{0}."),
    ("http", b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n", "The proxy http://{} (from {}) or a gateway answered HTTP 502 Bad Gateway, not the server."),
    ("http", b"HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n", "The server or the proxy http://{} (from {}) answered HTTP 503"),
    ("https", b"", "The proxy http://{} (from {}) failed: connection closed before the response."),
    ("https", b"HTTP/1.1 407 No\r\n\r\n", "requires a user and a password (HTTP 407)"),
    ("https", b"HTTP/1.1 502 Bad Gateway\r\n\r\n", "The proxy http://{} (from {}) does not connect to mcp.test: HTTP 502 Bad Gateway."),
    ("https", b"HTTP/1.1 200 OK\r\n\r\n", "behind the proxy http://{} (from {})"),
]  # fmt: skip


@pytest.mark.parametrize(("scheme", "answer", "words"), CONNECTS)
async def test_an_error_behind_a_proxy_names_it(
    scheme: str, answer: bytes, words: str, monkeypatch: pytest.MonkeyPatch
):
    for setting in (f"{scheme}_proxy", "ALL_PROXY"):
        async with proxy(says(answer)) as where:
            with monkeypatch.context() as patched:
                patched.setenv(setting, where)
                said = await failure(f"{scheme}://mcp.test/mcp")
        assert words.format(where, setting) in said
        assert "Is the server running" not in said


@pytest.mark.parametrize(
    ("where", "why"), [("127.0.0.1:9", "connection refused"), ("no.invalid:3128", "unknown host name")]
)
async def test_a_proxy_that_is_not_there_is_named(where: str, why: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("http_proxy", f"http://ann:pass@{where}")
    advice = "Check http_proxy, or add mcp.test:81 to no_proxy"
    said = await failure("http://mcp.test:81/mcp")
    assert said == f"Cannot connect to the proxy http://{where} (from http_proxy): {why}. {advice}."
    monkeypatch.setenv("no_proxy", "mcp.test:81")
    assert "proxy" not in await failure("http://mcp.test:81/mcp")


# -- streams of notifications ---------------------------------------------------------------------------------------


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction] - used by pytest
    for name in ("RETRY_SECONDS", "SHORTEST_RETRY_SECONDS", "LONGEST_RETRY_SECONDS"):
        monkeypatch.setattr(http_streams, name, 0.001)


@pytest.mark.parametrize("status", [0, 400, 404, 405, 500])
@pytest.mark.usefixtures("_quick")
async def test_a_notification_stream_that_cannot_be_reopened_is_reported(status: int):
    gets = list[Call]()

    async def listen(call: Call) -> None:
        gets.append(call)
        if status and len(gets) > 1:
            await call.respond(status)
            return
        await call.stream()
        await call.event(b"", id=str(len(gets)), retry=0)
        await call.end()
        call.cut()

    async with serving(served(OLD, Call.answer, listen), ClientSettings(protocol=OLD)) as (_, _, told):
        await until(lambda: bool(told.of(ev.Degraded)))
        (said,) = told.of(ev.Degraded)
        assert said.detail.endswith("No more notifications can arrive until you reconnect")
        assert len(gets) == (2 if 400 <= status < 500 else http_streams.ATTEMPTS)


async def test_a_refused_subscription_is_reported():
    async def work(call: Call) -> None:
        if call.rpc == "subscriptions/listen":
            await call.respond(500)
        else:
            await call.answer()

    async with serving(served("2026-07-28", work)) as (_, made, told):
        made.subscriptions.subscribe("x:1")
        await until(lambda: bool(told.of(ev.Degraded)))
        assert "the server refused the subscription" in told.of(ev.Degraded)[0].detail


@pytest.mark.parametrize("by_result", [True, False])
async def test_subscriptions_that_do_not_hold_are_made_again_after_growing_pauses(
    by_result: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(subscriptions, "RESUBSCRIBE_SECONDS", 0.01)

    async def work(call: Call) -> None:
        if call.rpc != "subscriptions/listen":
            await call.answer()
            return
        about = {"_meta": {"io.modelcontextprotocol/subscriptionId": call.id}}
        method = "notifications/subscriptions/acknowledged"
        params = {"notifications": {"resourceSubscriptions": ["x:1"]}, **about}
        await call.stream()
        await call.event({"jsonrpc": "2.0", "method": method, "params": params})
        if by_result:
            await call.event({"jsonrpc": "2.0", "id": call.id, "result": {"resultType": "complete", **about}})
        await call.end()

    async with serving(served("2026-07-28", work)) as (server, made, told):
        made.subscriptions.subscribe("x:1")
        await server.until(is_rpc("subscriptions/listen"), count=6)
        pauses = [
            each.text.rpartition(" in ")[2] for each in told.of(ev.Note) if "subscribing again" in each.text
        ]
        assert pauses[:5] == ["0.01 s", "0.02 s", "0.04 s", "0.08 s", "0.16 s"]
        (said,) = told.of(ev.Degraded)
        assert said.detail.startswith("subscriptions do not hold: 3 in a row ended within 30 s, at last: ")


def test_a_stream_that_brings_nothing_is_opened_ever_more_rarely():
    def pauses(cursor: Cursor, *, id: str) -> list[float]:
        made = list[float]()
        for number in range(4):
            cursor.reopen()
            cursor.moves(ServerEvent("message", b"", id.format(number), 0.0 if id == "same" else None))
            made.append(cursor.pause)
        return made

    assert pauses(Cursor(), id="same") == [SHORTEST_RETRY_SECONDS * factor for factor in (1, 2, 4, 8)]
    assert pauses(Cursor(), id="e{}") == [1, 2, 4, 8]
    assert pauses(Cursor(polls=True), id="e{}") == [1, 1, 1, 1], "a call is polled as its server asks for"


# -- sessions ----------------------------------------------------------------------------------------------------------


class Forgetful:
    """A server that answers the first call of a tool with a refusal, and knows nothing but its second session then."""

    def __init__(self, status: int, body: bytes, **headers: str) -> None:
        self.status, self.body, self.headers = status, body, headers
        self.made = 0

    async def __call__(self, call: Call) -> None:
        if call.rpc == "initialize":
            self.made += 1
            await call.answer(
                {"protocolVersion": OLD, "capabilities": {"tools": {}}}, {"Mcp-Session-Id": f"s{self.made}"}
            )
        elif call.rpc == "tools/call" and call.headers["mcp-session-id"] == "s1":
            body = self.body.replace(b"%d", b"%d" % call.id)
            await call.respond(self.status, body, "application/json", self.headers)
        elif call.method == "POST" and "id" in call.message:
            await call.answer({"content": []})
        else:
            await call.respond(202 if call.method == "POST" else 405)


UNKNOWN = b'{"error":"Unknown session"}'
OURS = b'{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"Session not found"}}'


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, UNKNOWN),
        (401, b"session s1 has expired"),
        (409, OURS.replace(b"%d", b"null")),
        (410, UNKNOWN),
        (500, b"session s1 has expired"),
    ],
)
async def test_a_session_that_is_forgotten_with_another_status_is_renewed(status: int, body: bytes):
    async with serving(forgets := Forgetful(status, body), ClientSettings(protocol=OLD)) as (_, made, told):
        lost = await call(made, "x")
        assert (lost.state, lost.error) == (State.LOST, f"the server ended the session (HTTP {status})")
        await until(lambda: len(told.of(ev.Connected)) == 2)
        assert (await call(made, "x")).state is State.COMPLETED
    assert forgets.made == 2


@pytest.mark.parametrize(("status", "body", "doubt"), [(500, OURS, True), (400, b"too many sessions", False)])
async def test_a_session_that_may_be_another_is_kept(status: int, body: bytes, doubt: bool):
    async with serving(forgets := Forgetful(status, body), ClientSettings(protocol=OLD)) as (_, made, told):
        assert (await call(made, "x")).state is State.FAILED
        said = [each.detail for each in told.of(ev.Degraded)]
        assert said == ["the session seems to be gone (HTTP 500). Reconnect to open a new one"] * doubt
    assert forgets.made == 1


@pytest.mark.usefixtures("_soon")
@pytest.mark.parametrize("transport", ["auto", "sse"])
async def test_an_event_stream_that_drops_is_followed_by_a_new_session(transport: str):
    streams = list[Call]()
    dropped = asyncio.Event()

    async def script(call: Call) -> None:
        if call.method == "GET" and len(streams) == 1 and not dropped.is_set():
            dropped.set()
            await call.respond(503)  # it is restarting
        elif call.method == "GET":
            streams.append(call)
            await call.stream()
            await call.event(f"/messages?session={len(streams)}".encode(), name="endpoint")
            await call.disconnected()
        elif not call.path.startswith("/messages"):
            await call.respond(405)
        else:
            await call.respond(202)
            if call.rpc == "initialize":
                result: dict[str, Any] = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}}
                await streams[-1].event({"jsonrpc": "2.0", "id": call.id, "result": result})
            elif call.message.get("params", {}).get("name") == "ok":
                await streams[-1].event({"jsonrpc": "2.0", "id": call.id, "result": {"content": []}})

    async with HttpScript(script) as server, asyncio.timeout(HANG):
        made, told = client(HttpTarget(url=server.url, transport=transport))
        await made.connect()
        lost = made.call_tool("silent", {})
        await until(lambda: row(made, lost).sent_at is not None)
        streams[0].cut()
        await made.wait(lost)
        assert row(made, lost).state is State.LOST
        kept = made.call_tool("ok", {})
        assert await made.wait(kept) is not None
        assert len(told.of(ev.Connected)) == 2
        assert made.info is not None
        assert made.info.transport == "sse"
        await made.close()
    posts = [call.path for call in server.calls if call.rpc == "tools/call"]
    assert posts == ["/messages?session=1", "/messages?session=2"]


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction] - used by pytest
    monkeypatch.setattr(connecting, "PAUSES", (0.0, 0.01, 0.02, 0.03))


class Waiting:
    """A client as :class:`Renewal` uses it, whose time is that of a virtual loop."""

    def __init__(self, loop: VirtualLoop) -> None:
        self.now = loop.time
        self.ends = list[tuple[float, str]]()
        self.sent = list[tuple[float, Any]]()

    def note(self, _text: str) -> None: ...

    def lost(self, detail: str) -> None:
        self.ends.append((self.now(), detail))

    def send(self, id: Any, method: str, message: dict[str, Any]) -> None:
        self.sent.append((self.now(), id))


@pytest.mark.parametrize(("back", "at"), [(0.3, 0.5), (7.0, 7.5), (29.0, 30.5), (31.0, None)])
def test_a_server_that_restarts_has_30_s_with_back_off(
    back: float, at: float | None, monkeypatch: pytest.MonkeyPatch
):
    loop = VirtualLoop()
    tries = list[float]()

    async def connect(_client: Any, *, handshake: bool) -> None:
        assert handshake
        tries.append(loop.time())
        if loop.time() < back:
            raise TransportError("Connection refused.")

    async def restarts() -> None:
        client: Any = Waiting(loop)
        renewal = connecting.Renewal(client)
        renewal.begin("the server ended the session (HTTP 404)")
        assert renewal.defer(7, "tools/call", {})
        await asyncio.sleep(60)
        assert not renewal.active
        pauses = [later - earlier for earlier, later in pairwise(tries)]
        assert pauses == sorted(pauses), "a back-off"
        if at is None:
            ((ended, said),) = client.ends
            assert (round(ended, 1), client.sent) == (30.5, [])
            assert said == "the server ended the session (HTTP 404); last attempt: connection refused."
        else:
            ((sent, id_),) = client.sent
            assert (round(sent, 1), id_, client.ends) == (at, 7, [])

    monkeypatch.setattr(connecting, "connect", connect)
    loop.play(restarts())
    assert not loop.failures


def test_what_waits_for_a_new_session_is_lost_when_a_defect_ends_the_attempt(monkeypatch: pytest.MonkeyPatch):
    loop = VirtualLoop()

    async def connect(_client: Any, *, handshake: bool) -> None:
        raise LookupError(handshake)

    async def fails() -> None:
        client: Any = Waiting(loop)
        renewal = connecting.Renewal(client)
        renewal.begin("the server ended the session (HTTP 404)")
        assert renewal.defer(7, "tools/call", {})
        await asyncio.sleep(1)
        assert (renewal.active, renewal.deferred) == (False, {})
        assert [said for _, said in client.ends] == [
            "the server ended the session (HTTP 404); last attempt: mcp-tui failed (LookupError)"
        ]

    monkeypatch.setattr(connecting, "connect", connect)
    loop.play(fails())
    assert loop.failures == ["open a new session failed: LookupError(True)"]


# -- cookies and redirects -----------------------------------------------------------------------------------------


async def test_cookies_go_back_to_their_origin_by_path_and_are_masked():
    cookies = dict[str, list[str]]()

    async def work(call: Call) -> None:
        cookies.setdefault(call.rpc, []).append(call.headers.get("cookie", ""))
        sets = "route=node-7-secret; Path=/mcp; HttpOnly\r\nSet-Cookie: else=1; Path=/other\r\nSet-Cookie: tls=1; Secure"
        await call.answer({"content": []}, {"Set-Cookie": sets})

    async with serving(served(OLD, work), ClientSettings(protocol=OLD)) as (_, made, _told):
        await call(made, "x")
        await call(made, "x")
        assert "node-7-secret" in made.store.learned
        async with HttpScript(served(OLD, work)) as other, asyncio.timeout(HANG):
            second = Client(HttpTarget(url=other.url), ClientSettings(protocol=OLD))
            await second.connect()
            await call(second, "x")
            await second.close()
    assert cookies == {"tools/call": ["", "route=node-7-secret", ""]}


@pytest.mark.parametrize("status", [307, 308])
async def test_one_redirect_within_the_origin_keeps_method_and_body(status: int):
    bodies = list[tuple[str, Any]]()

    async def work(call: Call) -> None:
        bodies.append((call.path, call.message))
        if call.path == "/mcp":
            await call.respond(status, b"", headers={"Location": "/inner?key=1", "Set-Cookie": "a=b; Path=/"})
        else:
            assert call.headers["cookie"] == "a=b"
            await call.answer({"content": []})

    async with serving(served(OLD, work), ClientSettings(protocol=OLD)) as (server, made, told):
        id_ = made.call_tool("x", {})
        await made.wait(id_)
        assert row(made, id_).state is State.COMPLETED
        shown = server.url.replace("/mcp", "/inner?…")
        assert f"HTTP {status}: sent the POST again to {shown}" in told.notes()
    assert [path for path, _ in bodies] == ["/mcp", "/inner?key=1"]
    assert bodies[0][1] == bodies[1][1]
