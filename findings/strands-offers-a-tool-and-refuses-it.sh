#!/usr/bin/env bash
# Package:  strands-agents 1.62.0 with mcp 2.1.1 (Python), as a client. Source: PyPI; https://github.com/strands-agents/harness-sdk
# Behaviour: the model is offered a server's tool `orders.cancel`. When it calls that tool, by that name, it is told "invalid tool name
#   pattern", and nothing is sent to the server. `list_orders` of the same server works.
# Why a good guess is wrong: one expects that a name which an agent cannot use is rewritten (as others do), or refused when the tools are
#   loaded. Here the check comes at the call, so everything looks right: the list, the offer, the model's choice. The specification
#   names dots among the characters of tool names. Who looks at the server's log finds that the tool was never called. (Its sister,
#   @strands-agents/sdk 1.19.0, refuses the whole agent at the loading.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    "strands-agents==${STRANDS_VERSION:-1.62.0}" "mcp==${MCP_VERSION:-2.1.1}"
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
        schema = {"type": "object", "properties": {}}
        names = ("list_orders", "orders.cancel")
        answer = {"result": {"tools": [{"name": name, "description": name, "inputSchema": schema} for name in names]}}
    if message["method"] == "tools/call":
        with open(sys.argv[1], "a") as called:
            called.write(f"{message['params']['name']}\n")
        answer = {"result": {"content": [{"type": "text", "text": "done"}]}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >"$folder/client.py" <<'CLIENT'
import sys
from importlib.metadata import version
from pathlib import Path

from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from strands import Agent
from strands.models import Model
from strands.tools.mcp import MCPClient

server, log = sys.argv[1:]
offered, given = [], {}


class StandIn(Model):
    """A model that calls each tool that it is offered, once, and notes what it is given."""

    def update_config(self, **_):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, *_, **__):
        yield {}

    async def stream(self, messages, tool_specs=None, *_, **__):
        offered[:] = [tool["name"] for tool in tool_specs]
        results = [block["toolResult"] for block in messages[-1]["content"] if "toolResult" in block]
        given.update({result["toolUseId"]: (result["status"], result["content"][0]["text"]) for result in results})
        yield {"messageStart": {"role": "assistant"}}
        for name in [] if results else offered:
            yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": name}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": "{}"}}}}
            yield {"contentBlockStop": {}}
        if results:
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if results else "tool_use"}}


print("strands-agents", version("strands-agents"), "with mcp", version("mcp"))
with MCPClient(lambda: stdio_client(StdioServerParameters(command=sys.executable, args=[server, log]))) as client:
    Agent(model=StandIn(), tools=client.list_tools_sync(), callback_handler=None)("Go.")
called = Path(log).read_text().split()
print("offered to the model:", ", ".join(offered))
for name, (status, text) in sorted(given.items()):
    print(f"{name}: {status}: {text}")
print("calls that the server got:", ", ".join(called))
refused = given["orders.cancel"][0] == "error" and "invalid tool name" in given["orders.cancel"][1]
sys.exit(not (refused and "orders.cancel" in offered and called == ["list_orders"]))
CLIENT
"$folder/venv/bin/python" "$folder/client.py" "$folder/server.py" "$folder/called" 2>"$folder/said" </dev/null ||
    { echo "not so: $(tail -n 3 "$folder/said")"; exit 1; }
