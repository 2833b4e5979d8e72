#!/usr/bin/env bash
# Package:  fastmcp 4.2.3 (Python), its `create_proxy`. Source: PyPI; https://github.com/PrefectHQ/fastmcp
# Behaviour: of a server behind its proxy, in 2025-11-25, the client gets the progress, but no log message, and no question: `ctx.elicit` of
#   the server's tool fails with "this transport context has no back-channel". With the server itself the same client gets all three.
# Why a good guess is wrong: the proxy is said to pass on what a server asks and logs, it speaks the era of its client to the server, and
#   progress passes. The client has a channel back, and says so when it connects; the words send one to look for a fault of its
#   transport. In 2026-07-28 the proxy drops the log messages, too.
# Versions: Holds from 4.0.0 on; 3.4.11 passes the log message, and no progress.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "fastmcp==${FASTMCP_VERSION:-4.2.3}" "mcp==${MCP_VERSION:-2.3.0}"
cat >"$folder/server.py" <<'SERVER'
from fastmcp import Context, FastMCP

server = FastMCP("orders")


@server.tool()
async def work(ctx: Context) -> str:
    await ctx.report_progress(1, 2)
    await ctx.info("half is done")
    return "done"


@server.tool()
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("Your name?", response_type=str)
    return f"heard {answer.data}"


server.run(show_banner=False)
SERVER
cat >"$folder/proxy.py" <<'PROXY'
import sys

from fastmcp.client.transports import StdioTransport
from fastmcp.server import create_proxy

create_proxy(StdioTransport(sys.executable, [sys.argv[1]])).run(show_banner=False)
PROXY
cat >"$folder/client.py" <<'CLIENT'
import asyncio
import inspect
import sys
from importlib.metadata import version

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

old = {"mode": "legacy"} if "mode" in inspect.signature(Client).parameters else {}


async def seen(*words):
    passed = []

    async def progress(*_):
        passed.append("progress")

    async def log(_):
        passed.append("log")

    async def answer(*_):
        return {"value": "Ada"}

    async with Client(StdioTransport(sys.executable, list(words)), **old, progress_handler=progress, log_handler=log, elicitation_handler=answer) as client:
        await client.call_tool("work", {})
        await asyncio.sleep(0.5)
        try:
            return passed, (await client.call_tool("ask", {})).data
        except Exception as error:
            return passed, str(error)


async def main():
    print("fastmcp", version("fastmcp"), "with mcp", version("mcp"))
    server, proxy = sys.argv[1:]
    direct, proxied = await seen(server), await seen(proxy, server)
    print("the server itself:", *direct, sep=" | ")
    print("behind the proxy:", *proxied, sep=" | ")
    return not (direct == (["progress", "log"], "heard Ada") and proxied[0] == ["progress"] and "back-channel" in proxied[1])


sys.exit(asyncio.run(main()))
CLIENT
"$folder/venv/bin/python" "$folder/client.py" "$folder/server.py" "$folder/proxy.py" 2>"$folder/said" </dev/null || { echo "not so: $(tail -n 3 "$folder/said")"; exit 1; }
