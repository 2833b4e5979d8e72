"""A server on stdio of which a seed decides how it behaves: ``server.py SEED FOLDER``.

It logs, notifies, asks, changes its lists, answers late, twice or never, and exits, at random. What it hears goes as JSON
lines into ``heard-PID.jsonl`` in the folder. It imports little, so that it starts at once unless its seed says otherwise.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from typing import Any

PID = os.getpid()
DICE = random.Random(f"{sys.argv[1]} {PID}")
MODERN = DICE.random() < 0.5
REVISION = "2026-07-28" if MODERN else "2025-11-25"
TOOLS = ("quick", "slow", "silent", "late", "twice", "broken", "noisy", "ask", "asks_later", "crash", "work")
SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "any text"},
        "number": {"type": "integer", "minimum": 0},
        "kind": {"enum": ["one", "two"]},
        "sure": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "string"}},
    },
}
FORM = {
    "mode": "form",
    "message": "Really?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "sure": {"type": "boolean", "default": True},
            "why": {"type": "string"},
            "password": {"type": "string"},
        },
        "required": ["sure"],
    },
}
LINK = {"mode": "url", "message": "Sign in", "url": "https://example.com/in", "elicitationId": "e1"}
SAMPLE = {"messages": [{"role": "user", "content": {"type": "text", "text": "Sum it up"}}], "maxTokens": 50}

lock = threading.Lock()
heard = open(os.path.join(sys.argv[2], f"heard-{PID}.jsonl"), "a", encoding="utf-8")  # noqa: PTH118, PTH123, SIM115
listening: list[Any] = []
waiting: dict[int, Any] = {}
state = {"ids": 100, "lists": 0, "calls": 0}


def say(message: dict[str, Any]) -> None:
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def later(seconds: float, act: Any, *given: Any) -> None:
    timer = threading.Timer(seconds, act, given)
    timer.daemon = True
    timer.start()


def result(id_: Any, value: dict[str, Any]) -> None:
    more = {"resultType": "complete"} if MODERN else {}
    say({"id": id_, "result": {**more, **value}})


def text(id_: Any, said: str) -> None:
    result(id_, {"content": [{"type": "text", "text": said}]})


def notify(method: str, params: dict[str, Any]) -> None:
    meta = {"_meta": {"io.modelcontextprotocol/subscriptionId": listening[-1]}} if listening else {}
    say({"method": f"notifications/{method}", "params": {**params, **meta}})


def progress(params: dict[str, Any], count: int) -> None:
    token = params.get("_meta", {}).get("progressToken")
    for done in range(1, count + 1):
        if token is not None:
            later(done * 0.2, notify_progress, token, done, count)


def notify_progress(token: Any, done: int, total: int) -> None:
    say(
        {
            "method": "notifications/progress",
            "params": {"progressToken": token, "progress": done, "total": total, "message": "at it"},
        }
    )


def ask(id_: Any) -> None:
    method, params = DICE.choice(
        [
            ("elicitation/create", FORM),
            ("elicitation/create", LINK),
            ("sampling/createMessage", SAMPLE),
            ("roots/list", {}),
        ]
    )
    if MODERN:
        questions = {"q": {"method": method, "params": params}}
        result(id_, {"resultType": "input_required", "inputRequests": questions, "requestState": "s"})
        return
    state["ids"] += 1
    waiting[state["ids"]] = id_
    say({"id": state["ids"], "method": method, "params": params})
    if DICE.random() < 0.3:
        withdrawn = {"requestId": state["ids"], "reason": "changed my mind"}
        later(DICE.uniform(0, 1), say, {"method": "notifications/cancelled", "params": withdrawn})


def call(id_: Any, params: dict[str, Any]) -> None:
    name = params.get("name")
    state["calls"] += 1
    match name:
        case _ if "inputResponses" in params:
            text(id_, "thank you")
        case "slow" | "work":
            progress(params, 6)
            later(DICE.uniform(0.2, 3), text, id_, "done")
        case "late":
            later(DICE.uniform(0.5, 4), text, id_, "in spite of everything")
        case "silent":
            pass
        case "twice":
            text(id_, "once")
            later(0.3, text, id_, "twice")
        case "broken":
            sys.stdout.write('{"jsonrpc": "2.0", "id": \n')
            say({"id": id_, "result": [1, 2, 3]})
        case "noisy":
            for number in range(60):
                notify("message", {"level": "info", "data": f"line {number} \x1b[31m\ud83d [bold]"})
            result(id_, {"content": [{"type": "text", "text": "wide 漢字 " * 300}], "isError": True})
        case "ask":
            ask(id_)
        case "asks_later":
            later(DICE.uniform(0.2, 1.5), ask, id_)
        case "crash":
            sys.stderr.write("KeyError: 'monkey'\n")
            os._exit(3)
        case _:
            text(id_, json.dumps(params.get("arguments")))


def tools() -> list[dict[str, Any]]:
    names = [*TOOLS, *(f"grown_{number}" for number in range(state["lists"]))]
    return [
        {
            "name": name,
            "description": f"Is {name}.",
            "inputSchema": SCHEMA if number % 2 else {"type": "object"},
        }
        for number, name in enumerate(names)
    ]


def answer(method: str, id_: Any, params: dict[str, Any]) -> None:
    capabilities: dict[str, Any] = {
        "tools": {"listChanged": True},
        "resources": {"subscribe": True, "listChanged": True},
        "prompts": {"listChanged": True},
        "logging": {},
    }
    server = {"serverInfo": {"name": "monkey", "version": "1"}, "capabilities": capabilities}
    match method:
        case "server/discover" if MODERN:
            result(id_, {"supportedVersions": [REVISION], **server})
        case "initialize" if not MODERN:
            result(id_, {"protocolVersion": REVISION, **server})
        case "tools/list":
            result(id_, {"tools": tools()})
        case "resources/list":
            result(id_, {"resources": [{"uri": "mem://a", "name": "a"}, {"uri": "mem://b", "name": "b"}]})
        case "resources/templates/list":
            result(id_, {"resourceTemplates": [{"uriTemplate": "mem://{name}", "name": "by name"}]})
        case "prompts/list":
            result(id_, {"prompts": [{"name": "plain"}, {"name": "asked", "arguments": [{"name": "who"}]}]})
        case "resources/read":
            result(id_, {"contents": [{"uri": params["uri"], "text": "what it holds"}]})
        case "prompts/get":
            said = {"role": "user", "content": {"type": "text", "text": "say it"}}
            result(id_, {"messages": [said]})
        case "completion/complete":
            result(id_, {"completion": {"values": ["some", "thing"]}})
        case "tools/call":
            call(id_, params)
        case "subscriptions/listen":
            listening.append(id_)
            notify("subscriptions/acknowledged", {"notifications": params["notifications"]})
        case "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe":
            result(id_, {})
        case _:
            say({"id": id_, "error": {"code": -32601, "message": f"no {method}"}})


def live() -> None:
    """What the server does unasked: log steadily, change its lists, write to stderr, crash."""
    pace = DICE.choice([0.0, 0.0, 0.3, 0.05])
    until = time.monotonic() + (DICE.uniform(2, 8) if DICE.random() < 0.2 else 3600)
    count = 0
    while True:
        time.sleep(pace or 0.5)
        count += 1
        if pace:
            notify("message", {"level": DICE.choice(["debug", "info", "error"]), "data": f"tick {count}"})
        if DICE.random() < 0.05:
            sys.stderr.write(f"stderr {count}\n")
            sys.stderr.flush()
        if DICE.random() < 0.03:
            state["lists"] = (state["lists"] + 1) % 4
            notify(f"{DICE.choice(['tools', 'prompts', 'resources'])}/list_changed", {})
        if time.monotonic() > until:
            os._exit(DICE.choice([0, 1, 137]))


def main() -> None:
    if DICE.random() < 0.3:
        time.sleep(DICE.uniform(0, 1.5))
    for line in sys.stdin:
        heard.write(line)
        heard.flush()
        message = json.loads(line)
        method, id_ = message.get("method"), message.get("id")
        if method is None and id_ in waiting:
            text(waiting.pop(id_), json.dumps(message.get("result")))
        elif method is not None and id_ is not None:
            answer(method, id_, message.get("params") or {})
        if method in {"notifications/initialized", "tools/list"} and "live" not in state:
            state["live"] = 1
            threading.Thread(target=live, daemon=True).start()


main()
