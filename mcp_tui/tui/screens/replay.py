"""The replay screen: a recording in the panes of the workbench, read-only, with a position that keys move."""

from __future__ import annotations

from typing import LiteralString

from textual.app import ComposeResult
from textual.widgets import Input

from mcp_tui.journal.recording import Recording
from mcp_tui.protocol.events import RequestId
from mcp_tui.tui.bindings import bindings, keys
from mcp_tui.tui.keys import EVERYWHERE, RECORDING, Key
from mcp_tui.tui.recorded import RecordedScene
from mcp_tui.tui.screens.dialog import copied
from mcp_tui.tui.screens.parts.playback import Playback, PositionBar
from mcp_tui.tui.screens.session import SessionScreen
from mcp_tui.tui.view.catalogue import Entry
from mcp_tui.tui.view.text import words


class ReplayScreen(SessionScreen):
    """A recording. It opens at its end, or with a ``speed`` playing from its start.

    At the end, it follows what is read and what is appended to the file. With a ``cancel``, the id of a request, it moves to
    the cancellation of that as soon as it is read.
    """

    SCOPES = (RECORDING,)
    BINDINGS = bindings(*SCOPES)

    def __init__(
        self,
        replay: Recording,
        *,
        speed: float | None = None,
        cancel: RequestId | None = None,
    ) -> None:
        self.replay = replay
        self.recorded = RecordedScene(replay)
        super().__init__(self.recorded)
        self.table.server = lambda: self.recorded.server
        self.playback = Playback(self, self.recorded, self.table, self.filtering, speed=speed, cancel=cancel)
        self.find_input = self.playback.input
        self.action_play = self.playback.play
        self.action_speed = self.playback.change_speed
        self.action_cancellation = self.playback.to_cancellation
        self.action_find = self.playback.open_input

    def offered(self) -> list[Key]:
        return keys(RECORDING, EVERYWHERE)

    @property
    def typing(self) -> tuple[LiteralString, LiteralString] | None:
        return ("Next match", "Close") if self.find_input.has_focus else super().typing

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield self.playback.bar
        yield self.find_input

    def on_mount(self) -> None:
        self.find_input.display = False
        self.cancellations.empty = words("No cancellations so far.")
        self.playback.start_reading()

    def look(self, *, lists: bool = True) -> None:
        if self.is_mounted and self.table.is_mounted and self.playback.before_look():
            super().look(lists=lists)
            self.playback.after_look()

    def drawing(self) -> None:
        wanted = "detail" if self.recorded.has_calls() else "log"
        if not self.chosen and self.pane != wanted:
            self.show_pane(wanted)

    def idle(self) -> frozenset[str]:
        recorded = self.recorded
        idle = set[str]() if len(self.app.screen_stack) > 2 else {"app.back"}  # no screen to go back to
        if self.table.selected is None:
            idle |= {"request.copy", "request.save"}
        if recorded.position == recorded.events:
            idle |= {"replay.next", "replay.end", "replay.next-cancellation"}
        if not recorded.position:
            idle |= {"replay.previous", "replay.start", "replay.previous-cancellation"}
        return frozenset(idle)

    # -- keys ------------------------------------------------------------------------------------------------

    def action_step(self, events: int) -> None:
        """Moves some events forwards or back."""
        self.playback.move_to(max(0, self.recorded.position + events))

    def action_start(self) -> None:
        self.playback.move_to(0)

    def action_end(self) -> None:
        self.playback.move_to(self.recorded.events)

    def on_position_bar_pressed(self, event: PositionBar.Pressed) -> None:
        self.playback.move_to(round(event.share * self.recorded.events))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input is self.find_input:
            self.playback.find(back=False)

    def action_find_on(self, step: int) -> None:
        """Moves to the next or previous match of the text."""
        self.playback.find(back=step < 0)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action is available: searching on needs the input."""
        if action == "find_on":
            return self.find_input.has_focus
        return super().check_action(action, parameters)

    def action_back(self) -> None:
        """Closes what was opened last, and a recording that was opened from a session."""
        if self.find_input.display:
            self.find_input.display = False
            self.table.focus()
            return
        busy = self.filtering.line.display or self.maximized is not None or self.selections
        if busy or self.focused is not self.table or len(self.app.screen_stack) <= 2:
            super().action_back()
        else:
            self.dismiss(None)

    def action_read_only(self) -> None:
        """Reports that a key does nothing here because it would act on a server."""
        self.tell(words("read-only: a recording"))

    async def activate(self, entry: Entry) -> None:
        self.action_read_only()

    async def action_interrupt(self) -> None:
        """Copies the selected text, or quits if none is selected (ctrl+c)."""
        if copied(self):
            self.tell(words("copied"), "muted", seconds=2)
        else:
            await self.app.run_action("quit")
