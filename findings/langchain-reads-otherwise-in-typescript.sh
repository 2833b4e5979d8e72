#!/usr/bin/env bash
# Packages: langchain-mcp-adapters 0.3.2 with mcp 1.30.0 (Python) and @langchain/mcp-adapters 1.1.4 (TypeScript), as clients. Source:
#   PyPI, npm; https://github.com/langchain-ai/langchain-mcp-adapters, https://github.com/langchain-ai/langchainjs
# Behaviour: one server, the same four results. Text with structured content: Python gives the model the text, TypeScript a JSON text
#   with both. An embedded resource: Python its text, TypeScript nothing of it. Text with audio: Python raises NotImplementedError,
#   TypeScript gives both blocks. `isError: true`: Python a message marked as an error, TypeScript raises.
# Why a good guess is wrong: both are adapters of one project, with the same names for their parts, so one expects that an agent that is
#   moved from one language to the other reads the same. Each of the four differs, and the loss of a file is silent.
# Versions: Holds in langchain-mcp-adapters 0.3.2; 0.1.14 and 0.2.2 raise for `isError: true`, too.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-fund --no-audit --legacy-peer-deps "@langchain/mcp-adapters@${ADAPTERS_JS_VERSION:-1.1.4}" \
    @langchain/core@1.4.0 @langchain/langgraph@1.7.3
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check "langchain-mcp-adapters==${ADAPTERS_VERSION:-0.3.2}" mcp==1.30.0 2>/dev/null
cat >server.py <<'SERVER'
import json
import sys

text = {"type": "text", "text": "3 orders are late"}
file = {"uri": "file:///late.csv", "mimeType": "text/csv", "text": "order 7, order 8"}
results = {
    "structured": {"content": [text], "structuredContent": {"late": 3}},
    "embedded": {"content": [text, {"type": "resource", "resource": file}]},
    "audio": {"content": [text, {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}]},
    "failing": {"content": [text], "isError": True},
}
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
        answer = {"result": {"tools": [{"name": name, "description": name, "inputSchema": schema} for name in results]}}
    if message["method"] == "tools/call":
        answer = {"result": results[message["params"]["name"]]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >client.py <<'CLIENT'
import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main():
    server = {"command": sys.executable, "args": ["server.py"], "transport": "stdio"}
    seen = {}
    for tool in await MultiServerMCPClient({"orders": server}).get_tools():
        try:
            message = await tool.ainvoke({"id": "1", "name": tool.name, "args": {}, "type": "tool_call"})
            blocks = [{key: value for key, value in block.items() if key != "id"} for block in message.content]
            seen[tool.name] = f"{message.status}: {json.dumps(blocks)}"
        except Exception as error:
            seen[tool.name] = f"raises {type(error).__name__}: {error}"
    print(json.dumps(seen))


asyncio.run(main())
CLIENT
cat >client.mjs <<'CLIENT'
import { MultiServerMCPClient } from "@langchain/mcp-adapters";

const seen = {};
for (const tool of await new MultiServerMCPClient({ mcpServers: { orders: { command: "python3", args: ["server.py"] } } }).getTools()) {
    try {
        const message = await tool.invoke({ id: "1", name: tool.name, args: {}, type: "tool_call" });
        seen[tool.name] = `${message.status}: ${JSON.stringify(message.content)}`;
    } catch (error) {
        seen[tool.name] = `raises ${error.constructor.name}: ${error.message}`;
    }
}
console.log(JSON.stringify(seen));
process.exit();
CLIENT
cat >compare.py <<'COMPARE'
import json
import subprocess
import sys
from importlib.metadata import version

with open("node_modules/@langchain/mcp-adapters/package.json") as package:
    javascript = json.load(package)["version"]
print("langchain-mcp-adapters", version("langchain-mcp-adapters"), "and @langchain/mcp-adapters", javascript)
quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "timeout": 100}
commands = [sys.executable, "client.py"], ["node", "client.mjs"]
python, typescript = (json.loads(subprocess.check_output(command, **quiet)) for command in commands)
for name in python:
    print(f"{name}:\n  Python:     {python[name]}\n  TypeScript: {typescript[name]}")
structured = "structuredContent" in typescript["structured"] and '"late": 3' not in python["structured"]
embedded = "order 7" in python["embedded"] and "order 7" not in typescript["embedded"]
audio = "NotImplementedError" in python["audio"] and "UklGRg" in typescript["audio"]
failing = python["failing"].startswith("error: ") and typescript["failing"].startswith("raises ")
sys.exit(not (structured and embedded and audio and failing))
COMPARE
venv/bin/python compare.py
