"""A server that ends its session over HTTP: the call is lost, nothing hangs, and what has not left yet goes to a new one."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_tui.cli.output import Exit
from tests.cli.running import HANDSHAKE, running
from tests.servers.http_scripted import Call, HttpScript

OVER = "the server ended the session (HTTP 404)"


class Forgetful:
    """Ends its first session at the first request of one ``method``."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.dead: set[str] = set()
        self.made = 0

    async def __call__(self, call: Call) -> None:
        session = call.headers.get("mcp-session-id", "")
        if call.rpc == "initialize":
            self.made += 1
            result: dict[str, Any] = {"protocolVersion": HANDSHAKE, "capabilities": {"tools": {}}}
            await call.answer(result, {"Mcp-Session-Id": f"s-{self.made}"})
            return
        if call.rpc == self.method and session == "s-1":
            self.dead.add(session)
        if session in self.dead:
            await call.respond(404)
        elif call.method != "POST" or "id" not in call.message:
            await call.respond(405 if call.method == "GET" else 202)
        elif call.rpc == "tools/list":
            await call.answer({"tools": [{"name": "ok", "inputSchema": {"type": "object"}}]})
        else:
            await call.answer({"content": [{"type": "text", "text": "ok"}]})


@pytest.mark.parametrize(("method", "status"), [("tools/call", Exit.LOST), ("tools/list", Exit.COMPLETED)])
async def test_a_call_is_lost_with_its_session_or_goes_to_the_next_one(method: str, status: Exit):
    async with HttpScript(served := Forgetful(method)) as server:
        options = ("--json", "--no-journal", "--protocol", HANDSHAKE)
        ran = await running("call", "ok", *options, server.url)
    assert (ran.status, ran.err, served.dead) == (status, "", {"s-1"})
    (sent,) = [call for call in server.calls if call.rpc == "tools/call"]  # never sent again
    if status is Exit.LOST:
        assert (ran.outcome["state"], ran.outcome["error"]["message"]) == ("lost", OVER)
    else:
        assert ran.outcome["result"]["content"][0]["text"] == "ok"
        assert (sent.headers["mcp-session-id"], served.made) == ("s-2", 2)
