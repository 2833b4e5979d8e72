"""The other direction: requests of the server's, and how it takes them back.

Kept apart from ours in every way, because ids overlap: a ``notifications/cancelled`` from the server can only name
one of *its* requests (cancellation, 2024-11-05 to 2025-11-25: same direction; C-52).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.messages import Json, NotificationFrame, RequestFrame, as_object, as_text, is_request_id
from mcp_tui.protocol.ports import Core
from mcp_tui.protocol.requests import RUNNING
from mcp_tui.protocol.responses import NAME
from mcp_tui.protocol.tasks import Tasks

METHOD_NOT_FOUND: Final = -32601
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
REJECTED: Final = -1
"""The error with which a person's refusal of sampling is told (sampling, 2025-11-25, "Error Handling")."""

ELICIT: Final = "elicitation/create"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"

CROSSED: Final = "sent; withdrawn meanwhile"
"""What is said of a request of the server's whose cancel came after its answer had left (C-51)."""


class Waiting(NamedTuple):
    """A request of the server's that waits for a person since ``at``, and the request of ours that it belongs to."""

    frame: RequestFrame
    parent: ev.RequestId | None
    at: float


class Inbound:
    """The part of a ledger that keeps the server's requests which have no answer yet.

    A person answers those that were offered; every other is answered at once: ``ping`` with an empty result, the rest with
    *method not found* (C-69: a capability that was not declared may not be used). ``waiting`` has each with the request
    of ours that it belongs to, where that is known.
    """

    def __init__(self, core: Core, tasks: Tasks) -> None:
        self.waiting: dict[tuple[type, ev.RequestId], Waiting] = {}
        self._core = core
        self._tasks = tasks
        self._owed: set[tuple[type, ev.RequestId]] = set()
        self._sent: set[tuple[type, ev.RequestId]] = set()

    def receive(self, frame: RequestFrame, *, at: float, seq: int, stream: ev.RequestId | None) -> None:
        """Take in a request of the server's.

        C-70: from 2026-07-28 on a server has none to send, so it is never answered.
        """
        core, revision = self._core, self._core.negotiated.revision
        if revision is not None and not revision.server_requests:
            text = f"{frame.method[:NAME]} as a request of the server's, never answered"
            core.violation("server-request", text, at, seq)
        elif self._waits(frame, at=at, seq=seq, parent=self._parent_of(frame, at, stream)):
            core.pause_while_asked(at)

    def _parent_of(self, frame: RequestFrame, at: float, stream: ev.RequestId | None) -> ev.RequestId | None:
        """The request of ours that one of the server's belongs to: by its task, or by the stream that it came on.

        A pipe tells neither; there a prompt is taken to belong to the only request that runs, if it is the only one.
        """
        core = self._core
        meta = as_object(as_object(frame.params).get("_meta"))
        row = self._tasks.row_of(as_object(meta.get(RELATED_TASK)).get("taskId"))
        if row is None and stream is not None:
            row = core.current(stream)
            if row is not None and not core.reached(row, at):
                row = None
            elif row is not None and row.parent is not None and row.id in core.live:
                return row.parent
        if row is None and frame.method in core.negotiated.prompts:
            mine = [
                live.row for live in core.live.values() if live.row.state in RUNNING and not live.row.internal
            ]
            row = mine[0] if len(mine) == 1 else None
        return None if row is None else row.id

    def _waits(self, frame: RequestFrame, *, at: float, seq: int, parent: ev.RequestId | None) -> bool:
        """Answer a request of the server's at once, or have a person asked: whether it waits for one now."""
        key = (type(frame.id), frame.id)
        method = frame.method[:NAME]
        params = as_object(frame.params)
        self._core.emit(
            ev.ServerRequestReceived(at=at, request_id=frame.id, method=method, parent=parent, seq=seq)
        )
        if key in self.waiting:
            detail = f"id {messages.shown(frame.id)} is in use for {self.waiting[key].frame.method[:NAME]}"
            self._core.violation("duplicate-request-id", detail, at, seq)
            self._reply(messages.error(frame.id, INVALID_REQUEST, detail), frame.id, INVALID_REQUEST, at)
        elif frame.method == "ping":
            self._reply(messages.result(frame.id, {}), frame.id, None, at)
        elif frame.method in self._core.negotiated.prompts:
            mode = params.get("mode", "form")
            if frame.method == ELICIT and mode not in self._core.negotiated.modes:
                text = f"elicitation mode {messages.shown(mode)} was not declared"
                self._core.violation("undeclared-capability", text, at, seq)
                self._reply(messages.error(frame.id, INVALID_PARAMS, text), frame.id, INVALID_PARAMS, at)
                return False
            self.waiting[key] = Waiting(frame, parent, at)
            self._sent.discard(key)
            self._core.do(self._core.port.prompt, frame.id, frame.method, params, parent)
            return True
        else:
            text = f"{method} is not supported by this client"
            self._reply(messages.error(frame.id, METHOD_NOT_FOUND, text), frame.id, METHOD_NOT_FOUND, at)
        return False

    def answer(
        self,
        request_id: ev.RequestId,
        value: Json = None,
        *,
        code: int | None = None,
        text: str = "",
        how: str = "",
        at: float,
    ) -> bool:
        """Answer one that waits, with a result or, where ``code`` is given, an error; false when it waits no more."""
        key = (type(request_id), request_id)
        if key in self._owed or key not in self.waiting:
            return False
        message = (
            messages.result(request_id, value) if code is None else messages.error(request_id, code, text)
        )
        self._answer(key, message, code, how, at)
        self._core.pause_while_asked(at)
        return True

    def _answer(
        self,
        key: tuple[type, ev.RequestId],
        message: dict[str, Json],
        code: int | None,
        how: str,
        at: float,
    ) -> None:
        del self.waiting[key]
        self._reply(message, key[1], code, at, how)
        self._sent.add(key)

    def parent_cancelled(self, parent: ev.RequestId) -> None:
        """Ask nobody any more for a request that was cancelled.

        C-62: the server still waits for its answer, so one is owed, and leaves behind the cancel.
        """
        for key, (frame, owner, _) in self.waiting.items():
            if owner == parent:
                self._owed.add(key)
                why = "the request it belongs to was cancelled"
                self._core.do(self._core.port.prompt_over, frame.id, why)

    def pay(self, parent: ev.RequestId, *, at: float) -> None:
        """Give the answers that are owed for a cancelled request, whose cancel left first.

        A server that heard the answer first would go on with it.
        """
        for key, (frame, owner, _) in tuple(self.waiting.items()):
            if owner != parent or key not in self._owed:
                continue
            self._owed.discard(key)
            if frame.method == ELICIT:
                self._answer(key, messages.result(frame.id, {"action": "cancel"}), None, "cancel", at)
            else:
                text = "the request that this belongs to was cancelled"
                self._answer(key, messages.error(frame.id, REJECTED, text), REJECTED, "", at)

    def cancelled(self, frame: NotificationFrame, *, at: float, seq: int) -> bool:
        """Take in ``notifications/cancelled``: what it names is never answered any more.

        C-50: the server gave it up, and an answer could only confuse it.

        False if nothing of what waits was meant.
        """
        params = as_object(frame.params)
        request_id = params.get("requestId")
        if not is_request_id(request_id) or self.waiting.pop((type(request_id), request_id), None) is None:
            return False
        owed = (type(request_id), request_id) in self._owed
        self._owed.discard((type(request_id), request_id))
        reason = as_text(params.get("reason"))
        self._core.emit(ev.ServerRequestWithdrawn(at=at, request_id=request_id, reason=reason, seq=seq))
        if not owed:  # nobody is being asked for an answer that is owed
            why = f"withdrawn by the server: {reason}" if reason else "withdrawn by the server"
            self._core.do(self._core.port.prompt_over, request_id, why)
        return True

    def crossed(self, frame: NotificationFrame) -> str:
        """What to say of a cancel that names what was answered already; nothing of any other.

        C-51: answer and cancel crossed, and neither side did wrong.
        """
        request_id = as_object(frame.params).get("requestId")
        if not is_request_id(request_id) or (type(request_id), request_id) not in self._sent:
            return ""
        return f"{messages.shown(request_id)}: {CROSSED}"

    def closed(self) -> None:
        """Forget all: the connection is gone."""
        for key, (frame, _, _) in self.waiting.items():
            if key not in self._owed:
                self._core.do(self._core.port.prompt_over, frame.id, "the connection is gone")
        self.waiting.clear()
        self._owed.clear()
        self._sent.clear()

    def _reply(
        self, message: dict[str, Json], request_id: ev.RequestId, code: int | None, at: float, how: str = ""
    ) -> None:
        self._core.do(self._core.port.reply, message)
        self._core.emit(ev.ServerRequestAnswered(at=at, request_id=request_id, code=code, how=how))
