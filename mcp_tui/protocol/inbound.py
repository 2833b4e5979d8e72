"""Handles the server's requests and notifications.

The server's requests are stored apart from ours, because ids overlap: ``notifications/cancelled`` of a server can
only name one of *its* requests (cancellation, 2024-11-05 to 2025-11-25: same direction; C-52).
"""

from __future__ import annotations

from collections import deque
from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.clocks import Clocks
from mcp_tui.protocol.core import NOBODY, Core
from mcp_tui.protocol.deadlines import Timer
from mcp_tui.protocol.error_codes import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from mcp_tui.protocol.events import Kind, RequestId
from mcp_tui.protocol.messages import (
    Json,
    NotificationFrame,
    RequestFrame,
    ResponseFrame,
    as_object,
    is_request_id,
    shown,
)
from mcp_tui.protocol.ports import Decisions
from mcp_tui.protocol.requests import RUNNING, Request, State
from mcp_tui.protocol.responses import CROSSING_SECONDS, EVENT_TEXT_CHARACTERS, METHOD_CHARACTERS, Responses
from mcp_tui.protocol.server_requests import ServerRequest
from mcp_tui.protocol.states import LISTEN, UNTOKENED, TypedId
from mcp_tui.protocol.tasks import Tasks

USER_REJECTED: Final = -1
"""The error code of a refused sampling request (sampling, 2025-11-25, "Error Handling")."""

ELICIT: Final = "elicitation/create"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"

CROSSED: Final = "sent; withdrawn meanwhile"
"""The note on a server request that was withdrawn after its answer was sent (C-51)."""

RECENT_ANSWERS: Final = 1000
"""The number of newest answered server requests whose withdrawal may still arrive."""


