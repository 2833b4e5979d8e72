"""An app beneath the screen under test, with a clock that the test moves."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from mcp_tui.config.settings import Settings, Timers
from mcp_tui.tui import host
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.screens.dialog import Dialog
from tests.tui.painted import strips

UNANSWERED = "unanswered"
"""What :attr:`Host.answer` is while the screen is open."""


class Host(host.Host):
    """Opens one screen, or none at first, and keeps what it dismisses."""

    def __init__(
        self, over: ModalScreen[Any] | None, *, glyphs: bool = True, timers: Timers = "live"
    ) -> None:
        super().__init__(Preferences(settings=Settings(ascii=not glyphs, timers=timers)))
        self.over = over
        self.answer: Any = UNANSWERED

    def compose(self) -> ComposeResult:
        yield Static("beneath")

    def on_mount(self) -> None:
        if self.over is not None:
            self.push_screen(self.over, self.answered)

    def answered(self, answer: Any) -> None:
        self.answer = answer

    async def open(self, screen: Screen[Any]) -> None:
        """Open a screen in the place of all that is open."""
        while len(self.screen_stack) > 1:
            await self.pop_screen()
        self.answer = UNANSWERED
        await self.push_screen(screen, self.answered)

    @property
    def shown(self) -> str:
        """What is on the screen, line by line."""
        drawn = strips(self)
        assert {(len(drawn), *{strip.cell_length for strip in drawn})} == {self.size[::-1]}
        return "\n".join(strip.text for strip in drawn)


@asynccontextmanager
async def showing(screen: ModalScreen[Any] | None = None) -> AsyncGenerator[tuple[Host, Pilot[int]]]:
    """An app on a terminal of the smallest usual size, with this screen open."""
    host = Host(screen)
    async with host.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        yield host, pilot


async def look(pilot: Pilot[int], screen: Dialog[Any]) -> None:
    """Let the screen look at what changed, as its timer would."""
    screen.tick()
    await pilot.pause()
