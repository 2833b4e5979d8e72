"""The clocks of requests, and what moves them beside progress: a person who wants more time, or who is being asked.

While a person is asked on behalf of a request its clocks stand still, whichever way the question came: by a request of the
server's, in a round of input, or in a task (C-68). What nobody is asked any more lets them run on.
"""

from __future__ import annotations

from dataclasses import replace

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.books import Books
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import RUNNING, Request


class Clocks(Books):
    """The part of a ledger that stops the clocks of requests, lets them run on, and moves them."""

    def extend(self, id: RequestId, seconds: float | None, *, at: float) -> bool:
        """Give a request in flight ``seconds`` more before its nearest limit, or lift both limits with ``None``.

        The idle limit falls due once, ``seconds`` later than it would have, or than now where it is overdue; after the
        next progress it is what it was. The maximum grows only where it would come before that. While the clocks stand
        still the time is added all the same. False when it is not in flight.
        """
        row = self.book.get(id)
        if row is None or row.state not in RUNNING:
            return False
        limits, until = row.limits, None
        if seconds is None:
            limits = replace(limits, timeout=None, max_timeout=None)
        else:
            now = at if row.paused_at is None else row.paused_at
            idle, maximum = row.clocks()
            if idle is not None:
                until = max(idle, now) + seconds
            if maximum is not None and limits.max_timeout is not None:
                wanted = max(maximum, now) + seconds if until is None else until
                limits = replace(limits, max_timeout=limits.max_timeout + max(0.0, wanted - maximum))
        self._emit(ev.Extended(at=at, id=id, limits=limits, idle_until=until))
        self._arm(row)
        return True

    def pause(self, id: RequestId, *, at: float) -> None:
        """Stop both clocks of a request in flight while a person is being asked (C-68)."""
        row = self.book.get(id)
        if row is not None and row.state in RUNNING and row.paused_at is None:
            self._emit(ev.Paused(at=at, id=id))
            self._arm(row)

    def resume(self, id: RequestId, *, at: float) -> None:
        """Let both clocks run on."""
        row = self.book.get(id)
        if row is not None and row.state in RUNNING and row.paused_at is not None:
            self._emit(ev.Resumed(at=at, id=id))
            self._arm(row)

    # -- while a person is asked -----------------------------------------------------------------------------

    def _clocks_stand(self, at: float, only: Request | None = None) -> None:
        """Stop the clocks of what may wait for a person, and let those of the rest run; of ``only`` one request, or of all.

        On a pipe nothing tells which request a prompt belongs to, so all wait that may: those that it found running.
        """
        waiting = self.inbound.waiting.values()
        parents = {each.parent for each in waiting if each.parent is not None}
        latest = max((each.at for each in waiting if each.parent is None), default=None)
        for row in self._live.values() if only is None else (only,):
            if row.internal or row.state not in RUNNING:
                continue
            found = latest is not None and row.sent_at is not None and row.sent_at <= latest
            stands = row.id in parents or found or self._asked_by_task(row)
            if stands and row.paused_at is None:
                self._emit(ev.Paused(at=at, id=row.id))
                self._arm(row)
            elif not stands and row.paused_at is not None:
                self._emit(ev.Resumed(at=at, id=row.id))
                self._arm(row)

    def _asked_by_task(self, row: Request) -> bool:
        """Whether a person is being asked what the task of a request asks."""
        return row.task_status == "input_required" and any(self._offered.get(row.id, {}).values())
