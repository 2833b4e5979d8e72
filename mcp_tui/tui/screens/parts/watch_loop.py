"""The loop of ``--watch``: the server restarts when its files change, and a pinned request is repeated."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from textual.worker import WorkerCancelled

from mcp_tui.config.watched_files import Watched, WatchedContents
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.screens.layout import LayoutScreen
from mcp_tui.tui.screens.parts.connection_keys import ConnectionKeys
from mcp_tui.tui.screens.parts.copying import COPIED_BYTES
from mcp_tui.tui.screens.parts.details import Payloads
from mcp_tui.tui.sources.live_session import Session
from mcp_tui.tui.widgets.request_table import RequestTable
from mcp_tui.view.changes import ListedEntries, answer_changes, list_changes
from mcp_tui.view.comparing import Side
from mcp_tui.view.keys import hint
from mcp_tui.view.rows import request
from mcp_tui.view.server_bar import Link
from mcp_tui.view.text import NOTHING, SafeText, brief, join, safe, words

READY_LOOK_SECONDS: Final = 0.05
"""Seconds between two checks whether the server is ready."""
SOON_SECONDS: Final = 2.0
"""Seconds after a start in which a change is probably the server's own."""
ALIKE_SECONDS: Final = 0.5
"""The maximum difference in seconds between the times of two changes after a start, if the server makes both."""
IN_A_ROW: Final = 3
"""The number of consecutive restarts for such changes; after one more nothing is restarted."""
QUIET_SECONDS: Final = 10.0
"""Seconds after a start, and without a change of such a file, after which its next change counts again."""


