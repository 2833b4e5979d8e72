"""A server of 2025-11-25 on stdio whose one tool, ``odd``, does what it is told: ``late_server.py (call | cancel) STEP…``.

Its steps begin when it is called, or when that is cancelled, and each passes when the test allows it. A step is a line to
be written, in which ``ID`` is the id of the call, ``exit CODE``, or ``torn CODE``: an exit within a line.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from controlled import Controlled  # pyright: ignore[reportMissingImports] - it stands beside this file

WHEN, *STEPS = sys.argv[1:]
RESULTS: dict[str, Any] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "late", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "odd", "inputSchema": {"type": "object"}}]},
}
CONTROL: Any = Controlled()


def put(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def go_on(id: int) -> None:
    for step in STEPS:
        CONTROL.step("odd")
        word, _, code = step.partition(" ")
        if word == "torn":
            os.write(1, b'{"jsonrpc":"2.0","id":%d,"res' % id)
        if word in ("exit", "torn"):
            os._exit(int(code))
        put(step.replace("ID", str(id)))
        CONTROL.tell("said", line=step)


called = 0
for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    if method == "tools/call":
        called = message["id"]
        if WHEN == "call":
            go_on(called)
    elif method == "notifications/cancelled" and WHEN == "cancel":
        CONTROL.tell("cancelled", id=message["params"]["requestId"])
        go_on(called)
    elif "id" in message:
        known = RESULTS.get(method)
        answer = {"result": known} if known else {"error": {"code": -32601, "message": "no such method"}}
        put(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}))
