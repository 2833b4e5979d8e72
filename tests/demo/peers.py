"""Clients of the demo server that are not ours: a process and its pipes, sockets and `http.client`.

Each starts a server of its own, checks every frame that it gets against the official schema, and can read the
server's log. A request is an `Exchange` on both transports, so that one test serves all wires.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Self, cast

from tests.control import Control
from tests.demo.official import MODERN, check
from tests.forking import Piped
from tests.waiting import HANG

Frame = dict[str, Any]

PATIENCE = HANG

META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
}
NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def command(*options: object) -> list[str]:
    return [sys.executable, "-m", "mcp_tui.demo", *map(str, options)]


def initialize(revision: str, capabilities: Frame | None = None) -> Frame:
    client = {"name": "tests", "version": "1"}
    return {"protocolVersion": revision, "capabilities": capabilities or {}, "clientInfo": client}


def own_words(frame: Frame) -> bool:
    """Whether the server asks something, or takes that back."""
    return "method" in frame and ("id" in frame or frame["method"] == "notifications/cancelled")


class Exchange:
    """One request and what came for it. ``done`` is set when its HTTP stream has ended."""

    def __init__(self, peer: Peer, request_id: int, method: str) -> None:
        self.peer = peer
        self.revision = peer.revision
        self.id = request_id
        self.method = method
        self.frames: list[Frame] = []
        self.done = threading.Event()
        self.status = 0

    def take(self, frame: Frame) -> None:
        with self.peer.changed:
            try:
                check(frame, self.revision, self.method)
            except Exception as error:  # noqa: BLE001 - it is raised where the test waits
                self.peer.failures.append(error)
            (self.peer.asked if own_words(frame) else self.frames).append(frame)
            self.peer.changed.notify_all()

    @property
    def responses(self) -> list[Frame]:
        return [frame for frame in self.frames if "method" not in frame]

    @property
    def progress(self) -> list[float]:
        params = [frame["params"] for frame in self.frames if frame.get("method") == "notifications/progress"]
        assert all(part["progressToken"] == f"token-{self.id}" for part in params)
        return [part["progress"] for part in params]

    @property
    def messages(self) -> list[Frame]:
        return [frame["params"] for frame in self.frames if frame.get("method") == "notifications/message"]

    def response(self, count: int = 1) -> Frame:
        """The last of `count` responses, once they are there."""
        self.peer.wait(lambda: len(self.responses) >= count)
        return self.responses[count - 1]

    def result(self) -> Frame:
        response = self.response()
        assert "result" in response, response
        return response["result"]

    def text(self) -> str:
        result = self.result()
        assert not result.get("isError"), result
        (content,) = result["content"]
        return content["text"]

    def error(self) -> Frame:
        response = self.response()
        assert response["id"] == self.id
        return response["error"]

    def beats(self, count: int) -> None:
        """Waits for `count` progress notifications."""
        self.peer.wait(lambda: len(self.progress) >= count)

    def cancel(self, reason: str = "enough of it") -> None:
        """Cancels as this revision and transport prescribe, and wait until the server knows it."""
        self.signal(reason)
        self.peer.logged("cancelled", self.id)

    def signal(self, reason: str) -> None:
        self.peer.notify("notifications/cancelled", {"requestId": self.id, "reason": reason})


class Peer:
    """A server of its own and what is said to it in one revision. Its tools wait for `step`."""

    transport = ""

    def __init__(self, revision: str, log: Path, *options: object, capabilities: Frame | None = None) -> None:
        self.revision = revision
        self.capabilities = capabilities or {}
        self.asked: list[Frame] = []
        self.modern = revision == MODERN
        self.changed = threading.Condition()
        self.exchanges: dict[int, Exchange] = {}
        self.failures: list[Exception] = []
        self.log = log
        self.stderr: str | None = None
        self.session: str | None = None
        self.control = Control()
        self.step = self.control.step
        self.process = Piped("server", command("--log", log, *options), {**os.environ, **self.control.env})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        assert not self.failures, self.failures[0]

    def close(self) -> str:
        """Ends the server, wait for it, and return what it wrote to standard error."""
        stderr = self.stderr
        if stderr is None:
            self._hang_up()
            if self.process.poll() is None and self.transport == "http":
                self.process.send_signal(signal.SIGTERM)
            with self.process:
                stderr = self.stderr = self.process.stderr.read().decode()
                self.process.wait(PATIENCE)
            self.control.close()
        assert "Traceback" not in stderr, stderr
        return stderr

    def _hang_up(self) -> None:
        """Closes standard input, which ends a server on stdio."""
        with suppress(BrokenPipeError):
            self.process.stdin.close()

    # -- what the test says ------------------------------------------------------------------------------------

    def open(self) -> Self:
        """Opens the conversation as the revision has it."""
        if not self.modern:
            opened = self.request("initialize", initialize(self.revision, self.capabilities))
            assert opened.result()["protocolVersion"] == self.revision
            self.notify("notifications/initialized", {})
        return self

    def request(self, method: str, params: Frame | None = None, *, meta: Frame | None = None) -> Exchange:
        request_id = len(self.exchanges) + 1
        exchange = self.exchanges[request_id] = Exchange(self, request_id, method)
        era = {**META, CAPABILITIES: self.capabilities} if self.modern else {}
        own = {**era, "progressToken": f"token-{request_id}", **(meta or {})}
        params = {**(params or {}), "_meta": {key: value for key, value in own.items() if value is not None}}
        self.send(exchange, {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return self.exchanges[request_id]

    def call(self, tool: str, *, meta: Frame | None = None, **arguments: object) -> Exchange:
        return self.request("tools/call", {"name": tool, "arguments": arguments}, meta=meta)

    def send(self, exchange: Exchange, frame: Frame) -> None:
        raise NotImplementedError

    def question(self, count: int = 1) -> Frame:
        """The last of `count` requests of the server's, once it is there."""
        self.wait(lambda: sum("id" in frame for frame in self.asked) >= count)
        return [frame for frame in self.asked if "id" in frame][count - 1]

    def withdrawn(self) -> Frame:
        """What the server says of a question that it takes back."""
        self.wait(lambda: any("id" not in frame for frame in self.asked))
        return next(frame["params"] for frame in self.asked if "id" not in frame)

    def reply(self, question: Frame, **answer: object) -> None:
        """Answers a question of the server's, with a ``result`` or an ``error``."""
        raise NotImplementedError

    def notify(self, method: str, params: Frame) -> None:
        raise NotImplementedError

    # -- what came of it ---------------------------------------------------------------------------------------

    def wait(self, condition: Callable[[], bool]) -> None:
        with self.changed:
            came = self.changed.wait_for(lambda: self.failures or condition(), PATIENCE)
        assert not self.failures, self.failures[0]
        assert came, "this never came"

    def log_lines(self) -> list[Frame]:
        """The server's log so far, as far as its lines are whole."""
        whole = self.log.read_bytes().rpartition(b"\n")[0] if self.log.exists() else b""
        return [json.loads(line) for line in whole.splitlines()]

    def events(self, event: str, request_id: int) -> list[Frame]:
        return [line for line in self.log_lines() if line["event"] == event and line.get("id") == request_id]

    def logged(self, event: str, request_id: int) -> Frame:
        """The first such line of the log, once it is there."""
        if not self.events(event, request_id):
            self.control.wait(event, id=request_id)
        return self.events(event, request_id)[0]


