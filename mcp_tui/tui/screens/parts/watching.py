"""The live loop of ``--watch``: the server restarts when its files change, and a pinned request is repeated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.worker import WorkerCancelled

from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.keys import hint
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.screens.parts.connection_keys import ConnectionKeys
from mcp_tui.tui.screens.parts.copying import COPIED_BYTES
from mcp_tui.tui.screens.parts.details import Payloads
from mcp_tui.tui.session import Session
from mcp_tui.tui.view.changes import ListedEntries, answer_changes, list_changes
from mcp_tui.tui.view.comparing import Side
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.server_bar import Link
from mcp_tui.tui.view.text import NOTHING, SafeText, brief, join, safe, words
from mcp_tui.tui.widgets.request_table import RequestTable

if TYPE_CHECKING:
    from mcp_tui.config.watching import Watched


@dataclass(eq=False)
class Watching:
    """Restarts the server of one session when its files change, and says in one line what is different then."""

    _screen: LayoutScreen
    _session: Session
    _table: RequestTable
    _payloads: Payloads
    _connection: ConnectionKeys
    watched: Watched | None = None
    _pinned: RequestId | None = None
    _repeated: RequestId | None = None
    _said: SafeText = NOTHING
    _known: ListedEntries | None = None

    def pin(self) -> None:
        """Has the selected request repeated after each change, or no more."""
        row, screen = self._table.selected, self._screen
        if self.watched is None:
            said = "Not watching. Start mcp-tui with --watch to repeat a request when files of the server change."
            screen.refuse(words(said))
        elif row is None or row.internal:
            screen.refuse(words("Select a request of yours to repeat after each change"))
        elif self._pinned == row.id:
            self._pinned = None
            screen.tell(words("Nothing is repeated after a change"), "muted")
        else:
            self._pinned = row.id
            said = "{} is repeated after each change; {} stops that"
            screen.tell(safe(said, _named(row), hint("{watch.pin}")), "accent")

    async def run(self) -> None:
        """Waits for changes until it is cancelled."""
        from watchfiles import DefaultFilter, awatch  # pyright: ignore[reportUnknownVariableType] - its stop_event

        watched = self.watched
        assert watched is not None
        usual = DefaultFilter()

        def counts(change: Any, path: str) -> bool:
            return usual(change, path) and watched.counts(path)

        try:
            async for changes in awatch(*watched.paths, watch_filter=counts):
                await self.restart(sorted({Path(path).name for _, path in changes}))
        except (OSError, RuntimeError) as error:
            self._tell(safe("Not watching any more: {}. Start mcp-tui again.", str(error)), "error")

    async def restart(self, names: list[str]) -> None:
        """Restarts the server after files with these names changed; repeats the pinned request."""
        session = self._session
        more = safe(" and {} more", len(names) - 1) if len(names) > 1 else words("")
        files = safe("{}{}", brief(names[0], 80), more)
        if session.link is Link.CONNECTED:
            self._known = _lists(session)
        self._tell(safe("{} changed: restarting the server", files), "muted")
        try:
            await self._connection.connect().wait()
        except WorkerCancelled:
            return  # a person stopped it, or connects anew
        if session.link is not Link.CONNECTED:
            self._tell(
                safe("{} changed, and the server does not start. The next change tries again.", files),
                "error",
            )
            return
        now = _lists(session)
        self._said = safe("{} changed: {}", files, list_changes(self._known or now, now))
        self._known = now
        row = self._row(self._pinned)
        params = None if row is None else self._payloads.params(row)
        if row is None or params is None:
            self._tell(self._said, "accent")
        else:
            self._repeated = session.call(row.method, params or None)

    def _row(self, id_: RequestId | None) -> Request | None:
        return None if id_ is None else self._session.client.book.get(id_)

    def look(self) -> None:
        """Compares the answer of the repeated request with the one before, once it is over."""
        row, before = self._row(self._repeated), self._row(self._pinned)
        if row is None or before is None or row.open:
            return
        self._repeated, self._pinned = None, row.id
        if max(before.response_size, row.response_size) > COPIED_BYTES:
            said = words("the answer is too large to compare")
        else:
            sides = (Side(each, self._payloads.export(each, most=COPIED_BYTES)) for each in (before, row))
            said = answer_changes(*sides)
        self._tell(join((self._said, said), " · "), "accent")

    def _tell(self, text: SafeText, tone: str) -> None:
        self._session.client.note(text)
        self._screen.tell(text, tone, seconds=60)


def _lists(session: Session) -> ListedEntries:
    return {kind: [each.raw for each in entries] for kind, entries in session.catalogue.entries.items()}


def _named(row: Request) -> SafeText:
    return safe("{} {}", brief(str(row.id), 40), request(row))
