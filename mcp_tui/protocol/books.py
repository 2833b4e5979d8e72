"""What every part of a ledger shares: the book, the queue of what came out, and the ways in which a request ends."""

from __future__ import annotations

from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.deadlines import Deadlines
from mcp_tui.protocol.effects import Effect, Recall, Resolve
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.inbound import Inbound
from mcp_tui.protocol.messages import Json, ResponseFrame
from mcp_tui.protocol.requests import Book, Request, State
from mcp_tui.protocol.revisions import Revision

GRACE: Final = 2.0
"""Seconds that a cancelled row stays *cancel requested* after its notification left: no acknowledgement exists."""


class Books:
    """The state of a ledger. Events are folded into :attr:`book` as they are made."""

    def __init__(self, *, transport: str = "stdio", grace: float = GRACE) -> None:
        self.transport = transport
        self.revision: Revision | None = None
        self.meta: dict[str, Json] = {}
        self.grace = grace
        self.book = Book()
        self.inbound = Inbound(self._emit)
        self.deadlines = Deadlines()
        self.tokens: dict[tuple[type, RequestId], Request] = {}
        self._out: list[ev.Event | Effect] = []
        self._next_id = 1
        self._writing: set[RequestId] = set()
        self._signal_queued: set[RequestId] = set()

    def take(self) -> list[ev.Event | Effect]:
        """All events and effects since the last call, in order."""
        out, self._out = self._out, []
        return out

    def _row(self, id_: RequestId) -> Request:
        row = self.book.get(id_)
        if row is None:
            raise KeyError(id_)
        return row

    def _emit(self, item: ev.Event | Effect) -> None:
        if isinstance(item, ev.RequestEvent):
            self.book.apply(item)
        self._out.append(item)

    def _arm(self, row: Request) -> None:
        """Note when the nearest clock of a request in flight runs out."""
        if row.state is not State.IN_FLIGHT:
            return
        idle, maximum = row.deadlines()
        if row.overdue_until is not None:
            idle = row.overdue_until
        if idle is None or (maximum is not None and maximum < idle):
            idle = maximum
        self.deadlines.arm(row.id, idle)

    def _resolve(self, id_: RequestId, frame: ResponseFrame | None = None) -> None:
        self._emit(Resolve(id=id_, frame=frame))

    def _settle(self, row: Request, detail: str, at: float) -> None:
        self.deadlines.arm(row.id, None)
        self._emit(ev.Settled(at=at, id=row.id, detail=detail))
        self._emit(Resolve(id=row.id))

    def _lose(self, row: Request, detail: str, at: float) -> None:
        self.deadlines.arm(row.id, None)
        self._emit(ev.Lost(at=at, id=row.id, detail=detail))
        self._emit(Resolve(id=row.id))

    def _fail(self, row: Request, failed: ev.Failed, frame: ResponseFrame | None = None) -> None:
        self.deadlines.arm(row.id, None)
        self._emit(failed)
        self._emit(Resolve(id=row.id, frame=frame))

    def _flush_queued_signal(self, row: Request, detail: str, at: float) -> None:
        """A signal that never left is told as such before its row settles."""
        if row.id in self._signal_queued:
            self._signal_queued.discard(row.id)
            self._emit(Recall(id=row.id))
            self._emit(ev.Undelivered(at=at, id=row.id, detail=detail))
