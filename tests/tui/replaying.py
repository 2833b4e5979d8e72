"""A recording on the screen, driven as a person would."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from mcp_tui.config.settings import Settings
from mcp_tui.journal.recording import Recording
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.preferences import Preferences
from mcp_tui.tui.screens.replay import ReplayScreen
from tests.tui.driving import Hands


class Replayed(Hands[WorkbenchApp, ReplayScreen]):
    """A recording on the screen, under test."""

    kind = ReplayScreen

    @property
    def position(self) -> int:
        return self.bench.recorded.position


@asynccontextmanager
async def replaying(
    recording: Path | Recording,
    *,
    size: tuple[int, int] = (80, 24),
    speed: float | None = None,
    ascii_only: bool = False,
) -> AsyncGenerator[Replayed]:
    """The app on a recording, once that is read."""
    replay = recording if isinstance(recording, Recording) else Recording(recording)
    preferences = Preferences(settings=Settings(ascii=ascii_only))
    app = WorkbenchApp(None, preferences=preferences, opening=partial(ReplayScreen, replay, speed=speed))
    async with app.run_test(size=size) as pilot:
        replayed = Replayed(app, pilot)
        await replayed.until(
            lambda: isinstance(app.screen, ReplayScreen) and app.screen.playback.read is None
        )
        yield replayed
