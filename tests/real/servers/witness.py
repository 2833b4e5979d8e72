"""A server that notes what reaches it: ``witness.py LOG [--http [--json|--sse]]``, over stdio or at the URL that it prints.

Its tool `work` takes `seconds`, and reports progress each `every` seconds (0: it is silent). It stops when its cancel
arrives: the notification, or in 2026-07-28 over HTTP the end of its connection. Each event is a line of LOG: JSON with the
time of the monotonic clock. ``--json`` answers with JSON in place of an event stream, ``--sse`` speaks HTTP+SSE. Needs the
standard library alone.
"""

from __future__ import annotations

import json
import select
import sys
import time
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Final

MODERN: Final = "2026-07-28"
VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
META: Final = "io.modelcontextprotocol/protocolVersion"
LOG: Final = Path(sys.argv[1])
INFO: Final = {"name": "witness", "version": "1"}
CACHED: Final = {"ttlMs": 0, "cacheScope": "public"}
NUMBERS: Final = {name: {"type": "number"} for name in ("seconds", "every")}
TOOL: Final = {
    "name": "work",
    "description": "Works.",
    "inputSchema": {"type": "object", "properties": NUMBERS, "required": ["seconds"]},
}

Message = dict[str, Any]
_lock = Lock()
_calls: dict[tuple[str, str], Event] = {}
"""What stops each running call, by its session and its id."""


def note(what: str, **more: Any) -> None:
    """Write a line of the log."""
    with _lock, LOG.open("a") as file:
        file.write(json.dumps({"at": time.monotonic(), "what": what, **more}) + "\n")


def answer(message: Message) -> Message | None:
    """The answer to a message that is not a call; none for a notification."""
    method, params = message.get("method"), parameters(message)
    if "id" not in message or method is None:
        return None
    made: Message = {"jsonrpc": "2.0", "id": message["id"]}
    result: Message
    match method:
        case "initialize":
            asked = params.get("protocolVersion")
            version = asked if asked in VERSIONS else VERSIONS[-1]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": INFO}
        case "server/discover":
            result = {"supportedVersions": [MODERN, *VERSIONS], "capabilities": {"tools": {}}, **CACHED}
        case "tools/list":
            result = {"tools": [TOOL], **CACHED}
        case "ping":
            result = {}
        case _:
            return made | {"error": {"code": -32601, "message": "Method not found"}}
    return made | {"result": finished(message, result)}


def parameters(message: Message) -> Message:
    return message.get("params") or {}


def is_modern(message: Message) -> bool:
    meta: Message = parameters(message).get("_meta") or {}
    return meta.get(META) == MODERN


