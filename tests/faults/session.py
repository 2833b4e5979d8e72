"""What a person does with a faulty server, and what must hold afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mcp_tui.client import Client
from mcp_tui.protocol.descriptions import describe
from mcp_tui.protocol.requests import Request, State
from mcp_tui.transport.base import TransportError
from tests.waiting import HANG


async def call(client: Client, name: str) -> Request:
    id = client.call_tool(name, {})
    await client.wait(id)
    row = client.requests.get(id)
    assert row is not None
    return row


async def use(
    client: Client, look: Callable[[Client, list[str]], Awaitable[Request]], *, connects: bool
) -> str:
    """Connect, ``look`` at the odd thing, and call a good tool; everything that was said, a line each.

    No crash (nothing reaches the event loop's exception handler), no hang, no request left open, and the next call works.
    """
    words: list[str] = []
    crashes: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: crashes.append(context))
    client.listen(lambda event: words.append(describe(event).words(event)))
    async with asyncio.timeout(HANG):
        try:
            try:
                await client.connect()
            except TransportError as error:
                words += (str(error), *error.stderr)
            else:
                row = await look(client, words)
                words += (row.error, row.summary)
                if not client.connected:
                    await client.connect()
                good = await call(client, "ok")
                assert (good.state, "ok" in good.summary) == (State.COMPLETED, True), good
        finally:
            await client.close()
    assert any(row.name == "ok" for row in client.requests.order) == connects, words
    assert not any(row.open for row in client.requests.order)
    assert not crashes, crashes
    return "\n".join(words)
