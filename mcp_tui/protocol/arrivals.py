"""What comes in: frames of every kind, and what the server's notifications mean for our requests."""

from __future__ import annotations

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.answers import SHOWN, Answers
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
from mcp_tui.protocol.requests import RUNNING, Request, State
from mcp_tui.protocol.states import LISTEN

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


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
                self._request(frame, at, seq, stream)
            case MalformedFrame():
                self._malformed(frame, at, seq, stream)
            case PollutionFrame():
                self._pollution(frame, at, seq, stream)
            case Batch():
                if self.revision is None or not self.revision.batches:
                    self._violation("batch", "a JSON-RPC batch, which this revision does not have", at, seq)
                for each in frame.frames:
                    self._element(each, at, seq, stream)

    def _element(self, frame: Frame, at: float, seq: int, stream: RequestId | None) -> None:
        """Take in one frame of a batch: a response goes to the request that it names, whosever stream it is (C-43)."""
        own = None if stream is None else self._named(stream)
        if own is not None and isinstance(frame, ResponseFrame):
            row, _ = self._find(frame.id)
            if row is not None and row is not own:
                detail = f"the response to {row.id!r} came on the stream of {own.id!r}"
                self._violation("foreign-stream", detail, at, seq, row.id)
                stream = None
        self.receive(frame, at=at, seq=seq, stream=stream)

    def _malformed(self, frame: MalformedFrame, at: float, seq: int, stream: RequestId | None) -> None:
        row = self._spoiler(frame, stream)
        if row is None:
            named = f"{frame.method[:NAME]}: " if frame.method else ""
            own = self._own(stream)
            self._violation("malformed", named + frame.detail, at, seq, None if own is None else own.id)
            return
        self._violation("malformed-response", frame.detail, at, seq, row.id)
        if row.round_ids and self._earlier(row, frame.id, stream):
            self._again(row, Kind.ERROR, at, seq)
            return
        self._spoilt(row, f"malformed response: {frame.detail}", "malformed", frame.size, at, seq)

    def _pollution(self, frame: PollutionFrame, at: float, seq: int, stream: RequestId | None) -> None:
        row = self._own(stream)
        if row is None:
            self._emit(ev.Pollution(at=at, line=frame.line, seq=seq))
            return
        # one event of a stream may be anything; the response may still follow
        self._violation("malformed", f"no JSON-RPC message: {shown(frame.line)}", at, seq, row.id)

    # -- requests and notifications of the server's ----------------------------------------------------------

    def _request(self, frame: RequestFrame, at: float, seq: int, stream: RequestId | None) -> None:
        if self.revision is not None and not self.revision.server_requests:
            text = f"{frame.method[:NAME]} as a request of the server's, never answered"
            self._violation("server-request", text, at, seq)
            return
        parent = self._parent_of(frame, at, stream)
        if self.inbound.asked(frame, at=at, seq=seq, parent=parent):
            self._clocks_stand(at)

    def _parent_of(self, frame: RequestFrame, at: float, stream: RequestId | None) -> RequestId | None:
        """The request of ours that one of the server's belongs to: by its task, or by the stream that it came on.

        A pipe tells neither; there a prompt is taken to belong to the only request that runs, if it is the only one.
        """
        meta = as_object(as_object(frame.params).get("_meta"))
        task_id = as_object(meta.get("io.modelcontextprotocol/related-task")).get("taskId")
        row = self._tasks.get(task_id) if isinstance(task_id, str) else None
        if row is None and stream is not None:
            row = self._current(stream)
            row = self._errands.get(row.id, row) if row is not None and self._reached(row, at) else None
        if row is None and frame.method in self.inbound.prompts:
            mine = [each for each in self._live.values() if each.state in RUNNING and not each.internal]
            row = mine[0] if len(mine) == 1 else None
        return None if row is None else row.id

    def answer(
        self,
        request_id: RequestId,
        value: Json = None,
        *,
        code: int | None = None,
        text: str = "",
        how: str = "",
        at: float,
    ) -> bool:
        """Answer a request of the server's, with a result or, where ``code`` is given, an error.

        False when it waits for none any more: it was withdrawn, or answered.
        """
        if not self.inbound.answer(request_id, value, code=code, text=text, how=how, at=at):
            return False
        self._clocks_stand(at)
        return True

    def _notification(self, frame: NotificationFrame, at: float, seq: int) -> None:
        if self.modern:
            listening = as_object(as_object(frame.params).get("_meta")).get(SUBSCRIPTION)
            if listening is not None:
                self._delivered(frame, listening, at, seq)
        match frame.method:
            case "notifications/progress":
                self._progress(frame.params, at, seq)
            case "notifications/message":
                self._log(frame.params, at, seq)
            case "notifications/cancelled":
                self._cancelled(frame, at, seq)
            case "notifications/tasks" | "notifications/tasks/status":
                self._emit(ev.Notified(at=at, method=frame.method, seq=seq))
                self.pushed(as_object(frame.params), size=frame.size, at=at, seq=seq)
            case _:
                uri = as_object(frame.params).get("uri")
                about = uri[:SHOWN] if isinstance(uri, str) else ""
                self._emit(ev.Notified(at=at, method=frame.method[:NAME], about=about, seq=seq))

    def _cancelled(self, frame: NotificationFrame, at: float, seq: int) -> None:
        """The server takes back a request of its own or, from 2026-07-28 on, ends a subscription of ours (C-56)."""
        if self.inbound.cancelled(frame, at=at, seq=seq):
            self._clocks_stand(at)
            return
        self._emit(ev.Notified(at=at, method=frame.method, about=self.inbound.crossed(frame), seq=seq))
        if not self.modern:
            return
        named = as_object(frame.params).get("requestId")
        row = self._named(named) if messages.is_request_id(named) else None
        if row is not None and row.method == LISTEN and self._reached(row, at):
            self._answer(row, ResponseFrame(id=row.id, result={}, size=frame.size), at, seq)
        else:
            text = f"the server may cancel nothing but a subscription, not {shown(named)}"
            self._violation("server-cancelled", text, at, seq)

    def _delivered(self, frame: NotificationFrame, listening: Json, at: float, seq: int) -> None:
        """A notification on a subscription: its acknowledgement must come first (subscriptions, 2026-07-28)."""
        row = self._named(listening) if messages.is_request_id(listening) else None
        if row is None or row.method != LISTEN or not self._reached(row, at):
            text = f"{frame.method[:NAME]} for the subscription {shown(listening)}, which there is none of"
            self._violation("subscription", text, at, seq)
            return
        params = as_object(frame.params)
        if frame.method == "notifications/subscriptions/acknowledged":
            if row.state is State.IN_FLIGHT:
                self.deadlines.arm(_ack_key(row), None)
                agreed = messages.text(as_object(params.get("notifications")))
                self._emit(ev.Acknowledged(at=at, id=row.id, filter=agreed[:SHOWN], seq=seq))
            return
        if not row.acknowledged:
            text = f"{frame.method[:NAME]} before the acknowledgement"
            self._violation("subscription", text, at, seq, row.id)
        if row.state in (State.IN_FLIGHT, State.CANCEL_REQUESTED, State.CANCELLED, State.LOST):
            about = params.get("uri")
            about = about[:SHOWN] if isinstance(about, str) else ""
            self._emit(ev.Delivered(at=at, id=row.id, method=frame.method[:NAME], about=about, seq=seq))

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
        earlier = bool(row.round_ids) and self._round_tokens.get(row.id) != (type(token), token)
        if row.round_answered or earlier:
            self._violation("stray-progress", f"progress of {row.id!r} after the response", at, seq, row.id)
            return
        if not self._reached(row, at):
            self._violation("stray-progress", f"progress of {row.id!r}, which was not sent", at, seq, row.id)
            return
        if row.state is State.IN_FLIGHT or row.state is State.TASK:
            self._advance(row, fields, message, at, seq)
        elif row.state in (State.COMPLETED, State.FAILED, State.AWAITING_INPUT):
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


def _ack_key(row: Request) -> str:
    return f"ack:{row.id}"
