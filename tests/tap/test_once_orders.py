"""The guard of ``tap --once`` against every order of what can happen to a call and its repeats."""

from __future__ import annotations

from itertools import product
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui.protocol import messages
from mcp_tui.tap import once
from mcp_tui.tap.once import NOT_SENT, REPEAT_OF, Action, Call, Given, OnceGuard, Sent

STEPS: Final = "rplcaoedxknt"
"""Repeat, parallel call, limit, cancel, answer, a cancel that crosses it, error to the cancel, disconnect, server lost,
kill, not taken, time.
"""


REQUEST: Final[dict[str, Any]] = {"method": "tools/call", "params": {"name": "send"}}


class World:
    """A client that sends one call again and again, a server, and the guard between them."""

    def __init__(self) -> None:
        self.log: list[dict[str, Any]] = []
        self.guard = self.started()
        self.now = 0.0
        self.taps = 0
        self.ids = 0
        self.calls: dict[int, Call] = {}
        """Those that the client has sent, by their ids."""
        self.waits: list[int] = []
        """Those of them that it waits for."""
        self.works: dict[int, Call] = {}
        """What runs at the server, by the number of its execution."""
        self.runs: dict[int, int] = {}
        """The execution of a call."""
        self.executions = 0
        self.unknown: dict[int, float] = {}
        """Executions that no client has the answer of, and when they began."""
        self.passed: tuple[int, int, float] | None = None
        """A call whose answer has passed, the execution, and when."""
        self.just = 0
        """The execution that is being answered: several may wait for that together."""

    def started(self) -> OnceGuard:
        return OnceGuard(log=self.log.append)

    # -- what happens ------------------------------------------------------------------------------------------

    def play(self, steps: str) -> None:
        for step in steps:
            getattr(self, f"do_{step}")()
        # In the end the server ends, and nobody may wait any more.
        self.do_x()
        self.do_t()
        assert not [id for id in self.waits if id in self.runs or self.calls[id].first is not None], (
            "waits for ever"
        )

    def do_r(self, after: float = 1.0) -> None:
        self.now += after
        self.ids += 1
        call = self.guard.guarded(self.guard.read({**REQUEST, "id": self.ids}, "agent", self.now))
        assert call is not None
        self.calls[self.ids] = call
        self.waits.append(self.ids)
        outlook = self.guard.outlook()
        actions = self.guard.called(call, self.now)
        if self.now < outlook.free_until or call.tool not in outlook.tools:
            # Such a call is sent before anything is decided about it.
            assert actions == [Sent(call)], "a call was sent at once, and is a repeat"
        self.take(actions)

    def do_p(self) -> None:
        self.do_r(0.1)

    def do_l(self) -> None:
        if self.waits:
            self.guard.gave_up(self.calls[self.waits.pop()], self.now)

    def do_c(self) -> None:
        if not self.waits:
            return
        id = self.waits.pop()
        sent = self.guard.cancels(self.calls[id], self.now)
        assert sent is (id in self.runs)  # the server hears of no cancel of a call that it never had

    def do_a(self) -> None:
        self.now += 0.2
        if self.works:
            run = min(self.works)
            call = self.works.pop(run)
            passes, self.just = call.id in self.waits, run
            if passes:
                self.passed = call.id, run, self.now
                self.waits.remove(call.id)
                self.unknown.pop(run, None)
            answer = {"jsonrpc": "2.0", "id": call.id, "result": {"run": run}}
            self.take(self.guard.answered(call, answer, 100, self.now, delivered=passes))
            self.just = 0

    def do_o(self) -> None:
        """The client has cancelled a call whose answer has just passed: it did not read that."""
        if self.passed is not None and self.now - self.passed[2] < 1:
            id, run, _ = self.passed
            self.passed = None
            assert self.guard.crossed(id, self.now)
            self.unknown[run] = -1.0

    def do_e(self) -> None:
        call = next((each for each in self.works.values() if each.cancelled_at is not None), None)
        if call is not None and not call.unknown:
            error = messages.error(call.id, -32800, "cancelled")
            self.take(self.guard.answered(call, error, 100, self.now, delivered=False))

    def do_d(self) -> None:
        for id in self.waits:
            self.guard.gave_up(self.calls[id], self.now)
        self.waits.clear()

    def do_x(self) -> None:
        self.take(self.guard.ended("the server ended", self.now))
        self.waits = [id for id in self.waits if id not in self.runs]
        self.works.clear()

    def do_k(self) -> None:
        """The tap is killed, and with it the server; the client starts both again."""
        self.taps += 1
        self.passed = None
        self.works.clear()
        self.waits.clear()
        self.runs.clear()
        lines, self.log = self.log, []
        self.log = []
        self.guard = self.started()
        self.guard.remember(f"tap {self.taps}", lines, "the tap was killed", self.now)
        self.log[:0] = self.kept(lines)

    def kept(self, lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """What the next tap reads of the files of all before it, in one: its own numbers are others."""
        return [
            {name: f"{self.taps}-{value}" if name in NUMBERS else value for name, value in each.items()}
            for each in lines
        ]

    def do_n(self) -> None:
        if self.works:
            run = max(self.works)
            call = self.works.pop(run)
            self.unknown.pop(run, None)
            self.waits = [id for id in self.waits if id != call.id]
            self.take(self.guard.refused_by_server(call, self.now))

    def do_t(self) -> None:
        self.now += 3
        self.take(self.guard.tick(self.now))
        for each in self.calls.values():  # a server that is silent after a cancel keeps nobody waiting
            assert each.first is None or each.id not in self.waits or each.first.cancelled_at is None

    # -- what must hold ----------------------------------------------------------------------------------------

    def take(self, actions: list[Action]) -> None:
        for each in actions:
            match each:
                case Sent(call):
                    old = [run for run, began in self.unknown.items() if self.now - began > 0.5]
                    assert not old, f"{call.id} is sent, and nobody knows what became of execution {old}"
                    self.executions += 1
                    self.works[self.executions] = call
                    self.runs[call.id] = self.executions
                    self.unknown[self.executions] = call.sent_at
                case Given(call, message, True):
                    assert message["id"] == call.id
                    assert call.id in self.waits, "an answer for nobody"
                    self.waits.remove(call.id)
                    result: Any = message["result"]
                    if each.how == "given":
                        assert result["_meta"][REPEAT_OF]["id"] != call.id
                        known = {*self.unknown, self.just}
                        assert result["run"] in known, "an answer that was given before"
                        self.passed = call.id, result["run"], self.now
                    else:
                        assert NOT_SENT in result["_meta"]
                        assert self.unknown
                case _:
                    raise AssertionError(each)
        runs = {
            each.message["result"]["run"]
            for each in actions
            if isinstance(each, Given) and each.how == "given"
        }
        for run in runs:
            self.unknown.pop(run, None)


NUMBERS: Final = ("call", "settled", "late", "unknown", "gave_up")


def test_every_order_of_four() -> None:
    for steps in product(STEPS, repeat=4):
        play("r" + "".join(steps))


@pytest.mark.slow
def test_every_order_of_five() -> None:
    for steps in product(STEPS, repeat=5):
        play("r" + "".join(steps))


@settings(max_examples=400)
@given(st.text(STEPS, min_size=5, max_size=30))
def test_long_orders(steps: str) -> None:
    play(steps)


def play(steps: str) -> None:
    try:
        World().play(steps)
    except AssertionError as error:
        error.add_note(f"in {steps}")
        raise


# -- the races of the page, one by one -------------------------------------------------------------------------


def played(steps: str) -> World:
    """A world after some steps, without an end."""
    world = World()
    for step in steps:
        getattr(world, f"do_{step}")()
    return world


def test_c46_c47_an_answer_that_crosses_the_give_up_is_given_again() -> None:
    assert played("raor").executions == 1
    world = played("r")
    call = world.calls[1]
    answer: dict[str, Any] = {"id": 1, "result": {}}
    world.guard.answered(call, answer, 9, world.now + 1, delivered=True, crossing=True)
    world.ids, world.now = 1, world.now + 1.05
    again = world.guard.guarded(world.guard.read({**REQUEST, "id": 2}, "agent", world.now))
    assert again is not None
    (given,) = world.guard.called(again, world.now)
    assert isinstance(given, Given)
    assert given.how == "given"


def test_of_too_many_calls_the_oldest_are_forgotten_and_no_id_stands_for_a_call_of_another_tap(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(once, "CALLS", 20)
    log: list[dict[str, Any]] = []
    guard = OnceGuard(log=log.append)
    for number in range(100):
        params = {"name": "send", "arguments": {"to": number}}
        call = guard.guarded(guard.read({**REQUEST, "params": params, "id": number}, "agent", number))
        assert call is not None
        guard.called(call, number)
        guard.gave_up(call, number)
    assert len(guard.open) <= 20
    assert guard.open[-1].id == 99
    other = OnceGuard()
    other.remember("tap", log, "killed", 100.0)
    assert other.find(99) is None  # it is the id of another call here


def test_c48_an_error_to_the_cancel_is_not_the_outcome_and_the_result_behind_it_is() -> None:
    world = played("rcer")
    assert (world.executions, world.waits) == (1, [])  # refused
    assert played("rcear").executions == 1


def test_c49_c91_repeats_wait_together_and_one_that_is_cancelled_is_nothing_to_the_server() -> None:
    world = played("rlrrrca")
    assert (world.executions, world.waits) == (1, [])
    assert played("rcrt").waits == []  # silent since its cancel


def test_c92_what_waits_is_sent_when_the_server_refuses_the_first() -> None:
    world = played("rlrrn")
    assert (world.executions, len(world.waits)) == (2, 2)


def test_c93_c94_what_was_open_in_another_tap_or_session_is_compared_without_its_id() -> None:
    world = played("rk")
    world.ids = 0
    world.do_r()  # under the same id
    assert (world.executions, world.waits) == (1, [])
