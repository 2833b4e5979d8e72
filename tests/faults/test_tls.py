"""TLS and its faults over real sockets, headers that are given twice, and SOCKS proxies."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import sys
from pathlib import Path

import httpx
import pytest

from mcp_tui.client import Client, ClientSettings, HttpTarget
from mcp_tui.transport.addresses import parse
from mcp_tui.transport.base import TransportError
from mcp_tui.transport.http_client import HttpClient
from mcp_tui.transport.http_fetch import Fetcher
from mcp_tui.transport.targets import Tls
from tests.servers.http_certificates import VALID, server_context
from tests.servers.http_scripted import Call, HttpScript, connected, is_rpc, polite, request, served
from tests.servers.recorder import Happened, NotSent, Received
from tests.waiting import HANG


async def test_a_certificate_that_nobody_vouches_for(tmp_path: Path):
    async with connected(polite, context=server_context(tmp_path)) as (_, transport, heard):
        transport.send(request(1))
        item = await heard.until(NotSent)
        assert "self-signed certificate" in item.detail
        assert "SSL_CERT_FILE" in item.detail
        assert item.refusal.status == 0
        assert heard.names() == ["NotSent"]


async def test_a_certificate_of_the_system_s_or_of_ssl_cert_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "ca.pem").write_text(VALID)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with connected(polite, context=server_context(tmp_path)) as (_, transport, heard):
        transport.send(request(1))
        await heard.until(Received)
        assert not heard.of(Happened)


async def test_a_header_that_is_given_twice_is_sent_twice():
    target = {"headers": {"X-Tag": "1"}, "repeated": (("x-tag", "2"),)}
    client = HttpClient(HttpTarget(url="http://127.0.0.1:1/", **target), connect_timeout=1)  # pyright: ignore[reportArgumentType]
    sent = client._headers({}, "", b"127.0.0.1:1")  # pyright: ignore[reportPrivateUsage]
    assert [each for each in sent if each[0].lower() == b"x-tag"] == [(b"X-Tag", b"1"), (b"x-tag", b"2")]


async def test_a_sign_in_document_is_fetched_with_the_client_certificate_of_its_origin(
    tmp_path: Path,
):
    context = server_context(tmp_path)
    context.verify_mode = ssl.CERT_REQUIRED
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(cadata=VALID)
    tls = Tls(insecure=True, client_cert=str(tmp_path / "server.pem"))
    async with HttpScript(lambda call: call.respond(200), context=context) as server:
        assert (await Fetcher(parse(server.url), tls=tls).fetch(server.url)).status == 200
        with pytest.raises(TransportError, match="TLS"):
            await Fetcher(parse("https://127.0.0.1:1/"), tls=tls).fetch(server.url)


@pytest.mark.parametrize("given", [True, False])
async def test_a_client_certificate_is_shown_to_a_server_that_requires_one(tmp_path: Path, *, given: bool):
    context = server_context(tmp_path)
    context.verify_mode = ssl.CERT_REQUIRED
    context.maximum_version = (
        ssl.TLSVersion.TLSv1_2
    )  # 1.3 refuses after the handshake, and may reset before that is read
    context.load_verify_locations(cadata=VALID)
    cert = str(tmp_path / "server.pem") if given else ""
    async with HttpScript(polite, context=context) as server:
        client = HttpClient(HttpTarget(url=server.url, insecure=True, client_cert=cert), connect_timeout=HANG)
        client.open()
        said = ""
        try:
            async with client.request("POST", {"Accept": "*/*"}, b"{}"):
                pass
        except httpx.HTTPError as error:
            said = client.failure_text(error)
        await client.close()
    assert ("--client-cert FILE --client-key FILE" in said) is not given, said


async def test_a_port_without_tls_is_told():
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        client = HttpClient(HttpTarget(url=url), connect_timeout=HANG)
        client.open()
        with pytest.raises(httpx.HTTPError) as failed:
            async with client.request("POST", {"Accept": "*/*"}, b"{}"):
                pass
        await client.close()
    assert "Does it speak TLS? If not, use http://" in client.failure_text(failed.value)


async def test_without_verification_it_is_said(tmp_path: Path):
    async with connected(polite, context=server_context(tmp_path), insecure=True) as (_, transport, heard):
        assert "NOT verified" in heard.of(Happened)[0].text
        transport.send(request(1))
        await heard.until(Received)


# -- SOCKS -------------------------------------------------------------------------------------------------------


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


class Socks:
    """A SOCKS5 proxy without passwords. It connects every name to ``port`` of this machine, or refuses with ``code``."""

    def __init__(self, port: int, code: int = 0) -> None:
        self.port = port
        self.code = code
        self.named: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await reader.readexactly((await reader.readexactly(2))[1])
            writer.write(b"\x05\x00")
            await reader.readexactly(4)
            self.named.append(await reader.readexactly((await reader.readexactly(1))[0]))
            await reader.readexactly(2)
            writer.write(b"\x05%c\x00\x01\x00\x00\x00\x00\x00\x00" % self.code)
            if self.code == 0:
                there, back = await asyncio.open_connection("127.0.0.1", self.port)
                await asyncio.gather(pump(reader, back), pump(there, writer))
        writer.close()


async def through(socks: Socks, monkeypatch: pytest.MonkeyPatch) -> str:
    """The revision that a client and the server behind the proxy agree on, or why there is no connection."""
    async with await asyncio.start_server(socks, "127.0.0.1", 0) as proxy:
        monkeypatch.setenv("all_proxy", f"socks5://127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
        made = Client(
            HttpTarget(url="http://mcp.test/mcp", transport="http"), ClientSettings(protocol="2025-11-25")
        )
        async with asyncio.timeout(HANG):
            try:
                return (await made.connect()).revision.name
            except TransportError as error:
                return str(error)
            finally:
                await made.close()


async def test_a_server_behind_a_socks_proxy(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("socksio")
    async with HttpScript(served("2025-11-25", Call.answer)) as server:
        socks = Socks(httpx.URL(server.url).port or 0)
        assert await through(socks, monkeypatch) == "2025-11-25"
        assert set(socks.named) == {b"mcp.test"}
        await server.until(is_rpc("notifications/initialized"))
        said = await through(Socks(0, code=5), monkeypatch)
    assert said.startswith("The proxy socks5://127.0.0.1:")
    assert "(from all_proxy)" in said


async def test_a_socks_proxy_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "socksio", None)
    said = await through(Socks(0), monkeypatch)
    assert "SOCKS proxy" in said
    assert "Install mcp-tui with the extra 'socks'" in said
