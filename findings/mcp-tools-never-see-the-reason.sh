#!/usr/bin/env bash
# Package:  mcp 2.3.0 (the official Python SDK), as a server. Source: PyPI; https://github.com/modelcontextprotocol/python-sdk
# Behaviour: a tool that is cancelled gets an exception whose text names a cancel scope and a task of the event loop; the
#   `reason` of `notifications/cancelled` is in none of its arguments.
# Why a good guess is wrong: asyncio's cancel carries a message for this purpose, and the notification has the reason in the
#   same place for every server. Yet what a person typed reaches the server's process and ends there: a tool cannot log why
#   it was stopped.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0
cat >"$folder/server.py" <<'SERVER'
import asyncio
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("reasons")
begun, seen = Path(sys.argv[1]), Path(sys.argv[2])


@server.tool()
async def slow() -> str:
    begun.touch()
    try:
        await asyncio.sleep(60)
    except BaseException as error:
        seen.write_text(" ".join((type(error).__name__, *map(str, error.args))))
        raise
    return "done"


server.run(transport="stdio")
SERVER
cat >"$folder/client.py" <<'CLIENT'
import json
import subprocess
import sys
import time
from pathlib import Path

begun, seen = Path(sys.argv[1]), Path(sys.argv[2])
server = subprocess.Popen([*sys.argv[3:], begun, seen], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def send(**message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def until(true):
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "it took longer than a minute"
        time.sleep(0.05)


who = {"name": "client", "version": "1"}
send(id=1, method="initialize", params={"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who})
next(message for message in map(json.loads, server.stdout) if message.get("id") == 1)
send(method="notifications/initialized")
send(id=2, method="tools/call", params={"name": "slow", "arguments": {}})
until(begun.exists)
send(method="notifications/cancelled", params={"requestId": 2, "reason": "the wrong table"})
until(lambda: seen.exists() and seen.read_text())
print("the tool saw:", seen.read_text()[:120])
server.kill()
server.wait()
sys.exit("the wrong table" in seen.read_text() or not seen.read_text().startswith("CancelledError"))
CLIENT
"$folder/venv/bin/python" -c 'from importlib.metadata import version; print("mcp", version("mcp"))'
python3 "$folder/client.py" "$folder/begun" "$folder/seen" "$folder/venv/bin/python" "$folder/server.py"
