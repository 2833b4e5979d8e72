"""The client: wires a transport, a ledger and a store together, and keeps the ledger's time.

What the transport tells goes into the ledger; what comes out of it is stored, told to listeners, and carried out. All of
it happens in the event loop's thread and in one call, so a cancel changes its row and is on its way before
:meth:`Client.cancel` returns.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from mcp_tui.client import catalogue, connecting
from mcp_tui.client.headers import traced
from mcp_tui.client.interactions import Interactions, Respond
from mcp_tui.client.negotiation import LOG_LEVEL
from mcp_tui.client.reconnecting import Renewal
from mcp_tui.client.settings import ClientSettings, Target
from mcp_tui.client.subscriptions import Subscriptions
from mcp_tui.client.wiring import Listener, Wiring
from mcp_tui.journal.store import Store
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.effects import CancelOutcome
from mcp_tui.protocol.events import Cause, RequestId
from mcp_tui.protocol.messages import Json, ResponseFrame
from mcp_tui.protocol.requests import Request, State
from mcp_tui.protocol.revisions import Cancellation, Revision, cancellation

DEFAULT_REASON: Final = "User requested cancellation"
SHUTDOWN_REASON: Final = "client is shutting down"
SHUTDOWN_WAIT: Final = 2.0
"""Seconds that the cancels of a quit may take to leave before the connection is closed."""

BATCH: Final = 25
"""Requests that are cancelled in one turn of the loop: two or three milliseconds' worth."""

BREATH: Final = 0.002
"""Seconds between two batches, in which keys are heard and the screen is drawn."""