@dataclass(eq=False)
class Watching:
    """Restarts the server of one session when its files change, and shows in one line what is different then."""

    _screen: LayoutScreen
    _session: Session
    _table: RequestTable
    _payloads: Payloads
    _connection: ConnectionKeys
    watched: Watched | None = None
    ready: bool = False
    """Whether the server was started and changes are awaited."""
    _newest: RequestId | None = None
    """The request that is repeated after a change: the pinned one, or its newest repetition."""
    _earlier: set[RequestId] = field(default_factory=set[RequestId])
    """The pinned request and its repetitions, except for the newest."""
    _repeated: RequestId | None = None
    _said: SafeText = NOTHING
    _known: ListedEntries | None = None
    _server: object = None
    """The connection to the server that was ready last."""
    _ready_at: float = 0.0
    _edited: set[str] = field(default_factory=set[str])
    """The files whose changes restarted the server."""
    _written: set[str] = field(default_factory=set[str])
    """The files that changed while the server started."""
    _last: set[str] = field(default_factory=set[str])
    """The files of the last restart, and the seconds after the start at which they changed."""
    _late: float = 0.0
    _times: int = 0
    _stopped: set[str] = field(default_factory=set[str])
    """The files that the server seems to change itself: it restarts for them only after they were unchanged for a while."""
    _stopped_at: float = 0.0

    def pin(self) -> None:
        """Repeats the selected request after each change, or stops that."""
        row, screen = self._table.selected, self._screen
        if self.watched is None:
            text = "Not watching. Start mcp-tui with --watch to repeat a request when files of the server change."
            screen.refuse(words(text))
        elif row is None or row.internal:
            screen.refuse(words("Select a request of yours to repeat after each change"))
        elif row.id == self._newest or row.id in self._earlier:
            self._newest = None
            self._earlier.clear()
            screen.show_message(words("Nothing is repeated after a change"), "muted")
        else:
            self._newest = row.id
            self._earlier.clear()
            text = "{} {} is repeated after each change; {} stops that"
            screen.show_message(
                safe(text, brief(str(row.id), 40), request(row), hint("{watch.pin}")), "accent"
            )

    async def run(self) -> None:
        """Waits for changes until it is cancelled."""
        from watchfiles import Change, DefaultFilter, awatch  # pyright: ignore[reportUnknownVariableType] - its stop_event

        watched = self.watched
        assert watched is not None
        usual = DefaultFilter()

        def enters(path: str) -> bool:
            return usual(Change.added, path)

        def counts(path: str) -> bool:
            return enters(path) and watched.counts(path)

        try:
            self._contents = await asyncio.to_thread(WatchedContents, watched.paths, counts, enters)
            await self._ready()
            self.ready = True
            async for found in awatch(*watched.paths, watch_filter=lambda _, path: counts(path)):
                await self._changed({path for _, path in found})
        except (OSError, RuntimeError) as error:
            self._show_message(safe("Not watching any more: {}. Start mcp-tui again.", str(error)), "error")

    async def _changed(self, paths: Collection[str]) -> None:
        """Restarts the server, unless these files have the same content, or the server wrote them at its start."""
        if self._session.client.connection is not self._server:
            await self._ready()  # a person restarted the server
        changed = await asyncio.to_thread(self._contents.changed, paths)
        while changed and not self._loops(changed):
            self._edited.update(changed)
            changed = await self.restart(changed)

    async def _ready(self) -> list[str]:
        """Waits until the server is ready; returns the files that changed meanwhile."""
        while self._session.link is Link.CONNECTING:  # noqa: ASYNC110 - the link has no event
            await asyncio.sleep(READY_LOOK_SECONDS)
        self._server, self._ready_at = self._session.client.connection, time.monotonic()
        return await asyncio.to_thread(self._contents.look)

    def _loops(self, changed: list[str]) -> bool:
        """Whether the server itself seems to change a file after each start; says so.

        It does if the change comes soon after the start, or as late as the last time, for the third time in a row.
        """
        now, names = time.monotonic(), set(changed)
        late = now - self._ready_at
        if names <= self._stopped and min(late, now - self._stopped_at) < QUIET_SECONDS:
            self._stopped_at = now
            return True
        alike = late < SOON_SECONDS or abs(late - self._late) < ALIKE_SECONDS
        self._times = self._times + 1 if alike and names & self._last else 0
        self._last, self._late = names, late
        if self._times < IN_A_ROW:
            return False
        self._stopped |= names
        self._stopped_at, self._times = now, 0
        text = "{} changed after {} starts in a row, probably by the server: not restarted. {} restarts it."
        self._show_message(safe(text, _files(changed), IN_A_ROW, hint("{server.menu}")), "warning")
        return True

    async def restart(self, changed: list[str]) -> list[str]:
        """Restarts the server after files changed; repeats the pinned request.

        Returns the files that a person changed again before the server was ready.
        """
        session, files = self._session, _files(changed)
        if session.link is Link.CONNECTED:
            self._known = _lists(session)
        self._show_message(safe("{} changed: restarting the server", files), "muted")
        try:
            await self._connection.connect().wait()
        except WorkerCancelled:
            return []  # a person stopped it, or is reconnecting
        started = await self._ready()
        again = [path for path in started if path in self._edited - self._written]
        self._written.update(set(started) - set(again))
        if session.link is not Link.CONNECTED:
            text = safe("{} changed, and the server does not start. The next change tries again.", files)
            self._show_message(text, "error")
            return again
        now = _lists(session)
        self._said = safe("{} changed: {}", files, list_changes(self._known or now, now))
        if written := [path for path in started if path not in again]:
            self._said = safe("{} · ignored {}, written at the start", self._said, _files(written))
        self._known = now
        row = self._row(self._newest)
        params = None if row is None else self._payloads.params(row)
        if row is None or params is None or again:
            self._show_message(self._said, "accent")
        else:
            self._repeated = session.call(row.method, params or None)
        return again

    def other(self, row: Request) -> Request | None:
        """Returns the newest repetition of a request that is repeated after each change; ``None`` for that repetition
        itself.
        """
        return self._row(self._newest) if row.id in self._earlier else None

    def _row(self, id_: RequestId | None) -> Request | None:
        return None if id_ is None else self._session.client.requests.get(id_)

    def look(self) -> None:
        """Compares the answer of the repeated request with the previous one, once it is over."""
        row, before = self._row(self._repeated), self._row(self._newest)
        if row is None or before is None or row.open:
            return
        self._earlier.add(before.id)
        self._repeated, self._newest = None, row.id
        if max(before.response_size, row.response_size) > COPIED_BYTES:
            text = words("the answer is too large to compare")
        else:
            sides = (Side(each, self._payloads.export(each, most=COPIED_BYTES)) for each in (before, row))
            text = answer_changes(*sides)
        self._show_message(join((text, self._said), " · "), "accent")  # a narrow line must show this first

    def _show_message(self, text: SafeText, tone: str) -> None:
        self._session.client.note(text)
        self._screen.show_message(text, tone, seconds=60)


def _lists(session: Session) -> ListedEntries:
    return {kind: [each.raw for each in entries] for kind, entries in session.catalogue.entries.items()}


def _files(paths: list[str]) -> SafeText:
    names = sorted({Path(path).name for path in paths})
    more = safe(" and {} more", len(names) - 1) if len(names) > 1 else NOTHING
    return safe("{}{}", brief(names[0], 80), more)
