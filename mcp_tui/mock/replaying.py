"""One live call that replays a recorded one, with or without a cancel at any time."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from mcp_tui.demo import frames
from mcp_tui.demo.calls import Call, Channel
from mcp_tui.demo.frames import DemoCaller, Object
from mcp_tui.mock.runs import Run, Runs, RunStep, is_odd
from mcp_tui.protocol.inbound import SUBSCRIPTION
from mcp_tui.protocol.json_values import as_object, list_or_none, object_or_none
from mcp_tui.protocol.messages import Json, text
from mcp_tui.protocol.revisions import META_SERVER_INFO
from mcp_tui.protocol.states import LOG_LEVELS, RequestId

CAPABILITIES: Final = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}
"""The client capability that each request from the server needs."""

Adapt = Callable[[Run, Object], Object]
"""A function that converts a result of a run to the caller's protocol version."""


@dataclass(slots=True, eq=False)
class RunPart:
    """A run to replay from the step ``skip`` on, as if ``head`` recorded seconds had passed.

    ``spare`` is an uncancelled run of the same call. Its steps continue ``run`` after the time at which that was cancelled.
    """

    run: Run
    spare: Run | None = None
    skip: int = 0
    head: float = 0.0


@dataclass(slots=True, eq=False)
class LiveTask:
    """A task created by a call: the call, the recorded id, and the times of its start and its cancel."""

    call: Replayed
    recorded: str
    began: float
    cancelled: float | None = None


class Memory:
    """The state that calls leave for later requests: tasks by id, and parts of calls that wait for a round, by request
    state.

    ``play`` is called with each run that is replayed.
    """

    def __init__(self, runs: Runs, play: Callable[[Run], None]) -> None:
        self.runs = runs
        self.play = play
        self.tasks: dict[str, LiveTask] = {}
        self.waiting: dict[str, RunPart] = {}


