#!/usr/bin/env bash
# Package:  mcp-proxy 0.13.0 (Python), a bridge from streamable HTTP to a stdio server. Source: PyPI;
#   https://github.com/sparfenyuk/mcp-proxy
# Behaviour: of what a server sends in a call only the answer passes. Its log message and its progress are dropped, and its question is
#   answered by the bridge ("Elicitation not supported"), though client and server declared all three. A JSON-RPC error becomes a
#   result with `isError`, without code and data. To the client the bridge declares completions, which the server does not have.
# Why a good guess is wrong: a session of its own for each side can be guessed, and that a bridge keeps a question back. But it sends the
#   client's progress token on, and a server that reports each second is silent for the client: limits that progress resets end it.
#   The npm package of the same name (6.7.19) passes log and progress.
set -euo pipefail
folder=$(mktemp -d)
bridge=
trap '[ -z "$bridge" ] || kill "$bridge"; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "mcp-proxy==${MCP_PROXY_VERSION:-0.13.0}" mcp==1.30.0
cat >"$folder/server.py" <<'SERVER'
import json
import sys


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


for line in sys.stdin:
    message = json.loads(line)
    id, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method == "initialize":
        capabilities = {"tools": {}, "logging": {}}
        who = {"name": "talks", "version": "1"}
        send(id=id, result={"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": who})
    elif method == "tools/list":
        send(id=id, result={"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("talk", "fail")]})
    elif method == "tools/call" and params["name"] == "fail":
        send(id=id, error={"code": -32050, "message": "no such order", "data": {"order": 7}})
    elif method == "tools/call":
        token = params["_meta"]["progressToken"]
        send(method="notifications/message", params={"level": "info", "data": "a log message"})
        send(method="notifications/progress", params={"progressToken": token, "progress": 1})
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        send(id="q", method="elicitation/create", params={"message": "Your name?", "requestedSchema": schema})
        heard = json.loads(sys.stdin.readline())
        heard = json.dumps(heard.get("result") or heard["error"]["message"])
        send(id=id, result={"content": [{"type": "text", "text": heard}]})
    elif id is not None and method:
        send(id=id, result={})
SERVER
cat >"$folder/client.py" <<'CLIENT'
import asyncio
import sys

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client


async def seen(streams):
    heard = []

    async def note(*what):
        heard.append(type(what[0]).__name__)

    async def answer(*_):
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async with ClientSession(*streams[:2], elicitation_callback=answer, logging_callback=note) as session:
        capabilities = (await session.initialize()).capabilities
        talked = await session.call_tool("talk", {}, progress_callback=note)
        try:
            failed = "isError" if (await session.call_tool("fail", {})).isError else "a result"
        except Exception as error:
            failed = f"error {error.error.code}"
        return sorted(heard), "Ada" in talked.content[0].text, failed, capabilities.completions is not None


async def main():
    async with stdio_client(StdioServerParameters(command=sys.executable, args=[sys.argv[2]])) as streams:
        direct = await seen(streams)
    async with streamable_http_client(sys.argv[1]) as streams:
        bridged = await seen(streams)
    for how, (heard, asked, failed, completions) in ("directly", direct), ("by the bridge", bridged):
        print(f"{how}: heard {heard}, was asked: {asked}, failure: {failed}, completions: {completions}")
    both = ["LoggingMessageNotificationParams", "float"]
    return (direct, bridged) != ((both, True, "error -32050", False), ([], False, "isError", True))


sys.exit(asyncio.run(main()))
CLIENT
"$folder/venv/bin/python" -c 'from importlib.metadata import version as v; print("mcp-proxy", v("mcp-proxy"), "with mcp", v("mcp"))'
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$folder/venv/bin/mcp-proxy" --port "$port" -- python3 "$folder/server.py" >"$folder/log" 2>&1 </dev/null &
bridge=$!
until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    kill -0 "$bridge" || { cat "$folder/log"; exit 1; }
    sleep 0.1
done
"$folder/venv/bin/python" "$folder/client.py" "http://127.0.0.1:$port/mcp" "$folder/server.py" 2>"$folder/errors" </dev/null ||
    { echo "not so: $(tail -n 3 "$folder/errors")"; exit 1; }
