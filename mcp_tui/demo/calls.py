"""One request at work: what a tool sees of the caller, and the way back to it.

A task is a call that goes on behind its answer. Those of 2025-11-25 and those of the extension share no message.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Coroutine
from typing import Any, Final, TypeAlias

from mcp_tui.clock import utc_stamp, wall
from mcp_tui.demo import frames
from mcp_tui.demo.frames import DemoCaller, DemoRefusal, Object, RequestId
from mcp_tui.demo.log import DemoLog


class Channel:
    """Where the frames of one request go: nowhere, unless a transport says otherwise.

    ``gone`` is set once nothing reaches the peer this way any more.
    """

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    def send(self, frame: Object) -> bool:
        """Hand over one frame; ``False`` where it can no longer reach the peer."""
        return False

    async def drain(self) -> None:
        """Wait until the peer has taken enough of what was sent, so that what waits for it stays bounded."""

    def end(self) -> None:
        """Nothing more comes for this request."""


def well_formed(batch: list[object], log: DemoLog) -> list[Object]:
    """The members of a batch (2025-03-26) that are messages, each to be answered by itself; the others are logged."""
    taken: list[Object] = []
    for message in batch:
        try:
            taken.append(frames.checked(message))
        except DemoRefusal as refusal:
            log.event("malformed", detail=refusal.message)
    return taken


Questions: TypeAlias = dict[RequestId, asyncio.Future[Object]]
"""What this server has asked one client and was not told yet (handshake era). A response to anything else is ignored."""

_ids = itertools.count(1)
"""The ids of questions. They are this server's own, and may equal ids of the client's."""


class Call:
    """A request that works for a while, its cancel, and what is sent for it."""

    def __init__(
        self,
        request_id: RequestId,
        tool: str,
        caller: DemoCaller,
        params: Object,
        channel: Channel,
        log: DemoLog,
        questions: Questions | None = None,
    ) -> None:
        self.id: Final = request_id
        self.tool: Final = tool
        self.caller: Final = caller
        self.params: Final = params
        self.channel: Final = channel
        self.cancelled: Final = asyncio.Event()
        self.cancelled_at: float | None = None
        self.answered = False
        self.closed = False
        self._token: object = (frames.as_object(params.get("_meta")) or {}).get("progressToken")
        self._log = log
        self._questions: Final = {} if questions is None else questions
        self._asking: RequestId | None = None
        self._control = log.control
        self._reached = 0.0  # seconds on the test's clock
        self._steps = 0

    # -- the cancel --------------------------------------------------------------------------------------------

    def cancel(self, how: str, reason: object = None) -> None:
        """Note that the client wants no more of this. What the tool does about it is the tool's affair."""
        if not self.cancelled.is_set():
            self._log.event("cancelled", id=self.id, tool=self.tool, how=how, reason=reason)
            self.cancelled_at = self.now()
            self.cancelled.set()
            if self._asking is not None and self._questions.pop(self._asking, None) is not None:
                why = f"the call of {self.tool} was cancelled"
                taken_back: Object = {"requestId": self._asking, "reason": why}
                self.notify("cancelled", taken_back, "cancelled")

    def disconnect(self) -> None:
        """Note that the peer closed this request's stream where that is no cancel (transports, 2025-11-25)."""
        self._log.event("disconnected", id=self.id, tool=self.tool)

    # -- time --------------------------------------------------------------------------------------------------

    def now(self) -> float:
        """The clock of the event loop, in seconds; that of the test where one has the time in its hands."""
        return asyncio.get_running_loop().time() if self._control is None else self._reached

    async def until(self, deadline: float) -> bool:
        """Wait for `deadline`, or less long when cancelled. Returns whether it was cancelled."""
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
        """Wait for `deadline`, cancelled or not."""
        if self._control is None:
            await asyncio.sleep(deadline - self.now())
            return
        self._steps += 1
        self._log.event("waiting", id=self.id, tool=self.tool, step=self._steps)
        await self._control.step(self.tool)
        self._reached = deadline

    async def wait(self, awaited: Coroutine[Any, Any, object] | asyncio.Future[Object]) -> bool:
        """Wait for `awaited`, or less long when cancelled. Returns whether it was cancelled."""
        async with asyncio.TaskGroup() as group:
            cancelled = group.create_task(self.cancelled.wait())
            other = awaited if isinstance(awaited, asyncio.Future) else group.create_task(awaited)
            await asyncio.wait((cancelled, other), return_when=asyncio.FIRST_COMPLETED)
            cancelled.cancel()
            other.cancel()
        return self.cancelled.is_set()

    async def breathe(self) -> None:
        """Let the peer take what was sent, and the server read what came meanwhile."""
        await self.channel.drain()
        await asyncio.sleep(0)

    # -- what is asked -----------------------------------------------------------------------------------------

    async def ask(self, method: str, params: Object) -> Object | None:
        """Send a request of this server's own and wait for the response (handshake era).

        ``None`` when the call is cancelled first, which takes the question back (cancellation, until 2025-11-25:
        either side cancels what it has asked). Raises `DemoRefusal` where there is no way to ask.
        """
        request_id = next(_ids)
        frame: Object = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        answer = self._questions[request_id] = asyncio.get_running_loop().create_future()
        try:
            if not self.send(frame, "request", method=method):
                raise frames.bad_request("asking the client needs a stream")
            self._asking = request_id
            return None if await self.wait(answer) else answer.result()
        finally:
            self._asking = None
            self._questions.pop(request_id, None)

    # -- what is sent ------------------------------------------------------------------------------------------

    def wants_messages(self, level: str) -> bool:
        """Whether the caller wants log messages of this level."""
        wanted = self.caller.log_level
        return wanted is not None and frames.LEVELS.index(level) >= frames.LEVELS.index(wanted)

    def progress(self, progress: float, total: float | None, message: str) -> None:
        """Report progress, if the caller gave a token (progress, every revision; ``message`` from 2025-03-26)."""
        if self._token is None:
            return
        params: Object = {"progressToken": self._token, "progress": progress}
        if total is not None:
            params["total"] = total
        if self.caller.revision >= "2025-03-26":
            params["message"] = message
        self.notify("progress", params, "progress", progress=progress)

    def message(self, level: str, data: object) -> None:
        """Send a log message, if the caller wants one of this level."""
        if self.wants_messages(level):
            params: Object = {"level": level, "logger": self.tool, "data": data}
            self.notify("message", params, "message")

    def answer(self, text: str, structured: Object | None = None, *, is_error: bool = False) -> None:
        """Send the result response of ``tools/call`` (tools, every revision; structured content from 2025-06-18).

        Where the tool declares an output schema, `structured` is the same as an object.
        """
        result: Object = {"content": [{"type": "text", "text": text}], "isError": is_error}
        if structured is not None and self.caller.revision >= "2025-06-18":
            result["structuredContent"] = structured
        self.finish(result)

    def finish(self, result: Object) -> None:
        """Send the result response of any method."""
        self.answered = True
        self.send(frames.result_frame(self.id, frames.complete(result, self.caller.revision)), "result")

    def refuse(self, refusal: DemoRefusal) -> None:
        """Send the error response."""
        self.answered = True
        self.send(frames.error_frame(self.id, refusal), "error", code=refusal.code)

    def send(self, frame: Object, kind: str, **fields: object) -> bool:
        """Send one frame, and log that it was sent or that it had nowhere to go, which is returned as ``False``."""
        sent = self.channel.send(frame)
        self._log.event("sent" if sent else "ran_on", id=self.id, kind=kind, **fields)
        return sent

    def notify(self, method: str, params: Object, kind: str, **fields: object) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}, kind, **fields)

    def exiting(self, status: int) -> None:
        """Note that this call is about to end the process."""
        self._log.event("exit", cause=self.tool, status=status)

    def close(self, *, dropped: bool = False) -> None:
        """Nothing more comes: it has answered, it ended without an answer, or the server dropped it."""
        if dropped or not self.answered:
            self._log.event("dropped" if dropped else "stopped", id=self.id, tool=self.tool)
        self.closed = True
        self.channel.end()


