"""Subscriptions to changes of resources and lists, in both eras.

Up to 2025-11-25 a request subscribes to a resource, and changes of lists are always notified. In 2026-07-28 both need
``subscriptions/listen``, a request that stays in flight; a new one replaces it to change it (subscriptions,
2026-07-28). After a restart everything is requested again, because missed changes are not notified.
"""

from __future__ import annotations

import asyncio
from typing import Final

from mcp_tui.client.client_port import Caller
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.requests import State
from mcp_tui.protocol.states import LISTEN
from mcp_tui.protocol.tasks import UNLIMITED
from mcp_tui.transport.base import DEAF, spawn

RESUBSCRIBE_SECONDS: Final = 1.0
"""Seconds before an ended subscription is renewed; doubled after each short-lived one."""

LONGEST_PAUSE_SECONDS: Final = 60.0
"""The maximum number of seconds of that pause."""

STABLE_SECONDS: Final = 30.0
"""Seconds after which a subscription counts as stable, so that the pauses start again."""

SHORT_LIVES: Final = 3
"""The number of short-lived subscriptions in a row after which the log reports them."""

NOTIFIED_LISTS: Final = ("tools", "resources", "prompts")
"""The lists whose changes can be notified; each has a member in the filter, such as ``toolsListChanged``."""


class Subscriptions:
    """The subscriptions of a client: ``uris`` are the resources; ``lists`` subscribes to changes of lists.

    ``stream`` is the ``subscriptions/listen`` in flight for them, if there is one.
    """

    def __init__(self, client: Caller) -> None:
        self.uris: set[str] = set()
        self.lists = False
        self.stream: RequestId | None = None
        self._client = client
        self._began = 0.0
        self._short = 0
        """The number of short-lived subscriptions in a row."""
        client.listen(self._take)

    def watch_lists(self) -> RequestId | None:
        """Subscribes to changes of lists. Returns the new request, or ``None`` if none is needed."""
        self.lists = True
        return self._renew() if self._modern else None

    def subscribe(self, uri: str) -> RequestId | None:
        """Subscribes to a resource. Returns the new request, or ``None`` if there is a subscription already."""
        if uri in self.uris:
            return None
        self.uris.add(uri)
        return self._renew() if self._modern else self._client.call("resources/subscribe", {"uri": uri})

    def unsubscribe(self, uri: str) -> RequestId | None:
        """Unsubscribes from a resource. Returns the new request, or ``None`` if none is needed."""
        if uri not in self.uris:
            return None
        self.uris.discard(uri)
        return self._renew() if self._modern else self._client.call("resources/unsubscribe", {"uri": uri})

    @property
    def _modern(self) -> bool:
        return self._client.ledger.negotiated.modern

    def filter(self) -> dict[str, Json]:
        """Returns the ``SubscriptionFilter`` for the capabilities that the server declares."""
        info = self._client.info
        made: dict[str, Json] = {}
        if info is not None and self.lists:
            for kind in NOTIFIED_LISTS:
                if as_object(info.capabilities.get(kind)).get("listChanged") is True:
                    made[f"{kind}ListChanged"] = True
        if self.uris:
            made["resourceSubscriptions"] = list[Json](sorted(self.uris))
        return made

    def _renew(self) -> RequestId | None:
        """Sends a new ``subscriptions/listen`` and then ends the previous one."""
        client, before, wanted = self._client, self.stream, self.filter()
        self.stream, reason = None, "unsubscribed"
        if wanted:
            self.stream = client.call(LISTEN, {"notifications": wanted}, limits=UNLIMITED, internal=True)
            self._began = client.now()
            reason = "another subscription takes its place"
        # After the new one was sent: a change between the two may be notified twice, but is never missed.
        if before is not None:
            client.cancel(before, reason=reason)
        return self.stream

    def _take(self, event: ev.Event) -> None:
        if self.stream is None and not isinstance(event, ev.Connected):
            return  # the usual case, checked at each event
        match event:
            case ev.Connected():
                self.stream, self._short = None, 0
                spawn(self._again(0.0), name="subscribe again")
            # C-60: without a connection nothing can be renewed; Connected renews it.
            case ev.Lost() if event.id == self.stream and self._client.info is not None:
                self._ended(event.detail)
            case ev.Completed() if event.id == self.stream:
                self._ended("closed by the server")
            case ev.Failed() if event.id == self.stream:
                self._stop(f"the server refused the subscription: {event.message}")
            case _:
                pass

    def _ended(self, why: str) -> None:
        """Renews an ended subscription after a pause, which grows with each short-lived one, and logs that."""
        client, lived = self._client, self._client.now() - self._began
        self.stream, self._short = None, self._short + 1 if lived < STABLE_SECONDS else 0
        pause = min(LONGEST_PAUSE_SECONDS, RESUBSCRIBE_SECONDS * 2.0 ** max(0, self._short - 1))
        client.note(f"the subscription ended after {lived:.1f} s ({why}), subscribing again in {pause:g} s")
        if self._short == SHORT_LIVES:
            text = f"subscriptions do not hold: {SHORT_LIVES} in a row ended within {STABLE_SECONDS:g} s, at last: {why}"
            pauses = "They are made again after growing pauses; changes in between are not notified"
            client.report(ev.Degraded(at=client.now(), detail=f"{text}. {pauses}"))
        spawn(self._again(pause), name="subscribe again")

    def _stop(self, detail: str) -> None:
        """Stops the subscription, and logs that."""
        self.stream = None
        self._client.report(ev.Degraded(at=self._client.now(), detail=f"{detail}. {DEAF}"))

    async def _again(self, wait: float) -> None:
        """Renews all subscriptions."""
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
        """Whether a subscription is wanted but no request for it is in flight."""
        row = None if self.stream is None else self._client.requests.get(self.stream)
        return bool(self.filter()) and self._modern and (row is None or row.state is not State.IN_FLIGHT)
