"""Handles responses: finds the request of each, its kind, and whether it is a result or evidence.

:func:`role_of` decides what is late. A response is the *outcome* of its request only while the request waits for it.
After a cancel it is *late*: evidence that no caller sees (cancellation, every revision: the sender should ignore a
response that arrives after its cancel). After another response it is a *duplicate*. Without a request it is unknown.

Each response goes through these steps:

1. Find its request, by its id and by the stream that carried it.
2. Reject a response to a request that was not sent.
3. Withdraw a cancel whose signal has not begun to leave, because only a request in progress may be cancelled.
4. Record the outcome, the evidence, or the duplicate.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.core import Core
from mcp_tui.protocol.events import Kind, RequestId
from mcp_tui.protocol.framing import Oversized
from mcp_tui.protocol.messages import (
    Batch,
    Frame,
    Json,
    MalformedFrame,
    PollutionFrame,
    ResponseFrame,
    as_object,
    shown,
)
from mcp_tui.protocol.ports import Decisions
from mcp_tui.protocol.requests import Request, State, longest_gap
from mcp_tui.protocol.states import LISTEN, PROBING, Signal
from mcp_tui.protocol.tasks import Rounds, Tasks

CROSSING_SECONDS: Final = 1.0
"""Seconds after the cancel in which a late response may have crossed it; in 2026-07-28 a later one breaks a rule."""

BETWEEN: Final = "abandoned: nothing to cancel"
"""The detail of a request that was cancelled between two rounds."""

EVENT_TEXT_CHARACTERS: Final = 8192
"""The maximum number of characters of a server's text in an event; the frame has the rest."""

METHOD_CHARACTERS: Final = 200
"""The maximum number of characters of a method's name in an event."""


OPENING_METHODS: Final = frozenset({PROBING, "initialize"})
"""The methods that open a connection."""

REJECTION_SECONDS: Final = 2.0
"""Seconds after a signal in which an error without an id counts as its rejection."""


def answered(row: Request) -> bool:
    """Whether a cancelled request got a late response."""
    return bool(row.late) and any(evidence.kind is not Kind.PROGRESS for evidence in row.late)


class ResponseRole(Enum):
    """The role of a response for its request."""

    OUTCOME = "outcome"
    LATE = "late"
    DUPLICATE = "duplicate"


def role_of(row: Request, kind: Kind) -> ResponseRole:
    """Returns the role of a new response of a kind to ``row``.

    A result after a late error is late too, not a duplicate: some servers answer a cancel with an error at once and
    let the tool run on.
    """
    if row.state in (State.COMPLETED, State.FAILED) or row.round_answered or row.task_id:
        return ResponseRole.DUPLICATE
    if answered(row):
        errors = all(each.kind in (Kind.PROGRESS, Kind.ERROR) for each in row.late)
        return ResponseRole.LATE if errors and kind is Kind.RESULT else ResponseRole.DUPLICATE
    return ResponseRole.OUTCOME if row.open else ResponseRole.LATE


_TYPED: Final = {"input_required": Kind.INPUT_REQUIRED, "task": Kind.TASK}


def kind_of(frame: ResponseFrame) -> Kind:
    """Returns the kind of a response."""
    if frame.error is not None:
        return Kind.MALFORMED if frame.error.code is None else Kind.ERROR
    fields = as_object(frame.outline)
    kind = fields.get("resultType")
    if isinstance(kind, str):
        return _TYPED.get(kind, Kind.RESULT)
    return Kind.TASK if "task" in fields and "taskId" in as_object(fields["task"]) else Kind.RESULT


