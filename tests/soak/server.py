"""The server of the soak: each call says how it is answered, and a log says what was read and written, line by line."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

LOG = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
TOOL = {"name": "soak", "inputSchema": {"type": "object"}}
WRITING = threading.Lock()


def log(what: str, id_: object) -> None:
    """One line."""
    os.write(LOG, f"{what} {id_}\n".encode())


def send(message: dict[str, Any]) -> None:
    """Write one message."""
    with WRITING:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def answer(id_: object) -> None:
    """Answer a call."""
    send({"id": id_, "result": {"content": [{"type": "text", "text": f"answer to {id_}"}]}})
    log("answered", id_)


def called(message: dict[str, Any]) -> None:
    """Answer now, later, never, or end."""
    id_, how = message["id"], message["params"]["arguments"]
    log("called", id_)
    for number in range(how.get("progress", 0)):
        token = message["params"]["_meta"]["progressToken"]
        send({"method": "notifications/progress", "params": {"progressToken": token, "progress": number + 1}})
    match how["how"]:
        case "now":
            answer(id_)
        case "later":
            timer = threading.Timer(how["after"], answer, (id_,))
            timer.daemon = True
            timer.start()
        case "exit":
            os._exit(3)
        case _:
            pass


for line in sys.stdin:
    message = json.loads(line)
    match message.get("method"):
        case "initialize":
            info = {"name": "soak", "version": "1"}
            result: dict[str, Any] = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": info,
            }
            send({"id": message["id"], "result": result})
        case "tools/list":
            send({"id": message["id"], "result": {"tools": [TOOL]}})
        case "tools/call":
            called(message)
        case "notifications/cancelled":
            log("cancelled", message["params"]["requestId"])
        case _ if "id" in message:
            send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        case _:
            pass
