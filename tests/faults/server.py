"""A server on stdio that behaves but for one thing. Usage: server.py WHEN CODE

WHEN is the method before whose answer CODE is run (``start``: before anything is read; ``odd``: a call of that tool).
CODE has ``say`` (one message), ``write`` (bytes), ``answer`` and ``error`` (to what is asked), and ends with ``skip()``
where the usual answer is not to follow.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import Any, NoReturn

when, code = sys.argv[1:3]
out = sys.stdout.buffer
asked: dict[str, Any] = {}


class Skip(Exception):
    pass


def skip() -> NoReturn:
    raise Skip


def write(raw: bytes) -> None:
    out.write(raw)
    out.flush()


def say(**message: Any) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def note(method: str, **params: Any) -> None:
    say(method="notifications/" + method, params=params)


def answer(result: Any, id: Any = None) -> None:
    say(id=asked["id"] if id is None else id, result=result)


def error(code: Any, message: Any, **more: Any) -> None:
    say(id=asked["id"], error={"code": code, "message": message, **more})


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def result(method: str) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "faulty", "version": "1"}
        capabilities: dict[str, Any] = {"tools": {}, "logging": {}}
        return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("odd", "ok")]}
    return text("ok") if method == "tools/call" else {}


def run(name: str) -> None:
    if name == when:
        exec(code, {**globals(), "os": os, "note": note, "error": error})


with contextlib.suppress(Skip):
    run("start")
for line in sys.stdin.buffer:
    asked = json.loads(line)
    method = asked.get("method")
    if "id" not in asked or method is None:
        continue
    with contextlib.suppress(Skip):
        run("odd" if asked.get("params", {}).get("name") == "odd" else method)
        if method in ("initialize", "tools/list", "tools/call", "ping", "logging/setLevel"):
            answer(result(method))
        else:
            error(-32601, "no such method")
