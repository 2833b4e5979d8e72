"""Calls that go as recorded, on a clock of the test's."""

from __future__ import annotations

import asyncio
import math
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.demo import demo_log
from mcp_tui.demo.calls import Call, Channel
from mcp_tui.demo.dispatch import Setting
from mcp_tui.demo.frames import DemoCaller
from mcp_tui.mock.replaying import Replayed
from mcp_tui.mock.runs import Runs
from mcp_tui.mock.server import Mock, MockConversation
from tests.mock.recordings import COUNT, Frame, answer, call, cancel, error, progress, session, written

ASKS: Frame = {"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
CALLER = DemoCaller("2025-11-25", "debug", ASKS)
MODERN = DemoCaller("2026-07-28", "debug", ASKS)


class Sent(Channel):
    """Keeps what is sent, with its time."""

    def __init__(self) -> None:
        super().__init__()
        self.frames: list[tuple[float, dict[str, Any]]] = []
        self.call: Call | None = None

    def send(self, frame: dict[str, Any]) -> bool:
        self.frames.append((0.0 if self.call is None else round(self.call.now(), 3), frame))
        return True

    @property
    def told(self) -> list[tuple[float, str]]:
        kinds = ("result", "error")
        return [
            (at, frame.get("method") or next(k for k in kinds if k in frame)) for at, frame in self.frames
        ]


class Clock(demo_log.TestControl):
    """Lets every step pass at once."""

    async def step(self, tool: str) -> None:
        await asyncio.sleep(0)

    def send(self, line: bytes) -> None:
        pass


class Timed(Replayed):
    """Knows the time of its cancel beforehand, so that the test decides what comes first."""

    cancel_at = math.inf

    async def until(self, deadline: float) -> bool:
        if deadline >= self.cancel_at and not self.cancelled.is_set():
            self._reached = self.cancel_at
            self.cancel("notification")
        return await super().until(deadline)


class Talk:
    """A client of a mock."""

    def __init__(self, path: Path, speed: float = 1.0) -> None:
        log = demo_log.DemoLog(None, "stdio")
        log.control = Clock()
        self.work: asyncio.Task[None]
        self.setting = Setting(log=log, spawn=self._spawn, end=lambda _: None)
        self.conversation = MockConversation(self.setting, Mock(Runs([path]), speed=speed))
        self._ids = count(70)

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        self.work = asyncio.get_running_loop().create_task(work)
        return self.work

    def begin(self, params: Frame, method: str = "tools/call", caller: DemoCaller = CALLER) -> Sent:
        sent, token = Sent(), {"_meta": {"progressToken": "t"}}
        frame = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": {**token, **params}}
        call = self.conversation.receive(frame, lambda _: caller, sent)
        if call is not None:
            call.__class__ = Timed
            sent.call = call
        return sent

    async def finish(self, params: Frame, method: str = "tools/call", caller: DemoCaller = CALLER) -> Frame:
        """The result of a request."""
        sent = self.begin(params, method, caller)
        await self.work
        return sent.frames[-1][1].get("result", {})


async def replayed(path: Path, *, cancel_at: float = math.inf, times: int = 1, speed: float = 1.0) -> Sent:
    """Calls ``count`` some times, each to its end; the last one is cancelled."""
    talk = Talk(path, speed)
    for _ in range(times - 1):
        await talk.finish(COUNT)
    sent = talk.begin(COUNT)
    assert isinstance(sent.call, Timed)
    sent.call.cancel_at = cancel_at
    await talk.work
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


async def test_a_cancel_with_an_odd_reason_is_not_the_example_of_a_right_one(tmp_path: Path):
    at, way, refused = cancel(2, 11)
    refused["params"]["reason"] = 42
    odd = (call(2, 10), (at, way, refused), answer(2, 14))
    path = written(tmp_path, session(*odd, call(3, 20), cancel(3, 22), error(3, 22.1)))
    assert (await replayed(path, cancel_at=1)).told == [(1.1, "error")]


# -- questions, in both eras -----------------------------------------------------------------------------------------

FORM: Frame = {"method": "elicitation/create", "params": {"message": "Who?"}}
BY_REQUEST = (
    call(1, 0),
    (1.0, "in", {"jsonrpc": "2.0", "id": 9, **FORM}),
    (5.0, "out", {"jsonrpc": "2.0", "id": 9, "result": {"action": "accept"}}),
    answer(1, 6),
)
VERSION = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
ROUND: Frame = {"resultType": "input_required", "inputRequests": {"who": FORM}, "requestState": "s"}
BY_ROUND = (
    call(1, 0, {**COUNT, **VERSION}),
    (1.0, "in", {"jsonrpc": "2.0", "id": 1, "result": ROUND}),
    call(2, 5, {**COUNT, **VERSION, "requestState": "s", "inputResponses": {"who": {"action": "accept"}}}),
    answer(2, 6),
)


@pytest.mark.parametrize("recorded", [BY_REQUEST, BY_ROUND], ids=["by request", "in a round"])
async def test_a_question_is_asked_by_request_and_the_answer_follows_that_of_the_client(
    tmp_path: Path, recorded: tuple[Any, ...]
):
    talk = Talk(written(tmp_path, session(*recorded)))
    sent = talk.begin(COUNT)
    while not sent.frames:
        await asyncio.sleep(0)
    ((at, question),) = sent.frames
    assert (at, question["method"], question["params"]) == (1.0, *FORM.values())
    assert question["id"] != 9
    talk.conversation.receive({"jsonrpc": "2.0", "id": question["id"], "result": {}}, lambda _: CALLER, sent)
    await talk.work
    assert sent.told[1:] == [(2.0, "result")]


@pytest.mark.parametrize("recorded", [BY_REQUEST, BY_ROUND], ids=["by request", "in a round"])
async def test_a_question_is_asked_in_a_round_and_the_next_round_is_answered(
    tmp_path: Path, recorded: tuple[Any, ...]
):
    talk = Talk(written(tmp_path, session(*recorded)))
    first = await talk.finish(COUNT, caller=MODERN)
    assert first["resultType"] == "input_required"
    assert list(first["inputRequests"].values()) == [FORM]
    again: Frame = {**COUNT, "requestState": first["requestState"], "inputResponses": {}}
    assert (await talk.finish(again, caller=MODERN))["content"][0]["text"] == "done"


# -- tasks -----------------------------------------------------------------------------------------------------------


def told(id_: int, at: float, status: str) -> tuple[float, str, Frame]:
    return at, "in", {"jsonrpc": "2.0", "id": id_, "result": {"taskId": "T", "status": status}}


async def test_a_task_has_a_fresh_id_its_recorded_course_and_its_cancel(tmp_path: Path):
    task, about = {**COUNT, "task": {"ttl": 1}}, {"taskId": "T"}
    path = written(
        tmp_path,
        session(
            call(1, 0, task),
            (
                0.0,
                "in",
                {"jsonrpc": "2.0", "id": 1, "result": {"task": {"taskId": "T", "status": "working"}}},
            ),
            *(call(2, 1e5, about, "tasks/get"), told(2, 1e5, "working")),
            *(call(3, 2e5, about, "tasks/cancel"), told(3, 2e5, "cancelled")),
            *(call(4, 3e5, about, "tasks/get"), told(4, 3e5, "cancelled")),
        ),
    )
    talk = Talk(path)
    first, second = [(await talk.finish({**COUNT, "task": {}}))["task"]["taskId"] for _ in range(2)]
    assert len({first, second, "T"}) == 3
    for id_, method, status in (
        (first, "tasks/get", "working"),
        (first, "tasks/cancel", "cancelled"),
        (first, "tasks/get", "cancelled"),
        (second, "tasks/get", "working"),
    ):
        assert await talk.finish({"taskId": id_}, method) == {"taskId": id_, "status": status}
