"""What comes in: frames of every kind, and what the server's notifications mean for our requests."""

from __future__ import annotations

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.answers import LISTEN, SHOWN, Answers
from mcp_tui.protocol.events import Kind, RequestId
from mcp_tui.protocol.inbound import NAME
from mcp_tui.protocol.messages import (
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
    shown,
)
from mcp_tui.protocol.requests import Request, State


class Arrivals(Answers):
    """The receiving half of a ledger."""

    def receive(
        self, frame: Frame | Batch, *, at: float, seq: int = 0, stream: RequestId | None = None
    ) -> None:
        """Take in one frame. ``stream`` is the id of the request whose own HTTP stream carried it."""
        match frame:
            case NotificationFrame():
                self._notification(frame, at, seq)
            case ResponseFrame():
                self._response(frame, at, seq, stream)
            case RequestFrame():
                self._request(frame, at, seq)
            case MalformedFrame():
                self._malformed(frame, at, seq, stream)
            case PollutionFrame():
                self._pollution(frame, at, seq, stream)
            case Batch():
                if self.revision is None or not self.revision.batches:
                    self._violation("batch", "a JSON-RPC batch, which this revision does not have", at, seq)
                for each in frame.frames:
                    self.receive(each, at=at, seq=seq, stream=stream)

    def _malformed(self, frame: MalformedFrame, at: float, seq: int, stream: RequestId | None) -> None:
        row = self._spoiler(frame, stream)
        if row is None:
            named = f"{frame.method[:NAME]}: " if frame.method else ""
            self._violation("malformed", named + frame.detail, at, seq)
            return
        self._violation("malformed-response", frame.detail, at, seq, row.id)
        self._spoilt(row, f"malformed response: {frame.detail}", "malformed", frame.size, at, seq)

    def _pollution(self, frame: PollutionFrame, at: float, seq: int, stream: RequestId | None) -> None:
        row = self._own(stream)
        if row is None:
            self._emit(ev.Pollution(at=at, line=frame.line, seq=seq))
            return
        detail = f"no JSON-RPC message: {shown(frame.line)}"
        self._violation("malformed-response", detail, at, seq, row.id)
        self._spoilt(row, f"malformed response: {detail}", "malformed", frame.size, at, seq)

    # -- requests and notifications of the server's ----------------------------------------------------------

    def _request(self, frame: RequestFrame, at: float, seq: int) -> None:
        if self.revision is not None and not self.revision.server_requests:
            text = f"{frame.method[:NAME]} as a request of the server's, never answered"
            self._violation("server-request", text, at, seq)
            return
        self.inbound.asked(frame, at=at, seq=seq)

    def _notification(self, frame: NotificationFrame, at: float, seq: int) -> None:
        match frame.method:
            case "notifications/progress":
                self._progress(frame.params, at, seq)
            case "notifications/message":
                self._log(frame.params, at, seq)
            case "notifications/cancelled":
                self._cancelled(frame, at, seq)
            case _:
                self._emit(ev.Notified(at=at, method=frame.method[:NAME], seq=seq))

    def _cancelled(self, frame: NotificationFrame, at: float, seq: int) -> None:
        """The server takes back a request of its own or, from 2026-07-28 on, ends a subscription of ours (C-56)."""
        if self.inbound.cancelled(frame, at=at, seq=seq):
            return
        self._emit(ev.Notified(at=at, method=frame.method, seq=seq))
        if not self.modern:
            return
        named = as_object(frame.params).get("requestId")
        row = self.book.get(named) if messages.is_request_id(named) else None
        if row is not None and row.method == LISTEN and self._reached(row, at):
            self._answer(row, ResponseFrame(id=row.id, result={}, size=frame.size), at, seq)
        else:
            text = f"the server may cancel nothing but a subscription, not {shown(named)}"
            self._violation("server-cancelled", text, at, seq)

    def _log(self, params: Json, at: float, seq: int) -> None:
        fields = as_object(params)
        level, logger, data = fields.get("level"), fields.get("logger"), fields.get("data")
        text = data if isinstance(data, str) else messages.text(data)
        self._emit(
            ev.Log(
                at=at,
                level=level[:NAME] if isinstance(level, str) else "",
                data=text[:SHOWN],
                logger=logger[:NAME] if isinstance(logger, str) else "",
                seq=seq,
            )
        )

    # -- progress --------------------------------------------------------------------------------------------

    def _progress(self, params: Json, at: float, seq: int) -> None:
        """Progress of a request in flight, or evidence that a cancelled one goes on; it moves no other clock."""
        fields = as_object(params)
        token, message = fields.get("progressToken"), fields.get("message")
        row = self.tokens.get((type(token), token)) if messages.is_request_id(token) else None
        if row is None:
            self._violation("unknown-progress-token", f"progress for the token {shown(token)}", at, seq)
            return
        if not self._reached(row, at):
            self._violation("stray-progress", f"progress of {row.id!r}, which was not sent", at, seq, row.id)
            return
        if row.state is State.IN_FLIGHT:
            self._advance(row, fields, message, at, seq)
        elif row.state is State.COMPLETED or row.state is State.FAILED:
            self._violation("stray-progress", f"progress of {row.id!r} after the response", at, seq, row.id)
        else:
            summary = message[:NAME] if isinstance(message, str) else ""
            self._late(row, Kind.PROGRESS, at, seq, summary=summary)

    def _advance(self, row: Request, fields: dict[str, Json], message: Json, at: float, seq: int) -> None:
        progress = number(fields.get("progress"))
        if progress is None:
            detail = f"progress {shown(fields.get('progress'))}"
            self._violation("malformed-progress", detail, at, seq, row.id)
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
                total=number(fields.get("total")),
                message=message[:SHOWN] if isinstance(message, str) else None,
                seq=seq,
            )
        )
        self._arm(row)
