"""Each fault of a server on stdio: no crash, no hang, the right words, and the next call works."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from mcp_tui.client import Client, ClientSettings, StdioTarget
from mcp_tui.client.catalogue import ListFailed
from mcp_tui.protocol.descriptions import describe
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.states import Limits
from mcp_tui.transport.base import TransportError
from tests.faults.stdio_faults import STDIO, Fault
from tests.waiting import HANG

SERVER = Path(__file__).with_name("server.py")


def client_for(fault: Fault) -> Client:
    target = StdioTarget(command=(sys.executable, "-I", "-S", str(SERVER), fault.when, fault.does))
    given = dict(fault.settings)
    limits = Limits(timeout=given.pop("timeout", None), max_timeout=None)
    return Client(target, ClientSettings(limits=limits, grace=0.05, **given))


def row_of(client: Client, id: int | str) -> Request:
    row = client.book.get(id)
    assert row is not None
    return row


async def call(client: Client, name: str) -> Request:
    id = client.call_tool(name, {})
    await client.wait(id)
    return row_of(client, id)


@pytest.mark.parametrize("fault", STDIO, ids=lambda fault: fault.name)
async def test_fault(fault: Fault):
    client = client_for(fault)
    words: list[str] = []
    client.listen(lambda event: words.append(describe(event).words(event)))
    async with asyncio.timeout(HANG):
        try:
            try:
                await client.connect()
            except TransportError as error:
                words.append(str(error))
            else:
                await through(client, fault, words)
        finally:
            await client.close()
    connects = fault.when not in ("start", "initialize")
    assert any(row.name == "ok" for row in client.book.order) == connects, words
    assert not any(row.open for row in client.book.order)
    said = "\n".join(words)
    assert fault.says in said, said
    assert "defect" not in said


async def through(client: Client, fault: Fault, words: list[str]) -> None:
    """What a person does once it is connected: reads the list, calls the odd tool, and then another one."""
    try:
        tools = await client.every("tools")
    except ListFailed as failed:
        words.append(str(failed))
    else:
        words.append(f"tools: {[tool.get('name') for tool in tools]}")
    row = await call(client, "odd")
    assert not fault.state or row.state.value == fault.state, row
    words += (row.error, row.summary)
    if not client.connected:
        await client.connect()
    good = await call(client, "ok")
    assert good.state is State.COMPLETED, good
    assert "ok" in good.summary
