"""What every part of a ledger shares: the book, the queue of what came out, and the ways in which a request ends."""

from __future__ import annotations

from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.deadlines import Deadlines
from mcp_tui.protocol.effects import Effect, Recall, Resolve
from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.inbound import Inbound
from mcp_tui.protocol.messages import Json, ResponseFrame, as_object, shown
from mcp_tui.protocol.requests import Book, Request, State
from mcp_tui.protocol.revisions import Revision
from mcp_tui.protocol.states import GRACE

TOLD: Final = 10
"""Violations of one rule for one request that are told one by one; after them only the hundredth, thousandth, … is."""


class Books:
    """The state of a ledger. Events are folded into :attr:`book` as they are made."""

    def __init__(self, *, transport: str = "stdio", grace: float = GRACE) -> None:
        self.transport = transport
        self.revision: Revision | None = None
        self.meta: dict[str, Json] = {}
        self.grace = grace
        self.book = Book()
        self.inbound = Inbound(self._emit, self._violation)
        self.deadlines = Deadlines()
        self.tokens: dict[tuple[type, RequestId], Request] = {}
        self._round_tokens: dict[RequestId, tuple[type, RequestId]] = {}
        """The progress tokens of the last rounds, by the ids of their requests."""
        self._out: list[ev.Event | Effect] = []
        self._next_id = 1
        self._live: dict[RequestId, Request] = {}
        self._writing: set[RequestId] = set()
        self._signal_queued: dict[RequestId, Request] = {}
        self._wires: dict[RequestId, Request] = {}
        """Requests by the ids of their second and later rounds."""
        self._asked_for: dict[RequestId, dict[str, Json]] = {}
        """What was asked for, of requests that may have to be sent again."""
        self._held: dict[RequestId, Json] = {}
        self._states: dict[RequestId, str | None] = {}
        self._gathering: dict[RequestId, bool] = {}
        self._tasks: dict[str, Request] = {}
        self._errands: dict[RequestId, Request] = {}
        """Requests made for a task's sake, and the row that the task belongs to."""
        self._misses: dict[RequestId, int] = {}
        self._offered: dict[RequestId, dict[str, bool]] = {}
        """The questions of a task, and whether a person is being asked each still."""
        self._acks: dict[RequestId, str] = {}
        self._violations: dict[tuple[str, RequestId | None], int] = {}

    @property
    def modern(self) -> bool:
        """Whether the revision is known to have no handshake."""
        return self.revision is not None and self.revision.modern

    def take(self) -> list[ev.Event | Effect]:
        """All events and effects since the last call, in order."""
        out, self._out = self._out, []
        return out

    def _emit(self, item: ev.Event | Effect) -> None:
        if isinstance(item, ev.Event):
            self.book.apply(item)
        self._out.append(item)

    def _violation(self, rule: str, detail: str, at: float, seq: int, id_: RequestId | None = None) -> None:
        """Tell that the server broke a rule; one that it breaks all the time is told ever more rarely."""
        key = rule, id_
        count = self._violations[key] = self._violations.get(key, 0) + 1
        if count <= TOLD or count == 10 ** (len(str(count)) - 1):
            self._emit(ev.Violation(at=at, rule=rule, detail=detail, id=id_, count=count, seq=seq))

    def _is_error(self, row: Request, result: Json, at: float, seq: int) -> bool:
        """What a result says of itself. An ``isError`` that is no boolean is told, and never taken for a success."""
        verdict = as_object(result).get("isError")
        if verdict is None or isinstance(verdict, bool):
            return verdict is True
        self._violation(
            "malformed-result", f"isError is {shown(verdict)}, which is no boolean", at, seq, row.id
        )
        return True

    # -- clocks ----------------------------------------------------------------------------------------------

    def _arm(self, row: Request) -> None:
        """Note when the nearest clock of a request runs out: in flight, or waiting to be written."""
        if row.state is State.QUEUED:
            limit = row.limits.max_timeout
            self.deadlines.arm(row.id, None if limit is None else row.queued_at + limit)
            return
        if row.state is not State.IN_FLIGHT and row.state is not State.TASK:
            return
        idle, maximum = row.deadlines()
        if row.overdue_until is not None and row.paused_at is None:
            idle = row.overdue_until
        if idle is None or (maximum is not None and maximum < idle):
            idle = maximum
        self.deadlines.arm(row.id, idle)

    # -- where a request stands ------------------------------------------------------------------------------

    def _named(self, id_: RequestId) -> Request | None:
        """The request that has an id, be it that of a later round."""
        row = self.book.get(id_)
        return self._wires.get(id_) if row is None and type(id_) is int else row

    def _current(self, wire_id: RequestId) -> Request | None:
        """The request whose last round has this id; what concerns an earlier one is of no interest any more."""
        row = self._named(wire_id)
        return row if row is not None and row.wire_id == wire_id else None

    def _reached(self, row: Request, at: float) -> bool:
        """Whether something that comes in can be about a request at all: a byte of it has left.

        What comes before the end of its writing was reported tells that it is written.
        """
        if row.round_sent_at is not None:
            return True
        if row.wire_id not in self._writing:
            return False
        if row.state in (State.QUEUED, State.CANCEL_REQUESTED, State.CANCELLED):
            self._emit(ev.Sent(at=at, id=row.id))
            self._arm(row)
        return True

    # -- how a request ends ----------------------------------------------------------------------------------

    def _over(self, row: Request, event: ev.RequestEvent, frame: ResponseFrame | None = None) -> None:
        self.deadlines.arm(row.id, None)
        self._emit(event)
        self._live.pop(row.id, None)
        self._forget(row)
        self.inbound.pay(row.id, at=event.at)
        self._emit(Resolve(id=row.id, frame=frame))
        if row.id in self._errands:
            self._errand_over(row, frame, event.at, row.response_seq)

    def _forget(self, row: Request) -> None:
        """Let go of what only an open request needs."""

    def _errand_over(self, errand: Request, frame: ResponseFrame | None, at: float, seq: int) -> None:
        """A request that was made for another's sake has ended."""

    def _settle(self, row: Request, detail: str, at: float) -> None:
        self._over(row, ev.Settled(at=at, id=row.id, detail=detail))

    def _settle_unsignalled(self, row: Request, detail: str, at: float) -> None:
        self._emit(ev.CancelSignalled(at=at, id=row.id, signal=Signal.NONE, reason_delivered=False))
        self._settle(row, detail, at)

    def _lose(self, row: Request, detail: str, at: float) -> None:
        self._over(row, ev.Lost(at=at, id=row.id, detail=detail))

    def _recall(self, row: Request, at: float, *, undelivered: str = "") -> bool:
        """Take back a signal that has not begun to leave, and say why it never will; false where there is none."""
        if self._signal_queued.pop(row.id, None) is None:
            return False
        self._emit(Recall(id=row.wire_id))
        if undelivered:
            self._emit(ev.Undelivered(at=at, id=row.id, detail=undelivered))
        return True
