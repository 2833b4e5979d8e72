"""What comes in: each frame finds its request, or a place on the screen where it can be seen all the same.

A response is a result only while its request is waited for. After a cancel it is evidence (*late*), after another
response a *duplicate*, and without a request *unknown*; none of these reaches a caller (cancellation, every revision:
the sender should ignore a response that arrives after its cancel).
"""

from __future__ import annotations

from typing import Any, Final, cast

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.books import Books
from mcp_tui.protocol.effects import Recall
from mcp_tui.protocol.events import Kind, RequestId
from mcp_tui.protocol.messages import (
    MISSING,
    Batch,
    Frame,
    Json,
    MalformedFrame,
    NotificationFrame,
    PollutionFrame,
    RequestFrame,
    ResponseFrame,
    as_object,
    number,
)
from mcp_tui.protocol.requests import OPEN, Request, State

CROSSING: Final = 1.0
"""Seconds within which a late response may have crossed the cancel on its way; later ones break a rule in 2026-07-28."""

SHOWN: Final = 8192
"""Characters of a log message that an event carries; the frame has the rest."""


class Arrivals(Books):
    """The receiving half of a ledger."""

    def receive(
        self, frame: Frame | Batch, *, at: float, seq: int = 0, stream: RequestId | None = None
    ) -> None:
        """Take in one frame. ``stream`` is the id of the request whose own HTTP stream carried it."""
        match frame:
            case ResponseFrame():
                self._response(frame, at, seq, stream)
            case NotificationFrame():
                self._notification(frame, at, seq)
            case RequestFrame():
                self._request(frame, at, seq)
            case MalformedFrame():
                self._malformed(frame, at, seq, stream)
            case PollutionFrame():
                self._emit(ev.Pollution(at=at, line=frame.line, seq=seq))
            case Batch():
                if self.revision is None or not self.revision.batches:
                    self._violation("batch", "a JSON-RPC batch, which this revision does not have", at, seq)
                for each in frame.frames:
                    self.receive(each, at=at, seq=seq, stream=stream)

    def too_large(
        self, head: bytes, size: int, *, at: float, seq: int = 0, stream: RequestId | None = None
    ) -> None:
        """A message above the cap was dropped: the request it belongs to ends, by the id in its head or by its stream."""
        salvaged = messages.salvage(head, "")
        row = None
        if isinstance(salvaged, MalformedFrame) and salvaged.method is None:
            row, _ = self._find(salvaged.id, stream)
        if row is None and stream is not None:
            row = self.book.get(stream)
        self._emit(ev.Oversize(at=at, bytes=size, id=None if row is None else row.id, seq=seq))
        if row is None:
            return
        text = f"the answer of {size:,} bytes is above the cap for one message (--max-message)"
        self._spoilt(row, text, "oversize", size, at, seq)

    # -- responses -------------------------------------------------------------------------------------------

    def _response(self, frame: ResponseFrame, at: float, seq: int, stream: RequestId | None) -> None:
        row, flaw = self._find(frame.id, stream)
        kind = Kind.RESULT if frame.error is None else Kind.ERROR
        if row is None:
            row = self._owner(frame, stream)
            if row is None:
                shown = frame.id if isinstance(frame.id, (int, float, str)) else None
                self._emit(ev.Unknown(at=at, response_id=shown, kind=kind, seq=seq))
                return
            if stream is not None and frame.id not in (None, MISSING):
                flaw = f"id {_shown(frame.id)} answers the request {row.id!r}"
                self._violation("mismatched-id", flaw, at, seq, row.id)
                if frame.error is None:
                    self._spoilt(row, f"the response has {flaw}", "mismatched-id", frame.size, at, seq)
                    return
        elif flaw:
            self._violation("response-id-type", flaw, at, seq, row.id)
        if frame.defect:
            self._violation("malformed-response", frame.defect, at, seq, row.id)
        self._answer(row, frame, kind, at, seq)

    def _find(self, identity: Any, stream: RequestId | None) -> tuple[Request | None, str]:
        """The request that an id means: by type and value, or by value alone where nothing else can be meant (C-27)."""
        if messages.is_request_id(identity):
            row = self.book.get(identity)
            if row is not None:
                other = stream is not None and stream != identity
                return row, f"the response to {identity!r} came on the stream of {stream!r}" if other else ""
        alike: RequestId | None = None
        if isinstance(identity, str):
            alike = (
                int(identity) if identity.isascii() and identity.isdigit() and len(identity) < 16 else None
            )
        elif isinstance(identity, float):
            alike = int(identity) if identity.is_integer() else None
        elif isinstance(identity, int) and not isinstance(identity, bool):
            alike = str(identity)
        row = None if alike is None else self.book.get(alike)
        return row, "" if row is None else f"id {_shown(identity)} for {row.id!r}"

    def _owner(self, frame: ResponseFrame, stream: RequestId | None) -> Request | None:
        """Whose a response is that names no request: its stream's, or, for an error without id, the only one waiting."""
        if stream is not None:
            return self.book.get(stream)
        if frame.error is None or frame.id not in (None, MISSING):
            return None
        waiting = [row for row in reversed(self.book.order) if row.sent_at is not None and row.state in OPEN]
        return waiting[0] if len(waiting) == 1 else None

    def _answer(self, row: Request, frame: ResponseFrame, kind: Kind, at: float, seq: int) -> None:
        if row.state is State.CANCEL_REQUESTED and row.id in self._signal_queued:
            self._signal_queued.discard(row.id)
            self._emit(Recall(id=row.id))
            self._emit(ev.CancelWithdrawn(at=at, id=row.id))
        if row.state is State.QUEUED:
            if row.id not in self._writing:
                self._violation(
                    "response-before-request", f"a response to {row.id!r}, which is not sent", at, seq, row.id
                )
                return
            self._emit(ev.Sent(at=at, id=row.id))
        if row.open:
            self._conclude(row, frame, at, seq)
        elif row.state in (State.COMPLETED, State.FAILED) or _answered(row):
            self._emit(ev.Duplicate(at=at, id=row.id, kind=kind, seq=seq))
        else:
            code = None if frame.error is None else frame.error.code
            late = _kind_of(frame)
            self._late(row, late, at, seq, code=code, summary=_summary(frame), size=frame.size)
            if row.state is State.CANCEL_REQUESTED:
                self._settle(row, "answered late", at)

    def _conclude(self, row: Request, frame: ResponseFrame, at: float, seq: int) -> None:
        error = frame.error
        if error is not None:
            failed = ev.Failed(
                at=at, id=row.id, code=error.code, message=error.message[:SHOWN], size=frame.size, seq=seq
            )
            self._fail(row, failed, frame)
            return
        unusable = self._unusable(frame.result)
        if unusable:
            rule, text = unusable
            local = ev.Origin.CLIENT
            self._fail(
                row,
                ev.Failed(at=at, id=row.id, message=text, origin=local, rule=rule, size=frame.size, seq=seq),
            )
            return
        wrong = as_object(frame.result).get("isError") is True
        completed = ev.Completed(
            at=at, id=row.id, size=frame.size, is_error=wrong, summary=_summary(frame), seq=seq
        )
        self.deadlines.arm(row.id, None)
        self._emit(completed)
        self._resolve(row.id, frame)

    def _unusable(self, result: Json) -> tuple[str, str] | None:
        """Why a result is none under 2026-07-28: an unknown ``resultType`` is invalid, an absent one is *complete*."""
        if self.revision is None or not self.revision.modern:
            return None
        kind = as_object(result).get("resultType", "complete")
        if kind == "complete":
            return None
        if kind == "input_required":
            return "unsupported", "the server asks for input, which this client did not offer"
        if kind == "task":
            return "unsupported", "the server made a task of it, which this client did not offer"
        return "result-type", f"a result of the unknown type {_shown(kind)}"

    def _spoilt(self, row: Request, text: str, rule: str, size: int, at: float, seq: int) -> None:
        """A response came that cannot be read: its request ends; after a cancel it is evidence."""
        if row.open:
            local = ev.Origin.CLIENT
            self._fail(
                row, ev.Failed(at=at, id=row.id, message=text, origin=local, rule=rule, size=size, seq=seq)
            )
        elif row.state in (State.COMPLETED, State.FAILED) or _answered(row):
            self._emit(ev.Duplicate(at=at, id=row.id, kind=Kind.ERROR, seq=seq))
        else:
            self._late(row, Kind.ERROR, at, seq, summary=text, size=size)
            if row.state is State.CANCEL_REQUESTED:
                self._flush_queued_signal(row, "answered first", at)
                self._settle(row, "answered late", at)

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
        after = max(0.0, at - (since or at))
        late = ev.Late(
            at=at, id=row.id, kind=kind, after=after, code=code, summary=summary, size=size, seq=seq
        )
        first = all(evidence.kind is not kind for evidence in row.late)
        self._emit(late)
        modern = self.revision is not None and self.revision.modern
        if modern and first and after > CROSSING and row.signalled_at is not None:
            text = f"a {kind.value} {after:.3f} s after the cancel: nothing further may be sent"
            self._violation("late-response", text, at, seq, row.id)

    def _malformed(self, frame: MalformedFrame, at: float, seq: int, stream: RequestId | None) -> None:
        row = None
        if frame.method is None:
            row, _ = self._find(frame.id, stream)
            if row is None and stream is not None:
                row = self.book.get(stream)
        if row is None:
            named = f"{frame.method}: " if frame.method else ""
            self._violation("malformed", named + frame.detail, at, seq)
            return
        self._violation("malformed-response", frame.detail, at, seq, row.id)
        self._spoilt(row, f"malformed response: {frame.detail}", "malformed", frame.size, at, seq)

    # -- notifications and requests of the server's ----------------------------------------------------------

    def _notification(self, frame: NotificationFrame, at: float, seq: int) -> None:
        match frame.method:
            case "notifications/progress":
                self._progress(frame.params, at, seq)
            case "notifications/message":
                self._log(frame.params, at, seq)
            case "notifications/cancelled":
                if not self.inbound.cancelled(frame, at=at, seq=seq):
                    self._emit(ev.Notified(at=at, method=frame.method, seq=seq))
                    if self.revision is not None and self.revision.modern:
                        self._violation(
                            "server-cancelled", "the server may cancel nothing but a subscription", at, seq
                        )
            case _:
                self._emit(ev.Notified(at=at, method=frame.method, seq=seq))

    def _request(self, frame: RequestFrame, at: float, seq: int) -> None:
        if self.revision is not None and not self.revision.server_requests:
            text = f"{frame.method} as a request of the server's, never answered"
            self._violation("server-request", text, at, seq)
            return
        self.inbound.asked(frame, at=at, seq=seq)

    def _log(self, params: Json, at: float, seq: int) -> None:
        fields = as_object(params)
        level, logger, data = fields.get("level"), fields.get("logger"), fields.get("data")
        text = (
            data
            if isinstance(data, str)
            else messages.encode({"data": data})[8:-1].decode("utf-8", "replace")
        )
        self._emit(
            ev.Log(
                at=at,
                level=level if isinstance(level, str) else "",
                data=text[:SHOWN],
                logger=logger if isinstance(logger, str) else "",
                seq=seq,
            )
        )

    def _progress(self, params: Json, at: float, seq: int) -> None:
        fields = as_object(params)
        token, value, total = fields.get("progressToken"), fields.get("progress"), fields.get("total")
        message = fields.get("message")
        row = self.tokens.get((type(token), token)) if messages.is_request_id(token) else None
        if row is None:
            self._violation("unknown-progress-token", f"progress for the token {_shown(token)}", at, seq)
            return
        if row.state is State.QUEUED or row.state in (State.COMPLETED, State.FAILED):
            when = "before the request was sent" if row.state is State.QUEUED else "after the response"
            self._violation("stray-progress", f"progress of {row.id!r} {when}", at, seq, row.id)
            return
        if row.state is not State.IN_FLIGHT:
            self._late(row, Kind.PROGRESS, at, seq, summary=message if isinstance(message, str) else "")
            return
        progress = number(value)
        if progress is None:
            self._violation("malformed-progress", f"progress {_shown(value)}", at, seq, row.id)
            return
        if row.progress is not None and progress <= row.progress:
            text = f"progress {progress:g} after {row.progress:g}: it must increase"
            self._violation("progress-not-increasing", text, at, seq, row.id)
            return
        self._emit(
            ev.Progress(
                at=at,
                id=row.id,
                progress=progress,
                total=number(total),
                message=message[:SHOWN] if isinstance(message, str) else None,
                seq=seq,
            )
        )
        self._arm(row)

    def _violation(self, rule: str, detail: str, at: float, seq: int, id_: RequestId | None = None) -> None:
        self._emit(ev.Violation(at=at, rule=rule, detail=detail, id=id_, seq=seq))


def _answered(row: Request) -> bool:
    return any(evidence.kind is not Kind.PROGRESS for evidence in row.late)


_TYPED: Final = {"input_required": Kind.INPUT_REQUIRED, "task": Kind.TASK}


def _kind_of(frame: ResponseFrame) -> Kind:
    if frame.error is not None:
        return Kind.ERROR
    kind = as_object(frame.result).get("resultType")
    return _TYPED.get(kind, Kind.RESULT) if isinstance(kind, str) else Kind.RESULT


def _summary(frame: ResponseFrame) -> str:
    """A few words of what a response says: the error's message, or a tool's first text."""
    if frame.error is not None:
        return frame.error.message[:200]
    content = as_object(frame.result).get("content")
    first = as_object(cast("list[Json]", content)[0]) if isinstance(content, list) and content else {}
    text = first.get("text")
    return text[:200] if isinstance(text, str) else ""


def _shown(value: Any) -> str:
    return "none" if value is MISSING else repr(value)[:80]
