"""The server of every measurement: raw bytes in, raw bytes out, so that the clients are measured and not it.

``python server.py CANCELS`` over stdio: it appends the nanoseconds at which it read each cancel to the file CANCELS.
``python server.py --http PORT_FILE``: answers with small JSON bodies; it writes its port to the file.
Needs the standard library alone, and speaks as much of 2025-11-25 as the clients ask for.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import threading
import time
from pathlib import Path

ID = re.compile(rb'"id"\s*:\s*("[^"]*"|-?\d+)')
NAME = re.compile(rb'"name"\s*:\s*"(echo|silent|flood|pour|large)"')
NOTE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"flood"}}\n'
ECHO = b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"echo"}]}}\n'
MB = 1 << 20


def other(line: bytes) -> bytes:
    """The answer to everything that is asked once."""
    message = json.loads(line)
    if "id" not in message:
        return b""
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    match message.get("method"):
        case "initialize":
            capabilities: dict[str, object] = {"tools": {}, "logging": {}}
            info = {"name": "bench", "version": "1"}
            answer["result"] = {
                "protocolVersion": "2025-11-25",
                "capabilities": capabilities,
                "serverInfo": info,
            }
        case "tools/list":
            names = ("echo", "silent", "flood", "pour", "large")
            answer["result"] = {
                "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in names]
            }
        case "ping" | "logging/setLevel":
            answer["result"] = {}
        case _:
            answer["error"] = {"code": -32601, "message": "Method not found"}
    return json.dumps(answer).encode() + b"\n"


def large(kind: str) -> bytes:
    """A result of 64 MB: one string, or 1.2 million items."""
    if kind == "string":
        return b'{"content":[{"type":"text","text":"%b"}]}' % (b"x" * (64 * MB))
    item = b'{"type":"text","text":"item %09d of many, in a row"}'
    return b'{"content":[%b]}' % b",".join(item % number for number in range(1_200_000))


def write(data: bytes) -> None:
    """All of it."""
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def pour(rate: int) -> None:
    """Notifications at a rate, until the process ends."""
    start, sent, each = time.monotonic(), 0, max(1, rate // 5000)
    while True:
        write(NOTE * each)
        sent += each
        time.sleep(max(0.0, start + sent / rate - time.monotonic()))


def answer(line: bytes, cancels: int) -> bytes:
    """What to write for one line."""
    if b'"tools/call"' not in line:
        if b'"notifications/cancelled"' in line:
            os.write(cancels, b"%d\n" % time.monotonic_ns())
            return b""
        return other(line)
    name, id_ = NAME.search(line), ID.search(line)
    assert name is not None
    assert id_ is not None
    match name[1]:
        case b"silent":
            return b""
        case b"echo":
            return ECHO % id_[1]
        case asked:
            given = json.loads(line)["params"]["arguments"]
            if asked == b"flood":
                return NOTE * given["count"] + ECHO % id_[1]
            if asked == b"pour":
                threading.Thread(target=pour, args=(given["rate"],), daemon=True).start()
                return ECHO % id_[1]
            if given["kind"] == "1 GB":
                write(b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":"' % id_[1])
                for _ in range(1024):
                    write(b"x" * MB)
                return b'"}]}}\n'
            return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (id_[1], large(given["kind"]))


def stdio(path: str) -> None:
    """Answer all lines of a read with one write."""
    cancels = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    rest = b""
    while data := os.read(0, 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        if answers := b"".join(answer(line, cancels) for line in lines):
            write(answers)


async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer on one connection, for as long as it is kept."""
    while True:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
            return
        _, _, length = head.partition(b"content-length:")
        body = await reader.readexactly(int(length.split(b"\r\n")[0] or 0)) if length else b""
        found = answer(body, 2) if body else b""
        status = b"200 OK" if found else b"202 Accepted" if head.startswith(b"post") else b"405 No"
        writer.write(
            b"HTTP/1.1 %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
            % (status, len(found), found)
        )
        await writer.drain()


async def http(path: str) -> None:
    """Listen, and tell where."""
    server = await asyncio.start_server(exchange, "127.0.0.1", 0)
    Path(path).write_text(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


if __name__ == "__main__":
    if sys.argv[1] == "--http":
        asyncio.run(http(sys.argv[2]))
    else:
        stdio(sys.argv[1])
