"""A running request as its tool sees it.

A task is a call that continues after its response. Those of 2025-11-25 and those of the extension share no message.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from mcp_tui.clock import utc_stamp, wall
from mcp_tui.demo import frames
from mcp_tui.demo.demo_log import DemoLog
from mcp_tui.demo.frames import DemoCaller, DemoRefusal, Object
from mcp_tui.protocol import error_codes
from mcp_tui.protocol.json_values import as_object
from mcp_tui.protocol.states import LOG_LEVELS, RequestId


class Channel:
    """The way of a request's frames to the client; this one drops them.

    ``gone`` is set when the client cannot be reached any more.
    """

    def __init__(self) -> None:
        self.disconnected = asyncio.Event()

    def send(self, frame: Object) -> bool:
        """Sends one frame; returns ``False`` if it cannot reach the client."""
        return False

    async def drain(self) -> None:
        """Waits until the client has read enough, and lets the server receive messages."""
        await asyncio.sleep(0)

    def end(self) -> None:
        """Ends the request's frames."""


def well_formed(batch: list[object], log: DemoLog) -> list[Object]:
    """Returns the valid messages of a batch (2025-03-26); the others are logged."""
    taken: list[Object] = []
    for message in batch:
        try:
            taken.append(frames.checked(message))
        except DemoRefusal as refusal:
            log.event("malformed", detail=refusal.message)
    return taken


Questions: TypeAlias = dict[RequestId, asyncio.Future[Object]]
"""Unanswered requests of this server to one client (handshake era). Other responses are ignored."""

OWN_IDS: Final[Iterator[RequestId]] = itertools.count(1)
"""The ids of this server's requests, which may equal ids of the client's."""


