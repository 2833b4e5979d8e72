"""Python clients, each as small as it can be: ``drive.py NAME COMMAND…`` starts the server, calls ``add``, and ends it."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import sys

WORDS = {"a": 2, "b": 3}


async def session(command: str, args: list[str]) -> object:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    given = StdioServerParameters(command=command, args=args)
    async with stdio_client(given) as (reading, writing), ClientSession(reading, writing) as client:
        await client.initialize()
        return await client.call_tool("add", WORDS)


async def client2(command: str, args: list[str]) -> object:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async with Client(stdio_client(StdioServerParameters(command=command, args=args))) as client:
        return await client.call_tool("add", WORDS)


async def fastmcp(command: str, args: list[str]) -> object:
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async with Client(StdioTransport(command, args)) as client:
        return await client.call_tool("add", WORDS)


async def agents(command: str, args: list[str]) -> object:
    from agents.mcp import MCPServerStdio

    async with MCPServerStdio({"command": command, "args": args}) as server:
        return await server.call_tool("add", WORDS)


async def langchain(command: str, args: list[str]) -> object:
    from langchain_mcp_adapters.client import MultiServerMCPClient

    found = await MultiServerMCPClient(
        {"demo": {"transport": "stdio", "command": command, "args": args}}
    ).get_tools()
    return await next(each for each in found if each.name == "add").ainvoke(WORDS)


print(asyncio.run(globals()[sys.argv[1]](sys.argv[2], sys.argv[3:])))
