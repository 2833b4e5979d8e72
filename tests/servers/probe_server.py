"""A server on stdio that breaks one rule of cancellation: ``probe_server.py MODE``.

It stands on the standard library alone and speaks the handshake era, unless its mode says otherwise. Its
tool ``slow_work`` works for ``seconds`` and reports progress; ``wipe_slowly`` looks as slow, but is marked as destructive
and ends the process. Modes:

good              obeys
dies              exits when a call in flight is cancelled
deaf              answers nothing any more once a call in flight was cancelled
selfish           a cancel stops every call in flight
literal           takes the id "1" for 1
talkative         answers a cancel that it has no call for with an error
brittle           exits at a cancel without params
hasty             takes a cancel of initialize, and never answers that
stays             does not exit when its stdin is closed
one-at-a-time     reads nothing while it works
tasks             offers tasks, and cancels them
endless-tasks     offers tasks, and says that they were cancelled, but works on
needs-tasks       offers tasks, and runs its tool as a task only

With ``modern-`` before it, each of the last three speaks 2026-07-28, where the server decides what becomes a task.
harmful           has the destructive tool alone
quick             its tool takes no time
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from typing import Any

MODE = sys.argv[1].removeprefix("modern-")
MODERN = sys.argv[1].startswith("modern-")
EXTENSION = "io.modelcontextprotocol/tasks"
STEPS = 10
LOCK = threading.Lock()

calls: dict[Any, threading.Event] = {}
tasks: dict[str, dict[str, Any]] = {}
state: dict[str, Any] = {"deaf": False, "waiting": None}


def say(message: dict[str, Any]) -> None:
    with LOCK:
        if not state["deaf"]:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()


def tools() -> list[dict[str, Any]]:
    schema = {"type": "object", "properties": {"seconds": {"type": "number", "minimum": 0, "default": 5}}}
    slow: dict[str, Any] = {"name": "slow_work", "inputSchema": schema}
    if "tasks" in MODE:
        slow["execution"] = {"taskSupport": "required" if MODE == "needs-tasks" else "optional"}
    wipe = {"name": "wipe_slowly", "inputSchema": schema, "annotations": {"destructiveHint": True}}
    return [wipe] if MODE == "harmful" else [slow, wipe]


def work(id: Any, seconds: float, token: Any, cancelled: threading.Event) -> None:
    for step in range(1, STEPS + 1):
        if cancelled.wait(seconds / STEPS):
            return
        if token is not None:
            params = {"progressToken": token, "progress": step, "total": STEPS}
            say({"method": "notifications/progress", "params": params})
    calls.pop(id, None)
    say({"id": id, "result": {"content": [{"type": "text", "text": "done"}]}})


def run_task(name: str, seconds: float) -> None:
    time.sleep(seconds)
    if MODE == "endless-tasks" or tasks[name]["status"] == "working":
        tasks[name]["status"] = "completed"


def call(id: Any, params: dict[str, Any]) -> None:
    if params["name"] != "slow_work":
        os._exit(9)
    seconds = float(params.get("arguments", {}).get("seconds", 5))
    if MODE == "quick":
        seconds = 0.0
    about = params.get("_meta", {}).get("io.modelcontextprotocol/clientCapabilities", {})
    as_task = EXTENSION in about.get("extensions", {}) if MODERN else "task" in params
    if as_task and "tasks" in MODE:
        name = f"task-{id}"
        at = "2026-01-01T00:00:00Z"
        ttl = "ttlMs" if MODERN else "ttl"
        tasks[name] = {"taskId": name, "status": "working", ttl: 60000, "createdAt": at, "lastUpdatedAt": at}
        threading.Thread(target=run_task, args=(name, seconds), daemon=True).start()
        say({"id": id, "result": {**tasks[name], "resultType": "task"} if MODERN else {"task": tasks[name]}})
        return
    if MODE == "needs-tasks":
        code = -32003 if MODERN else -32601
        say({"id": id, "error": {"code": code, "message": "this tool runs as a task only"}})
        return
    cancelled = calls[id] = threading.Event()
    token = params.get("_meta", {}).get("progressToken")
    if MODE == "one-at-a-time":
        work(id, seconds, token, cancelled)
    else:
        threading.Thread(target=work, args=(id, seconds, token, cancelled), daemon=True).start()


def cancel(params: Any) -> None:
    if params is None and MODE == "brittle":
        os._exit(1)
    members: dict[str, Any] = params or {}
    named = members.get("requestId")
    if MODE == "literal" and isinstance(named, str) and named.isdigit():
        named = int(named)
    known = isinstance(named, (int, str)) and not isinstance(named, bool) and named in calls
    if not known:
        if MODE == "talkative" and isinstance(named, (int, str)) and not isinstance(named, bool):
            say({"id": None, "error": {"code": -32602, "message": "no such request"}})
        return
    if MODE == "dies":
        os._exit(1)
    calls.pop(named).set()
    if MODE == "deaf":
        state["deaf"] = True
    if MODE == "selfish":
        for other in calls.values():
            other.set()
        calls.clear()


def request(id: Any, method: str, params: dict[str, Any]) -> None:
    if method == "server/discover" and MODERN:
        offered: dict[str, Any] = {"tools": {}, "extensions": {EXTENSION: {}}}
        info = {"name": "probe-server", "version": "1"}
        answer(id, {"supportedVersions": ["2026-07-28"], "capabilities": offered, "serverInfo": info})
    elif method == "initialize" and not MODERN:
        capabilities: dict[str, Any] = {"tools": {}}
        if "tasks" in MODE:
            capabilities["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
        info = {"name": "probe-server", "version": "1"}
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": capabilities,
            "serverInfo": info,
        }
        say({"id": id, "result": result})
    elif method == "ping":
        say({"id": id, "result": {}})
    elif method == "tools/list":
        answer(id, {"tools": tools()})
    elif method == "tools/call":
        call(id, params)
    elif method in ("tasks/get", "tasks/cancel") and params["taskId"] in tasks:
        task = tasks[params["taskId"]]
        if method == "tasks/cancel" and task["status"] != "working" and not MODERN:
            say({"id": id, "error": {"code": -32602, "message": "the task is over"}})
            return
        if method == "tasks/cancel" and task["status"] == "working":
            task["status"] = "cancelled"
        answer(id, {} if MODERN and method == "tasks/cancel" else task)
    else:
        say({"id": id, "error": {"code": -32601, "message": "no such method"}})


def answer(id: Any, result: dict[str, Any]) -> None:
    cached = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    say({"id": id, "result": {**cached, **result} if MODERN else result})


def begin() -> None:
    """Answer an ``initialize`` that was not cancelled meanwhile."""
    message = state["waiting"]
    if message is not None:
        request(message["id"], "initialize", message["params"])
        state["waiting"] = None


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        method, params = message.get("method"), message.get("params")
        if MODE == "hasty" and method == "initialize":
            state["waiting"] = message
            threading.Timer(0.2, begin).start()
        elif method == "notifications/cancelled":
            waiting = state["waiting"]
            members: dict[str, Any] = params or {}
            if waiting is not None and members.get("requestId") == waiting["id"]:
                state["waiting"] = None
            else:
                cancel(params)
        elif "id" in message:
            request(message["id"], str(method), params or {})
    while MODE == "stays":
        time.sleep(60)


main()
