"""Whoever stands beside a ledger, sees all that it is told and all that it says, and holds it to what must be so.

It keeps records of its own: which id was written, answered and signalled, who was asked what, and who was told. The rules:

1. an id is issued once, by the rounds of a request too;
2. at most one signal leaves for an id, only while that round is in progress, never for ``initialize`` or a call as a task;
3. ``tasks/cancel`` leaves at most once for a task, and never for one of a server that cannot cancel tasks;
4. a request of the server's gets at most one answer, none after it was withdrawn or the connection closed, and one that a
   cancelled parent owes leaves behind the signal of that cancel;
5. whoever waits is told, a result at most once, and never after having been told that there is none;
6. the events alone make the same rows, and a terminal state never changes;
7. a question is put to a person only while its request waits for input, and is taken back when it does not;
8. the clocks stand still while a person is asked and only then, and otherwise each that runs is armed; what a task's
   poll says again moves none;
9. what is being cancelled settles or says why it does not, and a task that is waited for is asked after;
10. behind a closed connection nothing is open, nothing is armed and nothing is remembered but names, and it is told once;
11. every word about how a cancel left has its report: written, accepted, refused, failed, delayed, or never;
12. what came late is told in the kind in which it came, and what ended the watching is told.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import Counter
from typing import Any

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.deadlines import Timer
from mcp_tui.protocol.events import RequestId, Signal
from mcp_tui.protocol.requests import RUNNING, TERMINAL, Request, Requests, State
from mcp_tui.protocol.tasks import POLLED_AFTER_SECONDS
from tests.protocol.recorded import Action, RecordedLedger

Key = tuple[type, RequestId]


def _key(request_id: RequestId) -> Key:
    return type(request_id), request_id


class Witness:
    """Sees one ledger. ``sound``: no rule is broken yet.

    ``queue`` and ``partly`` are the ids that the transport has to write, ``torn`` those of which it wrote a part and no
    more, ``signals`` its cancels, ``posted`` those whose POST waits for its status.
    """

    def __init__(self, ledger: RecordedLedger, way: Signal) -> None:
        self.ledger = ledger
        self.way = way
        self.now = 0.0
        self.sound = True
        self.events: list[ev.Event] = []
        self.shadow = Requests()
        self.homes: dict[RequestId, RequestId] = {}
        self.messages: dict[RequestId, dict[str, Any]] = {}
        self.queue: list[RequestId] = []
        self.partly: list[RequestId] = []
        self.torn: set[RequestId] = set()
        self.gone: set[RequestId] = set()
        self.answered: set[RequestId] = set()
        self.signals: list[RequestId] = []
        self.posted: list[RequestId] = []
        self.signalled: Counter[RequestId] = Counter()
        self.task_cancels: Counter[RequestId] = Counter()
        self.resolved: dict[RequestId, list[bool]] = {}
        self.ended: dict[RequestId, State] = {}
        self.asked: Counter[Key] = Counter()
        self.owned: dict[Key, RequestId | None] = {}
        self.prompted: set[Key] = set()
        self.owed: set[Key] = set()
        self.unwanted: set[RequestId] = set()
        self.gathers: dict[RequestId, set[str]] = {}
        self.reported: dict[RequestId, str] = {}
        self.left: set[RequestId] = set()
        self.closing = False
        self.timers = 0
        """The most that ever ran at a time."""

    def row(self, wire: RequestId) -> Request:
        row = self.ledger.requests.get(self.homes[wire])
        assert row is not None
        return row

    # -- what it says ----------------------------------------------------------------------------------------

    def hear(self) -> list[ev.Event]:
        """Takes in what the ledger said, check it, and return the events."""
        self.sound = False
        events: list[ev.Event] = []
        for item in self.ledger.take():
            if isinstance(item, ev.Event):
                assert item.at == self.now
                events.append(item)
                self._event(item)
            else:
                self._effect(item)
        self.events += events
        self._stands()
        self.sound = True
        return events

    def _event(self, event: ev.Event) -> None:
        match event:
            case ev.Called():
                assert event.id not in self.homes, "an id was issued twice"
                self.homes[event.id] = event.id
            case ev.Round():
                assert event.wire_id not in self.homes, "an id was issued twice"
                assert event.id not in self.unwanted, "sent again although it was cancelled"
                self.homes[event.wire_id] = event.id
                self.gathers.pop(event.id, None)
            case ev.ServerRequestReceived():
                key = type(event.request_id), event.request_id
                self.asked[key] += 1
                self.owned.setdefault(key, event.parent)
            case ev.ServerRequestWithdrawn():
                self._answered_for(event.request_id)
                self.owed.discard((type(event.request_id), event.request_id))
            case ev.CancelRequested():
                self.unwanted.add(event.id)
            case (
                ev.CancelSignalled()
                | ev.CancelAccepted()
                | ev.CancelUnanswered()
                | ev.CancelDelayed()
                | ev.Undelivered()
            ):
                self._delivery(event)
            case ev.Unwatched():
                row = self.shadow.get(event.id)
                assert row is not None
                assert row.id in self.unwanted, "watched, although it was not cancelled"
                assert row.unwatched_at is None or event.disconnected or event.final, (
                    "told twice to be watched no more"
                )
            case ev.Disconnected():
                assert self.closing, "a connection ended that nobody closed"
                self.closing = False
            case _:
                pass
        row = self.shadow.apply(event)
        if row is not None and row.state in TERMINAL:
            assert self.ended.setdefault(row.id, row.state) is row.state, "a terminal state changed"

    def _delivery(self, event: ev.RequestEvent) -> None:
        """Each claim about a signal needs the report of the transport, or of the server, that was just made."""
        row = self.shadow.get(event.id)
        assert row is not None
        assert row.id in self.unwanted
        said = self.reported.pop(row.id, "")
        match event:
            case ev.CancelSignalled(signal=Signal.NONE):
                assert row.id not in self.left, "not sent, although it was written"
            case ev.CancelSignalled(signal=Signal.TASKS_CANCEL):
                assert event.answered, "tasks/cancel is owed an answer"
                self.left.add(row.id)
            case ev.CancelSignalled():
                assert said in ("written", "answered")
                assert event.answered is (said == "answered")
                self.left.add(row.id)
            case ev.CancelAccepted():
                assert row.id in self.left, "accepted, although it was not written"
                assert said == "accepted" or row.task_id, "nothing was accepted"
                assert row.accepted_at is None, "accepted twice"
            case ev.CancelUnanswered():
                assert row.id in self.left, "no status of what was not written"
                assert said == "unanswered"
            case ev.CancelDelayed():
                assert row.id not in self.left, "delayed, although it was written"
                assert row.state is State.CANCEL_REQUESTED
            case ev.Undelivered(refused=True):
                assert said == "refused" or row.task_id, "nothing was refused"
            case _:
                assert said == "failed", "not delivered, although nothing failed"

    def report(self, id_: RequestId, what: str) -> None:
        """The transport is about to report of the signal of a round."""
        self.reported = {self.homes[id_]: what}

    def _answered_for(self, request_id: RequestId) -> None:
        key = type(request_id), request_id
        assert self.asked[key] > 0, "an answer to what was not asked, was answered or was withdrawn"
        self.asked[key] -= 1
        if not self.asked[key]:
            self.owned.pop(key, None)

    def _effect(self, action: Action) -> None:
        match action.name:
            case "send":
                self._send(action)
            case "signal":
                self._signal(action)
            case "recall":
                self.signals.remove(action.id)
            case "unqueue":
                assert action.id not in self.gone
                if action.id in self.queue:
                    self.queue.remove(action.id)
            case "release":
                assert self.ledger.negotiated.transport == "http"
            case "resolve":
                before = self.resolved.setdefault(action.id, [])
                assert not before or action.frame is None, "a result for somebody who was told there is none"
                assert True not in before, "resolved again behind a result"
                before.append(action.frame is not None)
            case "relist":
                pass
            case _:
                self._person(action)

    def _person(self, action: Action) -> None:
        match action.name:
            case "reply":
                self._reply(action)
            case "prompt":
                key = _key(action.request_id)
                assert key not in self.prompted
                self.prompted.add(key)
            case "prompt_over":
                key = _key(action.request_id)
                self.prompted.remove(key)
                if self.asked[key]:
                    self.owed.add(key)
            case "gather":
                keys = set(action.requests)
                assert action.id not in self.unwanted, "a person is asked for what is not wanted"
                known = self.gathers.setdefault(action.id, set())
                assert not known & keys, "a question was put twice"
                known |= keys or {""}
            case "gather_over":
                if action.keys is None:
                    self.gathers.pop(action.id, None)
                else:
                    self.gathers[action.id] -= action.keys
            case _:
                raise AssertionError(action)

    def _send(self, action: Action) -> None:
        assert action.message["id"] == action.id
        assert action.id not in self.messages, "an id was sent twice"
        self.messages[action.id] = action.message
        self.queue.append(action.id)
        row = self.row(action.id)
        assert row.wire_id == action.id
        if action.method == "tasks/cancel" and row.parent is not None:
            self.task_cancels[row.parent] += 1
            assert self.task_cancels[row.parent] == 1, "a second tasks/cancel for a task"
            can = self.ledger.negotiated.modern or self.ledger.negotiated.cancels_tasks
            assert can, "a tasks/cancel to a server that has none"

    def _signal(self, action: Action) -> None:
        row = self.row(action.id)
        self.signalled[action.id] += 1
        assert self.signalled[action.id] == 1, "a second cancel for one id"
        assert action.signal is self.way
        assert row.wire_id == action.id, "a cancel for an earlier round"
        assert row.method != "initialize"
        assert not row.as_task, "a notification for a call as a task"
        assert row.state in (State.CANCEL_REQUESTED, State.CANCELLED)
        assert action.id in self.gone or action.id in self.partly, "a cancel for what was never sent"
        assert action.id not in self.answered, "a cancel for what was answered"
        if action.message is not None:
            assert action.message["params"]["requestId"] == action.id
        self.signals.append(action.id)

    def _reply(self, action: Action) -> None:
        revision = self.ledger.negotiated.revision
        assert revision is None or revision.server_requests
        request_id = action.message["id"]
        key = _key(request_id)
        parent = self.owned.get(key)
        self._answered_for(request_id)
        if not self.asked[key]:
            self.prompted.discard(key)
        if key not in self.owed or self.asked[key]:
            return  # of two with one id the second is refused at once
        self.owed.remove(key)
        row = None if parent is None else self.ledger.requests.get(parent)
        assert row is not None
        assert row.wire_id not in self.signals, "an answer left before the signal"

    # -- what stands -----------------------------------------------------------------------------------------

    def _stands(self) -> None:
        ledger = self.ledger
        assert list(self.shadow.order) == list(ledger.requests.order)
        assert list(self.shadow.server_requests) == list(ledger.requests.server_requests)
        for key in self.owed:
            owner = ledger.requests.get(self.owned[key] or 0)
            assert owner is not None
            assert owner.state is State.CANCEL_REQUESTED
            told = owner.undelivered or owner.delayed
            assert self._cancel_waits(owner) or not told, "an answer that is owed for ever"
        for row in ledger.requests.order:
            live = ledger.live.get(row.id)
            assert (live is not None and live.row is row) is (row.state not in TERMINAL)
            if row.state in TERMINAL:
                assert self.resolved.get(row.id), "nobody was told"
                assert (Timer.LIMIT, row.id) not in ledger.deadlines._due, "a clock runs for what is over"
            self._questions(row)
            self._clocks(row)
            self._leaving(row)
        self._nothing_leaks()

    def _cancel_waits(self, row: Request) -> bool:
        """Whether the signal of a cancel has still to leave, be it that of a task."""
        errands = [each for each in (*self.queue, *self.partly) if self.row(each).method == "tasks/cancel"]
        return row.wire_id in self.signals or any(self.row(each).parent == row.id for each in errands)

    def _questions(self, row: Request) -> None:
        if not self.gathers.get(row.id):
            return
        asked = row.state is State.TASK and row.task_status == "input_required"
        assert asked or row.state is State.AWAITING_INPUT, "a person is asked for nothing"

    def _clocks(self, row: Request) -> None:
        due = self.ledger.deadlines._due.get((Timer.LIMIT, row.id))
        if row.state is State.AWAITING_INPUT:
            assert due is None, "a clock runs while a person is asked"
        if row.state not in RUNNING:
            return
        if row.paused_at is not None:
            assert due is None
            waiting = self.ledger.inbound.waiting.values()
            prompts = any(each.parent in (row.id, None) for each in waiting)
            assert prompts or self.gathers.get(row.id), "a clock stands still for nobody"
            return
        assert not self.gathers.get(row.id), "a clock runs while a person answers a task"
        asked = any(each.parent == row.id for each in self.ledger.inbound.waiting.values())
        assert row.internal or not asked, "a clock runs while a person answers the server"
        clocks = [clock for clock in row.deadlines() if clock is not None]
        if row.overdue_until is not None:
            clocks[0] = row.overdue_until
        assert due == (min(clocks) if clocks else None)

    def _leaving(self, row: Request) -> None:
        ledger = self.ledger
        errands = {each.row.method for each in ledger.live.values() if each.row.parent == row.id}
        asks_on = (Timer.POLL, row.id) in ledger.deadlines._due
        if row.state is State.TASK:
            assert errands or asks_on, "a task that nobody asks after"
        if row.state is State.CANCEL_REQUESTED:
            armed = (Timer.LIMIT, row.id) in ledger.deadlines._due
            told = row.undelivered or row.delayed
            assert armed or told, "it will never settle, and does not say why"

    def _nothing_leaks(self) -> None:
        ledger = self.ledger
        live, tasks = set(ledger.live), ledger.tasks._followed_by_id.values()
        assert set(ledger.tasks._misses) <= live | {row.id for row in tasks}
        assert set(ledger._signal_queued) <= {self.homes[wire] for wire in self.signals}
        assert ledger._writing <= set(self.partly) | self.torn
        followed = [
            row for row in ledger.requests.order if row.task_id and (row.id in live or self._after(row))
        ]
        assert all(row in followed for row in tasks), "tasks that are over are kept"
        due = ledger.deadlines._due
        # what is stopped leaves the heap when it comes up, or when the next is set: many at a time stay for that long
        self.timers = max(self.timers, len(due))
        assert len(ledger.deadlines._heap) <= 2 * self.timers + 66, "the heap of the deadlines grows"
        for timer, id_ in due:
            row = ledger.requests.get(id_)
            assert row is not None
            released = timer is Timer.RELEASE and row.signalled_at is not None and row.unwatched_at is None
            after = timer is Timer.POLL and self._after(row)
            assert id_ in live or after or released, f"{timer} of {id_} is armed"

    def _after(self, row: Request) -> bool:
        """Whether something may come of a task still that was cancelled."""
        if row.state is not State.CANCELLED or row.cancel_at is None:
            return False
        errands = {each.row.parent for each in self.ledger.live.values()}
        return row.id in errands or self.now - row.cancel_at < 2 * POLLED_AFTER_SECONDS

    def closes(self) -> None:
        """The connection closed."""
        self.asked.clear()
        self.owed.clear()
        self.hear()
        self.torn |= set(self.partly)
        self.queue, self.partly, self.signals, self.posted = [], [], [], []
        self.owned.clear()
        assert not self.prompted
        assert not self.gathers
        assert all(row.state in TERMINAL for row in self.ledger.requests.order)
        assert self.ledger.deadlines.next() is None, "a clock runs behind the end"
        assert not self.ledger.inbound.waiting
        assert not self.ledger._watched, "something is watched behind the end"
        assert not self.closing, "nobody was told that it ended"
        assert not self.ledger.tasks._followed_by_id
