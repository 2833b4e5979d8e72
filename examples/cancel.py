"""Cancel a call once it reports progress, and say what the server did afterwards: ``python cancel.py [COMMAND…]``."""

import asyncio
import sys

from mcp_tui.client import Client, ClientSettings, StdioTarget
from mcp_tui.protocol.events import Event, Progress, Settled

SERVER = sys.argv[1:] or [sys.executable, "-m", "mcp_tui.demo"]


async def main() -> None:
    client = Client(StdioTarget(command=tuple(SERVER)), ClientSettings(grace=10))  # seconds of watching
    await client.connect()
    seen = asyncio.Queue[Event]()
    client.listen(seen.put_nowait)
    id = client.call_tool("stubborn", {"seconds": 1})
    while not isinstance(await seen.get(), Progress):
        pass
    client.cancel(id, reason="too slow")
    while not isinstance(await seen.get(), Settled):
        pass
    row = client.requests.order[-1]
    print(row.state.value, "· reason delivered" if row.reason_delivered else "")
    print("last:", row.late[-1].kind.value if row.late else "no reply")
    await client.close()


asyncio.run(main())
