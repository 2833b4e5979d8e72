"""An MCP server of 2025-11-25 on stdio whose tool ``work`` has one fault: ``faulty_server.py FAULT``.

FAULT is an entry of ``ACTS``, what is written for a call in place of its answer, or one of ``exit`` (with code 3), ``mute``,
``after`` (the answer, and an error, after the cancel), ``on`` (progress after the cancel).
"""
# pyright: basic

from __future__ import annotations

import json
import sys
import threading
import time
from typing import Any

FAULT = sys.argv[1]
TEXT = {"content": [{"type": "text", "text": "fine"}], "structuredContent": {"n": 1}}
STRUCTURED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
TOOL = {"name": "work", "inputSchema": {"type": "object"}, "outputSchema": STRUCTURED}


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def raw(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def progress(token: Any, *values: float) -> None:
    for value in values:
        say(method="notifications/progress", params={"progressToken": token, "progress": value})


def text(*said: str) -> dict[str, Any]:
    return {**TEXT, "content": [{"type": "text", "text": each} for each in said]}


def error(id: Any, code: int, message: str) -> None:
    say(id=id, error={"code": code, "message": message})


ACTS: dict[str, Any] = {
    "iserror": lambda id: say(id=id, result={**text("boom"), "isError": True}),
    "invalid": lambda id: error(id, -32602, "Invalid params"),
    "internal": lambda id: error(id, -32603, "Internal error"),
    "schema": lambda id: say(id=id, result={**TEXT, "structuredContent": {"n": "one"}}),
    "unstructured": lambda id: say(id=id, result={"content": TEXT["content"]}),
    "nothing": lambda id: say(id=id, result=None),
    "both": lambda id: say(id=id, result=TEXT, error={"code": -1, "message": "and an error"}),
    "nan": lambda id: raw(f'{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"n":NaN}}}}'),
    "large": lambda id: say(id=id, result=text("x" * 20_000)),
    "secret": lambda id: say(id=id, result=text("the key is ghp_" + "a1B2" * 9)),
    "trace": lambda id: say(id=id, result=text("fine", 'Traceback (most recent call last):\n  File "x"')),
    "late-text": lambda id: say(id=id, result=text("x" * 5000 + " NEEDLE")),
}
BEFORE: dict[str, Any] = {
    "noise": lambda _: raw("debug: called"),
    "stderr": lambda _: print(
        "Traceback (most recent call last):", "KeyError: 'x'", sep="\n", file=sys.stderr, flush=True
    ),
    "stranger": lambda _: say(id=4711, result=TEXT),
    "nameless": lambda _: say(id=None, error={"code": -32600, "message": "Invalid Request"}),
    "backwards": lambda id: progress(id, 5, 3),
    "foreign": lambda _: progress("nobody's", 1),
    "cancels": lambda id: say(method="notifications/cancelled", params={"requestId": id}),
    "asks": lambda _: say(id="q", method="sampling/createMessage", params={"messages": [], "maxTokens": 1}),
    "changed": lambda _: say(method="notifications/tools/list_changed"),
    "logs": lambda _: say(
        method="notifications/message", params={"level": "error", "data": "database is down"}
    ),
    "batch": lambda _: raw(
        '[{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}]'
    ),
    "text-id": lambda id: say(id=str(id), result=TEXT),
}
AFTER: dict[str, Any] = {"twice": lambda id: say(id=id, result=TEXT), "stray": lambda id: progress(id, 9)}

token: Any = None
calls: list[Any] = []


def work_on() -> None:
    for step in range(2, 100):
        time.sleep(0.02)
        progress(token, step)


for line in sys.stdin:
    message = json.loads(line)
    method, id = message["method"], message.get("id")
    if method == "initialize":
        info = {"name": "faulty", "version": "1"}
        say(
            id=id,
            result={
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}, "logging": {}},
                "serverInfo": info,
            },
        )
    elif method == "tools/list":
        say(id=id, result={"tools": [TOOL], **({"nextCursor": "x"} if FAULT == "cut" else {})})
    elif method == "tools/call":
        calls.append(id)
        token = message["params"].get("_meta", {}).get("progressToken")
        if FAULT == "exit":
            sys.exit(3)
        if FAULT in BEFORE:
            BEFORE[FAULT](token if FAULT == "backwards" else id)
        if FAULT in ACTS:
            ACTS[FAULT](id)
        elif FAULT not in ("mute", "after", "after-error", "on", "text-id"):
            say(id=id, result=TEXT)
        if FAULT in AFTER:
            AFTER[FAULT](token if FAULT == "stray" else id)
        if FAULT == "on":
            progress(token, 1)
    elif method == "notifications/cancelled" and calls:
        if FAULT == "after":
            say(id=calls[-1], result=TEXT)
        elif FAULT == "after-error":
            error(calls[-1], -32800, "cancelled")
        elif FAULT == "on":
            threading.Thread(target=work_on, daemon=True).start()
    elif id is not None and method:
        error(id, -32601, "no such method")
