"""mcp-tui as a client for the judge of clients: it does what ``MCP_EXPERIMENT`` says, through the Python API.

``python mcp_tui_client.py REVISION``, over stdio or HTTP.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
import sys
from typing import Any

from mcp_tui.client import Client, ClientSettings, HttpTarget, Offers, Refusal, StdioTarget
from mcp_tui.protocol.events import Limits

EXPERIMENT, TOOL, URL = os.environ["MCP_EXPERIMENT"], os.environ["MCP_TOOL"], os.environ["MCP_SERVER_URL"]
ARGUMENTS: dict[str, Any] = json.loads(os.environ["MCP_ARGUMENTS"])
LIMIT = float(os.environ["MCP_TIMEOUT"])
MAXIMUM = float(os.environ["MCP_MAX_TIMEOUT"] or 600)


async def declines(_: object) -> Refusal:
    await asyncio.sleep(1.5)
    return Refusal("nobody is there")


async def main() -> None:
    target = (
        HttpTarget(url=URL)
        if URL
        else StdioTarget(command=tuple(shlex.split(os.environ["MCP_SERVER_COMMAND"])))
    )
    settings = ClientSettings(
        protocol=sys.argv[1],
        limits=Limits(timeout=LIMIT, max_timeout=MAXIMUM),
        connect_timeout=LIMIT if EXPERIMENT == "initialize" else 60.0,
        offers=Offers(elicitation=frozenset({"form"}), tasks=True),
    )
    client = Client(target, settings, respond=declines)
    main_task = asyncio.current_task()
    assert main_task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, main_task.cancel)
    try:
        await client.connect()
        await client.every("tools")  # they say which of them may be tasks
        if EXPERIMENT not in ("ids", "exit"):
            id = client.call_tool(TOOL, ARGUMENTS, task=EXPERIMENT == "task")
            if EXPERIMENT in ("stop", "task"):
                await asyncio.sleep(0.5)
                client.cancel(id, reason="enough of that")
            await client.wait(id)
        for _ in range(20 if EXPERIMENT == "ids" else 1):
            await client.wait(client.call_tool("add", {"a": 1, "b": 2}, limits=Limits(timeout=30.0)))
    finally:
        await client.close()


try:
    asyncio.run(main())
except Exception as error:  # noqa: BLE001 - what it cannot do ends it
    sys.exit(f"{error}")
except asyncio.CancelledError:
    sys.exit(130)
