"""A server that breaks one rule of the probe: ``probe_server.py MODE [--http | --sse] [--modern] [--heartbeat FILE]``.

It stands on the standard library alone and speaks the handshake era, or 2026-07-28 with ``--modern``, over stdio, over
HTTP, or over the HTTP+SSE of 2024-11-05; of the last two it prints its URL. Its tool ``slow_work`` works for ``seconds`` in
ten steps, with progress and a heartbeat; ``wipe_slowly`` looks as slow, but is marked as destructive and ends the process.
MODE is the id of the rule to break, with ``:SHAPE`` for a malformed cancel that P-11 takes for a valid one, or one of

good              obeys
cold              obeys; its first call takes three times as long
dies              exits when a call in flight is cancelled
one-at-a-time     reads nothing while it works
tasks             offers tasks, and cancels them; endless-tasks says so, but works on; needs-tasks has them alone
exclusive         refuses a call while another one works
harmful           has the destructive tool alone
quick             its tool takes no time
several           has three slow tools, of which the second reports progress
needs-page        its tool fails until open_page was called on the same connection

Any other MODE may end in ``:text``, ``:float``, or ``:own``, for progress under the token in another type, or under its own.
"""
# pyright: basic

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import select
import socket
import threading
import time
import uuid
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

parser = argparse.ArgumentParser()
parser.add_argument("mode")
parser.add_argument("marks", nargs="*")
parser.add_argument("--http", action="store_true")
parser.add_argument("--sse", action="store_true")
parser.add_argument("--modern", action="store_true")
parser.add_argument("--heartbeat", default="")
given = parser.parse_args()

MODE, _, SHAPE = given.mode.partition(":")
MODERN = given.modern
EXTENSION = "io.modelcontextprotocol/tasks"
STEPS = 10
PARENT = os.getppid()
LOCK = threading.Lock()

BEATEN = bool(given.heartbeat) and Path(given.heartbeat).exists() and Path(given.heartbeat).stat().st_size > 0
"""Whether a call worked before this process began, so that the probe's control run is over."""

Message = dict[str, Any]
Say = Callable[[Message], None]

tasks: dict[str, Message] = {}


def beat() -> None:
    if given.heartbeat:
        with Path(given.heartbeat).open("a") as file:
            file.write(".")


class Call:
    """A call at work."""

    def __init__(self, id: Any, say: Say, seconds: float, token: Any, *, first: bool, silent: bool) -> None:
        self.id, self.say, self.seconds, self.token = id, say, seconds, token
        self.first, self.silent = first, silent
        self.stop = threading.Event()
        self.step = 0
        self.started = time.monotonic()
        self.ended = threading.Event()

    def progress(self, step: float) -> None:
        if self.token is not None and not self.silent:
            shapes: dict[str, Callable[[Any], Any]] = {"text": str, "float": float, "own": "work-{}".format}
            token = shapes[SHAPE](self.token) if SHAPE in shapes else self.token
            params = {"progressToken": token, "progress": step, "total": STEPS}
            self.say({"method": "notifications/progress", "params": params})

    def work(self) -> bool:
        """Whether it worked to its end."""
        pause = self.seconds / STEPS * (3 if MODE == "cold" and self.first else 1)
        for self.step in range(STEPS):
            # P-07: only the uncancelled control run is as quick as the probe expects
            slow = MODE == "P-07" and not self.first and self.step == STEPS - 1
            if self.stop.wait(pause + (1.0 if slow else 0.0)):
                return False
            beat()
            self.progress(self.step + 1)
        return True