class Client(Wiring):
    """One server, its requests, and everything that came of them.

    ``disconnected`` is set while there is no connection any more, and ``last_words`` says why the last one ended.
    ``speaking`` is the revision that requests claim by their headers: the negotiated one, or the probe's before that.
    ``mirrors`` are the header annotations of the tools that were listed, ``task_support`` what each says of tasks.
    ``respond`` answers what the server asks of a person; what it is told to expect is in ``settings.offers``.

    A client survives its connection: after a loss :meth:`connect` opens another one, with the same books and new ids.
    Where an HTTP server ended its session alone, ``renewal`` opens a new one by itself.
    ``store`` keeps what happens; ``now`` is a monotonic clock in seconds, the event loop's.
    """

    def __init__(
        self,
        target: Target,
        settings: ClientSettings | None = None,
        *,
        store: Store | None = None,
        respond: Respond | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(target, settings or ClientSettings(), store or Store(), now)
        self.interactions = Interactions(self, respond)
        self.renewal = Renewal(self)
        self.subscriptions = Subscriptions(self)

    # -- the connection --------------------------------------------------------------------------------------

    @property
    def connected(self) -> bool:
        """Whether the connection is ready for requests."""
        return self.info is not None

    @property
    def revision(self) -> Revision | None:
        """The negotiated revision, ``None`` before that."""
        return self.ledger.revision

    async def connect(self) -> connecting.ServerInfo:
        """Open the connection and settle on a revision, within ``connect_timeout``.

        Raises:
            Unauthorized: the server wants authorization.
            NoCommonRevision: no revision in common.
            TransportError: everything else that keeps a session from coming about, in one sentence.
        """
        await self.renewal.stop()
        return await connecting.connect(self)

    async def close(self) -> None:
        """Cancel what is in flight, wait for those cancels to leave (at most two seconds), and end the connection."""
        await self.cancel_all(Cause.SHUTDOWN, SHUTDOWN_REASON)
        await self.renewal.stop()
        await self.disconnect()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = self._timer_at = None
        self.store.flush()

    async def terminate(self) -> None:
        """End the connection without waiting for the server: a process is sent SIGTERM, and SIGKILL half a second later."""
        if self.transport is not None:
            await self.transport.terminate()

    async def disconnect(self) -> None:
        """End the connection at once, and wait until nothing is left of it, or of one that ended by itself."""
        if self.transport is not None:
            await self.transport.close()
        if self._ended is not None:
            await self._ended.close()
            self._ended = None

    async def cancel_all(self, cause: Cause, reason: str, ids: Sequence[RequestId] | None = None) -> int:
        """Cancel everything in flight, or ``ids``, and wait, at most two seconds, until the signals have left.

        Many are cancelled in batches, so that they hold nothing up; what ends meanwhile is left alone. How many there were.
        """
        ids = [row.id for row in self.book.order if row.open] if ids is None else ids
        for number, id_ in enumerate(ids, 1):
            self.cancel(id_, cause, reason)
            if number % BATCH == 0:
                await asyncio.sleep(BREATH)
        pending = [
            row for row in self.book.order if row.state is State.CANCEL_REQUESTED and row.signal is None
        ]
        until = self.now() + SHUTDOWN_WAIT
        while any(
            row.signal is None and not row.undelivered and row.state is State.CANCEL_REQUESTED
            for row in pending
        ):
            if self.now() >= until:
                break
            await asyncio.sleep(0.01)
        return len(ids)

    # -- requests --------------------------------------------------------------------------------------------

    def call(
        self, method: str, params: Json = None, *, limits: ev.Limits | None = None, internal: bool = False
    ) -> RequestId:
        """Send a request; returns its id at once. ``own`` marks requests that the client makes for itself.

        A tool that takes no other call than one as a task gets that, whoever calls it (tasks, 2025-11-25).
        """
        at = self.now()
        if method == "tools/call":
            params = self._as_task(params)
        if self.settings.trace:
            params = traced(params)
        id_ = self.ledger.call(
            method, params, limits=limits or self.settings.limits, internal=internal, at=at
        )
        if self.transport is None and not self.renewal.active:
            self.ledger.refused(id_, "not connected", at=at)
        self._drain()
        return id_

    def call_tool(
        self,
        name: str,
        arguments: dict[str, Json],
        *,
        limits: ev.Limits | None = None,
        task: bool = False,
    ) -> RequestId:
        """Call a tool: ``tools/call`` with its name and arguments.

        ``task`` asks for a task where the tool takes such a call (2025-11-25).
        """
        params: dict[str, Json] = {"name": name, "arguments": arguments}
        if task and self.may_be_task(name):
            params["task"] = {}
        return self.call("tools/call", params, limits=limits)

    def _as_task(self, params: Json) -> Json:
        given = messages.as_object(params)
        name = given.get("name")
        must = isinstance(name, str) and self.task_support.get(name) == "required" and self.may_be_task(name)
        return {"task": {}, **given} if must else params

    def may_be_task(self, name: str) -> bool:
        """Whether a tool may be called as a task (tasks, 2025-11-25, "Tool-Level Negotiation")."""
        if self.info is None or self.info.revision.name != "2025-11-25":
            return False
        requests = messages.as_object(messages.as_object(self.info.capabilities.get("tasks")).get("requests"))
        offered = "call" in messages.as_object(requests.get("tools"))
        return offered and self.task_support.get(name) in ("required", "optional")

    async def every(self, what: str) -> list[dict[str, Json]]:
        """All entries of a list, every page, as the server sent them: ``tools``, ``resources``, ``templates``, ``prompts``.

        Raises:
            ListFailed: a page failed, timed out, was cancelled or lost.
        """
        return await catalogue.every(self, what)

    def cancel(
        self,
        id: RequestId,
        cause: Cause = Cause.USER,
        reason: str = DEFAULT_REASON,
        *,
        leave: bool = False,
    ) -> CancelOutcome:
        """Cancel a request: its row changes now, the signal leaves ahead of everything queued.

        What no signal can cancel is refused to a person; with ``leave`` it is waited for no more instead.
        """
        outcome = self.ledger.cancel(id, cause, reason, at=self.now(), leave=leave)
        self._drain()
        return outcome

    def resume_task(self, task_id: str) -> RequestId:
        """Take up a task that an earlier session left: its row becomes the task again with the server's answer."""
        return self.call("tasks/get", {"taskId": task_id})

    def set_log_level(self, level: str) -> RequestId | None:
        """Have the server log from ``level`` on: asked for at once, or in 2026-07-28 with each request from here on.

        The request that asks for it; ``None`` where there is none.
        """
        self.settings = replace(self.settings, log_level=level)
        if self.revision is not None and self.revision.modern:
            if level:
                self.ledger.meta[LOG_LEVEL] = level
            else:
                self.ledger.meta.pop(LOG_LEVEL, None)
            return None
        return self.call("logging/setLevel", {"level": level}) if level else None

    def cancellation(self, row: Request) -> Cancellation:
        """How a cancel of this request would leave, and what would become of a reason."""
        ledger = self.ledger
        task = row.as_task or bool(row.task_id)
        possible = ledger.can_cancel_tasks or (bool(row.task_id) and not row.task_core)
        between = row.state is State.AWAITING_INPUT
        return cancellation(
            ledger.revision, ledger.transport, row.method, task=task, possible=possible, between=between
        )

    def stop_waiting(self, id: RequestId) -> bool:
        """Watch a task no more and let it run: not a cancel."""
        return self._drained(self.ledger.stop_waiting(id, at=self.now()))

    def answer(
        self,
        request_id: RequestId,
        value: Json = None,
        *,
        code: int | None = None,
        text: str = "",
        how: str = "",
    ) -> bool:
        """Answer a request of the server's; false where it waits for no answer any more."""
        return self._drained(
            self.ledger.answer(request_id, value, code=code, text=text, how=how, at=self.now())
        )

    def supply(self, id: RequestId, responses: dict[str, Json]) -> bool:
        """Go on with a request for which the server asked for input; false where it waits for none any more."""
        return self._drained(self.ledger.supply(id, responses, at=self.now()))

    def update_task(self, id: RequestId, responses: dict[str, Json]) -> bool:
        """Answer a task's questions; false where it waits for none any more."""
        return self._drained(self.ledger.update(id, responses, at=self.now()))

    def unanswered(self, id: RequestId, keys: Iterable[str]) -> None:
        """Leave questions of a task without an answer: its clocks run on, and the task can be cancelled."""
        self.ledger.unanswered(id, keys, at=self.now())
        self._drain()

    def give_up(self, id: RequestId, text: str) -> bool:
        """End a request that cannot go on without what we do not have; false where it does not wait."""
        return self._drained(self.ledger.give_up(id, text, at=self.now()))

    def extend(self, id: RequestId, seconds: float | None) -> bool:
        """Give a request ``seconds`` more before its nearest limit, or lift its limits with ``None``."""
        extended = self.ledger.extend(id, seconds, at=self.now())
        self._drain()
        return extended

    async def wait(self, id: RequestId) -> ResponseFrame | None:
        """Wait until a request's outcome stands, or until it shows that its cancel cannot be delivered.

        The response if it counts: a late one is evidence, and never returned.
        """
        row = self.book.get(id)
        if row is None:
            raise KeyError(id)
        future = self._waiting.get(id)
        if future is None:
            if id in self._resolved or self.undelivered(id):
                return self._stored_response(row)
            future = self._waiting[id] = asyncio.get_running_loop().create_future()
        return await asyncio.shield(future)

    async def request(
        self, method: str, params: Json = None, *, limits: ev.Limits | None = None, internal: bool = False
    ) -> ResponseFrame | None:
        """Send a request and wait for its response; ``None`` where none came in time."""
        return await self.wait(self.call(method, params, limits=limits, internal=internal))

    def _stored_response(self, row: Request) -> ResponseFrame | None:
        raw = self.store.payload(row.response_seq) if row.response_seq and row.rule is None else None
        frame = None if raw is None else messages.parse(raw)
        if row.task_id and not row.task_core and isinstance(frame, ResponseFrame):
            inside = messages.as_object(frame.result).get("result")  # the answer to a poll brought it
            return (
                ResponseFrame(id=row.id, result=inside, size=frame.size) if isinstance(inside, dict) else None
            )
        if isinstance(frame, messages.Batch):
            answers = (each for each in frame.frames if isinstance(each, ResponseFrame))
            return next((each for each in answers if each.id == row.id), None)
        return frame if isinstance(frame, ResponseFrame) else None

    def notify(self, method: str, params: Json = None) -> None:
        """Send a notification."""
        message = messages.notification(method, params)
        if self.transport is not None:
            self.transport.send(self._outgoing(message, method, None))
        self._drain()

    async def delivered(self, method: str, params: Json = None) -> None:
        """Send a notification and wait until it was written, or over HTTP taken or refused."""
        future = self._delivered[method] = asyncio.get_running_loop().create_future()
        self.notify(method, params)
        await future

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Be told every event as it happens; the result ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def tell(self, event: ev.Event) -> None:
        """Put an event of the connection into the store and tell it to the listeners."""
        self._tell(event)

    async def relist(self, id_: RequestId) -> None:
        """List the tools for their header annotations, and send again what was refused (streamable HTTP, 2026-07-28)."""
        try:
            await catalogue.every(self, "tools")
        except catalogue.ListFailed as error:
            self.give_up(id_, f"the server wants other headers, and tools/list does not say which: {error}")
            return
        self.ledger.resend(id_)
        self._drain()