@dataclass(eq=False, repr=False)
class Call:
    """A request that works for a while, its cancel, and the messages sent for it.

    ``questions`` are those of the server that wait for a response, and ``ids`` the ids of its next ones.
    """

    id: RequestId
    tool: str
    caller: DemoCaller
    params: Object
    channel: Channel
    log: DemoLog
    questions: Questions = field(default_factory=Questions)
    ids: Iterator[RequestId] = OWN_IDS

    def __post_init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.cancelled_at: float | None = None
        self.answered = False
        self.closed = False
        self._token: object = as_object(self.params.get("_meta")).get("progressToken")
        self._asking: RequestId | None = None
        self._control = self.log.control
        self._reached = 0.0  # seconds on the test's clock
        self._steps = 0

    # -- the cancel --------------------------------------------------------------------------------------------

    def cancel(self, how: str, reason: object = None) -> None:
        """Notes that the client cancelled the call; each tool reacts in its own way."""
        if not self.cancelled.is_set():
            self.log.event("cancelled", id=self.id, tool=self.tool, how=how, reason=reason)
            self.cancelled_at = self.now()
            self.cancelled.set()
            self.take_back(f"the call of {self.tool} was cancelled")

    def disconnect(self) -> None:
        """Notes that the client closed the stream, which is not a cancel (transports, 2025-11-25)."""
        self.log.event("disconnected", id=self.id, tool=self.tool)

    # -- time --------------------------------------------------------------------------------------------------

    def now(self) -> float:
        """Returns the time in seconds: of the event loop, or of a test that controls it."""
        return asyncio.get_running_loop().time() if self._control is None else self._reached

    async def until(self, deadline: float) -> bool:
        """Waits for `deadline` or a cancel. Returns whether the call was cancelled."""
        if self._control is not None:
            return await self.wait(self.sleep_until(deadline))
        # no tasks here: a tool may take a million steps
        try:
            async with asyncio.timeout_at(deadline):
                await self.cancelled.wait()
        except TimeoutError:
            pass
        return self.cancelled.is_set()

    async def sleep_until(self, deadline: float) -> None:
        """Waits for `deadline`, even if cancelled."""
        if self._control is None:
            await asyncio.sleep(deadline - self.now())
            return
        self._steps += 1
        self.log.event("waiting", id=self.id, tool=self.tool, step=self._steps)
        await self._control.step(self.tool)
        self._reached = deadline

    async def wait(self, awaited: Coroutine[Any, Any, object] | asyncio.Future[Any]) -> bool:
        """Waits for `awaited` or a cancel. Returns whether the call was cancelled."""
        async with asyncio.TaskGroup() as group:
            cancelled = group.create_task(self.cancelled.wait())
            other = awaited if isinstance(awaited, asyncio.Future) else group.create_task(awaited)
            await asyncio.wait((cancelled, other), return_when=asyncio.FIRST_COMPLETED)
            cancelled.cancel()
            other.cancel()
        return self.cancelled.is_set()

    # -- what is asked -----------------------------------------------------------------------------------------

    def pose(self, question: Object) -> tuple[RequestId, asyncio.Future[Object]]:
        """Sends a request of this server's own; returns its id and its response to come (handshake era).

        Raises `DemoRefusal` where there is no way to ask.
        """
        request_id = next(self.ids)
        answer = self.questions[request_id] = asyncio.get_running_loop().create_future()
        frame: Object = {"jsonrpc": "2.0", **question, "id": request_id}
        if not self.send(frame, "request", method=question["method"]):
            self.questions.pop(request_id)
            raise frames.bad_request("asking the client needs a stream")
        return request_id, answer

    async def ask(self, method: str, params: Object) -> Object | None:
        """Asks by :meth:`pose` and waits for the response.

        ``None`` when the call is cancelled first, which takes the question back (cancellation, until 2025-11-25:
        either side cancels what it has asked).
        """
        request_id, answer = self.pose({"method": method, "params": params})
        try:
            self._asking = request_id
            return None if await self.wait(answer) else answer.result()
        finally:
            self._asking = None
            self.questions.pop(request_id, None)

    def take_back(self, why: str) -> None:
        """Takes back the question that waits for its response, if any."""
        if self._asking is not None and self.questions.pop(self._asking, None) is not None:
            self.notify("cancelled", {"requestId": self._asking, "reason": why}, "cancelled")

    # -- what is sent ------------------------------------------------------------------------------------------

    def wants_messages(self, level: str) -> bool:
        """Whether the caller wants log messages of this level."""
        wanted = self.caller.log_level
        return wanted is not None and LOG_LEVELS.index(level) >= LOG_LEVELS.index(wanted)

    @property
    def reports(self) -> bool:
        """Whether the caller gave a token for progress."""
        return self._token is not None

    def progress(self, progress: float, total: float | None, message: str) -> None:
        """Reports progress, if the caller gave a token (progress, every revision; ``message`` from 2025-03-26)."""
        if self._token is None:
            return
        params: Object = {"progressToken": self._token, "progress": progress}
        if total is not None:
            params["total"] = total
        if self.caller.revision >= "2025-03-26":
            params["message"] = message
        self.notify("progress", params, "progress", progress=progress)

    def message(self, level: str, data: object) -> None:
        """Sends a log message."""
        self.notify("message", {"level": level, "logger": self.tool, "data": data}, "message")

    def answer(self, text: str, structured: Object | None = None, *, is_error: bool = False) -> None:
        """Sends the result response of ``tools/call`` (tools, every revision; structured content from 2025-06-18).

        Where the tool declares an output schema, `structured` is the same as an object.
        """
        result: Object = {"content": [{"type": "text", "text": text}], "isError": is_error}
        if structured is not None and self.caller.revision >= "2025-06-18":
            result["structuredContent"] = structured
        self.finish(result)

    def finish(self, result: Object) -> None:
        """Sends the result response of any method."""
        self.answered = True
        self.send(frames.result_frame(self.id, frames.complete(result, self.caller.revision)), "result")

    def refuse(self, refusal: DemoRefusal) -> None:
        """Sends the error response."""
        self.answered = True
        self.send(frames.error_frame(self.id, refusal), "error", code=refusal.code)

    def send(self, frame: Object, kind: str, **fields: object) -> bool:
        """Sends and logs one frame; returns ``False`` if the client cannot be reached."""
        sent = self.channel.send(frame)
        self.log.event("sent" if sent else "ran_on", id=self.id, kind=kind, **fields)
        return sent

    def notify(self, method: str, params: Object, kind: str, **fields: object) -> None:
        """Sends a notification."""
        self.send({"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}, kind, **fields)

    def close(self, *, dropped: bool = False) -> None:
        """Ends the call: it has answered, ended without a response, or was dropped by the server."""
        if dropped or not self.answered:
            self.log.event("dropped" if dropped else "stopped", id=self.id, tool=self.tool)
        self.closed = True
        self.channel.end()


# -- tasks: calls that go on behind their answer ----------------------------------------------------------------

_POLL: Final = 500  # milliseconds between two looks at a task
_LIFE: Final = 300_000  # milliseconds for which a task is kept, unless the client asks for more or less
_LIVES: Final = 1_000, 86_400_000
_RELATED: Final = "io.modelcontextprotocol/related-task"


class Task(Call):
    """A call that runs as a task. ``over`` is set with its last status.

    Anyone who knows the id may query it, so the id cannot be guessed.
    """

    def __init__(self, tool: str, caller: DemoCaller, params: Object, log: DemoLog) -> None:
        super().__init__(os.urandom(16).hex(), tool, caller, params, Channel(), log)
        self.over: Final = asyncio.Event()
        asked = as_object(params.get("task")).get("ttl")
        self.ttl: Final = max(_LIVES[0], min(_LIVES[1], asked)) if type(asked) is int else _LIFE
        self.result: Object | DemoRefusal = {}
        ttl, poll = ("ttlMs", "pollIntervalMs") if caller.modern else ("ttl", "pollInterval")
        now = utc_stamp(wall())
        self.told: Object = {
            "taskId": self.id,
            "status": "working",
            "statusMessage": "The work has begun.",
            "createdAt": now,
            "lastUpdatedAt": now,
            ttl: self.ttl,
            poll: _POLL,
        }
        """The ``Task``, in the extension with its result or error."""

    def _set_status(self, message: str, **come: object) -> None:
        self.told |= {"statusMessage": message, "lastUpdatedAt": utc_stamp(wall()), **come}

    # -- from the tool -----------------------------------------------------------------------------------------

    def progress(self, progress: float, total: float | None, message: str) -> None:
        """Sets the status message: tasks of 2026-07-28 have no progress notifications."""
        if not self.over.is_set():
            self._set_status(message)

    def finish(self, result: Object) -> None:
        """Keeps the result. A tool error fails a task of 2025-11-25 and completes one of the extension."""
        self.answered = True
        failed = result.get("isError") is True and not self.caller.modern
        whole = frames.complete(result, self.caller.revision)
        self._end("failed" if failed else "completed", whole, "It is done.", result=whole)

    def refuse(self, refusal: DemoRefusal) -> None:
        """Keeps the error."""
        self.answered = True
        self._end("failed", refusal, refusal.message, error=refusal.error)

    # -- from outside ------------------------------------------------------------------------------------------

    def cancel(self, how: str, reason: object = None) -> None:
        """Cancels the task, which then stays cancelled."""
        if self.over.is_set():
            return
        super().cancel(how, reason)
        refusal = DemoRefusal(error_codes.REQUEST_CANCELLED, "The task was cancelled")
        self._end("cancelled", refusal, "It was cancelled.")

    def expire(self) -> None:
        """Fails the task because its time to live is over."""
        refusal = DemoRefusal(error_codes.INVALID_PARAMS, "The task has expired")
        self._end("failed", refusal, "It has expired.", error=refusal.error)

    def _end(self, status: str, outcome: Object | DemoRefusal, message: str, **come: Object) -> None:
        """Sets the last status, in the extension with its result or error (`come`)."""
        if not self.over.is_set():
            self.result = outcome
            self._set_status(message, status=status, **(come if self.caller.modern else {}))
            self.over.set()
            self.log.event("task", id=self.id, status=status)

    def handle(self) -> Object:
        """Returns the ``CreateTaskResult``."""
        return {"resultType": "task", **self.told} if self.caller.modern else {"task": self.told}


class DemoTasks:
    """The tasks of a server, each for its time to live."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}

    def keep(self, task: Task, work: asyncio.Task[None]) -> None:
        """Adds a running task."""
        self._tasks[str(task.id)] = task
        asyncio.get_running_loop().call_later(task.ttl / 1000, self._expire, task, work)

    def _expire(self, task: Task, work: asyncio.Task[None]) -> None:
        del self._tasks[str(task.id)]
        task.expire()
        work.cancel()

    def find(self, params: Object, caller: DemoCaller) -> Task:
        """Returns the task that params name. Raises `DemoRefusal` if it is unknown or the client does not support tasks."""
        caller.need_tasks()
        task = self._tasks.get(str(params.get("taskId")))
        if task is None or task.caller.modern is not caller.modern:
            raise frames.bad_params("unknown or expired task")
        return task

    def answer(self, method: str, params: Object, caller: DemoCaller) -> Object:
        """Answers ``tasks/get``, ``tasks/cancel`` or, in the extension, ``tasks/update``. Raises `DemoRefusal`.

        In the extension the results of cancel and update are empty.
        """
        task = self.find(params, caller)
        if method == "tasks/cancel":
            if task.over.is_set() and not caller.modern:
                raise frames.bad_params("the task has already ended")
            task.cancel("tasks_cancel")
        return {} if caller.modern and method != "tasks/get" else task.told

    async def result(self, call: Call) -> None:
        """Answers ``tasks/result`` (2025-11-25) when the task is over."""
        if call.caller.revision != frames.CORE_TASKS:
            raise frames.unknown_method(call.tool, call.caller)
        task = self.find(call.params, call.caller)
        if await call.wait(task.over.wait()):
            return
        if isinstance(task.result, DemoRefusal):
            raise task.result
        call.finish({**task.result, "_meta": {_RELATED: {"taskId": task.id}}})
