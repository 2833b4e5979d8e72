"""A server that breaks one rule of the probe: ``probe_server.py MODE [--http | --sse] [--modern] [--heartbeat FILE]``.

It stands on the standard library alone and speaks the handshake era, or 2026-07-28 with ``--modern``, over stdio, over
HTTP, or over the HTTP+SSE of 2024-11-05; of the last two it prints its URL. Its tool ``slow_work`` works for ``seconds`` in
ten steps, with progress and a heartbeat; ``wipe_slowly`` looks as slow, but is marked as destructive and ends the process.
MODE is ``RULE:KIND``, the rule to break and how (the table at the end of ``tests/probe/test_servers.py`` has all), or one of

good              obeys
cold              obeys; its first call takes three times as long
dies              exits when a call in flight is cancelled
one-at-a-time     reads nothing while it works
tasks             offers tasks, and cancels them; endless-tasks says so, but works on; needs-tasks has them alone
exclusive         refuses a call while another one works
once              its tool fails when it is called for the second time in a session
harmful           has the destructive tool alone
joins             obeys; a request that is delivered twice runs once, and each delivery gets the answer
quick             its tool takes no time
several           has three slow tools, of which the second reports progress
needs-page        its tool fails until open_page was called on the same connection
drops             obeys, and works on after a cancel without a word, as SDKs do that drop what a cancelled tool sends
cleans            obeys, and logs while it works, and while it cleans up
named             obeys; over HTTP its progress is in events of another name

Any other MODE may end in ``:text``, ``:float``, or ``:own``, for progress under the token in another type, or under its own.

A KIND is what is done to the next call, or to the call in flight that is to be left alone (``spoil`` and ``hit``), or what a
cancelled call still sends (``answer``).
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

RULE, _, KIND = given.mode.partition(":")
MODERN = given.modern
EXTENSION = "io.modelcontextprotocol/tasks"
STEPS = 10
PARENT = os.getppid()
LOCK = threading.Lock()

BEATEN = bool(given.heartbeat) and Path(given.heartbeat).exists() and Path(given.heartbeat).stat().st_size > 0
"""Whether a call worked before this process began, so that the probe's control run is over."""

SPOILS = ("exit", "dead", "iserror", "error", "early", "empty", "late", "list", "unlisted")
LATER = ("P-01", "P-02", "P-05", "P-16")
HITS = ("hit-stop", "hit-iserror", "hit-error", "hit-early", "hit-mute")

Message = dict[str, Any]
Say = Callable[[Message], None]

tasks: dict[str, Message] = {}
spoiled = {"by": ""}
"""What is done to the next calls. It is that of the whole process, so that over HTTP other sessions have it, too."""


def beat() -> None:
    if given.heartbeat:
        with Path(given.heartbeat).open("a") as file:
            file.write(".")


def text(said: str) -> list[Message]:
    return [{"type": "text", "text": said}]


def error(code: int, said: str) -> Message:
    return {"error": {"code": code, "message": said}}


DONE: Message = {"result": {"content": text("done")}}
FAILED: Message = {"result": {"content": text("this session was cancelled"), "isError": True}}


def spoil(kind: str = KIND) -> None:
    """Does something to the next calls."""
    if kind == "exit":
        os._exit(1)
    if kind in SPOILS:
        spoiled["by"] = kind


def later(seconds: float, call: Callable[..., object], *values: object) -> None:
    threading.Timer(seconds, call, values).start()


