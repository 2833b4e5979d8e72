"""The clocks of open requests: their next limit, and when they are paused."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.core import Core
from mcp_tui.protocol.deadlines import Timer
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.requests import RUNNING, Request, State
from mcp_tui.protocol.server_requests import ServerRequest


class Clocks:
    """The part of a ledger that sets, stops, and extends the limits of requests. The ledger acts on a limit that passes.

    ``waiting`` returns the server's requests that have no answer yet.
    """

    def __init__(self, core: Core, waiting: Callable[[], Collection[ServerRequest]]) -> None:
        self._core = core
        self._waiting = waiting

    def arm(self, row: Request) -> None:
        """Sets the timer of a request to its nearest limit."""
        if row.state is State.QUEUED:
            # The idle timeout starts when the request is written. Until then only the maximum bounds the wait (C-08).
            limit = row.limits.max_timeout if row.paused_at is None else None
            self._core.deadlines.arm(Timer.LIMIT, row.id, None if limit is None else row.queued_at + limit)
            return
        if row.state not in RUNNING:
            return
        idle, maximum = row.deadlines()
        if row.overdue_until is not None and row.paused_at is None:
            idle = row.overdue_until
        if idle is None or (maximum is not None and maximum < idle):
            idle = maximum
        self._core.deadlines.arm(Timer.LIMIT, row.id, idle)

    def extend(self, id: RequestId, seconds: float | None, *, at: float) -> bool:
        """Extends the nearest limit of a request in flight by ``seconds``; ``None`` removes both limits.

        The timeout moves once, from now if it is overdue; the next progress restarts it as before. The max timeout
        grows only if it would come earlier. Paused requests are extended as well. Returns false if the request is not
        in flight.
        """
        row = self._core.requests.get(id)
        if row is None or row.state not in RUNNING:
            return False
        limits, until = row.limits, None
        if seconds is None:
            limits = replace(limits, timeout=None, max_timeout=None)
        else:
            # For a paused clock, the time of the pause is the present.
            now = at if row.paused_at is None else row.paused_at
            idle, maximum = row.clocks()
            if idle is not None:
                until = max(idle, now) + seconds
            if maximum is not None and limits.max_timeout is not None:
                wanted = max(maximum, now) + seconds if until is None else until
                limits = replace(limits, max_timeout=limits.max_timeout + max(0.0, wanted - maximum))
        self._core.emit(ev.Extended(at=at, id=id, limits=limits, idle_until=until))
        self.arm(row)
        return True

    def pause(self, row: Request, at: float, *, paused: bool) -> None:
        """Pauses or resumes both clocks of a request in flight."""
        # A second pause would move the start of the first one, and its time would be lost.
        if row.state not in RUNNING or (row.paused_at is not None) is paused:
            return
        self._core.emit(ev.Paused(at=at, id=row.id) if paused else ev.Resumed(at=at, id=row.id))
        self.arm(row)

    def pause_while_asked(self, at: float, only: Request | None = None) -> None:
        """Pauses the requests that may wait for a person, and resumes the others; ``only`` restricts that to one request.

        C-68: a request must not time out while a person thinks. On stdio nothing says which request a prompt belongs
        to, so it pauses all requests that were running.
        """
        prompts = self._core.negotiated.prompts
        waiting = [each for each in self._waiting() if each.method in prompts]
        parents = {each.parent for each in waiting if each.parent is not None}
        latest = max((each.at for each in waiting if each.parent is None), default=None)
        for live in self._core.live.values() if only is None else (self._core.live[only.id],):
            row = live.row
            if row.internal:
                continue
            found = latest is not None and row.sent_at is not None and row.sent_at <= latest
            self.pause(row, at, paused=row.id in parents or found or live.asks_person)
