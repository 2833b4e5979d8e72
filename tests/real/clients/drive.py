"""Python clients, each as small as it can be: ``drive.py NAME COMMAND…`` starts the server, or goes to MCP_SERVER_URL.

It calls ``add``. Where ``mcp-tui probe-client`` names an experiment, it does that instead. A client is a context that
gives what calls a tool: with its name, its arguments, and a limit in seconds, or none.
"""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import asynccontextmanager
from datetime import timedelta

NAME, COMMAND, URL = sys.argv[1], sys.argv[2:], os.environ.get("MCP_SERVER_URL")
EXPERIMENT = os.environ.get("MCP_EXPERIMENT", "")
TOOL, ARGUMENTS = os.environ.get("MCP_TOOL", "add"), json.loads(os.environ.get("MCP_ARGUMENTS", "{}"))
LIMIT = float(os.environ.get("MCP_TIMEOUT", "30"))
CONNECTING = LIMIT if EXPERIMENT == "initialize" else None
WORDS = {"a": 2, "b": 3}
UNABLE = 77


STAYS = 3
"""Seconds that a client stays connected after a handshake that it gave up, where it can: a cancel has time to come."""


async def told(*_: object, **__: object) -> None:
    """Progress comes."""


def started():
    from mcp import StdioServerParameters

    return StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])


def pipes():
    if URL:
        from mcp.client.streamable_http import streamable_http_client

        return streamable_http_client(URL)
    from mcp.client.stdio import stdio_client

    return stdio_client(started())


async def declines(*_: object) -> object:
    from mcp.types import ElicitResult

    await asyncio.sleep(1.5)
    return ElicitResult(action="decline")


@asynccontextmanager
async def session(span=lambda seconds: seconds):
    from mcp import ClientSession

    limited = {"read_timeout_seconds": span(CONNECTING), "elicitation_callback": declines}
    async with pipes() as (reading, writing, *_), ClientSession(reading, writing, **limited) as client:
        try:
            await client.initialize()
        except Exception as error:
            print("gave up:", str(error) or type(error).__name__)
            await asyncio.sleep(STAYS)
            raise
        if EXPERIMENT == "task":
            yield (
                lambda tool, given, limit: (
                    as_task(client, tool, given) if tool == TOOL else client.call_tool(tool, given)
                )
            )
        else:
            yield lambda tool, given, limit: client.call_tool(tool, given, span(limit), told)


async def as_task(client, tool: str, given: dict) -> object:
    """Calls a tool as a task, where a cancel is one of the task. mcp 2.x has the types for that, and refuses the answer."""
    made = await client.experimental.call_tool_as_task(tool, given)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await client.experimental.cancel_task(made.task.taskId)
        raise


def session1():
    return session(lambda seconds: seconds and timedelta(seconds=seconds))


@asynccontextmanager
async def client2():
    from mcp import Client

    async with Client(pipes(), read_timeout_seconds=CONNECTING, elicitation_callback=declines) as client:
        yield lambda tool, given, limit: client.call_tool(tool, given, limit, told)


@asynccontextmanager
async def fastmcp():
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async def answers(*_: object) -> object:
        from fastmcp.client.elicitation import ElicitResult

        await asyncio.sleep(1.5)
        return ElicitResult(action="decline")

    server = URL or StdioTransport(COMMAND[0], COMMAND[1:])
    async with Client(server, init_timeout=CONNECTING, elicitation_handler=answers) as client:
        yield lambda tool, given, limit: client.call_tool(tool, given, timeout=limit, progress_handler=told)


@asynccontextmanager
async def agents(**more: object):
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

    limited = {"client_session_timeout_seconds": LIMIT, **more}
    stdio = {"command": COMMAND[0], "args": COMMAND[1:]} if COMMAND else {}
    server = MCPServerStreamableHttp({"url": URL}, **limited) if URL else MCPServerStdio(stdio, **limited)
    async with server:
        yield lambda tool, given, limit: server.call_tool(tool, given)


def agents_again():
    return agents(max_retry_attempts=2)


@asynccontextmanager
async def pydantic():
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    server = URL or StdioTransport(COMMAND[0], COMMAND[1:])
    limited = {"init_timeout": CONNECTING, "read_timeout": LIMIT}
    async with MCPToolset(server, elicitation_handler=declines, progress_handler=told, **limited) as tools:
        yield lambda tool, given, limit: tools.direct_call_tool(tool, given)


