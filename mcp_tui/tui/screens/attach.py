"""The screen of running sessions of another process: it follows their recordings, and its keys cancel in them."""

from __future__ import annotations

import asyncio
from typing import Final

from mcp_tui.journal.client_recording import ClientRecording
from mcp_tui.journal.recording import Recording
from mcp_tui.live.running import Running, RunningClient
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.screens.parts.cancelling import Cancelling
from mcp_tui.tui.screens.replay import ReplayScreen
from mcp_tui.tui.sources.attached import Attached, ClientScene
from mcp_tui.view.keys import ATTACHED, EVERYWHERE, RECORDING, Key, keys
from mcp_tui.view.text import brief, safe, words

MORE_SECONDS: Final = 2.0
"""Seconds between two searches for more sessions of a client."""


class AttachScreen(ReplayScreen):
    """A running session, or all sessions of a client.

    Leaving the screen leaves them running; when they end, the ``recording`` can still be read.
    """

    BINDINGS = bindings(ATTACHED)

    def __init__(self, session: Running | RunningClient, recording: Recording) -> None:
        is_client = isinstance(recording, ClientRecording)
        super().__init__(recording, scene=ClientScene(recording) if is_client else None)
        name = session.name if isinstance(session, Running) else f"process {session.pid}"
        self.client_name = brief(f"{session.client_name} ({name})", 40)
        self.attached = Attached(session, self.recorded, self.show_message)
        self.cancelling = Cancelling(self, self.attached, self.table)
        self._where = session.where
        self._ended = False
        if is_client:
            self.table.name_servers(recording.server_of)

    def offered(self) -> list[Key]:
        return keys(ATTACHED, RECORDING, EVERYWHERE)

    def on_mount(self) -> None:
        where = brief(self._where, 60)
        # A client is named by its process, which is not said again.
        if isinstance(self.replay, ClientRecording):
            where = where and safe(" in {}", where.partition(" ")[2])
        else:
            where = where and safe(", process {}", where)
        self.show_message(
            safe("Attached to {}{}. Leaving keeps it running.", self.client_name, where), "muted", seconds=3
        )
        if isinstance(self.replay, ClientRecording):
            self.set_interval(MORE_SECONDS, self._look_for_more)

    def _look_for_more(self) -> None:
        self.app.run_worker(self._add_more, group="more sessions", exclusive=True, exit_on_error=True)

    async def _add_more(self) -> None:
        # This waits for other processes.
        for each in await asyncio.to_thread(self.attached.look_for_more):
            assert isinstance(self.replay, ClientRecording)
            self.replay.add(each)

    def look(self, *, lists: bool = True) -> None:
        super().look(lists=lists)
        if self.recorded.requests.over and self.playback.read is None and not self._ended:
            self._ended = True
            self.show_message(
                safe("The session of {} has ended. You can still read it.", self.client_name), seconds=60
            )

    def idle(self) -> frozenset[str]:
        row, idle = self.table.selected, super().idle()
        if self._ended:
            return idle | {"request.cancel", "request.cancel-now", "request.cancel-all"}
        return idle | {"request.cancel", "request.cancel-now"} if row is None or not row.open else idle

    def action_allow(self) -> None:
        """Permits one call that is equal to the selected one, if that was refused."""
        row = self.table.selected
        if self._refuses():
            return
        if row is None or row.guard is None or row.guard.how != "refused":
            self.refuse(words("Only a call that tap --once refused can be let through. Select one first."))
        else:
            self.cancelling.allow(row)

    def action_read_only(self) -> None:
        self.show_message(words("Not from here: the session belongs to another process"))

    def _refuses(self) -> bool:
        if self._ended:
            self.refuse(safe("The session of {} has ended", self.client_name))
        return self._ended

    async def action_cancel(self) -> None:
        if not self._refuses():
            await self.cancelling.cancel()

    async def action_cancel_now(self) -> None:
        if not self._refuses():
            await self.cancelling.cancel_now()

    async def action_cancel_all(self) -> None:
        if not self._refuses():
            await self.cancelling.cancel_all()
