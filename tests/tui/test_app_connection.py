"""What the screen shows of a connection that ends, and the ways out that it offers."""

from __future__ import annotations

from mcp_tui.client.settings import ClientSettings, HttpTarget
from mcp_tui.protocol.requests import State
from mcp_tui.tui.view.server import Link
from tests.client.test_reconnecting import Sessions
from tests.servers.http_scripted import Call, HttpScript
from tests.tui.driving import driving

OVER = "the server ended the session (HTTP 404)"
HANDSHAKE = ClientSettings(protocol="2025-11-25", grace=0.1)


class Listing(Sessions):
    """As :class:`Sessions`, with the tool ``ok`` in its list."""

    async def __call__(self, call: Call) -> None:
        alive = call.headers.get("mcp-session-id") not in self.dead
        if call.rpc == "tools/list" and alive:
            await call.answer({"tools": [{"name": "ok", "inputSchema": {"type": "object"}}]})
        else:
            await super().__call__(call)


async def test_a_new_session_is_shown_as_connecting_and_then_connected_and_keeps_what_is_called_meanwhile():
    async with HttpScript(served := Listing()) as server:
        target = HttpTarget(url=server.url, name="web")
        async with driving(target, size=(140, 40), settings=HANDSHAKE, link=None) as driven:
            await driven.until(lambda: driven.session.catalogue.tools)
            lost = await driven.in_flight("silent")
            served.gate.clear()
            served.forget()
            driven.call("ok")
            await driven.until(lambda: driven.session.link is Link.CONNECTING)
            assert f"connecting: {OVER}" in driven.inside("server")
            assert (lost.state, lost.error) == (State.LOST, OVER)
            waiting = driven.row(driven.call("ok"))
            assert waiting.state is State.QUEUED
            served.gate.set()
            await driven.until(lambda: waiting.state is State.COMPLETED)
            assert driven.session.link is Link.CONNECTED
            await driven.until(lambda: "2025-11-25" in driven.inside("server"))
            assert "∅" not in driven.inside("server")
            await driven.press("4")
            log = driven.inside("log")
            assert "disconnected: the server ended" in log
            assert "opening a new session" in log
            lists = [call.headers["mcp-session-id"] for call in server.calls if call.rpc == "tools/list"]
            assert set(lists) == {"s-1", "s-2"}, "the catalogue of the new session is read"


async def test_a_session_that_cannot_be_renewed_is_said_once_with_the_key_that_tries_again():
    async with HttpScript(served := Listing()) as server:
        target = HttpTarget(url=server.url, name="web")
        async with driving(target, size=(140, 40), settings=HANDSHAKE, link=None) as driven:
            await driven.until(lambda: driven.session.catalogue.tools)
            served.forget()
            served.refused = lambda _: 503
            driven.call("ok")
            await driven.until(lambda: driven.session.link is Link.LOST)
            assert str(driven.session.trouble).startswith(f"{OVER}; the last attempt: ")
            served.refused = lambda _: 0
            await driven.press("S")
            assert "Connect" in driven.text()
            await driven.press("enter")
            await driven.until(lambda: driven.session.link is Link.CONNECTED)
            row = driven.row(driven.call("ok"))
            await driven.until(lambda: row.state is State.COMPLETED)
