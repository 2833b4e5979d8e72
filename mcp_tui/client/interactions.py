"""What a server may ask of the person in front of this client: sampling, elicitation, roots.

In the handshake era it sends requests of its own; in 2026-07-28 it answers one of ours by asking for input, or puts its
questions into a task. For whoever answers they are the same: an :class:`Inquiry` comes in, an answer goes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mcp_tui.client.ports import Caller
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.inbound import REJECTED
from mcp_tui.protocol.messages import Json, as_object, as_text
from mcp_tui.protocol.values import frozen
from mcp_tui.transport.base import spawn


@frozen
class Refusal:
    """No, as an answer. Elicitation has a word of its own for that, ``{"action": "decline"}``, and needs none of these."""

    text: str = "the user declined"
    code: int = REJECTED


Answer = dict[str, Json] | Refusal


@dataclass(slots=True, eq=False, kw_only=True)
class Inquiry:
    """One question of the server's. ``params`` are its words, and hostile.

    ``server`` is the server's name, ``request_id`` the id of its own request (handshake era), ``key`` the server's name for
    the question (2026-07-28), ``parent`` the request of ours that waits for the answer, where that is known. ``over``
    holds, once it is set, why no answer is needed any more: then none leaves, whatever is answered.
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
"""Answers an inquiry, in its own time. Its answer is thrown away where ``over`` was set meanwhile."""


class Interactions:
    """The questions of one server that wait for an answer, and the way of each answer back. ``open`` are all of them."""

    def __init__(self, client: Caller, respond: Respond | None) -> None:
        self.respond = respond
        self.open: list[Inquiry] = []
        self._client = client

    # -- requests of the server's ----------------------------------------------------------------------------

    def prompt(
        self, request_id: RequestId, method: str, params: dict[str, Json], parent: RequestId | None
    ) -> None:
        """Have a request of the server's answered."""
        inquiry = self._inquiry(method, params, parent)
        inquiry.request_id = request_id
        spawn(self._reply(inquiry, request_id), name=f"answer to {method}")

    def prompt_over(self, request_id: RequestId, why: str) -> None:
        """A request of the server's needs no answer any more."""
        for inquiry in tuple(self.open):
            if inquiry.request_id == request_id and type(inquiry.request_id) is type(request_id):
                self._end(inquiry, why)

    async def _reply(self, inquiry: Inquiry, request_id: RequestId) -> None:
        answer = await self._answer(inquiry)
        if inquiry.over.done():
            return
        inbound, at = self._client.ledger.inbound, self._client.now()
        if isinstance(answer, Refusal):
            inbound.answer(request_id, code=answer.code, text=answer.text, at=at)
        else:
            inbound.answer(request_id, answer, how=as_text(answer.get("action")), at=at)
        self._client.drain()

    # -- input for requests of ours --------------------------------------------------------------------------

    def gather(
        self, id: RequestId, requests: dict[str, dict[str, Json]], *, wait: float = 0.0, task: bool = False
    ) -> None:
        """Have the questions answered that a request of ours waits for."""
        spawn(self._gather(id, requests, wait=wait, task=task), name=f"input for {id}")

    def gather_over(self, id: RequestId, why: str, keys: frozenset[str] | None = None) -> None:
        """Input is not needed any more."""
        for inquiry in tuple(self.open):
            key = inquiry.key
            if inquiry.parent == id and key is not None and (keys is None or key in keys):
                self._end(inquiry, why)

    def _end(self, inquiry: Inquiry, why: str) -> None:
        self.open.remove(inquiry)
        inquiry.over.set_result(why)

    async def _gather(
        self, id: RequestId, requests: dict[str, dict[str, Json]], *, wait: float, task: bool
    ) -> None:
        client = self._client
        if not requests:
            await asyncio.sleep(wait)
            self._supply(id, {})
            return
        for ask in requests.values():
            if ask.get("method") not in client.ledger.negotiated.prompts:
                method = str(ask.get("method"))[:80]
                text = f"the server requests {method}, which this client does not support"
                if not client.ledger.rounds.give_up(id, text, at=client.now()):
                    client.ledger.tasks.unanswered(id, requests, at=client.now())
                    client.note(f"{text}; the task of {id} is waiting for it and can be cancelled")
                client.drain()
                return
        inquiries: dict[str, Inquiry] = {}
        for key, ask in requests.items():
            inquiry = self._inquiry(str(ask["method"]), as_object(ask.get("params")), id)
            inquiry.key = key
            inquiries[key] = inquiry
        if task:
            for key, inquiry in inquiries.items():
                spawn(self._update(id, key, inquiry), name=f"input for {id}")
            return
        answers = await asyncio.gather(*map(self._answer, inquiries.values()))
        if any(inquiry.over.done() for inquiry in inquiries.values()):
            return
        gathered: dict[str, Json] = {}
        for (key, inquiry), answer in zip(inquiries.items(), answers, strict=True):
            if isinstance(answer, Refusal):
                # there is no message that says no: the request is not sent again, and that is all
                client.cancel(id, Cause.USER, f"declined {inquiry.method}")
                return
            gathered[key] = answer
        self._supply(id, gathered)

    def _supply(self, id_: RequestId, responses: dict[str, Json]) -> None:
        self._client.ledger.rounds.supply(id_, responses, at=self._client.now())
        self._client.drain()

    async def _update(self, id_: RequestId, key: str, inquiry: Inquiry) -> None:
        """Answer one question of a task. A refusal has no message: the task waits on, and can be cancelled."""
        answer = await self._answer(inquiry)
        if inquiry.over.done():
            return
        tasks, at = self._client.ledger.tasks, self._client.now()
        if isinstance(answer, Refusal):
            tasks.unanswered(id_, [key], at=at)
        else:
            tasks.update(id_, {key: answer}, at=at)
        self._client.drain()

    # -- both ------------------------------------------------------------------------------------------------

    def _inquiry(self, method: str, params: dict[str, Json], parent: RequestId | None) -> Inquiry:
        client = self._client
        server, over = client.info.name if client.info else "", asyncio.get_running_loop().create_future()
        made = Inquiry(method=method, params=params, server=server, at=client.now(), parent=parent, over=over)
        self.open.append(made)
        return made

    async def _answer(self, inquiry: Inquiry) -> Answer:
        try:
            if self.respond is None:
                return Refusal("No one to answer (headless)")
            return await self.respond(inquiry)
        finally:
            if inquiry in self.open:
                self.open.remove(inquiry)
