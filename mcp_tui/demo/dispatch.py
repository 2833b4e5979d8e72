"""Requests and notifications of both eras, whatever transport they came by."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import field
from functools import partial
from typing import Any, Final

from mcp_tui.demo.calls import Call, CallOutcome, Channel, DemoQuestions
from mcp_tui.demo.catalogue import (
    cacheable,
    introduction,
    page,
    prompt,
    read,
)
from mcp_tui.demo.frames import (
    CAPABILITIES_KEY,
    CORE_TASKS,
    HANDSHAKE,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEVELS,
    METHOD_NOT_FOUND,
    SUPPORTED,
    TASKS_EXTENSION,
    VERSION_KEY,
    DemoCaller,
    DemoRefusal,
    Object,
    RequestId,
    as_object,
    complete,
    error_frame,
    is_request,
    is_request_id,
    is_response,
    key,
    missing,
    modern_caller,
    notification_frame,
    params_of,
    result_frame,
    server_info,
)
from mcp_tui.demo.log import DemoLog
from mcp_tui.demo.tasks import DemoTasks, Task, wanted
from mcp_tui.demo.tools import TOOLS, BadArguments, DemoTool, check_arguments
from mcp_tui.protocol.values import fact

_SUBSCRIPTION_KEY: Final = "io.modelcontextprotocol/subscriptionId"

WORKING: Final = frozenset({"tools/call", "subscriptions/listen", "tasks/result"})
"""Methods that may take a while: they are begun; the others are answered at once."""

_MODERN_ONLY: Final = frozenset({"server/discover", "subscriptions/listen"})

Work = Callable[[], Coroutine[Any, Any, None]]
"""What a request of `WORKING` does, not yet begun."""


@fact
class Setting:
    """What all conversations share. ``spawn`` runs a coroutine for as long as the server runs; ``end`` ends it."""

    log: DemoLog
    end: Callable[[str], None]
    spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
    page_size: int | None = None
    tasks: DemoTasks = field(default_factory=DemoTasks)


def _unknown(method: str, caller: DemoCaller) -> DemoRefusal:
    return DemoRefusal(METHOD_NOT_FOUND, f"Method not found: {method} (in {caller.revision})")


class Conversation:
    """What one client and this server have in common: the stdio process, one HTTP session, or one 2026 exchange.

    ``revision`` is what ``initialize`` agreed on, ``None`` before it. Requests that describe themselves by their
    ``_meta`` may stand beside it (versioning, 2026-07-28: a dual-era server serves both).
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self.revision: str | None = None
        self._log_level = LEVELS[0]
        self._capabilities: Object = {}
        self._questions = DemoQuestions()
        self._calls: dict[tuple[str, RequestId], tuple[Call, asyncio.Task[None]]] = {}

    # -- the era -----------------------------------------------------------------------------------------------

    def caller(self, frame: Object) -> DemoCaller:
        """Who sends this request, by how it opens. Raises `DemoRefusal`."""
        meta = as_object(params_of(frame).get("_meta")) or {}
        method = frame["method"]
        if VERSION_KEY in meta or CAPABILITIES_KEY in meta or method in _MODERN_ONLY:
            return modern_caller(frame)
        if self.revision is None and method not in {"initialize", "ping"}:
            return modern_caller(frame)
        return self.handshake_caller()

    def handshake_caller(self) -> DemoCaller:
        """The client of the handshake era."""
        return DemoCaller(self.revision or HANDSHAKE[0], self._log_level, self._capabilities)

    # -- what came ---------------------------------------------------------------------------------------------

    def receive(self, frame: Object, caller: DemoCaller | None, channel: Channel) -> Call | None:
        """Take one frame of `caller`, who is only needed for a request. What answers it goes to `channel`.

        Returns what was begun; ``None`` where the frame is dealt with already.
        """
        if is_response(frame):
            self._questions.answered(frame)
            return None
        if caller is None or not is_request(frame):
            self._notify(frame)
            return None
        try:
            if frame["method"] in WORKING:
                return self._begin(frame, caller, channel)
            result = complete(self._result(frame["method"], params_of(frame), caller), caller.revision)
        except DemoRefusal as refusal:
            self.refuse(frame, refusal, channel)
        else:
            self._setting.log.event("sent", id=frame["id"], kind="result")
            channel.send(result_frame(frame["id"], result))
            channel.end()
        return None

    def refuse(self, frame: Object, refusal: DemoRefusal, channel: Channel) -> None:
        """Answer a request with an error at once."""
        self._setting.log.event("sent", id=frame["id"], kind="error", code=refusal.code)
        channel.send(error_frame(frame["id"], refusal))
        channel.end()

    # -- requests answered at once -----------------------------------------------------------------------------

    def _result(self, method: str, params: Object, caller: DemoCaller) -> Object:
        listed = page(method, params, caller.revision, self._setting.page_size)
        if listed is not None:
            return listed
        match method, caller.modern:
            case "resources/read", _:
                return read(params, caller.revision)
            case "prompts/get", _:
                return prompt(params)
            case "server/discover", True:
                told = {"supportedVersions": list(SUPPORTED), **introduction(caller.revision)}
                return cacheable(told, caller.revision)
            case "initialize", False:
                return self._initialize(params)
            case "ping", False:
                return {}
            case "logging/setLevel", False:
                level = params.get("level")
                if level not in LEVELS:
                    raise DemoRefusal(INVALID_PARAMS, "Invalid params: unknown level")
                self._log_level = level
                return {}
            case "tasks/get" | "tasks/cancel", _ if caller.knows_tasks:
                return self._setting.tasks.answer(method, params, caller)
            case "tasks/update", True:
                return self._setting.tasks.answer(method, params, caller)
            case _:
                raise _unknown(method, caller)

    def _initialize(self, params: Object) -> Object:
        requested = params.get("protocolVersion")
        if not isinstance(requested, str):
            raise DemoRefusal(INVALID_PARAMS, "Invalid params: protocolVersion must be a string")
        if self.revision is not None:
            raise DemoRefusal(INVALID_REQUEST, "Invalid request: already initialized")
        self.revision = requested if requested in HANDSHAKE else HANDSHAKE[0]
        self._capabilities = as_object(params.get("capabilities")) or {}
        return {
            "protocolVersion": self.revision,
            "serverInfo": server_info(self.revision),
            **introduction(self.revision),
        }

    # -- requests that work for a while ------------------------------------------------------------------------

    def _begin(self, frame: Object, caller: DemoCaller, channel: Channel) -> Call:
        """Begin a request of `WORKING`. Everything for it goes to `channel`, which is ended afterwards."""
        params, method = params_of(frame), frame["method"]
        calls = method == "tools/call"
        name = str(params.get("name") if calls else method)
        if key(frame["id"]) in self._calls:
            raise DemoRefusal(INVALID_REQUEST, "Invalid request: a request with this id is in progress")
        log, spawn = self._setting.log, self._setting.spawn
        call = Call(frame["id"], name, caller, params, channel, log, self._questions)
        if calls and wanted(name, params, caller):
            task = Task(name, caller, params, log)
            self._setting.tasks.keep(task, spawn(self._run(task, self._work(task))))
            call.finish(task.handle())
            call.close()
            return call
        work = self._work(call) if calls else self._watch(call, method)
        self._calls[key(call.id)] = call, spawn(self._attend(call, work))
        return call

    def _work(self, call: Call) -> Work:
        tool = TOOLS.get(call.tool)
        arguments = as_object(call.params.get("arguments", {}))
        if tool is None or arguments is None:
            what = "unknown tool" if tool is None else "arguments must be an object"
            raise DemoRefusal(INVALID_PARAMS, f"Invalid params: {what}")
        try:
            return partial(self._call, call, tool, check_arguments(arguments, tool.offered["inputSchema"]))
        except BadArguments as error:
            if call.caller.revision < "2025-11-25":
                raise DemoRefusal(INVALID_PARAMS, f"Invalid params: {error}") from error
            return partial(self._answer, call, CallOutcome(f"Invalid arguments: {error}", is_error=True))

    def _watch(self, call: Call, method: str) -> Work:
        caller, params = call.caller, call.params
        if method == "tasks/result" and caller.revision == CORE_TASKS:
            return partial(DemoTasks.result, self._setting.tasks.find(params, caller), call)
        if method != "subscriptions/listen" or not caller.modern:
            raise _unknown(method, caller)
        wishes = as_object(params.get("notifications"))
        if wishes is None:
            raise DemoRefusal(INVALID_PARAMS, "Invalid params: notifications must be an object")
        if "taskIds" in wishes and not caller.extends(TASKS_EXTENSION):
            raise missing({"extensions": {TASKS_EXTENSION: {}}})
        return partial(self._listen, call)

    @staticmethod
    async def _call(call: Call, tool: DemoTool, arguments: dict[str, Any]) -> None:
        outcome = await tool.run(call, **arguments)
        if outcome is not None:
            call.answer(outcome)

    @staticmethod
    async def _answer(call: Call, outcome: CallOutcome) -> None:
        call.answer(outcome)

    @staticmethod
    async def _listen(call: Call) -> None:
        """``subscriptions/listen`` (2026-07-28): nothing here ever changes, so nothing is promised but the end."""
        identity: Object = {_SUBSCRIPTION_KEY: call.id}
        acknowledged: Object = {"_meta": identity, "notifications": {}}
        call.send(
            notification_frame("notifications/subscriptions/acknowledged", acknowledged), "acknowledged"
        )
        try:
            await call.cancelled.wait()
        except asyncio.CancelledError:  # the server ends ("Graceful Closure")
            call.finish({"_meta": identity})
            raise

    async def _attend(self, call: Call, work: Work) -> None:
        try:
            await self._run(call, work)
        finally:
            del self._calls[key(call.id)]

    @staticmethod
    async def _run(call: Call, work: Work) -> None:
        dropped = False
        try:
            await work()
        except DemoRefusal as refusal:
            call.refuse(refusal)
        except asyncio.CancelledError:
            dropped = not call.answered
            raise
        except Exception:  # noqa: BLE001 - one broken tool leaves the others at work
            traceback.print_exc()
            call.refuse(DemoRefusal(INTERNAL_ERROR, "Internal error"))
        finally:
            call.close(dropped=dropped)

    def close(self) -> None:
        """The session ends, and with it what is at work in it."""
        for _, task in list(self._calls.values()):
            task.cancel()

    # -- notifications -----------------------------------------------------------------------------------------

    def _notify(self, frame: Object) -> None:
        """Take a notification. Only a cancel of something at work here has an effect; a malformed one has none."""
        params = as_object(frame.get("params")) or {}
        if frame["method"] == "notifications/cancelled" and is_request_id(params.get("requestId")):
            call, _ = self._calls.get(key(params["requestId"]), (None, None))
            if call is not None:
                call.cancel("notification", params.get("reason"))
