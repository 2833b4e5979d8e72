"""The replay screen: a recording in the panes of the workbench, read-only, with a position that keys move."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import partial
from typing import Final, LiteralString

from textual.app import ComposeResult
from textual.events import Click
from textual.strip import Strip
from textual.widgets import Input

from mcp_tui.journal.recording import Recording
from mcp_tui.journal.records import RecordingError
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import name_of
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.server_requests import NONE
from mcp_tui.protocol.transitions import KINDS
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.screens.dialog import copied
from mcp_tui.tui.screens.session_screen import SessionScreen
from mcp_tui.tui.sources.recorded import RecordedScene, problems
from mcp_tui.tui.widgets.canvas import Bar
from mcp_tui.tui.widgets.line_input import LineInput
from mcp_tui.view import durations
from mcp_tui.view.catalogue_entries import Entry
from mcp_tui.view.keys import EVERYWHERE, RECORDING, Key, keys
from mcp_tui.view.lines import Segments
from mcp_tui.view.rows import bar
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, clip, join, safe, width, words

SLOWEST_SPEED: Final = 0.25
FASTEST_SPEED: Final = 64.0
"""The highest playback speed, relative to real time."""

READING_SECONDS: Final = 0.05
"""Seconds of reading before the screen is updated."""

REDRAWN_SECONDS: Final = 0.5
"""Seconds between two updates of the screen while a recording is read, because drawing slows down reading."""

TAIL_BYTES: Final = 4 * 1024 * 1024
"""The bytes at the end of a long recording that are shown while the rest is read."""

SHORT_READING_SECONDS: Final = 0.01
"""Seconds of reading before a key can act, while the end of a recording is shown."""

GROWN_SECONDS: Final = 0.2
"""Seconds between two checks whether the file has grown."""


NARROW_GAPS_CELLS: Final = 100
"""The width in cells below which gaps are narrower."""

GRAPH_CELLS: Final = 8
"""The minimum width of the graph in cells; without that room it is omitted."""

EVENT_WORDS_CELLS: Final = max(len(kind.__name__) for kind in KINDS) + 8
"""The width in cells of the words of an event, so that the graph does not move."""


class PositionBar(Bar, can_focus=False):
    """One line with the state of a :class:`Playback`. A click on its graph moves there."""

    def __init__(self, playback: Playback) -> None:
        super().__init__(id="position")
        self._playback = playback
        self._shown: object = None

    def update(self) -> None:
        """Draws the line again if it changed."""
        shown = self._playback.line(self.inner.width)
        if shown != self._shown:
            self._shown = shown
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return self.strip(self._playback.line(self.inner.width)[0]) if y == 0 else self.blank()

    def on_click(self, event: Click) -> None:
        _, graph = self._playback.line(self.inner.width)
        if event.x in graph:
            share = (event.x - graph.start + 1) / len(graph)
            self._playback.move_to(round(share * self._playback.recorded.events))


class Playback:
    """Moves the position in a recording.

    ``read`` is the share of the file that is read, ``None`` after all of it; ``whole`` is that of a recording of which only
    the end is shown. ``at_end`` keeps the position at the end when the file grows. ``cancel`` is a request whose
    cancellation is shown as soon as it is read.
    """

    def __init__(self, screen: ReplayScreen, *, speed: float | None, cancel: RequestId | None) -> None:
        self._screen = screen
        self.recorded = screen.recorded
        self.replay = screen.replay
        self.bar = PositionBar(self)
        self.input = LineInput(placeholder="text to find", id="find", compact=True)
        self.speed = speed or 1.0
        self.playing = speed is not None
        self.at_end = speed is None
        self.read: float | None = 0.0
        self.whole: float | None = None
        self._cancel = cancel
        self._played_at = time.monotonic()
        self._looked_at = 0.0
        self._drawn = 0.0
        self._newest: RequestId | None = None

    # -- reading ---------------------------------------------------------------------------------------------

    def start_reading(self) -> None:
        """Reads the rest of the file in slices; a short recording is read before the first frame of the screen."""
        self.read = self.read or 0.0
        scan = self.replay.scan()
        if not self._read_some(scan):
            self._screen.app.run_worker(partial(self._read_on, scan), group="reading", exit_on_error=True)
        self._follow_end()

    async def _read_on(self, scan: Iterator[float]) -> None:
        whole = False
        while not whole:
            await asyncio.sleep(0)
            whole = self._read_some(scan)

    def _read_some(self, scan: Iterator[float]) -> bool:
        """Reads one slice; returns true if it was the last."""
        until = time.monotonic() + READING_SECONDS
        try:
            for share in scan:
                self.read = share
                if time.monotonic() > until:
                    return False
        except RecordingError as error:
            self.recorded.problems.append(str(error))
            self.read = None
            return True
        # Updated while it still counts as being read, regardless of the last update: so the cursor moves to the
        # newest request.
        self._drawn = 0.0
        self._screen.look()
        self.read = None
        self.recorded.problems[:] = problems(self.replay)
        self._show_cancel()
        return True

    def _show_cancel(self) -> None:
        """Moves to the cancellation that the screen was opened for, once."""
        wanted, self._cancel = self._cancel, None
        table, place = self.replay.table, None if wanted is None else self.recorded.requests.place(wanted)
        number = next((each for each in table.cancels if table.rows[each] == place), None)
        if number is not None:
            # A table without a layout has no height, and cannot scroll.
            self._screen.app.call_after_refresh(self._move_to_event, number)

    def _move_to_event(self, number: int) -> None:
        self.move_to(number + 1)
        self._screen.filtering.go_to(self.recorded.requests.row(self.replay.table.rows[number]).id)

    @property
    def live(self) -> bool:
        """Whether the screen shows the newest moment of a running session, so that its clock runs too."""
        recorded = self.recorded
        return self.at_end and self.read is None and recorded.position > 0 and not recorded.requests.over

    def _follow_end(self) -> None:
        if self.at_end:
            self.recorded.seek(self.recorded.events, time.monotonic() if self.live else None)

    # -- the view --------------------------------------------------------------------------------------------

    def before_look(self) -> bool:
        """Moves to the current position; returns false if it is too early to draw it."""
        now = time.monotonic()
        if self.read is not None and self._drawn and now - self._drawn < REDRAWN_SECONDS:
            return False
        self._drawn = now
        self._play()
        # A resting screen has just checked that, in rests().
        if self.read is None and not self._screen.resting and now - self._looked_at > GROWN_SECONDS:
            self._looked_at = now
            if self.replay.grown():
                self.start_reading()
        self._follow_end()
        return True

    def after_look(self) -> None:
        """Keeps the cursor on the newest request while the file is read, unless the user moved it."""
        row = self._screen.table.selected
        if self._newest is None and row is not None:
            self._newest = row.id
        if self.read is not None and self.at_end and (row is None or row.id == self._newest):
            self._screen.table.action_newest()
            row = self._screen.table.selected
            self._newest = None if row is None else row.id
        if not self._screen.resting:
            self.bar.update()

    def line(self, cells: int) -> tuple[Segments, range]:
        """Returns the line of the position bar, and the cells of its graph: none if there is no room for one."""
        recorded, position, events = self.recorded, self.recorded.position, self.recorded.events
        gap = words("   ") if cells >= NARROW_GAPS_CELLS else words("  ")
        if (read := self.read if self.whole is None else self.whole) is not None:
            state = safe("reading {:>2}%", int(read * 100))
        elif self.playing:
            state = safe("playing {:g}×", self.speed)
        else:
            state = (self._screen.client_name or words("running")) if self.live else words("paused")
        number = f"{position:>{len(f'{events:,}')},}"
        known = NOTHING if self.whole is None else words("the last ")
        # In a running session that of the last event: a line that changes each second costs more than all above it.
        at = self.replay.at(position) if self.live else recorded.clock
        pieces = [
            (safe(" {:<11}", state), "title" if read is None else "warning"),
            (safe("{}{}", gap, durations.moment(at, recorded.origin)), "muted"),
            (safe("{}event {} of {}{:,}", gap, number, known, events), ""),
        ]
        if damaged := self.replay.skipped + self.replay.table.misfits:
            pieces.append((safe("{}{:,} skipped", gap, damaged), "warning"))
        space = min(
            EVENT_WORDS_CELLS, cells - sum(width(text) for text, _ in pieces) - 2 * len(gap) - GRAPH_CELLS
        )
        if space >= 10:
            last = said(self.replay.event(position - 1)) if position else NOTHING
            pieces.append((safe("{}{:<{}}", gap, clip(last, space), space), "muted"))
        pieces.append((gap, ""))
        start = sum(width(text) for text, _ in pieces)
        graph = range(start, cells - 1)
        if len(graph) < GRAPH_CELLS:
            return (*pieces, (clean(" " * max(0, cells - start)), "")), range(0)
        share = position / events if events else 0.0
        return (*pieces, (bar(share, len(graph)), "accent"), (clean(" "), "")), graph

    # -- navigation ------------------------------------------------------------------------------------------

    def move_to(self, position: int) -> None:
        """Pauses at a position."""
        self.playing = False
        self.recorded.seek(position)
        self.at_end = self.recorded.position == self.recorded.events
        self._screen.look()

    def _play(self) -> None:
        now = time.monotonic()
        passed, self._played_at = now - self._played_at, now
        if not self.playing:
            return
        recorded = self.recorded
        clock = recorded.clock + passed * self.speed
        recorded.seek(max(recorded.position, self.replay.position_at(clock)), clock)
        if recorded.position == recorded.events and self.read is None:
            self.playing, self.at_end = False, True
            recorded.seek(recorded.events, self.replay.at(recorded.events))

    def play(self) -> None:
        """Plays, from the start if it is at its end; or pauses."""
        if not self.playing and self.recorded.position == self.recorded.events:
            self.recorded.seek(0)
        self.playing = not self.playing
        self.at_end = False
        self._played_at = time.monotonic()
        self._screen.look()

    def change_speed(self, step: int) -> None:
        """Plays faster or slower."""
        self.speed = max(SLOWEST_SPEED, min(FASTEST_SPEED, self.speed * 2.0**step))
        self._screen.show_message(safe("speed {:g}×", self.speed), "muted", seconds=2)
        self._screen.look()

    def to_cancellation(self, step: int) -> None:
        """Moves to the next or previous cancellation, with the cursor on its request."""
        cancels, position = self.replay.table.cancels, self.recorded.position
        # at the position of a cancellation, the cancellation has just happened
        at = bisect_right(cancels, position - 1) if step > 0 else bisect_left(cancels, position - 1) - 1
        if 0 <= at < len(cancels):
            self._move_to_event(cancels[at])
            return
        none = words("No later cancellation") if step > 0 else words("No earlier cancellation")
        self._screen.show_message(none, "muted", seconds=3)

    # -- search ----------------------------------------------------------------------------------------------

    def open_input(self) -> None:
        """Opens the input for a text to find."""
        self.input.display = True
        self._screen.set_focus(self.input)

    def find(self, *, back: bool) -> None:
        """Moves to the next or previous event with the text in its record or its message."""
        if self.input.value:
            finding = partial(self._find, self.input.value, back=back)
            self._screen.app.run_worker(finding, group="finding", exclusive=True, exit_on_error=True)

    async def _find(self, text: str, *, back: bool) -> None:
        replay, needle = self.replay, text.encode("utf-8", "replace")
        edge = (replay.end, words("from the end")) if back else (0, words("from the start"))
        for begin, note in ((replay.next_to(self.recorded.position, back=back), NOTHING), edge):
            for found in replay.search(needle, begin, back=back):
                if found is not None:
                    self._show_match(found, note)
                    return
                self._screen.show_message(words("searching …"), "muted", seconds=2)
                await asyncio.sleep(0)
        self._screen.show_message(safe("Not found in this recording: {}", brief(text, 60)))

    def _show_match(self, offset: int, note: SafeText) -> None:
        if note:
            self._screen.show_message(note, "muted", seconds=2)
        self.move_to(self.replay.position_of(offset))
        number = self.replay.table.rows[self.recorded.position - 1] if self.recorded.position else NONE
        if number != NONE:
            self._screen.table.select(self.recorded.requests.row(number).id)
        self._screen.look()


def said(event: ev.Event | None) -> SafeText:
    """Returns an event in a few words: ``cancel requested 212``."""
    if event is None:
        return NOTHING
    name = clean(name_of(type(event)).replace("_", " "))
    return join((name, brief(str(event.id), 40)), " ") if isinstance(event, ev.RequestEvent) else name


class ReplayScreen(SessionScreen):
    """A recording, opened at its end, or with a ``speed`` playing from its start.

    At the end, it follows records that are read or appended to the file. With ``cancel``, the id of a request, it
    moves to that request's cancellation as soon as it is read. ``scene`` is the scene of the recording, if it is
    another kind.
    """

    ALLOW_IN_MAXIMIZED_VIEW = f"{SessionScreen.ALLOW_IN_MAXIMIZED_VIEW}, PositionBar"
    BINDINGS = bindings(RECORDING)

    client_name: SafeText = NOTHING
    """The client of the session, if it runs and the screen acts on it."""

    def __init__(
        self,
        replay: Recording,
        *,
        speed: float | None = None,
        cancel: RequestId | None = None,
        scene: RecordedScene | None = None,
    ) -> None:
        self.replay = replay
        self.recorded = scene or RecordedScene(replay)
        super().__init__(self.recorded)
        self.table.server = self.recorded.server
        self.playback = Playback(self, speed=speed, cancel=cancel)
        self.find_input = self.playback.input

    def offered(self) -> list[Key]:
        return keys(RECORDING, EVERYWHERE)

    @property
    def typing(self) -> tuple[LiteralString, LiteralString] | None:
        return ("Next match", "Close") if self.focused is self.find_input else super().typing

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

    def rests(self) -> bool:
        playback = self.playback
        return not playback.playing and playback.read is None and super().rests() and not self.replay.grown()

    def drawing(self) -> None:
        wanted = "detail" if self.recorded.has_calls() else "log"
        if not self.chosen and self.pane != wanted:
            self.show_pane(wanted)

    def idle(self) -> frozenset[str]:
        recorded = self.recorded
        # there is no screen to go back to
        idle = set[str]() if len(self.app.screen_stack) > 2 else {"app.back"}
        if self.table.selected is None:
            idle.add("request.copy")
        if recorded.position == recorded.events:
            idle |= {"replay.next", "replay.next-cancellation"}
        if not recorded.position:
            idle |= {"replay.start"}
        return frozenset(idle)

    # -- keys ------------------------------------------------------------------------------------------------

    def action_play(self) -> None:
        self.playback.play()

    def action_speed(self, step: int) -> None:
        self.playback.change_speed(step)

    def action_cancellation(self, step: int) -> None:
        self.playback.to_cancellation(step)

    def action_find(self) -> None:
        self.playback.open_input()

    def action_step(self, events: int) -> None:
        """Moves some events forwards or back."""
        self.playback.move_to(self.recorded.position + events)

    def action_start(self) -> None:
        self.playback.move_to(0)

    def action_end(self) -> None:
        self.playback.move_to(self.recorded.events)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input is self.find_input:
            self.playback.find(back=False)

    def action_find_on(self, step: int) -> None:
        """Moves to the next or previous match of the text."""
        self.playback.find(back=step < 0)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether an action is available: the next match needs a search."""
        if action == "find_on":
            return self.focused is self.find_input
        return super().check_action(action, parameters)

    def action_back(self) -> None:
        """Closes the newest thing first, and a recording that was opened from a session."""
        if self.find_input.display:
            self.find_input.display = False
            self.set_focus(self.table)
            return
        busy = self.filtering.display or self.maximized is not None or self.selections
        if busy or self.focused is not self.table or len(self.app.screen_stack) <= 2:
            super().action_back()
        elif self.on_top:
            self.dismiss(None)

    def action_read_only(self) -> None:
        """Reports that a key does nothing here because it would act on a server."""
        self.show_message(words("read-only: a recording"))

    async def activate(self, entry: Entry) -> None:
        self.action_read_only()

    async def action_interrupt(self) -> None:
        """Copies the selected text, or quits if none is selected (ctrl+c)."""
        if copied(self):
            self.show_message(words("copied"), "muted", seconds=2)
        else:
            await self.app.run_action("quit")


