"""Each fault of a server behind a URL: no crash, no hang, the right words, and the next call works."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_tui.client import Client, ClientSettings, HttpTarget
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.states import Limits
from tests.faults.http_faults import HTTP, Fault
from tests.faults.session import call, use
from tests.servers.http_scripted import Call, HttpScript

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
    async def look(client: Client, words: list[str]) -> Request:
        row = await call(client, "odd")
        assert row.state.value == fault.state, "\n".join(words)
        return row

    settings = ClientSettings(limits=Limits(timeout=None, max_timeout=None), grace=0.05, max_message=100_000)
    async with HttpScript(lambda call: answered(fault, call)) as server:
        client = Client(HttpTarget(url=server.url, transport="http"), settings)
        said = await use(client, look, connects=fault.when == "odd")
    assert fault.says in said, said
