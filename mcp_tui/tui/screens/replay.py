"""A recording on the screen: the panes of the workbench, a position that one moves, and no key that acts."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final

from textual.app import ComposeResult
from textual.widgets import Input

from mcp_tui.journal.event_table import NONE
from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import RequestId
from mcp_tui.tui.bindings import bindings, is_typed, keys
from mcp_tui.tui.keys.key import Key
from mcp_tui.tui.keys.recording import RECORDING
from mcp_tui.tui.keys.workbench import EVERYWHERE
from mcp_tui.tui.recorded import RecordedScene, problems
from mcp_tui.tui.screens.dialog import copied
from mcp_tui.tui.screens.marking import Marking
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.catalogue import Entry
from mcp_tui.tui.view.position import Position, said
from mcp_tui.tui.view.recorded_index import RecordedIndex
from mcp_tui.tui.view.text import SafeText, brief, words
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.tui.widgets.position_bar import PositionBar

SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""How many times as fast as it happened a recording can be played by the keys."""

BUDGET: Final = 0.05
"""Seconds of reading before the screen goes on."""

WHILE_READING: Final = 0.5
"""Seconds between two looks at a recording that is still read: drawing takes time from reading."""

GROWN: Final = 1.0
"""Seconds between two looks whether the file has grown."""


