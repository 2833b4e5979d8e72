"""The app on a recording: no server, no connection."""

from __future__ import annotations

from pathlib import Path

from mcp_tui.client.client import Client
from mcp_tui.client.settings import Target
from mcp_tui.journal.recording import Recording
from mcp_tui.tui.app import WorkbenchApp
from mcp_tui.tui.preferences import PLAIN, Preferences


def _no_client(target: Target) -> Client:
    raise AssertionError(target)


class ReplayApp(WorkbenchApp):
    """A recording, at its end; with a ``speed`` at its start and playing that many times as fast as it happened."""

    def __init__(
        self,
        replay: Recording,
        *,
        speed: float | None = None,
        ascii_only: bool = False,
        themes: Path | None = None,
        preferences: Preferences = PLAIN,
    ) -> None:
        super().__init__(None, _no_client, ascii_only=ascii_only, themes=themes, preferences=preferences)
        self._replay = replay
        self._speed = speed

    def pick(self) -> None:
        self.show_recording(self._replay, speed=self._speed)
