"""Where a recording stands: read a little at a time, moved by keys, played by the clock, and searched for a text."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from textual.events import Click
from textual.message import Message
from textual.strip import Strip

from mcp_tui.journal.event_table import KINDS, NONE
from mcp_tui.journal.records import RecordingError
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import name_of
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.values import fact
from mcp_tui.tui.recorded import RecordedScene, problems
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.screens.parts.filtering import Filtering
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.lines import Segments
from mcp_tui.tui.view.rows import bar
from mcp_tui.tui.view.text import NOTHING, SafeText, brief, clean, clip, join, safe, width, words
from mcp_tui.tui.widgets.canvas import Bar
from mcp_tui.tui.widgets.editor import LineInput
from mcp_tui.tui.widgets.request_table import RequestTable

SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""How many times as fast as it happened a recording can be played by the keys."""

BUDGET: Final = 0.05
"""Seconds of reading before the screen goes on."""

WHILE_READING: Final = 0.5
"""Seconds between two looks at a recording that is still read: drawing takes time from reading."""

GROWN: Final = 1.0
"""Seconds between two looks whether the file has grown."""


NARROW: Final = 100
"""Cells below which words give way."""

LEAST: Final = 8
"""Cells of the graph below which it is left out."""


@fact
class Position:
    """What the bar says. ``speed`` is how many times as fast as it happened a recording is played, ``None`` where it
    stands still; ``read`` the share of the file that was read, ``None`` where that is all. ``event`` is the last thing
    that happened, ``damaged`` counts what had to be left out.
    """

    speed: float | None = None
    read: float | None = None
    moment: SafeText = NOTHING
    position: int = 0
    events: int = 0
    event: SafeText = NOTHING
    damaged: int = 0


def said(event: ev.Event | None) -> SafeText:
    """An event in a few words: ``cancel requested 212``."""
    if event is None:
        return NOTHING
    name = clean(name_of(type(event)).replace("_", " "))
    return join((name, brief(str(event.id), 40)), " ") if isinstance(event, ev.RequestEvent) else name


LONGEST: Final = max(len(kind.__name__) for kind in KINDS) + 8
"""Cells that the words of an event have, so that the graph stays where it is."""


def position_bar(facts: Position, cells: int) -> tuple[Segments, range]:
    """The bar in ``cells`` cells, and those of them that are its graph: none where there is no room for one."""
    pieces = _words(facts, cells)
    start = sum(width(text) for text, _ in pieces)
    if cells - start - 1 < LEAST:
        return (*pieces, (clean(" " * max(0, cells - start)), "")), range(0)
    graph = range(start, cells - 1)
    share = facts.position / facts.events if facts.events else 0.0
    return (*pieces, (bar(share, len(graph)), "accent"), (clean(" "), "")), graph


def _words(facts: Position, cells: int) -> Segments:
    wide = cells >= NARROW
    gap = words("   ") if wide else words("  ")
    if facts.read is not None:
        state = safe("reading {:>2}%", int(facts.read * 100))
    else:
        state = words("paused") if facts.speed is None else safe("playing {:g}×", facts.speed)
    number = f"{facts.position:>{len(f'{facts.events:,}')},}"
    pieces = [
        (safe(" {:<11}", state), "warning" if facts.read is not None else "title"),
        (safe("{}{}", gap, facts.moment), "muted"),
        (safe("{}event {} of {:,}", gap, number, facts.events), ""),
    ]
    if facts.damaged:
        pieces.append((safe("{}{:,} skipped", gap, facts.damaged), "warning"))
    used = sum(width(text) for text, _ in pieces)
    room = min(LONGEST, cells - used - 2 * len(gap) - LEAST)
    if room >= 10:
        pieces.append((safe("{}{:<{}}", gap, clip(facts.event, room), room), "muted"))
    return (*pieces, (gap, ""))


