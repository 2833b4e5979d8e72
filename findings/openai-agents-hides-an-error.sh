#!/usr/bin/env bash
# Package:  openai-agents 0.24.0 (Python), as a client. Source: PyPI; https://github.com/openai/openai-agents-python
# Behaviour: a JSON-RPC error as the answer to a call reaches the model as "An error occurred while running the tool. Please try
#   again.", without the server's words. A result with `isError: true` reaches it with its words, and without the flag.
# Why a good guess is wrong: a protocol error carries a message, and other agents give it to the model. Here a server that says "the
#   order was placed already" by an error tells the model to place it again, and says nothing else; by a result it is heard.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    "openai-agents==${OPENAI_AGENTS_VERSION:-0.24.0}" "mcp==${MCP_VERSION:-2.3.0}"
cat >"$folder/server.py" <<'SERVER'
import json
import sys

words = "the order was placed already"
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
    if message["method"] == "tools/call":
        answer = {"result": {"content": [{"type": "text", "text": words}], "isError": True}}
        if message["params"]["name"] == "error":
            answer = {"error": {"code": -32050, "message": words}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >"$folder/client.py" <<'CLIENT'
import asyncio
import sys
from importlib.metadata import version

from agents import Agent, RunContextWrapper
from agents.mcp import MCPServerStdio, MCPUtil
from agents.tool_context import ToolContext


async def main():
    async with MCPServerStdio(params={"command": sys.executable, "args": [sys.argv[1]]}) as server:
        tools = await MCPUtil.get_function_tools(server, False, RunContextWrapper(None), Agent(name="agent"))
        heard = {}
        for tool in tools:
            context = ToolContext(None, tool_name=tool.name, tool_call_id="1", tool_arguments="{}")
            heard[tool.name] = str(await tool.on_invoke_tool(context, "{}"))
            print(f"{tool.name}: {heard[tool.name]}")
    words = "the order was placed already"
    return words in heard["error"] or "try again" not in heard["error"] or words not in heard["result"]


print("openai-agents", version("openai-agents"), "with mcp", version("mcp"))
sys.exit(asyncio.run(main()))
CLIENT
"$folder/venv/bin/python" "$folder/client.py" "$folder/server.py" 2>"$folder/said" </dev/null ||
    { echo "not so: $(tail -n 3 "$folder/said")"; exit 1; }
