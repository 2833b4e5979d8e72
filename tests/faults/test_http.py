"""Each fault of a server behind a URL: no crash, no hang, the right words, and the next call works."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_tui.client import Client, ClientSettings, HttpTarget
from mcp_tui.protocol.descriptions import describe
from mcp_tui.protocol.states import Limits, State
from mcp_tui.transport.base import TransportError
from tests.faults.http_faults import HTTP, Fault
from tests.faults.test_stdio import call
from tests.servers.http_scripted import Call, HttpScript
from tests.waiting import HANG

INFO: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "faulty", "version": "1"},
}


async def answered(fault: Fault, call: Call) -> None:
    """The faulty bytes where they are due, else what a good server says."""
    if call.method != "POST":
        await call.respond(405)
        return
    params = call.message.get("params", {})
    kind = "odd" if params.get("name") == "odd" else call.rpc
    if kind == fault.when:
        sent = fault.sends.replace(b"%d", b"%d" % call.id)
        head, blank, body = sent.partition(b"\r\n\r\n")
        await call.raw(head.replace(b"@@", b"%d" % len(body)) + blank + body)
        call.cut()
    elif kind == "initialize":
        await call.answer(INFO)
    elif kind == "tools/call":
        await call.answer({"content": [{"type": "text", "text": "ok"}]})
    elif call.id is None:
        await call.respond(202)
    else:
        await call.respond(404)


@pytest.mark.parametrize("fault", HTTP, ids=lambda fault: fault.name)
async def test_fault(fault: Fault):
    words: list[str] = []
    limits = Limits(timeout=None, max_timeout=None)
    settings = ClientSettings(limits=limits, grace=0.05, max_message=100_000)
    async with HttpScript(lambda call: answered(fault, call)) as server, asyncio.timeout(HANG):
        client = Client(HttpTarget(url=server.url, transport="http"), settings)
        client.listen(lambda event: words.append(describe(event).words(event)))
        try:
            try:
                await client.connect()
            except TransportError as error:
                words.append(str(error))
            else:
                row = await call(client, "odd")
                words += (row.error, row.summary)
                assert row.state.value == fault.state, "\n".join(words)
                if not client.connected:
                    await client.connect()
                good = await call(client, "ok")
                assert good.state is State.COMPLETED, good
        finally:
            await client.close()
    assert any(row.name == "ok" for row in client.book.order) == (fault.when == "odd"), words
    assert not any(row.open for row in client.book.order)
    said = "\n".join(words)
    assert fault.says in said, said
    assert "defect" not in said
