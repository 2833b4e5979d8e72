"""A client for the judge of clients, in a few lines: it obeys every rule but the one that its argument names.

``python judged_client.py VICE``. It does what ``MCP_EXPERIMENT`` says; ``modern`` speaks 2026-07-28.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

VICE = sys.argv[1] if len(sys.argv) > 1 else "good"
EXPERIMENT = os.environ["MCP_EXPERIMENT"]
TOOL, ARGUMENTS = os.environ["MCP_TOOL"], json.loads(os.environ["MCP_ARGUMENTS"])
LIMIT = float(os.environ["MCP_TIMEOUT"])
MAXIMUM = float(os.environ["MCP_MAX_TIMEOUT"] or "inf")
MODERN = VICE == "modern"
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "judged", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}},
}


class Interrupted(Exception):
    pass


class Interrupts:
    """The judge signals as soon as it has the call, which may be before this process knows its id: then it waits."""

    came = heeded = False

    def handle(self, number: int, frame: object) -> None:
        self.came = True
        if self.heeded:
            raise Interrupted

    def heed(self) -> None:
        self.heeded = True
        if self.came:
            raise Interrupted


class Client:
    def __init__(self) -> None:
        self.server = subprocess.Popen(
            shlex.split(os.environ["MCP_SERVER_COMMAND"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.ids = itertools.count(0 if VICE == "good" else 1)
        self.heard: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        assert self.server.stdout is not None
        for line in self.server.stdout:
            message = json.loads(line)
            if "method" in message:
                self.asked(message)
            self.heard.put(message)
        self.heard.put({"gone": True})

    def asked(self, message: dict[str, Any]) -> None:
        """Handles a request or a notification of the server."""
        if message["method"] == "elicitation/create":
            threading.Thread(target=self.question, args=(message["id"],), daemon=True).start()
        if message["method"] == "notifications/cancelled":
            self.taken_back = message["params"]["requestId"]
            if VICE == "K-11" and EXPERIMENT == "unknown-cancel":
                self.write(id=self.taken_back, error={"code": -32600, "message": "unknown"})

    taken_back: object = None

    def question(self, id: object) -> None:
        time.sleep(1.5)
        if self.taken_back != id or VICE == "K-10":
            self.write(id=id, result={"action": "decline"})

    def write(self, **message: Any) -> None:
        assert self.server.stdin is not None
        self.server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.server.stdin.flush()

    def request(self, method: str, params: dict[str, Any] | None = None, *, token: bool = False) -> int:
        id = 1 if VICE == "K-12" and EXPERIMENT == "ids" and method == "tools/call" else next(self.ids)
        params = dict(params or {})
        meta: dict[str, Any] = dict(META) if MODERN else {}
        if token:
            meta["progressToken"] = f"token {id}"
        if meta:
            params["_meta"] = meta
        self.write(id=id, method=method, params=params)
        return id

    def wait(self, id: int, limit: float = 60.0, maximum: float = float("inf")) -> dict[str, Any] | None:
        """The response; ``None`` where a limit was reached. Progress resets the one, and nothing the other."""
        began = since = time.monotonic()
        while True:
            end = min(since + limit, began + (float("inf") if VICE == "K-13" else maximum))
            try:
                message = self.heard.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return None
            if message.get("method") == "notifications/progress":
                since = time.monotonic()
            if message.get("id") == id and "method" not in message:
                return message
            if "gone" in message:
                sys.exit(3)
            self.unexpected(message)

    def unexpected(self, message: dict[str, Any]) -> None:
        late = "result" in message and "method" not in message
        if late and VICE == "K-07" and EXPERIMENT in ("limit", "stop"):
            sys.exit(f"Error: unexpected response {message['id']}")
        if late and VICE == "K-09" and EXPERIMENT == "crossing":
            os.kill(os.getpid(), signal.SIGKILL)
        if message.get("method") == "notifications/progress" and VICE == "K-08" and self.cancelled:
            sys.exit("Error: unknown request of progress")

    cancelled = False

    def cancel(self, id: Any, rule: str) -> None:
        """Cancels a request as the rule's experiment asks; ``rule`` is what this cancel is for."""
        if VICE in {rule, "mute"}:
            return
        self.cancelled = True
        reason = "McpError: -32001" if VICE == "K-17" else "it took too long"
        method, params = "notifications/cancelled", {"requestId": id, "reason": reason}
        if VICE == "K-04":
            params["requestId"] = str(id)
        self.write(method=method, params=params)
        if VICE == "K-03":
            self.write(method="notifications/canceled", params=params)

    def connect(self) -> None:
        limit = LIMIT if EXPERIMENT == "initialize" else 60.0
        if MODERN:
            self.wait(self.request("server/discover"), limit)
            return
        told: dict[str, Any] = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "judged", "version": "1"},
        }
        id = self.request("initialize", told)
        if self.wait(id, limit) is None:
            if VICE == "K-05":
                self.write(method="notifications/cancelled", params={"requestId": id})
            self.end()
            os._exit(4)
        self.write(method="notifications/initialized")

    def call(self, tool: str, arguments: dict[str, Any], **more: Any) -> int:
        token = tool in {"count", "stubborn"}
        return self.request("tools/call", {"name": tool, "arguments": arguments, **more}, token=token)

    def add(self) -> None:
        if VICE != "mute" or EXPERIMENT == "ids":
            self.wait(self.call("add", {"a": 1, "b": 2}))

    def end(self, how: str = "K-14") -> None:
        """Ends the server: its stdin, then by signals."""
        if how == "K-15" == VICE:
            return
        assert self.server.stdin is not None
        if how != VICE:
            self.server.stdin.close()
        for end in (self.server.terminate, self.server.kill, lambda: None):
            try:
                self.server.wait(0.5)
                return
            except subprocess.TimeoutExpired:
                end()
        self.server.wait()


