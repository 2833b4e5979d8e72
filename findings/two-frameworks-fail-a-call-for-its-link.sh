#!/usr/bin/env bash
# Packages: autogen-ext 0.7.5 and semantic-kernel 1.45.0 with mcp 1.30.0 (Python), as clients. Source: PyPI;
#   https://github.com/microsoft/autogen, https://github.com/microsoft/semantic-kernel
# Behaviour: a tool ran and answered with a text and a `resource_link`. To autogen's agent that is an error ("Unknown content type from
#   server"), to semantic-kernel an exception ("Failed to call tool"). Nothing of the text is left.
# Why a good guess is wrong: a block that a client cannot use is left out, or shown as JSON, as others do. semantic-kernel even has a
#   branch for this block; what it makes of it is refused by its own check. A server that adds a link to the report it wrote turns a
#   call that was done into one that failed, and a model calls again.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/server.py" <<'SERVER'
import json
import sys

text = {"type": "text", "text": "the order is placed"}
link = {"type": "resource_link", "uri": "https://example.com/orders/7", "name": "order 7", "mimeType": "text/html"}
results = {"text": {"content": [text]}, "link": {"content": [text, link]}}
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
cat >"$folder/call.py" <<'CALL'
import asyncio
import sys
from importlib.metadata import version

package, server = sys.argv[1:]
words = "the order is placed"


async def autogen(name):
    from autogen_ext.tools.mcp import McpWorkbench, StdioServerParams

    async with McpWorkbench(StdioServerParams(command=sys.executable, args=[server])) as workbench:
        result = await workbench.call_tool(name, {})
    return "an error" if result.is_error else "a result", result.to_text()


async def semantic_kernel(name):
    from semantic_kernel.connectors.mcp import MCPStdioPlugin

    async with MCPStdioPlugin(name="orders", command=sys.executable, args=[server]) as plugin:
        try:
            return "a result", " ".join(str(each) for each in await plugin.call_tool(name))
        except Exception as error:
            return "an error", str(error)


call = {"autogen-ext": autogen, "semantic-kernel": semantic_kernel}[package]
print(package, version(package), "with mcp", version("mcp"))
seen = {name: asyncio.run(call(name)) for name in ("text", "link")}
for name, (kind, text) in seen.items():
    print(f"  {name}: {kind}: {text.strip()}")
sys.exit(not (seen["text"] == ("a result", words) and seen["link"][0] == "an error" and words not in seen["link"][1]))
CALL
other=0
while read -r package pins <&3; do
    python3 -m venv "$folder/$package"
    # shellcheck disable=SC2086  # several packages
    "$folder/$package/bin/pip" install --quiet --disable-pip-version-check $pins
    "$folder/$package/bin/python" "$folder/call.py" "$package" "$folder/server.py" </dev/null 2>"$folder/said" ||
        { echo "not so: $(tail -n 3 "$folder/said")"; other=1; }
    rm -rf "${folder:?}/$package"
done 3<<PINS
autogen-ext autogen-ext[mcp]==0.7.5 mcp==1.30.0
semantic-kernel semantic-kernel[mcp]==1.45.0 mcp==1.30.0
PINS
exit "$other"