class Inbound:
    """The part of a ledger that handles the server's requests and notifications.

    A person answers requests for declared capabilities. Any other request is answered at once: ``ping`` with an empty
    result, the rest with *method not found* (C-69: the capability was not declared). ``waiting`` has the requests
    without an answer.
    """

    def __init__(
        self, core: Core, ledger: Decisions, clocks: Clocks, responses: Responses, tasks: Tasks
    ) -> None:
        self.waiting: dict[TypedId, ServerRequest] = {}
        self._core = core
        self._ledger = ledger
        self._clocks = clocks
        self._responses = responses
        self._tasks = tasks
        self._owed: set[TypedId] = set()
        self._sent: dict[TypedId, None] = {}  # the newest answered ones, in the order of their answers
        self._replied: deque[TypedId] = deque(maxlen=RECENT_ANSWERS)  # those that this client answered itself
        self._withdrawn_at: dict[
            TypedId, float
        ] = {}  # the newest that an observed client may still answer, with the time of the withdrawal

    def knows(self, request_id: RequestId) -> bool:
        """Whether the server sent a request with this id; answered and withdrawn ones count."""
        key = (type(request_id), request_id)
        return key in self.waiting or key in self._sent or key in self._withdrawn_at

    # -- the server's requests -------------------------------------------------------------------------------

    def receive(self, frame: RequestFrame, *, at: float, seq: int, stream: RequestId | None) -> None:
        """Handles a request of the server.

        C-70: from 2026-07-28 on a server must not send requests, so none is answered.
        """
        core, revision = self._core, self._core.negotiated.revision
        id_, method, params = frame.id, frame.method[:METHOD_CHARACTERS], as_object(frame.params)
        if revision is not None and not revision.server_requests:
            text = f"{method} as a request of the server's, never answered"
            core.violation("server-request", text, at, seq)
            return
        key, mode = (type(id_), id_), params.get("mode", "form")
        parent = self._parent_of(frame, at, stream)
        core.emit(ev.ServerRequestReceived(at=at, request_id=id_, method=method, parent=parent, seq=seq))
        if key in self.waiting:
            text = f"id {shown(id_)} is in use for {self.waiting[key].method}"
            core.violation("duplicate-request-id", text, at, seq)
        if core.observes:
            self.waiting[key] = core.requests.server_requests[-1]
            self._sent.pop(key, None)
            self._clocks.pause_while_asked(at)
        elif key in self.waiting:
            text = f"id {shown(id_)} is in use for {self.waiting[key].method}"
            self._reply(messages.error(id_, INVALID_REQUEST, text), at)
        elif frame.method == "ping":
            self._reply(messages.result(id_, {}), at)
        elif frame.method not in core.negotiated.prompts:
            text = f"{method} is not supported by this client"
            self._reply(messages.error(id_, METHOD_NOT_FOUND, text), at)
        elif frame.method == ELICIT and (not isinstance(mode, str) or mode not in core.negotiated.modes):
            text = f"elicitation mode {shown(mode)} was not declared"
            core.violation("undeclared-capability", text, at, seq)
            self._reply(messages.error(id_, INVALID_PARAMS, text), at)
        else:
            self.waiting[key] = core.requests.server_requests[-1]
            self._sent.pop(key, None)
            core.do(core.port.prompt, id_, frame.method, params, parent)
            self._clocks.pause_while_asked(at)

    def _parent_of(self, frame: RequestFrame, at: float, stream: RequestId | None) -> RequestId | None:
        """Returns the id of our request that a server request belongs to, by its task or its stream.

        On stdio it belongs to the only running request, if there is exactly one.
        """
        core = self._core
        meta = as_object(as_object(frame.params).get("_meta"))
        row = self._tasks.row_of(as_object(meta.get(RELATED_TASK)).get("taskId"))
        if row is None and stream is not None:
            row = core.current(stream)
            if row is not None and not self._ledger.reached(row, at):
                row = None
            elif row is not None and row.parent is not None and row.id in core.live:
                return row.parent
        if row is None and frame.method in core.negotiated.prompts:
            mine = [
                live.row for live in core.live.values() if live.row.state in RUNNING and not live.row.internal
            ]
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
        """Answers a waiting request with a result or, with ``code``, an error; returns false if the request no longer
        waits.
        """
        key = (type(request_id), request_id)
        if key in self._owed or key not in self.waiting:
            return False
        error = None if code is None else messages.error(request_id, code, text)
        self._answer_once(key, error or messages.result(request_id, value), at, how)
        self._clocks.pause_while_asked(at)
        return True

    def answered(self, frame: ResponseFrame, at: float, seq: int) -> None:
        """Notes the answer of the observed client to a server request."""
        core, id_ = self._core, frame.id
        key = (type(id_), id_) if is_request_id(id_) else (str, NOBODY)
        if key in self.waiting:
            asked = self.waiting.pop(key)
            self._answered(key)
            action = messages.as_text(as_object(frame.result).get("action"))
            how = action[:METHOD_CHARACTERS] if asked.method == ELICIT else ""
            code = None if frame.error is None else frame.error.code
            core.emit(ev.ServerRequestAnswered(at=at, request_id=id_, code=code, how=how, seq=seq))
            self._clocks.pause_while_asked(at)
            return
        rule, what = "answer-unknown", "which the server did not ask"
        if key in self._sent:
            rule, what = "answer-repeated", "which was answered before"
        elif key in self._withdrawn_at:
            after = at - self._withdrawn_at[key]
            if after <= CROSSING_SECONDS:
                return  # C-51: the answer and the withdrawal crossed
            rule, what = "answer-withdrawn", f"which the server took back {after:.3f} s before"
        text = f"an answer {'without an id' if id_ is messages.MISSING else f'to {shown(id_)}'}, {what}"
        core.violation(rule, text, at, seq, by=ev.Origin.CLIENT)

    def _answered(self, key: TypedId) -> None:
        self._sent[key] = None
        if len(self._sent) > RECENT_ANSWERS:
            del self._sent[next(iter(self._sent))]

    def _answer_once(self, key: TypedId, message: dict[str, Json], at: float, how: str) -> None:
        """Answers a waiting request, so that it no longer waits."""
        del self.waiting[key]
        self._answered(key)
        self._reply(message, at, how)

    def _reply(self, message: dict[str, Json], at: float, how: str = "") -> None:
        self._core.do(self._core.port.reply, message)
        identity = message["id"]
        if is_request_id(identity):
            self._replied.append((type(identity), identity))
        code = as_object(message.get("error")).get("code")
        self._core.emit(ev.ServerRequestAnswered(at=at, request_id=message["id"], code=code, how=how))

    def parent_cancelled(self, parent: RequestId) -> None:
        """Closes the prompts of a cancelled request.

        C-62: the server still waits for an answer, so one is sent after the cancel.
        """
        if self._core.observes:
            return
        for key, each in self.waiting.items():
            if each.parent == parent:
                self._owed.add(key)
                why = "the request it belongs to was cancelled"
                self._core.do(self._core.port.prompt_over, each.request_id, why)

    def send_owed(self, parent: RequestId, *, at: float) -> None:
        """Sends the owed answers of a cancelled request, after its cancel: a server that got the answer first would
        continue.
        """
        if not self._owed:
            return
        owed = [key for key, each in self.waiting.items() if each.parent == parent and key in self._owed]
        for key in owed:
            self._owed.discard(key)
            asked = self.waiting[key]
            # An elicitation has an action for this (elicitation, "Response Actions"); the others can only get an
            # error.
            if asked.method == ELICIT:
                self._answer_once(key, messages.result(asked.request_id, {"action": "cancel"}), at, "cancel")
            else:
                text = "the request that this belongs to was cancelled"
                self._answer_once(key, messages.error(asked.request_id, USER_REJECTED, text), at, "")

    def closed(self) -> None:
        """Drops all waiting requests when the connection ends."""
        for key, each in self.waiting.items():
            if key not in self._owed:
                self._core.do(self._core.port.prompt_over, each.request_id, "the connection is gone")
        self.waiting.clear()
        self._owed.clear()
        self._sent.clear()
        self._replied.clear()

    # -- notifications ---------------------------------------------------------------------------------------

    def notified(self, frame: NotificationFrame, at: float, seq: int, stream: RequestId | None) -> None:
        """Handles a notification."""
        core, params = self._core, as_object(frame.params)
        method = frame.method[:METHOD_CHARACTERS]
        if core.negotiated.modern:
            listening = as_object(params.get("_meta")).get(SUBSCRIPTION)
            if listening is not None:
                self._delivered(method, params, listening, at, seq)
        match frame.method:
            case "notifications/progress":
                self._progress(params, at, seq, stream)
            case "notifications/message":
                data = params.get("data")
                text = data if isinstance(data, str) else messages.text(data)
                level = messages.as_text(params.get("level"))[:METHOD_CHARACTERS]
                logger = messages.as_text(params.get("logger"))[:METHOD_CHARACTERS]
                core.emit(
                    ev.Log(at=at, level=level, data=text[:EVENT_TEXT_CHARACTERS], logger=logger, seq=seq)
                )
            case "notifications/cancelled":
                self._cancelled(frame, at, seq)
            case "notifications/tasks" | "notifications/tasks/status":
                core.emit(ev.Notified(at=at, method=method, seq=seq))
                self._tasks.pushed(params, size=frame.size, at=at, seq=seq)
            case _:
                core.emit(ev.Notified(at=at, method=method, about=_about(params), seq=seq))

    def _cancelled(self, frame: NotificationFrame, at: float, seq: int) -> None:
        """Handles ``notifications/cancelled``: the server withdraws its request, or ends a subscription.

        C-52: up to 2025-11-25 the server can only name one of its own requests, even if an id of ours is equal. C-56:
        from 2026-07-28 on it has no requests, and may name a subscription of ours, which that ends.
        """
        core, params = self._core, as_object(frame.params)
        named = params.get("requestId")
        if is_request_id(named) and self._withdrawn(named, messages.as_text(params.get("reason")), at, seq):
            self._clocks.pause_while_asked(at)
            return
        # C-51: the answer and the cancel crossed, and neither side broke a rule.
        crossed = is_request_id(named) and (type(named), named) in self._sent
        about = f"{shown(named)}: {CROSSED}" if crossed else ""
        core.emit(ev.Notified(at=at, method=frame.method, about=about, seq=seq))
        row = core.named(named) if is_request_id(named) and not crossed else None
        # C-52, C-55: the id may also belong to a request of the server that was answered at once.
        if row is not None and (type(named), named) in self._replied:
            row = None
        if not core.negotiated.modern:
            if row is not None and (row.open or row.cancel_at is not None):
                text = f"the server cancelled {shown(named)}, which is a request of this client"
                core.violation("server-cancelled", text, at, seq, row.id)
                core.emit(ev.CancelledByServer(at=at, id=row.id, seq=seq))
        elif row is not None and row.method == LISTEN and self._ledger.reached(row, at):
            self._responses.answer(
                row, messages.ResponseFrame(id=row.id, outline={}, size=frame.size), at, seq
            )
        else:
            text = f"the server may cancel nothing but a subscription, not {shown(named)}"
            core.violation("server-cancelled", text, at, seq, None if row is None else row.id)
            if row is not None and (row.open or row.cancel_at is not None):
                core.emit(ev.CancelledByServer(at=at, id=row.id, seq=seq))

    def _withdrawn(self, request_id: RequestId, reason: str, at: float, seq: int) -> bool:
        """Drops a request that the server withdrew; returns false if no request with this id waits.

        C-50: no answer may be sent.
        """
        key = (type(request_id), request_id)
        if self.waiting.pop(key, None) is None:
            return False
        self._core.emit(ev.ServerRequestWithdrawn(at=at, request_id=request_id, reason=reason, seq=seq))
        if self._core.observes:
            self._withdrawn_at[key] = at
            if len(self._withdrawn_at) > RECENT_ANSWERS:
                del self._withdrawn_at[next(iter(self._withdrawn_at))]
        if key not in self._owed:  # an owed answer has no open prompt
            why = f"withdrawn by the server: {reason}" if reason else "withdrawn by the server"
            self._core.do(self._core.port.prompt_over, request_id, why)
        self._owed.discard(key)
        return True

    def _delivered(self, method: str, params: dict[str, Json], listening: Json, at: float, seq: int) -> None:
        """Handles a notification of a subscription. The acknowledgement must come first (subscriptions, 2026-07-28)."""
        core = self._core
        row = core.named(listening) if is_request_id(listening) else None
        if row is None or row.method != LISTEN or not self._ledger.reached(row, at):
            text = f"{method} for the subscription {shown(listening)}, which does not exist"
            core.violation("subscription", text, at, seq)
            return
        if method == "notifications/subscriptions/acknowledged":
            if row.state is State.IN_FLIGHT:
                core.deadlines.arm(Timer.ACKNOWLEDGEMENT, row.id, None)
                agreed = messages.text(as_object(params.get("notifications")))
                core.emit(ev.Acknowledged(at=at, id=row.id, filter=agreed[:EVENT_TEXT_CHARACTERS], seq=seq))
            return
        if not row.acknowledged:
            core.violation("subscription", f"{method} before the acknowledgement", at, seq, row.id)
        if row.state in (State.IN_FLIGHT, State.CANCEL_REQUESTED, State.CANCELLED, State.LOST):
            core.emit(ev.Delivered(at=at, id=row.id, method=method, about=_about(params), seq=seq))

    # -- progress --------------------------------------------------------------------------------------------

    def _progress(self, params: dict[str, Json], at: float, seq: int, stream: RequestId | None) -> None:
        """Handles progress of a request in flight, or of a cancelled one as evidence that it continues."""
        core, token = self._core, params.get("progressToken", messages.MISSING)
        row, wire_id = self._holder(token)
        if row is None:
            row, where = self._only_call(stream, at)
            named = (
                "without a token" if token is messages.MISSING else f"under the unknown token {shown(token)}"
            )
            text = f"progress {named}{where}"
            core.violation("unknown-progress-token", text, at, seq, None if row is None else row.id)
            return
        if not messages.is_request_id(token) or core.tokens.get((type(token), token), token) != wire_id:
            text = f"the progress token {shown(token)} for {wire_id!r}"
            core.violation("progress-token-type", text, at, seq, row.id)
        over = row.state in (State.COMPLETED, State.FAILED, State.AWAITING_INPUT)
        if over or row.round_answered or wire_id != row.wire_id:
            core.violation("stray-progress", f"progress of {row.id!r} after the response", at, seq, row.id)
        elif not self._ledger.reached(row, at):
            core.violation("stray-progress", f"progress of {row.id!r}, which was not sent", at, seq, row.id)
        else:
            self._advance(row, params, at, seq)

    def _holder(self, token: Json) -> tuple[Request | None, RequestId]:
        """Returns the request that has a progress token, and the id of its round.

        Tokens are matched like ids: some servers send the token 4 back as "4" or 4.0. That is accepted if no other
        request has that token.
        """
        for each in (token, messages.integer_id(token)):
            if messages.is_request_id(each):
                wire_id = self._core.tokens.get((type(each), each), each)
                row = None if wire_id is NOBODY else self._core.named(wire_id)
                if row is not None and row.method not in UNTOKENED:
                    return row, wire_id
        return None, 0

    def _only_call(self, stream: RequestId | None, at: float) -> tuple[Request | None, str]:
        """Returns the only request that progress with an unknown token can be about, and words that give the reason.

        It is the request on whose own stream the progress arrived, or the only call that is open or watched after its
        cancel.
        """
        core = self._core
        own = None if stream is None else core.current(stream)
        if own is not None and self._ledger.reached(own, at):
            return own, f", on the stream of {own.id!r}"
        rows = [live.row for live in core.live.values() if not live.row.internal] + self._ledger.watched()
        calls = {row.id: row for row in rows if row.method not in UNTOKENED and row.sent_at is not None}
        if len(calls) != 1:
            return None, ""
        only = next(iter(calls.values()))
        return only, f", while only {only.id!r} was {'open' if only.open else 'watched'}"

    def _advance(self, row: Request, params: dict[str, Json], at: float, seq: int) -> None:
        """Handles the progress of a running, cancelled, or lost request.

        C-20: only an increasing value restarts the timeout, or a stuck server would never time out. After a cancel,
        any message shows that the server still works, regardless of its value.
        """
        core, message = self._core, messages.as_text(params.get("message"))
        late = next((each.progress for each in row.late if each.kind is Kind.PROGRESS), None)
        value, last = messages.number(params.get("progress")), row.progress if late is None else late
        flaw = ""
        if value is None:
            given = params.get("progress", messages.MISSING)
            flaw = "progress without a value" if given is messages.MISSING else f"progress {shown(given)}"
            core.violation("malformed-progress", flaw, at, seq, row.id)
        elif last is not None and value <= last:
            flaw = f"progress {value:g} after {last:g}: it must increase"
            core.violation("progress-not-increasing", flaw, at, seq, row.id)
        if params.get("total") is not None and messages.number(params["total"]) is None:
            core.violation("malformed-progress", f"total {shown(params['total'])}", at, seq, row.id)
        if row.state not in RUNNING:
            self._responses.late(
                row, Kind.PROGRESS, at, seq, summary=message[:METHOD_CHARACTERS], progress=value
            )
        elif value is not None and not flaw:
            total = messages.number(params.get("total"))
            words = message[:EVENT_TEXT_CHARACTERS] if isinstance(params.get("message"), str) else None
            core.emit(ev.Progress(at=at, id=row.id, progress=value, total=total, message=words, seq=seq))
            self._clocks.arm(row)


def _about(params: dict[str, Json]) -> str:
    """Returns the resource that a notification is about, if it names one."""
    return messages.as_text(params.get("uri"))[:EVENT_TEXT_CHARACTERS]
