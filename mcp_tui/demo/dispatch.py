"""Requests and notifications of both eras, whatever transport they came by."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import field, replace
from typing import Any, Final

from mcp_tui.demo import frames
from mcp_tui.demo.calls import OWN_IDS, Call, Channel, DemoTasks, Questions, Task
from mcp_tui.demo.demo_catalogue import cacheable, introduction, listing, prompt, read
from mcp_tui.demo.demo_log import DemoLog
from mcp_tui.demo.demo_tools import TOOLS, BadArguments, Run, check_arguments
from mcp_tui.demo.frames import DemoCaller, DemoRefusal, Object
from mcp_tui.protocol import error_codes
from mcp_tui.protocol.json_values import as_object, is_request_id, object_or_none
from mcp_tui.protocol.states import LOG_LEVELS, RequestId
from mcp_tui.protocol.values import fact

_SUBSCRIPTION_KEY: Final = "io.modelcontextprotocol/subscriptionId"

WORKING: Final = frozenset({"tools/call", "subscriptions/listen", "tasks/result"})
"""Methods that may take a while; the others are answered at once."""

_MODERN_METHODS: Final = frozenset({"server/discover", "subscriptions/listen"})


@fact
class Setting:
    """The state that all conversations share. ``spawn`` runs a coroutine for as long as the server runs; ``end`` ends it.

    ``through`` returns the channel on which a request is answered, ``None`` for never, and may refuse it. ``instead`` are
    coroutines that run in place of those of the tools of these names. ``converse`` makes the conversation with a client,
    and ``streams`` says whether a request may need a stream over HTTP. ``ids`` are those of the server's requests.
    """

    log: DemoLog
    end: Callable[[str], None]
    spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
    tasks: DemoTasks = field(default_factory=DemoTasks)
    through: Callable[[Object, Channel], Channel | None] = lambda _, channel: channel
    instead: Mapping[str, Run] = field(default_factory=dict[str, Run])
    converse: Callable[[Setting], Conversation] = lambda setting: Conversation(setting)  # noqa: PLW0108 - it is below
    ids: Iterator[RequestId] = OWN_IDS
    streams: Callable[[Object], bool] = lambda frame: frame.get("method") in WORKING


def _becomes_task(tool: str, params: Object, caller: DemoCaller) -> bool:
    """Whether a call becomes a task: if the client asks for it (2025-11-25) or declares the extension.

    Raises `DemoRefusal` for a tool that does not run as one (tasks, 2025-11-25, "Tool-Level Negotiation").
    """
    possible = tool in TOOLS and "execution" in TOOLS[tool].offered
    if caller.extends(frames.TASKS_EXTENSION):
        return possible
    if caller.revision != frames.CORE_TASKS or "task" not in params:
        return False
    if not possible:
        raise DemoRefusal(error_codes.METHOD_NOT_FOUND, f"Method not found: {tool} cannot run as a task")
    return True


class Conversation:
    """The state of one client: the stdio process, one HTTP session, or one 2026 exchange.

    ``revision`` is what ``initialize`` agreed on, ``None`` before it. Requests that describe themselves by their
    ``_meta`` may stand beside it (versioning, 2026-07-28: a dual-era server serves both).
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self.revision: str | None = None
        self.client = DemoCaller(frames.HANDSHAKE[0], LOG_LEVELS[0])
        """The client of the handshake era."""
        self.aside = Channel()
        """The way of messages that belong to no request."""
        self._questions: Questions = {}
        self._calls: dict[RequestId, tuple[Call, asyncio.Task[None]]] = {}

    # -- the era -----------------------------------------------------------------------------------------------

    def caller(self, frame: Object) -> DemoCaller:
        """Returns the sender of a request. Raises `DemoRefusal`."""
        meta = as_object(frames.params_of(frame).get("_meta"))
        method = frame["method"]
        if frames.VERSION_KEY in meta or frames.CAPABILITIES_KEY in meta or method in _MODERN_METHODS:
            return frames.modern_caller(frame)
        if self.revision is None and method not in {"initialize", "ping"}:
            return frames.modern_caller(frame)
        return self.client

    # -- what came ---------------------------------------------------------------------------------------------

    def receive(
        self, frame: Object, caller_of: Callable[[Object], DemoCaller], channel: Channel
    ) -> Call | None:
        """Handles one frame. `caller_of` returns the sender of a request or refuses it; responses go to `channel`.

        Returns the call that was begun, if any.
        """
        identity: Any = frame.get("id")
        if "method" not in frame:
            if is_request_id(identity) and identity in self._questions:
                self._questions.pop(identity).set_result(frame)
            return None
        if not frames.is_request(frame):
            self.notify(frame)
            return None
        try:
            through = self._setting.through(frame, channel)
            if through is None:
                return None
            channel = through
            call = self.handle(frame, caller_of(frame), channel)
        except DemoRefusal as refusal:
            self._setting.log.event("sent", id=identity, kind="error", code=refusal.code)
            channel.send(frames.error_frame(identity, refusal))
            call = None
        if call is None:
            channel.end()
        return call

    def handle(self, frame: Object, caller: DemoCaller, channel: Channel) -> Call | None:
        """Answers a request, or begins the call that it is. Raises `DemoRefusal`."""
        if frame["method"] in WORKING:
            return self._begin(frame, caller, channel)
        result = self._result(frame["method"], frames.params_of(frame), caller)
        self._setting.log.event("sent", id=frame["id"], kind="result")
        channel.send(frames.result_frame(frame["id"], frames.complete(result, caller.revision)))
        return None

    # -- requests answered at once -----------------------------------------------------------------------------

    def _result(self, method: str, params: Object, caller: DemoCaller) -> Object:
        listed = listing(method, params, caller.revision)
        if listed is not None:
            return listed
        match method, caller.modern:
            case "resources/read", _:
                return read(params, caller.revision)
            case "prompts/get", _:
                return prompt(params)
            case "server/discover", True:
                told = {"supportedVersions": list(frames.SUPPORTED), **introduction(caller.revision)}
                return cacheable(told, caller.revision)
            case "initialize", False:
                return self._initialize(params)
            case "ping", False:
                return {}
            case "logging/setLevel", False:
                level = params.get("level")
                if level not in LOG_LEVELS:
                    raise frames.bad_params("unknown level")
                self.client = replace(self.client, log_level=level)
                return {}
            case "tasks/get" | "tasks/cancel", _ if caller.revision >= frames.CORE_TASKS:
                return self._setting.tasks.answer(method, params, caller)
            case "tasks/update", True:
                return self._setting.tasks.answer(method, params, caller)
            case _:
                raise frames.unknown_method(method, caller)

    def _initialize(self, params: Object) -> Object:
        requested = params.get("protocolVersion")
        if not isinstance(requested, str):
            raise frames.bad_params("protocolVersion must be a string")
        if self.revision is not None:
            raise frames.bad_request("already initialized")
        self.revision = requested if requested in frames.HANDSHAKE else frames.HANDSHAKE[0]
        capabilities = as_object(params.get("capabilities"))
        self.client = DemoCaller(self.revision, LOG_LEVELS[0], capabilities)
        return {
            "protocolVersion": self.revision,
            "serverInfo": frames.server_info(self.revision),
            **introduction(self.revision),
        }

    # -- requests that work for a while ------------------------------------------------------------------------

    def _begin(self, frame: Object, caller: DemoCaller, channel: Channel) -> Call:
        """Begins a request of `WORKING`. Its frames go to `channel`, which is ended afterwards."""
        params, method, identity = frames.params_of(frame), frame["method"], frame["id"]
        calls = method == "tools/call"
        name = str(params.get("name") if calls else method)
        if calls and name not in TOOLS:
            raise frames.bad_params("unknown tool")
        if calls and object_or_none(params.get("arguments", {})) is None:
            raise frames.bad_params("arguments must be an object")
        log, spawn, tasks = self._setting.log, self._setting.spawn, self._setting.tasks
        call = Call(identity, name, caller, params, channel, log, self._questions, self._setting.ids)
        if calls and _becomes_task(name, params, caller):
            task = Task(name, caller, params, log)
            tasks.keep(task, spawn(_run(task, self._call)))
            call.finish(task.handle())
            call.close()
            return call
        work = self._call if calls else _listen if method == "subscriptions/listen" else tasks.result
        return self.start(call, work)

    def start(self, call: Call, work: Callable[[Call], Coroutine[Any, Any, None]]) -> Call:
        """Lets a call work, and be cancelled. Raises `DemoRefusal` if its id is in use."""
        if call.id in self._calls:
            raise frames.bad_request("a request with this id is in progress")
        self._calls[call.id] = call, self._setting.spawn(_run(call, work))
        self._calls[call.id][1].add_done_callback(lambda _: self._calls.pop(call.id))
        return call

    async def _call(self, call: Call) -> None:
        """``tools/call``."""
        tool, given = TOOLS[call.tool], as_object(call.params.get("arguments", {}))
        try:
            arguments = check_arguments(given, tool.offered["inputSchema"])
        except BadArguments as error:
            if call.caller.revision < "2025-11-25":
                raise frames.bad_params(error) from error
            call.answer(f"Invalid arguments: {error}", is_error=True)
        else:
            await self._setting.instead.get(call.tool, tool.run)(call, **arguments)

    def close(self) -> None:
        """Ends the session and its calls."""
        for _, task in list(self._calls.values()):
            task.cancel()

    # -- notifications -----------------------------------------------------------------------------------------

    def notify(self, frame: Object) -> None:
        """Handles a notification. Only a valid cancel of a running call has an effect."""
        params = as_object(frame.get("params"))
        if frame["method"] == "notifications/cancelled" and is_request_id(params.get("requestId")):
            call, _ = self._calls.get(params["requestId"], (None, None))
            if call is not None:
                call.cancel("notification", params.get("reason"))


