from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from mcp_tui.demo.http import BODY_CAP, HEAD_CAP
from tests.demo.peers import META, PATIENCE, HttpPeer

BODY = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": {"_meta": META}}
).encode()
HEAD = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n"
)
LENGTH = b"Content-Length: %d\r\n" % len(BODY)


@pytest.fixture
def wire(modern: HttpPeer) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", modern.port), timeout=PATIENCE) as connection:
        yield connection


def status(wire: socket.socket) -> int:
    """The status of the next response. Its body is read."""
    with wire.makefile("rb", buffering=0) as file:
        line = b""
        while not line.endswith(b"\r\n\r\n"):
            got = file.read(1)
            assert got, "the connection was closed"
            line += got
        fields = dict(field.split(b": ", 1) for field in line.split(b"\r\n")[1:-2])
        left = int(fields.get(b"Content-Length", b"0"))
        while left:
            left -= len(file.read(left) or b"")
    return int(line.split()[1])


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x;extension\r\n%b\r\n" % (len(part), part) for part in (*parts, b""))


def test_a_body_in_chunks(wire: socket.socket) -> None:
    wire.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(BODY[:7], BODY[7:8], BODY[8:]))
    assert status(wire) == 200
    wire.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(BODY)[:-2] + b"Trailer: x\r\n\r\n")
    assert status(wire) == 200


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"GET /mcp HTTP/1.0\r\n\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\n", 505),
        (b"GET /mcp HTTP/1.1\r\n\r\n", 400),  # no Host
        (b"GET /mcp HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET /mcp HTTP/1.1\r\nHost : x\r\n\r\n", 400),
        (b"GET /mcp HTTP/1.1\r\nX: " + b"x" * (HEAD_CAP + 10), 431),
        (HEAD + b"Content-Length: -1\r\n\r\n", 400),
        (HEAD + b"Content-Length: +1\r\n\r\n", 400),
        (HEAD + b"Content-Length: 1_0\r\n\r\n", 400),
        (HEAD + b"Content-Length: 1, 2\r\n\r\n", 400),
        (HEAD + b"Content-Length: %d\r\n\r\n" % (BODY_CAP + 1), 413),
        (HEAD + b"Transfer-Encoding: gzip\r\n\r\n", 501),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", 400),
    ],
)
def test_what_is_refused(wire: socket.socket, request_: bytes, expected: int) -> None:
    wire.sendall(request_)
    assert status(wire) == expected
    assert wire.recv(1) == b""


def test_a_connection_closed_in_the_middle_leaves_the_server_alone(modern: HttpPeer) -> None:
    for part in (b"", HEAD, HEAD + LENGTH + b"\r\n" + BODY[:5], HEAD + LENGTH + b"\r\n" + BODY):
        with socket.create_connection(("127.0.0.1", modern.port)) as connection:
            connection.sendall(part)
    assert modern.call("echo", text="x").text() == "x"
