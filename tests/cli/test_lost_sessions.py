"""A server that ends its session over HTTP: the call is lost, nothing hangs, and what has not left yet goes to a new one."""

from __future__ import annotations

from typing import Any

from mcp_tui.cli.output import Exit
from tests.cli.running import HANDSHAKE, running
from tests.servers.http_scripted import Call, HttpScript

OVER = "the server ended the session (HTTP 404)"


class Forgetful:
    """Ends its first session at the first request of one ``method``; with ``always``, every session."""

    def __init__(self, method: str, *, always: bool = False) -> None:
        self.method = method
        self.always = always
        self.dead: set[str] = set()
        self.made = 0

    async def __call__(self, call: Call) -> None:
        session = call.headers.get("mcp-session-id", "")
        if call.rpc == "initialize":
            self.made += 1
            result: dict[str, Any] = {"protocolVersion": HANDSHAKE, "capabilities": {"tools": {}}}
            await call.answer(result, {"Mcp-Session-Id": f"s-{self.made}"})
            return
        if call.rpc == self.method and (self.always or session == "s-1"):
            self.dead.add(session)
        if session in self.dead:
            await call.respond(404)
        elif call.method == "GET":
            await call.respond(405)
        elif call.method != "POST" or "id" not in call.message:
            await call.respond(202)
        elif call.rpc == "tools/list":
            await call.answer({"tools": [{"name": "ok", "inputSchema": {"type": "object"}}]})
        else:
            await call.answer({"content": [{"type": "text", "text": "ok"}]})


async def call_ok(server: HttpScript, *options: str) -> Any:
    return await running(
        "call", "ok", "--json", "--no-journal", "--protocol", HANDSHAKE, *options, server.url
    )


async def test_the_call_is_lost_with_its_session_and_is_not_sent_again():
    async with HttpScript(served := Forgetful("tools/call")) as server:
        ran = await call_ok(server)
    assert ran.status == Exit.LOST
    assert (ran.outcome["state"], ran.outcome["error"]["message"]) == ("lost", OVER)
    assert ran.err == ""
    assert [call.rpc for call in server.calls].count("tools/call") == 1
    assert served.dead == {"s-1"}


async def test_a_call_that_has_not_left_yet_goes_to_the_new_session():
    async with HttpScript(served := Forgetful("tools/list")) as server:
        ran = await call_ok(server)
    assert ran.status == 0
    assert ran.outcome["result"]["content"][0]["text"] == "ok"
    (sent,) = [call for call in server.calls if call.rpc == "tools/call"]
    assert sent.headers["mcp-session-id"] == "s-2"
    assert served.made == 2
