"""The mock as a server: the choice of the recorded run that answers a request, for any protocol version of the client."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from mcp_tui.demo import frames
from mcp_tui.demo.calls import Call, Channel
from mcp_tui.demo.demo_server import main
from mcp_tui.demo.dispatch import WORKING, Conversation, Setting
from mcp_tui.demo.frames import DemoCaller, DemoRefusal, Object
from mcp_tui.mock.mock_report import EMPTY_RESULTS, NAMED, MockReport
from mcp_tui.mock.replaying import (
    LiveTask,
    Memory,
    Replayed,
    RunPart,
    adapted,
    capabilities,
    introduction,
    supported,
)
from mcp_tui.mock.runs import Run, Runs, shown
from mcp_tui.protocol import error_codes
from mcp_tui.protocol.http_access import HttpAccess
from mcp_tui.protocol.json_values import as_object, object_or_none
from mcp_tui.protocol.responses import OPENING_METHODS
from mcp_tui.protocol.states import LOG_LEVELS

_ALWAYS: Final = frozenset({"ping", "logging/setLevel"})
"""Methods that have an empty result even in strict mode."""


class Mock:
    """The state that all conversations of a mock share. ``speed`` is ``None`` for no delays; ``report`` is a report file."""

    def __init__(
        self,
        runs: Runs,
        *,
        speed: float | None,
        strict: bool = False,
        nearest: bool = False,
        report: Path | None = None,
    ) -> None:
        self.runs = runs
        self.report = MockReport(runs, report)
        self.memory = Memory(runs, self.report.ask)
        self.pace = 0.0 if speed is None else 1.0 / speed
        self.strict = strict
        self.nearest = nearest
        self.announced, self.server = introduction(runs.all)
        self.head = 0.0
        self.turns: Counter[str] = Counter()
        """The number of answers to each request, for protocol versions without sessions."""

    def serve(self, port: int | None, access: HttpAccess) -> int:
        """Serves until the end; returns the exit status. See :func:`mcp_tui.demo.demo_server.main`."""
        # Over stdio, the time of the first recorded answer includes the start of the recorded server. The time that the
        # start of this mock took is subtracted.
        self.head = time.process_time() if port is None else 0.0
        return main(port, None, self._settle, "mock", access)

    def _settle(self, setting: Setting) -> Setting:
        return replace(setting, converse=partial(MockConversation, mock=self), streams=self._streams)

    def _streams(self, frame: Object) -> bool:
        params = as_object(frame.get("params"))
        runs = self.runs.find(str(frame.get("method")), params)
        return frame.get("method") in WORKING or any(not each.is_answer for run in runs for each in run.steps)

    def unrecorded(self, method: str, params: Object, caller: DemoCaller) -> Object | None:
        """Returns the result of a request without runs; ``None`` if it must be refused.

        Announced lists exist, even if they are empty, and each list has a last page.
        """
        if method == "server/discover":
            return capabilities(self.announced, caller) | {"supportedVersions": supported(frames.MODERN)}
        if method in _ALWAYS:
            return EMPTY_RESULTS[method]
        announced = as_object(self.announced.get("capabilities"))
        capability = method.partition("/")[0].replace("completion", "completions")
        if self.strict or method not in EMPTY_RESULTS or capability not in announced:
            return None
        known = [run.result.get("nextCursor") for run in self.runs.all if run.method == method]
        return EMPTY_RESULTS[method] if not known or params.get("cursor") in known else None

    def refusal(self, method: str, params: Object, why: str = "Not recorded") -> DemoRefusal:
        """Returns the error for a request without a run, and reports it."""
        known, has_method = self.runs.names(method), any(run.method == method for run in self.runs.all)
        what = f"Recorded for {method}" if has_method else "Recorded methods"
        more = f", and {len(known) - NAMED} more" if len(known) > NAMED else ""
        sentence = f"{why}: {shown(method, params)}. {what}: {', '.join(known[:NAMED])}{more}."
        self.report.refuse(method, params, sentence)
        code = error_codes.INVALID_PARAMS if has_method else error_codes.METHOD_NOT_FOUND
        return DemoRefusal(code, sentence)


class MockConversation(Conversation):
    """One client of the mock."""

    def __init__(self, setting: Setting, mock: Mock) -> None:
        super().__init__(setting)
        self._mock = mock
        self._turns: Counter[str] = Counter()

    def notify(self, frame: Object) -> None:
        """Handles a notification: replays the messages that the recorded server sent after it, outside any request."""
        super().notify(frame)
        params = as_object(frame.get("params"))
        if runs := self._mock.runs.find(frame["method"], params):
            run = self._turn(runs, frame["method"], params, self.client)
            call = self._replayed(RunPart(run), runs, None, params, self.client, self.aside)
            self._setting.spawn(_alone(call))

    def handle(self, frame: Object, caller: DemoCaller, channel: Channel) -> Call | None:
        """Starts the recorded run of a request, or answers a request that every server answers."""
        method, params = frame["method"], frames.params_of(frame)
        runs = self._mock.runs.find(method, params)
        if self._mock.runs.makes_tasks and caller.modern and not caller.extends(frames.TASKS_EXTENSION):
            runs = [each for each in runs if each.result.get("resultType") != "task"]
        if method == "logging/setLevel" and params.get("level") in LOG_LEVELS:
            self.client = replace(self.client, log_level=params["level"])
        made = None
        if method == "initialize":
            runs, made = self._agree(runs, params)
        elif not runs:
            made = self._mock.unrecorded(method, params, caller)
        if not runs and method == "subscriptions/listen" and caller.modern and not self._mock.strict:
            return self._begin(frame, caller, channel)  # the subscription never gets a notification
        if made is not None and not runs:
            run = Run(0.0, method, {})
            result = adapted(run, made, caller, self._mock.server)
            channel.send(frames.result_frame(frame["id"], result))
            return None
        part = self._mock.memory.waiting.pop(str(params.get("requestState")), None)
        task = self._mock.memory.tasks.get(str(params.get("taskId")))
        if task is not None:
            found = self._task(task, method, params, caller)
            if isinstance(found, dict):
                channel.send(frames.result_frame(frame["id"], {**found, "taskId": params["taskId"]}))
                return None
            part = found
        elif part is None:
            part, runs = self._recorded(runs, method, params, caller)
        if part is None:
            raise self._mock.refusal(method, params)
        call = self._replayed(part, runs or [part.run], frame["id"], params, caller, channel)
        if task is not None:
            call.names = {task.recorded: params["taskId"]}
        if made is not None:
            version = made
            call.adapt = lambda run, result: adapted(run, {**result, **version}, caller, self._mock.server)
        return self.start(call, call.perform)

    def _recorded(
        self, runs: list[Run], method: str, params: Object, caller: DemoCaller
    ) -> tuple[RunPart | None, list[Run]]:
        """Returns the part that answers a request, and all its runs; without runs, perhaps those of the nearest request."""
        mock, asked = self._mock, params
        if not runs and mock.nearest and (runs := mock.runs.nearest(method, params)):
            mock.report.answer_nearest(method, params, runs[0])
            asked = runs[0].params
        if not runs:
            return None, runs
        return RunPart(self._turn(runs, method, asked, caller, strict=mock.strict), spare(runs)), runs

    def _agree(self, runs: list[Run], params: Object) -> tuple[list[Run], Object]:
        """Negotiates the protocol version; returns the runs of ``initialize``, and members that its result must have now."""
        asked = params.get("protocolVersion")
        if not isinstance(asked, str):
            raise frames.bad_params("protocolVersion must be a string")
        if self.revision is not None:
            raise frames.bad_request("already initialized")
        known = {
            str(run.params.get("protocolVersion")): str(run.result.get("protocolVersion"))
            for run in runs
            if run.result
        }
        wanted = asked if asked in frames.HANDSHAKE else frames.HANDSHAKE[0]
        # A server that once replied with another version supports only that one.
        firm = [agreed for each, agreed in known.items() if each != agreed and each in frames.HANDSHAKE]
        if not runs or known:
            self.revision = known.get(asked) or next(iter(firm), wanted)
            self.client = DemoCaller(self.revision, LOG_LEVELS[0], as_object(params.get("capabilities")))
        made: Object = {"protocolVersion": self.revision}
        if runs:
            return runs, made
        return [], capabilities(self._mock.announced, self.client) | made | {"serverInfo": self._mock.server}

    def _task(
        self, task: LiveTask, method: str, params: Object, caller: DemoCaller
    ) -> RunPart | Object | None:
        """Returns the part that answers a request about a task at this time, or the state of the new task as a result.

        Answers recorded before ``tasks/cancel`` are only used before a cancel, and those after it only after a cancel.
        """
        runs, of, now = self._mock.runs, task.call.part.run, asyncio.get_running_loop().time()
        found = runs.find(method, {**params, "taskId": task.recorded})
        cancel = next(iter(runs.find("tasks/cancel", {"taskId": task.recorded})), None)
        if method == "tasks/cancel" and found:
            task.cancelled = task.cancelled or now
            task.call.stopped = found[0].began - of.began
            task.call.cancel("tasks_cancel")
            return RunPart(self._turn(found, method, params, caller))
        over, is_cancelled = math.inf if cancel is None else cancel.began, task.cancelled is not None
        known = [each for each in found if (each.began >= over) == is_cancelled]
        since = over if is_cancelled else of.began + (0.0 if of.answer is None else of.answer.at)
        passed = (now - (task.cancelled or task.began)) / self._mock.pace if self._mock.pace else math.inf
        reached = [each for each in known if each.began - since <= passed]
        if method == "tasks/get" and not reached and not is_cancelled:
            return object_or_none(of.result.get("task")) or {**of.result, "resultType": "complete"}
        chosen = reached[-1:] or known[:1]
        if not chosen:
            return None
        # The answer to tasks/result arrives when the task is over, regardless of the request's time.
        head = passed - (chosen[0].began - since) if method == "tasks/result" else 0.0
        return RunPart(chosen[0], head=head)

    def _turn(
        self, runs: Sequence[Run], method: str, params: Object, caller: DemoCaller, *, strict: bool = False
    ) -> Run:
        """Returns the next run of a request: all in recorded order, then the last one repeatedly."""
        turns = self._mock.turns if caller.modern else self._turns
        key = self._mock.runs.key(method, params)
        turns[key] += 1
        if strict and turns[key] > len(runs):
            times = "1 time" if len(runs) == 1 else f"{len(runs)} times"
            raise self._mock.refusal(method, params, f"Recorded {times} only")
        return runs[min(turns[key], len(runs)) - 1]

    def _replayed(
        self,
        part: RunPart,
        runs: Sequence[Run],
        id_: Any,
        params: Object,
        caller: DemoCaller,
        channel: Channel,
    ) -> Replayed:
        mock, log, run = self._mock, self._setting.log, part.run
        call = Replayed(id_, run.name or run.method, caller, params, channel, log, self._questions)
        call.part, call.pace, call.aside, call.memory = part, mock.pace, self.aside, mock.memory
        call.adapt = lambda run, result: adapted(run, result, caller, mock.server)
        if run.method in OPENING_METHODS:
            part.head, mock.head = mock.head, 0.0

        def reaction(after: float, odd: bool) -> Run | None:
            same = [each for each in runs if each.cancelled is not None]
            like = mock.runs.like(run.method, run.name)
            known = same or [each for each in like if each.cancelled is not None]
            fitting = [each for each in known if each.odd is odd] or known
            if run in fitting:
                return run
            return min(fitting, key=lambda each: abs((each.cancelled or 0.0) - after), default=None)

        call.reaction = reaction
        return call


async def _alone(call: Replayed) -> None:
    """Replays the messages after a notification; leaves out a question if there is no stream for it (HTTP)."""
    with suppress(DemoRefusal):
        await call.perform(call)


def spare(runs: Sequence[Run]) -> Run | None:
    """Returns the first run that was answered and not cancelled; ``None`` if there is none."""
    return next((each for each in runs if each.cancelled is None and each.answer is not None), None)
