"""Responses: each finds its request, or a place on the screen where it can be seen all the same.

A response is a result only while its request is waited for. After a cancel it is evidence (*late*), after another
response a *duplicate*, and without a request *unknown*; none of these reaches a caller (cancellation, every revision:
the sender should ignore a response that arrives after its cancel).
"""

from __future__ import annotations

from typing import Any, Final, cast

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.effects import Release
from mcp_tui.protocol.events import Kind, RequestId
from mcp_tui.protocol.messages import MISSING, Json, MalformedFrame, ResponseFrame, as_object, shown
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.states import LISTEN
from mcp_tui.protocol.tasks import Tasks

CROSSING: Final = 1.0
"""Seconds within which a late response may have crossed the cancel on its way; later ones break a rule in 2026-07-28."""

BETWEEN: Final = "abandoned: nothing to cancel"
"""How a request ends that is cancelled while nothing of it is in progress."""

SHOWN: Final = 8192
"""Characters of a text of the server's that an event carries; the frame has the rest."""


class Answers(Tasks):
    """The part of a ledger that takes in responses, whole, broken or too large."""

    def too_large(
        self,
        head: bytes,
        size: int,
        *,
        at: float,
        tail: bytes = b"",
        seq: int = 0,
        stream: RequestId | None = None,
    ) -> None:
        """A message above the cap was dropped: the request it belongs to ends.

        It is known by its stream, or by the id in its head or, where that is 64 kB, in its tail.
        """
        salvaged = messages.salvage(head + tail, "", whole=bool(tail))
        row = self._spoiler(salvaged, stream) if isinstance(salvaged, MalformedFrame) else self._own(stream)
        self._emit(ev.Oversize(at=at, bytes=size, id=None if row is None else row.id, seq=seq))
        if row is not None:
            text = f"the answer of {size:,} bytes is above the cap for one message (--max-message)"
            self._spoilt(row, text, "oversize", size, at, seq)

    # -- whose it is -----------------------------------------------------------------------------------------

    def _response(self, frame: ResponseFrame, at: float, seq: int, stream: RequestId | None) -> None:
        row, rule, flaw = self._whose(frame, stream)
        if row is None:
            kind = Kind.RESULT if frame.error is None else Kind.ERROR
            self._emit(ev.Unknown(at=at, response_id=messages.kept(frame.id), kind=kind, seq=seq))
            return
        earlier = bool(row.round_ids) and self._earlier(row, frame.id, stream)
        if not earlier and self._premature(row, at, seq):
            return
        if flaw:
            self._violation(rule, flaw, at, seq, row.id)
        if frame.defect:
            self._violation("malformed-response", frame.defect, at, seq, row.id)
        if earlier:
            self._again(row, _kind_of(frame), at, seq)
        elif rule == "mismatched-id" and frame.error is None:
            self._spoilt(row, f"the response has the {flaw}", rule, frame.size, at, seq)
        else:
            self._answer(row, frame, at, seq)

    def _whose(self, frame: ResponseFrame, stream: RequestId | None) -> tuple[Request | None, str, str]:
        """The request that a response belongs to, and which rule it breaks by that, and how.

        By its id; but what comes on a request's own HTTP stream while it is waited for can only answer that one (C-28,
        C-29). An error without an id belongs to the one request that waits, where there is but one.
        """
        row, flaw = self._find(frame.id)
        own = None if stream is None else self._named(stream)
        nameless = frame.id is None or frame.id is MISSING
        if own is None:
            if nameless and frame.error is not None and not frame.defect:
                row = self._only_one()
            return row, "response-id-type", flaw
        if row is own:
            return row, "response-id-type", flaw
        if row is None or own.id in self._live:
            if nameless and frame.error is not None:
                return own, "", ""
            return own, "mismatched-id", f"id {shown(frame.id)} on the stream of {own.id!r}"
        return row, "foreign-stream", f"the response to {row.id!r} came on the stream of {own.id!r}"

    def _earlier(self, row: Request, identity: Any, stream: RequestId | None) -> bool:
        """Whether a response answers a round that was answered before."""
        wire = identity if messages.is_request_id(identity) and self._named(identity) is row else stream
        return wire is not None and wire != row.wire_id

    def _find(self, identity: Any) -> tuple[Request | None, str]:
        """The request that an id means: by type and value, or by value alone where nothing else can be meant (C-27)."""
        if messages.is_request_id(identity):
            row = self._named(identity)
            if row is not None:
                return row, ""
        alike = None
        if isinstance(identity, str):
            if len(identity) < 16 and identity.isascii() and identity.isdigit():
                alike = int(identity)
                alike = alike if str(alike) == identity else None
        elif isinstance(identity, float) and identity.is_integer():
            alike = int(identity)
        row = None if alike is None else self._named(alike)
        return row, "" if row is None else f"id {shown(identity)} for {row.id!r}"

    def _only_one(self) -> Request | None:
        """The one request that the server may still answer, if there is exactly one (C-28)."""
        found = None
        for row in self._live.values():
            if row.round_sent_at is not None or row.wire_id in self._writing:
                if found is not None:
                    return None
                found = row
        return found

    def _own(self, stream: RequestId | None) -> Request | None:
        """The request whose own stream it is, while it can be answered."""
        row = None if stream is None else self._current(stream)
        return row if row is not None and row.id in self._live else None

    def _spoiler(self, frame: MalformedFrame, stream: RequestId | None) -> Request | None:
        """Whose response it is that cannot be read."""
        if frame.method is not None:
            return None
        own = self._own(stream)
        if own is not None and (frame.answers or frame.id is not MISSING):
            return own
        row, _ = self._find(frame.id)
        if row is None and stream is None and frame.id is MISSING and frame.answers:
            return self._only_one()
        return row

    # -- what it means ---------------------------------------------------------------------------------------

    def _answer(self, row: Request, frame: ResponseFrame, at: float, seq: int) -> None:
        """A response that can be read: the outcome of a request that is waited for, else evidence."""
        task = self._handle(row, frame)
        kind = _kind_of(frame) if task is None else Kind.TASK
        wished = row.state is State.CANCEL_REQUESTED
        if kind is Kind.INPUT_REQUIRED and wished and self.modern and self._recall(row, at):
            # nothing is in progress any more, and nobody is asked for what is not wanted (C-16, C-65)
            self._late(row, kind, at, seq, size=frame.size)
            self._settle_unsignalled(row, BETWEEN, at)
            return
        self._in_time(row, at, task=task is not None)
        if _answered(row):
            self._again(row, kind, at, seq)
        elif row.open:
            self._conclude(row, frame, at, seq, wanted=not wished)
        else:
            code = None if frame.error is None else frame.error.code
            self._late(row, kind, at, seq, code=code, summary=_summary(frame), size=frame.size)
            if task is not None and row.cancel_at is not None and not self._created(row, task, at, seq):
                return  # a task lives now that nobody waits for: it is being cancelled (C-17, C-80)
            self._settle_late(row, at)

    def _spoilt(self, row: Request, text: str, rule: str, size: int, at: float, seq: int) -> None:
        """A response that cannot be read: its request ends, and with it its stream; after a cancel it is evidence."""
        if self._premature(row, at, seq):
            return
        self._in_time(row, at)
        kind = Kind.OVERSIZE if rule == "oversize" else Kind.ERROR
        if _answered(row):
            self._again(row, kind, at, seq)
        elif row.open:
            self._fail_locally(row, text, rule, size, at, seq)
            if self.transport == "http":
                self._emit(Release(id=row.wire_id))
        else:
            self._late(row, kind, at, seq, summary=text, size=size)
            self._settle_late(row, at)

    def _premature(self, row: Request, at: float, seq: int) -> bool:
        """Whether a response came to a request of which no byte has left: that is none, whatever its id."""
        if row.round_answered or self._reached(row, at):
            return False
        text = f"a response to {row.id!r}, which was not sent"
        self._violation("response-before-request", text, at, seq, row.id)
        return True

    def _in_time(self, row: Request, at: float, *, task: bool = False) -> None:
        """A response that comes before the signal has begun to leave: only a request in progress may be cancelled.

        The cancel of a task waits for its id (C-80): any other answer than that comes in time as well. An id of a task
        lets the cancel stand, by another signal (C-17).
        """
        if row.state is State.CANCEL_REQUESTED:
            held = row.as_task and row.signal is None and not row.task_id
            if (self._recall(row, at) or held) and not task:
                self._emit(ev.CancelWithdrawn(at=at, id=row.id))
        else:
            self._recall(row, at, undelivered="the answer came first")

    def _settle_late(self, row: Request, at: float) -> None:
        if row.state is State.CANCEL_REQUESTED:
            self._settle(row, "answered late", at)

    def _again(self, row: Request, kind: Kind, at: float, seq: int) -> None:
        # A subscription may be ended by its result and by a notification, in either order (C-58).
        if not (self.modern and row.method == LISTEN):
            self._emit(ev.Duplicate(at=at, id=row.id, kind=kind, seq=seq))

    def _conclude(
        self, row: Request, frame: ResponseFrame, at: float, seq: int, *, wanted: bool = True
    ) -> None:
        """End a request by its answer; one that is not ``wanted`` any more is not sent again, whatever the answer."""
        error = frame.error
        if error is not None:
            if wanted and error.code is not None and self._corrects(row, error.code, at):
                return
            text = error.message[:SHOWN]
            failed = ev.Failed(at=at, id=row.id, code=error.code, message=text, size=frame.size, seq=seq)
            self._over(row, failed, frame)
            return
        if self._goes_further(row, frame, at, seq):
            return
        wrong = self._is_error(row, frame.result, at, seq)
        completed = ev.Completed(
            at=at, id=row.id, size=frame.size, is_error=wrong, summary=_summary(frame), seq=seq
        )
        self._over(row, completed, frame)

    def _fail_locally(self, row: Request, text: str, rule: str, size: int, at: float, seq: int) -> None:
        local = ev.Origin.CLIENT
        self._over(
            row, ev.Failed(at=at, id=row.id, message=text, origin=local, rule=rule, size=size, seq=seq)
        )

    def _goes_further(self, row: Request, frame: ResponseFrame, at: float, seq: int) -> bool:
        """Whether a result is something else than the end: a wish for input, a task, or of a type that is invalid.

        An unknown ``resultType`` is invalid under 2026-07-28, an absent one is *complete* (basic, "Responses").
        """
        task = self._handle(row, frame)
        if row.method == "tasks/get" and not row.internal and task is None:
            fields = as_object(frame.result)
            task = fields if fields.get("status") in ("working", "input_required") else None
        if task is not None:
            problem, rule = self._created(row, task, at, seq), "result-type"
        else:
            kind = as_object(frame.result).get("resultType", "complete")
            if not self.modern or kind == "complete" or (kind == "task" and row.method == "tasks/get"):
                return False
            rule = "result-type"
            if kind == "input_required":
                problem = self._input_required(row, frame, at, seq)
                if problem:
                    self._violation("input-required", problem, at, seq, row.id)
            else:
                problem = f"a result of the unknown type {shown(kind)}"
        if problem:
            self._fail_locally(row, problem, rule, frame.size, at, seq)
        return True

    def _summary_of(self, frame: ResponseFrame) -> str:
        return _summary(frame)

    def _late(
        self,
        row: Request,
        kind: Kind,
        at: float,
        seq: int,
        *,
        code: int | None = None,
        summary: str = "",
        size: int = 0,
    ) -> None:
        since = row.cancel_at if row.cancel_at is not None else row.ended_at
        after = 0.0 if since is None else max(0.0, at - since)
        overdue = self.modern and after > CROSSING and row.signalled_at is not None and row.method != LISTEN
        known = overdue and any(e.kind is kind and e.last_after > CROSSING for e in row.late)
        self._emit(
            ev.Late(at=at, id=row.id, kind=kind, after=after, code=code, summary=summary, size=size, seq=seq)
        )
        if overdue and not known:
            text = f"{kind.value} {after:.3f} s after the cancel: nothing further may be sent"
            self._violation("late-response", text, at, seq, row.id)


def _answered(row: Request) -> bool:
    """Whether a response to a request that is not waited for came before, in time or late."""
    if row.state in (State.COMPLETED, State.FAILED) or row.round_answered or row.task_id:
        return True
    return any(evidence.kind is not Kind.PROGRESS for evidence in row.late)


_TYPED: Final = {"input_required": Kind.INPUT_REQUIRED, "task": Kind.TASK}


def _kind_of(frame: ResponseFrame) -> Kind:
    if frame.error is not None:
        return Kind.ERROR
    fields = as_object(frame.result)
    kind = fields.get("resultType")
    if isinstance(kind, str):
        return _TYPED.get(kind, Kind.RESULT)
    return Kind.TASK if "taskId" in as_object(fields.get("task")) else Kind.RESULT


def _summary(frame: ResponseFrame) -> str:
    """A few words of what a response says: the error's message, or a tool's first text."""
    if frame.error is not None:
        return frame.error.message[:200]
    content = as_object(frame.result).get("content")
    first = as_object(cast("list[Json]", content)[0]) if isinstance(content, list) and content else {}
    text = first.get("text")
    return text[:200] if isinstance(text, str) else ""
