"""A state machine that plays client, transport and server at random against a ledger, with an oracle beside it.

After each step the ledger must have said what the oracle says, and every row must be what the oracle holds it to be.
The numbers are those of the ten invariants:

1. a terminal state never changes;
2. at most one cancel for an id, only for one whose writing has begun, never for ``initialize``;
3. a request with a maximum ends within it and the grace, or says that its signal cannot be written;
4. what comes for an id after its cancel or timeout is late, is told each time and delivered never; a reply that comes while
   the signal is still queued withdraws it and completes the call;
5. ids are never used twice;
6. the events alone make the same rows (the journal's file is tested with the journal);
7. over HTTP 2026-07-28 a cancel closes its stream and sends nothing;
8. after the connection closed nothing is in flight;
9. the time shown is the difference of two clock readings and stands still at the end;
10. neither a pause nor a flood changes an outcome.
"""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mcp_tui.protocol import effects as fx
from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import Cause, Kind, Limits, Signal
from mcp_tui.protocol.ledger import Ledger
from mcp_tui.protocol.requests import TERMINAL, Request, State, fold
from tests.protocol.oracle import Bytes, Call, Oracle, Said
from tests.protocol.playbook import EVERYWHERE, Wire

WIRES = [*EVERYWHERE, Wire("stdio", None), Wire("http", None)]
METHODS = st.sampled_from(["tools/call", "tools/call", "tools/call", "ping", "initialize"])
SECONDS = st.sampled_from([0.0, 0.125, 0.25, 0.5, 1.0, 1.125, 2.0, 2.5, 4.0, 9.0])
LIMITS = st.builds(
    Limits,
    timeout=st.sampled_from([None, 0.5, 2.0, 5.0]),
    max_timeout=st.sampled_from([None, 12.0, 1.0, 4.0]),
    ask=st.sampled_from([0.0, 1.5]),
)
WHICH = st.integers(0, 7)
"""Which request: an even number means one that is not over, if there is one; counted from the newest."""

SELDOM = st.sampled_from([False, False, False, False, False, False, False, True])


ASIDES: list[dict[str, object]] = [
    {"jsonrpc": "2.0", "id": 1, "method": "ping"},
    {"jsonrpc": "2.0", "id": "1", "method": "elicitation/create"},
    {"jsonrpc": "2.0", "id": 2, "method": "sampling/createMessage", "params": []},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "1", "reason": 7}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled"},
    {"jsonrpc": "2.0", "method": "notifications/message", "params": {"data": "row 17"}},
    {"jsonrpc": "2.0", "id": None, "method": "ping"},
    {"id": 1, "msg": "a log line with an id"},
]


ODDLY = ["as text", "as float", "in a batch", "too large", "cut", "with a foreign id"]


