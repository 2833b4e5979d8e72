"""The screen of a running session of another process: its recording, followed, with keys that cancel there."""

from __future__ import annotations

from mcp_tui.journal.recording import Recording
from mcp_tui.live.running import Running
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.screens.parts.cancelling import Cancelling
from mcp_tui.tui.screens.replay import ReplayScreen
from mcp_tui.tui.sources.attached import Attached
from mcp_tui.view.keys import ATTACHED, EVERYWHERE, RECORDING, Key, keys
from mcp_tui.view.text import brief, safe, words


class AttachScreen(ReplayScreen):
    """A running session. Leaving it leaves that running; when it ends, its ``recording`` stays to be read."""

    BINDINGS = bindings(ATTACHED)

    def __init__(self, session: Running, recording: Recording) -> None:
        super().__init__(recording)
        self.whose = brief(f"{session.whose} ({session.name})", 40)
        self.cancelling = Cancelling(self, Attached(session, self.recorded, self.show_message), self.table)
        self._where = session.summary.where
        self._ended = False

    def offered(self) -> list[Key]:
        return keys(ATTACHED, RECORDING, EVERYWHERE)

    def on_mount(self) -> None:
        where = self._where and safe(", process {}", brief(self._where, 60))
        self.show_message(
            safe("Attached to {}{}. Leaving keeps it running.", self.whose, where), "muted", seconds=3
        )

    def look(self, *, lists: bool = True) -> None:
        super().look(lists=lists)
        if self.recorded.book.over and self.playback.read is None and not self._ended:
            self._ended = True
            self.show_message(
                safe("The session of {} has ended. You can still read it.", self.whose), seconds=60
            )

    def idle(self) -> frozenset[str]:
        row, idle = self.table.selected, super().idle()
        if self._ended:
            return idle | {"request.cancel", "request.cancel-now", "request.cancel-all"}
        return idle | {"request.cancel", "request.cancel-now"} if row is None or not row.open else idle

    def action_read_only(self) -> None:
        self.show_message(words("Not from here: the session belongs to another process"))

    def _refuses(self) -> bool:
        if self._ended:
            self.refuse(safe("The session of {} has ended", self.whose))
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
