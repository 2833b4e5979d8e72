"""The first frame: the places of the workbench before it is loaded, and keys that are typed on it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from functools import partial

import pytest
from textual import events
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import Input

from mcp_tui.client.client import Client
from mcp_tui.client.client_settings import StdioTarget, Target
from mcp_tui.config.settings import Settings
from mcp_tui.journal.store import Store
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.preferences import Look, Preferences
from mcp_tui.tui.screens.layout import OpeningScreen
from mcp_tui.tui.screens.workbench import Workbench
from mcp_tui.tui.sources.live_session import Session
from mcp_tui.view.pane_sizes import Shares
from tests.tui.driving import Driven
from tests.waiting import HANG

SILENT = StdioTarget(command=(sys.executable, "-c", "import time; time.sleep(600)"), name="silent")


class AskingScreen(Screen[None]):
    """A screen to type on."""

    def compose(self) -> ComposeResult:
        yield Input()


class Slow(WorkbenchApp):
    """An app that is not loaded before it is told so; somebody typed before it heard anything."""

    CSS_PATH = None

    def __init__(self) -> None:
        super().__init__(SILENT)
        self.told = asyncio.Event()

    def on_mount(self) -> None:
        self.post_message(events.Key("a", "a"))
        self.post_message(events.Paste("bc"))

    async def open(self, target: Target) -> None:
        await self.told.wait()
        await self.push_screen(AskingScreen())


async def test_what_is_typed_before_the_screen_stands_is_typed_on_it_in_its_order() -> None:
    app = Slow()
    async with app.run_test() as pilot:
        app.post_message(events.Key("d", "d"))
        assert not isinstance(app.screen, AskingScreen)
        app.told.set()
        app.post_message(events.Key("e", "e"))
        async with asyncio.timeout(HANG):
            while not any(len(each.value) == 5 for each in app.screen.query(Input)):
                await pilot.pause(0.02)
        assert app.screen.query_one(Input).value == "abcde"


async def nothing(_app: WorkbenchApp, _target: Target) -> None:
    """The workbench stays at its first frame."""


def furniture(driven: Driven) -> list[str]:
    """The upper borders with their titles, and the keys."""
    lines = driven.text().splitlines()
    return [line for line in lines if line.startswith(("╭", "+- "))] + lines[-1:]


@pytest.mark.parametrize(
    ("size", "look", "ascii_only"),
    [
        ((140, 40), Look(pane="wire", shares=Shares().moved("tabs", 0.3)), False),
        ((80, 24), Look(), True),
    ],
)
async def test_the_first_frame_has_the_places_of_the_workbench(
    size: tuple[int, int], look: Look, monkeypatch: pytest.MonkeyPatch, *, ascii_only: bool
) -> None:
    def app() -> WorkbenchApp:
        wished = Preferences(look=replace(look), settings=Settings(ascii=ascii_only))
        return WorkbenchApp(SILENT, lambda to: Client(to, store=Store()), wished)

    # a machine on which this takes seconds would show the steps of the connection
    monkeypatch.setattr(Session, "slow", property(lambda _: False))
    first = app()
    monkeypatch.setattr(first, "open", partial(nothing, first))
    async with first.run_test(size=size) as pilot:
        opening = Driven(first, pilot)
        await opening.until(lambda: "Connecting to silent … (c stops)" in opening.text().replace("~", "…"))
        assert isinstance(opening.top, OpeningScreen)
        expected = furniture(opening)
    loaded = app()
    async with loaded.run_test(size=size) as pilot:
        driven = Driven(loaded, pilot)
        await driven.until(lambda: isinstance(driven.top, Workbench) and "Elapsed" in driven.text())
        assert furniture(driven) == expected
        await driven.session.client.close()


@pytest.mark.parametrize("pane", ["", "wire"])
async def test_every_size_can_follow_the_one_that_the_first_frame_had(pane: str) -> None:
    preferences = Preferences(look=Look(pane=pane))
    app = WorkbenchApp(SILENT, lambda to: Client(to, store=Store()), preferences)
    async with app.run_test(size=(80, 24)) as pilot:
        driven = Driven(app, pilot)
        await driven.until(lambda: isinstance(driven.top, Workbench))
        for size in ((120, 30), (140, 40), (60, 15), (140, 40), (80, 24)):
            await pilot.resize_terminal(*size)
            await driven.until(lambda: all(screen.size == size for screen in app.screen_stack))  # noqa: B023
        await driven.session.client.close()


def test_the_first_frame_waits_for_nothing_that_talks_to_a_server() -> None:
    late = ("client.client", "journal.store", "protocol.ledger", "protocol.events", "tui.sources.live")
    late += ("tui.screens.workbench", "tui.commands", "view.rows")
    libraries = ("pydantic", "pydantic_core", "httpx", "jsonschema_rs")
    names = [*(f"mcp_tui.{name}" for name in late), *libraries]
    code = (
        "import sys, mcp_tui.cli.open_workbench as cli, mcp_tui.tui.app; cli.preferences(); "
        f"print([name for name in {names} if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.strip() == "[]"