# -- tasks: calls that go on behind their answer ----------------------------------------------------------------

_POLL: Final = 500  # milliseconds between two looks at a task
_LIFE: Final = 300_000  # milliseconds for which a task is kept, unless the client asks for more or less
_LIVES: Final = 1_000, 86_400_000
_RELATED: Final = "io.modelcontextprotocol/related-task"


class Task(Call):
    """A call that nobody waits for. ``over`` is set once it has its last status.

    Whoever knows its id may ask after it: no other permission is known here, so the id cannot be guessed.
    """

    def __init__(self, tool: str, caller: DemoCaller, params: Object, log: DemoLog) -> None:
        super().__init__(os.urandom(16).hex(), tool, caller, params, Channel(), log)
        self.over: Final = asyncio.Event()
        asked = (frames.as_object(params.get("task")) or {}).get("ttl")
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
        """Where it stands: a ``Task``, in the extension with what came of it."""

    def _tell(self, message: str, **come: object) -> None:
        self.told |= {"statusMessage": message, "lastUpdatedAt": utc_stamp(wall()), **come}

    # -- from the tool -----------------------------------------------------------------------------------------

    def progress(self, progress: float, total: float | None, message: str) -> None:
        """Say where the work stands: there is no progress of a task in 2026-07-28, but a status message in both."""
        if not self.over.is_set():
            self._tell(message)

    def finish(self, result: Object) -> None:
        """Keep the result. In 2025-11-25 one that is an error fails the task, in the extension it completes it."""
        self.answered = True
        failed = result.get("isError") is True and not self.caller.modern
        whole = frames.complete(result, self.caller.revision)
        self._end("failed" if failed else "completed", whole, "It is done.", result=whole)

    def refuse(self, refusal: DemoRefusal) -> None:
        """Keep the error."""
        self.answered = True
        self._end("failed", refusal, refusal.message, error=refusal.error)

    # -- from outside ------------------------------------------------------------------------------------------

    def cancel(self, how: str, reason: object = None) -> None:
        """Stop the work. A task that is cancelled stays so, whatever the tool does yet."""
        if self.over.is_set():
            return
        super().cancel(how, reason)
        refusal = DemoRefusal(frames.REQUEST_CANCELLED, "The task was cancelled")
        self._end("cancelled", refusal, "It was cancelled.")

    def expire(self) -> None:
        """Its time is over, and soon it is forgotten."""
        refusal = DemoRefusal(frames.INVALID_PARAMS, "The task has expired")
        self._end("failed", refusal, "It has expired.", error=refusal.error)

    def _end(self, status: str, outcome: Object | DemoRefusal, message: str, **come: Object) -> None:
        """Its last status, and in the extension what has `come` of it."""
        if not self.over.is_set():
            self.result = outcome
            self._tell(message, status=status, **(come if self.caller.modern else {}))
            self.over.set()
            self._log.event("task", id=self.id, status=status)

    def handle(self) -> Object:
        """The ``CreateTaskResult``."""
        return {"resultType": "task", **self.told} if self.caller.modern else {"task": self.told}