class Call:
    """A call at work. ``ending`` is what it answers when it is stopped; ``unheard``: nobody is told of its end."""

    def __init__(self, id: Any, say: Say, seconds: float, token: Any, *, first: bool, silent: bool) -> None:
        self.id, self.say, self.seconds, self.token = id, say, seconds, token
        self.first, self.silent = first, silent
        self.stop = threading.Event()
        self.ending: Message = {}
        self.step = 0
        self.started = time.monotonic()
        self.ended = threading.Event()

    def progress(self, step: float) -> None:
        if self.token is not None and not self.silent:
            shapes: dict[str, Callable[[Any], Any]] = {"text": str, "float": float, "own": "work-{}".format}
            token = shapes[KIND](self.token) if KIND in shapes else self.token
            params = {"progressToken": token, "progress": step, "total": STEPS}
            self.say({"method": "notifications/progress", "params": params})

    def work(self) -> bool:
        """Whether it worked to its end."""
        pause = self.seconds / STEPS * (3 if RULE == "cold" and self.first else 1)
        for self.step in range(STEPS):
            if self.stop.wait(pause):
                return False
            beat()
            self.progress(self.step + 1)
            if RULE == "cleans":
                self.log(f"step {self.step}")
        return True

    def log(self, said: str) -> None:
        self.say({"method": "notifications/message", "params": {"level": "info", "data": said}})

    def left(self) -> float:
        """The seconds of its work that are left."""
        return max(0.0, self.started + self.seconds - time.monotonic())

    def hit(self, kind: str = KIND) -> None:
        """Does something to a call that was to be left alone."""
        endings = {"hit-iserror": FAILED, "hit-error": error(-32603, "aborted"), "hit-early": DONE}
        self.ending = endings.get(kind, {})
        if kind == "hit-mute":
            self.silent = True
        elif kind in HITS:
            self.stop.set()

    def works_on(self, seconds: float) -> None:
        """Goes on beating, without a word."""
        pause = self.seconds / STEPS
        for step in range(1, int(seconds / pause) + 2):
            later(step * pause, beat)


