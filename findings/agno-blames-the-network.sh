#!/usr/bin/env bash
# Package:  agno 3.1.10 with fastmcp 4.2.3 (Python), as a client. Source: PyPI; https://github.com/agno-agi/agno
# Behaviour: a JSON-RPC error that a server gave at once is told to the model as "failed: … The MCP server may be unreachable or the
#   request timed out", and the call counts as a success. So does a result with `isError: true`.
# Why a good guess is wrong: the error has a code and a message, so the server was reached and in time. One expects its words alone, and
#   a call that failed. A model or a person who reads it looks for a fault of the network, or calls again.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "agno==${AGNO_VERSION:-3.1.10}" openai fastmcp==4.2.3 mcp==2.3.0
cat >"$folder/server.py" <<'SERVER'
import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if message["method"] == "initialize":
        who = {"name": "orders", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": who}}
    if message["method"] == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object", "properties": {}}} for name in ("error", "result")]
        answer = {"result": {"tools": tools}}
    if message["method"] == "ping":
        answer = {"result": {}}
    if message["method"] == "tools/call":
        answer = {"result": {"content": [{"type": "text", "text": "no such order"}], "isError": True}}
        if message["params"]["name"] == "error":
            answer = {"error": {"code": -32050, "message": "no such order"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >"$folder/client.py" <<'CLIENT'
import asyncio
import sys
from importlib.metadata import version

from agno.tools.function import FunctionCall
from agno.tools.mcp import MCPTools


async def main():
    seen = {}
    async with MCPTools(command=f"{sys.executable} {sys.argv[1]}") as tools:
        for name, function in tools.functions.items():
            call = await FunctionCall(function=function, arguments={}).aexecute()
            seen[name] = (call.status, call.result.content)
            print(f"{name}: {call.status}: {call.result.content}")
    both = all(status == "success" and "no such order" in words for status, words in seen.values())
    return not (both and "may be unreachable or the request timed out" in seen["error"][1])


print("agno", version("agno"), "with fastmcp", version("fastmcp"), "and mcp", version("mcp"))
sys.exit(asyncio.run(main()))
CLIENT
AGNO_TELEMETRY=false "$folder/venv/bin/python" "$folder/client.py" "$folder/server.py" 2>"$folder/said" </dev/null ||
    { echo "not so: $(tail -n 3 "$folder/said")"; exit 1; }
