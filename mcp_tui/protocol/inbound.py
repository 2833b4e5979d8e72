"""The other direction: requests of the server's, and how it takes them back.

Kept apart from ours in every way, because ids overlap: a ``notifications/cancelled`` from the server can only name
one of *its* requests (cancellation, 2024-11-05 to 2025-11-25: same direction; C-52).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.effects import Effect, Prompt, PromptOver, Reply
from mcp_tui.protocol.messages import Json, NotificationFrame, RequestFrame, is_request_id

METHOD_NOT_FOUND: Final = -32601
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
REJECTED: Final = -1
"""The error with which a person's refusal of sampling is told (sampling, 2025-11-25, "Error Handling")."""

ELICIT: Final = "elicitation/create"

CROSSED: Final = "sent; withdrawn meanwhile"
"""What is said of a request of the server's whose cancel came after its answer had left (C-51)."""

NAME: Final = 200
"""Characters of a method's name that an event carries."""


class Waiting(NamedTuple):
    """A request of the server's that waits for a person since ``at``, and the request of ours that it belongs to."""

    frame: RequestFrame
    parent: ev.RequestId | None
    at: float


class Inbound:
    """The server's requests that have no answer yet.

    ``prompts`` are the methods that a person answers; every other is answered at once: ``ping`` with an empty
    result, the rest with *method not found*, because a capability that was not declared may not be used (C-69).
    ``modes`` are the modes of elicitation that were declared. ``waiting`` has each with the request of ours that it belongs
    to, where that is known.
    """

    def __init__(
        self, emit: Callable[[ev.Event | Effect], None], violation: Callable[[str, str, float, int], None]
    ) -> None:
        self.prompts: frozenset[str] = frozenset()
        self.modes: frozenset[str] = frozenset({"form", "url"})
        self.waiting: dict[tuple[type, ev.RequestId], Waiting] = {}
        self._owed: set[tuple[type, ev.RequestId]] = set()
        self._sent: set[tuple[type, ev.RequestId]] = set()
        self._emit = emit
        self._violation = violation

    def asked(self, frame: RequestFrame, *, at: float, seq: int, parent: ev.RequestId | None = None) -> bool:
        """Take in a request of the server's; whether it waits for a person now."""
        key = (type(frame.id), frame.id)
        method = frame.method[:NAME]
        params = messages.as_object(frame.params)
        self._emit(
            ev.ServerRequestReceived(at=at, request_id=frame.id, method=method, parent=parent, seq=seq)
        )
        if key in self.waiting:
            detail = f"id {messages.shown(frame.id)} is in use for {self.waiting[key].frame.method[:NAME]}"
            self._violation("duplicate-request-id", detail, at, seq)
            self._reply(messages.error(frame.id, INVALID_REQUEST, detail), frame.id, INVALID_REQUEST, at)
        elif frame.method == "ping":
            self._reply(messages.result(frame.id, {}), frame.id, None, at)
        elif frame.method in self.prompts:
            mode = params.get("mode", "form")
            if frame.method == ELICIT and mode not in self.modes:
                text = f"elicitation mode {messages.shown(mode)} was not declared"
                self._violation("undeclared-capability", text, at, seq)
                self._reply(messages.error(frame.id, INVALID_PARAMS, text), frame.id, INVALID_PARAMS, at)
                return False
            self.waiting[key] = Waiting(frame, parent, at)
            self._sent.discard(key)
            self._emit(Prompt(request_id=frame.id, method=frame.method, params=params, parent=parent))
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
        if key in self._owed or self.waiting.pop(key, None) is None:
            return False
        message = (
            messages.result(request_id, value) if code is None else messages.error(request_id, code, text)
        )
        self._reply(message, request_id, code, at, how)
        self._sent.add(key)
        return True

    def parent_cancelled(self, parent: ev.RequestId) -> None:
        """What belongs to a request that was cancelled needs no person any more; but an answer is owed (C-62)."""
        for key, (frame, owner, _) in self.waiting.items():
            if owner == parent:
                self._owed.add(key)
                self._emit(PromptOver(request_id=frame.id, why="the request it belongs to was cancelled"))

    def pay(self, parent: ev.RequestId, *, at: float) -> None:
        """Give the answers that are owed for a cancelled request, whose cancel left first.

        A server that heard the answer first would go on with it.
        """
        for key, (frame, owner, _) in tuple(self.waiting.items()):
            if owner != parent or key not in self._owed:
                continue
            self._owed.discard(key)
            if frame.method == ELICIT:
                self.answer(frame.id, {"action": "cancel"}, how="cancel", at=at)
            else:
                text = "the request that this belongs to was cancelled"
                self.answer(frame.id, code=REJECTED, text=text, at=at)

    def cancelled(self, frame: NotificationFrame, *, at: float, seq: int) -> bool:
        """Take in ``notifications/cancelled``: what it names gets no answer any more, ever (C-50).

        False if nothing of what waits was meant.
        """
        params = messages.as_object(frame.params)
        request_id = params.get("requestId")
        if not is_request_id(request_id) or self.waiting.pop((type(request_id), request_id), None) is None:
            return False
        owed = (type(request_id), request_id) in self._owed
        self._owed.discard((type(request_id), request_id))
        reason = params.get("reason")
        reason = reason if isinstance(reason, str) else ""
        self._emit(ev.ServerRequestWithdrawn(at=at, request_id=request_id, reason=reason, seq=seq))
        if not owed:  # nobody is being asked for an answer that is owed
            why = f"withdrawn by the server: {reason}" if reason else "withdrawn by the server"
            self._emit(PromptOver(request_id=request_id, why=why))
        return True

    def crossed(self, frame: NotificationFrame) -> str:
        """What to say of a cancel that names what was answered already (C-51); nothing of any other."""
        request_id = messages.as_object(frame.params).get("requestId")
        if not is_request_id(request_id) or (type(request_id), request_id) not in self._sent:
            return ""
        return f"{messages.shown(request_id)}: {CROSSED}"

    def closed(self) -> None:
        """Forget all: the connection is gone."""
        for key, (frame, _, _) in self.waiting.items():
            if key not in self._owed:
                self._emit(PromptOver(request_id=frame.id, why="the connection is gone"))
        self.waiting.clear()
        self._owed.clear()
        self._sent.clear()

    def _reply(
        self, message: dict[str, Json], request_id: ev.RequestId, code: int | None, at: float, how: str = ""
    ) -> None:
        self._emit(Reply(request_id=request_id, message=message))
        self._emit(ev.ServerRequestAnswered(at=at, request_id=request_id, code=code, how=how))