class Replayed(Call):
    """A call that replays a recorded one.

    ``reaction`` returns the run whose reaction to a cancel is replayed. It takes the seconds from the call to the cancel,
    and whether the reason of the cancel is odd. ``pace`` is the length of a recorded second, in seconds. ``names`` has
    live ids of tasks by recorded ones. ``stopped`` is the recorded time, in seconds after the call, at which its task was
    cancelled.
    """

    part: RunPart
    memory: Memory
    pace: float = 1.0
    stopped = math.inf
    aside = Channel()

    def __init__(self, *facts: Any) -> None:
        super().__init__(*facts)
        self.reaction: Callable[[float, bool], Run | None] = lambda _after, _odd: None
        self._is_odd = False
        self.adapt: Adapt = lambda _, result: result
        self.names: dict[str, str] = {}
        self._posed: dict[str, tuple[RequestId, asyncio.Future[Object]]] = {}

    def cancel(self, how: str, reason: object = None) -> None:
        """Cancels the call, and stores whether the reason is odd (not a string)."""
        if not self.cancelled.is_set():
            self._is_odd = is_odd(reason)
        super().cancel(how, reason)

    def take_back(self, why: str) -> None:
        """Does not withdraw questions: if they were withdrawn, the recording has the message for it."""

    async def perform(self, _: Call) -> None:
        """Sends the recorded messages, each at its time."""
        self.memory.play(self.part.run)
        began = self.now() - self.part.head * self.pace
        steps, at = self.part.run.timeline(self.part.spare), self.part.skip
        while at < len(steps):
            step = steps[at]
            if step.asked in self._posed:
                if await self.wait(self._posed[step.asked][1]):
                    break
                # The answer of this client may take more or less time.
                began = self.now() - step.at * self.pace
            elif await self.until(began + step.at * self.pace):
                break
            at += 1
            if step.is_question and self.caller.modern:
                self._ask_in_a_round(step, steps)
                return
            elif step.asks_in_a_round and not self.caller.modern:
                steps, at = await self._ask(step), 0
                began = self.now()
            elif step.frame:
                self.show(step)
        if not self.cancelled.is_set() and not self.answered and self.part.run.id is not None:
            await self.wait(self.channel.disconnected.wait())
        if self.cancelled.is_set():
            await self._end(steps[at:], began)

    def _ask_in_a_round(self, question: RunStep, steps: Sequence[RunStep]) -> None:
        """Converts a recorded request from the server to a result with ``input_required``, as in 2026-07-28.

        The next round continues the run.
        """
        capability = CAPABILITIES.get(question.method)
        if capability is not None and not self.caller.declares(capability):
            raise frames.missing({capability: {}})
        asked, state = text(question.frame["id"]), os.urandom(16).hex()
        gate = next((each for each, step in enumerate(steps) if step.asked == asked), len(steps) - 1)
        self.memory.waiting[state] = RunPart(self.part.run, self.part.spare, gate + 1, steps[gate].at)
        request = {name: question.frame[name] for name in ("method", "params") if name in question.frame}
        asks: Object = {
            "resultType": "input_required",
            "inputRequests": {"answer": request},
            "requestState": state,
        }
        self.answered = True
        self.send(frames.result_frame(self.id, self.adapt(question.of, asks)), "result")

    async def _ask(self, step: RunStep) -> list[RunStep]:
        """Converts a recorded ``input_required`` result to requests (until 2025-11-25); returns the next round's steps."""
        result = as_object(step.frame.get("result"))
        for question in as_object(result.get("inputRequests")).values():
            if await self.wait(self.pose(as_object(question))[1]):
                return []
        params = {**self.part.run.params, "requestState": result.get("requestState")}
        found = self.memory.runs.find(step.of.method, params)
        if found:
            self.part = RunPart(found[0])
            self.memory.play(found[0])
        return found[0].steps if found else []

    async def _end(self, rest: Sequence[RunStep], began: float) -> None:
        """Continues after a cancel like the recorded run that ``reaction`` returns."""
        at = began if self.cancelled_at is None else self.cancelled_at
        rest = [each for each in rest if not self.names or each.at > self.stopped]
        after = (at - began) / self.pace if self.pace else 0.0
        seen = None if self.answered else self.reaction(after, self._is_odd)
        due = [(began + each.at * self.pace, each) for each in rest if seen is None or seen.still_sends(each)]
        due += [(at + each.at * self.pace, each) for each in (seen.replies if seen is not None else ())]
        for moment, step in sorted(due, key=itemgetter(0)):
            await self.sleep_until(moment)
            if step.frame:
                self.show(step)

    # -- what is sent --------------------------------------------------------------------------------------------

    def show(self, step: RunStep) -> None:
        """Sends a step, with the ids of this call in place of the recorded ones."""
        task = step.task if step.is_answer and not self.answered else ""
        if task:
            self.names[task] = os.urandom(16).hex()
            self.memory.tasks[self.names[task]] = LiveTask(self, task, asyncio.get_running_loop().time())
        frame = self._renamed(step)
        params = as_object(frame.get("params"))
        if step.is_answer:
            self.answered = True
            if (result := object_or_none(frame.get("result"))) is not None:
                frame = {**frame, "result": self.adapt(step.of, result)}
            self.send(frame, "error" if "error" in frame else "result")
        elif step.is_question:
            self._posed[text(step.frame["id"])] = self.pose(frame)
        elif step.method == "notifications/progress":
            if self.reports:
                self.send(frame, "progress", progress=params.get("progress"))
        elif step.method != "notifications/message" or self._is_wanted(params.get("level")):
            self.send(frame, "message")

    def send(self, frame: Object, kind: str, **fields: object) -> bool:
        """Sends a frame. If the call's channel has ended, a request or notification is sent outside any call."""
        return super().send(frame, kind, **fields) or ("method" in frame and self.aside.send(frame))

    def _is_wanted(self, level: Json) -> bool:
        return level not in LOG_LEVELS or self.wants_messages(level)

    def _renamed(self, step: RunStep) -> Object:
        frame = _replaced(step.frame, self.names) if self.names else dict(step.frame)
        if step.is_answer:
            frame["id"] = _like(frame.get("id"), step.of.id, self.id)
        for part in ("params", "result"):
            if (members := object_or_none(frame.get(part))) is None:
                continue
            frame[part] = members = dict(members)
            if "progressToken" in members:
                token = step.of.meta.get("progressToken")
                members["progressToken"] = _like(members["progressToken"], token, self._token)
            if step.method == "notifications/cancelled":
                posed = self._posed.get(text(members.get("requestId")))
                members["requestId"] = members.get("requestId") if posed is None else posed[0]
            meta = object_or_none(members.get("_meta"))
            if meta is not None and SUBSCRIPTION in meta:
                named = _like(meta[SUBSCRIPTION], step.of.id, self.id)
                members["_meta"] = {**meta, SUBSCRIPTION: named}
        return frame


