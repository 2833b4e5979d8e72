#!/usr/bin/env bash
# Packages: toolregistry 0.19.0 with mcp 2.3.0, and chuk-tool-processor 0.26.1, which is below mcp-cli (Python), as clients. Source: PyPI;
#   https://github.com/Oaklight/ToolRegistry, https://github.com/chrishayuk/chuk-tool-processor
# Behaviour: a server answers a call with a JSON-RPC error ("the order was placed already"). toolregistry ends it, starts another, and sends
#   the call again. chuk-tool-processor sends it four times, the last time to another server, and says that the call succeeded: its
#   `error` is None, and its result a text that begins with "Tool execution failed after 4 attempts".
# Why a good guess is wrong: an error with a code and a message is an answer by a server that is well, so one expects it to be passed on. Both
#   take any exception for a lost connection: the tool runs again though it says that it is not idempotent, and what the server knew of
#   its session is gone for all later calls. After a result with `isError: true` both send nothing more.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/server.py" <<'SERVER'
import json
import os
import sys

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"result": {}}
    if message["method"] == "initialize":
        who = {"name": "orders", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": who}}
    if message["method"] == "tools/list":
        never = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False}
        tool = {"name": "place", "description": "place", "inputSchema": {"type": "object", "properties": {}}, "annotations": never}
        answer = {"result": {"tools": [tool]}}
    if message["method"] == "tools/call":
        with open(sys.argv[1], "a") as seen:
            seen.write(f"{os.getpid()}\n")
        answer = {"error": {"code": -32050, "message": "the order was placed already"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >"$folder/client.py" <<'CLIENT'
import asyncio
import logging
import sys
from importlib.metadata import version

package, server, seen = sys.argv[1:]
logging.disable()


def toolregistry():
    from toolregistry import ToolRegistry

    registry = ToolRegistry()
    registry.register({"command": sys.executable, "args": [server, seen]}, source="mcp")
    try:
        return registry["place"]()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def chuk():
    from chuk_tool_processor.mcp import setup_mcp_stdio

    orders = {"name": "orders", "command": sys.executable, "args": [server, seen]}
    processor, manager = await setup_mcp_stdio(servers=[orders], namespace="orders")
    call = {"id": "1", "type": "function", "function": {"name": "orders.place", "arguments": "{}"}}
    async with processor:
        (result,) = await processor.process({"tool_calls": [call]})
    await manager.close()
    return f"error {result.error}, result {str(result.result)[:60]}"


told = toolregistry() if package == "toolregistry" else asyncio.run(chuk())
with open(seen) as file:
    processes = file.read().split()
said = f"{len(processes)} calls in {len(set(processes))} servers; the program is told: {told}"
print(f"{package} {version(package)}: {said}")
expected = "2 calls in 2 servers; the program is told: MCPError: the order was placed already"
if package == "chuk-tool-processor":
    expected = "4 calls in 2 servers; the program is told: error None, result {'error': 'Tool execution failed after 4 attempts:"
sys.exit(not said.startswith(expected))
CLIENT
other=0
while read -r package pins <&3; do
    python3 -m venv "$folder/$package"
    # shellcheck disable=SC2086  # several packages
    "$folder/$package/bin/pip" install --quiet --disable-pip-version-check $pins
    "$folder/$package/bin/python" "$folder/client.py" "$package" "$folder/server.py" "$folder/$package.seen" </dev/null 2>"$folder/said" |
        grep "^$package" || { echo "not so: $(tail -n 3 "$folder/said")"; other=1; }
done 3<<PINS
toolregistry toolregistry[mcp]==${TOOLREGISTRY_VERSION:-0.19.0} mcp==2.3.0
chuk-tool-processor chuk-tool-processor==${CHUK_VERSION:-0.26.1}
PINS
exit "$other"