class LedgerMachine(RuleBasedStateMachine):
    """See the module."""

    @initialize(
        wire=st.sampled_from(WIRES),
        grace=st.sampled_from([2.0, 0.5, 0.0]),
        slow=st.booleans(),
        calls=st.lists(LIMITS, min_size=1, max_size=3),
    )
    def begin(self, wire: Wire, grace: float, slow: bool, calls: list[Limits]) -> None:
        self.wire = wire
        self.ledger: Ledger = wire.ledger()
        self.ledger.grace = grace
        way = Signal.NONE if wire == Wire("stdio", None) else wire.signal
        self.oracle = Oracle(way, grace)
        self.slow = slow  # a transport that takes nothing back
        self.queue: list[int] = []
        self.partly: list[int] = []
        self.signals: dict[int, Bytes] = {}
        self.signalled: Counter[int] = Counter()
        self.resolved: dict[int, list[bool]] = {}
        self.events: list[ev.Event] = []
        self.ended: dict[int, tuple[object, ...]] = {}
        for limits in calls:
            self.call("tools/call", limits, steps=2)

    @property
    def now(self) -> float:
        return self.oracle.now

    def pick(self, which: int) -> Call:
        every = list(self.oracle.calls.values())
        some = [call for call in every if call.over is None]
        number, rest = divmod(which, 2)
        calls = some if some and not rest else every
        return calls[-1 - number % len(calls)]

    # -- what the ledger said --------------------------------------------------------------------------------

    def heard(self, expected: Said) -> list[ev.Event]:
        """Compare what was said about requests, id by id; carry out the effects; return the other events."""
        said: Said = []
        others: list[ev.Event] = []
        for item in self.ledger.take():
            if not isinstance(item, ev.Event):
                self.carry_out(item)
                continue
            assert item.at == self.now
            self.events.append(item)
            if isinstance(item, ev.RequestEvent):
                assert isinstance(item.id, int)
                said.append((type(item).__name__, item.id))
                if isinstance(item, ev.Late):
                    ended_at = self.oracle.calls[item.id].ended_at
                    assert ended_at is not None
                    assert item.after == max(0.0, self.now - ended_at)
            else:
                others.append(item)
        for id_ in {id_ for _, id_ in said + expected}:
            assert [name for name, of in said if of == id_] == [name for name, of in expected if of == id_]
        return others

    def carry_out(self, effect: fx.Effect) -> None:
        match effect:
            case fx.Send():
                assert effect.message["id"] == effect.id
                assert isinstance(effect.id, int)
                self.queue.append(effect.id)
            case fx.SendSignal():
                self.carry_out_signal(effect)
            case fx.Unqueue():
                assert effect.id in self.queue
                if not self.slow:
                    self.queue.remove(int(effect.id))
            case fx.Recall():
                assert self.signals.pop(int(effect.id)) is Bytes.QUEUED
            case fx.Release():
                assert self.wire.transport == "http"
                assert self.oracle.calls[int(effect.id)].over in (State.CANCELLED, State.FAILED)
            case fx.Resolve():
                before = self.resolved.setdefault(int(effect.id), [])
                assert not before or effect.frame is None, "a result for somebody who was told there is none"
                assert True not in before, "resolved again"
                before.append(effect.frame is not None)
            case fx.Reply():
                assert self.wire.revision != "2026-07-28"
            case _:
                pytest.fail(f"nobody offered prompts, rounds or tasks: {effect}")

    def carry_out_signal(self, effect: fx.SendSignal) -> None:
        id_ = int(effect.id)
        call = self.oracle.calls[id_]
        self.signalled[id_] += 1
        assert self.signalled[id_] == 1, "a second cancel for one id"
        assert call.method != "initialize"
        assert call.request in (Bytes.PARTLY, Bytes.GONE), "a cancel for what was never sent"
        assert effect.signal is self.oracle.way
        self.signals[id_] = Bytes.QUEUED
        if effect.signal is Signal.STREAM_CLOSED:
            assert effect.message is None
            return
        assert effect.message is not None
        params = effect.message["params"]
        assert type(params["requestId"]) is int
        assert params["requestId"] == id_
        reason = self.row(call).reason
        assert params.get("reason", "") == reason
        assert "id" not in effect.message

    def row(self, call: Call) -> Request:
        row = self.ledger.book.get(call.id)
        assert row is not None
        return row

    # -- intents ---------------------------------------------------------------------------------------------

    @rule(method=METHODS, limits=LIMITS, steps=st.sampled_from([2, 2, 2, 1, 0]))
    def call(self, method: str, limits: Limits, steps: int) -> None:
        """Call, and let the transport go 0, 1 or 2 steps at once: begin to write, write to the end."""
        id_ = self.ledger.call(method, limits=limits, at=self.now)
        assert isinstance(id_, int)
        assert id_ not in self.oracle.calls
        self.heard(self.oracle.call(id_, method, limits))
        while steps and self.queue:
            self.begin_writing()
        while steps > 1 and self.partly:
            self.finish_writing()

    @rule(which=WHICH, cause=st.sampled_from(Cause), reason=st.sampled_from(["", "wrong table"]))
    def cancel(self, which: int, cause: Cause, reason: str) -> None:
        call = self.pick(which)
        self.ledger.cancel(call.id, cause, reason, at=self.now)
        self.heard(self.oracle.cancel(call, cause))

    @rule(which=WHICH, how=st.sampled_from(["pause", "resume", 0.125, 3.0, 30.0, None]), after=SECONDS)
    def adjust(self, which: int, how: str | float | None, after: float) -> None:
        """Pause or resume the clocks of a request, or give it so many seconds more."""
        self.wait(after, stopped=False)
        call = self.pick(which)
        if how == "pause":
            self.ledger.pause(call.id, at=self.now)
            self.heard(self.oracle.pause(call, paused=True))
        elif isinstance(how, str):
            call = next((each for each in self.oracle.calls.values() if each.paused), call)
            self.ledger.resume(call.id, at=self.now)
            self.heard(self.oracle.pause(call, paused=False))
        else:
            self.ledger.extend(call.id, how, at=self.now)
            self.heard(self.oracle.extend(call, how))

    # -- the time --------------------------------------------------------------------------------------------

    @rule(seconds=SECONDS, stopped=SELDOM)
    def wait(self, seconds: float, stopped: bool) -> None:
        """Time passes. The ledger is woken in each moment that it asked for, or the process ``stopped`` and it is late."""
        end = self.now + seconds
        for _ in range(100):
            due = self.ledger.next_deadline()
            if stopped or due is None or due > end:
                break
            self.oracle.run(max(0.0, due - self.now))
            self.tick()
        else:
            raise AssertionError("it asks to be woken for ever")
        self.oracle.run(end - self.now)
        self.tick()

    def tick(self) -> None:
        self.ledger.tick(self.now)
        self.heard(self.oracle.tick())

    # -- the transport ---------------------------------------------------------------------------------------

    @precondition(lambda self: self.queue or self.partly)
    @rule(begin=st.booleans())
    def write(self, begin: bool) -> None:
        if self.queue and (begin or not self.partly):
            self.begin_writing()
        else:
            self.finish_writing()

    def begin_writing(self) -> None:
        call = self.oracle.calls[self.queue.pop(0)]
        before = self.signalled[call.id]
        self.ledger.writing(call.id)
        follows = self.oracle.writing(call)
        self.heard([])
        assert (self.signalled[call.id] > before) is follows
        self.partly.append(call.id)

    def finish_writing(self) -> None:
        call = self.oracle.calls[self.partly.pop(0)]
        self.ledger.written(call.id, at=self.now)
        self.heard(self.oracle.written(call))

    @precondition(lambda self: self.signals)
    @rule(which=WHICH, how=st.sampled_from(["wholly", "wholly", "partly", "not"]))
    def signal_leaves(self, which: int, how: str) -> None:
        ids = sorted(self.signals)
        call = self.oracle.calls[ids[which % len(ids)]]
        if call.id in self.partly:
            if self.oracle.way is Signal.NOTIFICATION:
                return  # the line is finished first
            self.partly.remove(call.id)
        if how == "not":
            self.signals[call.id] = call.signal = Bytes.PARTLY
            self.ledger.signal_failed(call.id, "HTTP 503", at=self.now)
            self.heard(self.oracle.signal_failed(call))
            return
        if call.signal is Bytes.QUEUED:
            self.ledger.signal_leaving(call.id)
            self.signals[call.id] = call.signal = Bytes.PARTLY
            self.heard([])
        if how == "wholly":
            del self.signals[call.id]
            self.ledger.signalled(call.id, self.oracle.way, at=self.now)
            self.heard(self.oracle.signalled(call))

    @rule(which=WHICH, how=st.sampled_from(["stream", "stream", 0, 500, "closed"]), really=SELDOM)
    def break_down(self, which: int, how: str | int, really: bool) -> None:
        """A stream ends, a request is refused, or the connection closes; after that another one opens."""
        call = self.pick(which)
        if how == "stream" and self.wire.transport == "http" and call.request is Bytes.GONE:
            self.ledger.stream_ended(call.id, "reset", at=self.now)
            self.heard(self.oracle.stream_ended(call))
        elif isinstance(how, int) and call.id in self.queue + self.partly:
            for line in (self.queue, self.partly):
                line[:] = [id_ for id_ in line if id_ != call.id]
            self.ledger.refused(call.id, "no", status=how, at=self.now)
            self.heard(self.oracle.refused(call, how))
        elif how == "closed" and really:
            self.ledger.closed("server exited", at=self.now)
            self.heard(self.oracle.closed())
            self.queue, self.partly, self.signals = [], [], {}
            assert all(row.state in TERMINAL for row in self.ledger.book.order)
            assert self.ledger.next_deadline() is None

    # -- the server ------------------------------------------------------------------------------------------

    def receive(self, message: Any, stream: int | None = None) -> None:
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.ledger.receive(messages.parse(raw), at=self.now, stream=stream)

    @rule(which=WHICH, other=WHICH, how=st.sampled_from(["plainly", "plainly", "error", *ODDLY]))
    def respond(self, which: int, other: int, how: str) -> None:
        call, named = self.pick(which), self.pick(other)
        on_its_own = call.id if other % 2 and self.wire.transport == "http" else None
        head = b'{"jsonrpc":"2.0","id":%d,"result":{"text":"' % call.id
        readable, kind = True, Kind.RESULT
        match how:
            case "plainly":
                self.receive(_response(call.id), on_its_own)
            case "error":
                self.receive(_response(call.id, fails=True), on_its_own)
                kind = Kind.ERROR
            case "as text":
                self.receive(_response(str(call.id)), on_its_own)
            case "as float":
                self.receive(_response(float(call.id)), on_its_own)
            case "in a batch":
                self.receive([_response(call.id), _response(named.id)])
                self.heard(self.oracle.response(call, Kind.RESULT) + self.oracle.response(named, Kind.RESULT))
                return
            case _:
                readable, kind = False, Kind.ERROR
                if how == "too large":
                    kind = Kind.OVERSIZE
                    self.ledger.too_large(head, 10**9, at=self.now)
                elif how == "cut":
                    self.receive(head)
                elif self.wire.transport == "http" and call is not named and call.over is None:
                    self.receive(_response(named.id), call.id)
                else:
                    self.receive(head + b'\xff"}}')
        others = self.heard(self.oracle.response(call, kind, readable=readable))
        assert not any(isinstance(event, ev.Unknown) for event in others)

    @rule(
        which=WHICH,
        value=st.sampled_from(["more", "more", "more", "same", "same", 2.5, -1, None, "5", True]),
        after=st.sampled_from([0.0, 0.25, 1.5]),
    )
    def progress(self, which: int, value: object, after: float) -> None:
        self.wait(after, stopped=False)
        call = self.pick(which)
        if value in ("more", "same"):
            value = (call.highest or 0.0) + (value == "more")
        if call.method not in ("initialize", "ping"):
            self.receive(_progress(call.id, value))
            self.heard(self.oracle.progress(call, value))

    @rule(
        id_=st.sampled_from([True, False, 1.5, "0", "01", "", 999, "999", None, [1], {"id": 1}, 10**30]),
        token=st.sampled_from([True, 1.0, "1", "2", 0, 999, None, [], {}]),
        message=st.sampled_from(ASIDES),
        flood=SELDOM,
    )
    def speak_of_something_else(self, id_: object, token: object, message: object, flood: bool) -> None:
        """What is about no request of ours changes none, however much of it there is."""
        before, due = [copy.copy(row) for row in self.ledger.book.order], self.ledger.next_deadline()
        for _ in range(30 if flood else 1):
            self.receive(_response(id_))
            assert [type(event) for event in self.heard([])] == [ev.Unknown]
            self.receive(_progress(token, 7))
            self.receive(message)
            self.heard([])
        assert self.ledger.book.order == before
        assert self.ledger.next_deadline() == due

    # -- what always holds -----------------------------------------------------------------------------------

    @invariant()
    def every_row_is_what_it_ought_to_be(self) -> None:
        for call in self.oracle.calls.values():
            row = self.row(call)
            assert row.state is call.state
            assert row.cause is call.cause
            assert row.elapsed(self.now) == row.elapsed(self.now + 50 * row.open) - 50 * (
                row.open and row.sent_at is not None
            )
            assert row.elapsed(self.now) == call.elapsed(self.now)
            assert {evidence.kind: evidence.count for evidence in row.late} == call.late
            assert row.duplicates == call.duplicates
            assert (row.overdue_until is not None) is (call.asking is not None and call.waits)

    @invariant()
    def what_is_over_stays_as_it_ended(self) -> None:
        for row in self.ledger.book.order:
            if row.state in TERMINAL:
                end = row.state, row.ended_at, row.cause, row.reason, row.code, row.error, row.summary
                assert self.ended.setdefault(int(row.id), end) == end

    @invariant()
    def nobody_waits_for_what_is_over(self) -> None:
        for call in self.oracle.calls.values():
            told = self.resolved.get(call.id, [])
            if call.waits:
                assert told == []
            elif call.over is not None:
                assert told
                assert (True in told) <= (call.over in (State.COMPLETED, State.FAILED))

    def teardown(self) -> None:
        if hasattr(self, "events"):
            assert fold(self.events).order == self.ledger.book.order


def _response(id_: object, *, fails: bool = False) -> dict[str, object]:
    body: dict[str, object] = {"error": {"code": -1, "message": "no"}} if fails else {"result": {}}
    return {"jsonrpc": "2.0", "id": id_, **body}


def _progress(token: object, value: object) -> dict[str, object]:
    params = {"progressToken": token, "progress": value}
    return {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
