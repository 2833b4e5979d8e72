"""The bytes on both sides of a tap over HTTP, whatever client and server do with HTTP: raw sockets, and all that passes."""

from __future__ import annotations

import asyncio
import gzip
import re
from contextlib import suppress
from typing import Final, NamedTuple

import pytest

from mcp_tui.tap.http_tap import HttpTap
from mcp_tui.transport.targets import HttpTarget
from tests.tap.test_http_tap import RecorderThread
from tests.waiting import HANG

OK: Final = b"HTTP/1.1 200 OK\r\n"
EVENTS: Final = OK + b"Content-Type: text/event-stream\r\n"
CHUNKED: Final = b"Transfer-Encoding: chunked\r\n\r\n"
SIZED: Final = OK + b"Content-Length: 5\r\n\r\nhello"
EMPTY: Final = OK + b"Content-Length: 0\r\n\r\n"
IN_ONE: Final = OK + CHUNKED + b"5\r\nhello\r\n0\r\n\r\n"
GZIP: Final = gzip.compress(b"hello", mtime=0)

POST: Final = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY: Final = b"Content-Length: 2\r\n\r\n{}"
PARTS: Final = b"1\r\n{\r\n1\r\n}\r\n0\r\n"
CALL: Final = POST + b"X-oDD: a\r\n" + BODY
LAST: Final = b"GET /last HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
"""What a client sends behind each request, so that its connection ends."""
TO_SERVER: Final = b"POST /mcp HTTP/1.1\r\nHost: SERVER\r\n"
LAST_TO_SERVER: Final = b"GET /last HTTP/1.1\r\nHost: SERVER\r\n\r\n"
LAST_TO_CLIENT: Final = OK + b"Content-Length: 5\r\nConnection: close\r\n\r\nhello"
CALLED: Final = TO_SERVER + b"X-oDD: a\r\n" + BODY


class Case(NamedTuple):
    """What a client and a server write, and what the other one gets of it: ``None`` for the same."""

    server: bytes = SIZED
    to_client: bytes | None = None
    client: bytes = CALL
    to_server: bytes = CALLED
    stays: bool = True
    """Whether the next request goes to the server on the same connection."""


def failed(status: int, why: bytes, server: bytes = b"", client: bytes = CALL) -> Case:
    """The tap answers itself, with an error; it has sent the request if the server has written something."""
    said = b"mcp-tui tap: %b\n" % why
    close, kind = b"Connection: close\r\n", b"Content-Type: text/plain; charset=utf-8\r\n"
    size = b"Content-Length: SIZE\r\n"
    head = b"HTTP/1.1 %d \r\n" % status
    return Case(
        server, head + close + kind + size + b"\r\n" + said, client, b"" if client != CALL else CALLED, False
    )


INVALID: Final = b"Cannot reach SERVER: invalid HTTP from the server: "
CLOSED: Final = b"Cannot reach SERVER: connection closed before the response."
NO_HTTP: Final = b"This is not valid HTTP."

