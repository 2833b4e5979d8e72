"""A server on stdio that asks: by requests of its own up to 2025-11-25, by input-required results in 2026-07-28.

``asking_server.py [REVISION]`` speaks one revision. What it hears goes as JSON lines into the file ``$HEARD``. Its tools:
``ask`` (one question), ``login`` (asks for a password and a PIN),
``locked`` (every other call fails, since two URLs have to be opened first),
``both`` (a question and a sampling request), ``folders`` (roots), ``link`` (a URL), ``withdraw``
(asks, and takes it back at the next ping), ``task`` (a task that takes 0.6 s), ``nosy``
(a task that asks), ``endless`` (a task that never ends).
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

REVISION = sys.argv[1] if len(sys.argv) > 1 else "2026-07-28"
MODERN = REVISION >= "2026"
TOOLS = ("ask", "login", "both", "folders", "link", "locked", "withdraw", "task", "nosy", "endless")
TASKS = ("task", "nosy", "endless")
FORM = {
    "mode": "form",
    "message": "Really \x1b[31mdelete\x1b[0m?",
    "requestedSchema": {
        "type": "object",
        "properties": {"sure": {"type": "boolean", "default": True}, "why": {"type": "string"}},
        "required": ["sure"],
    },
}
SAMPLE = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Sum it up"}}],
    "systemPrompt": "Be brief",
    "maxTokens": 50,
}
LOGIN = {
    "mode": "form",
    "message": "Who are you?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "user": {"type": "string"},
            "answer": {"type": "string", "description": "Your password"},
            "digits": {"type": "integer", "title": "PIN"},
        },
    },
}
QUESTIONS: dict[str, dict[str, Any]] = {
    "ask": {"sure": ("elicitation/create", FORM)},
    "login": {"who": ("elicitation/create", LOGIN)},
    "both": {"sure": ("elicitation/create", FORM), "sum": ("sampling/createMessage", SAMPLE)},
    "folders": {"where": ("roots/list", {})},
    "link": {
        "link": (
            "elicitation/create",
            {"mode": "url", "message": "Sign in", "url": "https://example.com/in?a=1", "elicitationId": "e1"},
        )
    },
    "withdraw": {"sure": ("elicitation/create", FORM)},
    "nosy": {"sure": ("elicitation/create", FORM)},
}

lock = threading.Lock()
waiting: dict[Any, tuple[Any, dict[str, Any]]] = {}
tasks: dict[str, dict[str, Any]] = {}
ids = itertools.count(101)
locked = itertools.cycle([True, False])
URLS = [
    {"mode": "url", "elicitationId": f"e{n}", "url": f"https://example.com/{n}", "message": "Sign in"}
    for n in (1, 2)
]


def say(message: dict[str, Any]) -> None:
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def result(id_: Any, value: dict[str, Any]) -> None:
    say({"id": id_, "result": {**({"resultType": "complete"} if MODERN else {}), **value}})


def text(id_: Any, said: Any) -> None:
    result(id_, {"content": [{"type": "text", "text": json.dumps(said, sort_keys=True)}]})


def ask(id_: Any, name: str) -> None:
    """Ask as the revision has it, and answer the call with what came back."""
    questions = QUESTIONS[name]
    if MODERN:
        requests = {key: {"method": method, "params": params} for key, (method, params) in questions.items()}
        result(
            id_,
            {"resultType": "input_required", "inputRequests": requests, "requestState": f"state of {name}"},
        )
        return
    for key, (method, params) in questions.items():
        request = next(ids)
        waiting[request] = (id_, {"key": key, "name": name})
        say({"id": request, "method": method, "params": params})


def withdraw() -> None:
    """Take back what may be taken back, and answer the call."""
    for request, (id_, about) in list(waiting.items()):
        if about["name"] == "withdraw":
            del waiting[request]
            params = {"requestId": request, "reason": "changed my mind"}
            say({"method": "notifications/cancelled", "params": params})
            text(id_, "withdrawn")


def status(task_id: str) -> dict[str, Any]:
    task = tasks[task_id]
    age = time.monotonic() - task["since"]
    state = "working"
    if task.get("cancelled"):
        state = "cancelled"
    elif task["name"] == "nosy" and "given" not in task:
        state = "input_required"
    elif task["name"] != "endless" and age > 0.6:
        state = "completed"
    times = {"ttlMs": 60000, "pollIntervalMs": 100} if MODERN else {"ttl": 60000, "pollInterval": 100}
    made: dict[str, Any] = {
        "taskId": task_id,
        "status": state,
        "statusMessage": f"is {state}",
        "createdAt": "x",
        "lastUpdatedAt": "x",
    }
    made.update(times)
    if MODERN and state == "input_required":
        made["inputRequests"] = {"sure": {"method": "elicitation/create", "params": FORM}}
    if MODERN and state == "completed":
        made["result"] = {"content": [{"type": "text", "text": json.dumps(task.get("given", "done"))}]}
    return made


def call(id_: Any, params: dict[str, Any]) -> None:
    name = params["name"]
    if name in TASKS and (MODERN or "task" in params):
        task_id = f"task-{len(tasks) + 1}"
        tasks[task_id] = {"name": name, "since": time.monotonic()}
        made = {**status(task_id), "status": "working"}
        made.pop("inputRequests", None)
        result(id_, {"resultType": "task", **made} if MODERN else {"task": made})
    elif name == "locked" and next(locked):
        say(
            {"id": id_, "error": {"code": -32042, "message": "sign in first", "data": {"elicitations": URLS}}}
        )
    elif "inputResponses" in params or name == "locked":
        text(
            id_,
            {
                "given": params.get("inputResponses", params.get("arguments")),
                "state": params.get("requestState"),
            },
        )
    else:
        ask(id_, name)


def answered(message: dict[str, Any]) -> None:
    held = waiting.pop(message["id"], None)
    if held is None:
        return
    id_, about = held
    given = message.get("result", message.get("error"))
    if about["name"] == "nosy":
        tasks[about["task"]]["given"] = given
    elif not any(other == id_ for other, _ in waiting.values()):
        text(id_, {"given": given})


def fetch(id_: Any, task_id: str) -> None:
    """``tasks/result``, which answers when there is one, and asks for what the task needs."""
    if tasks[task_id]["name"] == "nosy":
        request = next(ids)
        waiting[request] = (id_, {"name": "nosy", "task": task_id})
        meta = {"io.modelcontextprotocol/related-task": {"taskId": task_id}}
        say({"id": request, "method": "elicitation/create", "params": {**FORM, "_meta": meta}})

    def wait() -> None:
        while status(task_id)["status"] not in ("completed", "cancelled"):
            time.sleep(0.05)
        result(id_, {"content": [{"type": "text", "text": json.dumps(tasks[task_id].get("given", "done"))}]})

    threading.Thread(target=wait, daemon=True).start()


def handle(message: dict[str, Any]) -> None:  # noqa: C901 - one case a method
    method, id_ = message.get("method"), message.get("id")
    params: dict[str, Any] = message.get("params") or {}
    match method:
        case None:
            answered(message)
        case "server/discover" if MODERN:
            server = {"name": "asking", "version": "1"}
            capabilities: dict[str, Any] = {"tools": {"listChanged": True}, "resources": {"subscribe": True}}
            result(id_, {"supportedVersions": [REVISION], "capabilities": capabilities, "serverInfo": server})
        case "initialize":
            tasked: dict[str, Any] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
            capabilities: dict[str, Any] = {
                "tools": {},
                "resources": {"subscribe": True},
                "tasks": tasked,
                "logging": {},
            }
            server = {"name": "asking", "version": "1"}
            result(id_, {"protocolVersion": REVISION, "capabilities": capabilities, "serverInfo": server})
        case "tools/list":
            listed = [
                {
                    "name": name,
                    "inputSchema": {"type": "object"},
                    **({"execution": {"taskSupport": "required"}} if name in TASKS else {}),
                }
                for name in TOOLS
            ]
            result(id_, {"tools": listed})
        case "tools/call":
            call(id_, params)
        case "tasks/get" if params.get("taskId") in tasks:
            result(id_, status(params["taskId"]))
        case "tasks/update":
            tasks[params["taskId"]]["given"] = params["inputResponses"]
            result(id_, {})
        case "tasks/result":
            fetch(id_, params["taskId"])
        case "tasks/cancel" if params.get("taskId") in tasks:
            tasks[params["taskId"]]["cancelled"] = True
            result(id_, {} if MODERN else status(params["taskId"]))
        case "subscriptions/listen":
            meta = {"io.modelcontextprotocol/subscriptionId": id_}
            wanted = params["notifications"]
            say(
                {
                    "method": "notifications/subscriptions/acknowledged",
                    "params": {"_meta": meta, "notifications": wanted},
                }
            )
            for uri in wanted.get("resourceSubscriptions", ()):
                say({"method": "notifications/resources/updated", "params": {"_meta": meta, "uri": uri}})
        case "resources/subscribe":
            result(id_, {})
            say({"method": "notifications/resources/updated", "params": {"uri": params["uri"]}})
        case "resources/unsubscribe" | "logging/setLevel":
            result(id_, {})
        case "ping":
            withdraw()
            result(id_, {})
        case _ if id_ is not None:
            say(
                {
                    "id": id_,
                    "error": {
                        "code": -32602 if str(method).startswith("tasks/") else -32601,
                        "message": "no",
                    },
                }
            )
        case _:
            pass


for line in sys.stdin:
    heard = json.loads(line)
    if "HEARD" in os.environ:
        with Path(os.environ["HEARD"]).open("a", encoding="utf-8") as file:
            file.write(line)
    handle(heard)
