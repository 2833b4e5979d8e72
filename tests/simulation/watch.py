"""Whoever watches a schedule: records of its own, kept from the wire and from the events, and the invariants.

What the ledger alone decides, :mod:`tests.protocol.witness` sees to: answers to the server, and the cancels of tasks. The
numbers here are those of the invariants:

1. a terminal state never changes;
2. at most one cancel for an id, only for one whose writing has begun, never for ``initialize``;
3. a request with a maximum ends within it and the grace, or says that its signal cannot be written;
4. what comes for an id after its cancel or timeout is late, is told each time and delivered never; a reply that comes while
   the signal is still queued withdraws it and completes the call;
5. ids are never used twice, not even by the rounds of one request;
6. the events alone make the same rows, from memory and from a recording;
7. over HTTP 2026-07-28 a cancel closes its stream and sends nothing, and before that no closed stream is a cancel;
8. after the connection closed nothing is in flight, though it may wait for a new session;
9. the time shown is the difference of two clock readings and stands still at the end;
10. who waits is told once, and nothing is left running: no task, no timer;
11. every word about a cancelled request has the event that shows it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any, Final, cast

from mcp_tui.client.client import Client
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, RequestId, Signal
from mcp_tui.protocol.messages import ResponseFrame
from mcp_tui.protocol.requests import TERMINAL, Request, Requests, State
from mcp_tui.protocol.transitions import IllegalTransition
from tests.protocol import claims
from tests.servers import recorder
from tests.simulation.world import Broken, World

SLACK: Final = 0.005
"""Seconds that the turns of the loop may take between a deadline and its effect."""

GRACE: Final = 2.0
"""Seconds after which a signal that has not left must be said to be delayed, at least."""


@dataclass(slots=True)
class Seen:
    """What was seen of one of our requests, and of its last round on the wire.

    ``wire`` is the id of that round; ``began`` is whether any round was written.
    """

    method: str = ""
    wire: RequestId = 0
    began: bool = False
    token: Any = None
    received_at: float = 0.0
    progress: float | None = None
    cancelled_at: float | None = None
    signalled_at: float | None = None
    ended_at: float | None = None
    exact: bool = True
    written: bool = False
    left: bool = False
    answered: bool = False
    shown: float | None = None


class _Methods:
    """The methods of a client, and not what stands before them."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(Client, name).__get__(self._client)