def guard(client: Client) -> None:
    """A process that ends the server when this one is gone, whatever ended it."""
    reader, writer = os.pipe()
    if os.fork():
        os.close(reader)
        os.set_inheritable(writer, False)
        return
    os.setsid()
    os.close(writer)
    assert client.server.stdin is not None
    os.close(client.server.stdin.fileno())
    for number in (0, 1, 2):
        os.close(number)
    os.read(reader, 1)
    time.sleep(0.3)
    with suppress(OSError):
        os.kill(client.server.pid, signal.SIGKILL)
    os._exit(0)


def main() -> None:
    client, interrupts = Client(), Interrupts()
    if VICE != "K-15":
        guard(client)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupts.handle)
    client.connect()
    if EXPERIMENT == "task":
        more: dict[str, Any] = {} if MODERN else {"task": {}}
        answer = client.wait(client.call(TOOL, ARGUMENTS, **more))
        assert answer is not None
        result = answer["result"]
        name = result["taskId"] if MODERN else result["task"]["taskId"]
        if VICE == "K-06":
            client.write(method="notifications/cancelled", params={"requestId": answer["id"]})
        else:
            client.wait(client.request("tasks/cancel", {"taskId": name}))
        client.add()
    elif EXPERIMENT == "ids":
        for _ in range(20):
            client.add()
    elif EXPERIMENT in ("exit", "initialize"):
        client.add()
    elif EXPERIMENT.startswith("sig"):
        id = client.call(TOOL, ARGUMENTS)
        try:
            interrupts.heed()
            client.wait(id)
        except Interrupted:
            client.cancel(id, "K-16")
            if VICE == "K-16":
                time.sleep(0.5)  # a call that is made later
                client.add()
            client.end("K-15")
            os._exit(130)
    else:
        id = client.call(TOOL, ARGUMENTS)
        limit = 0.5 if EXPERIMENT == "stop" else LIMIT
        if client.wait(id, limit, MAXIMUM) is None:
            client.cancel(id, "K-02" if EXPERIMENT == "stop" else "K-01" if EXPERIMENT == "limit" else "")
        client.add()
    client.end()
    os._exit(0)


main()