RESPONSES: Final = {
    "sized": Case(),
    "in chunks": Case(
        OK + CHUNKED + b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
        OK + CHUNKED + b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
    ),
    "trailers": Case(OK + b"Trailer: A\r\n" + CHUNKED + b"5\r\nhello\r\n0\r\nA: b\r\n\r\n", IN_ONE),
    "until the end": Case(OK + b"Connection: close\r\n\r\nhello", IN_ONE, stays=False),
    "HTTP/1.0": Case(b"HTTP/1.0 200 OK\r\n\r\nhello", IN_ONE, stays=False),
    "a length in HTTP/1.0": Case(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", SIZED, stays=False),
    "continue": Case(b"HTTP/1.1 100 Continue\r\n\r\n" + SIZED, SIZED),
    "early hints": Case(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + SIZED, SIZED),
    "no content": Case(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "not modified": Case(b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"),
    "names as written": Case(
        OK + b"X-oDD: a\r\nx-odd: b\r\nSet-Cookie: c\r\nSet-Cookie: d\r\nContent-Length: 0\r\n\r\n"
    ),
    "Host": Case(
        OK + b"A: b\r\nHost: c\r\nContent-Length: 0\r\n\r\n",
        OK + b"Host: c\r\nA: b\r\nContent-Length: 0\r\n\r\n",
    ),
    "no content, but a length": Case(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"),
    "compressed": Case(OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(GZIP) + GZIP),
    "compressed events": Case(
        EVENTS + b"Content-Encoding: gzip\r\n" + CHUNKED + b"%x\r\n" % len(GZIP) + GZIP + b"\r\n0\r\n\r\n"
    ),
    "events": Case(EVENTS + CHUNKED + b"a\r\ndata: {}\n\n\r\n0\r\n\r\n"),
    "no reason": Case(
        b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", b"HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n"
    ),
    "headers of the connection": Case(
        OK
        + b"Connection: X-Hop, keep-alive\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nContent-Length: 5\r\n\r\nhello",
        SIZED,
    ),
    "a folded header": Case(
        OK + b"A: b\r\n c\r\nContent-Length: 0\r\n\r\n", OK + b"A: b c\r\nContent-Length: 0\r\n\r\n"
    ),
    "lines end with LF": Case(SIZED.replace(b"\r", b""), SIZED),
    "the same length twice": Case(OK + b"Content-Length: 5, 5\r\nContent-Length: 5\r\n\r\nhello", SIZED),
    "a length beside chunks": Case(
        OK + b"Content-Length: 99\r\n" + CHUNKED + b"5\r\nhello\r\n0\r\n\r\n", IN_ONE
    ),
    "more behind it": Case(SIZED + b"HTTP/1.1 500 Unasked\r\nContent-Length: 0\r\n\r\n", SIZED, stays=False),
}
"""Responses that pass. The next request, on the same connection of the client, gets the usual one."""

REQUESTS: Final = {
    "in chunks": Case(
        client=POST + b"A: b\r\nTransfer-Encoding: chunked\r\nC: d\r\n\r\n1\r\n{\r\n1;x\r\n}\r\n0\r\n\r\n",
        to_server=TO_SERVER + b"A: b\r\nC: d\r\n" + CHUNKED + PARTS + b"\r\n",
    ),
    "trailers": Case(
        client=POST + b"Trailer: A\r\n" + CHUNKED + PARTS + b"A: b\r\n\r\n",
        to_server=TO_SERVER + CHUNKED + PARTS + b"\r\n",
    ),
    "a length beside chunks": Case(
        client=POST + b"Content-Length: 99\r\n" + CHUNKED + PARTS + b"\r\n",
        to_server=TO_SERVER + CHUNKED + PARTS + b"\r\n",
    ),
    "no length": Case(
        client=POST + b"A: b\r\n\r\n", to_server=TO_SERVER + b"Content-Length: 0\r\nA: b\r\n\r\n"
    ),
    "no body": Case(
        client=POST + b"Content-Length: 0\r\n\r\n", to_server=TO_SERVER + b"Content-Length: 0\r\n\r\n"
    ),
    "expects 100": Case(
        to_client=b"HTTP/1.1 100 \r\n\r\n" + SIZED,
        client=POST + b"Expect: 100-continue\r\n" + BODY,
        to_server=TO_SERVER + BODY,
    ),
    "expects what nobody knows": Case(client=POST + b"Expect: 200-ok\r\n" + BODY, to_server=TO_SERVER + BODY),
    "upgrade to HTTP/2": Case(
        client=POST + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: a\r\n" + BODY,
        to_server=TO_SERVER + BODY,
    ),
    "upgrade to WebSocket": Case(
        client=b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
        to_server=b"GET /mcp HTTP/1.1\r\nHost: SERVER\r\n\r\n",
    ),
    "headers of the connection": Case(
        client=POST
        + b"TE: trailers\r\nConnection: TE, x-hop\r\nX-Hop: 1\r\nProxy-Authorization: x\r\n"
        + BODY,
        to_server=TO_SERVER + BODY,
    ),
    "a folded header": Case(
        client=POST + b"A: b\r\n c\r\n" + BODY, to_server=TO_SERVER + b"A: b c\r\n" + BODY
    ),
    "an odd header": Case(
        client=POST + b"x_1!#: \t v \xe9 \t\r\n" + BODY, to_server=TO_SERVER + b"x_1!#: v \xe9\r\n" + BODY
    ),
    "Host is last": Case(
        client=b"POST /mcp HTTP/1.1\r\nA: b\r\nHost: 127.0.0.1\r\n" + BODY,
        to_server=TO_SERVER + b"A: b\r\n" + BODY,
    ),
    "lines end with LF": Case(client=CALL.replace(b"\r\n", b"\n")),
    "two at once": Case(to_client=SIZED + SIZED, client=CALL + CALL, to_server=CALLED + CALLED),
    "HEAD": Case(
        OK + CHUNKED,
        None,
        b"HEAD /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"HEAD /mcp HTTP/1.1\r\nHost: SERVER\r\n\r\n",
    ),
    "HEAD of a length": Case(
        OK + b"Content-Length: 5\r\n\r\n",
        None,
        b"HEAD /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"HEAD /mcp HTTP/1.1\r\nHost: SERVER\r\n\r\n",
    ),
    "a target with a query": Case(
        client=b"DELETE /mcp?a=b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n",
        to_server=b"DELETE /mcp?a=b HTTP/1.1\r\nHost: SERVER\r\nContent-Length: 0\r\n\r\n",
    ),
}

FAULTS: Final = {
    "the server changes the protocol": failed(
        502,
        INVALID + b"Received server _SWITCH_UPGRADE event without a pending proposal.",
        b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
    ),
    "a response with two lengths": failed(
        502,
        INVALID + b"conflicting Content-Length headers.",
        OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    ),
    "a response with two codings": failed(
        502,
        INVALID + b"Only Transfer-Encoding: chunked is supported.",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    ),
    "a response that ends within its head": failed(502, CLOSED, OK + b"Content-Le"),
    "no HTTP from the server": failed(502, CLOSED, b"220 mail.example ESMTP\r\n"),
    "too long a head": failed(
        502,
        b"Cannot reach SERVER: the headers of the server's response are too long (about 100 kB are accepted).",
        OK + b"A: " + b"b" * 200_000 + b"\r\n\r\n",
    ),
    "a response that ends within its body": Case(
        OK + b"Content-Length: 9\r\n\r\nhello", OK + b"Content-Length: 9\r\n\r\nhello", stays=False
    ),
    "a response that ends within a chunk": Case(
        OK + CHUNKED + b"9\r\nhello", OK + CHUNKED + b"5\r\nhello\r\n", stays=False
    ),
    "a response with no chunk": Case(OK + CHUNKED + b"hello\r\n", OK + CHUNKED, stays=False),
    "a request with no chunk": failed(400, NO_HTTP, client=POST + CHUNKED + b"hello\r\n"),
    "a request with two codings": failed(
        501, NO_HTTP, client=POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n"
    ),
    "a request with two lengths": failed(
        400, NO_HTTP, client=POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}"
    ),
    "a request with an invalid header": failed(400, NO_HTTP, client=POST + b"A B: c\r\n\r\n"),
    "CONNECT": failed(
        400,
        b"The target of a request must be a path, with a query or without.",
        client=b"CONNECT evil.example:443 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ),
    "HTTP/2": failed(
        403,
        b"The request has no Host. Requests of websites are refused.",
        client=b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ),
}
"""After these, the connection of the client ends."""


def _is_whole(request: bytes) -> bool:
    head, end, body = request.partition(b"\r\n\r\n")
    if b"chunked" in head:
        return body.endswith(b"0\r\n\r\n")
    size = re.search(rb"Content-Length: (\d+)", head)
    return bool(end) and len(body) >= (int(size[1]) if size else 0)


async def passed(case: Case, *, at_once: bool) -> tuple[list[bytes], bytes]:
    """What a server gets on each of its connections, and a client, which writes another request behind that of the case."""
    got: list[bytes] = []
    answers = [case.server]

    async def write(writer: asyncio.StreamWriter, data: bytes) -> None:
        for piece in (data,) if at_once else (data[at : at + 1] for at in range(len(data))):
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, whole = len(got), 0
        got.append(b"")
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                got[number] += data
                if _is_whole(got[number][whole:]):
                    whole, closes = len(got[number]), bool(answers) and not case.stays
                    await write(writer, answers.pop() if answers else SIZED)
                    if closes:
                        break
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening, asyncio.timeout(HANG):
        port, recorder = listening.sockets[0].getsockname()[1], RecorderThread()
        tap = HttpTap(HttpTarget(url=f"http://127.0.0.1:{port}/mcp"), None, {}, recorder)
        own = int((await tap.open(0)).rpartition(":")[2].partition("/")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", own)
        to_client = b""
        with suppress(ConnectionError):
            await write(writer, case.client + LAST)
        with suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                to_client += data
        writer.close()
        await tap.close()
        tap.finish()
        recorder.thread.join(HANG)
    *to_server, to_client = (each.replace(b"127.0.0.1:%d" % port, b"SERVER") for each in (*got, to_client))
    if b"mcp-tui tap: " in to_client:
        to_client = re.sub(rb"(?<=Length: )\d+", b"SIZE", to_client)
    return to_server, to_client


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "byte by byte"])
@pytest.mark.parametrize(
    "case",
    [*RESPONSES.values(), *REQUESTS.values()],
    ids=[*(f"response: {name}" for name in RESPONSES), *(f"request: {name}" for name in REQUESTS)],
)
async def test_what_passes_is_what_http_says(case: Case, at_once: bool):
    to_server, to_client = await passed(case, at_once=at_once)
    wanted = case.server if case.to_client is None else case.to_client
    if at_once or b"chunked" not in wanted:  # chunks pass as they come
        assert to_client == wanted + LAST_TO_CLIENT
    last = [case.to_server + LAST_TO_SERVER] if case.stays else [case.to_server, LAST_TO_SERVER]
    assert to_server == last


@pytest.mark.parametrize("name", FAULTS)
async def test_what_is_not_http_ends_the_connection(name: str):
    case = FAULTS[name]
    to_server, to_client = await passed(case, at_once=True)
    assert to_client == case.to_client
    assert b"".join(to_server) == case.to_server
