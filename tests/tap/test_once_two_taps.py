"""Two taps with the same command at once: what one of them gave up, or had open when it was killed, counts for both."""

from __future__ import annotations

import json
import os
import sys
from itertools import count, product
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_tui import clock
from mcp_tui.journal.state_folder import state_folder
from mcp_tui.tap.once import NOT_SENT, Action, Call, Given, OnceGuard, Sent
from mcp_tui.tap.once_log import KILLED, GuardLog
from mcp_tui.tap.once_notes import START, TIME
from mcp_tui.tap.once_stdio import StdioGuard
from mcp_tui.tap.recorder_link import Queue
from tests.tap.test_once import Mail, over
from tests.waiting import wait

STEPS: Final = "rplcakqw"
"""Repeat, parallel call, limit, cancel, answer, kill, an end in order, and a person who lets a repeat through: each of the
first tap, and in capitals of the second one.
"""

_numbers = count()


class Run:
    """An execution at a server."""

    def __init__(self, call: Call, at: float) -> None:
        self.call = call
        self.at = at
        self.is_lost = False
        """Whether its client gave it up, or its tap has ended."""


class Window:
    """A client, its tap with the real log, and its server."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.log = GuardLog(pair.command)
        self.guard = OnceGuard(log=self.log.write, wall=pair.wall, secret=self.log.secret)
        self.log.reading = self.guard.read
        self.log.set_client("agent")
        self.outlook = self.guard.outlook()
        self.unread: list[Call] = []
        """Calls that were sent, and that only the notes have."""
        self.runs: list[Run] = []
        self.refused: Any = None
        self.is_allowed = False

    def read(self) -> None:
        with self.log.together():
            for call in self.unread:
                self.guard.passed(call, call.sent_at)
        self.unread.clear()
        assert self.log.notes is not None
        self.log.notes.calls.clear()
        self.outlook = self.guard.outlook()

    def send(self, after: float) -> None:
        self.pair.now += after
        at, id = self.pair.now, next(_numbers)
        request = {"method": "tools/call", "params": {"name": "send"}, "id": id}
        call = self.guard.guarded(self.guard.read(request, "agent", at))
        assert call is not None
        if self.unread and at - self.unread[0].sent_at >= 0.5:
            self.read()
        if not self.log.has_news and (at < self.outlook.free_until or call.tool not in self.outlook.tools):
            assert self.log.notes is not None
            assert self.log.notes.calls.add(at, json.dumps(request).encode() + b"\n")
            self.unread.append(call)
            self.take([Sent(call)])
            return
        self.read()
        for tap, lines, why in self.log.others():
            self.guard.remember(tap, lines, why, at)
        self.take(self.guard.called(call, at))
        self.outlook = self.guard.outlook()

    def take(self, actions: list[Action]) -> None:
        for each in actions:
            lost = [run for run in self.pair.runs if run.is_lost]
            match each:
                case Sent(call):
                    own = [run for run in self.runs if self.pair.now - run.at > 0.5]
                    assert self.is_allowed or not (lost or own), "sent, and nobody knows what became of a run"
                    if self.is_allowed:
                        self.is_allowed = False
                        for run in lost:
                            self.pair.settle(run)
                    self.runs.append(Run(call, self.pair.now))
                    self.pair.runs.append(self.runs[-1])
                case Given(call, _, True, "refused"):
                    assert lost, "refused, and everything is known"
                    self.refused = call.id
                case Given(_, message, True):
                    for run in [run for run in self.pair.runs if run.call.id == message["result"]["run"]]:
                        self.pair.settle(run)
                case _:
                    raise AssertionError(each)

    def do(self, step: str) -> None:
        if step in "kq":
            self.end(is_killed=step == "k")
            return
        if step in "rp":
            self.send(1.0 if step == "r" else 0.1)
            return
        self.read()
        open_ = [run for run in self.runs if not run.is_lost]
        if step in "lc" and open_:
            open_[-1].is_lost = True
            with self.log.together():
                (self.guard.gave_up if step == "l" else self.guard.cancels)(open_[-1].call, self.pair.now)
        elif step == "a" and self.runs:
            run = self.runs.pop(0)
            answer = {"jsonrpc": "2.0", "id": run.call.id, "result": {"run": run.call.id}}
            with self.log.together():
                given = self.guard.answered(run.call, answer, 9, self.pair.now, delivered=not run.is_lost)
            if not run.is_lost:
                self.pair.settle(run)
            self.take(given)
        elif step == "w" and self.refused is not None:
            self.is_allowed = self.guard.allow(self.refused)
        self.outlook = self.guard.outlook()

    def close(self) -> None:
        """Closes the logs of other taps, as the end of a process does."""
        for other in filter(None, self.log._others.values()):  # pyright: ignore[reportPrivateUsage]
            os.close(other.file)

    def end(self, *, is_killed: bool) -> None:
        for run in self.runs:
            run.is_lost = True
        if is_killed:
            os.close(self.log._file)  # pyright: ignore[reportPrivateUsage]
        else:
            self.read()
            self.guard.ended("the server ended", self.pair.now)
            self.log.close(empty=self.guard.is_empty)
        self.close()
        self.pair.windows[self.pair.windows.index(self)] = None  # The next step starts it again.


class Pair:
    """Two windows of one agent."""

    def __init__(self) -> None:
        self.command = next(_numbers)
        self.wall = clock.wall() - monotonic()
        self.now = monotonic()
        self.runs: list[Run] = []
        """Those whose outcome no client knows."""
        self.windows: list[Window | None] = [Window(self), Window(self)]

    def settle(self, run: Run) -> None:
        if run in self.runs:
            self.runs.remove(run)

    def play(self, steps: str, *, close: bool = True) -> None:
        try:
            for step in steps:
                number = step.isupper()
                window = self.windows[number] = self.windows[number] or Window(self)
                window.do(step.lower())
        except AssertionError as error:
            error.add_note(f"in {steps}")
            raise
        finally:
            if close:
                self.close()

    def close(self) -> None:
        for each in self.windows:
            if each is not None:
                each.close()
                each.log.close(empty=True)


EVERY: Final = STEPS + STEPS.upper()


def test_what_happens_in_one_tap_counts_in_the_other_one() -> None:
    for steps in product("lckqar", repeat=3):
        # The second one has looked at the first one before, and has nothing of its own.
        Pair().play("rRA" + "".join(steps) + "R")


@pytest.mark.parametrize("steps", ["rRAlRarR", "rRAlRwR", "rRAlRkR", "rRAlRaqR"])
def test_what_the_other_one_refused_before(steps: str) -> None:
    Pair().play(steps)


def test_calls_that_are_answered_in_one_tap_are_not_read_in_the_other_one() -> None:
    pair = Pair()
    pair.play("raRA", close=False)
    first, second = pair.windows
    assert first is not None
    assert second is not None
    for _ in range(10):
        first.do("r")
        first.do("a")
        assert not second.log.has_news
    first.do("r")
    first.do("l")
    assert second.log.has_news
    pair.close()


@pytest.mark.slow
def test_two_taps_in_every_order_of_five() -> None:
    for steps in product(EVERY, EVERY, EVERY, "rR"):
        Pair().play("r" + "".join(steps))


@settings(max_examples=100)
@given(st.text(EVERY, min_size=4, max_size=20))
def test_two_taps_in_long_orders(steps: str) -> None:
    Pair().play(steps)


def _logs() -> list[Path]:
    """The logs with anything in them."""
    return [each for each in (state_folder() / "once").glob("*/*.jsonl") if each.stat().st_size]


def test_a_call_that_was_open_for_longer_than_the_window_when_its_tap_was_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def set_age() -> None:
        for each in _logs():
            os.utime(each, (0, 0))

    pair = Pair()
    pair.play("rk", close=False)
    set_age()
    for _ in range(
        2
    ):  # The next one that is killed leaves the log to a third one, and the wall clock is set forward.
        pair.play("r", close=False)
        assert pair.windows[0] is not None
        assert pair.windows[0].refused is not None
        pair.play("k", close=False)
        set_age()
    later = clock.awake() + 601
    monkeypatch.setattr(clock, "awake", lambda: later)
    assert [*GuardLog(pair.command).others()] == []
    assert not _logs()


class Forwarded:
    """A direction of the bytes of a tap."""

    def __init__(self) -> None:
        self.ended = False
        self.queue = Queue()

    def say(self, line: bytes, kind: bytes = b"") -> None:
        raise AssertionError(line, kind)


def test_a_call_that_is_sent_during_a_decision_is_noted_until_it_is_read() -> None:
    moment = 1
    while not _sends_during_a_decision(moment):
        moment += 1
    assert moment > 10


def _sends_during_a_decision(moment: int) -> bool:
    """Sends a call before one line of the decision; returns whether it has fewer lines."""
    log = GuardLog(next(_numbers))
    guard = OnceGuard(log=log.write, secret=log.secret)
    between = StdioGuard(guard, log, Forwarded(), Forwarded())
    assert [*log.others()] == []
    lines = 0
    sent: list[int] = []

    def send(id: int) -> None:
        request = {"method": "tools/call", "params": {"name": f"send {moment} {id}"}, "id": id}
        if between.sends(json.dumps(request).encode() + b"\n"):  # not on a machine that was busy meanwhile
            sent.append(id)

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code.co_name != "_deciding":
            return None
        if event == "line":
            lines += 1
            if lines == moment:
                send(2)
        return trace

    send(1)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        between._read_unread()  # pyright: ignore[reportPrivateUsage]
    finally:
        sys.settrace(before)
    send(3)
    assert log.notes is not None
    noted = log.notes.memory[START + TIME.size :].partition(b"\0")[0]
    known = noted + b"".join(each.read_bytes() for each in _logs())
    for id in sent:
        assert b"send %d " % moment + b"%d" % id in known
    between.close()
    return lines < moment


def test_a_call_that_one_tap_gave_up_or_had_open_when_it_was_killed_is_refused_by_the_other_one(
    tmp_path: Any,
) -> None:
    mail = Mail(tmp_path, "--once")
    with mail.client() as first, mail.client() as second:
        for id, to in enumerate(("a", "b", "c")):
            first.call(id, "send", to=to)
        wait(lambda: len(mail.works) == 3)
        second.call(1, "send", to="b")  # nobody gave that up
        wait(lambda: len(mail.works) == 4)
        first.write(method="notifications/cancelled", params={"requestId": 0})
        wait(lambda: mail.works[-1] == "cancel 0")
        second.call(2, "send", to="a")
        refused = second.read()
        assert (refused["id"], refused["result"]["_meta"][NOT_SENT]["repeatOf"]) == (2, 0)
        first.process.kill()
        first.process.wait()
        second.call(3, "send", to="c")
        refused = second.read()
        assert (refused["id"], refused["result"]["_meta"][NOT_SENT]["why"]) == (3, KILLED)
        mail.go.touch()
        assert second.read()["id"] == 1
        assert second.end() == 0
    assert mail.works.count("mail") == 4
    over()