class Session:
    """The calls of one session, and what it does with a message."""

    def __init__(self) -> None:
        self.calls: dict[tuple[type, Any], Call] = {}
        self.known: dict[tuple[type, Any], Call] = {}
        self.cancelled: set[Any] = set()
        self.answered: dict[Any, tuple[float, Say]] = {}
        self.waiting: threading.Timer | None = None
        self.opening: Any = None
        self.count = 0
        self.page = ""

    # -- calls ---------------------------------------------------------------------------------------------------

    def call(self, id: Any, params: Message, say: Say) -> None:
        name = params["name"]
        if name == "wipe_slowly":
            os._exit(9)
        if name == "open_page":
            self.page = params["arguments"]["url"]
            say({"id": id, "result": {"content": []}})
            return
        if given.http and not MODERN and (type(id), id) in self.known and self.again((type(id), id), id, say):
            return
        refusal = self.refusal()
        if refusal is not None:
            if refusal:
                say({"id": id, **refusal})
            return
        seconds = 0.0 if RULE == "quick" else float(params.get("arguments", {}).get("seconds", 5))
        if self.as_task(id, params, say, seconds):
            return
        self.count += 1
        token = params.get("_meta", {}).get("progressToken")
        silent = (RULE == "several" and name != "sleep_well") or (RULE, KIND) in (
            ("P-34", "quiet"),
            ("P-34", "handed"),
        )
        call = Call(id, say, seconds, token, first=self.count == 1 and not BEATEN, silent=silent)
        self.calls[type(id), id] = self.known[type(id), id] = call
        if RULE == "one-at-a-time":
            self.run(call)
        else:
            threading.Thread(target=self.run, args=(call,), daemon=True).start()

    def again(self, key: tuple[type, Any], id: Any, say: Say) -> bool:
        """Whether a request that was delivered before does not run again, but gets an answer."""
        call = self.known[key]
        flies = key in self.calls
        if (RULE, KIND, flies) == ("P-34", "handed", True):
            call.say = say
            return True
        if RULE == "P-34" and KIND in (
            "handed",
            "each",
            "quiet",
            "override",
            "in-flight" if flies else "answered",
        ):
            if KIND == "override" and flies:  # as some SDKs: the answers go where the id was seen last
                call.say = say
            return False
        if RULE in ("joins", "P-34"):  # the one answer is kept for it
            threading.Thread(target=lambda: (call.ended.wait(), say({"id": id, **DONE})), daemon=True).start()
        else:
            say({"id": id, **error(-32600, "a request with this id came before")})
        return True

    def refusal(self) -> Message | None:
        """What a call is answered with that does not begin, nothing if it is never answered; ``None`` if it begins."""
        if RULE == "needs-page" and self.page != "1":
            return {"result": {"isError": True, "content": text("No page is open")}}
        if RULE == "once" and self.count:
            return {"result": {"isError": True, "content": text("It was done already")}}
        if RULE == "exclusive" and self.calls:
            return error(-32603, "busy")
        if RULE == "P-30":
            try:
                os.write(2, b"working\n")
            except OSError:
                return FAILED if KIND == "iserror" else {} if KIND == "dead" else os._exit(1)
        by = spoiled["by"]
        if by == "error":
            spoiled["by"] = ""  # once is enough
        return {"dead": {}, "iserror": FAILED, "error": error(-32000, "poisoned"), "early": DONE}.get(by)

    def run(self, call: Call) -> None:
        if spoiled["by"] == "late" and call.seconds:
            time.sleep(4.0)
        done = call.work()
        self.calls.pop((type(call.id), call.id), None)
        ending = DONE if done else call.ending
        if ending:
            # before it is said: a cancel may follow at once
            self.answered[call.id] = time.monotonic(), call.say
            empty = done and spoiled["by"] == "empty"
            call.say({"id": call.id, **({"result": {"content": []}} if empty else ending)})
            if (RULE, KIND) == ("P-22", "later"):
                later(1.0, call.say, {"id": call.id, **ending})
            if (RULE, KIND) == ("P-22", "text-id"):
                later(0.1, call.say, {"id": str(call.id), **ending})
        call.ended.set()

    def as_task(self, id: Any, params: Message, say: Say, seconds: float) -> bool:
        about = params.get("_meta", {}).get("io.modelcontextprotocol/clientCapabilities", {})
        wanted = EXTENSION in about.get("extensions", {}) if MODERN else "task" in params
        if wanted and with_tasks():
            name, at = f"task-{id}", "2026-01-01T00:00:00Z"
            ttl = "ttlMs" if MODERN else "ttl"
            task = {"taskId": name, "status": "working", ttl: 60000, "createdAt": at, "lastUpdatedAt": at}
            tasks[name] = task
            threading.Thread(target=run_task, args=(name, seconds), daemon=True).start()
            say({"id": id, "result": {**task, "resultType": "task"} if MODERN else {"task": task}})
        elif RULE == "needs-tasks":
            code = -32003 if MODERN else -32601
            say({"id": id, **error(code, "this tool runs as a task only")})
        else:
            return False
        return True

    # -- cancels -------------------------------------------------------------------------------------------------

    def cancel(self, params: Any, say: Say) -> None:
        members: Message = params if isinstance(params, dict) else {}
        id, reason = members.get("requestId"), members.get("reason", "")
        together = str(reason).endswith("in one write")  # two writes may well be read at once, too
        if RULE == "P-15" and self.opening is not None and id == self.opening:
            self.initialize_cancelled(say)
            return
        if RULE == "P-11":
            id = self.mistaken(params, id, say)
        if RULE == "P-13" and isinstance(id, str) and id.isdigit():
            call = self.calls.get((int, int(id)))
            if call is not None:
                call.hit()
            spoil()
        if isinstance(id, float) and id.is_integer():
            id = int(id)  # JSON makes no difference
        if type(id) not in (int, str) or (RULE == "P-23" and id == 0 and KIND == "ignored"):
            return
        call = self.calls.get((type(id), id))
        if call is None:
            self.cancel_nobody(id, say)
            return
        others = [each for each in self.calls.values() if each is not call]
        if RULE == "P-12" and {"null": None, "number": 42}.get(KIND.partition("-")[0], 42) == reason:
            if KIND == "null":
                os._exit(1)
            if KIND == "number-refused":
                say({"id": None, **error(-32602, "a reason is a text")})
            if KIND.endswith("hit"):
                for other in others:
                    other.hit("hit-early")
            spoil(KIND.rpartition("-")[2])
        if RULE == "P-07" and KIND == "before" and time.monotonic() >= call.started + 0.8 * call.seconds:
            os._exit(1)
        self.cancelled.add(id)
        self.stop(call, str(reason), together=together, say=say)

    def cancel_nobody(self, id: Any, say: Say) -> None:
        """Cancels a call that is over, or never was."""
        known, over = id in self.cancelled, self.answered.get(id)
        refusal: Message = {"id": None, **error(-32602, "no such request")}
        unknown = id in (987_654_321, "no-such-request")
        recent = over is not None and time.monotonic() < over[0] + 0.15
        faulty = {
            "P-07": recent,
            "P-08": known,
            "P-09": over is not None and not recent,
            "P-10": unknown,
        }.get(RULE)
        if RULE == "P-26" and known:
            refused = error(-32800, "cancelled again")
            say({"id": id, **refused})
            if KIND == "later":
                later(0.4, say, {"id": id, **DONE})
            else:
                say({"id": str(id) if KIND == "text-id" else id, **refused})
        if not faulty:
            return
        if KIND == "null":
            say(refusal)
        if KIND == "again" and over is not None:
            over[1]({"id": id, **DONE})
        for call in list(self.calls.values()):
            call.hit()
        spoil()

    def initialize_cancelled(self, say: Say) -> None:
        assert self.waiting is not None
        if KIND == "never":
            self.waiting.cancel()
        if KIND == "refused":
            self.waiting.cancel()
            say({"id": self.opening, **error(-32800, "cancelled")})
        if KIND == "null":
            say({"id": None, **error(-32600, "initialize cannot be cancelled")})
        spoil()

    def mistaken(self, params: Any, id: Any, say: Say) -> Any:
        """What a careless server makes of a malformed cancel."""
        if (KIND, params) in (("dies", None), ("later", {"requestId": 2.5})):
            os._exit(1)
        if KIND == "later" and id is True:  # of which it dies when it has read the next one
            say({"id": 1, **error(0, "Request cancelled")})
        if KIND == "truth-early" and id is True:
            call = self.calls.get((int, 1))
            if call is not None:
                call.hit("hit-early")
        if KIND == "half-iserror" and id == 2.5:
            call = self.calls.get((int, 2))
            if call is not None:
                call.hit("hit-iserror")
        if isinstance(id, dict):
            spoil()
            if KIND == "refused":
                say({"id": None, **error(-32602, "requestId is a text or a number")})
        taken = {"null": params == {"requestId": None}, "array": isinstance(params, list)}
        return 4 if taken.get(KIND) else id

    def stop(self, call: Call, reason: str, *, together: bool = False, say: Say = lambda _: None) -> None:
        if RULE == "dies":
            os._exit(1)
        timeout = reason.startswith("timed out")
        mid = time.monotonic() > call.started + call.seconds / 4  # as far from "at once" as from the half
        ordinary = mid and not timeout
        others = [each for each in self.calls.values() if each is not call]
        older = [each for each in others if each.started < call.started]
        if RULE == "P-14" and len(others) == 1:
            for other in older if KIND == "older" else others:
                other.hit("hit-early" if KIND == "older" else KIND)
        broken = {
            "P-01": ordinary,
            "P-02": ordinary,
            "P-03": True,
            "P-05": not mid and not together,
            "P-16": timeout,
            "P-18": MODERN,
            "P-23": call.id == 0,
            "P-27": together,
            "P-33": together,
        }.get(RULE, False)
        if broken and KIND == "ignored":
            return
        call.stop.set()
        call.ended.wait(1.0)
        if broken:
            self.answer(call, say)
        if RULE == "drops":
            call.works_on(call.left())
        if RULE == "cleans":
            for step in (1, 2, 3):
                later(0.08 * step, call.log, f"cleaning up {step}")
        spoils = {
            "P-04": mid and not timeout,
            "P-06": not mid and bool(reason) and not together,
            "P-16": timeout,
            "P-23": call.id == 0,
            "P-27": together,
        }
        if spoils.get(RULE):
            spoil()

    def answer(self, call: Call, say: Say) -> None:
        """Sends what a cancelled call still sends, or works on."""
        refused = error(-32800, "Request cancelled")
        if KIND == "error":
            call.say({"id": call.id, **refused})
        if KIND == "text-id":
            call.say({"id": str(call.id), **refused})
        if KIND == "null":
            (call.say if given.http else say)({"id": None, **refused})
        if KIND == "result":
            call.say({"id": call.id, **DONE})
        if KIND == "malformed":
            call.say({"id": call.id, "result": "cancelled"})
        if KIND == "late":
            later(call.left(), call.say, {"id": call.id, **DONE})
        waits = {
            "one": (0.5,),
            "resume": (0.45, 0.9),
            **dict.fromkeys(("progress", "text", "float", "own"), (0.4, 0.6)),
        }
        for number, wait in enumerate(waits.get(KIND, ())):
            later(wait, call.progress, call.step + number + 1)
        if KIND == "silent":
            call.works_on(call.left())
        if KIND == "longer":
            call.works_on(2 * call.left())
        if KIND == "child":
            work_in_a_child(call.left())
        if KIND == "pretends":  # answered at once, and works on
            call.say({"id": call.id, **DONE})
            call.works_on(call.left())

    def disconnected(self, call: Call) -> None:
        """The stream of a call was closed, in the era in which that is no cancel."""
        if RULE == "P-17" and KIND in ("stops", "slows"):
            later(0.0 if KIND == "stops" else 0.1, call.stop.set)
        if RULE == "P-17":
            spoil()

    # -- requests ------------------------------------------------------------------------------------------------

    def handle(self, message: Message, say: Say) -> None:
        method, params = message.get("method"), message.get("params")
        if method == "notifications/cancelled":
            if RULE == "P-32" and KIND == "cancel":
                os.write(1, b"cancelled a call\n")
            self.cancel(params, say)
        elif RULE == "P-15" and method == "initialize":
            self.opening = message["id"]
            self.waiting = threading.Timer(0.2, self.request, (message["id"], method, params or {}, say))
            self.waiting.start()
        elif "id" in message:
            self.request(message["id"], str(method), params or {}, say)

    def request(self, id: Any, method: str, params: Message, say: Say) -> None:
        info = {"name": "probe-server", "version": "1"}
        if method == "server/discover" and MODERN:
            offered: Message = {"tools": {}, "extensions": {EXTENSION: {}} if with_tasks() else {}}
            answer(
                id, {"supportedVersions": ["2026-07-28"], "capabilities": offered, "serverInfo": info}, say
            )
        elif method == "initialize" and not MODERN:
            offered = {"tools": {}, "logging": {}}
            if with_tasks():
                offered["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
            version = params["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": offered, "serverInfo": info}
            say({"id": id, "result": result})
        elif method == "ping":
            say({"id": id, "result": {}})
            if RULE == "P-22" and KIND == "ping":
                say({"id": id, "result": {}})
        elif method == "tools/list":
            self.list_tools(id, say)
        elif method == "tools/call":
            self.call(id, params, say)
        elif method in ("tasks/get", "tasks/cancel") and params["taskId"] in tasks:
            self.about_task(id, method, tasks[params["taskId"]], say)
        else:
            say({"id": id, **error(-32601, "no such method")})

    def list_tools(self, id: Any, say: Say) -> None:
        if RULE == "P-32" and KIND == "json":
            os.write(1, b'{"level": "info", "msg": "tools were listed"}\n')
        if spoiled["by"] == "unlisted":
            spoiled["by"] = ""
            say({"id": id, **error(-32000, "poisoned")})
            return
        for _ in range(2 if (RULE, KIND) == ("P-22", "list") else 1):
            answer(id, {"tools": [] if spoiled["by"] == "list" else tools()}, say)

    def about_task(self, id: Any, method: str, task: Message, say: Say) -> None:
        if method == "tasks/get":
            answer(id, task, say)
            return
        if (RULE, KIND) == ("P-20", "refused"):
            say({"id": id, **error(-32603, "tasks are not cancelled here")})
            return
        if task["status"] != "working" and not MODERN and (RULE, KIND) != ("P-20", "twice"):
            say({"id": id, **error(-32602, "the task is over")})
            return
        if task["status"] == "working" and (RULE, KIND) != ("P-20", "acknowledged"):
            task["status"] = "cancelled"
        shown = {**task, "taskId": "task-0"} if (RULE, KIND) == ("P-20", "other") else task
        answer(id, {} if MODERN and KIND != "other" else shown, say)
        if RULE == "P-20":
            spoil()


def with_tasks() -> bool:
    return "tasks" in RULE or RULE == "P-20"


def run_task(name: str, seconds: float) -> None:
    works_on = RULE == "endless-tasks" or (RULE, KIND) == ("P-20", "works-on")
    for _ in range(STEPS):
        if tasks[name]["status"] != "working" and not works_on:
            return
        time.sleep(seconds / STEPS)
        beat()
    if RULE == "endless-tasks" or tasks[name]["status"] == "working":
        tasks[name]["status"] = "completed"


def answer(id: Any, result: Message, say: Say) -> None:
    cached = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    say({"id": id, "result": {**cached, **result} if MODERN else result})


def tools() -> list[Message]:
    schema = {"type": "object", "properties": {"seconds": {"type": "number", "minimum": 0, "default": 5}}}
    slow: Message = {"name": "slow_work", "inputSchema": schema}
    if with_tasks():
        slow["execution"] = {"taskSupport": "required" if RULE == "needs-tasks" else "optional"}
    wipe = {"name": "wipe_slowly", "inputSchema": schema, "annotations": {"destructiveHint": True}}
    if RULE == "several":
        return [{**slow, "name": name} for name in ("sleep_long", "sleep_well", "sleep_more")]
    if RULE == "needs-page":
        url = {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]}
        return [slow, {"name": "open_page", "inputSchema": url}]
    return [wipe] if RULE == "harmful" else [slow, wipe]


