"""A server of 2025-11-25 on stdio that does one thing wrong, in plain Python: the mode says which.

It has the tool ``odd``, which must be called as a task in the modes that begin with ``task``.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

MODE = sys.argv[1]


def put(raw: bytes) -> None:
    sys.stdout.buffer.write(raw)
    sys.stdout.buffer.flush()


def say(id: Any, **answer: Any) -> None:
    put(json.dumps({"jsonrpc": "2.0", "id": id, **answer}).encode() + b"\n")


held: list[Any] = []
"""The ids of probes that are not answered yet."""


def discover(id: Any) -> None:
    if MODE == "slow-and-modern":
        held.append(id)
    elif MODE == "asks":
        versions: dict[str, Any] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        say(id, result={"resultType": "complete", **versions})
    else:
        say(id, error={"code": -32601, "message": "no such method"})


def initialize(id: Any) -> None:
    if MODE == "slow-and-modern":
        versions: dict[str, Any] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        say(held.pop(), result={"resultType": "complete", **versions})
        say(id, result={"protocolVersion": "2026-07-28", "capabilities": {}, "serverInfo": {"name": "slow"}})
        return
    if MODE == "hostile-refusal":
        say(id, error={"code": -32000, "message": "no\x1b[31m\nway\u202e"})
        return
    capabilities: dict[str, Any] = {"tools": {}}
    if MODE.startswith("task"):
        capabilities["tasks"] = {"requests": {"tools": {"call": {}}}}
    server = {"name": "contract", "version": "1"}
    say(id, result={"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": server})


def listed(id: Any) -> None:
    tool: dict[str, Any] = {"name": "odd", "inputSchema": {"type": "object"}}
    if MODE.startswith("task"):
        tool["execution"] = {"taskSupport": "required"}
    say(id, result={"tools": "none" if MODE == "no-list" else [tool]})


def task() -> dict[str, Any]:
    when = "2026-01-01T00:00:00Z"
    times = {"createdAt": when, "lastUpdatedAt": when, "ttl": 60_000, "pollInterval": 500}
    return {"taskId": "one", "status": "working", **times}


def odd(id: Any, params: dict[str, Any]) -> None:
    match MODE:
        case "cut":
            put(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"hal' % id)
            os._exit(4)
        case "no-newline":
            put(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"whole"}]}}' % id)
            os._exit(4)
        case "error-data":
            say(id, error={"code": -32602, "message": "bad", "data": {"why": ["too", "short"]}})
        case "error-empty":
            say(id, error={"code": -1, "message": ""})
        case "negative-total":
            token = params["_meta"]["progressToken"]
            told = {"progressToken": token, "progress": 2, "total": -4}
            note = {"jsonrpc": "2.0", "method": "notifications/progress", "params": told}
            put(json.dumps(note).encode() + b"\n")
            say(id, result={"content": []})
        case "asks":
            form: dict[str, Any] = {
                "message": "who?",
                "mode": "form",
                "requestedSchema": {"type": "object", "properties": {}},
            }
            asked: dict[str, Any] = {"who": {"method": "elicitation/create", "params": form}}
            say(id, result={"resultType": "input_required", "inputRequests": asked})
        case "task-no-cancel":
            say(id, result={"task": task()})
        case "task-no-handle":
            pass
        case _:
            raise SystemExit(MODE)


for line in sys.stdin.buffer:
    message: dict[str, Any] = json.loads(line)
    match message.get("method"):
        case "server/discover":
            discover(message["id"])
        case "initialize":
            initialize(message["id"])
        case "tools/list":
            listed(message["id"])
        case "tools/call":
            odd(message["id"], message["params"])
        case "tasks/get":
            say(message["id"], result=task())
        case _ if "id" in message:
            say(message["id"], error={"code": -32601, "message": "no such method"})
        case _:
            pass
