"""A state machine that plays person, transport and server at random against a ledger.

:mod:`tests.protocol.witness` sees all that the ledger is told and all that it says, and has the rules that it is held to.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from mcp_tui.protocol import events as ev
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import Cause, Limits, RequestId, Signal
from mcp_tui.protocol.framing import Oversized
from mcp_tui.protocol.requests import Request, State, fold
from tests.protocol.playbook import EVERYWHERE, MODERN, Wire
from tests.protocol.recorded import agrees_with_its_rows
from tests.protocol.witness import Witness

MODERN_WIRES = [wire for wire in EVERYWHERE if wire.revision == MODERN]
CORE_WIRES = [wire for wire in EVERYWHERE if wire.revision == "2025-11-25"]
WIRES = [*EVERYWHERE, *3 * MODERN_WIRES, *3 * CORE_WIRES]

LISTEN = "subscriptions/listen"
METHODS = st.sampled_from(["tools/call"] * 5 + [LISTEN, LISTEN, "resources/read", "ping", "tasks/get"])
LIMITS = st.builds(
    Limits,
    timeout=st.sampled_from([None, None, 2.0]),
    max_timeout=st.sampled_from([None, None, 4.0, 20.0]),
    ask=st.sampled_from([0.0, 1.5]),
)
WHICH = st.integers(0, 11)
"""Which id on the wire: an even number means one that is in progress, if there is one; counted from the newest."""

SECONDS = st.sampled_from([0.0, 0.125, 0.5, 1.0, 1.0, 2.0, 2.5, 9.0, 30.0])
SELDOM = st.sampled_from([False, False, False, False, False, True])

PROMPTS = frozenset({"elicitation/create", "sampling/createMessage"})
THEIRS: list[RequestId] = [1, 2, "1", 3]
TASKS = ["T", "T", "T", "U", ""]
STATUSES = [
    "working",
    "working",
    "input_required",
    "input_required",
    "completed",
    "failed",
    "cancelled",
    "odd",
    7,
]
Shape = st.SearchStrategy[dict[str, Any]]
QUESTIONS: Shape = st.sampled_from(
    [{}, {"a": {"method": "elicitation/create"}}, {"a": {}, "b": {}}, {"b": 1}]
)
ERRORS = st.sampled_from([-32602, -32602, -32603, -32020, 0])

STATUS: Shape = st.fixed_dictionaries(
    {"taskId": st.sampled_from(TASKS), "status": st.sampled_from(STATUSES)},
    optional={
        "pollInterval": st.sampled_from([0, 500, 1e9, "x"]),
        "pollIntervalMs": st.sampled_from([0, 500, 1e9, "x"]),
        "ttlMs": st.sampled_from([1000, None]),
        "statusMessage": st.sampled_from(["half", 7]),
        "inputRequests": QUESTIONS,
        "result": st.sampled_from([{"content": []}, 7]),
        "error": st.sampled_from([{"code": 5, "message": "no"}, 7]),
    },
)
INPUT: Shape = st.fixed_dictionaries(
    {"resultType": st.just("input_required")},
    optional={"inputRequests": QUESTIONS, "requestState": st.sampled_from(["s", "", 7])},
)
ODD: Shape = st.sampled_from([{"resultType": "odd"}, {"resultType": 7}, {"task": 7}, {"resultType": "task"}])
PLAIN: Shape = st.sampled_from([{}, {"isError": True}, {"resultType": "complete"}])


def _as_task(status: dict[str, Any]) -> dict[str, Any]:
    return {"resultType": "task", **status, "task": status}


HANDLE = st.builds(_as_task, STATUS)
SHAPES: dict[str, Shape] = {
    "tools/call": st.one_of(PLAIN, INPUT, INPUT, HANDLE, HANDLE, HANDLE, ODD),
    "tasks/get": st.one_of(STATUS, STATUS, STATUS, HANDLE, PLAIN),
    "tasks/cancel": st.one_of(STATUS, PLAIN),
    "resources/read": st.one_of(PLAIN, INPUT),
}


class LedgerMachine(RuleBasedStateMachine):
    """See the module. ``brisk``: the transport writes everything at once."""

    @initialize(
        wire=st.sampled_from(WIRES),
        grace=st.sampled_from([2.0, 2.0, 0.0]),
        brisk=st.sampled_from([True, True, False]),
        cancels_tasks=st.sampled_from([True, True, True, False]),
        calls=st.lists(LIMITS, min_size=1, max_size=3),
    )
    def begin(self, wire: Wire, grace: float, brisk: bool, cancels_tasks: bool, calls: list[Limits]) -> None:
        self.wire = wire
        self.ledger = wire.ledger()
        self.ledger.grace = grace
        self.ledger.agree(cancels_tasks=cancels_tasks, prompts=PROMPTS)
        self.witness = Witness(self.ledger, wire.signal)
        self.brisk = brisk
        for limits in calls:
            self.call("tools/call", limits, as_task=True, resumed="T")

    def teardown(self) -> None:
        if hasattr(self, "witness") and self.witness.sound:
            self.close()
            assert list(fold(self.witness.events).order) == list(self.ledger.requests.order)
            agrees_with_its_rows(self.ledger.requests)

    @property
    def now(self) -> float:
        return self.witness.now

    def heard(self) -> list[ev.Event]:
        events = self.witness.hear()
        while self.brisk and (self.witness.queue or self.witness.partly or self.witness.signals):
            self.step()
        return events

    # -- which -----------------------------------------------------------------------------------------------

    def pick(self, which: int) -> RequestId:
        """The id of a round."""
        every = list(self.witness.homes)
        some = [id_ for id_ in every if id_ in self.witness.gone and id_ not in self.witness.answered]
        number, rest = divmod(which, 2)
        ids = some if some and not rest else every
        return ids[-1 - number % len(ids)]

    def pick_row(self, which: int) -> Request:
        """A request, be it one of those made for a task."""
        rows = self.ledger.requests.order
        some = [row for row in rows if row.open and row.parent is None]
        number, rest = divmod(which, 2)
        rows = some if some and not rest else rows
        return rows[-1 - number % len(rows)]

    # -- the person ------------------------------------------------------------------------------------------

    @rule(method=METHODS, limits=LIMITS, as_task=st.booleans(), resumed=st.sampled_from(TASKS))
    def call(self, method: str, limits: Limits, as_task: bool, resumed: str) -> None:
        params: dict[str, Any] = {"name": "slow", **({"task": {}} if as_task else {})}
        if method == "tasks/get":
            params = {"taskId": resumed}
        self.ledger.call(method, params, limits=limits, at=self.now)
        self.heard()

    @rule(which=WHICH, cause=st.sampled_from([Cause.USER, Cause.USER, Cause.SHUTDOWN]), leave=SELDOM)
    def cancel(self, which: int, cause: Cause, leave: bool) -> None:
        self.ledger.cancel(self.pick_row(which).id, cause, "no", at=self.now, leave=leave)
        self.heard()

    @rule(which=WHICH)
    def stop_waiting(self, which: int) -> None:
        self.ledger.tasks.stop_waiting(self.pick_row(which).id, at=self.now)
        self.heard()

    @rule(which=WHICH, seconds=st.sampled_from([1.0, 30.0, None]))
    def extend(self, which: int, seconds: float | None) -> None:
        self.ledger.clocks.extend(self.pick_row(which).id, seconds, at=self.now)
        self.heard()

    @rule(which=WHICH, how=st.sampled_from(["supply", "supply", "update", "give up", "leave", "resend"]))
    def give(self, which: int, how: str) -> None:
        waiting = [row for row in self.ledger.requests.order if self.witness.gathers.get(row.id)]
        row = waiting[which % len(waiting)] if waiting and which % 3 else self.pick_row(which)
        answers: dict[str, Any] = {
            key: {} for key in sorted(self.witness.gathers.get(row.id, set()))[: 1 + which % 2]
        }
        match how:
            case "supply" if row.state is not State.TASK:
                self.ledger.rounds.supply(row.id, answers, at=self.now)
            case "give up":
                if self.ledger.rounds.give_up(row.id, "no", at=self.now):
                    self.witness.gathers.pop(row.id, None)  # whoever was asked gave up
            case "leave":
                if row.state is State.TASK:
                    self.ledger.tasks.unanswered(row.id, answers, at=self.now)
                    self.witness.gathers.get(row.id, set()).difference_update(answers)
            case "resend":
                self.ledger.rounds.resend(row.id)
            case _:
                if self.ledger.tasks.update(row.id, answers, at=self.now):
                    self.witness.gathers.get(row.id, set()).difference_update(answers)
        self.heard()

    @rule(theirs=st.sampled_from(THEIRS), code=st.sampled_from([None, -1]))
    def answer(self, theirs: RequestId, code: int | None) -> None:
        self.ledger.inbound.answer(theirs, {}, code=code, at=self.now)
        self.heard()

    # -- the time --------------------------------------------------------------------------------------------

    @rule(seconds=SECONDS, stopped=SELDOM)
    def wait(self, seconds: float, stopped: bool) -> None:
        end = self.now + seconds
        for _ in range(200):
            due = self.ledger.deadlines.next()
            if stopped or due is None or due > end:
                break
            self.witness.now = max(self.now, due)
            self.ledger.tick(self.now)
            self.heard()
        else:
            raise AssertionError("it asks to be woken for ever")
        self.witness.now = end
        self.ledger.tick(self.now)
        self.heard()

    # -- the transport ---------------------------------------------------------------------------------------

    @precondition(lambda self: self.witness.queue or self.witness.partly or self.witness.signals)
    @rule()
    def step(self) -> None:
        """The transport goes one step: what is begun is finished, then signals leave, then what is queued."""
        seen, ledger = self.witness, self.ledger
        if seen.partly:
            id_ = seen.partly.pop(0)
            seen.gone.add(id_)
            ledger.written(id_, at=self.now)
        elif seen.signals:
            id_ = seen.signals[0]
            ledger.signal_leaving(id_)
            if id_ in seen.signals:
                seen.signals.remove(id_)
                posted = self.wire.transport == "http" and seen.way is Signal.NOTIFICATION
                seen.report(id_, "answered" if posted else "written")
                ledger.signalled(id_, seen.way, at=self.now, answered=posted)
                if posted:
                    seen.posted.append(id_)
        else:
            id_ = seen.queue.pop(0)
            seen.partly.append(id_)
            ledger.writing(id_)
        seen.hear()

    @rule(
        which=WHICH,
        how=st.sampled_from(
            ["stream", "refused", "failed", "signal", "answer", "answer", "no answer", "leave", "closed"]
        ),
        really=SELDOM,
    )
    def break_down(self, which: int, how: str, really: bool) -> None:
        seen = self.witness
        id_ = self.pick(which)
        match how:
            case "stream" if self.wire.transport == "http":
                self.ledger.stream_ended(id_, "reset", at=self.now)
            case "refused" | "failed":
                if seen.row(id_).wire_id == id_ and id_ not in seen.answered:
                    seen.torn |= {id_} & set(seen.partly)
                    for line in (seen.queue, seen.partly):
                        line[:] = [each for each in line if each != id_]
                    self.ledger.refused(
                        id_, "it is refused", status=0 if how == "refused" else 500, at=self.now
                    )
            case "signal" if seen.signals:
                id_ = seen.signals.pop(0)
                self.ledger.signal_leaving(id_)
                seen.report(id_, "failed")
                self.ledger.signal_failed(id_, "connection reset", at=self.now)
            case "answer" if seen.posted:
                id_ = seen.posted.pop(0)
                seen.report(id_, "refused" if really else "accepted")
                if really:
                    self.ledger.signal_failed(id_, "HTTP 503", at=self.now, refused=True)
                else:
                    self.ledger.signal_accepted(id_, at=self.now)
            case "no answer" if seen.posted:
                id_ = seen.posted.pop(0)
                seen.report(id_, "unanswered")
                self.ledger.signal_unanswered(id_, "the connection was closed", at=self.now)
            case "leave" if really:
                self.ledger.receiving_ended("", at=self.now, expected=True)
            case "closed" if really:
                self.close()
            case _:
                return
        self.heard()

    def close(self) -> None:
        self.witness.closing = True
        self.ledger.closed("server exited", at=self.now)
        self.witness.closes()

    # -- the server ------------------------------------------------------------------------------------------

    def receive(self, message: Any, stream: RequestId | None = None) -> list[ev.Event]:
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.ledger.receive(messages.parse(raw), at=self.now, stream=stream)
        return self.heard()

    @rule(
        which=WHICH, data=st.data(), on_its_own=st.booleans(), how=st.sampled_from(["result"] * 5 + ["error"])
    )
    def respond(self, which: int, data: st.DataObject, on_its_own: bool, how: str) -> None:
        id_ = self.pick(which)
        row = self.witness.row(id_)
        message: dict[str, Any] = {"jsonrpc": "2.0", "id": id_}
        if how == "error":
            message["error"] = {"code": data.draw(ERRORS), "message": "no"}
        else:
            message["result"] = data.draw(SHAPES.get(row.method, PLAIN))
        stream = id_ if on_its_own and self.wire.transport == "http" else None
        counted = id_ in self.witness.answered
        seen = self.witness
        written = (
            id_ in seen.gone or id_ in seen.partly or id_ in seen.torn
        )  # what was cut off may have come whole
        before = row.state
        if written:
            self.witness.answered.add(id_)
        events = self.receive(message, stream)
        if counted or not written:
            ends = (ev.Completed, ev.Failed, ev.InputRequired, ev.TaskCreated, ev.Round)
            mine = [event for event in events if isinstance(event, ends) and event.id == row.id]
            assert not mine, f"a second answer moved {row.id} in {before}: {mine}"

    @rule(
        which=WHICH,
        how=st.sampled_from(["cut", "too large", "as text", "twice", "no id", "batch"]),
        other=WHICH,
    )
    def respond_oddly(self, which: int, how: str, other: int) -> None:
        id_, second = self.pick(which), self.pick(other)
        head = b'{"jsonrpc":"2.0","id":%s,"result":{' % json.dumps(id_).encode()
        named = {"batch": (id_, second), "no id": ()}.get(how, (id_,))
        for each in named:
            if each in self.witness.gone or each in self.witness.partly:
                self.witness.answered.add(each)
        plain: dict[str, Any] = {"jsonrpc": "2.0", "id": id_, "result": {}}
        stream = id_ if which % 3 == 0 and self.wire.transport == "http" else None
        match how:
            case "cut":
                self.receive(head, stream)
            case "too large":
                self.ledger.responses.too_large(
                    Oversized(head=head, size=9_999_999), at=self.now, stream=stream
                )
                self.heard()
            case "as text":
                self.receive({**plain, "id": str(id_)}, stream)
            case "batch":
                self.receive([{**plain, "id": second}, plain], stream)
            case "no id":
                self.receive({"jsonrpc": "2.0", "id": None, "error": {"code": 1, "message": "no"}}, stream)
            case _:
                self.receive(plain, stream)
                self.receive(plain, stream)

    @rule(which=WHICH, value=st.sampled_from([1, 2, 3, 9, "x"]))
    def progress(self, which: int, value: object) -> None:
        id_ = self.pick(which)
        row = self.witness.row(id_)
        over = id_ in self.witness.answered and not row.task_id
        params = {"progressToken": id_, "progress": value}
        events = self.receive({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        moved = any(isinstance(event, ev.Progress) for event in events)
        assert not moved or not (over or row.wire_id != id_), "progress of a round that was answered"

    @rule(status=STATUS, core=st.booleans())
    def push(self, status: dict[str, Any], core: bool) -> None:
        method = "notifications/tasks/status" if core else "notifications/tasks"
        self.receive({"jsonrpc": "2.0", "method": method, "params": status})

    @rule(
        theirs=st.sampled_from(THEIRS),
        method=st.sampled_from(
            ["elicitation/create", "elicitation/create", "sampling/createMessage", "ping"]
        ),
        of=st.sampled_from(["", "", "T"]),
        which=WHICH,
    )
    def ask(self, theirs: RequestId, method: str, of: str, which: int) -> None:
        params = {"_meta": {"io.modelcontextprotocol/related-task": {"taskId": of}}} if of else {}
        stream = self.pick(which) if which % 2 and self.wire.transport == "http" else None
        self.receive({"jsonrpc": "2.0", "id": theirs, "method": method, "params": params}, stream)

    @rule(theirs=st.sampled_from(THEIRS))
    def withdraw(self, theirs: RequestId) -> None:
        params = {"requestId": theirs}
        self.receive({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    @rule(
        which=WHICH,
        what=st.sampled_from(["subscriptions/acknowledged", "resources/updated", "odd"]),
        foreign=SELDOM,
    )
    def report(self, which: int, what: str, foreign: bool) -> None:
        about = {"io.modelcontextprotocol/subscriptionId": "nobody's" if foreign else self.pick(which)}
        params = {"_meta": about, "uri": "a:b"}
        self.receive({"jsonrpc": "2.0", "method": f"notifications/{what}", "params": params})
