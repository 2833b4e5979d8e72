"""The Python SDK's client on a faulty server: it calls ``odd``, then ``ok``. Usage: sdk_client.py SECONDS COMMAND…

Prints one JSON object: what became of the connection and of each call. Run by the Python that has the SDK.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from typing import Any, cast

mcp: Any = importlib.import_module("mcp")
found: dict[str, str] = {}


def why(error: BaseException) -> str:
    """The innermost reason of an error."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    return f"{type(error).__name__}: {error}"


async def main() -> None:
    """Call both tools, each for so many seconds at most."""
    seconds, command, *arguments = sys.argv[1:]
    server = mcp.StdioServerParameters(command=command, args=arguments)
    async with mcp.stdio_client(server) as (read, write), mcp.ClientSession(read, write) as session:
        async with asyncio.timeout(float(seconds)):
            await session.initialize()
        for name in ("odd", "ok"):
            try:
                async with asyncio.timeout(float(seconds)):
                    result = await session.call_tool(name, {})
                found[name] = (
                    "an error of the tool"
                    if getattr(result, "is_error", getattr(result, "isError", False))
                    else "answered"
                )
            except TimeoutError:
                found[name] = "waits"
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what is asked for
                found[name] = why(error)


try:
    asyncio.run(main())
except BaseException as error:  # noqa: BLE001
    found.setdefault("connect", "waits" if isinstance(error, TimeoutError) else why(error))
print(json.dumps(found))
