"""What the screen shows of a connection that ends, and the ways out that it offers."""

from __future__ import annotations

import json
import sys

import pytest

from mcp_tui.client.client_settings import ClientSettings, HttpTarget, StdioTarget
from mcp_tui.protocol.requests import State
from mcp_tui.tui.screens.dialog import MenuScreen
from mcp_tui.view.server_bar import Link
from tests.cli.running import SERVERS
from tests.client.connected import scripted
from tests.client.test_bars import MODERN
from tests.client.test_reconnecting import Sessions
from tests.servers.http_scripted import Call, HttpScript, served
from tests.tui.driving import driving

OVER = "the server ended the session (HTTP 404)"
HANDSHAKE = ClientSettings(protocol="2025-11-25", grace=0.1)


async def test_c33_a_new_session_is_shown_as_connecting_and_then_connected_and_keeps_what_is_called_meanwhile():
    async with HttpScript(sessions := Sessions()) as server:
        target = HttpTarget(url=server.url, name="web")
        async with driving(target, size=(140, 40), settings=HANDSHAKE) as driven:
            lost = await driven.in_flight("silent")
            sessions.gate.clear()
            sessions.forget()
            driven.call("ok")
            await driven.until(lambda: driven.session.link is Link.CONNECTING)
            await driven.until(lambda: f"Connecting: {OVER}" in driven.inside("server"))
            assert (lost.state, lost.error) == (State.LOST, OVER)
            waiting = driven.row(driven.call("ok"))
            assert waiting.state is State.QUEUED
            sessions.gate.set()
            await driven.until(lambda: waiting.state is State.COMPLETED)
            assert driven.session.link is Link.CONNECTED
            await driven.until(lambda: "2025-11-25" in driven.inside("server"))
            assert "∅ 2 lost" in driven.inside("server")
            await driven.press("4")
            log = driven.inside("log")
            assert "disconnected: the server ended" in log
            assert "opening a new session" in log
            lists = [call.headers["mcp-session-id"] for call in server.calls if call.rpc == "tools/list"]
            assert set(lists) == {"s-1", "s-2"}, "the catalogue of the new session is read"


@pytest.mark.slow
async def test_a_session_that_cannot_be_renewed_is_said_once_with_the_key_that_tries_again():
    async with HttpScript(sessions := Sessions()) as server:
        target = HttpTarget(url=server.url, name="web")
        async with driving(target, size=(140, 40), settings=HANDSHAKE) as driven:
            sessions.forget()
            sessions.refused = lambda _: 503
            driven.call("ok")
            await driven.until(lambda: driven.session.link is Link.LOST)
            said = str(driven.session.trouble)
            assert said.startswith(f"{OVER[0].upper()}{OVER[1:]}; last attempt: ")
            await driven.until(lambda: "S reconnects" in driven.plain("detail"))
            sessions.refused = lambda _: 0
            await driven.press("S")
            await driven.until(lambda: isinstance(driven.top, MenuScreen))
            await driven.press("enter")
            await driven.until(lambda: driven.session.link is Link.CONNECTED)
            row = driven.row(driven.call("ok"))
            await driven.until(lambda: row.state is State.COMPLETED)


# -- a server that does not read -------------------------------------------------------------------------------

DEAF = "The server does not read its stdin"


async def test_c08_a_server_that_does_not_read_is_offered_to_be_terminated():
    async with driving(scripted("unread"), settings=HANDSHAKE) as driven:
        row = await driven.in_flight("silent")
        driven.call("silent", filler="x" * 1_000_000)
        driven.bench.table.select(row.id)
        await driven.press("C")
        await driven.until(lambda: row.delayed)
        await driven.until(lambda: DEAF in driven.inside("keys"))
        assert "S can termina" in driven.inside("keys")
        await driven.press("1")
        assert "cancel not sent yet" in driven.plain("requests")
        assert "not sent yet: not written after" in driven.plain("detail")
        assert f"help {DEAF}" in driven.plain("detail")
        driven.bench.keys.hush()
        driven.bench.look()
        await driven.pilot.pause()
        assert DEAF not in driven.inside("keys"), "it is said once"
        await driven.press("S")
        assert isinstance(driven.top, MenuScreen)
        assert "1 cancel is not written" in driven.text()
        lines = [line for line in driven.text().splitlines() if "Terminate" in line or "Reconnect" in line]
        assert "Terminate the server: SIGTERM, then SIGKILL" in lines[0], "the first choice"
        await driven.press("enter")
        await driven.until(lambda: driven.session.link is Link.LOST)
        assert "Server was terminated by signal 15 (SIGTERM)" in str(driven.session.trouble)
        assert (row.state, row.settled) == (State.CANCELLED, "server was terminated by signal 15 (SIGTERM)")


