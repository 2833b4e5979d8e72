#!/usr/bin/env bash
# Package:  agent-framework-core 1.23.0 (Python), as a client. Source: PyPI; https://github.com/microsoft/agent-framework
# Behaviour: the prompts of a server are given to the model as functions beside its tools, by default; a call of one sends `prompts/get`.
# Why a good guess is wrong: in MCP prompts are for people to choose ("user-controlled") and tools for models, so one expects a class
#   named …Tool to take the tools. A model may call what a server meant for a menu, and a tap counts no `tools/call` for it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    "agent-framework-core==${AGENT_FRAMEWORK_VERSION:-1.23.0}" mcp==2.3.0 tenacity
cat >"$folder/server.py" <<'SERVER'
import json
import sys

text = {"type": "text", "text": "Hello, Ada"}
answers = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "prompts": {}},
        "serverInfo": {"name": "menu", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "add", "inputSchema": {"type": "object", "properties": {}}}]},
    "prompts/list": {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]},
    "prompts/get": {"messages": [{"role": "user", "content": text}]},
    "ping": {},
}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    if message["method"].startswith("prompts/get"):
        with open(sys.argv[1], "a") as log:
            log.write(json.dumps(message["params"]["arguments"]) + "\n")
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if message["method"] in answers:
        answer = {"result": answers[message["method"]]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >"$folder/client.py" <<'CLIENT'
import asyncio
import sys
from importlib.metadata import version
from pathlib import Path

from agent_framework import MCPStdioTool


async def main():
    server, log = sys.argv[1:]
    async with MCPStdioTool(name="menu", command=sys.executable, args=[server, log]) as tool:
        functions = {function.name: function for function in tool.functions}
        print("functions for the model:", list(functions))
        if "greet" not in functions:
            return 1
        await functions["greet"].invoke(arguments={"who": "Ada"})
    sent = Path(log).read_text()
    print("prompts/get was sent with", sent.strip())
    return sent != '{"who": "Ada"}\n'


print("agent-framework-core", version("agent-framework-core"), "with mcp", version("mcp"))
sys.exit(asyncio.run(main()))
CLIENT
"$folder/venv/bin/python" "$folder/client.py" "$folder/server.py" "$folder/log" 2>"$folder/said" </dev/null ||
    { echo "not so: $(tail -n 3 "$folder/said")"; exit 1; }