class TailScreen(ReplayScreen):
    """The end of a long recording. When all of it is read, a :class:`ReplayScreen` takes the place of this screen."""

    def __init__(self, whole: Recording, tail: Recording) -> None:
        super().__init__(tail)
        self._whole = whole
        self._is_read = False
        self.playback.whole = 0.0

    def on_mount(self) -> None:
        self.run_worker(self._read_whole(), exit_on_error=True)

    def action_find(self) -> None:
        self.show_message(words("Not all of the recording is read yet"))

    async def _read_whole(self) -> None:
        until = time.monotonic() + SHORT_READING_SECONDS
        try:
            for share in self._whole.scan():
                self.playback.whole = share
                if time.monotonic() > until:
                    self.playback.bar.update()
                    await asyncio.sleep(0)
                    until = time.monotonic() + SHORT_READING_SECONDS
        except RecordingError:
            pass  # the other screen reads on, and reports it
        self._is_read = True
        self.look()

    def look(self, *, lists: bool = True) -> None:
        super().look(lists=lists)
        # Not below a dialog, or while somebody types.
        if self._is_read and self.on_top and self.typing is None:
            self._is_read = False
            self.app.switch_screen(_WholeScreen(self._whole, self))  # pyright: ignore[reportUnknownMemberType]


class _WholeScreen(ReplayScreen):
    """A recording that was read while another screen showed its end; it begins as that screen was left."""

    def __init__(self, replay: Recording, before: TailScreen) -> None:
        super().__init__(replay)
        self._before = before

    def on_mount(self) -> None:
        self.call_after_refresh(self._carry)

    def _carry(self) -> None:
        before = self._before
        self.filtering.carry(before.filtering)
        self.table.refilter(show_internal=before.table.outline.show_internal)
        if before.chosen:
            self.choose_pane(before.pane)
        if not before.playback.at_end:
            self.playback.move_to(self.recorded.events - before.recorded.events + before.recorded.position)
        if (row := before.table.selected) is not None and not before.table.follow:
            self.table.select(row.id)