def work_in_a_child(seconds: float, beats: bool = True) -> None:
    """Works on in a process of its own, which nothing ties to the server but its process group."""
    if os.fork():
        return
    for stream in range(3):
        os.close(stream)
    for _ in range(int(seconds / 0.08) + 1):
        time.sleep(0.08)
        if beats:
            beat()
    os._exit(0)


# -- stdio -------------------------------------------------------------------------------------------------------


def write(message: Message) -> None:
    with LOCK, contextlib.suppress(OSError):
        os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def over_stdio() -> None:
    session, rest = Session(), b""
    if RULE == "P-32" and KIND == "start":
        os.write(1, b"Server ready\n")
    while chunk := os.read(0, 1 << 16):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            session.handle(json.loads(line), write)
    if (
        RULE == "P-32" and KIND == "end"
    ):  # as Python writes a plain print of a tool of mcp 2.3.0, which it kept until now
        os.write(1, b"the tool printed this\n")
    time.sleep(0.1)  # a client that is killed closes its ends one by one
    poll = select.poll()
    poll.register(1, 0)
    broken = bool(poll.poll(0))
    orphan = os.getppid() != PARENT
    stays = {"P-21": not orphan, "P-29": broken and orphan, "P-31": orphan and not broken}.get(RULE, False)
    stays = stays and not (KIND == "busy" and not session.calls)
    if stays and KIND == "child":
        work_in_a_child(60.0, beats=False)
        stays = False
    while stays:
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
        named = RULE == "named" and message.get("method") == "notifications/progress"
        with contextlib.suppress(OSError):
            self.wfile.write(
                b"event: progress\n" * named
                + b"data: "
                + json.dumps({"jsonrpc": "2.0", **message}).encode()
                + b"\n\n"
            )

    def do_DELETE(self) -> None:
        if RULE == "P-28":
            for session in sessions.values():
                for call in list(session.calls.values()):
                    call.hit()
            spoil()
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
        call = session.calls.get((type(named), named)) if RULE == "P-25" else None
        cancels = message.get("method") == "notifications/cancelled"
        if MODERN and cancels and RULE == "P-19":
            target = session.calls.get((type(named), named))
            if target is not None:
                target.hit()
                spoil()
        elif not MODERN or not cancels or RULE in ("P-10", "P-11"):
            session.handle(message, said.put)
        if call is not None and cancels and KIND == "hangs":
            time.sleep(call.seconds)
        if call is not None and cancels and KIND == "refused":
            self.empty(500)
            return
        if call is not None and cancels and KIND == "error":
            body = json.dumps({"jsonrpc": "2.0", "id": None, **error(-32600, "not now")}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.empty(202)

    def stream(self, session: Session, message: Message, name: str) -> None:
        said: queue.Queue[Message] = queue.Queue()
        session.handle(message, said.put)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        if RULE == "cuts":
            self.send_header("Content-Length", "1000000")
        if message.get("method") == "initialize":
            self.send_header("Mcp-Session-Id", name)
        self.end_headers()
        self.close_connection = True
        key = type(message["id"]), message["id"]
        call = session.calls.get(key)
        told, ended = time.monotonic(), 0.0
        while True:
            try:
                event = said.get(timeout=0.02)
            except queue.Empty:
                if self.hung_up():
                    if call is not None and MODERN:
                        session.stop(call, "")
                    elif call is not None:
                        session.disconnected(call)
                    return
                over = call is None or (call.ended.is_set() and said.empty())
                # what a cancelled call still sends comes a little later
                # What a cancelled call still sends comes a little later, and a faulty stream ends later or never.
                stays = {"P-24": 4.0 if KIND == "lingers" else 1e9, "cleans": 0.5}.get(
                    RULE, 1.0 if RULE in LATER else 0.0
                )
                if call is not None and over:
                    ended = ended or time.monotonic()
                    if time.monotonic() >= ended + stays:
                        return
                if (RULE, KIND) == ("P-24", "pings") and time.monotonic() > told + 0.1:
                    told = time.monotonic()
                    with contextlib.suppress(OSError):
                        self.wfile.write(b": still here\n\n")
                continue
            self.event(event)
            if "id" in event and ("result" in event or "error" in event):
                if RULE != "P-22":
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
