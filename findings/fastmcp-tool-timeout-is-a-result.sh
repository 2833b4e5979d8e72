#!/usr/bin/env bash
# Package:  fastmcp 4.2.3 (Python), as a server. Source: PyPI; https://github.com/PrefectHQ/fastmcp
# Behaviour: a tool declared with `timeout=0.3` that takes longer is answered with a *result* whose `isError` is true.
# Why a good guess is wrong: inside the server the timeout is raised as an MCP error, so one expects a JSON-RPC error, as
#   every client sees for its own limit. A client that tells "timed out" from "the tool failed" by error or result takes the
#   server's own limit for a failure of the tool.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check fastmcp==4.2.3
cat >"$folder/server.py" <<'SERVER'
import asyncio

from fastmcp import FastMCP

server = FastMCP("timeouts")


@server.tool(timeout=0.3)
async def slow() -> str:
    await asyncio.sleep(30)
    return "done"


server.run(transport="stdio", show_banner=False)
SERVER
cat >"$folder/client.py" <<'CLIENT'
import json
import subprocess
import sys

server = subprocess.Popen(
    sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
)


def send(**message):
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    server.stdin.flush()


def answer(id):
    return next(message for message in map(json.loads, server.stdout) if message.get("id") == id)


who = {"name": "client", "version": "1"}
send(id=1, method="initialize", params={"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who})
answer(1)
send(method="notifications/initialized")
send(id=2, method="tools/call", params={"name": "slow", "arguments": {}})
answered = answer(2)
print("seen:", json.dumps(answered))
server.kill()
server.wait()
sys.exit(not ("error" not in answered and answered["result"]["isError"] is True))
CLIENT
"$folder/venv/bin/python" -c 'from importlib.metadata import version; print("fastmcp", version("fastmcp"))'
python3 "$folder/client.py" "$folder/venv/bin/python" "$folder/server.py"
