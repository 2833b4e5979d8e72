#!/usr/bin/env bash
# Package:  pydantic-ai-slim 2.68.0 (Python), as a client. Source: PyPI; https://github.com/pydantic/pydantic-ai
# Behaviour: the second result with `isError: true` of one tool in one run ends the agent's run with an exception that does not have the
#   server's words. A result with text and structured content reaches the model without its text.
# Why a good guess is wrong: the protocol has `isError` so that a model can read what failed and correct itself, so one expects that each
#   failure is shown to it. Here it counts as a retry, of which a tool has one; a model that tries two wrong names never gets a third.
#   And a server's words beside its data seem to be for the model, as other agents take them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    "pydantic-ai-slim[mcp]==${PYDANTIC_AI_VERSION:-2.68.0}" mcp==2.3.0
cat >"$folder/server.py" <<'SERVER'
import json
import sys

text = [{"type": "text", "text": "words of the server"}]
results = {"failing": {"content": text, "isError": True}, "both": {"content": text, "structuredContent": {"n": 7}}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"error": {"code": -32601, "message": "Method not found"}}
    if message["method"] == "initialize":
        who = {"name": "results", "version": "1"}
        answer = {"result": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": who}}
    if message["method"] == "tools/list":
        answer = {"result": {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in results]}}
    if message["method"] == "tools/call":
        answer = {"result": results[message["params"]["name"]]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
SERVER
cat >"$folder/client.py" <<'CLIENT'
import asyncio
import sys
from importlib.metadata import version

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel


async def run(tool):
    heard = []

    def model(messages, _):
        heard.append(str(messages[-1].parts[-1].content))
        return ModelResponse(parts=[ToolCallPart(tool, {}) if len(heard) < 4 else TextPart("finished")])

    toolset = MCPToolset({"mcpServers": {"server": {"command": sys.executable, "args": [sys.argv[1]]}}})
    try:
        end = (await Agent(FunctionModel(model), toolsets=[toolset]).run("begin")).output
    except Exception as error:
        end = f"{type(error).__name__}: {error}"
    print(f"{tool}: the model was given {heard[1:]}, and the run ended with: {end}")
    return heard[1:], end


print("pydantic-ai-slim", version("pydantic-ai-slim"), "with mcp", version("mcp"))
(failures, end), (both, _) = asyncio.run(run("failing")), asyncio.run(run("both"))
so = failures == ["words of the server"] and end.startswith("UnexpectedModelBehavior") and "words" not in end
sys.exit(not so or any("words" in each for each in both))
CLIENT
"$folder/venv/bin/python" "$folder/client.py" "$folder/server.py" 2>"$folder/said" </dev/null ||
    { echo "not so: $(tail -n 3 "$folder/said")"; exit 1; }
