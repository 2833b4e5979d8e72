"""The sessions that were kept: which one to open."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from textual.content import Content

from mcp_tui.journal.folder import Journal, journals
from mcp_tui.journal.index import Query, RecordedSession, count, sessions
from mcp_tui.journal.records import RecordingError
from mcp_tui.tui.screens.menu import MenuScreen
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.text import SafeText, brief, fit, safe, words

MOST: Final = 500
"""Sessions that are listed, the newest. Those of the probe are not: it makes many, and reports on them itself."""

_STAMP: Final = len("2026-11-21T031500")


class RecordingsScreen(MenuScreen):
    """Dismisses the path of the recording that is to be opened, or ``None`` on esc.

    ``current`` are the files of the open session.
    """

    DEFAULT_CSS = """
    RecordingsScreen {
        & > #dialog { width: 78; }
        & #note { color: $foreground; margin: 0; }
    }
    """

    OF_SERVER = False
    HINTS = [("enter", "Open read-only"), ("app.back", "Back")]

    def __init__(self, folder: Path, *, current: Sequence[Path] = ()) -> None:
        self._folder = folder
        self._current = frozenset(current)
        self._found: list[Journal] = []
        note = words("")
        try:
            kept = (each for each in reversed(journals(folder)) if each.purpose != "probe")
            self._found = list(islice(kept, MOST))
            if not self._found:
                note = safe("No recorded sessions in {}.", brief(str(folder), 200))
        except RecordingError as error:
            note = brief(str(error), 400)
        rows = [(str(journal.paths[0]), self._row(journal, None, 0)) for journal in self._found]
        super().__init__(words("Open a recording"), rows, note)

    def on_mount(self) -> None:
        if self._found:
            self.run_worker(self._look_up(), group="recordings", exit_on_error=False)

    def _row(self, journal: Journal, session: RecordedSession | None, cancellations: int) -> SafeText:
        """A session in one line: when it began, its server, how long it is, how many cancellations it has."""
        stamp = journal.name[:_STAMP]
        time = f"{stamp[:10]} {stamp[11:13]}:{stamp[13:15]}:{stamp[15:17]}"
        server = journal.name[_STAMP + 1 :].rpartition("-")[0]
        if session is not None and session.facts.server:
            server = session.facts.server
        size = fit(durations.size(journal.size), 9, right=True)
        said = f"{cancellations:,} cancelled" if cancellations else ""
        if not self._current.isdisjoint(journal.paths):
            said = "this session"
        return safe("{}  {} {}  {}", brief(time, 20), fit(brief(server, 60), 22), size, said)

    async def _look_up(self) -> None:
        """Ask the index for what names of files do not tell. It may have to be made first: the list is there before."""
        from mcp_tui.journal.index import ask

        def question(file: sqlite3.Connection) -> tuple[dict[str, RecordedSession], dict[str, int]]:
            known = {session.name: session for session in sessions(file)}
            return known, {name: count(file, Query(session=name)) for name in known}

        try:
            known, counts = await asyncio.to_thread(ask, self._folder, question)
        except (OSError, RecordingError, sqlite3.Error):
            return
        if self.is_mounted and self.is_current:
            for at, each in enumerate(self._found):
                line = self._row(each, known.get(each.name), counts.get(each.name, 0))
                self.list.replace_option_prompt_at_index(at, Content(line))
