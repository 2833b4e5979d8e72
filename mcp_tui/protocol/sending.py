"""Requests on their way out: ids, progress tokens and what every message says of its client."""

from __future__ import annotations

from typing import Any, Final

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.clocks import Clocks
from mcp_tui.protocol.effects import Send
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.requests import Request

UNTOKENED: Final = frozenset({"initialize", "ping"})
"""Requests that carry no progress token."""

ROUNDS: Final = frozenset({"tools/call", "prompts/get", "resources/read"})
"""What a server may ask for input on (multi round-trip requests, 2026-07-28, "Supported Requests")."""


class Sending(Clocks):
    """The part of a ledger that makes messages of requests, and more than one where more are needed."""

    def call(
        self,
        method: str,
        params: Json = None,
        *,
        limits: ev.Limits = ev.DEFAULT_LIMITS,
        internal: bool = False,
        parent: RequestId | None = None,
        at: float,
    ) -> RequestId:
        """Enter a request and have it sent. Its progress token is its id, unless ``params`` brings one along.

        ``parent`` is the request for whose sake the client makes this one.
        """
        id_ = self._new_id()
        name = _name(method, params)
        as_task = method == "tools/call" and not self.modern and "task" in messages.as_object(params)
        self._emit(
            ev.Called(
                at=at,
                id=id_,
                method=method,
                name=name,
                limits=limits,
                internal=internal,
                parent=parent,
                as_task=as_task,
            )
        )
        row = self._live[id_] = self.book.order[-1]
        self._arm(row)
        if self.modern and method in ROUNDS:
            self._asked_for[id_] = messages.as_object(params)
        self._dispatch(row, params)
        return id_

    def _round(self, row: Request, params: Json, why: str, at: float, *, held: bool = False) -> None:
        """Send a request once more, as another round of its row; ``held`` waits for :meth:`resend`."""
        id_ = self._new_id()
        self._wires[id_] = row
        self._emit(ev.Round(at=at, id=row.id, wire_id=id_, number=len(row.round_ids) + 2, why=why))
        self._arm(row)
        if held:
            self._held[row.id] = params
        else:
            self._dispatch(row, params)

    def resend(self, id: RequestId) -> bool:
        """Let a held round go; false where none waits."""
        row = self._live.get(id)
        if row is None or id not in self._held:
            return False
        self._dispatch(row, self._held.pop(id))
        return True

    def _new_id(self) -> int:
        id_ = self._next_id
        self._next_id += 1
        return id_

    def _dispatch(self, row: Request, params: Json) -> None:
        message = messages.request(row.wire_id, row.method, self._with_meta(params, row))
        self._emit(Send(id=row.wire_id, method=row.method, name=row.name, message=message))

    def _with_meta(self, params: Json, row: Request) -> Json:
        if params is not None and not isinstance(params, dict):
            return params
        given = messages.as_object(params)
        meta = {**self.meta, **messages.as_object(given.get("_meta"))}
        if row.method not in UNTOKENED:
            wire = row.wire_id
            taken = self.tokens.get((int, wire)) not in (
                None,
                row,
            )  # a caller brought it along for another request
            token = meta.setdefault("progressToken", f"mcp-tui-{wire}" if taken else wire)
            if messages.is_request_id(token):
                self.tokens[type(token), token] = row
                if row.round_ids:
                    self._round_tokens[row.id] = type(token), token
        if not meta:
            return given or None
        return {**given, "_meta": meta}


def _name(method: str, params: Any) -> str:
    fields = messages.as_object(params)
    if method.startswith("tasks/"):
        value = fields.get("taskId")
    else:
        value = fields.get("uri" if method.startswith("resources/") else "name")
    return value if isinstance(value, str) else ""
