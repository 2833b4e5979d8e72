"""Requests that a server refused for lack of a token. They wait for a token or its refusal, with their clocks stopped."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from typing import Final

from mcp_tui.client.client_port import Caller
from mcp_tui.protocol.events import RequestId
from mcp_tui.transport.base import Challenge, RefusedResponse, Unauthorized, spawn
from mcp_tui.transport.suspension import Limit
from mcp_tui.transport.unreachable import TransportError, within

DEFERRALS: Final = 4
"""How often one request may wait for a token: an expired token, more scopes twice, and once more."""

WHY_REFUSED: Final = "the server requires a token"
WHY_NONCE: Final = "the server requires another DPoP nonce"


class DeferredRequests:
    """The deferred requests of one client. ``waiting`` maps their ids to the tasks that get a token."""

    def __init__(self, client: Caller) -> None:
        self.limit: Limit | None = None
        """The limit of a connection that is being opened; it stops too."""
        self._client = client
        self._times = Counter[RequestId]()
        self.waiting: dict[RequestId, asyncio.Task[None]] = {}

    def defer(self, id: RequestId, challenge: Challenge, detail: str) -> bool:
        """Defers a request that was refused with ``detail``, and gets a token for it; false if no token would help."""
        client = self._client
        if client.tokens is None or not client.tokens.helps(challenge):
            return False
        why = WHY_NONCE if "use_dpop_nonce" in challenge.header else WHY_REFUSED
        row_id = client.ledger.defer(id, why, at=client.now())
        if row_id is None:
            return False
        self._times[row_id] += 1
        if self._times[row_id] > DEFERRALS:
            self._give_up(row_id, challenge, f"{detail}; {DEFERRALS} tokens did not help")
            return True
        self.waiting[row_id] = task = spawn(self._authorize(row_id, challenge, detail), name="authorize")
        task.add_done_callback(lambda _: self.waiting.pop(row_id, None))
        return True

    async def authorized(self, challenge: Challenge) -> bool:
        """Gets a token for a challenge; returns false if no token would help.

        Raises:
            AuthorizationError: there is none.
        """
        tokens = self._client.tokens
        if tokens is None or not tokens.helps(challenge):
            return False
        with self._clock_stopped():
            await tokens.authorize(challenge)
        return True

    async def load(self) -> None:
        """Reads the stored sign-in of the server, before its first request."""
        if (tokens := self._client.tokens) is not None:
            with self._clock_stopped():  # a locked keyring asks the person
                await tokens.load()

    def stop(self) -> None:
        """Stops getting tokens: the deferred requests end with their connection."""
        for task in self.waiting.values():
            task.cancel()
        self.waiting.clear()
        self._times.clear()

    async def _authorize(self, row_id: RequestId, challenge: Challenge, detail: str) -> None:
        try:
            await self.authorized(challenge)
        except TransportError as error:
            declined = isinstance(error, Unauthorized) and error.declined  # `detail` has the reason already
            self._give_up(row_id, challenge, detail if declined else f"{detail}: {within(str(error))}")
        except Exception:
            self._give_up(row_id, challenge, detail)  # An internal error must not defer the request for ever.
            raise
        else:
            self._client.ledger.rounds.resend(row_id)
            self._client.drain()

    def _give_up(self, row_id: RequestId, challenge: Challenge, text: str) -> None:
        self._client.refusals[row_id] = RefusedResponse(challenge.status, challenge=challenge)
        self._client.ledger.rounds.give_up(row_id, text, at=self._client.now(), rule="http")
        self._client.drain()

    def _clock_stopped(self) -> contextlib.AbstractContextManager[None]:
        """Stops the connect timeout meanwhile."""
        return contextlib.nullcontext() if self.limit is None else self.limit.stopped()
