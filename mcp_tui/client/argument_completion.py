"""Completes an argument: requests values when typing pauses, and cancels the request when typing continues
(utilities/completion).

Each request is an internal one and appears in the table like any other. A newer keystroke cancels the previous
request by the signal that the revision prescribes. An answer that still arrives is late and is not offered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from mcp_tui.client.client_port import Caller
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.messages import Json, as_object, texts_in
from mcp_tui.transport.base import spawn

TYPING_PAUSE_SECONDS: Final = 0.2
"""Seconds without a keystroke before a request is sent."""

OFFERED_VALUES: Final = 100
"""The maximum number of offered values, which is that of one answer (utilities/completion)."""

SUPERSEDED: Final = "superseded by a newer keystroke"

_NO_METHOD: Final = -32601


ShowCompletions = Callable[[str, Sequence[str]], None]
"""Receives the name of an argument and its completions, as the server wrote them: hostile text."""


class Completer:
    """Completes the arguments of one prompt or resource template.

    Args:
        client: the client that sends the requests.
        reference: ``{"type": "ref/prompt", "name": …}`` or ``{"type": "ref/resource", "uri": …}``.
        show: is called with each completion that is still wanted when it arrives.
    """

    def __init__(self, client: Caller, reference: dict[str, Json], show: ShowCompletions) -> None:
        self._client = client
        self._reference = reference
        self._show = show
        self._asked = 0
        self._id: ev.RequestId | None = None
        self._refused = False

    def ask(self, name: str, value: str, others: Mapping[str, str]) -> None:
        """Requests completions of ``value`` for the argument ``name`` after the pause, unless a newer call replaces it.

        ``others`` are the other arguments so far (sent from 2025-06-18 on). A server without completions gets no
        request. In 2024-11-05 no server declares them, so the first refusal is remembered.
        """
        self.stop()
        info = self._client.info
        if info is None or self._refused:
            return
        if "completions" in info.capabilities or not info.revision.completions_declared:
            spawn(self._complete(self._asked, name, value, dict(others)), name=f"completion of {name}")

    def stop(self) -> None:
        """Cancels the open request, if there is one."""
        self._asked += 1
        row = None if self._id is None else self._client.requests.get(self._id)
        if row is not None and row.open:
            self._client.cancel(row.id, ev.Cause.USER, SUPERSEDED)
        self._id = None

    async def _complete(self, asked: int, name: str, value: str, others: dict[str, str]) -> None:
        await asyncio.sleep(TYPING_PAUSE_SECONDS)
        info = self._client.info
        if asked != self._asked or info is None:
            return
        params: dict[str, Json] = {"ref": self._reference, "argument": {"name": name, "value": value}}
        if others and info.revision.completion_context:
            params["context"] = {"arguments": others}
        self._id = self._client.call("completion/complete", params, internal=True)
        frame = await self._client.wait(self._id)
        if asked != self._asked or frame is None:
            return
        if frame.error is not None:
            self._refused = self._refused or frame.error.code == _NO_METHOD
            return
        values = texts_in(as_object(as_object(frame.result).get("completion")).get("values"))
        if values:
            self._show(name, list(dict.fromkeys(values))[:OFFERED_VALUES])