async def test_a_list_of_tools_that_failed_is_read_again_by_n_and_no_empty_list():
    down = {"error": {"code": -32603, "message": "database is down"}}
    command = (sys.executable, "-S", str(SERVERS / "results_server.py"), json.dumps({"tools/list": down}))
    async with driving(StdioTarget(command=command), settings=HANDSHAKE) as driven:
        await driven.until(lambda: "tools" in driven.session.catalogue.entries)
        await driven.press("n")
        assert "tools/list failed: database is down (error -32603)" in driven.inside("keys")
        requests = driven.session.client.requests
        await driven.until(lambda: [row.method for row in requests.order].count("tools/list") == 2)
        driven.app.guard.release()
        await driven.press("P")
        assert "(error -32603). The probe" in driven.inside("keys")


# -- a server that is gone -------------------------------------------------------------------------------------


async def test_c41_a_server_that_exits_after_a_cancel_is_said_everywhere_with_the_key_that_starts_it_again():
    async with driving(scripted("delicate"), size=(140, 40), settings=HANDSHAKE) as driven:
        lost = await driven.in_flight("silent")
        row = await driven.in_flight("silent")
        await driven.press("C")
        await driven.until(lambda: driven.session.link is Link.LOST)
        said = str(driven.session.trouble)
        assert said.startswith("Server exited with code 7 (0.")
        assert said.endswith(f" s after your cancel of {row.id}).")
        assert {row.settled, row.disconnected, lost.error} == {"server exited with code 7"}
        await driven.until(lambda: "Press S to reconnect." in driven.inside("keys"))
        assert "server exit" in driven.plain("requests")
        assert "Server exited with code 7" in driven.inside("server")
        assert said in driven.inside("server")
        await driven.press("1")
        assert "help S reconnects" in driven.plain("detail")
        await driven.press("4")
        assert "disconnected: server exited" in driven.inside("log")
        before = [each.id for each in driven.session.client.requests.order]
        await driven.press("S")
        assert "Reconnect" in driven.text()
        await driven.press("enter")
        await driven.until(lambda: driven.session.link is Link.CONNECTED)
        again = await driven.in_flight("silent")
        after = [each.id for each in driven.session.client.requests.order]
        assert after[: len(before)] == before, "the rows stay"
        assert again.id not in before


async def test_c38_a_dropped_stream_of_2026_07_28_is_lost_and_asked_again_by_a_key_alone():
    calls = list[object]()

    async def work(call: Call) -> None:
        if call.rpc != "tools/call":
            await call.answer({"tools": [], "resultType": "complete"})
            return
        calls.append(call.id)
        await call.stream()
        await call.event({"jsonrpc": "2.0", "method": "notifications/x"}, id="1", retry=1)
        if len(calls) == 1:
            call.cut()
        else:
            await call.event({"jsonrpc": "2.0", "id": call.id, "result": {"content": []}})
            await call.end()

    async with HttpScript(served(MODERN, work)) as server:
        target, settings = HttpTarget(url=server.url, name="web"), ClientSettings(protocol=MODERN)
        async with driving(target, size=(140, 40), settings=settings) as driven:
            row = driven.row(driven.call("ok"))
            await driven.until(lambda: row.state is State.LOST)
            await driven.press("1")
            assert "help r repeats the request (never automatic)" in driven.plain("detail")
            assert calls == [row.id]
            for answer in ("n", "y"):
                await driven.press("r")
                await driven.until(lambda: "The first may still be running" in driven.text())
                assert calls == [row.id]
                await driven.press(answer)
            await driven.until(lambda: driven.session.client.requests.order[-1].state is State.COMPLETED)
            assert calls == [row.id, driven.session.client.requests.order[-1].id]
            assert len(set(calls)) == 2
            repeat = driven.session.client.requests.order[-1].repeat
            assert repeat is not None
            assert (repeat.repeat_of, repeat.first_outcome) == (row.id, "lost")
