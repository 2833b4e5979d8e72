"""The questions of a server to the person at this client: sampling, elicitation, roots.

In the handshake era the server sends requests. In 2026-07-28 it answers one of our requests by asking for input, or
puts its questions into a task. All three become an :class:`Inquiry`, and get an answer in the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from mcp_tui.client.client_port import Caller
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.inbound import ELICIT, USER_REJECTED
from mcp_tui.protocol.messages import Json, as_object, as_text
from mcp_tui.protocol.values import frozen
from mcp_tui.transport.base import spawn


@frozen
class Refusal:
    """A refusal to answer. Elicitation does not need it, because it has ``{"action": "decline"}``."""

    text: str = "the user declined"
    code: int = USER_REJECTED


Answer = dict[str, Json] | Refusal


@dataclass(slots=True, eq=False, kw_only=True)
class Inquiry:
    """One question of the server. ``params`` is its content, and hostile.

    ``server`` is the server's name, ``request_id`` the id of its request (handshake era), ``key`` the server's name
    for the question (2026-07-28); a question in an error (-32042) has neither. ``parent`` is the request of ours that
    waits for the answer, if known. ``over`` is resolved with the reason when no answer is needed any more; then none
    is sent.
    """

    method: str
    params: dict[str, Json]
    server: str
    at: float
    parent: RequestId | None = None
    request_id: RequestId | None = None
    key: str | None = None
    over: asyncio.Future[str]


Respond = Callable[[Inquiry], Awaitable[Answer]]
"""Answers an inquiry, whenever it is ready. The answer is dropped if ``over`` was resolved before."""


class Interactions:
    """The questions of one server that wait for an answer (``open``); sends each answer back."""

    def __init__(self, client: Caller, respond: Respond | None) -> None:
        self.respond = respond
        self.open: list[Inquiry] = []
        self._client = client

    # -- requests of the server ------------------------------------------------------------------------------

    def prompt(
        self, request_id: RequestId, method: str, params: dict[str, Json], parent: RequestId | None
    ) -> None:
        """Asks for the answer to a request of the server."""
        inquiry = self._inquiry(method, params, parent)
        inquiry.request_id = request_id
        spawn(self._reply(inquiry, request_id), name=f"answer to {method}")

    def prompt_over(self, request_id: RequestId, why: str) -> None:
        """Closes the prompt for a request of the server."""
        asked = [each for each in self.open if each.request_id == request_id]
        # 1 and "1" are two ids, and in Python 1 equals True.
        self._close(why, [each for each in asked if type(each.request_id) is type(request_id)])

    async def _reply(self, inquiry: Inquiry, request_id: RequestId) -> None:
        answer = await self._answer(inquiry)
        inbound, at = self._client.ledger.inbound, self._client.now()
        if isinstance(answer, Refusal):
            inbound.answer(request_id, code=answer.code, text=answer.text, at=at)
        elif answer is not None:
            inbound.answer(request_id, answer, how=as_text(answer.get("action")), at=at)
        self._client.drain()

    # -- input for our requests ------------------------------------------------------------------------------

    def gather(
        self, id: RequestId, requests: dict[str, dict[str, Json]], *, wait: float = 0.0, task: bool = False
    ) -> None:
        """Asks for the answers that a request of ours waits for."""
        spawn(self._gather(id, requests, wait=wait, task=task), name=f"input for {id}")

    def gather_over(self, id: RequestId, why: str, keys: frozenset[str] | None = None) -> None:
        """Closes the prompts for a request of ours, or those of ``keys``."""
        asked = [each for each in self.open if each.parent == id and each.key is not None]
        self._close(why, [each for each in asked if keys is None or each.key in keys])

    def _close(self, why: str, inquiries: Sequence[Inquiry]) -> None:
        for inquiry in inquiries:
            self.open.remove(inquiry)
            inquiry.over.set_result(why)

    async def _gather(
        self, id: RequestId, requests: dict[str, dict[str, Json]], *, wait: float, task: bool
    ) -> None:
        client = self._client
        # C-67: the server asks no question, so only this pause limits the speed of the rounds.
        if not requests:
            await asyncio.sleep(wait)
        for ask in requests.values():
            if (method := str(ask.get("method"))[:80]) not in client.ledger.negotiated.prompts:
                text = f"the server requests {method}, which this client does not support"
                if not client.ledger.rounds.give_up(id, text, at=client.now()):
                    client.ledger.tasks.unanswered(id, requests, at=client.now())
                    client.note(f"{text}; the task of {id} is waiting for it and can be cancelled")
                client.drain()
                return
        inquiries: list[Inquiry] = []
        for key, ask in requests.items():
            inquiry = self._inquiry(str(ask["method"]), as_object(ask.get("params")), id)
            inquiry.key = key
            inquiries.append(inquiry)
            if task:
                spawn(self._update(id, key, inquiry), name=f"input for {id}")
        if task:
            return
        answers = await asyncio.gather(*map(self._answer, inquiries))
        # The request was withdrawn (C-50) or cancelled (C-65), so nothing is sent.
        if None in answers:
            return
        gathered: dict[str, Json] = {}
        for (key, ask), answer in zip(requests.items(), answers, strict=True):
            if not isinstance(answer, dict):
                # There is no message for a refusal: the request is simply not sent again.
                client.cancel(id, Cause.USER, f"declined {ask['method']}")
                return
            gathered[key] = answer
        client.ledger.rounds.supply(id, gathered, at=client.now())
        client.drain()

    async def _update(self, id_: RequestId, key: str, inquiry: Inquiry) -> None:
        """Answers one question of a task. A refusal has no message: the task keeps waiting, and can be cancelled."""
        answer = await self._answer(inquiry)
        tasks, at = self._client.ledger.tasks, self._client.now()
        if isinstance(answer, Refusal):
            tasks.unanswered(id_, [key], at=at)
        elif answer is not None:
            tasks.update(id_, {key: answer}, at=at)
        self._client.drain()

    # -- URLs in an error ------------------------------------------------------------------------------------

    async def ask_to_open(self, id_: RequestId, urls: Sequence[dict[str, Json]]) -> bool:
        """Asks the person to open each URL, one after the other; returns whether they accepted all."""
        for params in urls:
            answer = await self._answer(self._inquiry(ELICIT, {**params, "mode": "url"}, id_))
            if not isinstance(answer, dict) or answer.get("action") != "accept":
                return False
        return True

    def close_url_prompts(self, why: str) -> None:
        """Closes the prompts for URLs in errors."""
        self._close(why, [each for each in self.open if each.request_id is None and each.key is None])

    # -- prompts ---------------------------------------------------------------------------------------------

    def _inquiry(self, method: str, params: dict[str, Json], parent: RequestId | None) -> Inquiry:
        client, over = self._client, asyncio.get_running_loop().create_future()
        server = client.info.name if client.info else ""
        made = Inquiry(method=method, params=params, server=server, at=client.now(), parent=parent, over=over)
        self.open.append(made)
        return made

    async def _answer(self, inquiry: Inquiry) -> Answer | None:
        """Returns the answer to a question; ``None`` if no answer is needed any more."""
        try:
            answer = await self.respond(inquiry) if self.respond else Refusal("No one to answer (headless)")
        finally:
            if inquiry in self.open:
                self.open.remove(inquiry)
        if inquiry.method == ELICIT and isinstance(answer, dict):
            from mcp_tui.client.forms import secret_members  # forms take long to load, and few servers ask

            content = as_object(answer.get("content"))
            # Before the answer is sent, because then it is written to the journal.
            self._client.store.hide(secret_members(inquiry.params.get("requestedSchema"), content))
        return None if inquiry.over.done() else answer
