"""What the server's notifications mean for our requests: progress, subscriptions, tasks, and its own cancels."""

from __future__ import annotations

from typing import Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.deadlines import Timer
from mcp_tui.protocol.events import Kind, RequestId
from mcp_tui.protocol.inbound import Inbound
from mcp_tui.protocol.messages import (
    Json,
    NotificationFrame,
    ResponseFrame,
    as_object,
    as_text,
    number,
    shown,
)
from mcp_tui.protocol.ports import Core
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.responses import NAME, SHOWN, Responses
from mcp_tui.protocol.states import LISTEN
from mcp_tui.protocol.tasks import Tasks

UNTOKENED: Final = frozenset({"initialize", "ping"})
"""Requests that carry no progress token."""

SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"


class Notifications:
    """The part of a ledger that takes in notifications, and knows whose progress token is whose."""

    def __init__(self, core: Core, responses: Responses, tasks: Tasks, inbound: Inbound) -> None:
        self._core = core
        self._responses = responses
        self._tasks = tasks
        self._inbound = inbound
        self._tokens: dict[tuple[type, RequestId], RequestId | None] = {}
        """The id of the round that a progress token belongs to; of the usual one, which is that id itself, nothing is kept.

        ``None`` stands for the id of a round that has another token.
        """

    def with_meta(self, params: Json, row: Request) -> Json:
        """The parameters of a request's round with what every request says of its client, and with a progress token."""
        if params is not None and not isinstance(params, dict):
            return params
        given = as_object(params)
        meta = {**self._core.negotiated.meta, **as_object(given.get("_meta"))}
        if row.method not in UNTOKENED:
            self._token_for(row, meta)
        if not meta:
            return given or None
        return {**given, "_meta": meta}

    def _token_for(self, row: Request, meta: dict[str, Json]) -> None:
        """Put the progress token of a request's round into its ``_meta``, unless that brings one along."""
        wire = row.wire_id
        known = self._tokens.get((int, wire))
        taken = known is not None and self._core.named(known) is not row  # a caller brought it for another
        token = meta.setdefault("progressToken", f"mcp-tui-{wire}" if taken else wire)
        usual = type(token) is int and token == wire
        if messages.is_request_id(token) and not usual:
            self._tokens[type(token), token] = wire
        if usual:
            self._tokens.pop((int, wire), None)
        else:
            self._tokens.setdefault((int, wire), None)

    def _round_of(self, token: Json) -> RequestId | None:
        """The id of the round that a progress token belongs to."""
        if not messages.is_request_id(token):
            return None
        wire = self._tokens.get((type(token), token), token if type(token) is int else None)
        row = None if wire is None else self._core.named(wire)
        return None if row is None or row.method in UNTOKENED else wire

    def receive(self, frame: NotificationFrame, at: float, seq: int) -> None:
        """Take in a notification."""
        core, params = self._core, as_object(frame.params)
        if core.negotiated.modern:
            listening = as_object(params.get("_meta")).get(SUBSCRIPTION)
            if listening is not None:
                self._delivered(frame, listening, at, seq)
        match frame.method:
            case "notifications/progress":
                self._progress(params, at, seq)
            case "notifications/message":
                self._log(params, at, seq)
            case "notifications/cancelled":
                self._cancelled(frame, at, seq)
            case "notifications/tasks" | "notifications/tasks/status":
                core.emit(ev.Notified(at=at, method=frame.method, seq=seq))
                self._tasks.pushed(params, size=frame.size, at=at, seq=seq)
            case _:
                about = _about(params)
                core.emit(ev.Notified(at=at, method=frame.method[:NAME], about=about, seq=seq))

    def _log(self, params: dict[str, Json], at: float, seq: int) -> None:
        data = params.get("data")
        text = data if isinstance(data, str) else messages.text(data)
        self._core.emit(
            ev.Log(
                at=at,
                level=as_text(params.get("level"))[:NAME],
                data=text[:SHOWN],
                logger=as_text(params.get("logger"))[:NAME],
                seq=seq,
            )
        )

    def _cancelled(self, frame: NotificationFrame, at: float, seq: int) -> None:
        """The server takes back a request of its own, or ends a subscription of ours.

        C-52: up to 2025-11-25 it can only name one of its own requests, whatever ids of ours are alike. C-56: from
        2026-07-28 on it has no requests, and may name a subscription of ours, which ends by that.
        """
        core, inbound = self._core, self._inbound
        if inbound.cancelled(frame, at=at, seq=seq):
            core.pause_while_asked(at)
            return
        core.emit(ev.Notified(at=at, method=frame.method, about=inbound.crossed(frame), seq=seq))
        if not core.negotiated.modern:
            return
        named = as_object(frame.params).get("requestId")
        row = core.named(named) if messages.is_request_id(named) else None
        if row is not None and row.method == LISTEN and core.reached(row, at):
            self._responses.answer(row, ResponseFrame(id=row.id, result={}, size=frame.size), at, seq)
        else:
            text = f"the server may cancel nothing but a subscription, not {shown(named)}"
            core.violation("server-cancelled", text, at, seq)

    def _delivered(self, frame: NotificationFrame, listening: Json, at: float, seq: int) -> None:
        """A notification on a subscription: its acknowledgement must come first (subscriptions, 2026-07-28)."""
        core = self._core
        row = core.named(listening) if messages.is_request_id(listening) else None
        if row is None or row.method != LISTEN or not core.reached(row, at):
            text = f"{frame.method[:NAME]} for the subscription {shown(listening)}, which does not exist"
            core.violation("subscription", text, at, seq)
            return
        params = as_object(frame.params)
        if frame.method == "notifications/subscriptions/acknowledged":
            if row.state is State.IN_FLIGHT:
                core.deadlines.arm(Timer.ACKNOWLEDGEMENT, row.id, None)
                agreed = messages.text(as_object(params.get("notifications")))
                core.emit(ev.Acknowledged(at=at, id=row.id, filter=agreed[:SHOWN], seq=seq))
            return
        if not row.acknowledged:
            text = f"{frame.method[:NAME]} before the acknowledgement"
            core.violation("subscription", text, at, seq, row.id)
        if row.state in (State.IN_FLIGHT, State.CANCEL_REQUESTED, State.CANCELLED, State.LOST):
            method, about = frame.method[:NAME], _about(params)
            core.emit(ev.Delivered(at=at, id=row.id, method=method, about=about, seq=seq))

    # -- progress --------------------------------------------------------------------------------------------

    def _progress(self, params: dict[str, Json], at: float, seq: int) -> None:
        """Progress of a request in flight, or evidence that a cancelled one goes on; it moves no other clock."""
        core = self._core
        token, message = params.get("progressToken"), params.get("message")
        wire = self._round_of(token)
        row = None if wire is None else core.named(wire)
        if row is None:
            core.violation("unknown-progress-token", f"progress for the token {shown(token)}", at, seq)
            return
        if row.round_answered or wire != row.wire_id:
            core.violation("stray-progress", f"progress of {row.id!r} after the response", at, seq, row.id)
        elif not core.reached(row, at):
            core.violation("stray-progress", f"progress of {row.id!r}, which was not sent", at, seq, row.id)
        elif row.state is State.IN_FLIGHT or row.state is State.TASK:
            self._advance(row, params, message, at, seq)
        elif row.state in (State.COMPLETED, State.FAILED, State.AWAITING_INPUT):
            core.violation("stray-progress", f"progress of {row.id!r} after the response", at, seq, row.id)
        else:
            self._responses.late(row, Kind.PROGRESS, at, seq, summary=as_text(message)[:NAME])

    def _advance(self, row: Request, params: dict[str, Json], message: Json, at: float, seq: int) -> None:
        """Take in the progress of a request that runs.

        C-20: only a value that increases sets the idle clock back, or a server that is stuck would never time out.
        """
        core, progress = self._core, number(params.get("progress"))
        if progress is None:
            detail = f"progress {shown(params.get('progress'))}"
            core.violation("malformed-progress", detail, at, seq, row.id)
            return
        if row.progress is not None and progress <= row.progress:
            text = f"progress {progress:g} after {row.progress:g}: it must increase"
            core.violation("progress-not-increasing", text, at, seq, row.id)
            return
        core.emit(
            ev.Progress(
                at=at,
                id=row.id,
                progress=progress,
                total=number(params.get("total")),
                message=message[:SHOWN] if isinstance(message, str) else None,
                seq=seq,
            )
        )
        core.arm(row)


def _about(params: dict[str, Json]) -> str:
    """The resource that a notification is about, where there is one."""
    return as_text(params.get("uri"))[:SHOWN]