class Responses:
    """The part of a ledger that handles responses, including broken and oversized ones."""

    def __init__(self, core: Core, ledger: Decisions, rounds: Rounds, tasks: Tasks) -> None:
        self._core = core
        self._ledger = ledger
        self._rounds = rounds
        self._tasks = tasks

    # -- incoming responses ----------------------------------------------------------------------------------

    def receive(self, frame: ResponseFrame, at: float, seq: int, stream: RequestId | None) -> None:
        """Handles a response."""
        core = self._core
        plain = None if stream is not None or frame.error is not None else self._plain(frame)
        if plain is not None:
            self._ledger.complete(plain, frame, at, seq)
            return
        row, rule, flaw = self._request_of(frame, stream)
        if row is None:
            self._unknown(frame, at, seq)
            return
        earlier = bool(row.round_ids) and self._earlier(row, frame.id, stream)
        if row.round_sent_at is None and not earlier and self._is_premature(row, at, seq):
            return
        # The probe provokes its error, and an older server may use any id for it ("server-error").
        provoked = (
            row.method == "server/discover" and frame.error is not None and core.negotiated.revision is None
        )
        if flaw and not provoked:
            core.violation(rule, flaw, at, seq, row.id)
        if frame.defect:
            core.violation("malformed-response", frame.defect, at, seq, row.id)
        if earlier:
            self._duplicate(row, kind_of(frame), at, seq)
        elif rule == "mismatched-id" and frame.error is None:
            self._unreadable(row, f"the response has the {flaw}", rule, frame.size, at, seq)
        else:
            self.answer(row, frame, at, seq)

    def _plain(self, frame: ResponseFrame) -> Request | None:
        """Returns the request of a usual response: a valid result of a request that was sent once, is in flight, and was
        not cancelled.

        Nearly all responses are usual. :meth:`receive` would come to the same, but this takes a twentieth of the
        request's time.
        """
        core = self._core
        live = core.live.get(frame.id) if messages.is_request_id(frame.id) else None
        if live is None or frame.defect or core.other_ids or core.negotiated.modern:
            return None
        row = live.row
        once = row.round_sent_at is not None and not row.as_task and row.method != "tasks/get"
        return row if once and row.state is State.IN_FLIGHT and not row.late else None

    def malformed(self, frame: MalformedFrame, at: float, seq: int, stream: RequestId | None) -> None:
        """Handles an invalid message. If it can only be a response, its request ends."""
        core, row = self._core, self._request_of_unreadable(frame, stream)
        if row is None:
            named = f"{frame.method[:METHOD_CHARACTERS]}: " if frame.method else ""
            own = self._stream_owner(stream)
            core.violation("malformed", named + frame.detail, at, seq, None if own is None else own.id)
            return
        core.violation("malformed-response", frame.detail, at, seq, row.id)
        if row.round_ids and self._earlier(row, frame.id, stream):
            self._duplicate(row, Kind.MALFORMED, at, seq)
        else:
            self._unreadable(row, f"malformed response: {frame.detail}", "malformed", frame.size, at, seq)

    def pollution(self, frame: PollutionFrame, at: float, seq: int, stream: RequestId | None) -> None:
        """Handles text that is not JSON."""
        row = self._stream_owner(stream)
        if row is None:
            self._core.emit(ev.Pollution(at=at, line=frame.line, seq=seq))
            return
        # One event of a stream may be anything, and the response may still follow.
        self._core.violation("malformed", f"no JSON-RPC message: {shown(frame.line)}", at, seq, row.id)

    def too_large(self, message: Oversized, *, at: float, stream: RequestId | None = None) -> None:
        """Handles a message above the cap: its request ends.

        The request is found by the stream, or by an id in the head or the tail of the message.
        """
        size = message.size
        salvaged = messages.salvage(message.head + message.tail, "", whole=bool(message.tail))
        broken = isinstance(salvaged, MalformedFrame)
        row = self._request_of_unreadable(salvaged, stream) if broken else self._stream_owner(stream)
        self._core.emit(ev.Oversize(at=at, bytes=size, id=None if row is None else row.id))
        if row is not None:
            text = f"the answer of {size:,} bytes is above the cap for one message (--max-message)"
            self._unreadable(row, text, "oversize", size, at, 0)

    def unfinished(self, head: bytes, size: int, *, at: float, stream: RequestId | None = None) -> None:
        """Notes the first ``size`` bytes of a message whose rest did not arrive.

        If it answers a cancelled request, it is evidence, so that nothing reports "no reply".
        """
        frame = messages.salvage(head, "", whole=False)
        row = self._request_of_unreadable(frame, stream) if isinstance(frame, MalformedFrame) else None
        if (
            row is None
            and isinstance(frame, MalformedFrame)
            and frame.answers
            and frame.id is messages.MISSING
        ):
            # Many servers write the id last. Without it, the request is known only if a single one can still be
            # answered.
            rows = {each.id: each for each in self._ledger.watched()}
            rows |= {each.row.id: each.row for each in self._core.live.values()}
            waiting = [each for each in rows.values() if not answered(each)]
            row = waiting[0] if len(waiting) == 1 else None
        if (
            row is not None
            and row.cancel_at is not None
            and role_of(row, Kind.MALFORMED) is ResponseRole.LATE
        ):
            self.late(row, Kind.MALFORMED, at, 0, size=size, partial=True)

    def to_cancel(self, id: RequestId, frame: Frame | Batch, *, status: int, at: float, seq: int) -> None:
        """Handles a message in the HTTP answer to the cancel of ``id``; ``status`` comes with the first one.

        A message that names one of our requests answers that request. An error that names none refuses the cancel.
        """
        core = self._core
        if status and core.negotiated.transport == "http":
            text = f"HTTP {status} with a body in answer to the cancel, where 202 without one is due"
            core.violation("cancel-body", text, at, seq, id)
        for each in frame.frames if isinstance(frame, Batch) else (frame,):
            error = each.error if isinstance(each, ResponseFrame) else None
            if isinstance(each, ResponseFrame) and error is not None and self.find(each.id)[0] is None:
                text = f"error {error.code} {error.message[:METHOD_CHARACTERS]}".rstrip()
                self._ledger.signal_failed(id, text, at=at, refused=True)
            elif not isinstance(each, PollutionFrame):
                self._ledger.receive(each, at=at, seq=seq)

    # -- the request of a response ---------------------------------------------------------------------------

    def _request_of(self, frame: ResponseFrame, stream: RequestId | None) -> tuple[Request | None, str, str]:
        """Returns the request of a response, the rule that the response breaks, and a description.

        The id decides, but a response on the HTTP stream of an open request can only answer that request. C-28: an
        error without an id belongs to it. C-29: a response with another id makes it fail. On a shared stream, a
        response without an id belongs to the connection, or to the request that opens it.
        """
        row, flaw = self.find(frame.id)
        own = None if stream is None else self._core.named(stream)
        if row is not None and (own is None or own is row):
            return row, "response-id-type", flaw
        nameless = frame.id is None or frame.id is messages.MISSING
        if own is None:
            if frame.error is not None and not frame.defect:
                row = self._opening(OPENING_METHODS if nameless else frozenset({PROBING}))
            return row, "response-id-type", flaw
        if row is None or own.id in self._core.live:
            if nameless and frame.error is not None:
                return own, "", ""
            return own, "mismatched-id", f"id {shown(frame.id)} on the stream of {own.id!r}"
        return row, "foreign-stream", f"the response to {row.id!r} came on the stream of {own.id!r}"

    def _earlier(self, row: Request, identity: Any, stream: RequestId | None) -> bool:
        """Whether a response belongs to an earlier round."""
        for each in (identity, messages.integer_id(identity)):
            if messages.is_request_id(each) and self._core.named(each) is row:
                return each != row.wire_id
        return stream is not None and stream != row.wire_id

    def find(self, identity: Any) -> tuple[Request | None, str]:
        """Returns the request with an id, and a description if the id has the wrong type.

        C-27: some servers send the id 7 back as "7" or 7.0. That is accepted if no other request has that id.
        """
        if messages.is_request_id(identity):
            row = self._core.named(identity)
            if row is not None:
                return row, ""
        number = messages.integer_id(identity)
        row = None if number is None else self._core.named(number)
        return row, "" if row is None else f"id {shown(identity)} for {row.id!r}"

    def _opening(self, methods: frozenset[str]) -> Request | None:
        """Returns the request that opens the connection, if it is the only open one, has one of these methods, and no
        cancel was sent.

        Only then an error without an id belongs to it. Old servers answer ``server/discover`` with such an error or
        with an id of their own, so the probe accepts any id. ``initialize`` does not: a late answer to the probe may
        precede its own.
        """
        waiting = [
            live.row
            for live in self._core.live.values()
            if live.row.round_sent_at is not None or self._ledger.being_written(live.row)
        ]
        one = waiting[0] if len(waiting) == 1 else None
        if one is None or one.method not in methods or not one.open or self._ledger.last_signal() is not None:
            return None
        return one

    def _unknown(self, frame: ResponseFrame, at: float, seq: int) -> None:
        """Reports a response to none of our requests. Without an id it may reject the last cancel."""
        identity, error = frame.id, frame.error
        nameless = error is not None and (identity is None or identity is messages.MISSING)
        last = self._ledger.last_signal() if nameless else None
        after = None if last is None or last.signalled_at is None else self._since(last.signalled_at, at)[0]
        # A server that does not know notifications/cancelled may answer it with an error, which has no id to name.
        rejects = after is not None and after <= REJECTION_SECONDS
        code = None if error is None else error.code
        if last is not None and after is not None and rejects:
            self._core.emit(ev.Rejected(at=at, id=last.id, code=code, after=after, seq=seq))
        self._core.emit(
            ev.Unknown(
                at=at,
                response_id=messages.storable_id(identity),
                id_type=messages.json_type(identity),
                kind=Kind.RESULT if error is None else Kind.ERROR,
                code=code,
                message="" if error is None else error.message[:METHOD_CHARACTERS],
                cancelled=last.id if last is not None and rejects else None,
                after=after if rejects else None,
                seq=seq,
            )
        )

    def _stream_owner(self, stream: RequestId | None) -> Request | None:
        """Returns the open request whose stream this is."""
        row = None if stream is None else self._core.current(stream)
        return row if row is not None and row.id in self._core.live else None

    def _request_of_unreadable(self, frame: MalformedFrame, stream: RequestId | None) -> Request | None:
        """Returns the request of an unreadable response, or ``None``."""
        if frame.method is not None:
            return None
        own = self._stream_owner(stream)
        if own is not None and (frame.answers or frame.id is not messages.MISSING):
            return own
        row, _ = self.find(frame.id)
        if row is None and stream is None and frame.id is messages.MISSING and frame.answers:
            return self._opening(OPENING_METHODS)
        return row

    # -- result or evidence ----------------------------------------------------------------------------------

    def answer(self, row: Request, frame: ResponseFrame, at: float, seq: int) -> None:
        """Handles a readable response."""
        core = self._core
        task = self._tasks.handle(row, frame)
        kind = kind_of(frame) if task is None else Kind.TASK
        cancelled = row.state is State.CANCEL_REQUESTED
        if (
            kind is Kind.INPUT_REQUIRED
            and cancelled
            and core.negotiated.modern
            and self._ledger.recall(row, at)
        ):
            # C-16, C-65: a server that asks for input has ended the request on the wire. So a cancel has nothing in
            # progress to name, and nobody is asked for input that is no longer needed.
            self.late(row, kind, at, seq, size=frame.size)
            self._ledger.settle_unsignalled(row, BETWEEN, at)
            return
        self._withdraw_cancel(row, at, task=task is not None)
        match role_of(row, kind):
            case ResponseRole.DUPLICATE:
                self._duplicate(row, kind, at, seq)
            case ResponseRole.OUTCOME:
                self._conclude(row, frame, at, seq, wanted=not cancelled)
            case ResponseRole.LATE:
                code = None if frame.error is None else frame.error.code
                words = messages.summary(frame)
                self.late(row, kind, at, seq, code=code, summary=words, size=frame.size)
                # C-17, C-80: now a task runs without anyone waiting for it, so it is cancelled as a task.
                if task is None or row.cancel_at is None or self._tasks.created(row, task, at, seq):
                    self._settle_answered(row, at)

    def _unreadable(self, row: Request, text: str, rule: str, size: int, at: float, seq: int) -> None:
        """Handles an unreadable response. It ends its request and the stream, or is evidence after a cancel."""
        core = self._core
        if self._is_premature(row, at, seq):
            return
        self._withdraw_cancel(row, at)
        kind = Kind.OVERSIZE if rule == "oversize" else Kind.MALFORMED
        match role_of(row, kind):
            case ResponseRole.DUPLICATE:
                self._duplicate(row, kind, at, seq)
            case ResponseRole.OUTCOME:
                self._ledger.fail(row, text, rule, at, size=size, seq=seq)
                # The stream has had its one response, although nobody could read it; the server need not close it.
                if core.negotiated.transport == "http":
                    core.do(core.port.release, row.wire_id)
            case ResponseRole.LATE:
                self.late(row, kind, at, seq, summary=text, size=size)
                self._settle_answered(row, at)

    def _is_premature(self, row: Request, at: float, seq: int) -> bool:
        """Whether a response arrived before its request was sent; reports that as a violation."""
        if row.round_answered or self._ledger.reached(row, at):
            return False
        text = f"a response to {row.id!r}, which was not sent"
        self._core.violation("response-before-request", text, at, seq, row.id)
        return True

    def _withdraw_cancel(self, row: Request, at: float, *, task: bool = False) -> None:
        """Withdraws a cancel whose signal has not begun to leave: only a request in progress may be cancelled.

        C-80: the cancel of a task call waits for the task's id, so any other response withdraws it. C-17: a task
        handle does not withdraw the cancel, which then leaves as ``tasks/cancel``.
        """
        if row.state is State.CANCEL_REQUESTED:
            waits = row.as_task and row.signal is None and not row.task_id
            if (self._ledger.recall(row, at) or waits) and not task:
                self._core.emit(ev.CancelWithdrawn(at=at, id=row.id))
        else:
            self._ledger.recall(row, at, for_good=True)

    def _settle_answered(self, row: Request, at: float) -> None:
        if row.state is State.CANCEL_REQUESTED:
            self._ledger.settle(row, "" if row.watching_over else "answered late", at)

    def _duplicate(self, row: Request, kind: Kind, at: float, seq: int) -> None:
        # C-58: a result and a notification may both end a subscription, in either order, and both are correct.
        if not (self._core.negotiated.modern and row.method == LISTEN):
            self._core.emit(ev.Duplicate(at=at, id=row.id, kind=kind, seq=seq))

    def late(
        self,
        row: Request,
        kind: Kind,
        at: float,
        seq: int,
        *,
        code: int | None = None,
        summary: str = "",
        size: int = 0,
        progress: float | None = None,
        partial: bool = False,
    ) -> None:
        """Records as evidence a message that arrived after its request was cancelled or lost.

        C-13: it may have crossed the cancel. From 2026-07-28 on a server must send nothing more, so a message that
        comes later is a violation.
        """
        core = self._core
        since = row.ended_at if row.cancel_at is None else row.signalled_at or row.cancel_at
        after, most = (0.0, None) if since is None else self._since(since, at)
        overdue = (
            core.negotiated.modern
            and not row.watching_over
            and after > CROSSING_SECONDS
            and row.signalled_at is not None
            # With --once a tap gives a call up without a word to the server.
            and row.signal is not Signal.NONE
            and row.method != LISTEN
        )
        longest = longest_gap(row, at) if kind is Kind.PROGRESS else 0.0
        # One violation per kind is enough; a tool that runs on would report one per progress message.
        known = overdue and any(e.kind is kind and e.last_after > CROSSING_SECONDS for e in row.late)
        core.emit(
            ev.Late(
                at=at,
                id=row.id,
                kind=kind,
                after=after,
                longest=longest,
                after_end=row.watching_over,
                code=code,
                summary=summary,
                size=size,
                progress=progress,
                most=most,
                partial=partial,
                seq=seq,
            )
        )
        if overdue and not known:
            text = f"{kind.value} {after:.3f} s after the cancel: nothing further may be sent"
            core.violation("late-response", text, at, seq, row.id)

    def _since(self, since: float, at: float) -> tuple[float, float | None]:
        """Returns the seconds from ``since`` to a message: the lower bound, and the upper one if this process was
        suspended.
        """
        start, end = self._core.suspended_from, self._core.suspended_to
        most = max(0.0, at - since)
        return (max(0.0, start - since), most) if start <= at <= end else (most, None)

    # -- the outcome -----------------------------------------------------------------------------------------

    def _conclude(self, row: Request, frame: ResponseFrame, at: float, seq: int, *, wanted: bool) -> None:
        """Ends a request by its response; a request that is not ``wanted`` any more is not sent again."""
        error = frame.error
        if error is not None:
            if wanted and error.code is not None and self._rounds.retry_with_headers(row, error.code, at):
                return
            text = error.message[:EVENT_TEXT_CHARACTERS]
            failed = ev.Failed(at=at, id=row.id, code=error.code, message=text, size=frame.size, seq=seq)
            self._ledger.over(row, failed, frame)
            return
        if not self._continues(row, frame, at, seq):
            self._ledger.complete(row, frame, at, seq)

    def _continues(self, row: Request, frame: ResponseFrame, at: float, seq: int) -> bool:
        """Handles a result that does not end its request: required input, a task, or an invalid type.

        Returns false for any other result. Under 2026-07-28 an unknown ``resultType`` is invalid, and a missing one
        means *complete* (basic, "Responses").
        """
        core, modern = self._core, self._core.negotiated.modern
        if not (modern or row.as_task or row.method == "tasks/get"):
            return False
        task = self._tasks.handle(row, frame)
        if row.method == "tasks/get" and not row.internal and task is None:
            fields = as_object(frame.outline)
            task = fields if fields.get("status") in ("working", "input_required") else None
        if task is not None:
            problem = self._tasks.created(row, task, at, seq)
        else:
            kind: Json = as_object(frame.outline).get("resultType", "complete")
            if not modern or kind == "complete" or (kind == "task" and row.method == "tasks/get"):
                return False
            if kind == "input_required":
                problem = self._rounds.input_required(row, frame, at, seq)
                if problem:
                    core.violation("input-required", problem, at, seq, row.id)
            else:
                problem = f"a result of the unknown type {shown(kind)}"
        if problem:
            self._ledger.fail(row, problem, "result-type", at, size=frame.size, seq=seq)
        return True
