#!/usr/bin/env bash
# Package:  llama-index-tools-mcp 0.6.0 (Python), as a client. Source: PyPI; https://github.com/run-llama/llama_index
# Behaviour: what the model is given as the tool's output is the Python text of the SDK's result object ("meta=None
#   content=[TextContent(type='text', …"), and a result with `isError: true` is an output whose `is_error` is False.
# Why a good guess is wrong: the class has a field for the content and one for failure, so one expects the tool's words in the one and
#   the flag in the other. With a new version of the SDK under it the model reads other words for the same answer.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    "llama-index-tools-mcp==${LLAMA_INDEX_TOOLS_MCP_VERSION:-0.6.0}" "mcp==${MCP_VERSION:-2.3.0}"
cat >"$folder/server.py" <<'SERVER'
import json
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if message["method"] == "initialize":
        who = {"name": "words", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": who}}
    if message["method"] == "tools/list":
        tools = [{"name": name, "inputSchema": {"type": "object", "properties": {}}} for name in ("good", "bad")]
        answer = {"result": {"tools": tools}}
    if message["method"] == "tools/call":
        name = message["params"]["name"]
        answer = {"result": {"content": [{"type": "text", "text": f"{name} words"}], "isError": name == "bad"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >"$folder/client.py" <<'CLIENT'
import asyncio
import sys
from importlib.metadata import version

from llama_index.tools.mcp import BasicMCPClient, McpToolSpec


async def main():
    client = BasicMCPClient(sys.executable, args=[sys.argv[1]])
    tools = {tool.metadata.name: tool for tool in await McpToolSpec(client=client).to_tool_list_async()}
    so = True
    for name in ("good", "bad"):
        output = await tools[name].acall()
        print(f"{name}: is_error {output.is_error}, content {output.content!r}")
        so = so and not output.is_error and output.content.startswith("meta=None content=[TextContent(")
    return not so


print("llama-index-tools-mcp", version("llama-index-tools-mcp"), "with mcp", version("mcp"))
sys.exit(asyncio.run(main()))
CLIENT
"$folder/venv/bin/python" "$folder/client.py" "$folder/server.py" 2>"$folder/said" </dev/null ||
    { echo "not so: $(tail -n 3 "$folder/said")"; exit 1; }
