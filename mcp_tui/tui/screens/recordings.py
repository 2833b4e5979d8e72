"""The sessions that were kept: which one to open."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from mcp_tui.journal.folder import Journal, journals
from mcp_tui.journal.queries import Query, RecordedSession, count, sessions
from mcp_tui.journal.records import RecordingError
from mcp_tui.tui.bindings import bindings
from mcp_tui.tui.keys.dialogs import MENU
from mcp_tui.tui.screens.dialog import Dialog, Hint, place
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.text import SafeText, brief, fit, safe, words

MOST: Final = 500
"""Sessions that are listed, the newest. Those of the probe are not: it makes many, and reports on them itself."""

_STAMP: Final = len("2026-11-21T031500")


def row(journal: Journal, session: RecordedSession | None, cancellations: int, *, writing: bool) -> SafeText:
    """A session in one line: when it began, its server, how long it is, how many cancellations it has."""
    stamp = journal.name[:_STAMP]
    time = f"{stamp[:10]} {stamp[11:13]}:{stamp[13:15]}:{stamp[15:17]}"
    server = journal.name[_STAMP + 1 :].rpartition("-")[0]
    if session is not None and session.facts.server:
        server = session.facts.server
    size = durations.size(journal.size)
    cancelled = f"{cancellations:,} cancelled" if cancellations else ""
    said = "this session" if writing else cancelled
    return safe("{}  {} {}  {}", brief(time, 20), fit(brief(server, 60), 22), fit(size, 9, right=True), said)


class RecordingsScreen(Dialog[Path | None]):
    """Dismisses the recording that is to be opened, or ``None`` on esc. ``current`` are the files of the open session."""

    DEFAULT_CSS = """
    RecordingsScreen > #dialog { width: 78; }
    """

    OF_SERVER = False

    SCOPES = (MENU,)
    BINDINGS = bindings(*SCOPES)

    def __init__(self, folder: Path, *, current: Sequence[Path] = ()) -> None:
        super().__init__()
        self._folder = folder
        self._current = frozenset(current)
        self._found: list[Journal] = []
        self._list = OptionList(markup=False, compact=True)
        self._none = place("none")

    def heading(self) -> SafeText:
        return words("Open a recording")

    def body(self) -> ComposeResult:
        yield self._none
        yield self._list

    def hints(self) -> Sequence[Hint]:
        return [("enter", "Open read-only"), ("app.back", "Back")]

    def on_mount(self) -> None:
        try:
            kept = (each for each in reversed(journals(self._folder)) if each.purpose != "probe")
            self._found = list(islice(kept, MOST))
            if not self._found:
                self.say(self._none, safe("No recorded sessions in {}.", brief(str(self._folder), 200)))
        except RecordingError as error:
            self.say(self._none, brief(str(error), 400))
        self._list.display = bool(self._found)
        self._fill({}, {})
        if self._found:
            self._list.focus()
            self._list.highlighted = 0
            self.run_worker(self._look_up(), group="recordings", exit_on_error=False)

    def _fill(self, known: Mapping[str, RecordedSession], counts: Mapping[str, int]) -> None:
        """Put the list together, the cursor where it was."""
        at = self._list.highlighted
        self._list.clear_options()
        for journal in self._found:
            writing = not self._current.isdisjoint(journal.paths)
            text = row(journal, known.get(journal.name), counts.get(journal.name, 0), writing=writing)
            self._list.add_option(Option(Content(text), id=journal.name))
        self._list.highlighted = at

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
            self._fill(known, counts)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        found = next((journal for journal in self._found if journal.name == event.option.id), None)
        self.dismiss(None if found is None else found.paths[0])