class Watch:
    """Watches one client. Every check raises :class:`Broken`; the first one is kept and ends the schedule."""

    def __init__(self, world: World, client: Client) -> None:
        self.world = world
        self.client = client
        self.shadow = Requests()
        self.events: defaultdict[RequestId, list[ev.Event]] = defaultdict(list)
        self.seen: defaultdict[RequestId, Seen] = defaultdict(Seen)
        self.later_rounds: dict[RequestId, RequestId] = {}
        self.written: set[RequestId] = set()
        self.signals: Counter[RequestId] = Counter()
        self.told: dict[tuple[RequestId, int], bool] = {}
        self.waiters: Counter[RequestId] = Counter()
        self.broken: Broken | None = None
        self.closing = False
        self.last_at = 0.0
        self._during: list[ev.Event] = []
        self._nested = 0
        self._progress: tuple[Any, Any] | None = None
        self._notified = False
        self._further = False
        client.listen(self._guarded_event)

    def fail(self, number: int, text: str) -> None:
        if self.broken is None:
            self.broken = Broken(f"invariant {number}: {text}")
            self.world.say("BROKEN", str(self.broken))

    def expect(self, number: int, true: object, text: str, *of: object) -> None:
        """Fails unless ``true``; ``of`` are put into the braces of ``text`` only then."""
        if not true:
            self.fail(number, text.format(*of))

    def of(self, id: RequestId) -> Seen:
        return self.seen[id]

    def home(self, wire: RequestId) -> RequestId:
        """The id of the request that an id on the wire belongs to, be it that of a later round."""
        return self.later_rounds.get(wire, wire)

    def row(self, wire: RequestId) -> Request | None:
        """The request that an id on the wire belongs to."""
        return self.client.requests.get(self.home(wire))

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
            wire = message["id"]
            seen = self.of(self.home(wire))
            self.expect(5, wire not in self.written, "the id {} was used before", wire)
            self.written.add(wire)
            seen.written, seen.began, seen.method, seen.wire = True, True, method, wire
            seen.token = message.get("params", {}).get("_meta", {}).get("progressToken")

    def _cancel_leaves(self, params: dict[str, Any]) -> None:
        id_, row = self.home(params["requestId"]), self.row(params["requestId"])
        seen = self.of(id_)
        self.signals[id_] += 1
        self.expect(2, self.signals[id_] == 1, "a second cancel for {}", id_)
        self.expect(2, seen.written, "a cancel for {}, of which nothing was written", id_)
        self.expect(2, seen.method != "initialize", "a cancel for initialize")
        self.expect(2, not seen.answered, "a cancel for {}, which had its answer", id_)
        self.expect(7, not self._closes_streams(), "a notification for {} over HTTP 2026-07-28", id_)
        given_up = row is not None and row.state in (State.CANCEL_REQUESTED, State.CANCELLED)
        self.expect(2, given_up, "a cancel for {}, which is not cancelled", id_)
        self.expect(2, seen.wire == params["requestId"], "a cancel for an earlier round of {}", id_)
        if row is not None:
            self.expect(2, params.get("reason", "") == row.reason, "another reason for {}", id_)

    def closes(self, message: dict[str, Any] | None) -> None:
        """The client closed an exchange that was not over."""
        if message is None or "id" not in message or "method" not in message or self.closing:
            return
        row = self.row(message["id"])
        transport = self.client.transport
        if (
            row is None
            or row.wire_id != message["id"]
            or self.world.plan.kind == "sse"
            or vars(transport or self).get("_closing", True)
        ):
            return
        self.expect(
            1, row.state is not State.IN_FLIGHT, "the stream of {}, which is in flight, was closed", row.id
        )
        handshake = self.client.revision is not None and not self.client.revision.modern
        if handshake and row.state is State.CANCEL_REQUESTED:
            self.fail(7, f"the stream of {row.id} was closed for a cancel before 2026-07-28")

    def _closes_streams(self) -> bool:
        revision = self.client.revision
        return self.world.plan.kind == "http" and (revision is None or revision.modern)

    # -- what the transport tells ----------------------------------------------------------------------------

    def receive(self, item: recorder.Item) -> None:
        """Stands between a transport and the client."""
        before = self._before(item)
        # what is written at once is reported in the middle of another item
        outer: list[ev.Event] = self._during if self._nested else []
        self._during = []
        self._nested += 1
        recorder.report(_Methods(self.client), item)
        self._nested -= 1
        self._progress, self._notified = None, False
        if isinstance(item, recorder.SignalLeaving | recorder.SignalFailed):
            assert item.id is not None
            self.of(self.home(item.id)).left = True
        elif isinstance(item, recorder.Closed):
            self.nothing_in_flight()
        if before is not None:
            self._after_response(*before)
        self._during = outer + self._during

    def _before(self, item: recorder.Item) -> tuple[Seen, Request, State | None] | None:
        if not isinstance(item, recorder.Received):
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
        row = self.row(id_)
        if row is None:
            return None
        revision = self.client.revision
        fields = cast("dict[str, Any]", message.get("result", {}))
        typed = fields.get("resultType") in ("input_required", "task")
        self._further = typed if revision is not None and revision.modern else "task" in fields
        return self.of(row.id), row, row.state if row.wire_id == id_ else None

    def _after_response(self, seen: Seen, row: Request, before: State | None) -> None:
        """``before`` is the state in which it found its request, ``None`` where it answers an earlier round."""
        kinds = {
            type(event)
            for event in self._during
            if isinstance(event, ev.RequestEvent | ev.Violation) and event.id == row.id
        }
        ended = bool(kinds & {ev.Completed, ev.Failed, ev.InputRequired})
        ended = ended or (ev.TaskCreated in kinds and before in (State.IN_FLIGHT, State.QUEUED))
        stays = self._further or row.task_id  # then the cancel stands, by another signal
        evidence = bool(kinds & {ev.Late, ev.Duplicate})
        if before is None:
            self.expect(
                4, evidence and not ended, "a second response to a round of {} was not evidence", row.id
            )
            return
        if not seen.written:
            self.expect(4, not ended, "a response ended {}, which was never written", row.id)
        elif before in (State.IN_FLIGHT, State.QUEUED):
            self.expect(4, ended and not evidence, "the response to {} did not end it", row.id)
        elif before is State.CANCEL_REQUESTED and not seen.left and not self._closes_streams() and not stays:
            text = f"the response to {row.id}, whose signal had not left, did not complete it"
            self.expect(4, ended and ev.CancelWithdrawn in kinds, text)
        else:
            self.expect(
                4, evidence and not ended, "a response to {} in {} was not evidence", row.id, before.value
            )
        seen.answered = True

    def nothing_in_flight(self) -> None:
        """But for what was asked for while a new session is opened, of which nothing has left."""
        renewal = self.client.renewal
        for row in self.client.requests.order:
            deferred = renewal.active and row.id in renewal.deferred and not self.of(row.id).began
            if row.state not in TERMINAL and not deferred:
                self.fail(8, f"{row.id} is {row.state.value} behind the end of the connection")

    # -- events ----------------------------------------------------------------------------------------------

    def _guarded_event(self, event: ev.Event) -> None:
        self.world.say("event", event)
        self._during.append(event)
        self.expect(9, self.last_at <= event.at <= self.world.loop.now, "{} out of time", event)
        self.last_at = event.at
        if isinstance(event, ev.RequestEvent):
            self._event(event)
        elif isinstance(event, ev.Disconnected):
            self.nothing_in_flight()

    def _event(self, event: ev.RequestEvent) -> None:
        row = self.shadow.get(event.id)
        if isinstance(event, ev.Called):
            self.expect(5, row is None, "the id {} was issued before", event.id)
        before = None if row is None else row.state
        try:
            row = self.shadow.apply(event)
        except IllegalTransition as error:
            self.fail(1, str(error))
            return
        assert row is not None
        self.events[event.id].append(event)
        seen = self.of(event.id)
        if self._notified and row.state is not before and before is not None:
            self.expect(
                1, isinstance(event, ev.Sent), "a request or notification of the server's moved {}", row.id
            )
        if before in TERMINAL:
            self.expect(
                1, row.state is before, "{} went from {} to {}", row.id, before.value, row.state.value
            )
        self._timely(event, row, seen, before)
        self._moved(event, row, seen)

    def _moved(self, event: ev.RequestEvent, row: Request, seen: Seen) -> None:
        match event:
            case ev.Sent():
                seen.received_at = event.at
            case ev.Progress():
                self._progressed(event, seen)
            case ev.Extended() | ev.Paused() | ev.Resumed() | ev.InputRequired() | ev.TaskCreated():
                seen.exact = False
            case ev.Round():
                self.later_rounds[event.wire_id] = event.id
                seen.written = seen.left = seen.answered = False
                seen.progress = None
            case ev.CancelRequested():
                self._cancelled(event, row, seen)
            case ev.CancelWithdrawn():
                self.expect(4, not seen.left, "the cancel of {} was withdrawn after it had left", row.id)
                seen.cancelled_at = seen.ended_at = None
                seen.exact = False
            case ev.CancelSignalled():
                self._signalled(event, seen)
            case ev.Completed() | ev.Failed():
                self.expect(4, seen.cancelled_at is None, "{} was revived after its cancel", row.id)
                seen.ended_at = event.at
            case ev.Lost():
                seen.ended_at = event.at
            case ev.Late():
                self._lagged(event, seen)
            case _:
                pass

    def _lagged(self, event: ev.Late, seen: Seen) -> None:
        self.expect(4, seen.ended_at is not None, "{} was not given up, and something was late", event.id)
        since = event.at if seen.ended_at is None else seen.ended_at
        if seen.cancelled_at is not None and seen.signalled_at is not None:
            since = seen.signalled_at  # counted from the writing of the cancel
        self.expect(9, abs(event.after - (event.at - since)) < SLACK, "a lag of {}", event.after)

    def _progressed(self, event: ev.Progress, seen: Seen) -> None:
        token, value = self._progress or (None, None)
        alike = token == seen.token or str(token) == str(seen.token)  # "4" and 4.0 stand for 4
        own = alike and not isinstance(token, bool) and value == event.progress
        self.expect(3, own, "progress of {!r} moved {}, whose token is {!r}", token, event.id, seen.token)
        increasing = seen.progress is None or event.progress > seen.progress
        self.expect(3, increasing, "progress {} after {} moved {}", event.progress, seen.progress, event.id)
        seen.progress, seen.received_at = event.progress, event.at

    def _timely(self, event: ev.RequestEvent, row: Request, seen: Seen, before: State | None) -> None:
        """Nothing may happen to a request in flight after its deadline but the end of it."""
        if before is not State.IN_FLIGHT or row.sent_at is None or not seen.exact:
            return
        limits, due = row.limits, float("inf")
        if limits.max_timeout is not None:
            due = row.sent_at + limits.max_timeout
        if limits.timeout is not None:
            due = min(due, seen.received_at + limits.timeout + limits.ask)
        self.expect(3, event.at <= due + SLACK, "{} is past its limit by {:.3f} s", row.id, event.at - due)

    def _cancelled(self, event: ev.CancelRequested, row: Request, seen: Seen) -> None:
        self.expect(2, seen.cancelled_at is None, "{} was cancelled twice", row.id)
        seen.cancelled_at = seen.ended_at = event.at
        if not seen.exact or row.sent_at is None:
            return
        limits = row.limits
        if event.cause is Cause.TIMEOUT and limits.timeout is not None:
            due = seen.received_at + limits.timeout
            self.expect(3, event.at >= due - SLACK, "{} timed out {:.3f} s too early", row.id, due - event.at)
        elif event.cause is Cause.MAX_TIMEOUT and limits.max_timeout is not None:
            due = row.sent_at + limits.max_timeout
            self.expect(3, event.at >= due - SLACK, "{} was ended {:.3f} s too early", row.id, due - event.at)

    def _signalled(self, event: ev.CancelSignalled, seen: Seen) -> None:
        seen.signalled_at = event.at
        if event.signal in (Signal.NONE, Signal.TASKS_CANCEL):
            return
        way = Signal.STREAM_CLOSED if self._closes_streams() else Signal.NOTIFICATION
        self.expect(7, event.signal is way, "{} was cancelled by {}", event.id, event.signal.value)
        if event.signal is Signal.NOTIFICATION:
            self.expect(2, self.signals[event.id] == 1, "{} was not told to the server", event.id)
        self.expect(2, seen.written, "{} was cancelled, of which nothing was written", event.id)
        seen.left = True

    # -- callers ---------------------------------------------------------------------------------------------

    async def wait(self, id: RequestId) -> None:
        """Waits for a request as a caller does."""
        number = self.waiters[id] = self.waiters[id] + 1
        frame = await self.client.wait(id)
        self.expect(10, (id, number) not in self.told, "a caller of {} was told twice", id)
        self.told[id, number] = True
        row = self.client.requests.get(id)
        assert row is not None
        if row.state is State.LOST and isinstance(frame, ResponseFrame):
            ours = frame.error is not None and frame.error.code is None
            self.expect(4, ours, "a caller of {} was given a response that nobody sent", id)
        elif isinstance(frame, ResponseFrame):
            counts = row.state in (State.COMPLETED, State.FAILED) and self.of(id).cancelled_at is None
            self.expect(4, counts, "a caller of {} was given a response that does not count", id)
        else:
            self.expect(4, row.state is not State.COMPLETED, "a caller of {} was not given its result", id)

    # -- the end ---------------------------------------------------------------------------------------------

    def shown(self) -> None:
        """Remembers the times of what is over."""
        for row in self.client.requests.order:
            if row.ended_at is not None and row.state in TERMINAL:
                self.of(row.id).shown = row.elapsed(self.client.now())

    def quiet(self) -> None:
        """Long after the last limit nothing is in flight, unless it says why."""
        for row in self.client.requests.order:
            if row.open:
                excused = row.limits.max_timeout is None or row.paused_at is not None or row.internal
                self.expect(3, excused, "{} is still {}, long after its limits", row.id, row.state.value)
            elif row.state is State.CANCEL_REQUESTED:
                told = row.undelivered or row.delayed or row.internal
                self.expect(3, told, "{} is still cancel_requested, without a word", row.id)

    def over(self) -> None:
        """The connection is closed, and everything with it."""
        self.nothing_in_flight()
        for row in self.client.requests.order:
            seen = self.of(row.id)
            if seen.shown is not None:
                same = row.elapsed(self.client.now()) == seen.shown
                self.expect(9, same, "the time of {} goes on after its end", row.id)
            in_time = row.settled_at is None or row.signalled_at is None or row.signal is Signal.NONE
            in_time = in_time or row.refused  # C-32: nobody told the server not to run it
            late_by = 0.0 if in_time else (row.settled_at or 0.0) - (row.signalled_at or 0.0)
            grace = max(self.world.plan.grace, GRACE)
            self.expect(3, late_by <= grace + SLACK, "{} settled {:.3f} s after its signal", row.id, late_by)
        for id_, count in self.waiters.items():
            told = sum(1 for number in range(1, count + 1) if (id_, number) in self.told)
            self.expect(10, told == count, "{} callers of {} were never told", count - told, id_)
        self.expect(
            6, list(self.shadow.order) == list(self.client.requests.order), "the events make other rows"
        )
        self.words()

    def words(self) -> None:
        """Every word about a cancelled request has the event that shows it."""
        for row in self.client.requests.order:
            if not any(isinstance(event, ev.CancelRequested) for event in self.events[row.id]):
                continue
            try:
                claims.check(row, self.events[row.id], self.client.now())
            except AssertionError as error:
                self.fail(11, str(error))
