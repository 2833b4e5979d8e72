"""Print every event of a call as it happens: ``python events.py [COMMAND…]``."""

import asyncio
import sys

from mcp_tui.client import Client, StdioTarget

SERVER = sys.argv[1:] or [sys.executable, "-m", "mcp_tui.demo"]


async def main() -> None:
    client = Client(StdioTarget(command=tuple(SERVER)))
    await client.connect()
    client.listen(lambda event: print(type(event).__name__, getattr(event, "message", "") or ""))

    answer = await client.request("tools/call", {"name": "count", "arguments": {"seconds": 0.3, "steps": 3}})
    assert answer is not None  # nobody cancelled the call
    print(answer.result["content"][0]["text"])
    await client.close()


asyncio.run(main())
