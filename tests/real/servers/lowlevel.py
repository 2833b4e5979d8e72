"""A low-level server on `mcp` 1.x and 2.x: over stdio, or from 1.9 on over streamable HTTP."""
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from progress import Progress
from serving import options, serve
from tools import TOOLS

NAME = "real-lowlevel"
PROPERTIES: dict[str, dict[str, Any]] = {
    "seconds": {"type": "number", "default": 3},
    "heartbeat": {"type": "string", "default": ""},
    "text": {"type": "string"},
}
FUNCTIONS = {tool.__name__: tool for tool in TOOLS if tool.__name__ != "asks"}


def described(name: str) -> types.Tool:
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    members = {each: PROPERTIES[each] for each in parameters if each in PROPERTIES}
    return types.Tool(
        name=name,
        description=FUNCTIONS[name].__doc__,
        inputSchema={"type": "object", "properties": members},
    )


async def work(name: str, arguments: dict[str, Any], send: Any) -> list[Any]:
    function = FUNCTIONS[name]
    given = {"ctx": Progress(send)} if "ctx" in inspect.signature(function).parameters else {}
    made: Any = function(**given, **arguments)
    text = await made if inspect.isawaitable(made) else made
    return [types.TextContent(type="text", text=text)]


def server1() -> Any:
    """A server of 1.x: decorators, and the call that is worked on in a context variable."""
    server: Any = Server(NAME)

    async def send(progress: float, total: float | None, message: str | None) -> None:
        context = server.request_context
        if context.meta is None or context.meta.progressToken is None:
            return
        session = context.session
        known = inspect.signature(session.send_progress_notification).parameters
        more = {"message": message, "related_request_id": context.request_id}
        await session.send_progress_notification(
            context.meta.progressToken,
            progress,
            total,
            **{each: more[each] for each in more if each in known},
        )

    @server.list_tools()
    async def listed() -> list[types.Tool]:
        return [described(name) for name in FUNCTIONS]

    @server.call_tool()
    async def called(name: str, arguments: dict[str, Any]) -> list[Any]:
        return await work(name, arguments, send)

    return server


def server2() -> Any:
    """A server of 2.x: functions that are passed to it, and an explicit context."""

    async def listed(ctx: Any, params: Any) -> Any:
        return types.ListToolsResult(tools=[described(name) for name in FUNCTIONS])

    async def called(ctx: Any, params: Any) -> Any:
        return types.CallToolResult(
            content=await work(params.name, params.arguments or {}, ctx.session.report_progress)
        )

    return Server(NAME, on_list_tools=listed, on_call_tool=called)


def app(server: Any) -> Any:
    """What serves it over streamable HTTP."""
    if hasattr(server, "streamable_http_app"):
        return server.streamable_http_app(stateless_http=asked.stateless, json_response=asked.json)
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from starlette.applications import Starlette
    from starlette.routing import Mount

    manager = StreamableHTTPSessionManager(server, json_response=asked.json, stateless=asked.stateless)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        async with manager.run():
            yield

    return Starlette(routes=[Mount("/mcp", app=manager.handle_request)], lifespan=lifespan)


async def over_stdio(server: Any) -> None:
    async with stdio_server() as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


asked = options()
server = server1() if hasattr(Server, "call_tool") else server2()
if asked.http is None:
    anyio.run(over_stdio, server)
else:
    serve(app(server), asked.http)