@asynccontextmanager
async def strands():
    from strands.tools.mcp import MCPClient

    asks = {"startup_timeout": CONNECTING or 30, "elicitation_callback": declines}
    with MCPClient(pipes, **asks) as client:

        async def call(tool: str, given: dict, limit: float | None) -> object:
            span = limit and timedelta(seconds=limit)
            done = await client.call_tool_async("1", tool, given, span, progress_callback=told)
            if done["status"] == "error":
                raise TimeoutError(done["content"][0]["text"])
            return done

        yield call


@asynccontextmanager
async def mcp_use():
    from mcp_use import MCPClient

    server = {"url": URL} if URL else {"command": COMMAND[0], "args": COMMAND[1:]}
    client = MCPClient.from_dict({"mcpServers": {"demo": server}}, elicitation_callback=declines)
    session = await client.create_session("demo")
    yield lambda tool, given, limit: session.call_tool(tool, given, timedelta(seconds=limit or 30))
    await client.close_all_sessions()


@asynccontextmanager
async def langchain():
    from langchain_mcp_adapters.client import MultiServerMCPClient

    stdio = {"transport": "stdio", "command": COMMAND[0], "args": COMMAND[1:]} if COMMAND else {}
    where = {"transport": "streamable_http", "url": URL} if URL else stdio
    where = {**where, "session_kwargs": {"read_timeout_seconds": timedelta(seconds=LIMIT)}}
    tools = {each.name: each for each in await MultiServerMCPClient({"demo": where}).get_tools()}
    yield lambda tool, given, limit: tools[tool].ainvoke(given)


@asynccontextmanager
async def framework():
    from agent_framework import MCPStdioTool, MCPStreamableHTTPTool

    limited = {"request_timeout": int(LIMIT), "load_prompts": False}
    stdio = {"command": COMMAND[0], "args": COMMAND[1:]} if COMMAND else {}
    server = (
        MCPStreamableHTTPTool("demo", URL, **limited) if URL else MCPStdioTool("demo", **stdio, **limited)
    )

    async def call(tool: str, given: dict, limit: float | None) -> object:
        return [each.text for each in await server.call_tool(tool, **given)]

    async with server:
        yield call


@asynccontextmanager
async def adk():
    from google.adk.tools.mcp_tool import McpToolset, StdioConnectionParams, StreamableHTTPConnectionParams

    server = (
        StreamableHTTPConnectionParams(url=URL, timeout=LIMIT, sse_read_timeout=LIMIT)
        if URL
        else StdioConnectionParams(server_params=started(), timeout=LIMIT)
    )
    toolset = McpToolset(connection_params=server, elicitation_callback=declines, progress_callback=told)
    tools = {each.name: each for each in await toolset.get_tools()}

    async def call(tool: str, given: dict, limit: float | None) -> object:
        done = await tools[tool].run_async(args=given, tool_context=None)
        if "error" in done:
            raise TimeoutError(done["error"])
        return done

    yield call
    await toolset.close()


@asynccontextmanager
async def llama_index():
    from llama_index.tools.mcp import BasicMCPClient

    async def call(tool: str, given: dict, limit: float | None) -> object:
        client = BasicMCPClient(URL or COMMAND[0], COMMAND[1:], timeout=int(limit or 30))
        return await client.call_tool(tool, given, told)

    yield call


@asynccontextmanager
async def autogen():
    from autogen_core import CancellationToken
    from autogen_ext.tools.mcp import StdioServerParams, StreamableHttpServerParams, mcp_server_tools

    stdio = {"command": COMMAND[0], "args": COMMAND[1:]} if COMMAND else {}
    server = (
        StreamableHttpServerParams(url=URL, sse_read_timeout=LIMIT)
        if URL
        else StdioServerParams(**stdio, read_timeout_seconds=LIMIT)
    )
    tools = {each.name: each for each in await mcp_server_tools(server)}
    yield lambda tool, given, limit: tools[tool].run_json(given, CancellationToken())


@asynccontextmanager
async def adapted():
    from mcpadapt.core import MCPAdapt, ToolAdapter

    class Plain(ToolAdapter):
        def adapt(self, func, mcp_tool):
            return mcp_tool.name, func

        async_adapt = adapt

    server = {"url": URL, "transport": "streamable-http"} if URL else started()
    async with MCPAdapt(server, Plain(), client_session_timeout_seconds=LIMIT) as tools:
        yield lambda tool, given, limit: dict(tools)[tool](given)


