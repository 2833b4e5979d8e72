"""Calls that go as recorded, on a clock of the test's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp_tui.demo import log as demo_log
from mcp_tui.demo.calls import Channel
from mcp_tui.demo.dispatch import Setting
from mcp_tui.demo.frames import DemoCaller
from mcp_tui.mock.replaying import Replayed
from mcp_tui.mock.runs import Runs
from mcp_tui.mock.server import Mock, MockConversation
from tests.mock.recordings import COUNT, answer, call, cancel, error, progress, session, written

CALLER = DemoCaller("2025-11-25", "debug")


class Sent(Channel):
    """Keeps what is sent, with its time."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[tuple[float, dict[str, Any]]] = []
        self.now: Callable[[], float] = lambda: 0.0

    def send(self, frame: dict[str, Any]) -> bool:
        self.frames.append((round(self.now(), 3), frame))
        return True

    @property
    def told(self) -> list[tuple[float, str]]:
        kinds = ("result", "error")
        return [
            (at, frame.get("method") or next(k for k in kinds if k in frame)) for at, frame in self.frames
        ]


class Clock(demo_log.TestControl):
    """Lets every step pass at once, and cancels the call when its time has come."""

    def __init__(self, cancel_at: float) -> None:
        super().__init__()
        self.cancel_at = cancel_at
        self.call: Replayed

    async def step(self, tool: str) -> None:
        await asyncio.sleep(0)

    def tell(self, line: bytes) -> None:
        pass


class Timed(Replayed):
    """Knows the time of its cancel beforehand, so that the test decides what comes first."""

    cancel_at = float("inf")

    async def until(self, deadline: float) -> bool:
        if deadline >= self.cancel_at and not self.cancelled.is_set():
            self._reached = self.cancel_at
            self.cancel("notification")
        return await super().until(deadline)


async def replayed(
    path: Path, *, cancel_at: float = float("inf"), times: int = 1, speed: float = 1.0
) -> Sent:
    """Calls ``count`` some times, each to its end; the last one is cancelled."""
    log = demo_log.DemoLog(None, "stdio")
    log.control = Clock(cancel_at)
    tasks: list[asyncio.Task[None]] = []

    def spawn(work: Any) -> asyncio.Task[None]:
        tasks.append(asyncio.get_running_loop().create_task(work))
        return tasks[-1]

    mock = Mock(Runs([path]), speed=speed)
    conversation = MockConversation(Setting(log=log, spawn=spawn, end=lambda _: None), mock)
    sent = Sent()
    for number in range(times):
        sent = Sent()
        params = {**COUNT, "_meta": {"progressToken": "t"}}
        frame = {"jsonrpc": "2.0", "id": 70 + number, "method": "tools/call", "params": params}
        made = conversation.handle(frame, CALLER, sent)
        assert isinstance(made, Replayed)
        made.__class__ = Timed
        sent.now = made.now
        if number == times - 1:
            made.cancel_at = cancel_at  # pyright: ignore[reportAttributeAccessIssue]
        await tasks[-1]
    return sent


RUN = (call(1, 0), progress(1, 1, 1), progress(1, 2, 2), progress(1, 3, 3), answer(1, 4))


async def test_ids_tokens_and_delays_are_those_of_the_caller(tmp_path: Path):
    path = written(tmp_path, session(*RUN))
    sent = await replayed(path, speed=2)
    assert [at for at, _ in sent.told] == [0.5, 1.0, 1.5, 2.0]
    assert {frame["params"]["progressToken"] for _, frame in sent.frames[:3]} == {"t"}
    assert sent.frames[-1][1]["id"] == 70


async def test_repeated_calls_go_in_the_recorded_order_then_as_the_last(tmp_path: Path):
    path = written(
        tmp_path,
        session(call(1, 0), answer(1, 1, "one"), call(2, 2), answer(2, 3, "two"), answer(2, 4, "again")),
    )
    assert [at for at, _ in (await replayed(path)).told] == [1.0]
    for times in (2, 3):
        sent = await replayed(path, times=times)
        assert [frame["result"]["content"][0]["text"] for _, frame in sent.frames] == ["two", "again"]


async def test_a_tool_that_stopped_stops_earlier_and_later_than_recorded(tmp_path: Path):
    path = written(
        tmp_path, session(*RUN, call(2, 10), progress(2, 11, 1), cancel(2, 11.5), error(2, 11.6), call(3, 20))
    )
    for at, told in ((0.5, []), (2.5, [(1.0, "notifications/progress"), (2.0, "notifications/progress")])):
        assert (await replayed(path, cancel_at=at)).told == [*told, (round(at + 0.1, 3), "error")]


async def test_one_that_ignored_its_cancel_answers_late_at_its_own_time(tmp_path: Path):
    path = written(tmp_path, session(call(2, 0), progress(2, 1, 1), cancel(2, 1.5), answer(2, 4)))
    assert (await replayed(path, cancel_at=0.5)).told == [(4.0, "result")]
    assert (await replayed(path, cancel_at=3)).told == [(1.0, "notifications/progress"), (4.0, "result")]


async def test_one_that_was_never_cancelled_answers_as_recorded(tmp_path: Path):
    told = [(float(at), "notifications/progress") for at in (1, 2, 3)]
    assert (await replayed(written(tmp_path, session(*RUN)), cancel_at=1.5)).told == [*told, (4.0, "result")]


async def test_a_call_cancelled_in_the_recording_and_not_now_goes_on_as_another_did(tmp_path: Path):
    path = written(tmp_path, session(*RUN, call(2, 10), progress(2, 11, 1), cancel(2, 11.5)))
    told = [(float(at), "notifications/progress") for at in (1, 2, 3)]
    assert (await replayed(path, times=2)).told == [*told, (4.0, "result")]
