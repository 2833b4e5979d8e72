"""A recording on the screen, driven as a person would."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from textual.geometry import Region
from textual.pilot import Pilot

from mcp_tui.journal.recording import Recording
from mcp_tui.tui.app import ReplayApp
from mcp_tui.tui.screens.replay import ReplayScreen
from tests.waiting import until


@dataclass
class Replayed:
    """An app on a recording, under test."""

    app: ReplayApp
    pilot: Pilot[int]

    @property
    def bench(self) -> ReplayScreen:
        found = [screen for screen in self.app.screen_stack if isinstance(screen, ReplayScreen)]
        return found[0]

    @property
    def position(self) -> int:
        return self.bench.recorded.position

    async def until(self, true: Callable[[], object]) -> None:
        """Wait until something is true."""
        await until(true, self.text)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        await self.press(*("space" if each == " " else each for each in text))

    def text(self) -> str:
        """What stands on the screen on top, line by line."""
        lines = self.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        return "\n".join(strip.text for strip in lines)

    def inside(self, id_: str) -> str:
        """What a widget of the replay shows."""
        widget = self.bench.query_one(f"#{id_}")
        width, height = widget.outer_size
        return "\n".join(strip.text for strip in widget.render_lines(Region(0, 0, width, height)))


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
    app = ReplayApp(replay, speed=speed, ascii_only=ascii_only)
    async with app.run_test(size=size) as pilot:
        replayed = Replayed(app, pilot)
        await replayed.until(
            lambda: isinstance(app.screen, ReplayScreen) and app.screen.playback.read is None
        )
        yield replayed
