#!/usr/bin/env bash
# Package:  mcp-use 1.7.1 with mcp 1.30.0 (Python), as a client of agents. Source: PyPI; https://github.com/mcp-use/mcp-use
# Behaviour: a result with `isError: true` reaches the model as an object with the exception that the client raised, its own traceback
#   (its files with their paths, and its lines of code), and the server's sentence three times. To LangChain the call is a success.
# Why a good guess is wrong: the tool answered with one sentence for the model, so one expects that sentence, marked as an error. A
#   traceback looks like a fault of the program: a model, or a person who reads along, looks for it in the client, where nothing failed.
# Versions: Holds in 1.7.1; 1.5.0 gives the model the server's sentence.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "mcp-use==${MCP_USE_VERSION:-1.7.1}" "mcp==${MCP_VERSION:-1.30.0}"
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
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": who}}
    if message["method"] == "tools/list":
        schema = {"type": "object", "properties": {}}
        answer = {"result": {"tools": [{"name": "cancel", "description": "cancels an order", "inputSchema": schema}]}}
    if message["method"] == "tools/call":
        answer = {"result": {"content": [{"type": "text", "text": "there is no order 7"}], "isError": True}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >"$folder/client.py" <<'CLIENT'
import asyncio
import logging
import sys
from importlib.metadata import version

from mcp_use import MCPClient
from mcp_use.agents.adapters import LangChainAdapter


async def main():
    client = MCPClient({"mcpServers": {"orders": {"command": sys.executable, "args": [sys.argv[1]]}}})
    await client.create_all_sessions()
    (tool,) = await LangChainAdapter().create_tools(client)
    message = await tool.ainvoke({"id": "1", "name": "cancel", "args": {}, "type": "tool_call"})
    await client.close_all_sessions()
    return message


logging.disable()
print("mcp-use", version("mcp-use"), "with mcp", version("mcp"))
message = asyncio.run(main())
print("status:", message.status)
print("the model is given:", str(message.content).replace("\\n", "\n"))
shown = all(words in message.content for words in ("Traceback", "langchain_adapter.py", "there is no order 7"))
sys.exit(not (shown and message.status == "success" and message.content.count("there is no order 7") >= 3))
CLIENT
MCP_USE_ANONYMIZED_TELEMETRY=false "$folder/venv/bin/python" "$folder/client.py" "$folder/server.py" 2>"$folder/said" </dev/null ||
    { echo "not so: $(tail -n 3 "$folder/said")"; exit 1; }