def _like(written: Json, recorded: Json, live: Json) -> Json:
    """Returns the live id or token in the type that the recorded server used; an id that was wrong stays wrong."""
    if type(written) is type(recorded) and written == recorded:
        return live
    if written is not None and str(written) == str(recorded):
        return str(live) if isinstance(written, str) else live
    return written


def _replaced(value: Json, names: dict[str, str]) -> Any:
    """Returns a value in which texts that equal a name are replaced."""
    if (members := object_or_none(value)) is not None:
        return {name: _replaced(each, names) for name, each in members.items()}
    if (items := list_or_none(value)) is not None:
        return [_replaced(each, names) for each in items]
    return names.get(value, value) if isinstance(value, str) else value


CACHEABLE_METHODS: Final = frozenset(
    (
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
    )
)
"""Methods whose results have a cache lifetime in 2026-07-28 (caching)."""

_MODERN_MEMBERS: Final = frozenset({"resultType", "ttlMs", "cacheScope"})


def adapted(run: Run, result: Object, caller: DemoCaller, server: Object) -> Object:
    """Returns a recorded result in the form of the caller's protocol version. ``server`` is the ``Implementation``."""
    if run.modern == caller.modern:
        return result
    meta = {name: each for name, each in as_object(result.get("_meta")).items() if name != META_SERVER_INFO}
    if caller.modern:
        caching: Object = {"ttlMs": 0, "cacheScope": "private"} if run.method in CACHEABLE_METHODS else {}
        return {"resultType": "complete", **caching, **result, "_meta": {**meta, META_SERVER_INFO: server}}
    members = {name: each for name, each in result.items() if name not in {*_MODERN_MEMBERS, "_meta"}}
    return {**members, "_meta": meta} if meta else members


def introduction(runs: Sequence[Run]) -> tuple[Object, Object]:
    """Returns the capabilities and instructions of the recorded server, and its ``Implementation``."""
    for run in runs:
        if run.method in {"initialize", "server/discover"} and (result := run.result):
            info = object_or_none(result.get("serverInfo"))
            meta = as_object(result.get("_meta"))
            members = {name: result[name] for name in ("capabilities", "instructions") if name in result}
            return members, info or object_or_none(meta.get(META_SERVER_INFO)) or _ANYBODY
    parts = {run.method.partition("/")[0] for run in runs}
    known: Object = {name: {} for name in ("tools", "prompts", "resources") if name in parts}
    return {"capabilities": known}, _ANYBODY


_ANYBODY: Final[Object] = {"name": "mock", "version": "0"}


def capabilities(members: Object, caller: DemoCaller) -> Object:
    """Returns capabilities and instructions without the tasks of other protocol versions, which work differently."""
    foreign = "tasks" if caller.modern else "extensions"
    declared = as_object(members.get("capabilities")).items()
    return {**members, "capabilities": {name: each for name, each in declared if name != foreign}}


def supported(version: str) -> list[str]:
    """Returns the supported protocol versions: the newest, the recorded one, then all others."""
    return list(dict.fromkeys((frames.MODERN, version, *frames.HANDSHAKE)))