@asynccontextmanager
async def kernel():
    from semantic_kernel.connectors.mcp import MCPStdioPlugin, MCPStreamableHttpPlugin

    async def refuses(*_: object) -> bool:
        await asyncio.sleep(1.5)
        return False

    more = {"request_timeout": int(LIMIT), "load_prompts": False, "sampling_consent_callback": refuses}
    stdio = {"command": COMMAND[0], "args": COMMAND[1:]} if COMMAND else {}
    async with (
        MCPStreamableHttpPlugin("demo", URL, **more)
        if URL
        else MCPStdioPlugin("demo", **stdio, **more) as server
    ):
        yield lambda tool, given, limit: server.call_tool(tool, **given)


@asynccontextmanager
async def crewai():
    from crewai.mcp import MCPClient
    from crewai.mcp.transports import HTTPTransport, StdioTransport

    server = HTTPTransport(URL) if URL else StdioTransport(COMMAND[0], COMMAND[1:])
    async with MCPClient(server, int(CONNECTING or 30), int(LIMIT)) as client:
        yield lambda tool, given, limit: client.call_tool(tool, given)


@asynccontextmanager
async def ours():
    from mcp_tui.client import Client, ClientSettings, HttpTarget, Offers, Refusal, StdioTarget
    from mcp_tui.protocol.states import Limits

    async def answers(inquiry: object) -> Refusal:
        await asyncio.sleep(1.5)
        return Refusal("nobody is there")

    offers = Offers(elicitation=frozenset({"form"}), tasks=True)
    client = Client(
        HttpTarget(url=URL) if URL else StdioTarget(command=tuple(COMMAND)),
        ClientSettings(offers=offers, connect_timeout=CONNECTING or 60),
        respond=answers,
    )
    most = float(os.environ.get("MCP_MAX_TIMEOUT") or 600)

    async def call(tool: str, given: dict, limit: float | None) -> object:
        limits = Limits(timeout=limit or 30, max_timeout=most)
        id = client.call_tool(tool, given, limits=limits, task=EXPERIMENT == "task")
        try:
            done = await client.wait(id)
        except asyncio.CancelledError:
            client.cancel(id, reason="enough")
            raise
        if done is None:
            raise TimeoutError("it was cancelled")
        return done.result

    await client.connect()
    await client.every("tools")  # they say which of them may be tasks
    try:
        yield call
    finally:
        await client.close()


async def day(call) -> None:
    """An ordinary day: nothing is given up, and equal calls are sent one after another, and at once."""

    async def shown(tool: str, given: dict) -> None:
        try:
            done = str(await call(tool, given, None))
        except Exception as error:  # noqa: BLE001 - wrong arguments are refused in many ways
            done = type(error).__name__
        # in one piece: other threads of some packages print, too
        sys.stdout.write(f"\ngave: {done if len(done) < 10_000 else len(done)}\n")

    letter, wrong = {"to": "Ada", "seconds": 0}, {"seconds": 0, "steps": 0}
    for tool, given in (("add", WORDS), ("send", letter), ("count", wrong)):
        await shown(tool, given)
        await shown(tool, given)
    await asyncio.gather(*(shown("send", {"to": "Bo", "seconds": 0.2}) for _ in range(3)))
    await shown("count", {"seconds": 0.2, "steps": 4})
    await shown("big", {"megabytes": 0.9 if URL else 2})  # mcp 2.x refuses an event of more than 1 MiB


async def main() -> None:
    async with globals()[NAME]() as call:
        if EXPERIMENT == "day":
            await day(call)
            return
        if EXPERIMENT in ("", "exit", "ids"):
            for _ in range(20 if EXPERIMENT == "ids" else 1):
                print(await call("add", WORDS, None))
            return
        try:
            async with asyncio.timeout({"stop": LIMIT / 4, "task": 0.5}.get(EXPERIMENT)):
                print(await call(TOOL, ARGUMENTS, LIMIT))
        except Exception as error:  # noqa: BLE001 - whatever it raises, it is how it gives up
            print("gave up:", str(error) or type(error).__name__)
        if EXPERIMENT != "count":
            print(await call("add", WORDS, None))


if (EXPERIMENT == "task" and NAME not in ("ours", "session1")) or (
    EXPERIMENT == "question" and NAME in ("agents", "langchain")
):
    sys.exit(UNABLE)
asyncio.run(main())