class Session:
    """The calls of one session, and what it does with a message."""

    def __init__(self) -> None:
        self.calls: dict[tuple[type, Any], Call] = {}
        self.cancelled: set[Any] = set()
        self.deaf_to = ""
        self.waiting: threading.Timer | None = None
        self.opening: Any = None
        self.count = 0
        self.page = ""

    # -- calls ---------------------------------------------------------------------------------------------------

    def call(self, id: Any, params: Message, say: Say) -> None:
        if self.deaf_to == "tools/call":
            os._exit(1)  # P-04
        name = params["name"]
        if name == "wipe_slowly":
            os._exit(9)
        if name == "open_page":
            self.page = params["arguments"]["url"]
            say({"id": id, "result": {"content": []}})
            return
        if MODE == "needs-page" and self.page != "1":
            content = [{"type": "text", "text": "No page is open"}]
            say({"id": id, "result": {"isError": True, "content": content}})
            return
        if MODE == "P-30":
            try:
                os.write(2, b"working\n")
            except OSError:
                os._exit(1)
        if MODE == "exclusive" and self.calls:
            say({"id": id, "error": {"code": -32603, "message": "busy"}})
            return
        seconds = 0.0 if MODE == "quick" else float(params.get("arguments", {}).get("seconds", 5))
        if self.as_task(id, params, say, seconds):
            return
        self.count += 1
        token = params.get("_meta", {}).get("progressToken")
        silent = MODE == "several" and name != "sleep_well"
        call = Call(id, say, seconds, token, first=self.count == 1 and not BEATEN, silent=silent)
        self.calls[type(id), id] = call
        if MODE == "one-at-a-time":
            self.run(call)
        else:
            threading.Thread(target=self.run, args=(call,), daemon=True).start()

    def run(self, call: Call) -> None:
        done = call.work()
        self.calls.pop((type(call.id), call.id), None)
        if done:
            call.say({"id": call.id, "result": {"content": [{"type": "text", "text": "done"}]}})
        call.ended.set()

    def as_task(self, id: Any, params: Message, say: Say, seconds: float) -> bool:
        about = params.get("_meta", {}).get("io.modelcontextprotocol/clientCapabilities", {})
        wanted = EXTENSION in about.get("extensions", {}) if MODERN else "task" in params
        if wanted and "tasks" in MODE:
            name, at = f"task-{id}", "2026-01-01T00:00:00Z"
            ttl = "ttlMs" if MODERN else "ttl"
            task = {"taskId": name, "status": "working", ttl: 60000, "createdAt": at, "lastUpdatedAt": at}
            tasks[name] = task
            threading.Thread(target=run_task, args=(name, seconds), daemon=True).start()
            say({"id": id, "result": {**task, "resultType": "task"} if MODERN else {"task": task}})
        elif MODE == "needs-tasks":
            code = -32003 if MODERN else -32601
            say({"id": id, "error": {"code": code, "message": "this tool runs as a task only"}})
        else:
            return False
        return True

    # -- cancels -------------------------------------------------------------------------------------------------

    def cancel(self, params: Any, say: Say) -> None:
        members: Message = params if isinstance(params, dict) else {}
        id, reason = members.get("requestId"), members.get("reason", "")
        together = str(reason).endswith("in one write")  # two writes may well be read at once, too
        if self.waiting is not None and id == self.opening:
            self.waiting.cancel()  # P-15
            return
        if MODE == "P-11":
            id = self.mistaken(params, id, say)
        if MODE == "P-13" and isinstance(id, str) and id.isdigit():
            id = int(id)
        if isinstance(id, float) and id.is_integer():
            id = int(id)  # JSON makes no difference
        if type(id) not in (int, str) or (MODE == "P-23" and id == 0):
            return
        call = self.calls.get((type(id), id))
        refusal: Message = {"id": None, "error": {"code": -32602, "message": "no such request"}}
        if call is None:
            known = id in self.cancelled
            wrong = {"P-08": known, "P-09": type(id) is int and id < 100 and not known}
            if wrong.get(MODE) or (MODE == "P-10" and id in (987_654_321, "no-such-request")):
                say(refusal)
            if MODE == "P-26" and known:
                for _ in range(2):
                    say({"id": id, "error": {"code": -32800, "message": "cancelled again"}})
            return
        if MODE == "P-12" and reason is None:
            os._exit(1)
        if MODE == "P-07" and time.monotonic() >= call.started + 0.8 * call.seconds:
            os._exit(1)
        if MODE == "P-27" and together:
            return
        self.cancelled.add(id)
        self.stop(call, str(reason), together=together)

    def mistaken(self, params: Any, id: Any, say: Say) -> Any:
        """What a careless server makes of a malformed cancel."""
        taken = {
            "null": (params == {"requestId": None}, 4),
            "array": (isinstance(params, list), 4),
        }
        if (SHAPE, params) in (("dies", None), ("later", {"requestId": 2.5})):
            os._exit(1)
        if SHAPE == "later" and id is True:  # of which it dies when it has read the next one
            say({"id": 1, "error": {"code": 0, "message": "Request cancelled"}})
        if SHAPE in ("dies", "later"):
            return id
        matches, meant = taken[SHAPE]
        return meant if matches else id

    def stop(self, call: Call, reason: str, *, together: bool = False) -> None:
        if MODE == "dies":
            os._exit(1)
        timeout = reason.startswith("timed out")
        mid = time.monotonic() > call.started + call.seconds / 4  # as far from "at once" as from the half
        others = [each for each in self.calls.values() if each is not call]
        if MODE == "P-14" and len(others) == 1:
            for other in others:
                other.stop.set()
        call.stop.set()
        call.ended.wait(1.0)
        answers = {"P-01": mid and not timeout, "P-05": not mid and not together, "P-16": timeout}
        if answers.get(MODE):
            call.say({"id": call.id, "error": {"code": -32800, "message": "Request cancelled"}})
        if MODE == "P-02" and mid and not timeout:
            for more in (1, 2):
                threading.Timer(
                    0.2 + 0.2 * more, call.progress, (call.step + more,)
                ).start()  # past the transit time
        if MODE == "P-03" and mid:
            for more in range(1, 10):
                threading.Timer(0.1 * more, beat).start()
        if MODE == "P-04" and mid and not timeout:
            self.deaf_to = "tools/call"
        if MODE == "P-06" and not mid and reason and not together:  # the one for comparison has no reason
            self.deaf_to = "tools/list"

    # -- requests ------------------------------------------------------------------------------------------------

    def handle(self, message: Message, say: Say) -> None:
        method, params = message.get("method"), message.get("params")
        if method == "notifications/cancelled":
            self.cancel(params, say)
        elif MODE == "P-15" and method == "initialize":
            self.opening = message["id"]
            self.waiting = threading.Timer(0.2, self.request, (message["id"], method, params or {}, say))
            self.waiting.start()
        elif "id" in message:
            self.request(message["id"], str(method), params or {}, say)

    def request(self, id: Any, method: str, params: Message, say: Say) -> None:
        if method == self.deaf_to == "tools/list":
            os._exit(1)  # P-06
        info = {"name": "probe-server", "version": "1"}
        if method == "server/discover" and MODERN:
            offered: Message = {"tools": {}, "extensions": {EXTENSION: {}} if "tasks" in MODE else {}}
            answer(
                id, {"supportedVersions": ["2026-07-28"], "capabilities": offered, "serverInfo": info}, say
            )
        elif method == "initialize" and not MODERN:
            offered = {"tools": {}}
            if "tasks" in MODE:
                offered["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
            version = params["protocolVersion"]
            say(
                {
                    "id": id,
                    "result": {"protocolVersion": version, "capabilities": offered, "serverInfo": info},
                }
            )
        elif method == "ping":
            say({"id": id, "result": {}})
        elif method == "tools/list":
            for _ in range(2 if MODE == "P-22" else 1):
                answer(id, {"tools": tools()}, say)
        elif method == "tools/call":
            self.call(id, params, say)
        elif method in ("tasks/get", "tasks/cancel") and params["taskId"] in tasks:
            task = tasks[params["taskId"]]
            if method == "tasks/cancel" and task["status"] != "working" and not MODERN:
                say({"id": id, "error": {"code": -32602, "message": "the task is over"}})
                return
            if method == "tasks/cancel" and task["status"] == "working":
                task["status"] = "cancelled"
            answer(id, {} if MODERN and method == "tasks/cancel" else task, say)
        else:
            say({"id": id, "error": {"code": -32601, "message": "no such method"}})


def run_task(name: str, seconds: float) -> None:
    time.sleep(seconds)
    if MODE == "endless-tasks" or tasks[name]["status"] == "working":
        tasks[name]["status"] = "completed"


def answer(id: Any, result: Message, say: Say) -> None:
    cached = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    say({"id": id, "result": {**cached, **result} if MODERN else result})


def tools() -> list[Message]:
    schema = {"type": "object", "properties": {"seconds": {"type": "number", "minimum": 0, "default": 5}}}
    slow: Message = {"name": "slow_work", "inputSchema": schema}
    if "tasks" in MODE:
        slow["execution"] = {"taskSupport": "required" if MODE == "needs-tasks" else "optional"}
    wipe = {"name": "wipe_slowly", "inputSchema": schema, "annotations": {"destructiveHint": True}}
    if MODE == "several":
        return [{**slow, "name": name} for name in ("sleep_long", "sleep_well", "sleep_more")]
    if MODE == "needs-page":
        url = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
        return [slow, {"name": "open_page", "inputSchema": url}]
    return [wipe] if MODE == "harmful" else [slow, wipe]


# -- stdio -------------------------------------------------------------------------------------------------------


def write(message: Message) -> None:
    with LOCK, contextlib.suppress(OSError):
        os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def over_stdio() -> None:
    session, rest = Session(), b""
    if MODE == "P-32":
        os.write(1, b"Server ready\n")
    while chunk := os.read(0, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            session.handle(json.loads(line), write)
    time.sleep(0.1)  # a client that is killed closes its ends one by one
    poll = select.poll()
    poll.register(1, 0)
    broken = bool(poll.poll(0))
    orphan = os.getppid() != PARENT
    stays = {"P-21": not orphan, "P-29": broken and orphan, "P-31": orphan and not broken}
    while stays.get(MODE):
        time.sleep(60)
    os._exit(0)


# -- HTTP --------------------------------------------------------------------------------------------------------

sessions: dict[str, Session] = {}
streams: dict[str, tuple[Session, queue.Queue[Message]]] = {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def empty(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        if not given.sse:
            self.empty(405)
            return
        said: queue.Queue[Message] = queue.Queue()
        name = f"/{len(streams)}"
        streams[name] = Session(), said
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"event: endpoint\ndata: {name}\n\n".encode())
        while not self.hung_up():
            with contextlib.suppress(queue.Empty):
                self.event(said.get(timeout=0.02))
        for call in list(streams[name][0].calls.values()):
            call.stop.set()
        self.close_connection = True

    def event(self, message: Message) -> None:
        with contextlib.suppress(OSError):
            self.wfile.write(b"data: " + json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n\n")

    def do_DELETE(self) -> None:
        if MODE == "P-28":
            os._exit(1)
        session = sessions.pop(self.headers.get("Mcp-Session-Id", ""), None)
        for call in list(session.calls.values()) if session else []:
            call.stop.set()
        self.empty(204 if session else 404)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if given.sse:
            session, said = streams.get(self.path, (None, None))
            if session is not None and said is not None:
                session.handle(message, said.put)
            self.empty(202 if session else 405)
            return
        name = self.headers.get("Mcp-Session-Id", "")
        if MODERN or message.get("method") == "initialize":
            name = "" if MODERN else str(uuid.uuid4())
            session = sessions.setdefault(name, Session())
        elif name in sessions:
            session = sessions[name]
        else:
            self.empty(404)
            return
        if "id" not in message:
            self.notified(session, message)
        else:
            self.stream(session, message, name)

    def notified(self, session: Session, message: Message) -> None:
        said: queue.Queue[Message] = queue.Queue()
        params = message.get("params")
        named = params.get("requestId") if isinstance(params, dict) else None
        call = session.calls.get((type(named), named)) if MODE == "P-25" else None
        cancels = message.get("method") == "notifications/cancelled"
        if not MODERN or not cancels or MODE == "P-19":
            session.handle(message, said.put)
        if call is not None and cancels:
            time.sleep(call.seconds)
        self.empty(202)

    def stream(self, session: Session, message: Message, name: str) -> None:
        said: queue.Queue[Message] = queue.Queue()
        session.handle(message, said.put)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        if MODE == "cuts":
            self.send_header("Content-Length", "1000000")
        if message.get("method") == "initialize":
            self.send_header("Mcp-Session-Id", name)
        self.end_headers()
        self.close_connection = True
        key = type(message["id"]), message["id"]
        call = session.calls.get(key)
        while True:
            try:
                event = said.get(timeout=0.02)
            except queue.Empty:
                if self.hung_up():
                    heeds = MODE == "P-17" or (MODERN and MODE != "P-18")
                    if call is not None and heeds:
                        session.stop(call, "")
                    return
                over = call is None or (call.ended.is_set() and said.empty())
                if call is not None and over and MODE != "P-24":
                    return
                continue
            self.event(event)
            if "id" in event and ("result" in event or "error" in event):
                if MODE != "P-22":
                    return
                call = call or Call(None, said.put, 0.0, None, first=False, silent=True)
                call.ended.set()

    def hung_up(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        try:
            return bool(readable) and not self.connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True


def over_http() -> None:
    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_address[1]}/mcp", flush=True)
    server.serve_forever()


over_http() if given.http or given.sse else over_stdio()
