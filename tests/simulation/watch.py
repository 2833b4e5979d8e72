"""Whoever watches a schedule: books of its own, kept from the wire and from the events, and the invariants.

The numbers are those of the ten invariants:

1. a terminal state never changes;
2. at most one cancel for an id, only for one whose writing has begun, never for ``initialize``;
3. a request with a maximum ends within it and the grace, or says that its signal cannot be written;
4. what comes for an id after its cancel or timeout is late, is told each time and delivered never; a reply that comes while
   the signal is still queued withdraws it and completes the call;
5. ids are never used twice;
6. the events alone make the same rows, from memory and from a recording;
7. over HTTP 2026-07-28 a cancel closes its stream and sends nothing, and before that no closed stream is a cancel;
8. after the connection closed nothing is in flight;
9. the time shown is the difference of two clock readings and stands still at the end;
10. who waits is told once, and nothing is left running: no task, no timer.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final, cast

from mcp_tui.client.client import Client
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, RequestId, Signal
from mcp_tui.protocol.messages import ResponseFrame
from mcp_tui.protocol.requests import TERMINAL, Book, IllegalTransition, Request, State
from mcp_tui.transport import base
from tests.simulation.world import Broken, World

SLACK: Final = 0.005
"""Seconds that the turns of the loop may take between a deadline and its effect."""

GRACE: Final = 2.0
"""Seconds after which a signal that has not left must be said to be undelivered, at least."""


@dataclass(slots=True)
class Seen:
    """What was seen of one of our requests."""

    method: str = ""
    token: Any = None
    heard_at: float = 0.0
    progress: float | None = None
    cancelled_at: float | None = None
    ended_at: float | None = None
    exact: bool = True
    written: bool = False
    left: bool = False
    answered: bool = False
    shown: float | None = None


class Watch:
    """Watches one client. Every check raises :class:`Broken`; the first one is kept and ends the schedule."""

    def __init__(self, world: World, client: Client) -> None:
        self.world = world
        self.client = client
        self.shadow = Book()
        self.seen: dict[RequestId, Seen] = {}
        self.signals: Counter[RequestId] = Counter()
        self.told: dict[tuple[RequestId, int], bool] = {}
        self.waiters: Counter[RequestId] = Counter()
        self.broken: Broken | None = None
        self.closing = False
        self.last_at = 0.0
        self._during: list[ev.Event] = []
        self._progress: tuple[Any, Any] | None = None
        self._notified = False
        client.listen(self._guarded_event)

    def fail(self, number: int, text: str) -> None:
        if self.broken is None:
            self.broken = Broken(f"invariant {number}: {text}")
            self.world.say("BROKEN", str(self.broken))

    def expect(self, number: int, true: object, text: str) -> None:
        if not true:
            self.fail(number, text)

    def of(self, id: RequestId) -> Seen:
        return self.seen.setdefault(id, Seen())

    # -- the wire --------------------------------------------------------------------------------------------

    def begins(self, data: bytes) -> None:
        """Whole lines begin to be written to a pipe."""
        for line in data.splitlines():
            self.world.say("client", line)
            self.posts(json.loads(line))

    def posts(self, message: dict[str, Any]) -> None:
        """The first byte of a message leaves."""
        method = message.get("method")
        if method == "notifications/cancelled":
            self._cancel_leaves(message["params"])
        elif method is not None and "id" in message:
            seen = self.of(message["id"])
            self.expect(5, not seen.written, f"the id {message['id']} was used before")
            seen.written, seen.method = True, method
            seen.token = message.get("params", {}).get("_meta", {}).get("progressToken")
        elif method is None:
            revision = self.client.revision
            modern = revision is not None and revision.modern
            self.expect(2, not modern, "a request of a server of 2026-07-28 was answered")

    def _cancel_leaves(self, params: dict[str, Any]) -> None:
        id_ = params["requestId"]
        seen, row = self.of(id_), self.client.book.get(id_)
        self.signals[id_] += 1
        self.expect(2, self.signals[id_] == 1, f"a second cancel for {id_}")
        self.expect(2, seen.written, f"a cancel for {id_}, of which nothing was written")
        self.expect(2, seen.method != "initialize", "a cancel for initialize")
        self.expect(2, not seen.answered, f"a cancel for {id_}, which had its answer")
        self.expect(7, not self._closes_streams(), f"a notification for {id_} over HTTP 2026-07-28")
        given_up = row is not None and row.state in (State.CANCEL_REQUESTED, State.CANCELLED)
        self.expect(2, given_up, f"a cancel for {id_}, which is not cancelled")
        if row is not None:
            self.expect(2, params.get("reason", "") == row.reason, f"another reason for {id_}")

    def closes(self, message: dict[str, Any] | None) -> None:
        """The client closed an exchange that was not over."""
        if message is None or "id" not in message or "method" not in message or self.closing:
            return
        row = self.client.book.get(message["id"])
        transport = self.client.transport
        if row is None or self.world.plan.kind == "sse" or vars(transport or self).get("_closing", True):
            return
        self.expect(1, not row.open, f"the stream of {row.id}, which is in flight, was closed")
        handshake = self.client.revision is not None and not self.client.revision.modern
        if handshake and row.state is State.CANCEL_REQUESTED:
            self.fail(7, f"the stream of {row.id} was closed for a cancel before 2026-07-28")

    def _closes_streams(self) -> bool:
        revision = self.client.revision
        return self.world.plan.kind == "http" and (revision is None or revision.modern)

    # -- what the transport tells ----------------------------------------------------------------------------

    def receive(self, item: base.Item) -> None:
        """Stands between a transport and the client's callback."""
        before = self._before(item)
        self._during = []
        Client.receive(self.client, item)
        self._progress, self._notified = None, False
        if isinstance(item, base.SignalLeaving | base.SignalFailed):
            self.of(item.id).left = True
        elif isinstance(item, base.Closed):
            self.nothing_in_flight()
        if before is not None:
            self._after_response(*before)

    def _before(self, item: base.Item) -> tuple[Seen, Request, State] | None:
        if not isinstance(item, base.Received):
            return None
        try:
            value: Any = json.loads(item.raw)
        except ValueError:
            return None
        if not isinstance(value, dict):
            return None
        message = cast("dict[str, Any]", value)
        if message.get("method") == "notifications/progress":
            params = message.get("params", {})
            self._progress = params.get("progressToken"), params.get("progress")
        self._notified = "method" in message
        id_ = message.get("id")
        whole = ("result" in message) != ("error" in message) and isinstance(message.get("error", {}), dict)
        if "method" in message or type(id_) is not int or not whole or item.stream not in (None, id_):
            return None
        row = self.client.book.get(id_)
        return None if row is None else (self.of(id_), row, row.state)

    def _after_response(self, seen: Seen, row: Request, before: State) -> None:
        kinds = {
            type(event)
            for event in self._during
            if isinstance(event, ev.RequestEvent | ev.Violation) and event.id == row.id
        }
        ended = bool(kinds & {ev.Completed, ev.Failed})
        evidence = bool(kinds & {ev.Late, ev.Duplicate})
        if not seen.written:
            self.expect(4, not ended, f"a response ended {row.id}, which was never written")
        elif before in (State.IN_FLIGHT, State.QUEUED):
            self.expect(4, ended and not evidence, f"the response to {row.id} did not end it")
        elif before is State.CANCEL_REQUESTED and not seen.left and not self._closes_streams():
            text = f"the response to {row.id}, whose signal had not left, did not complete it"
            self.expect(4, ended and ev.CancelWithdrawn in kinds, text)
        else:
            self.expect(
                4, evidence and not ended, f"a response to {row.id} in {before.value} was not evidence"
            )
        seen.answered = True

    def nothing_in_flight(self) -> None:
        for row in self.client.book.order:
            if row.state not in TERMINAL:
                self.fail(8, f"{row.id} is {row.state.value} behind the end of the connection")

    # -- events ----------------------------------------------------------------------------------------------

    def _guarded_event(self, event: ev.Event) -> None:
        self.world.say("event", event)
        self._during.append(event)
        self.expect(9, self.last_at <= event.at <= self.world.loop.now, f"{event} out of time")
        self.last_at = event.at
        if isinstance(event, ev.RequestEvent):
            self._event(event)
        elif isinstance(event, ev.Disconnected):
            self.nothing_in_flight()

    def _event(self, event: ev.RequestEvent) -> None:
        row = self.shadow.get(event.id)
        if isinstance(event, ev.Called):
            self.expect(5, row is None, f"the id {event.id} was issued before")
        before = None if row is None else row.state
        try:
            row = self.shadow.apply(event)
        except IllegalTransition as error:
            self.fail(1, str(error))
            return
        assert row is not None
        seen = self.of(event.id)
        if self._notified and row.state is not before and before is not None:
            self.expect(
                1, isinstance(event, ev.Sent), f"a request or notification of the server's moved {row.id}"
            )
        if before in TERMINAL:
            self.expect(1, row.state is before, f"{row.id} went from {before.value} to {row.state.value}")
        self._timely(event, row, seen, before)
        match event:
            case ev.Sent():
                seen.heard_at = event.at
            case ev.Progress():
                self._progressed(event, seen)
            case ev.Extended() | ev.Paused() | ev.Resumed():
                seen.exact = False
            case ev.CancelRequested():
                self._cancelled(event, row, seen)
            case ev.CancelWithdrawn():
                self.expect(4, not seen.left, f"the cancel of {row.id} was withdrawn after it had left")
                seen.cancelled_at = seen.ended_at = None
                seen.exact = False
            case ev.CancelSignalled():
                self._signalled(event, seen)
            case ev.Completed() | ev.Failed():
                self.expect(4, seen.cancelled_at is None, f"{row.id} was revived after its cancel")
                seen.ended_at = event.at
            case ev.Lost():
                seen.ended_at = event.at
            case ev.Late():
                self.expect(
                    4, seen.ended_at is not None, f"{row.id} was not given up, and something was late"
                )
                since = event.at if seen.ended_at is None else seen.ended_at
                self.expect(9, abs(event.after - (event.at - since)) < SLACK, f"a lag of {event.after}")
            case _:
                pass

    def _progressed(self, event: ev.Progress, seen: Seen) -> None:
        token, value = self._progress or (None, None)
        own = type(token) is type(seen.token) and token == seen.token and value == event.progress
        self.expect(3, own, f"progress of {token!r} moved {event.id}, whose token is {seen.token!r}")
        increasing = seen.progress is None or event.progress > seen.progress
        self.expect(3, increasing, f"progress {event.progress} after {seen.progress} moved {event.id}")
        seen.progress, seen.heard_at = event.progress, event.at

    def _timely(self, event: ev.RequestEvent, row: Request, seen: Seen, before: State | None) -> None:
        """Nothing may happen to a request in flight after its deadline but the end of it."""
        if before is not State.IN_FLIGHT or row.sent_at is None or not seen.exact:
            return
        limits, due = row.limits, float("inf")
        if limits.maximum is not None:
            due = row.sent_at + limits.maximum
        if limits.idle is not None:
            due = min(due, seen.heard_at + limits.idle + limits.ask)
        self.expect(3, event.at <= due + SLACK, f"{row.id} is past its limit by {event.at - due:.3f} s")

    def _cancelled(self, event: ev.CancelRequested, row: Request, seen: Seen) -> None:
        self.expect(2, seen.cancelled_at is None, f"{row.id} was cancelled twice")
        seen.cancelled_at = seen.ended_at = event.at
        if not seen.exact or row.sent_at is None:
            return
        limits = row.limits
        if event.cause is Cause.TIMEOUT and limits.idle is not None:
            due = seen.heard_at + limits.idle
            self.expect(3, event.at >= due - SLACK, f"{row.id} timed out {due - event.at:.3f} s too early")
        elif event.cause is Cause.MAX_TIMEOUT and limits.maximum is not None:
            due = row.sent_at + limits.maximum
            self.expect(3, event.at >= due - SLACK, f"{row.id} was ended {due - event.at:.3f} s too early")

    def _signalled(self, event: ev.CancelSignalled, seen: Seen) -> None:
        if event.signal is Signal.NONE:
            return
        way = Signal.STREAM_CLOSED if self._closes_streams() else Signal.NOTIFICATION
        self.expect(7, event.signal is way, f"{event.id} was cancelled by {event.signal.value}")
        if event.signal is Signal.NOTIFICATION:
            self.expect(2, self.signals[event.id] == 1, f"{event.id} was not told to the server")
        self.expect(2, seen.written, f"{event.id} was cancelled, of which nothing was written")

    # -- callers ---------------------------------------------------------------------------------------------

    async def wait(self, id: RequestId) -> None:
        """Wait for a request as a caller does."""
        number = self.waiters[id] = self.waiters[id] + 1
        frame = await self.client.wait(id)
        self.expect(10, (id, number) not in self.told, f"a caller of {id} was told twice")
        self.told[id, number] = True
        row = self.client.book.get(id)
        assert row is not None
        if isinstance(frame, ResponseFrame):
            counts = row.state in (State.COMPLETED, State.FAILED) and self.of(id).cancelled_at is None
            self.expect(4, counts, f"a caller of {id} was given a response that does not count")
        else:
            self.expect(4, row.state is not State.COMPLETED, f"a caller of {id} was not given its result")

    # -- the end ---------------------------------------------------------------------------------------------

    def shown(self) -> None:
        """Remember the times of what is over."""
        for row in self.client.book.order:
            if row.ended_at is not None and row.state in TERMINAL:
                self.of(row.id).shown = row.elapsed(self.client.now())

    def quiet(self) -> None:
        """Long after the last limit nothing is in flight, unless it says why."""
        for row in self.client.book.order:
            if row.open:
                excused = row.limits.maximum is None or row.paused_at is not None or row.own
                self.expect(3, excused, f"{row.id} is still {row.state.value}, long after its limits")
            elif row.state is State.CANCEL_REQUESTED:
                told = row.undelivered or row.own
                self.expect(3, told, f"{row.id} is still cancel_requested, without a word")

    def over(self) -> None:
        """The connection is closed, and everything with it."""
        self.nothing_in_flight()
        for row in self.client.book.order:
            seen = self.of(row.id)
            if seen.shown is not None:
                same = row.elapsed(self.client.now()) == seen.shown
                self.expect(9, same, f"the time of {row.id} goes on after its end")
            in_time = row.settled_at is None or row.signalled_at is None or row.signal is Signal.NONE
            late_by = 0.0 if in_time else (row.settled_at or 0.0) - (row.signalled_at or 0.0)
            grace = max(self.world.plan.grace, GRACE)
            self.expect(3, late_by <= grace + SLACK, f"{row.id} settled {late_by:.3f} s after its signal")
        for id_, count in self.waiters.items():
            told = sum(1 for number in range(1, count + 1) if (id_, number) in self.told)
            self.expect(10, told == count, f"{count - told} callers of {id_} were never told")
        self.expect(6, self.shadow.rows == self.client.book.rows, "the events make other rows")
