"""Observes the requests of another client with the same ledger that decides for our own client.

There is one state machine. The server's messages go to :meth:`Ledger.receive` as usual. The messages of the client go
to the same ledger through this module. A request is called and written in one step. The client has decided a cancel
already. An answer to the server needs no prompt. A ledger that ``observes`` sends, answers, and polls nothing itself.
But its timeouts and a person may cancel, by the same rules and signals as for our own client.

An id may have any type that JSON-RPC permits. A request whose id was used before gets a row with another id, because
a row is never used twice. On the wire, the id means the newest request.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.core import NOBODY, name_of
from mcp_tui.protocol.deadlines import Timer
from mcp_tui.protocol.events import Cause, RequestId, Signal
from mcp_tui.protocol.inbound import ELICIT
from mcp_tui.protocol.ledger import OWN_PREFIX, Ledger
from mcp_tui.protocol.messages import Batch, Frame, Json, RequestFrame, as_object, is_request_id, shown
from mcp_tui.protocol.requests import OPEN, Request, State
from mcp_tui.protocol.responses import CROSSING_SECONDS, METHOD_CHARACTERS, answered
from mcp_tui.protocol.revisions import (
    META_CAPABILITIES,
    META_CLIENT_INFO,
    META_PROTOCOL_VERSION,
    META_SERVER_INFO,
    REVISIONS,
    UNCANCELLABLE,
    Negotiated,
    Revision,
    cancellation,
)
from mcp_tui.protocol.states import LISTEN
from mcp_tui.protocol.tasks import ROUND_METHODS, UNLIMITED

ASKED_OF_PERSONS: Final = {
    "elicitation": ELICIT,
    "sampling": "sampling/createMessage",
}
"""The methods of server requests that a person may have to answer, by the client capability that permits them."""

TIMED_OUT_ERROR: Final = -32001
"""The error code that a client gets if a timeout of the tap ended a request other than a call."""

CANCELLED_ERROR: Final = -32800
"""The error code that it gets if a person cancelled such a request."""

ENDED_BY_TAP: Final = "mcp-tui/ended"
"""The member of a result's ``_meta`` that says that the tap answered the call, and why."""

PROTOCOL_FIELDS: Final = frozenset({META_PROTOCOL_VERSION, META_CLIENT_INFO, META_CAPABILITIES})
"""The ``_meta`` members that a message of the tap copies from the client (basic, 2026-07-28, "Per-request protocol
fields").
"""

ERRANDS: Final = frozenset({"tasks/get", "tasks/result", "tasks/cancel", "tasks/update"})


def party(info: Json) -> str:
    """Returns the name and version of a client or a server, from its ``clientInfo`` or ``serverInfo``."""
    fields = as_object(info)
    names = (messages.as_text(fields.get(key))[:METHOD_CHARACTERS] for key in ("name", "version"))
    return " ".join(filter(None, names))


def _unanswered(row: Request) -> bool:
    """Whether a request has no answer; a cancelled one without a late answer counts."""
    return row.open or (row.state in (State.CANCEL_REQUESTED, State.CANCELLED) and not answered(row))


class Onlooker:
    """The actions of a ledger that observes: none, because its client acts itself.

    :class:`~mcp_tui.tap.observed_session.ObservedSession` overrides the actions of a tap.
    """

    def nothing(self, *_: Any, **__: Any) -> None:
        """Does nothing."""

    send = signal = unqueue = recall = release = reply = nothing
    prompt = prompt_over = gather = gather_over = relist = resolve = nothing


