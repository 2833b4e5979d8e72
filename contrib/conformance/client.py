"""mcp-tui as the client under the cancellation scenarios, on the public Python API; started as the suite starts clients."""

# ruff: noqa: INP001 - a program, in no package

from __future__ import annotations

import asyncio
import json
import os
import sys

from mcp_tui.client import Client, ClientSettings, ConnectError, HttpTarget
from mcp_tui.protocol.events import Limits
from mcp_tui.protocol.messages import Json, as_list, as_object

UNANSWERED = "client-cancellation-initialize"
CONNECTS_WITHIN = 5.0  # seconds; a slow machine has to get as far as sending initialize
PATIENCE = 30.0  # seconds for the calls that no scenario wants to be given up


async def called(client: Client, tool: str, limit: float = PATIENCE, **arguments: Json) -> str:
    """The text of a tool's result; empty if the call reached its limit."""
    limits = Limits(timeout=limit, max_timeout=limit)
    frame = await client.request("tools/call", {"name": tool, "arguments": arguments}, limits=limits)
    content = as_list(as_object(frame.result if frame else None).get("content"))
    return str(as_object(content[0]).get("text")) if content else ""


async def main() -> None:
    """Calls the tools that the scenario names, then echoes."""
    context = json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])
    settings = ClientSettings(
        protocol=os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"],
        connect_timeout=CONNECTS_WITHIN if os.environ["MCP_CONFORMANCE_SCENARIO"] == UNANSWERED else PATIENCE,
    )
    client = Client(HttpTarget(url=sys.argv[-1]), settings)
    try:
        await client.connect()
        for tool in context["tools"]:
            await called(client, tool, context["limitMs"] / 1000)
        await called(client, "test_confirm", word=await called(client, "test_echo"))
    except ConnectError as error:
        sys.exit(str(error))
    finally:
        await client.close()


asyncio.run(main())
