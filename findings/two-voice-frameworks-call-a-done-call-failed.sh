#!/usr/bin/env bash
# Packages: livekit-agents 1.8.9 and pipecat-ai 1.14.0 with mcp 2.3.0 (Python), as clients of voice agents. Source: PyPI;
#   https://github.com/livekit/agents, https://github.com/pipecat-ai/pipecat
# Behaviour: a tool ran, and its result has structured content and no text. livekit tells its model, as an error, that the tool "completed
#   without producing a result. This might indicate an issue with internal processing", pipecat "Sorry, could not call the mcp tool".
#   A result with no content at all is told the same. A text block is to livekit's model the JSON of the block, of a JSON-RPC error it
#   is told "An internal error occurred".
# Why a good guess is wrong: a client that reads text alone gives its model nothing, as others do, and nothing is no failure. Here a call that
#   was done is told as one that was not: a model that places an order with such a tool places it again, or tells a caller on the
#   phone that it did not work.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/server.py" <<'SERVER'
import json
import sys

results = {
    "data": {"result": {"content": [], "structuredContent": {"order": 7}}},
    "nothing": {"result": {"content": []}},
    "text": {"result": {"content": [{"type": "text", "text": "order 7"}]}},
    "error": {"error": {"code": -32050, "message": "the order was placed already"}},
}
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
        answer = {"result": {"tools": [{"name": name, "description": name, "inputSchema": schema} for name in results]}}
    if message["method"] == "tools/call":
        answer = results[message["params"]["name"]]
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >"$folder/client.py" <<'CLIENT'
import asyncio
import logging
import sys
from importlib.metadata import version
from types import SimpleNamespace

package, server = sys.argv[1:]
names = ("data", "nothing", "text", "error")
logging.disable()


async def livekit():
    from livekit.agents.llm import FunctionToolCall, ToolContext, execute_function_call, mcp

    orders = mcp.MCPServerStdio(command=sys.executable, args=[server])
    await orders.initialize()
    tools = ToolContext(await orders.list_tools())
    for name in names:
        result = await execute_function_call(FunctionToolCall(name=name, arguments="{}", call_id=name), tools)
        yield result.fnc_call_out.output, result.fnc_call_out.is_error
    await orders.aclose()


async def pipecat():
    from mcp import StdioServerParameters
    from pipecat.services.mcp_service import MCPClient

    async with MCPClient(StdioServerParameters(command=sys.executable, args=[server])) as client:
        handlers = {tool.name: tool.handler for tool in (await client.tools()).standard_tools}
        for name in names:
            told = []

            async def say(words, **_):
                told.append(words)

            await handlers[name](SimpleNamespace(function_name=name, tool_call_id=name, arguments={}, result_callback=say))
            yield told[0], False


async def main():
    told = [each async for each in (livekit() if package == "livekit-agents" else pipecat())]
    print(package, version(package))
    for name, (words, failed) in zip(names, told):
        print(f"  {name}: {words!r}", "as an error" if failed else "")
    (data, error), nothing, (text, _), (lost, _) = told
    if package == "livekit-agents":
        same = nothing[0] == data.replace("'data'", "'nothing'") and nothing[1]
        return not (error and same and "without producing a result" in data and '"text":"order 7"' in text and "internal" in lost)
    return (data, nothing[0], text) != ("Sorry, could not call the mcp tool",) * 2 + ("order 7",)


sys.exit(asyncio.run(main()))
CLIENT
other=0
while read -r package pins <&3; do
    python3 -m venv "$folder/$package"
    # shellcheck disable=SC2086  # several packages
    "$folder/$package/bin/pip" install --quiet --disable-pip-version-check $pins
    "$folder/$package/bin/python" "$folder/client.py" "$package" "$folder/server.py" </dev/null 2>"$folder/said" ||
        { echo "not so: $(tail -n 3 "$folder/said")"; other=1; }
    rm -rf "${folder:?}/$package"
done 3<<PINS
livekit-agents livekit-agents[mcp]==${LIVEKIT_VERSION:-1.8.9} mcp==2.3.0
pipecat-ai pipecat-ai[mcp]==${PIPECAT_VERSION:-1.14.0} mcp==2.3.0
PINS
exit "$other"
