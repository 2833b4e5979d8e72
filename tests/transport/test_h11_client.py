"""A connection of the tap to a server behaves as httpx's, whatever the server does with HTTP."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import AsyncGenerator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from mcp_tui.transport.h11_client import H11Client, PlainResponse
from mcp_tui.transport.http_client import HttpClient
from mcp_tui.transport.http_errors import EXPECTED
from mcp_tui.transport.targets import HttpTarget
from tests.servers.http_certificates import VALID, server_context
from tests.waiting import until

OK: Final = b"HTTP/1.1 200 OK\r\n"
SIZED: Final = OK + b"Content-Length: 5\r\n\r\nhello"
RESPONSES: Final = {
    "sized": SIZED,
    "chunked": OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
    "trailers": OK + b"Transfer-Encoding: chunked\r\nTrailer: A\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n",
    "until the end": OK + b"Connection: close\r\n\r\nhello",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\nhello",
    "continue": b"HTTP/1.1 100 Continue\r\n\r\n" + SIZED,
    "early hints": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + SIZED,
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "names as written": OK + b"X-oDD: a\r\nx-odd: b\r\nContent-Length: 0\r\n\r\n",
    "compressed": OK
    + b"Content-Encoding: gzip\r\nConnection: close\r\n\r\n"
    + gzip.compress(b"hello", mtime=0),
    "no reason": b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
    "more behind it": SIZED + b"HTTP/1.1 500 Unasked\r\nContent-Length: 0\r\n\r\n",
    "cut within the body": OK + b"Content-Length: 9\r\n\r\nhello",
    "cut within a chunk": OK + b"Transfer-Encoding: chunked\r\n\r\n9\r\nhello",
    "cut within the head": OK + b"Content-Le",
    "nothing": b"",
    "no HTTP": b"220 mail.example ESMTP\r\n",
    "two lengths": OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "no chunk": OK + b"Transfer-Encoding: chunked\r\n\r\nhello\r\n",
    "a TLS alert": b"\x15\x03\x01\x00\x02\x02\x46",
    "too long a head": OK + b"A: " + b"b" * 200_000 + b"\r\n\r\n",
}


async def taken(response: PlainResponse) -> tuple[object, ...]:
    return response.status, response.raw, response.reason, b"".join([each async for each in response.body])


async def outcome(url: str, *, by_h11: bool) -> tuple[object, ...]:
    """What a request comes to: status, headers, and body; or the sentence about its failure."""
    client = (H11Client if by_h11 else HttpClient)(HttpTarget(url=url), connect_timeout=10)
    client.open()
    headers = [(b"A", b"b")]
    try:
        if isinstance(client, H11Client):
            return await client.exchange("POST", headers, b"{}", taken, signed_in=True, to=client.address)
        async with client.request("POST", {}, b"{}", exact=headers) as response:
            body = b"".join([each async for each in response.aiter_raw()])
            return response.status_code, response.headers.raw, response.extensions["reason_phrase"], body
    except EXPECTED as error:
        return (client.failure_text(error),)
    finally:
        await client.close()


@pytest.mark.parametrize("name", RESPONSES)
async def test_a_response_of_any_form_is_read_as_httpx_reads_it(name: str):
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"{}")
        writer.write(RESPONSES[name])
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp?a=b"
        ours, httpx_s = await outcome(url, by_h11=True), await outcome(url, by_h11=False)
    assert ours == httpx_s
    assert len(ours) == 1 or ours[3] in (b"hello", b"", gzip.compress(b"hello", mtime=0))


async def test_a_server_that_is_not_there_is_called_that():
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/mcp"
    ours = await outcome(url, by_h11=True)
    assert ours == await outcome(url, by_h11=False)
    assert str(ours[0]).startswith("connection refused")


@pytest.mark.parametrize("kind", ["trusted", "self-signed", "not TLS", "closes at once"])
async def test_tls_and_its_faults_are_those_of_httpx(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            if kind != "closes at once":
                await reader.readuntil(b"{}" if kind == "trusted" else b"\x16")
                writer.write(SIZED)
        writer.close()

    context = server_context(tmp_path) if kind in ("trusted", "self-signed") else None
    if kind == "trusted":
        (tmp_path / "ca.pem").write_text(VALID)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    async with await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        ours, httpx_s = await outcome(url, by_h11=True), await outcome(url, by_h11=False)
    if kind == "closes at once":  # each has its own words for that, which differ between versions of Python
        assert all(
            "TLS failed" in str(each) and "Does it speak TLS?" in str(each) for each in (ours, httpx_s)
        )
    else:
        assert ours == httpx_s
    assert (ours[0] == 200) == (kind == "trusted")


async def test_one_connection_carries_one_request_after_the_other_and_a_body_in_pieces():
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(b"")
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                asked[-1] += head.partition(b"\r\n")[0] + b" "
                if b"chunked" in head:
                    asked[-1] += await reader.readuntil(b"0\r\n\r\n")
                writer.write(SIZED)
        writer.close()

    async def left(response: PlainResponse) -> None:
        assert response.status == 200

    async def pieces() -> AsyncGenerator[bytes]:
        yield b"first"
        await asyncio.sleep(0)
        yield b"second"

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        client = H11Client(HttpTarget(url=url), connect_timeout=10)
        client.open()
        send = partial(client.exchange, signed_in=True, to=client.address)
        for body in (None, pieces(), [b"third", b"fourth"], None):
            assert (await send("POST", [], body, taken))[-1] == b"hello"
        # One that is left before its end takes its connection with it.
        await send("GET", [], None, left)
        assert (await send("GET", [], None, taken))[0] == 200
        await client.close()
    first, second = asked
    assert first.count(b"POST /mcp HTTP/1.1 ") == 4
    assert b"5\r\nfirst\r\n6\r\nsecond\r\n0\r\n\r\n" in first
    assert b"5\r\nthird\r\n6\r\nfourth\r\n0\r\n\r\n" in first
    assert first.endswith(b"GET /mcp HTTP/1.1 ")
    assert second == b"GET /mcp HTTP/1.1 "


@pytest.mark.parametrize("when", ["with the response", "later"])
async def test_a_response_that_nobody_asked_for_is_not_taken_for_the_next_one(when: str):
    unasked, idle = b"HTTP/1.1 500 Unasked\r\nContent-Length: 0\r\n\r\n", asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                writer.write(SIZED + (unasked if when == "with the response" else b""))
                if when == "later" and not idle.is_set():
                    await idle.wait()
                    writer.write(unasked)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
        client = H11Client(HttpTarget(url=url), connect_timeout=10)
        client.open()
        for _ in range(2):
            got = await client.exchange("GET", [], None, taken, signed_in=True, to=client.address)
            assert (got[0], got[-1]) == (200, b"hello")
            if when == "later" and not idle.is_set():
                idle.set()
                (made,) = vars(client)["_idle"]
                await until(lambda: not made.is_usable)  # noqa: B023
        await client.close()


async def test_a_request_through_a_proxy_is_that_of_httpx(monkeypatch: pytest.MonkeyPatch):
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                body = b"0\r\n\r\n" if b"chunked" in head else b"{}"
                asked.append(head + (b"" if head.startswith(b"GET") else await reader.readuntil(body)))
                writer.write(SIZED)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        monkeypatch.setenv("no_proxy", "")
        client = H11Client(HttpTarget(url="http://server.example/mcp"), connect_timeout=10)
        client.open()
        for method, body in (("GET", None), ("POST", b"{}"), ("POST", [b"{", b"}"])):
            got = await client.exchange(
                method, [(b"A", b"b")], body, taken, signed_in=True, to=client.address
            )
            assert (got[0], got[2], got[3]) == (200, b"OK", b"hello")
        assert client.idle() is None
        await client.close()
    assert [each.partition(b" HTTP")[0] for each in asked] == [
        b"GET http://server.example/mcp",
        *[b"POST http://server.example/mcp"] * 2,
    ]
    assert asked[2].endswith(b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n")