# -- what works for a while ------------------------------------------------------------------------------------


async def _run(call: Call, work: Callable[[Call], Coroutine[Any, Any, None]]) -> None:
    dropped = False
    try:
        await work(call)
    except DemoRefusal as refusal:
        call.refuse(refusal)
    except asyncio.CancelledError:
        dropped = not call.answered
        raise
    except Exception:  # noqa: BLE001 - one broken tool leaves the others at work
        traceback.print_exc()
        call.refuse(DemoRefusal(error_codes.INTERNAL_ERROR, "Internal error"))
    finally:
        call.close(dropped=dropped)


async def _listen(call: Call) -> None:
    """``subscriptions/listen`` (2026-07-28). Nothing ever changes here, so no notifications are agreed to."""
    if not call.caller.modern:
        raise frames.unknown_method(call.tool, call.caller)
    wishes = object_or_none(call.params.get("notifications"))
    if wishes is None:
        raise frames.bad_params("notifications must be an object")
    if "taskIds" in wishes:
        call.caller.need_tasks()
    identity: Object = {_SUBSCRIPTION_KEY: call.id}
    acknowledged: Object = {"_meta": identity, "notifications": {}}
    call.notify("subscriptions/acknowledged", acknowledged, "acknowledged")
    try:
        await call.cancelled.wait()
    except asyncio.CancelledError:  # the server ends ("Graceful Closure")
        call.finish({"_meta": identity})
        raise
