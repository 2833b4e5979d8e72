#!/usr/bin/env bash
# Package:  semantic-kernel 1.45.0 with mcp 1.30.0 (Python), as a client. Source: PyPI; https://github.com/microsoft/semantic-kernel
# Behaviour: of a server with the tools `list_orders` and `orders.cancel` the kernel takes neither: "KernelFunction failed to
#   initialize". With `orders/cancel` it takes both, and calls the second `orders-cancel`.
# Why a good guess is wrong: the plugin rewrites names that the kernel does not take, so one expects a dot to be rewritten as a slash is,
#   or that tool alone to be left out. But the plugin lets a dot stand, the kernel does not, and one name takes all tools of the
#   server away. The specification names dots among the characters of tool names.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    "semantic-kernel[mcp]==${SEMANTIC_KERNEL_VERSION:-1.45.0}" "mcp==${MCP_VERSION:-1.30.0}"
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
        names = ["list_orders", sys.argv[1]]
        answer = {"result": {"tools": [{"name": name, "description": name, "inputSchema": schema} for name in names]}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >"$folder/client.py" <<'CLIENT'
import asyncio
import sys
from importlib.metadata import version

from semantic_kernel import Kernel
from semantic_kernel.connectors.mcp import MCPStdioPlugin


async def functions(name):
    async with MCPStdioPlugin(name="orders", command=sys.executable, args=[sys.argv[1], name]) as plugin:
        try:
            return sorted(Kernel().add_plugin(plugin).functions)
        except Exception as error:
            return str(error)


print("semantic-kernel", version("semantic-kernel"), "with mcp", version("mcp"))
slash, dot = (asyncio.run(functions(name)) for name in ("orders/cancel", "orders.cancel"))
print("a server with list_orders and orders/cancel:", slash)
print("a server with list_orders and orders.cancel:", dot)
sys.exit(not (slash == ["list_orders", "orders-cancel"] and "failed to initialize" in dot))
CLIENT
"$folder/venv/bin/python" "$folder/client.py" "$folder/server.py" 2>"$folder/said" </dev/null ||
    { echo "not so: $(tail -n 3 "$folder/said")"; exit 1; }
