"""Dialogs to open a recording: the list of recorded sessions, and of the cancellations in all of them."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from textual.content import Content

from mcp_tui import clock
from mcp_tui.journal import index
from mcp_tui.journal.files import Journal, journals
from mcp_tui.journal.index import QUERY_NAMES, LoggedCancellation, Query, RecordedSession, parse_query
from mcp_tui.journal.records import RecordingError
from mcp_tui.tui.keys import CHOOSE, bindings
from mcp_tui.tui.screens.dialog import Dialog, MenuScreen, place
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.cancellations import CancellationColumns, logged, tally
from mcp_tui.tui.view.filters import unknown_filter
from mcp_tui.tui.view.lines import Line, Lines
from mcp_tui.tui.view.text import NOTHING, SafeText, brief, clean, fit, join, safe, words
from mcp_tui.tui.widgets.editor import LineInput
from mcp_tui.tui.widgets.line_list import LineList

MOST: Final = 500
"""Newest sessions that are listed. Those of the probe are not: it makes many, and has a report of its own."""

_STAMP: Final = len("2026-11-21T031500")


class RecordingsScreen(MenuScreen):
    """Dismisses with the path of the recording to open, or with ``None`` on esc.

    ``current`` are the files of the open session.
    """

    OF_SERVER = False
    HINTS = [("enter", "Open read-only"), ("app.back", "Back")]

    def __init__(self, folder: Path, *, current: Sequence[Path] = ()) -> None:
        self._folder = folder
        self._current = frozenset(current)
        self._found: list[Journal] = []
        note = NOTHING
        try:
            kept = (each for each in reversed(journals(folder)) if each.purpose != "probe")
            self._found = list(islice(kept, MOST))
            if not self._found:
                note = safe("No recorded sessions in {}.", brief(str(folder), 200))
        except RecordingError as error:
            note = brief(str(error), 400)
        rows = [(str(journal.paths[0]), self._row(journal, None)) for journal in self._found]
        super().__init__(words("Open a recording"), rows, note)

    def on_mount(self) -> None:
        if self._found:
            self.run_worker(self._look_up(), group="recordings", exit_on_error=False)

    def _row(self, journal: Journal, session: RecordedSession | None) -> SafeText:
        """Returns the line of a session: its start, server, size, and number of cancellations."""
        stamp = journal.name[:_STAMP]
        time = f"{stamp[:10]} {stamp[11:13]}:{stamp[13:15]}:{stamp[15:17]}"
        server = journal.name[_STAMP + 1 :].rpartition("-")[0]
        said = ""
        if session is not None:
            server = session.server or server
            cancelled = len(index.find([session], Query()))
            said = f"{cancelled:,} cancelled" if cancelled else ""
        size = fit(durations.size(journal.size), 9, right=True)
        if not self._current.isdisjoint(journal.paths):
            said = "this session"
        return safe("{}  {} {}  {}", brief(time, 20), fit(brief(server, 60), 22), size, said)

    async def _look_up(self) -> None:
        """Adds what only the index knows, in a thread because it may have to be made first."""
        try:
            known = {each.name: each for each in await asyncio.to_thread(index.sessions, self._folder)}
        except RecordingError:
            return
        if self.is_mounted and self.on_top:
            for at, each in enumerate(self._found):
                line = self._row(each, known.get(each.name))
                self.list.replace_option_prompt_at_index(at, Content(line))


LOGGED: Final = 1000
"""Newest cancellations that are listed."""

_MEASURED: Final = 200
"""Newest cancellations that the columns are fitted to."""

_WIDE: Final = 100
"""Cells from which on a line shows the server."""


def parse_filter(text: str) -> Query:
    """Parses a filter: ``server:demo tool:count outcome:late cause:user since:7d until:2026-11-21``.

    Raises:
        ValueError: a filter is unknown, or its value is; the error is a sentence.
    """
    fields: dict[str, str] = {}
    try:
        parts = shlex.split(text)
    except ValueError:
        raise ValueError("Missing closing quote.") from None
    for word in parts:
        name, colon, value = word.partition(":")
        if not colon or name not in QUERY_NAMES:
            raise ValueError(unknown_filter(name, QUERY_NAMES))
        if value:
            fields[name] = value
    return parse_query(fields)


class HistoryScreen(Dialog[LoggedCancellation | None]):
    """Dismisses with the cancellation to open, or with ``None`` on esc."""

    BINDINGS = bindings(CHOOSE)
    HINTS = [("enter", "Open recording"), ("choose.up choose.down", "Choose"), ("app.back", "Back")]
    OF_SERVER = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._has_sessions = False
        self._all: list[LoggedCancellation] | None = None
        self._entries: list[LoggedCancellation] = []
        self._input = LineInput(
            placeholder="server:demo  tool:count  outcome:late  cause:user  since:7d",
            id="filter",
            compact=True,
        )
        self._columns = CancellationColumns()
        source = Lines(lambda: range(len(self._entries)), lambda number: self._entries[number], self._line)
        self._lines = LineList(source, what="cancellation", newest_first=True, id="entries")
        self._lines.can_focus = False
        self._about = place("said")
        super().__init__(
            *(self._input, self._lines, self._about), title=words("Cancellations of all sessions")
        )

    def on_mount(self) -> None:
        self.say(self._about, (words("Reading the index …"), "$text-muted"))
        self.run_worker(self._load(), exit_on_error=False)

    # -- entries ---------------------------------------------------------------------------------------------

    async def _load(self) -> None:
        """Reads the index, in a thread because it may have to be made first."""

        def load() -> tuple[bool, list[LoggedCancellation]]:
            sessions = index.sessions(self._folder)
            return bool(sessions), index.find(sessions, Query())

        try:
            self._has_sessions, self._all = await asyncio.to_thread(load)
        except RecordingError as error:
            self.say(self._about, (safe("Cannot read the index: {}.", brief(str(error), 200)), "$error"))
            return
        if self.is_mounted:
            self._show()

    def _show(self) -> None:
        """Lists the cancellations that match the filter."""
        if self._all is None:
            return
        try:
            query = parse_filter(self._input.value)
        except ValueError as error:  # while it is typed it is often incomplete
            self.say(self._about, (brief(str(error), 300), "$warning"))
            return
        found = list(filter(query.matches, self._all))
        self._entries = found[-LOGGED:]
        self._columns.reset()
        self._columns.measure(entry.row for entry in self._entries[-_MEASURED:])
        self._lines.source = self._lines.source  # starts at its newest line
        self.on_resize()
        self._lines.action_top()
        self.say(self._about, (self._sum(query, len(found)), "$text-muted"))

    on_input_changed = _show

    def _line(self, number: int, width: int) -> Line:
        entry = self._entries[number]
        day = fit(clean(clock.local_stamp(entry.wall)[:10]), 10)
        server = fit(brief(entry.server), 18) if width >= _WIDE else NOTHING
        before = join((day, server), "  ")
        line = self._columns.line(logged(entry), width - len(before) - 2)
        return Line(((safe("{}  ", before), "muted"), *line.segments), entry)

    def on_resize(self) -> None:
        """Makes the dialog as high as the list of all, whatever the filter leaves of it."""
        self._lines.styles.height = max(3, min(len(self._all or ()), self.size.height - 10))

    def _sum(self, query: Query, count: int) -> SafeText:
        """Summarises the outcomes."""
        if not count:
            if query != Query():
                return words("No matching cancellations.")
            if not self._has_sessions:
                return safe("No recorded sessions in {}.", brief(str(self._folder), 200))
            return words("No cancellations in any session.")
        outcomes = tally(outcome for each in self._entries for outcome in each.outcomes)
        listed = len(self._entries)
        every = words("1 cancellation") if count == 1 else safe("{:,} cancellations", count)
        head = safe("newest {:,} of {}", listed, every) if listed < count else every
        return safe("{}: {}", head, outcomes)

    # -- keys ------------------------------------------------------------------------------------------------

    def action_choose(self, step: str) -> None:
        getattr(self._lines, f"action_{step}")()

    def on_input_submitted(self) -> None:
        self._lines.action_activate()

    def on_list_canvas_activated(self, event: LineList.Activated) -> None:
        if isinstance(event.about, LoggedCancellation):
            self.dismiss(event.about)

    def action_close(self) -> None:
        """Clears the filter, or closes the dialog if it is empty."""
        if self._input.value:
            self._input.value = ""
        else:
            self.dismiss(None)
