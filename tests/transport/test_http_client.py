"""Connections, addresses, headers, proxies, and TLS over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncGenerator

import httpx
import pytest

from mcp_tui.transport.addresses import parse
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.http_client import MAKING, HttpClient
from mcp_tui.transport.http_proxy import shown_proxies
from mcp_tui.transport.targets import HttpTarget
from tests.servers.http_scripted import (
    HANG,
    Call,
    Heard,
    HttpScript,
    Stateful,
    connected,
    http,
    is_verb,
    opened,
    polite,
    request,
    shake_hands,
)
from tests.servers.recorder import Happened, NotSent, Received, StreamEnded, recorder
from tests.waiting import turns


async def test_a_tunnel_that_is_reset_is_tried_again_on_a_new_connection(monkeypatch: pytest.MonkeyPatch):
    tunnels: list[asyncio.StreamWriter] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tunnels.append(writer)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await reader.read(10)  # the beginning of the TLS handshake
        linger = struct.pack("ii", 1, 0)  # close with a reset
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        writer.transport.abort()

    server = await asyncio.start_server(tunnel, "127.0.0.1", 0)
    async with server:
        proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        for name in ("HTTPS_PROXY", "https_proxy"):
            monkeypatch.setenv(name, proxy)
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        client = HttpClient(HttpTarget(url="https://example.test/mcp", insecure=True), connect_timeout=5)
        client.open()
        with pytest.raises(httpx.ProxyError, match="behind the proxy"):
            async with client.request("POST", {"Accept": "*/*"}, b"{}"):
                pass
        await client.close()
    assert len(tunnels) > 1


async def test_the_user_s_headers_go_on_every_request_and_lose_against_the_protocol_s():
    given = {
        "X-Key": "café",
        "Authorization": "Bearer t",
        "accept": "text/html",
        "CONTENT-TYPE": "text/html",
        "Mcp-Session-Id": "mine",
        "mcp-protocol-version": "1",
        "Accept-Encoding": "gzip",
        "Content-Length": "3",
        "Transfer-Encoding": "chunked",
        "Connection": "close",
    }
    async with HttpScript(Stateful()) as server:
        transport = http(server.url.replace("//", "//ann:pass@"), given)
        async with opened(transport) as heard:
            await shake_hands(transport, heard)
            await server.until(is_verb("GET"))
        await server.until(is_verb("DELETE"))
    told = [item.text for item in heard.of(Happened) if "is ignored: the protocol" in item.text]
    assert [text.split()[2] for text in told] == [
        name for name in given if name not in ("X-Key", "Authorization")
    ]
    for call in server.calls:
        assert call.headers["x-key"].encode("latin-1").decode() == "café"
        assert call.headers["authorization"] == "Bearer t"
        assert call.headers["accept-encoding"] == "identity"
        assert call.headers["host"] == server.url.split("/")[2]
        assert call.headers["user-agent"].startswith("mcp-tui/")
        assert call.headers.get("mcp-session-id") in (None, "s-1")
        assert "text/html" not in call.headers.values()
        assert "connection" not in call.headers or call.headers["connection"] != "close"


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("ftp://127.0.0.1/", {}),
        ("http://", {}),
        ("http://127.0.0.1/", {"A\r\nB": "x"}),
        ("http://127.0.0.1/", {"A": "x\r\nB: y"}),
        ("http://127.0.0.1/", {"": "x"}),
        ("http://127.0.0.1/", {"Authorization": "Bearer tök"}),
        ("http://127.0.0.1/", {"X-Key": "a\udce9"}),
    ],
)
async def test_what_cannot_be_opened_says_why(url: str, headers: dict[str, str]):
    with pytest.raises(TransportError) as caught:
        await http(url, headers).open(recorder(Heard()))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("named", ["foo://bar", "http://"])
def test_a_proxy_that_cannot_be_used_is_told_with_its_setting(named: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("http_proxy", named)
    monkeypatch.setenv("no_proxy", "")
    with pytest.raises(TransportError) as raised:
        HttpClient(HttpTarget(url="http://example.org/mcp"), connect_timeout=HANG).open()
    said = f"Cannot use the proxy {named} (from http_proxy). Use one of these forms: http://HOST:PORT, "
    assert str(raised.value).startswith(said)


async def test_no_proxy_stands_before_this_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY")
    async with connected(polite) as (_, transport, heard):
        transport.send(request(1))
        await heard.until(Received)


async def test_a_host_that_nobody_knows():
    transport = http("http://no-such-host.invalid/mcp")
    async with opened(transport) as heard:
        transport.send(request(1))
        assert "unknown host name" in (await heard.until(NotSent)).detail


class Deaf:
    """A listener that never shakes hands over TLS, so that every connection to it stays in the making."""

    def __init__(self) -> None:
        self.url = ""
        self.count = 0
        self.gone = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.count += 1
        with contextlib.suppress(ConnectionError):
            while await reader.read(65536):
                pass
        self.gone += 1
        writer.close()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(HANG):
            while self.count < count:
                await asyncio.sleep(0.01)


@pytest.fixture
async def deaf() -> AsyncGenerator[Deaf]:
    made = Deaf()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    yield made
    server.close()


async def test_a_request_that_waits_is_taken_back_without_a_connection_and_leaves_its_place_to_the_next(
    deaf: Deaf,
):
    transport = http(deaf.url, insecure=True)
    async with opened(transport) as heard:
        for number in range(MAKING + 2):
            transport.send(request(number))
        await deaf.until(MAKING)
        transport.withdraw(MAKING)
        await turns()
        assert deaf.count == MAKING, "one that waited never had a connection"
        transport.withdraw(0)
        await deaf.until(MAKING + 1)
        assert deaf.gone <= 1
        transport.withdraw(MAKING + 1)  # the last one is connecting now, and can be taken back as well
        await turns()
        assert deaf.count == MAKING + 1
        assert heard.names() == []


async def test_a_request_that_waits_for_room_takes_a_connection_that_comes_free(deaf: Deaf):
    done = asyncio.Event()

    async def work(call: Call) -> None:
        await done.wait()
        await call.answer()

    async with HttpScript(work) as server, asyncio.timeout(HANG):
        client = HttpClient(HttpTarget(url=server.url, insecure=True), connect_timeout=HANG)
        client.open()

        async def ask(url: str) -> None:
            async with client.request("POST", {"Accept": "*/*"}, b'{"id": 1}', to=parse(url)) as response:
                await response.aread()

        async with asyncio.TaskGroup() as group:
            first = group.create_task(ask(server.url))
            await server.until(lambda _: True)
            hang = [group.create_task(ask(deaf.url)) for _ in range(MAKING)]
            await deaf.until(MAKING)
            waiting = [group.create_task(ask(server.url)) for _ in range(3)]
            await turns()
            waiting[0].cancel()
            done.set()
            await asyncio.gather(first, *waiting[1:])
            for each in hang:
                each.cancel()
        await client.close()
    assert len(server.calls) == 3


async def test_a_listener_that_refuses_at_first_is_tried_again():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        transport = http(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp")
        async with opened(transport) as heard:
            transport.send(request(1))
            await turns()
            listener.setblocking(False)
            listener.listen()
            async with HttpScript(polite) as other:
                server = await asyncio.start_server(other._accepted, sock=listener)  # pyright: ignore[reportPrivateUsage]
                await heard.until(Received)
                await heard.until(StreamEnded)
                server.close()
            assert heard.names() == ["Writing", "Written", "Received", "StreamEnded"]


def test_proxies_are_told_from_headers_but_not_those_that_pass_a_closed_stream_on():
    # Of Debian: nginx 1.22.1 and Caddy 2.6.2 pass it on at once, haproxy 2.6.12, Apache 2.4.71, and Varnish 7.1.1 with the
    # tool's next message, if one comes (docs/findings-proxies.md).
    for headers, shown in (
        ({"Via": "1.1 varnish (Varnish/7.1)", "X-Varnish": "3"}, ("Varnish/7.1",)),
        ({"Via": "1.1 Caddy, HTTP/1.1 edge-7"}, ("edge-7",)),
        ({"Via": "1.1 abc.cloudfront.net (CloudFront)", "X-Amz-Cf-Id": "x"}, ("CloudFront",)),
        ({"Server": "Apache/2.4.62 (Debian)"}, ("Apache/2.4.62 (Debian)",)),
        ({"Server": "nginx/1.27"}, ()),
        ({"Server": "haproxy"}, ("haproxy",)),
        ({"Server": "uvicorn", "Via": ""}, ()),
    ):
        assert shown_proxies(httpx.Headers(headers)) == shown, headers
