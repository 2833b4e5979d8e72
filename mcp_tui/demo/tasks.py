"""Calls that go on behind their answer: those of 2025-11-25 and those of the extension, which share no message."""

from __future__ import annotations

import asyncio
import os
from typing import Final

from mcp_tui.clock import utc_stamp, wall
from mcp_tui.demo.calls import Call, Channel
from mcp_tui.demo.frames import (
    CORE_TASKS,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    TASKS_EXTENSION,
    DemoCaller,
    DemoRefusal,
    Object,
    as_object,
    complete,
    is_request_id,
    missing,
)
from mcp_tui.demo.log import DemoLog
from mcp_tui.demo.tools import TOOLS

_POLL: Final = 500  # milliseconds between two looks at a task
_LIVES: Final = 1, 86_400  # seconds for which a task is kept, at least and at most
_LIFE: Final = 300  # seconds, where nobody says
_RELATED: Final = "io.modelcontextprotocol/related-task"


def wanted(tool: str, params: Object, caller: DemoCaller) -> bool:
    """Whether a call becomes a task: where the client asks for it (2025-11-25), or where it declares the extension.

    Raises `DemoRefusal` for a tool that does not run as one (tasks, 2025-11-25, "Tool-Level Negotiation").
    """
    possible = tool in TOOLS and "execution" in TOOLS[tool].offered
    if caller.extends(TASKS_EXTENSION):
        return possible
    if caller.revision != CORE_TASKS or "task" not in params:
        return False
    if not possible:
        raise DemoRefusal(METHOD_NOT_FOUND, f"Method not found: {tool} cannot run as a task")
    return True


class Task(Call):
    """A call that nobody waits for. ``over`` is set once it has its last status.

    Whoever knows its id may ask after it: no other permission is known here, so the id cannot be guessed.
    """

    def __init__(self, tool: str, caller: DemoCaller, params: Object, log: DemoLog) -> None:
        super().__init__(os.urandom(16).hex(), tool, caller, params, Channel(), log)
        self.over: Final = asyncio.Event()
        self.seconds: Final = _life(params)
        self.result: Object | DemoRefusal = {}
        self._created = utc_stamp(wall())
        self._status = "working"
        self._tell("The work has begun.")

    def _tell(self, message: str) -> None:
        self._message, self._updated = message, utc_stamp(wall())

    # -- from the tool -----------------------------------------------------------------------------------------

    def progress(self, progress: float, total: float | None, message: str) -> None:
        """Say where the work stands: there is no progress of a task in 2026-07-28, but a status message in both."""
        if not self.over.is_set():
            self._tell(message)

    def finish(self, result: Object) -> None:
        """Keep the result. In 2025-11-25 one that is an error fails the task, in the extension it completes it."""
        self.answered = True
        failed = result.get("isError") is True and not self.caller.modern
        self._end("failed" if failed else "completed", complete(result, self.caller.revision), "It is done.")

    def refuse(self, refusal: DemoRefusal) -> None:
        """Keep the error."""
        self.answered = True
        self._end("failed", refusal, refusal.message)

    # -- from outside ------------------------------------------------------------------------------------------

    def cancel(self, how: str, reason: object = None) -> None:
        """Stop the work. A task that is cancelled stays so, whatever the tool does yet."""
        if self.over.is_set():
            return
        super().cancel(how, reason)
        self._end("cancelled", DemoRefusal(REQUEST_CANCELLED, "The task was cancelled"), "It was cancelled.")

    def expire(self) -> None:
        """Its time is over, and soon it is forgotten."""
        self._end("failed", DemoRefusal(INVALID_PARAMS, "The task has expired"), "It has expired.")

    def _end(self, status: str, result: Object | DemoRefusal, message: str) -> None:
        if not self.over.is_set():
            self._status, self.result = status, result
            self._tell(message)
            self.over.set()
            self._log.event("task", id=self.id, status=status)

    def told(self) -> Object:
        """Where it stands: a ``Task``, in the extension with what came of it."""
        modern = self.caller.modern
        ttl, poll = ("ttlMs", "pollIntervalMs") if modern else ("ttl", "pollInterval")
        task: Object = {
            "taskId": self.id,
            "status": self._status,
            "statusMessage": self._message,
            "createdAt": self._created,
            "lastUpdatedAt": self._updated,
            ttl: self.seconds * 1000,
            poll: _POLL,
        }
        if modern and self._status == "completed":
            task["result"] = self.result
        if modern and self._status == "failed" and isinstance(self.result, DemoRefusal):
            task["error"] = {"code": self.result.code, "message": self.result.message}
        return task

    def handle(self) -> Object:
        """The ``CreateTaskResult``."""
        return {"resultType": "task", **self.told()} if self.caller.modern else {"task": self.told()}


def _life(params: Object) -> int:
    """Seconds for which a task is kept: what the client asks for (2025-11-25, in milliseconds), or the tool is told."""
    asked = (as_object(params.get("task")) or {}).get("ttl")
    told = (as_object(params.get("arguments")) or {}).get("keep")
    least, most = _LIVES
    if is_request_id(asked) and isinstance(asked, int):
        return max(least, min(most, asked // 1000))
    return max(least, min(most, int(told))) if isinstance(told, (int, float)) else _LIFE


class DemoTasks:
    """The tasks of a server, each until its time is over."""

    def __init__(self) -> None:
        self._tasks: dict[str, tuple[Task, asyncio.Task[None]]] = {}

    def keep(self, task: Task, work: asyncio.Task[None]) -> None:
        """Take in a task at work."""
        self._tasks[str(task.id)] = task, work
        asyncio.get_running_loop().call_later(task.seconds, self._forget, str(task.id))

    def _forget(self, task_id: str) -> None:
        task, work = self._tasks.pop(task_id)
        task.expire()
        work.cancel()

    def find(self, params: Object, caller: DemoCaller) -> Task:
        """The task that params name. Raises `DemoRefusal` where there is none, or its client knows nothing of tasks."""
        if caller.modern and not caller.extends(TASKS_EXTENSION):
            raise missing({"extensions": {TASKS_EXTENSION: {}}})
        task, _ = self._tasks.get(str(params.get("taskId")), (None, None))
        if task is None or task.caller.modern is not caller.modern:
            raise DemoRefusal(INVALID_PARAMS, "Invalid params: unknown or expired task")
        return task

    def answer(self, method: str, params: Object, caller: DemoCaller) -> Object:
        """The result of ``tasks/get``, ``tasks/cancel`` or, in the extension, ``tasks/update``. Raises `DemoRefusal`.

        The extension has an empty word for a cancel, and for an update, which here tells nothing: no task asks anything.
        """
        task = self.find(params, caller)
        if method == "tasks/cancel":
            if task.over.is_set() and not caller.modern:
                raise DemoRefusal(INVALID_PARAMS, "Invalid params: the task has already ended")
            task.cancel("tasks_cancel")
        return {} if caller.modern and method != "tasks/get" else task.told()

    @staticmethod
    async def result(task: Task, call: Call) -> None:
        """Answer ``tasks/result`` (2025-11-25), which waits until the task is over."""
        if await call.wait(task.over.wait()):
            return
        if isinstance(task.result, DemoRefusal):
            raise task.result
        call.finish({**task.result, "_meta": {_RELATED: {"taskId": task.id}}})
