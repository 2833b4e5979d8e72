"""The sessions that were kept, and the cancellations of all of them: which to open."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from textual.content import Content
from textual.widgets import Input

from mcp_tui.journal import index
from mcp_tui.journal.files import Journal, journals
from mcp_tui.journal.index import QUERY_NAMES, LoggedCancellation, Query, RecordedSession, parse_query
from mcp_tui.journal.records import RecordingError
from mcp_tui.protocol import evidence
from mcp_tui.tui.keys import CHOOSE
from mcp_tui.tui.screens.dialog import Dialog, MenuScreen, place
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.cancellations import CancellationColumns, logged, tally
from mcp_tui.tui.view.filters import unknown_filter
from mcp_tui.tui.view.lines import Line, Lines
from mcp_tui.tui.view.text import NOTHING, SafeText, brief, clean, fit, join, safe, words
from mcp_tui.tui.widgets.editor import LineInput
from mcp_tui.tui.widgets.line_list import LineList

MOST: Final = 500
"""Sessions that are listed, the newest. Those of the probe are not: it makes many, and reports on them itself."""

_STAMP: Final = len("2026-11-21T031500")


class RecordingsScreen(MenuScreen):
    """Dismisses the path of the recording that is to be opened, or ``None`` on esc.

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
        """A session in one line: when it began, its server, how long it is, how many cancellations it has."""
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
        """Ask the index for what names of files do not tell. It may have to be made first: the list is there before."""
        try:
            known = {each.name: each for each in await asyncio.to_thread(index.sessions, self._folder)}
        except RecordingError:
            return
        if self.is_mounted and self.is_current:
            for at, each in enumerate(self._found):
                line = self._row(each, known.get(each.name))
                self.list.replace_option_prompt_at_index(at, Content(line))


LOGGED: Final = 1000
"""Cancellations that are listed, the newest."""

_MEASURED: Final = 200
"""Cancellations, the newest, that the columns are made for."""

_WIDE: Final = 100
"""Cells from which on a line has room for the server."""


def parse_filter(text: str) -> Query:
    """Parses a filter: ``server:demo tool:count outcome:late cause:user since:7d until:2026-11-21``.

    Raises:
        ValueError: a filter is unknown, or its value is; the error is a sentence.
    """
    fields: dict[str, str] = {}
    for word in shlex.split(text):
        name, colon, value = word.partition(":")
        if not colon or name not in QUERY_NAMES:
            raise ValueError(unknown_filter(name, QUERY_NAMES))
        if value:
            fields[name] = value
    return parse_query(fields)


class HistoryScreen(Dialog[LoggedCancellation | None]):
    """Dismisses the cancellation that is to be opened, or ``None`` on esc."""

    SCOPES = (CHOOSE,)
    HINTS = [("enter", "Open recording"), ("choose.up choose.down", "Choose"), ("app.back", "Back")]
    AUTO_FOCUS = "#filter"
    OF_SERVER = False

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries: Sequence[LoggedCancellation] = ()
        self._count = 0
        """How many are wanted, listed or not."""
        self._height = 0
        self._input = LineInput(
            placeholder="server:demo  tool:count  outcome:late  cause:user  since:7d",
            id="filter",
            compact=True,
        )
        self._columns = CancellationColumns()
        source = Lines(lambda: range(len(self._entries)), self._entry, self._line)
        self._lines = LineList(source, what="cancellation", newest_first=True, id="entries")
        self._lines.can_focus = False
        self._about = place("said")
        super().__init__(
            *(self._input, self._lines, self._about), title=words("Cancellations of all sessions")
        )

    def on_mount(self) -> None:
        self._ask(Query())

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        try:
            self._ask(parse_filter(event.value))
        except ValueError as error:  # while it is typed it is often wrong
            # An answer that is still to come would take the place of this sentence.
            self.workers.cancel_group(self, "history")  # pyright: ignore[reportUnknownMemberType]
            self.say(self._about, (brief(str(error), 300), "$warning"))

    # -- the index -------------------------------------------------------------------------------------------

    def _ask(self, query: Query) -> None:
        if not self._count:
            self.say(self._about, (words("Reading the index …"), "$text-muted"))
        self.run_worker(self._look_up(query), group="history", exclusive=True, exit_on_error=False)

    async def _look_up(self, query: Query) -> None:
        """Ask the index beside the screen: it may have to be made first."""

        def look() -> tuple[bool, int, list[LoggedCancellation]]:
            sessions = index.sessions(self._folder)
            found = index.find(sessions, query)
            return bool(sessions), len(found), list(map(index.logged, found[-LOGGED:]))

        try:
            has_sessions, self._count, self._entries = await asyncio.to_thread(look)
        except RecordingError as error:
            self.say(self._about, (safe("Cannot read the index: {}.", brief(str(error), 200)), "$error"))
            return
        if self.is_mounted:
            self._columns.reset()
            self._columns.measure(entry.row for entry in self._entries[-_MEASURED:])
            self._lines.source = self._lines.source  # from its newest line on
            self._grow()
            self._lines.action_top()
            self.say(self._about, (self._sum(query, has_sessions=has_sessions), "$text-muted"))

    def _entry(self, number: int) -> LoggedCancellation:
        return self._entries[number]

    def _line(self, number: int, width: int) -> Line:
        entry = self._entry(number)
        day = fit(clean(durations.stamp(entry.wall)[:10]), 10)
        server = fit(brief(entry.server), 18) if width >= _WIDE else NOTHING
        before = join((day, server), "  ")
        line = self._columns.line(logged(entry), width - len(before) - 2)
        return Line(((safe("{}  ", before), "muted"), *line.segments), entry)

    def on_resize(self) -> None:
        self._grow()

    def _grow(self) -> None:
        """Be as high as the longest list so far, whatever the filter leaves of it."""
        self._height = max(self._height, len(self._entries), 1)
        self._lines.styles.height = max(3, min(self._height, self.size.height - 10))

    def _sum(self, query: Query, *, has_sessions: bool) -> SafeText:
        """How many there are, and what came of them."""
        if not self._count:
            if query != Query():
                return words("No matching cancellations.")
            if not has_sessions:
                return safe("No recorded sessions in {}.", brief(str(self._folder), 200))
            return words("No cancellations in any session.")
        came = tally(came for each in self._entries for came in evidence.outcomes(each.row, each.until))
        listed, count = len(self._entries), self._count
        every = words("1 cancellation") if count == 1 else safe("{:,} cancellations", count)
        head = safe("newest {:,} of {}", listed, every) if listed < count else every
        return safe("{}: {}", head, came)

    # -- what a person does ----------------------------------------------------------------------------------

    def action_choose(self, step: str) -> None:
        getattr(self._lines, f"action_{step}")()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._lines.action_activate()

    def on_list_canvas_activated(self, event: LineList.Activated) -> None:
        event.stop()
        if isinstance(event.about, LoggedCancellation):
            self.dismiss(event.about)

    def action_close(self) -> None:
        """Clear what was typed; else close."""
        if self._input.value:
            self._input.value = ""
        else:
            self.dismiss(None)
