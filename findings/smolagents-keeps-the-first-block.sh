#!/usr/bin/env bash
# Packages: smolagents 1.26.0 with mcpadapt 0.1.19 (Python), as a client. Source: PyPI; https://github.com/huggingface/smolagents,
#   https://github.com/grll/mcpadapt
# Behaviour: of a result with two text blocks the agent gets the first. A result with `isError: true` comes back as an ordinary return
#   value. One tool whose input schema is `{"type": "object"}`, without `properties`, ends the loading of all tools with a KeyError.
# Why a good guess is wrong: each part is so plain that one expects it to work: blocks are joined, errors raise, and a tool without
#   parameters has none. A server that puts a summary before its data seems to return the summary alone, and failures seem to be data.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    "smolagents==${SMOLAGENTS_VERSION:-1.26.0}" "mcpadapt==${MCPADAPT_VERSION:-0.1.19}" mcp==1.30.0
cat >"$folder/server.py" <<'SERVER'
import json
import sys


def text(*words, failed=False):
    return {"content": [{"type": "text", "text": word} for word in words], "isError": failed}


results = {"two": text("summary", "data"), "failing": text("no such order", failed=True)}
schema = {"type": "object"} if "bare" in sys.argv else {"type": "object", "properties": {}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {}
    if message["method"] == "initialize":
        who = {"name": "blocks", "version": "1"}
        answer = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": who}
    if message["method"] == "tools/list":
        answer = {"tools": [{"name": name, "description": name, "inputSchema": schema} for name in results]}
    if message["method"] == "tools/call":
        answer = results[message["params"]["name"]]
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": answer}), flush=True)
SERVER
cat >"$folder/client.py" <<'CLIENT'
import sys
from importlib.metadata import version

from mcp import StdioServerParameters
from smolagents import MCPClient

print(*(f"{name} {version(name)}" for name in ("smolagents", "mcpadapt", "mcp")))


def server(*words):
    return StdioServerParameters(command=sys.executable, args=[sys.argv[1], *words])


with MCPClient(server(), structured_output=False) as tools:
    two, failing = (tool() for tool in sorted(tools, key=lambda tool: tool.name == "failing"))
try:
    with MCPClient(server("bare"), structured_output=False) as tools:
        bare = f"{len(tools)} tools"
except KeyError as error:
    bare = f"KeyError: {error}"
print(f"two blocks: {two!r}; isError: {failing!r}; schema without properties: {bare}")
sys.exit((two, failing, bare) != ("summary", "no such order", "KeyError: 'properties'"))
CLIENT
"$folder/venv/bin/python" "$folder/client.py" "$folder/server.py" 2>"$folder/said" </dev/null ||
    { echo "not so: $(tail -n 3 "$folder/said")"; exit 1; }