class ReplayScreen(Marking):
    """A recording, read-only. It opens at its end, or with a ``speed`` at its start and playing.

    While it is read it stands where the reading is. Whoever is at the end stays there when the file grows. With a
    ``cancel``, the id of a request, it goes to the moment of its cancellation as soon as it is read.
    """

    SCOPES = (RECORDING,)
    BINDINGS = bindings(*SCOPES)

    def __init__(
        self,
        replay: Recording,
        *,
        speed: float | None = None,
        cancel: RequestId | None = None,
        ascii_only: bool = False,
    ) -> None:
        self.recorded = RecordedScene(replay)
        super().__init__(self.recorded, index=RecordedIndex(self.recorded.book), ascii_only=ascii_only)
        self.replay = replay
        self.table.server = lambda: self.recorded.server
        self.position_bar = PositionBar(id="position")
        self.position_bar.ascii = ascii_only
        self.find_input = Input(placeholder="text to find in the records", id="find", compact=True)
        self.speed = speed or 1.0
        self.playing = speed is not None
        self.at_end = speed is None
        self.read: float | None = 0.0
        self._wanted = cancel
        self._played_at = time.monotonic()
        self._looked_at = 0.0
        self._drawn = 0.0
        self._newest: RequestId | None = None

    def offered(self) -> list[Key]:
        return keys(RECORDING, EVERYWHERE)

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield self.position_bar
        yield self.find_input

    def on_mount(self) -> None:
        self.find_input.display = False
        self.cancellations.empty = words("Nothing was cancelled by now.")
        self.start_reading()

    # -- reading ---------------------------------------------------------------------------------------------

    def start_reading(self) -> None:
        """Read what was not read yet, a little at a time; a short recording is read before its first frame."""
        self.read = self.read or 0.0
        scan = self.replay.scan()
        until = time.monotonic() + BUDGET
        try:
            for share in scan:
                self.read = share
                if time.monotonic() > until:
                    self.run_worker(self._read_on(scan), group="reading", exit_on_error=True)
                    break
            else:
                self._whole()
        except RecordingError as error:
            self._broken(error)
        self.follow_end()

    async def _read_on(self, scan: Iterator[float]) -> None:
        until = time.monotonic() + BUDGET
        try:
            for share in scan:
                self.read = share
                if time.monotonic() > until:
                    await asyncio.sleep(0)
                    until = time.monotonic() + BUDGET
        except RecordingError as error:
            self._broken(error)
        else:
            self._whole()

    def _broken(self, error: RecordingError) -> None:
        self.recorded.problems.append(str(error))
        self.read = None

    def _whole(self) -> None:
        """All that there is has been read: say what is wrong with it."""
        self._drawn = 0.0
        self.look()
        self.read = None
        self.recorded.problems[:] = problems(self.replay)
        self._go_to_wanted()

    def _go_to_wanted(self) -> None:
        """Stand at the cancellation that was asked for, once."""
        wanted, self._wanted = self._wanted, None
        if wanted is None:
            return
        for number in self.replay.table.cancels:
            event = self.replay.event(number)
            if isinstance(event, ev.CancelRequested) and (type(event.id), event.id) == (type(wanted), wanted):
                self.call_after_refresh(self._stand_at, number, event.id)
                return

    def _stand_at(self, number: int, id_: RequestId) -> None:
        self.move_to(number + 1)
        self.go_to(id_)

    def follow_end(self) -> None:
        """Where it stands at the end, stand at what is the end now."""
        if self.at_end:
            self.recorded.seek(self.recorded.events)

    # -- looking ---------------------------------------------------------------------------------------------

    def look(self) -> None:
        if not self.is_mounted or not self.table.is_mounted:
            return
        now = time.monotonic()
        if self.read is not None and self._drawn and now - self._drawn < WHILE_READING:
            return
        self._drawn = now
        self._play()
        if self.read is None and now - self._looked_at > GROWN:
            self._looked_at = now
            if self.replay.grown():
                self.start_reading()
        self.follow_end()
        super().look()
        if self.read is not None and self.at_end:
            self._stay_with_newest()
        self._show_position()

    def _stay_with_newest(self) -> None:
        """While the file is read, keep the cursor on the newest request, unless a person has put it elsewhere."""
        row = self.table.selected
        if row is None or self._newest in {None, row.id}:
            self.table.action_newest()
            self._newest = None if self.table.selected is None else self.table.selected.id

    def drawing(self) -> None:
        wanted = "detail" if self.recorded.called() else "log"
        if not self._chosen and self.pane != wanted:
            self.show_pane(wanted)

    def _show_position(self) -> None:
        recorded = self.recorded
        position = recorded.position
        origin = recorded.replay.header.wall - recorded.replay.header.mono
        shown = self.position_bar.position
        moved = (position, recorded.events) != (shown.position, shown.events) or not shown.moment
        last = self.replay.event(position - 1) if moved and position else None
        self.position_bar.show(
            Position(
                speed=self.speed if self.playing else None,
                read=self.read,
                moment=durations.moment(recorded.clock, origin),
                position=position,
                events=recorded.events,
                event=said(last) if moved else shown.event,
                damaged=self.replay.skipped + self.replay.table.misfits,
            )
        )

    def idle(self) -> frozenset[str]:
        recorded = self.recorded
        idle: set[str] = set()
        if self.table.selected is None:
            idle |= {"request.copy", "request.save"}
        if recorded.position == recorded.events:
            idle |= {"replay.next", "replay.end", "replay.next-cancellation"}
        if not recorded.position:
            idle |= {"replay.previous", "replay.start", "replay.previous-cancellation"}
        return frozenset(idle)

    # -- moving ----------------------------------------------------------------------------------------------

    def move_to(self, position: int) -> None:
        """Stand still at a position."""
        self.playing = False
        self._go(position)

    def _go(self, position: int) -> None:
        self.recorded.seek(position)
        self.at_end = self.recorded.position == self.recorded.events
        self.look()

    def _play(self) -> None:
        now = time.monotonic()
        passed, self._played_at = now - self._played_at, now
        if not self.playing:
            return
        recorded = self.recorded
        clock = recorded.clock + passed * self.speed
        recorded.seek(self._position_at(clock), clock)
        if recorded.position == recorded.events and self.read is None:
            self.playing, self.at_end = False, True
            recorded.seek(recorded.events, self.replay.at(recorded.events))

    def _position_at(self, clock: float) -> int:
        """The position at a moment from now on, found by few looks into the file."""
        at, low, step = self.replay.at, self.recorded.position, 1
        events = self.recorded.events
        while low + step <= events and at(low + step) <= clock:
            low += step
            step *= 2
        high = min(events, low + step - 1)
        while low < high:
            middle = (low + high + 1) // 2
            if at(middle) <= clock:
                low = middle
            else:
                high = middle - 1
        return low

    def action_play(self) -> None:
        """Play from here, or from the start where it is at its end; or stand still."""
        if not self.playing and self.recorded.position == self.recorded.events:
            self.recorded.seek(0)
        self.playing = not self.playing
        self.at_end = False
        self._played_at = time.monotonic()
        self.look()

    def action_step(self, events: int) -> None:
        """Some events on, or back."""
        self.move_to(max(0, self.recorded.position + events))

    def action_start(self) -> None:
        self.move_to(0)

    def action_end(self) -> None:
        self.move_to(self.recorded.events)

    def action_speed(self, step: int) -> None:
        """Play faster, or slower."""
        at = min(range(len(SPEEDS)), key=lambda place: abs(SPEEDS[place] - self.speed))
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, at + step))]
        self.keys.tell(SafeText(f"speed {self.speed:g}×"), "muted", seconds=2)
        self.look()

    def action_cancellation(self, step: int) -> None:
        """To the moment of the next cancellation, or of the one before, with the cursor on its request."""
        table, position = self.replay.table, self.recorded.position
        cancels = table.cancels
        # standing at a cancellation means that it has just happened
        at = bisect_right(cancels, position - 1) if step > 0 else bisect_left(cancels, position - 1) - 1
        if not 0 <= at < len(cancels):
            said = words("no cancellation after this") if step > 0 else words("no cancellation before this")
            self.keys.tell(said, "muted", seconds=3)
            return
        self.move_to(cancels[at] + 1)
        self.go_to(self.recorded.book.row(table.rows[cancels[at]]).id)

    def on_position_bar_pressed(self, event: PositionBar.Pressed) -> None:
        self.move_to(round(event.share * self.recorded.events))

    # -- finding ---------------------------------------------------------------------------------------------

    def action_find(self) -> None:
        """Open the line for a text to find."""
        self.find_input.display = True
        self.set_focus(self.find_input)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input is self.find_input and event.value:
            self.find(event.value, back=False)

    def action_find_on(self, step: int) -> None:
        """To the next place of the text that is typed, or to the one before."""
        if self.find_input.value:
            self.find(self.find_input.value, back=step < 0)

    def find(self, text: str, *, back: bool) -> None:
        """Go to the next event whose record has a text in it, or that came with a frame that has; or to the one before."""
        self.run_worker(self._find(text, back=back), group="finding", exclusive=True, exit_on_error=True)

    async def _find(self, text: str, *, back: bool) -> None:
        replay, needle = self.replay, text.encode("utf-8", "replace")
        begin = replay.next_to(self.recorded.position, back=back)
        found = await self._search(needle, begin, back=back)
        if found < 0:
            found = await self._search(needle, replay.end if back else 0, back=back)
            if found >= 0:
                said = words("from the end on") if back else words("from the start on")
                self.keys.tell(said, "muted", seconds=2)
        if found < 0:
            self.keys.tell(SafeText(f"{brief(text, 60)} is not in this recording"))
            return
        self.move_to(replay.position_of(found))
        number = replay.table.rows[self.recorded.position - 1] if self.recorded.position else NONE
        if number != NONE:
            self.table.select(self.recorded.book.row(number).id)
        self.look()

    async def _search(self, needle: bytes, begin: int, *, back: bool) -> int:
        for found in self.replay.search(needle, begin, back=back):
            if found is not None:
                return found
            self.keys.tell(words("searching …"), "muted", seconds=2)
            await asyncio.sleep(0)
        return -1

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a text is typed, letters are letters; only then there is something to find on."""
        typing = self.find_input.has_focus
        if action == "find_on":
            return typing
        if typing and is_typed(action, *self.SCOPES):
            return False
        return super().check_action(action, parameters)

    def action_back(self) -> None:
        """Close what was opened last; a recording that was opened over a session as well."""
        if self.find_input.has_focus or self.find_input.display:
            self.find_input.display = False
            self.table.focus()
            return
        busy = self.filter_input.display or self.maximized is not None or self.selections
        if busy or self.focused is not self.table or len(self.host.screen_stack) <= 2:
            super().action_back()
        else:
            self.dismiss(None)

    # -- what does not work ----------------------------------------------------------------------------------

    def action_read_only(self) -> None:
        """A key that would act on a server."""
        self.keys.tell(words("read-only: a recording"))

    async def on_line_list_activated(self, event: LineList.Activated) -> None:
        if isinstance(event.key, Entry):
            self.action_read_only()

    async def action_interrupt(self) -> None:
        """ctrl+c: copy the selected text; else quit."""
        if copied(self):
            self.keys.tell(words("copied"), "muted", seconds=2)
        else:
            await self.host.run_action("quit")