class PositionBar(Bar, can_focus=False):
    """One line that says what :meth:`show` was told last. A click on the graph posts :class:`Pressed`."""

    position = Position()

    @dataclass
    class Pressed(Message):
        """A click on the graph, at a share of it from 0 to 1."""

        share: float

    def show(self, position: Position) -> None:
        """Say something else; the same again costs nothing."""
        if position != self.position:
            self.position = position
            self.refresh()

    def render_line(self, y: int) -> Strip:
        return self.strip(position_bar(self.position, self.inner.width)[0]) if y == 0 else self.blank()

    def on_click(self, event: Click) -> None:
        _, graph = position_bar(self.position, self.inner.width)
        if event.x in graph:
            self.post_message(self.Pressed((event.x - graph.start + 1) / len(graph)))


class Playback:
    """Moves a recording. ``read`` is the share of the file that is read, ``None`` where that is all.

    ``at_end`` says that it stays at the end when the file grows; ``cancel`` is a request at whose cancellation it stands as
    soon as that is read.
    """

    def __init__(
        self,
        screen: LayoutScreen,
        recorded: RecordedScene,
        table: RequestTable,
        filtering: Filtering,
        *,
        speed: float | None,
        cancel: RequestId | None,
    ) -> None:
        self._screen = screen
        self._table = table
        self._filtering = filtering
        self.recorded = recorded
        self.replay = recorded.replay
        self.bar = PositionBar(id="position")
        self.input = LineInput(placeholder="text to find", id="find", compact=True)
        self.speed = speed or 1.0
        self.playing = speed is not None
        self.at_end = speed is None
        self.read: float | None = 0.0
        self._cancel = cancel
        self._played_at = time.monotonic()
        self._looked_at = 0.0
        self._drawn = 0.0
        self._newest: RequestId | None = None

    # -- reading ---------------------------------------------------------------------------------------------

    def start_reading(self) -> None:
        """Read what was not read yet, a little at a time; a short recording is read before its first frame."""
        self.read = self.read or 0.0
        scan = self.replay.scan()
        if not self._read_some(scan):
            self._screen.app.run_worker(self._read_on(scan), group="reading", exit_on_error=True)
        self._follow_end()

    async def _read_on(self, scan: Iterator[float]) -> None:
        whole = False
        while not whole:
            await asyncio.sleep(0)
            whole = self._read_some(scan)

    def _read_some(self, scan: Iterator[float]) -> bool:
        """Read for a moment; whether that was all."""
        until = time.monotonic() + BUDGET
        try:
            for share in scan:
                self.read = share
                if time.monotonic() > until:
                    return False
        except RecordingError as error:
            self.recorded.problems.append(str(error))
            self.read = None
        else:
            self._whole()
        return True

    def _whole(self) -> None:
        """All that there is has been read: say what is wrong with it."""
        self._drawn = 0.0
        self._screen.look()
        self.read = None
        self.recorded.problems[:] = problems(self.replay)
        self._go_to_cancel()

    def _go_to_cancel(self) -> None:
        """Stand at the cancellation that was asked for, once."""
        wanted, self._cancel = self._cancel, None
        table, place = self.replay.table, None if wanted is None else self.replay.row(wanted)
        number = next((each for each in table.cancels if table.rows[each] == place), None)
        if wanted is not None and number is not None:
            self._screen.app.call_after_refresh(self._stand_at, number, wanted)

    def _stand_at(self, number: int, id_: RequestId) -> None:
        self.move_to(number + 1)
        self._filtering.go_to(id_)

    def _follow_end(self) -> None:
        """Where it stands at the end, stand at what is the end now."""
        if self.at_end:
            self.recorded.seek(self.recorded.events)

    # -- looking ---------------------------------------------------------------------------------------------

    def before_look(self) -> bool:
        """Go on to where it stands by now; false where it is too early to draw that."""
        now = time.monotonic()
        if self.read is not None and self._drawn and now - self._drawn < WHILE_READING:
            return False
        self._drawn = now
        self._play()
        if self.read is None and now - self._looked_at > GROWN:
            self._looked_at = now
            if self.replay.grown():
                self.start_reading()
        self._follow_end()
        return True

    def after_look(self) -> None:
        """While the file is read, keep the cursor on the newest request, unless a person has put it elsewhere."""
        table = self._table
        if (
            self.read is not None
            and self.at_end
            and (table.selected is None or self._newest in {None, table.selected.id})
        ):
            table.action_newest()
            self._newest = None if table.selected is None else table.selected.id
        self._show_position()

    def _show_position(self) -> None:
        recorded = self.recorded
        position = recorded.position
        shown = self.bar.position
        moved = (position, recorded.events) != (shown.position, shown.events) or not shown.moment
        last = self.replay.event(position - 1) if moved and position else None
        self.bar.show(
            Position(
                speed=self.speed if self.playing else None,
                read=self.read,
                moment=durations.moment(recorded.clock, recorded.origin),
                position=position,
                events=recorded.events,
                event=said(last) if moved else shown.event,
                damaged=self.replay.skipped + self.replay.table.misfits,
            )
        )

    # -- moving ----------------------------------------------------------------------------------------------

    def move_to(self, position: int) -> None:
        """Stand still at a position."""
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
        """Play from here, or from the start where it is at its end; or stand still."""
        if not self.playing and self.recorded.position == self.recorded.events:
            self.recorded.seek(0)
        self.playing = not self.playing
        self.at_end = False
        self._played_at = time.monotonic()
        self._screen.look()

    def change_speed(self, step: int) -> None:
        """Play faster, or slower."""
        at = min(range(len(SPEEDS)), key=lambda place: abs(SPEEDS[place] - self.speed))
        self.speed = SPEEDS[max(0, min(len(SPEEDS) - 1, at + step))]
        self._screen.tell(safe("speed {:g}×", self.speed), "muted", seconds=2)
        self._screen.look()

    def to_cancellation(self, step: int) -> None:
        """To the moment of the next cancellation, or of the one before, with the cursor on its request."""
        table, position = self.replay.table, self.recorded.position
        cancels = table.cancels
        # standing at a cancellation means that it has just happened
        at = bisect_right(cancels, position - 1) if step > 0 else bisect_left(cancels, position - 1) - 1
        if 0 <= at < len(cancels):
            self._stand_at(cancels[at], self.recorded.book.row(table.rows[cancels[at]]).id)
            return
        none = words("No later cancellation") if step > 0 else words("No earlier cancellation")
        self._screen.tell(none, "muted", seconds=3)

    # -- finding ---------------------------------------------------------------------------------------------

    def open_input(self) -> None:
        """Open the line for a text to find."""
        self.input.display = True
        self._screen.set_focus(self.input)

    def find(self, *, back: bool) -> None:
        """Go to the next event whose record has the typed text in it, or that came with a message that has; or back."""
        if self.input.value:
            finding = self._find(self.input.value, back=back)
            self._screen.app.run_worker(finding, group="finding", exclusive=True, exit_on_error=True)

    async def _find(self, text: str, *, back: bool) -> None:
        replay, needle = self.replay, text.encode("utf-8", "replace")
        begin = replay.next_to(self.recorded.position, back=back)
        found = await self._search(needle, begin, back=back)
        if found < 0:
            found = await self._search(needle, replay.end if back else 0, back=back)
            if found >= 0:
                around = words("from the end") if back else words("from the start")
                self._screen.tell(around, "muted", seconds=2)
        if found < 0:
            self._screen.tell(safe("Not found in this recording: {}", brief(text, 60)))
            return
        self.move_to(replay.position_of(found))
        number = replay.table.rows[self.recorded.position - 1] if self.recorded.position else NONE
        if number != NONE:
            self._table.select(self.recorded.book.row(number).id)
        self._screen.look()

    async def _search(self, needle: bytes, begin: int, *, back: bool) -> int:
        for found in self.replay.search(needle, begin, back=back):
            if found is not None:
                return found
            self._screen.tell(words("searching …"), "muted", seconds=2)
            await asyncio.sleep(0)
        return -1
