"""Each fault of a server on stdio: no crash, no hang, the right words, and the next call works."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mcp_tui.client import Client, ClientSettings, StdioTarget
from mcp_tui.client.catalogue import ListFailed
from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.states import Limits
from tests.faults.session import call, use
from tests.faults.stdio_faults import STDIO, Fault

SERVER = Path(__file__).with_name("server.py")


def client_for(fault: Fault) -> Client:
    target = StdioTarget(command=(sys.executable, "-I", "-S", str(SERVER), fault.when, fault.does))
    given = dict(fault.settings)
    limits = Limits(timeout=given.pop("timeout", None), max_timeout=None)
    return Client(target, ClientSettings(limits=limits, grace=0.05, **given))


@pytest.mark.parametrize("fault", STDIO, ids=lambda fault: fault.name)
async def test_fault(fault: Fault):
    async def look(client: Client, words: list[str]) -> Request:
        try:
            words.append(f"tools: {[tool.get('name') for tool in await client.every('tools')]}")
        except ListFailed as failed:
            words.append(str(failed))
        row = await call(client, "odd")
        assert fault.state in ("", row.state.value), row
        return row

    said = await use(client_for(fault), look, connects=fault.when not in ("start", "initialize"))
    assert fault.says in said, said
