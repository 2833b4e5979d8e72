"""A server that counts how often its tool runs: ``counting.py FAULT LOG [--http]``, over stdio or at the URL that it prints.

The first call of `send` meets the fault; each of them does with those that a slow tool or a tap would repeat: limit,
error, failed. Speaks 2025-11-25, and older versions. Each message about a call is a line of LOG: JSON with the time, the
method, the id, the session, and whether the tool ran. Needs the standard library alone.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Final

VERSION: Final = "2025-11-25"
LATE: Final = 2.0
"""Seconds after the limit of its client that the first answer is late."""

FAULT, LOG = sys.argv[1], Path(sys.argv[2])
LIMIT: Final = float(os.environ.get("MCP_TIMEOUT", "30"))
RESULT: Final = {"content": [{"type": "text", "text": "5"}], "isError": False}
SAID: Final = "The call timed out. The server may still be running it."
_UNSAFE: Final = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
TOOLS: Final = [
    {
        "name": name,
        "description": does,
        "inputSchema": {"type": "object", "properties": properties, "required": [*properties]},
        "annotations": annotations,
    }
    for name, does, properties, annotations in (
        ("send", "Sends a letter.", {"to": {"type": "string"}}, _UNSAFE),
        ("add", "Adds.", {each: {"type": "number"} for each in "ab"}, {"readOnlyHint": True}),
    )
]
_lock = Lock()


def note(message: dict[str, Any], session: str, **more: Any) -> bool:
    """Write a line; whether no call was noted before, by this process or an earlier one."""
    line = {
        "at": time.monotonic(),
        "method": message.get("method"),
        "id": message.get("id"),
        "session": session,
        **more,
    }
    with _lock, LOG.open("a+") as file:
        file.seek(0)
        first = not any('"tools/call"' in each for each in file)
        file.write(json.dumps(line) + "\n")
    return first


def answer(message: dict[str, Any], session: str) -> tuple[dict[str, Any] | None, str]:
    """The answer to a message, none for a notification, and the fault with which it is to be given."""
    method, id_ = message.get("method"), message.get("id")
    params: dict[str, Any] = message.get("params") or {}
    if method == "notifications/cancelled":
        note(message, session, about=params.get("requestId"))
    if id_ is None or method is None:
        return None, ""
    made: dict[str, Any] = {"jsonrpc": "2.0", "id": id_}
    if method == "initialize":
        info = {"name": "counting", "version": "1"}
        version = min(VERSION, str(params.get("protocolVersion", VERSION)))
        return made | {
            "result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        }, ""
    if method in ("ping", "tools/list"):
        return made | {"result": {"tools": TOOLS} if method == "tools/list" else {}}, ""
    if method != "tools/call":
        return made | {"error": {"code": -32601, "message": "Method not found"}}, ""
    if params.get("name") != "send":
        return made | {"result": RESULT}, ""
    first = note(message, session, executed=FAULT != "404")
    if FAULT == "limit":
        time.sleep(LIMIT + LATE)
    if FAULT == "error":
        return made | {"error": {"code": -32001, "message": SAID}}, ""
    if FAULT == "failed":
        return made | {"result": {"content": [{"type": "text", "text": SAID}], "isError": True}}, ""
    return made | {"result": RESULT}, FAULT if first else ""


def over_stdio() -> None:
    """Answer each line, several at a time."""

    def work(message: dict[str, Any]) -> None:
        made, fault = answer(message, str(os.getpid()))
        if fault == "exit":
            os._exit(1)
        if made is not None:
            with _lock:
                print(json.dumps(made), flush=True)

    for line in sys.stdin:
        Thread(target=work, args=(json.loads(line),), daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    """Answers each POST by itself; what a stream owes is given to the GET that resumes it."""

    protocol_version = "HTTP/1.1"
    gone: Final[set[str]] = set()
    owed: Final[list[bytes]] = []

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        session = self.headers.get("Mcp-Session-Id", "")
        if session in self.gone:
            params: dict[str, Any] = message.get("params") or {}
            if params.get("name") == "send":
                note(message, session, executed=False)
            self.send(404)
            return
        made, fault = answer(message, session)
        body = b"" if made is None else json.dumps(made).encode()
        if fault == "404":
            self.gone.add(session)
            self.send(404)
        elif fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif fault == "cut":
            self.send(200, b": nothing\n\n", "text/event-stream")
        elif fault == "resumable":
            self.owed.append(b"id: 2\ndata: " + body + b"\n\n")
            self.send(200, b"id: 1\nretry: 500\ndata: \n\n", "text/event-stream")
        elif fault.isdecimal():
            self.send(int(fault))
        else:
            self.send(
                202 if made is None else 200, body, "application/json", message.get("method") == "initialize"
            )

    def do_GET(self) -> None:
        if "Last-Event-ID" not in self.headers or not self.owed:
            self.send(405)
            return
        note({"method": "resumed"}, self.headers.get("Mcp-Session-Id", ""))
        self.send(200, self.owed.pop(), "text/event-stream")

    def do_DELETE(self) -> None:
        self.send(200)

    def send(self, status: int, body: bytes = b"", kind: str = "text/plain", begins: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if begins:
            self.send_header("Mcp-Session-Id", uuid.uuid4().hex)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


if "--http" in sys.argv:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}/mcp", flush=True)
    server.serve_forever()
over_stdio()