class DemoTasks:
    """The tasks of a server, each until its time is over."""

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[Task, asyncio.Task[None]]] = {}

    def keep(self, task: Task, work: asyncio.Task[None]) -> None:
        """Take in a task at work."""
        self._tasks[str(task.id)] = task, work
        asyncio.get_running_loop().call_later(task.ttl / 1000, self._forget, str(task.id))

    def _forget(self, task_id: str) -> None:
        task, work = self._tasks.pop(task_id)
        task.expire()
        work.cancel()

    def find(self, params: Object, caller: DemoCaller) -> Task:
        """The task that params name. Raises `DemoRefusal` where there is none, or its client knows nothing of tasks."""
        caller.need_tasks()
        task, _ = self._tasks.get(str(params.get("taskId")), (None, None))
        if task is None or task.caller.modern is not caller.modern:
            raise frames.bad_params("unknown or expired task")
        return task

    def answer(self, method: str, params: Object, caller: DemoCaller) -> Object:
        """The result of ``tasks/get``, ``tasks/cancel`` or, in the extension, ``tasks/update``. Raises `DemoRefusal`.

        The extension has an empty word for a cancel, and for an update, which here tells nothing: no task asks anything.
        """
        task = self.find(params, caller)
        if method == "tasks/cancel":
            if task.over.is_set() and not caller.modern:
                raise frames.bad_params("the task has already ended")
            task.cancel("tasks_cancel")
        return {} if caller.modern and method != "tasks/get" else task.told

    async def result(self, call: Call) -> None:
        """Answer ``tasks/result`` (2025-11-25), which waits until the task is over."""
        if call.caller.revision != frames.CORE_TASKS:
            raise frames.unknown_method(call.tool, call.caller)
        task = self.find(call.params, call.caller)
        if await call.wait(task.over.wait()):
            return
        if isinstance(task.result, DemoRefusal):
            raise task.result
        call.finish({**task.result, "_meta": {_RELATED: {"taskId": task.id}}})
