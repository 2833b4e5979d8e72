"""A new session in place of one that the server ended, and what is asked for meanwhile.

"When a client receives HTTP 404 in response to a request containing an ``Mcp-Session-Id``, it MUST start a new session by
sending a new ``InitializeRequest`` without a session ID attached" (transports, 2025-03-26 to 2025-11-25). Of the old
session nothing is sent again: what was in flight is lost with it.
"""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

from mcp_tui.client.errors import TransportError, Unauthorized
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json
from mcp_tui.transport.base import spawn

PAUSES: Final = (0.0, 0.5, 1.0, 2.0)
"""Seconds before each attempt at a new session; behind the last one it is given up."""

YOUNG: Final = 5.0
"""Seconds that a new session has to live for the next attempt to count as the first again."""


class Renewable(Protocol):
    """What a renewal asks of its client."""

    def now(self) -> float: ...
    def note(self, text: str, /) -> None: ...
    def lost(self, detail: str, /) -> None: ...
    def send(self, id: RequestId, method: str, message: dict[str, Json], /) -> None: ...
    async def reopen(self) -> None:
        """Open a new session.

        Raises:
            TransportError: none came about.
        """
        ...


class Renewal:
    """Opens new sessions for one client.

    ``active`` says that one is being opened. Requests made meanwhile are ``held`` and leave, in order, once it stands;
    they are lost where none comes about, and cancelled in time they never leave.
    """

    def __init__(self, client: Renewable) -> None:
        self.active = False
        self._client = client
        self._attempts = 0
        self._ready_at: float | None = None
        self.held: dict[RequestId, tuple[str, dict[str, Json]]] = {}
        self._task: asyncio.Task[None] | None = None

    def begin(self, why: str) -> None:
        """The server ended the session, for this reason: open a new one."""
        if self._ready_at is not None and self._client.now() - self._ready_at >= YOUNG:
            self._attempts = 0
        self.active = True
        self._task = spawn(self._run(why), name="open a new session")

    async def stop(self) -> None:
        """Open none any more: a person decided otherwise. What was held is lost."""
        task, self._task = self._task, None
        self._attempts, self._ready_at = 0, None
        if task is not None and not task.done():
            task.cancel()
            await asyncio.wait([task])
        if self.active:
            self._give_up("no new session was opened")

    def holds(self, id: RequestId, method: str, message: dict[str, Json]) -> bool:
        """Whether a request has to wait for the new session; then it is held."""
        if not self.active or method == "initialize":
            return False
        self.held[id] = method, message
        return True

    def lets_go(self, id: RequestId) -> bool:
        """Whether a request was held; then it is held no more."""
        return self.held.pop(id, None) is not None

    async def _run(self, why: str) -> None:
        client, last = self._client, ""
        await asyncio.sleep(0)  # an eager task would begin before the loss is told
        while self._attempts < len(PAUSES):
            pause = PAUSES[self._attempts]
            self._attempts += 1
            client.note(f"opening a new session in {pause:g} s" if pause else "opening a new session")
            await asyncio.sleep(pause)
            try:
                await client.reopen()
            except TransportError as error:
                last = str(error)
                client.note(f"no new session: {last}")
                if isinstance(error, Unauthorized):
                    break
            else:
                self._stands()
                return
        ended = f"; the last attempt: {last}" if last else ", and the new ones at once too"
        self._give_up(f"{why}{ended}")

    def _stands(self) -> None:
        self.active = False
        self._ready_at = self._client.now()
        held, self.held = self.held, {}
        for id_, (method, message) in held.items():
            self._client.send(id_, method, message)

    def _give_up(self, detail: str) -> None:
        """Say why there is no session, once; what was held is lost with it."""
        self.active = False
        self._attempts, self._ready_at = 0, None
        self.held.clear()
        self._client.lost(detail)