class StdioPeer(Peer):
    """Over a process's own pipes."""

    transport = "stdio"

    def __init__(self, revision: str, log: Path, *options: object, capabilities: Frame | None = None) -> None:
        super().__init__(revision, log, *options, capabilities=capabilities)
        self.stray: list[Any] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _hang_up(self) -> None:
        super()._hang_up()
        self._reader.join(PATIENCE)

    def write(self, raw: bytes) -> None:
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def send(self, exchange: Exchange, frame: Frame) -> None:
        self.write(json.dumps(frame).encode() + b"\n")

    def notify(self, method: str, params: Frame) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

    def reply(self, question: Frame, **answer: object) -> None:
        self.write(json.dumps({"jsonrpc": "2.0", "id": question["id"], **answer}).encode() + b"\n")

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._line(json.loads(line))

    def _line(self, frame: Any) -> None:
        if isinstance(frame, dict):
            message = cast("Frame", frame)
            if (exchange := self._owner(message)) is not None:
                exchange.take(message)
                return
        with self.changed:
            self.stray.append(frame)
            self.changed.notify_all()

    def _owner(self, frame: Frame) -> Exchange | None:
        params = frame.get("params", {})
        token = params.get("progressToken")
        subscription = params.get("_meta", {}).get("io.modelcontextprotocol/subscriptionId")
        if frame.get("method") == "notifications/message" or own_words(frame):
            # of no request in particular: of the last that was made
            return self.exchanges[len(self.exchanges)]
        owner = frame.get("id", token.removeprefix("token-") if token else subscription)
        return self.exchanges.get(int(owner)) if owner is not None else None


