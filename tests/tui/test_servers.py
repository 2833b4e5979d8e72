"""Several servers in one workbench: each with its own state, and each request with the name of whose it is."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from mcp_tui.client.client_settings import StdioTarget, Target
from mcp_tui.protocol.events import Limits
from mcp_tui.protocol.requests import State
from mcp_tui.tui import app
from mcp_tui.tui.screens.cancel_dialogs import ReasonScreen, TimeoutScreen
from mcp_tui.tui.screens.dialog import ConfirmScreen
from mcp_tui.tui.screens.picker import PickerScreen
from mcp_tui.tui.screens.workbench import Workbench
from mcp_tui.tui.sources.live_session import Session
from mcp_tui.view.server_bar import Link
from tests.tui.driving import DEMO, SCRIPTED, Driven, driving

WEB = StdioTarget(command=DEMO.command, name="web")
ASKING = StdioTarget(
    command=(sys.executable, "-S", str(SCRIPTED.with_name("asking_server.py")), "2025-11-25"), name="asking"
)
GONE = StdioTarget(command=(sys.executable, "-c", "import sys; sys.exit('no licence')"), name="gone")


@asynccontextmanager
async def several(*targets: Target) -> AsyncGenerator[Driven]:
    """The app on these servers, the last one on the screen."""
    async with driving(targets[0]) as driven:
        for target in targets[1:]:
            driven.app.open(target)
            await standing(driven)
        yield driven


async def standing(driven: Driven) -> None:
    """Wait until the server on the screen is connected, or is not to be."""
    await driven.pilot.pause()
    await driven.until(lambda: driven.app.session is not None and driven.session.link is not Link.CONNECTING)
    await driven.until(lambda: driven.session.link is Link.CONNECTED or driven.session.trouble)


def server(driven: Driven, number: int) -> Session:
    return driven.app.servers.all[number - 1]


def toasts(driven: Driven) -> str:
    return "\n".join(each.message for each in driven.app._notifications)  # pyright: ignore[reportPrivateUsage]


def broken(*_: object) -> None:
    raise ZeroDivisionError("division by zero")


async def test_a_server_that_cannot_be_opened_is_said_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch):
    async with several(DEMO) as driven:
        monkeypatch.setattr(Session, "apply", broken)
        await driven.press("v", "a")
        await driven.until(lambda: isinstance(driven.app.screen, PickerScreen))
        await driven.press(*"nowhere --x", "enter")
        await driven.until(lambda: "Cannot open nowhere. Division by zero." in toasts(driven))
        await driven.until(lambda: isinstance(driven.app.screen, PickerScreen))
        assert [each.link for each in driven.app.servers.all] == [Link.CONNECTED]


async def test_an_error_that_nobody_foresaw_while_connecting_leaves_the_server_lost(
    monkeypatch: pytest.MonkeyPatch,
):
    async with several(DEMO) as driven:
        monkeypatch.setattr(driven.session.client, "connect", lambda: 1 / 0)
        driven.bench.connection.connect()
        await driven.until(lambda: "ZeroDivisionError" in driven.session.trouble)
        assert driven.session.link is Link.LOST


# -- one after the other ---------------------------------------------------------------------------------------


async def test_with_one_server_nothing_says_that_there_could_be_more():
    async with several(DEMO) as driven:
        assert "1 of 1" not in driven.text()
        await driven.press("ctrl+n")
        await driven.until(lambda: "No other server. v adds one." in driven.inside("keys"))


async def test_each_server_keeps_its_requests_its_cursor_its_pane_and_what_is_open():
    async with several(DEMO, WEB) as driven:
        second = server(driven, 2)
        await driven.until(lambda: "2 of 2 ✓ web" in driven.inside("server"))
        here = await driven.in_flight("silent")
        await driven.press("5")
        await driven.press("ctrl+n")
        assert driven.app.servers.current is server(driven, 1)
        assert driven.bench.pane != "wire"
        assert "1 of 2 ✓ demo" in driven.inside("server")
        assert [row for row in driven.session.running if not row.internal] == []
        first = await driven.in_flight("silent")
        await driven.press("c")
        await driven.type("half a rea")
        driven.app.show(second)
        await driven.pilot.pause()
        assert driven.top is driven.app.benches[second]
        assert driven.bench.pane == "wire"
        assert driven.bench.table.selected is here
        await driven.press("ctrl+n")
        assert isinstance(driven.top, ReasonScreen), "the prompt is as it was left"
        assert "demo" in driven.line(f"Cancel {first.id}"), "the prompt says whose the request is"
        assert "half a rea" in driven.text()
        await driven.type("son")
        await driven.press("enter")
        await driven.until(lambda: first.reason)
        assert (first.reason, here.state) == ("half a reason", State.IN_FLIGHT)


async def test_what_happens_out_of_sight_goes_on_and_nothing_of_it_is_drawn():
    async with several(DEMO, WEB) as driven:
        bench = driven.bench
        row = await driven.in_flight("count", seconds=0.5)
        await driven.press("ctrl+n")
        drawn = bench._ticks  # pyright: ignore[reportPrivateUsage]
        await driven.until(lambda: row.state is State.COMPLETED)
        driven.bench.look()
        await driven.pilot.pause()
        assert bench._ticks == drawn  # pyright: ignore[reportPrivateUsage]
        await driven.press("ctrl+n")
        await driven.until(lambda: bench._ticks > drawn)  # pyright: ignore[reportPrivateUsage]
        await driven.until(lambda: "completed" in driven.inside("requests"))


@pytest.mark.slow
async def test_servers_that_are_called_alike_are_numbered_and_what_is_copied_says_whose_it_is():
    async with several(DEMO, DEMO) as driven:
        assert [str(driven.app.servers.name(each)) for each in driven.app.servers.all] == ["demo", "demo 2"]
        await driven.in_flight("silent")
        await driven.press("y", "down", "down", "down", "enter")
        assert '"server": "demo 2"' in driven.app.clipboard


# -- the list --------------------------------------------------------------------------------------------------


async def test_closing_a_server_asks_once_while_requests_are_in_flight_and_cancels_them():
    async with several(DEMO, WEB) as driven:
        session, row = driven.session, await driven.in_flight("silent")
        await driven.press("v", "x")
        await driven.until(lambda: isinstance(driven.top, ConfirmScreen))
        assert "Close web? 1 request in flight" in driven.text()
        await driven.press("n")
        assert len(driven.app.servers.all) == 2
        assert row.state is State.IN_FLIGHT
        await driven.press("v", "x", "y")
        await driven.until(lambda: len(driven.app.servers.all) == 1)
        await driven.until(lambda: driven.top is driven.bench)
        await driven.until(lambda: session.client.transport is None)
        assert (row.reason, row.signal is not None) == ("client is shutting down", True)
        assert "1 of" not in driven.inside("server")
        assert driven.session.link is Link.CONNECTED, "the other goes on"


# -- what others want ------------------------------------------------------------------------------------------


async def test_a_question_of_a_server_out_of_sight_is_announced_with_its_name_and_takes_no_key():
    async with several(DEMO, ASKING) as driven:
        await driven.press("ctrl+n")
        bench = driven.bench
        server(driven, 2).call("tools/call", {"name": "ask", "arguments": {}})
        await driven.until(lambda: "asking asks for input" in toasts(driven))
        await driven.until(lambda: "? asking asks" in driven.inside("server"))
        assert driven.top is bench
        await driven.press("v")
        assert "1 to answer" in driven.text()
        await driven.press("2")
        assert driven.app.servers.current is server(driven, 2)
        await driven.until(lambda: "? 1 to answer" in driven.inside("server"))
        assert driven.top is driven.bench
        await driven.press("a")
        await driven.until(lambda: driven.top is not driven.bench)
        assert "asks" in driven.text()


@pytest.mark.slow
async def test_a_late_response_and_a_loss_out_of_sight_stand_in_the_bar_until_they_are_seen():
    async with several(DEMO, WEB) as driven:
        row = await driven.in_flight("stubborn", seconds=2)
        await driven.press("C", "ctrl+n")
        await driven.until(lambda: row.late)
        await driven.until(lambda: "↯ web 1 late" in driven.inside("server"))
        await driven.press("ctrl+n", "ctrl+n")
        await driven.until(lambda: "web" not in driven.inside("server"))
        lost = server(driven, 2)
        crash = {"name": "crash", "arguments": {"seconds": 0.1}}
        driven.app.benches[lost].connection.call("tools/call", crash)
        await driven.until(lambda: lost.link is Link.LOST)
        await driven.until(lambda: "∅ web lost" in driven.inside("server"))
        await driven.until(lambda: "web lost: server " in toasts(driven))


@pytest.mark.slow
async def test_what_is_overdue_out_of_sight_is_announced_and_asked_about_when_it_is_seen():
    limits = Limits(timeout=0.3, max_timeout=None, ask=60.0)
    async with several(DEMO, WEB) as driven:
        session = driven.session
        id_ = session.client.call("tools/call", {"name": "silent", "arguments": {}}, limits=limits)
        await driven.press("ctrl+n")
        await driven.until(lambda: f"web {id_} tools/call silent is overdue" in toasts(driven))
        await driven.until(lambda: "! web overdue" in driven.inside("server"))
        assert driven.top is driven.bench
        await driven.press("ctrl+n")
        await driven.until(lambda: isinstance(driven.top, TimeoutScreen))
        assert "web" in driven.line("Overdue: one request")


# -- the way out -----------------------------------------------------------------------------------------------


async def test_quitting_asks_once_over_all_servers_and_cancels_at_all_of_them():
    async with several(DEMO, WEB) as driven:
        rows = [await driven.in_flight("silent")]
        sessions = list(driven.app.servers.all)
        await driven.press("ctrl+n")
        rows.append(await driven.in_flight("silent"))
        await driven.press("ctrl+q")
        assert isinstance(driven.top, ConfirmScreen)
        assert "2 requests in flight" in driven.text()
        lines = [line for line in driven.text().splitlines() if "tools/call silent" in line]
        assert {"demo", "web"} <= {line.strip("│ ").rpartition("· ")[2] for line in lines}
        await driven.press("n")
        assert all(row.open for row in rows)
        await driven.press("ctrl+q", "ctrl+q")
        await driven.until(lambda: driven.left)
        assert {row.reason for row in rows} == {"client is shutting down"}
        assert all(row.signal is not None for row in rows)
        assert all(each.client.transport is None for each in sessions)


async def test_a_second_ctrl_q_waits_no_longer_than_its_patience_for_a_server(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(app, "QUIT_SECONDS", 0.0)
    async with several(DEMO) as driven:
        await driven.in_flight("silent")
        client, ended = driven.session.client, asyncio.Event()
        close = client.close

        async def stubborn() -> None:
            await ended.wait()
            await close()

        monkeypatch.setattr(client, "close", stubborn)
        await driven.press("ctrl+q", "ctrl+q")
        await driven.until(lambda: driven.left)
        assert client.transport is not None
        ended.set()


@pytest.mark.slow
async def test_the_palette_goes_to_servers_closes_them_and_cancels_at_others():
    async with several(DEMO, WEB) as driven:
        row = await driven.in_flight("silent")
        await driven.press("ctrl+n", "ctrl+p")
        await driven.type("cancel silent web")
        await driven.until(lambda: f"Cancel {row.id} tools/call silent at web" in driven.text())
        await driven.press("enter")
        await driven.until(lambda: isinstance(driven.top, ReasonScreen))
        assert driven.app.servers.current is server(driven, 2)
        await driven.press("escape", "ctrl+p")
        await driven.type("server: demo")
        await driven.until(lambda: "Server: demo" in driven.text())
        await driven.press("enter")
        await driven.until(lambda: driven.app.servers.current is server(driven, 1))
        assert isinstance(driven.top, Workbench)
