"""Connections to a server for the raw probe: a pipe and a socket each, the standard library and nothing else."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import subprocess
import threading
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from tests.real.registry import ENVIRONMENT, MODERN, STOPS_WITHIN, end

Message = dict[str, Any]

CONNECTS_WITHIN = 5.0  # seconds


class Peer(Protocol):
    """A connection to a server. `heard` grows as messages arrive, each with the monotonic time of its arrival."""

    heard: list[tuple[float, Message]]

    def send(self, message: Message) -> None: ...
    def close_stream(self, id: int) -> None: ...
    def stream(self, id: int) -> Literal["open", "ended"] | None: ...
    def posted(self) -> tuple[int | None, float | None]: ...
    def lost(self, id: int) -> bool: ...
    def exited(self) -> bool: ...


class Pipe:
    """A server on the other end of its stdin and stdout."""

    def __init__(self, argv: tuple[str, ...]) -> None:
        self.heard: list[tuple[float, Message]] = []
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with contextlib.suppress(ValueError):
                self.heard.append((time.monotonic(), json.loads(line)))

    def send(self, message: Message) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def close_stream(self, id: int) -> None:
        raise AssertionError("over stdio a request has no stream of its own")

    def stream(self, id: int) -> None:
        return None

    def posted(self) -> tuple[None, None]:
        return None, None

    def lost(self, id: int) -> bool:
        return False

    def exited(self) -> bool:
        return self.process.poll() is not None and not self.reader.is_alive()  # with all it said being heard

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            end(self.process)
        self.reader.join()
        self.process.stdout.close()


@dataclass(slots=True)
class Exchange:
    """One POST and what came back on it."""

    connection: http.client.HTTPConnection
    socket: socket.socket
    thread: threading.Thread | None = None
    status: int | None = None
    answered_at: float | None = None
    session: str | None = None
    ended: threading.Event = field(default_factory=threading.Event)


class Web:
    """A server at a URL; each POST has a connection and a thread of its own, so that none waits for another."""

    def __init__(self, url: str, revision: str) -> None:
        parts = urlsplit(url)
        self.host, self.port, self.path = parts.hostname or "", parts.port, parts.path
        self.revision = revision
        self.session: str | None = None
        self.heard: list[tuple[float, Message]] = []
        self.exchanges: list[Exchange] = []
        self.requests: dict[int, Exchange] = {}
        self.cancel: Exchange | None = None

    def headers(self, message: Message) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if message["method"] != "initialize":
            headers["MCP-Protocol-Version"] = self.revision
        if self.revision == MODERN:
            headers["Mcp-Method"] = message["method"]
            if name := message.get("params", {}).get("name"):
                headers["Mcp-Name"] = name
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        return headers

    def send(self, message: Message) -> None:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        connection.connect()
        exchange = Exchange(connection, connection.sock)
        exchange.thread = threading.Thread(target=self._exchange, args=(exchange, message), daemon=True)
        self.exchanges.append(exchange)
        if "id" in message:
            self.requests[message["id"]] = exchange
        elif message["method"] == "notifications/cancelled":
            self.cancel = exchange
        exchange.thread.start()

    def _exchange(self, exchange: Exchange, message: Message) -> None:
        try:
            exchange.connection.request("POST", self.path, json.dumps(message), self.headers(message))
            with exchange.connection.getresponse() as response:
                exchange.status, exchange.answered_at = response.status, time.monotonic()
                if message["method"] == "initialize":
                    self.session = response.headers["Mcp-Session-Id"]
                self._read(response)
        except (OSError, http.client.HTTPException, ValueError):
            pass  # the stream was dropped, by one side or the other
        finally:
            exchange.connection.close()
            exchange.ended.set()

    def _read(self, response: http.client.HTTPResponse) -> None:
        if response.headers.get_content_type() != "text/event-stream":
            if body := response.read():
                self.heard.append((time.monotonic(), json.loads(body)))
            return
        for line in response:
            if line.startswith(b"data:") and (data := line[5:].strip()):
                self.heard.append((time.monotonic(), json.loads(data)))

    def close_stream(self, id: int) -> None:
        with contextlib.suppress(OSError):
            self.requests[id].socket.shutdown(socket.SHUT_RDWR)

    def stream(self, id: int) -> Literal["open", "ended"]:
        return "ended" if self.requests[id].ended.is_set() else "open"

    def posted(self) -> tuple[int | None, float | None]:
        return (self.cancel.status, self.cancel.answered_at) if self.cancel else (None, None)

    def lost(self, id: int) -> bool:
        return id in self.requests and self.requests[id].status == HTTPStatus.NOT_FOUND

    def exited(self) -> bool:
        if not self.exchanges[-1].ended.is_set():
            return False  # somebody holds the other end
        try:
            socket.create_connection((self.host, self.port or 80), timeout=CONNECTS_WITHIN).close()
        except OSError:
            return True
        return False

    def close(self) -> None:
        for exchange in self.exchanges:
            with contextlib.suppress(OSError):
                exchange.socket.shutdown(socket.SHUT_RDWR)
        for exchange in self.exchanges:
            if exchange.thread is not None:
                exchange.thread.join()
