#!/usr/bin/env bash
# Package:  fastmcp 4.2.3 (Python), server and client. Source: PyPI; https://github.com/PrefectHQ/fastmcp
# Behaviour: one server, one client, one tool. In 2025-11-25 `ctx.elicit` asks and `ctx.set_state` is there at the next call. In
#   2026-07-28, which the client takes by default, `ctx.elicit` raises ("unavailable on 2026-07-28 connections") and each call finds
#   no state. `ctx.sample` and `ctx.list_roots` are gone in both, though 2025-11-25 has them.
# Why a good guess is wrong: 2026-07-28 has an input-required result for questions, and the framework hides the era everywhere else, so
#   one expects that `ctx.elicit` uses it. State that does not raise, but is empty, is found later still: the same client object and the
#   same open connection are a new user at each call.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "fastmcp==${FASTMCP_VERSION:-4.2.3}"
cat >"$folder/eras.py" <<'ERAS'
import asyncio
import sys
from importlib.metadata import version

from fastmcp import Client, Context, FastMCP

server = FastMCP("eras")


@server.tool()
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("Your name?", response_type=str)
    return f"asked, and heard {answer.data}"


@server.tool()
async def count(ctx: Context) -> str:
    count = (await ctx.get_state("count") or 0) + 1
    await ctx.set_state("count", count)
    return f"call {count}"


async def answer(*_):
    return {"value": "Ada"}


async def outcome(client, tool):
    try:
        return (await client.call_tool(tool, {})).data
    except Exception as error:
        return f"{type(error).__name__}: {error}"


async def main():
    print("fastmcp", version("fastmcp"), "with mcp", version("mcp"))
    seen = []
    for mode in ("auto", "legacy"):
        async with Client(server, mode=mode, elicitation_handler=answer) as client:
            seen.append([await outcome(client, tool) for tool in ("ask", "count", "count")])
            print(f"{mode}:", seen[-1])
    gone = [name for name in ("sample", "list_roots") if not hasattr(Context, name)]
    print("not in Context:", gone)
    (modern, *modern_counts), legacy = seen
    so = "unavailable on 2026-07-28" in modern and modern_counts == ["call 1", "call 1"]
    return not (so and legacy == ["asked, and heard Ada", "call 1", "call 2"] and gone == ["sample", "list_roots"])


sys.exit(asyncio.run(main()))
ERAS
"$folder/venv/bin/python" "$folder/eras.py" 2>"$folder/said" || { echo "not so: $(tail -n 3 "$folder/said")"; exit 1; }
