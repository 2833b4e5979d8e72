"""A client to be killed: ``stdio_client.py HOW COMMAND…`` opens a transport and says when its server is ready.

``wait`` then waits for ever, ``raise`` ends by an exception, ``exit`` ends at once; neither closes the transport.
"""

from __future__ import annotations

import asyncio
import os
import sys

from mcp_tui.transport.stdio import StdioTransport
from mcp_tui.transport.targets import StdioTarget
from tests.servers.recorder import Item, Received, recorder


async def main(how: str, command: list[str]) -> None:
    ready = asyncio.Event()

    def emit(item: Item) -> None:
        if isinstance(item, Received):
            ready.set()

    transport = StdioTransport(StdioTarget(command=tuple(command)))
    await transport.open(recorder(emit))
    await ready.wait()
    print("ready", flush=True)
    if how == "raise":
        raise RuntimeError("as asked")
    if how == "exit":
        os._exit(0)
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1], sys.argv[2:]))
