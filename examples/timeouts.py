"""Call tools side by side, each with its own timeout, and sum up: ``python timeouts.py [COMMAND…]``."""

import asyncio
import sys

from mcp_tui.client import Client, StdioTarget
from mcp_tui.protocol.states import Limits

SERVER = sys.argv[1:] or [sys.executable, "-m", "mcp_tui.demo"]


async def main() -> None:
    client = Client(StdioTarget(command=tuple(SERVER)))
    await client.connect()
    ids = [client.call_tool("add", {"a": number, "b": number}) for number in range(3)]
    ids.append(client.call_tool("silent", {}, limits=Limits(timeout=0.5)))
    await asyncio.gather(*(client.wait(id) for id in ids))

    for row in client.requests.order[-len(ids) :]:
        print(f"{row.name}: {row.state.value}{f' ({row.cause.value})' if row.cause else ''}")
    await client.close()


asyncio.run(main())
