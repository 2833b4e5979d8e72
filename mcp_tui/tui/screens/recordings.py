"""Dialogs to open a recording: the list of recorded sessions, and of the cancellations in all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, LiteralString, TypeVar

from mcp_tui import clock
from mcp_tui.journal import index
from mcp_tui.journal.index import Logged, LoggedViolation, RecordedSession
from mcp_tui.journal.journal_files import Journal, journals
from mcp_tui.journal.records import RecordingError
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.screens.dialog import Dialog, place
from mcp_tui.tui.widgets.line_input import LineInput
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.view import durations, list_filters
from mcp_tui.view.cancellations import CancellationColumns, logged, tally
from mcp_tui.view.filters import Terms
from mcp_tui.view.keys import CHOOSE
from mcp_tui.view.lines import Line, Lines, line
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, fit, join, safe, width, words

Found = TypeVar("Found")


class FilteredDialog(Dialog[Found | None]):
    """A list with a filter; dismisses with the chosen entry, or with ``None`` on esc.

    Set :attr:`every` and :attr:`ready`, then call :meth:`show`.

    Args:
        title: text in the frame.
        what: the noun for one entry.
        placeholder: an example of a filter.
        parse: parses the filter.
        made: returns the line of an entry in a number of cells.
        arrange: prepares the lines of the listed entries, and returns the sentence below them.
    """

    BINDINGS = bindings(CHOOSE)
    OF_SERVER = False

    def __init__(
        self,
        title: LiteralString,
        what: LiteralString,
        placeholder: str,
        *,
        parse: Callable[[str], Terms[Found]],
        made: Callable[[Found, int], Line],
        arrange: Callable[[Sequence[Found]], SafeText],
    ) -> None:
        self.every: Sequence[Found] = ()
        self.entries: Sequence[Found] = ()
        self.ready = False
        self._parse = parse
        self._arrange = arrange
        self._what = what
        self._input = LineInput(placeholder=placeholder, id="filter", compact=True)
        source = Lines(
            lambda: range(len(self.entries)),
            lambda number: self.entries[number],
            lambda number, cells: replace(made(self.entries[number], cells), key=self.entries[number]),
        )
        self._lines = LineList(source, what=what, newest_first=True, id="entries")
        self._lines.can_focus = False
        self._about = place("said")
        super().__init__(self._input, self._lines, self._about, title=words(title))

    def inform(self, text: SafeText, style: str = "$text-muted") -> None:
        """Shows a sentence below the list."""
        self.say(self._about, (text, style))

    def show(self) -> None:
        """Lists the entries that pass the filter."""
        if not self.ready:
            return
        wanted = self._parse(self._input.value)
        self.entries = list(filter(wanted.matches, self.every))
        text = self._arrange(self.entries)
        self._lines.source = self._lines.source  # makes the list start at its newest line
        self._point()
        self.on_resize()
        if wanted.problem:
            self.inform(wanted.problem, "$warning")
        elif wanted and not self.entries:
            self.inform(safe("No matching {}s.", self._what))
        else:
            self.inform(text)

    on_input_changed = show

    def on_resize(self) -> None:
        """Makes the dialog as high as the unfiltered list, regardless of the filter."""
        self._lines.styles.height = max(3, min(len(self.every), self.size.height - 10) + 2)
        self.call_after_refresh(self._point)

    def _point(self) -> None:
        """Puts the cursor on the newest entry, unless it is on another one."""
        if self._lines.cursor_line is None:
            self._lines.action_top()

    # -- keys ------------------------------------------------------------------------------------------------

    def action_choose(self, step: str) -> None:
        self._point()
        getattr(self._lines, f"action_{step}")()

    def on_input_submitted(self) -> None:
        self._point()
        self._lines.action_activate()

    def on_list_canvas_activated(self, event: LineList.Activated) -> None:
        chosen: Any = event.about
        if chosen is not None:
            self.dismiss(chosen)

    def action_close(self) -> None:
        """Clears the filter, or closes the dialog if it is empty."""
        if self._input.value:
            self._input.value = ""
        else:
            self.dismiss(None)


_STAMP_CHARACTERS: Final = len("2026-11-21T031500")


class RecordingsScreen(FilteredDialog[RecordedSession]):
    """The recorded sessions, except those of the probe, which makes many and has its own report.

    ``current`` are the files of the open session.
    """

    HINTS = [("enter", "Open read-only"), ("choose.up choose.down", "Choose"), ("app.back", "Back")]

    def __init__(self, folder: Path, *, current: Sequence[Path] = ()) -> None:
        self._folder = folder
        self._current = {str(each) for each in current}
        self._longest = 0
        super().__init__(
            "Open a recording",
            "recording",
            "server:demo  since:7d  until:2026-11-21  words",
            parse=list_filters.recordings,
            made=self._line,
            arrange=self._measure,
        )

    def on_mount(self) -> None:
        self.ready = True
        try:
            self.every = [_session(each) for each in journals(self._folder) if each.purpose != "probe"]
        except RecordingError as error:
            self.inform(brief(str(error), 400), "$error")
            return
        self.show()
        if self.every:
            self.run_worker(self._look_up, exit_on_error=False)

    async def _look_up(self) -> None:
        """Adds the data of the index, in a thread because the index may have to be built first."""
        try:
            known = {each.name: each for each in await asyncio.to_thread(index.sessions, self._folder)}
        except RecordingError:
            return
        if self.is_mounted and self.on_top:
            cursor = self._lines.cursor_line
            self.every = [known.get(each.name, each) for each in self.every]
            self.show()
            if cursor:
                self._lines.put_cursor(cursor)

    def _line(self, session: RecordedSession, cells: int) -> Line:
        """Returns the line of a session: its start, server, size, and number of cancellations."""
        stamp = session.name[:_STAMP_CHARACTERS]
        time = f"{stamp[:10]} {stamp[11:13]}:{stamp[13:15]}:{stamp[15:17]}"
        cancelled = sum(not each["internal"] for each in session.cancellations)
        text = safe("{:,} cancelled", cancelled) if cancelled else NOTHING
        if session.path in self._current:
            text = words("this session")
        server = fit(brief(session.server), max(22, min(self._longest, cells - 48)))
        return line(
            safe(
                "{}  {} {}  {}",
                brief(time, 20),
                server,
                fit(durations.size(session.size), 9, right=True),
                text,
            )
        )

    def _measure(self, listed: Sequence[RecordedSession]) -> SafeText:
        self._longest = max((width(brief(each.server)) for each in listed), default=0)
        return NOTHING if listed else safe("No recorded sessions in {}.", brief(str(self._folder), 200))


def _session(journal: Journal) -> RecordedSession:
    """Returns a session with the data in the name of its journal."""
    stamp, server = journal.name[:_STAMP_CHARACTERS], journal.name[_STAMP_CHARACTERS + 1 :].rpartition("-")[0]
    try:
        wall = datetime.strptime(stamp, "%Y-%m-%dT%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError:
        wall = 0.0
    return RecordedSession(
        name=journal.name,
        path=str(journal.paths[0]),
        written=journal.written,
        size=journal.size,
        inode=journal.inode,
        wall=wall,
        server=server,
    )


_FITTED_LOG_LINES: Final = 200
"""The number of newest cancellations that determine the column widths."""

_SERVER_SHOWN_CELLS: Final = 100
"""The width in cells from which a line shows the server."""


class HistoryScreen(FilteredDialog[Logged]):
    """The cancellations of all sessions."""

    HINTS = [("enter", "Open recording"), ("choose.up choose.down", "Choose"), ("app.back", "Back")]

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._has_sessions = False
        self._columns = CancellationColumns()
        super().__init__(
            "Cancellations of all sessions",
            "cancellation",
            "server:demo  tool:count  outcome:late  cause:user  since:7d  words",
            parse=list_filters.logged,
            made=self._line,
            arrange=self._measure,
        )

    def on_mount(self) -> None:
        self.inform(words("Reading the index …"))
        self.run_worker(self._load, exit_on_error=False)

    async def _load(self) -> None:
        """Reads the index, in a thread because it may have to be built first."""

        def load() -> tuple[bool, list[Logged]]:
            sessions = index.sessions(self._folder)
            return bool(sessions), index.log(sessions)

        try:
            self._has_sessions, self.every = await asyncio.to_thread(load)
        except RecordingError as error:
            self.inform(safe("Cannot read the index: {}.", brief(str(error), 200)), "$error")
            return
        self.ready = True
        if self.is_mounted:
            self.show()

    def _line(self, entry: Logged, cells: int) -> Line:
        day = fit(clean(clock.local_stamp(entry.wall)[:10]), 10)
        server = fit(brief(entry.server), 18) if cells >= _SERVER_SHOWN_CELLS else NOTHING
        before = join((day, server), "  ")
        made = self._columns.line(logged(entry), cells - len(before) - 2)
        return Line(((safe("{}  ", before), "muted"), *made.segments))

    def _measure(self, found: Sequence[Logged]) -> SafeText:
        """Fits the columns to the newest entries, and summarises the outcomes of all."""
        self._columns.reset()
        newest = found[-_FITTED_LOG_LINES:]
        self._columns.measure(each if isinstance(each, LoggedViolation) else each.row for each in newest)
        if not found:
            if self._has_sessions:
                return words("No cancellations in any session.")
            return safe("No recorded sessions in {}.", brief(str(self._folder), 200))
        others = [each for each in found if isinstance(each, LoggedViolation)]
        return tally((outcome for each in found for outcome in each.outcomes), others)
