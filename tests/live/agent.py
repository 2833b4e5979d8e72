"""An agent: a client with several servers, each behind a tap of its own. ``agent.py NAME SERVER…``

It calls ``silent``, which never answers, on each server. What comes of that is printed as one line of JSON. A line on stdin,
the name of a server, starts that one again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from threading import Thread
from typing import Any, Final

NAME: Final = sys.argv[1]
SERVER: Final = """import json, sys
for line in sys.stdin:
    id, result = json.loads(line).get("id"), {"protocolVersion": "2025-06-18", "capabilities": {}}
    if id in (0, 1):
        result["serverInfo"] = {"name": "silent", "version": "1"}
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": {"tools": []} if id else result}), flush=True)
"""


def start(server: str) -> subprocess.Popen[bytes]:
    """Starts a server, and calls a tool there."""
    command = [
        sys.executable,
        "-m",
        "mcp_tui",
        "tap",
        "--name",
        server,
        "--",
        sys.executable,
        "-S",
        "-c",
        SERVER,
    ]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    version = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": NAME, "version": "1"},
    }
    messages: list[dict[str, Any]] = [
        {"id": 0, "method": "initialize", "params": version},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/list"},
        {"id": 7, "method": "tools/call", "params": {"name": "silent", "arguments": {}}},
    ]
    for each in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n")
    process.stdin.flush()
    Thread(target=read, args=(server, process), daemon=True).start()
    return process


def read(server: str, process: subprocess.Popen[bytes]) -> None:
    """Prints what comes of the call."""
    assert process.stdout is not None
    for line in process.stdout:
        message = json.loads(line)
        if message.get("id") == 7:
            print(json.dumps([server, message["result"]["content"][0]["text"]]), flush=True)


running = {server: start(server) for server in sys.argv[2:]}
for name in map(str.strip, sys.stdin):
    stdin = running[name].stdin
    assert stdin is not None
    stdin.close()
    running[name].wait()
    running[name] = start(name)
