"""Being told of changes: resources, and the lists of what a server offers, in both eras.

Up to 2025-11-25 a resource is subscribed to by a request, and changes of lists are told unasked. In 2026-07-28 both are
asked for by ``subscriptions/listen``, a request that stays in flight; what it asks for changes by another one in its
place (subscriptions, 2026-07-28). After a restart everything is asked for again, for nothing is told of what was missed.
"""

from __future__ import annotations

import asyncio
from typing import Final

from mcp_tui.client.ports import Caller
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.requests import State
from mcp_tui.protocol.states import LISTEN
from mcp_tui.protocol.tasks import UNLIMITED
from mcp_tui.transport.base import spawn

RETRIES: Final = 5
"""Times that a subscription whose stream drops is asked for again, before it is left to the person."""

BACKOFF: Final = 1.0
"""Seconds before the first of them; twice as long each time."""

LISTS: Final = ("tools", "resources", "prompts")
"""Lists whose changes can be told; each is asked for by a member of the filter, ``toolsListChanged`` and so on."""


class Subscriptions:
    """What a client wants to be told of. ``uris`` are the resources; ``lists`` says whether it wants changes of lists.

    ``stream`` is the ``subscriptions/listen`` that is in flight for it, if there is one.
    """

    def __init__(self, client: Caller) -> None:
        self.uris: set[str] = set()
        self.lists = False
        self.stream: RequestId | None = None
        self._client = client
        self._drops = 0
        client.listen(self._take)

    def watch_lists(self) -> RequestId | None:
        """Want to be told of changes of lists. The new request; ``None`` where there is nothing to ask for."""
        self.lists = True
        return self._renew() if self._modern else None

    def subscribe(self, uri: str) -> RequestId | None:
        """Want to be told of changes of a resource. The request that asks for it; ``None`` where it was wanted already."""
        if uri in self.uris:
            return None
        self.uris.add(uri)
        return self._renew() if self._modern else self._client.call("resources/subscribe", {"uri": uri})

    def unsubscribe(self, uri: str) -> RequestId | None:
        """Want it no more. The request that says so; ``None`` where there is nothing to say."""
        if uri not in self.uris:
            return None
        self.uris.discard(uri)
        return self._renew() if self._modern else self._client.call("resources/unsubscribe", {"uri": uri})

    @property
    def _modern(self) -> bool:
        return self._client.ledger.negotiated.modern

    def filter(self) -> dict[str, Json]:
        """The ``SubscriptionFilter`` of what is wanted, as far as the server declares it."""
        info = self._client.info
        made: dict[str, Json] = {}
        if info is not None and self.lists:
            for kind in LISTS:
                if as_object(info.capabilities.get(kind)).get("listChanged") is True:
                    made[f"{kind}ListChanged"] = True
        if self.uris:
            made["resourceSubscriptions"] = list[Json](sorted(self.uris))
        return made

    def _renew(self) -> RequestId | None:
        """Ask for what is wanted now, and then end the request that asked for what was wanted before."""
        client, before, wanted = self._client, self.stream, self.filter()
        self.stream, reason = None, "unsubscribed"
        if wanted:
            self.stream = client.call(LISTEN, {"notifications": wanted}, limits=UNLIMITED, internal=True)
            reason = "another subscription takes its place"
        if before is not None:
            client.cancel(before, reason=reason)
        return self.stream

    def _take(self, event: ev.Event) -> None:
        match event:
            case ev.Connected():
                self.stream, self._drops = None, 0
                spawn(self._again(0.0), name="subscribe again")
            case ev.Acknowledged() if event.id == self.stream:
                self._drops = 0
            case ev.Lost() if event.id == self.stream and self._client.info is not None:
                self.stream = None
                self._drops += 1
                if self._drops <= RETRIES:
                    spawn(self._again(BACKOFF * 2.0 ** (self._drops - 1)), name="subscribe again")
            case ev.Completed() | ev.Failed() if event.id == self.stream:
                self.stream = None  # the server ended it, or will not have it
            case _:
                pass

    async def _again(self, wait: float) -> None:
        """Ask once more for everything that is wanted."""
        await asyncio.sleep(wait)
        client = self._client
        if client.info is None or self.stream is not None:
            return
        if self._modern:
            self._renew()
            return
        for uri in sorted(self.uris):
            client.call("resources/subscribe", {"uri": uri}, internal=True)

    def ended(self) -> bool:
        """Whether something is wanted that nothing tells of any more."""
        row = None if self.stream is None else self._client.book.get(self.stream)
        return bool(self.filter()) and self._modern and (row is None or row.state is not State.IN_FLIGHT)
