"""The workbench on a real server, driven as a person would: keys in, the screen out."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen

from mcp_tui.client.auth.authorization import Authorization
from mcp_tui.client.catalogue import LISTS, offers
from mcp_tui.client.client import Client
from mcp_tui.client.client_settings import ClientSettings, StdioTarget, Target
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request, State
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.screens.session_screen import SessionScreen
from mcp_tui.tui.screens.workbench import Workbench
from mcp_tui.tui.sources.live_session import Session
from mcp_tui.view.detail import Section
from mcp_tui.view.server_bar import Link
from tests.tui.painted import screen_text, widget_text
from tests.waiting import until

DEMO = StdioTarget(command=(sys.executable, "-P", "-m", "mcp_tui.demo"), name="demo")
SCRIPTED = Path(__file__).parent.parent / "servers" / "stdio_server.py"


def answering(results: dict[str, Any]) -> StdioTarget:
    """A server that answers what ``results_server.py`` is told to."""
    server = SCRIPTED.with_name("results_server.py")
    return StdioTarget(command=(sys.executable, "-S", str(server), json.dumps(results)), name="results")


Shown = TypeVar("Shown", bound=App[int])
Below = TypeVar("Below", bound=SessionScreen)


@dataclass
class Hands(Generic[Shown, Below]):
    """An app under test, used as a person would. ``kind`` is the class of its screen of a session."""

    app: Shown
    pilot: Pilot[int]
    kind: ClassVar[type[SessionScreen]]

    @property
    def bench(self) -> Below:
        return next(
            cast("Below", screen) for screen in self.app.screen_stack if isinstance(screen, self.kind)
        )

    async def until(self, true: Callable[[], object]) -> None:
        """Wait until something is true, and the screen shows it: a session draws now, not at its next tick."""
        await until(true, self.text)
        await self.pilot.pause()
        for screen in self.app.screen_stack:
            if isinstance(screen, self.kind):
                screen.look()
                await self.pilot.pause()
        await until(lambda: self.left or self._is_laid_out())

    def _is_laid_out(self) -> bool:
        """Whether the screen on top would show something, without drawing all of it."""
        return len(self.app.screen._compositor.visible_widgets) > 1  # pyright: ignore[reportPrivateUsage]

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        await self.press(*("space" if each == " " else each for each in text))

    @property
    def left(self) -> bool:
        """Whether the app is on its way out."""
        return self.app._exit  # pyright: ignore[reportPrivateUsage]

    def text(self) -> str:
        """What stands on the screen on top, line by line."""
        return screen_text(self.app)

    def inside(self, id_: str) -> str:
        """What a widget of the session's screen shows."""
        return widget_text(self.bench.query_one(f"#{id_}"))

    def plain(self, pane: str) -> str:
        """What a pane says, however it is wrapped."""
        return " ".join(self.inside(pane).replace("│", " ").split())


@dataclass
class Driven(Hands[WorkbenchApp, Workbench]):
    """A workbench under test."""

    kind = Workbench

    @property
    def session(self) -> Session:
        assert self.app.session is not None
        return self.app.session

    @property
    def catalogue_read(self) -> bool:
        """Whether every list that the server offers was read; there need be no templates where there are resources."""
        read = self.session.catalogue.entries
        return all(
            kind in read for kind in LISTS if kind != "templates" and offers(self.session.client, kind)
        )

    @property
    def top(self) -> Screen[object]:
        return self.app.screen

    def call(self, name: str, **arguments: Json) -> RequestId:
        """Call a tool as the form does."""
        self.bench.connection.call("tools/call", {"name": name, "arguments": arguments})
        return self.session.client.requests.order[-1].id

    async def in_flight(self, name: str, **arguments: Json) -> Request:
        id_ = self.call(name, **arguments)
        await self.until(lambda: self.row(id_).state is State.IN_FLIGHT)
        return self.row(id_)

    @property
    def sections(self) -> list[Section]:
        """What the detail pane holds, in sight or not."""
        return self.bench.detail._sections  # pyright: ignore[reportPrivateUsage]

    def row(self, id_: RequestId) -> Request:
        row = self.session.client.requests.get(id_)
        assert row is not None
        return row

    def line(self, needle: str) -> str:
        """The line of the screen that has this in it."""
        for line in self.text().splitlines():
            if needle in line:
                return line
        raise AssertionError(f"{needle!r} is not on the screen:\n{self.text()}")


@asynccontextmanager
async def driving(
    target: Target | None = DEMO,
    *,
    size: tuple[int, int] = (80, 24),
    settings: ClientSettings | None = None,
    link: Link | None = Link.CONNECTED,
    ascii_only: bool = False,
    record: Path | None = None,
    preferences: Preferences | None = None,
    tokens: Authorization | None = None,
) -> AsyncGenerator[Driven]:
    """The app on a server, once its connection stands as ``link`` says and all is read that the server offers.

    ``record`` is a file for its journal.
    """

    def made(to: Target) -> Client:
        store = Store(None if record is None else Writer(record))
        return Client(to, settings, store=store, tokens=tokens)

    chosen = preferences or Preferences()
    chosen = replace(chosen, settings=replace(chosen.settings, ascii=ascii_only))
    app = WorkbenchApp(target, made, chosen)
    async with app.run_test(size=size) as pilot:
        driven = Driven(app, pilot)
        try:
            if target is not None:
                await driven.until(lambda: app.session is not None and driven.bench.table.size)
            if link is not None:
                await driven.until(lambda: app.session is not None and app.session.link is link)
            if link is Link.CONNECTED:
                await driven.until(lambda: driven.catalogue_read)
            yield driven
        finally:
            for each in app.servers.all:
                await each.client.close()