def finished(message: Message, result: Message) -> Message:
    """A result in the form of its protocol version."""
    if message["method"] == "server/discover" or is_modern(message):
        return result | {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": INFO}}
    return {name: value for name, value in result.items() if name not in CACHED}


def cancelled(message: Message, session: str) -> None:
    """Stop the call that a notification names."""
    params = parameters(message)
    note("cancelled", id=params.get("requestId"), reason=params.get("reason"))
    if call := _calls.get((session, str(params.get("requestId")))):
        call.set()


def work(
    message: Message, session: str, send: Callable[[Message], None], pause: Callable[[Event, float], bool]
) -> None:
    """Run a call. ``pause`` waits, and says whether to go on."""
    params, stop = parameters(message), Event()
    key = session, str(message["id"])
    _calls[key] = stop
    note("called", id=message["id"])
    given: Message = params.get("arguments") or {}
    meta: Message = params.get("_meta") or {}
    token = meta.get("progressToken")
    seconds, every = float(given.get("seconds", 1)), float(given.get("every", 0))
    begun, step = time.monotonic(), 0
    while (left := begun + seconds - time.monotonic()) > 0:
        if not pause(stop, min(left, begun + (step + 1) * every - time.monotonic()) if every else left):
            note("stopped")
            return
        if every and token is not None and (step + 1) * every < seconds:
            step += 1
            told = {"progressToken": token, "progress": step, "message": f"step {step}"}
            note("progress", step=step)
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
    result = {"content": [{"type": "text", "text": "worked"}], "isError": False}
    note("answered")
    send({"jsonrpc": "2.0", "id": message["id"], "result": finished(message, result)})
    del _calls[key]


def over_stdio() -> None:
    """Answer each line, calls beside each other."""

    def send(message: Message) -> None:
        with _lock:
            print(json.dumps(message), flush=True)

    def pause(stop: Event, seconds: float) -> bool:
        return not stop.wait(max(seconds, 0))

    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "tools/call":
            Thread(target=work, args=(message, "", send, pause), daemon=True).start()
        elif message.get("method") == "notifications/cancelled":
            cancelled(message, "")
        elif made := answer(message):
            send(made)
    note("stdin ended")


class Handler(BaseHTTPRequestHandler):
    """Answers each POST, and watches the connection of a call."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "--sse" in sys.argv:
            self.begin(202)
            self.send_header("Content-Length", "0")
            self.end_headers()
            _streams[self.path.rpartition("/")[2]].take(message)
            return
        session = self.headers.get("Mcp-Session-Id", "")
        if message.get("method") == "notifications/cancelled":
            if not session:  # 2026-07-28 has no such POST, and the other versions have a session
                note("refused", id=parameters(message).get("requestId"))
                self.begin(400)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            cancelled(message, session)
        if message.get("method") == "tools/call":
            self.call(message, session)
            return
        made = answer(message)
        self.begin(202 if made is None else 200, begins=message.get("method") == "initialize")
        body = b"" if made is None else json.dumps(made).encode()
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def call(self, message: Message, session: str) -> None:
        """Answer with an event stream, whose head is sent at once, or with JSON when the call has ended."""
        in_json, gone = "--json" in sys.argv, Event()

        def pause(stop: Event, seconds: float) -> bool:
            until = time.monotonic() + seconds
            while not stop.is_set() and (left := until - time.monotonic()) > 0:
                if gone.is_set():
                    time.sleep(min(left, 0.1))
                elif select.select([self.connection], [], [], min(left, 0.1))[0] and self.closed():
                    note("closed")
                    gone.set()
                    if is_modern(message):
                        stop.set()
            return not stop.is_set()

        def send(each: Message) -> None:
            body = json.dumps(each).encode()
            try:
                if not in_json:
                    self.chunk(b"event: message\ndata: " + body + b"\n\n")
                elif "id" in each:
                    self.begin(200)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
            except OSError:
                note("not written")
                gone.set()

        if not in_json:
            self.begin(200, "text/event-stream")
            self.send_header("Cache-Control", "no-cache")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
        work(message, session, send, pause)
        self.close_connection = self.close_connection or gone.is_set() or in_json
        if not in_json and not gone.is_set():
            self.chunk(b"")

    def take(self, message: Message) -> None:
        """Answer a message that was posted, on the stream of HTTP+SSE."""

        def pause(stop: Event, seconds: float) -> bool:
            return not stop.wait(max(seconds, 0))

        def send(each: Message) -> None:
            try:
                self.chunk(b"event: message\ndata: " + json.dumps(each).encode() + b"\n\n")
            except OSError:
                note("not written")

        if message.get("method") == "tools/call":
            Thread(target=work, args=(message, self.path, send, pause), daemon=True).start()
        elif message.get("method") == "notifications/cancelled":
            cancelled(message, self.path)
        elif made := answer(message):
            send(made)

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def closed(self) -> bool:
        """Whether the other side closed the connection."""
        try:
            return not self.rfile.peek(1)  # type: ignore[attr-defined]
        except OSError:
            return True

    def begin(self, status: int, kind: str = "application/json", *, begins: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if begins:
            self.send_header("Mcp-Session-Id", uuid.uuid4().hex)

    def do_GET(self) -> None:
        if "--sse" in sys.argv:
            name = uuid.uuid4().hex
            _streams[name] = self
            self.begin(200, "text/event-stream")
            self.send_header("Cache-Control", "no-cache")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.chunk(f"event: endpoint\ndata: /messages/{name}\n\n".encode())
            self.closed()
            note("closed")
            self.close_connection = True
            return
        self.begin(405)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_DELETE(self) -> None:
        note("session ended")
        self.begin(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None: ...


_streams: dict[str, Handler] = {}
"""The open streams of HTTP+SSE, by the name in the path of their messages."""

if "--http" in sys.argv:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_port}/mcp", flush=True)
    server.serve_forever()
over_stdio()
