#!/usr/bin/env bash
# Packages: llama-index-tools-mcp 0.6.0, mcp-haystack 2.1.1, smolagents 1.26.0 with mcpadapt 0.1.19, google-adk 2.13.0 (Python), as
#   clients. Source: PyPI; https://github.com/run-llama/llama_index, https://github.com/deepset-ai/haystack-core-integrations,
#   https://github.com/huggingface/smolagents, https://github.com/google/adk-python
# Behaviour: of a server that gives its tools in two pages each of them takes the first. No warning names the `nextCursor`.
# Why a good guess is wrong: paging of `tools/list` is as old as the protocol, and an agent that is given "all tools of the server" seems
#   to need nothing else. A tool that "the model will not use" may never have been shown to it. The official SDKs leave the loop to
#   their caller, and these callers have none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HAYSTACK_TELEMETRY_ENABLED=False # its telemetry writes into the home folder
cat >"$folder/server.py" <<'SERVER'
import json
import sys

pages = {None: ("first", "2"), "2": ("second", None)}
for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params") or {}
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if method == "initialize":
        who = {"name": "pages", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": who}}
    if method == "tools/list":
        name, cursor = pages[params.get("cursor")]
        tool = {"name": name, "description": name, "inputSchema": {"type": "object", "properties": {}}}
        answer = {"result": {"tools": [tool], **({"nextCursor": cursor} if cursor else {})}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >"$folder/list.py" <<'LIST'
import asyncio
import sys
from importlib.metadata import version

package, server = sys.argv[1:]
if package == "llama-index-tools-mcp":
    from llama_index.tools.mcp import BasicMCPClient, McpToolSpec

    tools = McpToolSpec(client=BasicMCPClient(sys.executable, args=[server])).to_tool_list()
    names = [tool.metadata.name for tool in tools]
if package == "mcp-haystack":
    from haystack_integrations.tools.mcp import MCPToolset, StdioServerInfo

    toolset = MCPToolset(StdioServerInfo(command=sys.executable, args=[server]), eager_connect=True)
    names = [tool.name for tool in toolset]
    toolset.close()
if package == "smolagents":
    from mcp import StdioServerParameters
    from smolagents import MCPClient

    with MCPClient(StdioServerParameters(command=sys.executable, args=[server]), structured_output=True) as tools:
        names = [tool.name for tool in tools]
if package == "google-adk":
    from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams
    from mcp import StdioServerParameters

    async def listed():
        parameters = StdioServerParameters(command=sys.executable, args=[server])
        toolset = McpToolset(connection_params=StdioConnectionParams(server_params=parameters, timeout=60))
        names = [tool.name for tool in await toolset.get_tools()]
        await toolset.close()
        return names

    names = asyncio.run(listed())
print(package, version(package), "with mcp", version("mcp"), "sees:", names)
sys.exit(names != ["first"])
LIST
other=0
while read -r package pins <&3; do
    python3 -m venv "$folder/$package"
    # shellcheck disable=SC2086  # several packages
    "$folder/$package/bin/pip" install --quiet --disable-pip-version-check $pins
    "$folder/$package/bin/python" "$folder/list.py" "$package" "$folder/server.py" </dev/null 2>"$folder/said" ||
        { echo "not so: $(tail -n 3 "$folder/said")"; other=1; }
    rm -rf "${folder:?}/$package"
done 3<<PINS
llama-index-tools-mcp llama-index-tools-mcp==0.6.0 mcp==2.3.0
mcp-haystack mcp-haystack==2.1.1 mcp==1.30.0
smolagents smolagents==1.26.0 mcpadapt==0.1.19 mcp==1.30.0
google-adk google-adk==2.13.0 mcp==2.3.0
PINS
exit "$other"