class Observer:
    """The observed client, as its messages show it.

    ``limits_of`` returns the timeouts of the tap for a tool. They do not apply to requests that no client may cancel,
    nor to subscriptions, which last as long as the client wants. ``server`` is the name of the server, empty until it
    is known.
    """

    def __init__(self, ledger: Ledger, limits: ev.Limits = UNLIMITED) -> None:
        self.ledger = ledger
        self.limits_of: Callable[[str], ev.Limits] = lambda _: limits
        self.server = ""
        self._capabilities: dict[str, Json] = {}
        self._meta: dict[str, Json] = {}
        self._connected = False
        self.missed = False
        """Whether messages of the client were not seen: it may have sent what is unknown here."""
        self._again = count(2)
        self._on_wire: dict[RequestId, RequestId] = {}
        self._before: dict[RequestId, RequestId] = {}
        """For the last id of a row: the row that the server knows by its id on the wire, which was used before."""
        self._known: dict[RequestId, RequestId] = {}
        """The rows that the server knows by ids which the client used again for calls that the guard did not send."""

    @property
    def client(self) -> str:
        """The name and version of the client; empty until they are known."""
        return self.ledger.client

    def on_wire(self, id_: RequestId) -> RequestId:
        """Returns the id on the wire for the last id of a row."""
        return self._on_wire.get(id_, id_)

    def memory(self) -> dict[str, Json]:
        """Returns the state that another observer of the same client needs, except for the open requests."""
        revision = self.ledger.negotiated.revision
        return {
            "client": self.client,
            "capabilities": self._capabilities,
            "meta": self._meta,
            "missed": self.missed,
            "revision": "" if revision is None else revision.name,
        }

    def remember(self, memory: dict[str, Json]) -> None:
        """Restores the state that :meth:`memory` of another observer returned."""
        self.ledger.client = messages.as_text(memory.get("client"))
        self._capabilities, self._meta = as_object(memory.get("capabilities")), as_object(memory.get("meta"))
        self.missed = memory.get("missed") is True
        revision = REVISIONS.get(messages.as_text(memory.get("revision")))
        if revision is not None:
            self.speak(revision)

    # -- from the client -------------------------------------------------------------------------------------

    def sent(self, frame: Frame | Batch, *, at: float, seq: int = 0) -> None:
        """Handles a message that the client wrote."""
        match frame:
            case RequestFrame():
                self._called(frame, at, seq)
            case messages.NotificationFrame(method="notifications/cancelled", params=params):
                self._cancelled(as_object(params), at, seq)
            case messages.NotificationFrame(method=method) if "cancel" in method.lower():
                text = f"{method[:METHOD_CHARACTERS]}, a cancel that this protocol does not have"
                self._violation("cancel-kind", text, at, seq)
            case messages.NotificationFrame():
                pass
            case messages.ResponseFrame():
                self.ledger.inbound.answered(frame, at, seq)
            case messages.MalformedFrame(detail=detail):
                self._violation("malformed", detail, at, seq)
            case messages.PollutionFrame(line=line):
                self._violation("malformed", f"no JSON-RPC message: {shown(line)}", at, seq)
            case Batch():
                revision = self.ledger.negotiated.revision
                if revision is None or not revision.batches:
                    self._violation("batch", "a JSON-RPC batch, which this revision does not have", at, seq)
                for each in frame.frames:
                    self.sent(each, at=at, seq=seq)

    def _violation(self, rule: str, detail: str, at: float, seq: int, id_: RequestId | None = None) -> None:
        self.ledger.violation(rule, detail, at, seq, id_, ev.Origin.CLIENT)

    def _called(self, frame: RequestFrame, at: float, seq: int) -> None:
        ledger, id_ = self.ledger, frame.id
        method, params = frame.method[:METHOD_CHARACTERS], as_object(frame.params)
        self._introduced(method, params, at, seq)
        earlier = ledger.named(id_)
        self._other_cancel(method, params, at, seq)
        # From 2026-07-28 on an answered id is free again; the id of a cancelled request never is (basic, "Requests").
        if earlier is not None and (_unanswered(earlier) or not ledger.negotiated.modern):
            used = "which is still open" if earlier.open else "which was used before"
            self._violation("request-id-reused", f"{method} with the id {shown(id_)}, {used}", at, seq)
        row = self._continued(method, params)
        if row is not None:
            ledger.other_ids[id_] = row.id
            number = len(row.round_ids) + 2
            ledger.emit(ev.Round(at=at, id=row.id, wire_id=id_, number=number, why="by the client", seq=seq))
        else:
            row = self._row(frame, method, params, at, seq, earlier)
        # Progress, "Progress Flow": tokens MUST be unique across all active requests, so two open calls may not share
        # one.
        token, given = as_object(params.get("_meta")).get("progressToken"), ledger.tokens
        given.setdefault((type(id_), id_), NOBODY)
        if is_request_id(token):
            holder = given.get((type(token), token), NOBODY)
            other = None if holder is NOBODY else ledger.named(holder)
            if other is not None and other is not row and other.open:
                text = f"the progress token {shown(token)}, which is that of {other.id!r}"
                self._violation("progress-token-reused", text, at, seq, row.id)
            given[type(token), token] = row.wire_id
        ledger.written(row.wire_id, at=at, seq=seq)

    def _other_cancel(self, method: str, params: dict[str, Json], at: float, seq: int) -> None:
        """Reports a request that tries to cancel another one: only a task is cancelled by a request."""
        named = params.get("taskId", params.get("requestId", params.get("id")))
        if "cancel" not in method.lower() or self.ledger.tasks.row_of(named) is not None:
            return
        rows = (live.row for live in self.ledger.live.values())
        if (row := next((row for row in rows if named in (row.id, str(row.id))), None)) is not None:
            text = f"{method} for {row.id!r}, which is not a task"
            self._violation("cancel-kind", text, at, seq, row.id)

    def _continued(self, method: str, params: dict[str, Json]) -> Request | None:
        """Returns the request that waits for input and continues by a message with its state (multi round-trip requests)."""
        if method not in ROUND_METHODS or not ("inputResponses" in params or "requestState" in params):
            return None
        for live in self.ledger.live.values():
            row = live.row
            if row.state is not State.AWAITING_INPUT or row.method != method:
                continue
            if row.name == name_of(method, params) and live.request_state == params.get("requestState"):
                return row
        return None

    def _row(
        self,
        frame: RequestFrame,
        method: str,
        params: dict[str, Json],
        at: float,
        seq: int,
        earlier: Request | None,
    ) -> Request:
        ledger, id_ = self.ledger, frame.id
        owner = ledger.tasks.row_of(params.get("taskId")) if method in ERRANDS else None
        if owner is not None and method == "tasks/cancel" and owner.state is State.TASK:
            self._gave_up(owner, "", at)
        if earlier is not None:
            own = next(name for number in self._again if ledger.named(name := f"{id_} ({number})") is None)
            ledger.other_ids[id_] = own
            self._on_wire[own] = id_
            self._before[own] = self._known.pop(id_, earlier.wire_id)
            id_ = own
        unlimited = owner is not None or method == LISTEN or method in UNCANCELLABLE
        live = ledger.enter(
            id_,
            method,
            params,
            limits=UNLIMITED if unlimited else self.limits_of(name_of(method, params)),
            internal=owner is not None,
            parent=None if owner is None else owner.id,
            at=at,
            seq=seq,
        )
        return live.row

    def _introduced(self, method: str, params: dict[str, Json], at: float, seq: int) -> None:
        """Notes the client's name, capabilities, and revision, as far as a request has them."""
        meta = as_object(params.get("_meta"))
        modern = REVISIONS.get(messages.as_text(meta.get(META_PROTOCOL_VERSION)))
        if method == "initialize":
            asked = REVISIONS.get(messages.as_text(params.get("protocolVersion")))
            if asked is not None and asked.modern:
                text = f"initialize asks for {asked.name}, which has no handshake"
                self._violation("initialize-revision", text, at, seq)
            self.ledger.client = party(params.get("clientInfo")) or self.client
            self._capabilities = as_object(params.get("capabilities"))
            self._connected = False
        elif modern is not None and modern.modern:
            self._meta = {key: value for key, value in meta.items() if key in PROTOCOL_FIELDS}
            self.ledger.client = party(meta.get(META_CLIENT_INFO)) or self.client
            # The probe may offer a revision that the server does not support.
            if method != "server/discover" and self.ledger.negotiated.revision is None:
                self.speak(modern)

    # -- cancels of the client -------------------------------------------------------------------------------

    def _cancelled(self, params: dict[str, Json], at: float, seq: int) -> None:
        """Handles ``notifications/cancelled``. It must name a request in progress, once (cancellation, every revision)."""
        named, ledger = params.get("requestId", messages.MISSING), self.ledger
        row = ledger.named(named) if is_request_id(named) else None
        if row is None and ledger.tasks.row_of(named) is not None:
            text = f"notifications/cancelled for the task {shown(named)} instead of tasks/cancel"
            self._violation("cancel-of-a-task", text, at, seq)
            return
        if row is None and is_request_id(named) and ledger.inbound.knows(named):
            text = f"a cancel of {shown(named)}, which the server asked and only the server may cancel"
            self._violation("cancel-direction", text, at, seq)
            return
        if row is None:
            what = (
                "without a request id"
                if named is messages.MISSING
                else f"of {shown(named)}, which it did not send"
            )
            if not (self.missed and is_request_id(named)):
                self._violation("cancel-unknown", f"a cancel {what}", at, seq)
            return
        # Streamable HTTP, 2026-07-28, "Cancellation": closing the stream is the only cancel.
        if ledger.negotiated.modern and ledger.negotiated.transport == "http":
            text = f"notifications/cancelled for {row.id!r} instead of closing its stream"
            self._violation("cancel-of-a-stream", text, at, seq, row.id)
            return
        if row.state is State.TASK:
            text = f"notifications/cancelled for {row.id!r} instead of tasks/cancel"
            self._violation("cancel-of-a-task", text, at, seq, row.id)
            return
        if row.cause is Cause.CLIENT:
            self._violation("cancel-repeated", f"a second cancel of {row.id!r}", at, seq, row.id)
            return
        if row.state not in OPEN:
            since = at - (row.ended_at or at)
            # Otherwise the cancel crossed the answer, or the tap had answered: neither breaks a rule. The server may still
            # run a lost request: its stream broke, or the tap did not see its answer.
            if row.cause is None and row.state is not State.LOST and since > CROSSING_SECONDS:
                text = f"a cancel of {row.id!r}, which was over {since:.3f} s before"
                self._violation("cancel-over", text, at, seq, row.id)
            return
        if row.method in UNCANCELLABLE:
            self._violation("cancel-initialize", "initialize must not be cancelled", at, seq, row.id)
        self._gave_up(row, messages.as_text(params.get("reason")), at)
        ledger.signalled(row.wire_id, Signal.NOTIFICATION, at=at, seq=seq)

    def left(self, id_: RequestId, *, at: float) -> None:
        """Notes that the client closed the stream of a request over HTTP, which cancels it from 2026-07-28 on."""
        row, ledger = self.ledger.current(id_), self.ledger
        way = cancellation(ledger.negotiated.revision, ledger.negotiated.transport, row.method if row else "")
        if (
            row is not None
            and way.signal is Signal.STREAM_CLOSED
            and row.state in OPEN
            and not row.round_answered
        ):
            self._gave_up(row, "", at)
            ledger.signalled(id_, Signal.STREAM_CLOSED, at=at)
        else:
            ledger.stream_ended(id_, "the client closed its stream", at=at)

    def _gave_up(self, row: Request, reason: str, at: float) -> None:
        self.ledger.emit(ev.CancelRequested(at=at, id=row.id, cause=Cause.CLIENT, reason=reason))
        self.ledger.deadlines.arm(Timer.LIMIT, row.id, None)

    def answer_for(
        self, row: Request, cause: Cause, reason: str, *, records: bool, continues: bool = False
    ) -> dict[str, Json] | None:
        """Returns the answer to a client for a request that the tap ended; ``None`` if the client waits for no answer.

        The text tells a reader, often a model, what to know before sending the call again. A call gets the result of
        a failed tool, which reaches the model: a JSON-RPC error makes some clients repeat the call. ``records``:
        there is a journal or a recording. ``continues``: the server gets no cancel, and a guard waits for its answer.
        """
        own = str(row.id).startswith(OWN_PREFIX)
        if row.round_sent_at is None or row.round_answered or row.task_id or own:
            return None
        by_person = cause is Cause.USER
        text = f"cancelled by a person: {reason}" if by_person else f"{reason}, a limit of mcp-tui tap"
        code = CANCELLED_ERROR if by_person else TIMED_OUT_ERROR
        is_call = row.method == "tools/call"
        what = "call" if is_call else "request"
        way = cancellation(self.ledger.negotiated.revision, self.ledger.negotiated.transport, row.method)
        is_kept = records and way.signal is not Signal.STREAM_CLOSED
        parts = [
            text.removesuffix(": ").removesuffix("."),
            f"The server may still be running the {what}",
            f"If its answer comes, it is {'kept in the recording of mcp-tui' if is_kept else 'not kept'}",
        ]
        if continues:
            parts[1:] = [
                "The call was not cancelled, and the server may still be running it",
                "Send the same call again to get its answer: it is not run twice",
            ]
        elif is_call:
            parts.append("Sending the call again may do it twice")
        data: dict[str, Json] = {"cause": cause.value, "mayStillBeRunning": True, "answerIsKept": is_kept}
        id_, message = self.on_wire(row.wire_id), ". ".join(parts) + "."
        if not is_call or row.as_task:
            return messages.error(id_, code, message, data)
        made = messages.tool_error(message, {ENDED_BY_TAP: data}, modern=self.ledger.negotiated.modern)
        return messages.result(id_, made)

    def token_of(self, row: Request) -> RequestId | None:
        """Returns the progress token that the client chose for a request."""
        return next((each for (_, each), wire in self.ledger.tokens.items() if wire == row.wire_id), None)

    # -- from the server -------------------------------------------------------------------------------------

    def guarded(self, row: Request) -> None:
        """Notes that the guard decided about a call: the server does not know one that was not sent."""
        if (before := self._before.get(row.wire_id)) is not None:
            wire = self.on_wire(row.wire_id)
            self._known.pop(wire, None)
            if row.withheld_by_guard:
                self._known[wire] = before

    def received(
        self,
        frame: Frame | Batch,
        *,
        at: float,
        seq: int = 0,
        stream: RequestId | None = None,
        by_guard: bool = False,
    ) -> None:
        """Handles a message that the server wrote, or an answer of the guard.

        ``stream`` is the id of the request whose own HTTP stream carried it.
        """
        names, known = self.ledger.other_ids, {} if by_guard else self._known
        newest = {id_: names[id_] for id_ in known}
        names.update(known)
        self.ledger.receive(frame, at=at, seq=seq, stream=stream)
        names.update(newest)
        for each in frame.frames if isinstance(frame, Batch) else (frame,):
            if not self._connected and isinstance(each, messages.ResponseFrame) and each.error is None:
                self._answered(each, at, seq)

    def _answered(self, frame: messages.ResponseFrame, at: float, seq: int) -> None:
        """Notes the revision and the server's name from the answer to a handshake (lifecycle; discovery, 2026-07-28)."""
        row, _ = self.ledger.responses.find(frame.id)
        if row is None:
            return
        result = as_object(frame.result)
        revision = self.ledger.negotiated.revision
        if row.method == "initialize":
            revision = REVISIONS.get(messages.as_text(result.get("protocolVersion")))
        elif row.method == "server/discover":
            offered = messages.texts_in(result.get("supportedVersions"))
            revision = next(
                (each for name, each in REVISIONS.items() if each.modern and name in offered), None
            )
        if revision is None or (row.method != "initialize" and not revision.modern):
            return
        self.speak(revision, as_object(result.get("capabilities")))
        self._connected = True
        info = as_object(result.get("serverInfo") or as_object(result.get("_meta")).get(META_SERVER_INFO))
        self.server = messages.as_text(info.get("name"))[:METHOD_CHARACTERS]
        self.ledger.emit(
            ev.Connected(
                at=at,
                transport=self.ledger.negotiated.transport,
                revision=revision.name,
                server=party(info),
                client=self.client,
                seq=seq,
            )
        )

    def speak(self, revision: Revision, offered: dict[str, Json] | None = None) -> None:
        """Notes the revision that both sides use from now on, and the server's capabilities."""
        tasks = as_object(as_object(offered).get("tasks"))
        asked = frozenset(method for name, method in ASKED_OF_PERSONS.items() if name in self._capabilities)
        agreed = Negotiated(
            transport=self.ledger.negotiated.transport,
            revision=revision,
            meta=self._meta if revision.modern else {},
            cancels_tasks=revision.modern or "cancel" in tasks,
            prompts=asked,
        )
        self.ledger.negotiated = agreed