class HttpExchange(Exchange):
    """A request in a connection of its own."""

    def __init__(self, exchange: Exchange, connection: http.client.HTTPConnection) -> None:
        super().__init__(exchange.peer, exchange.id, exchange.method)
        self.connection = connection

    def signal(self, reason: str) -> None:
        if self.peer.modern:
            self.disconnect()
        else:
            super().signal(reason)

    def disconnect(self) -> None:
        """Closes the request's own stream."""
        assert self.connection.sock is not None
        self.connection.sock.shutdown(socket.SHUT_RDWR)

    def read(self) -> None:
        """Takes the response and its frames, as they come."""
        with suppress(http.client.HTTPException, OSError):
            response = self.connection.getresponse()
            self.status = response.status
            headers = {name.lower(): value for name, value in response.getheaders()}
            self.peer.session = headers.get("mcp-session-id", self.peer.session)
            if headers.get("content-type") == "text/event-stream":
                for frame in events(response):
                    self.take(frame)
            elif body := response.read():
                self.take(json.loads(body))
        self.connection.close()
        with self.peer.changed:
            self.done.set()
            self.peer.changed.notify_all()


def events(response: http.client.HTTPResponse) -> Iterator[Frame]:
    """The frames of a stream of server-sent events."""
    data = b""
    while line := response.readline():
        line = line.removesuffix(b"\n")
        if line.startswith(b"data: "):
            data += line.removeprefix(b"data: ")
        elif not line and data:
            yield json.loads(data)
            data = b""


class HttpPeer(Peer):
    """Over HTTP, each request in a connection of its own."""

    transport = "http"

    def __init__(self, revision: str, log: Path, *options: object, capabilities: Frame | None = None) -> None:
        super().__init__(revision, log, "--http", 0, *options, capabilities=capabilities)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().decode().removesuffix("\n")
        self.port = int(self.url.removeprefix("http://127.0.0.1:").removesuffix("/mcp"))

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def headers(self, frame: Frame) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session is not None:
            headers["Mcp-Session-Id"] = self.session
        if self.session is not None or self.modern:
            headers["MCP-Protocol-Version"] = self.revision
        if self.modern and "method" in frame:
            headers["Mcp-Method"] = frame["method"]
            if frame["method"] in NAMED:
                headers["Mcp-Name"] = str(frame["params"].get(NAMED[frame["method"]]))
        return headers

    def send(self, exchange: Exchange, frame: Frame) -> None:
        connection = self.connect()
        connection.request("POST", "/mcp", json.dumps(frame).encode(), self.headers(frame))
        own = self.exchanges[exchange.id] = HttpExchange(exchange, connection)
        threading.Thread(target=own.read, daemon=True).start()

    def notify(self, method: str, params: Frame) -> None:
        assert self.post({"jsonrpc": "2.0", "method": method, "params": params})[0] == 202

    def reply(self, question: Frame, **answer: object) -> None:
        assert self.post({"jsonrpc": "2.0", "id": question["id"], **answer})[0] == 202

    def post(
        self,
        body: object,
        headers: dict[str, str | None] | None = None,
        *,
        method: str = "POST",
        path: str = "/mcp",
    ) -> tuple[int, bytes, dict[str, str]]:
        """One whole HTTP exchange: status, body, headers. A header of ``None`` is left out."""
        own = self.headers(cast("Frame", body) if isinstance(body, dict) else {})
        fields = {name.lower(): value for name, value in [*own.items(), *(headers or {}).items()]}
        sent = {name: value for name, value in fields.items() if value is not None}
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        with closing(self.connect()) as connection:
            connection.request(method, path, raw, sent)
            response = connection.getresponse()
            return response.status, response.read(), {name.lower(): v for name, v in response.getheaders()}
