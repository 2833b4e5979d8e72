"""Servers that misbehave: each call names how it is to be answered, and a server does that over any transport.

``prompt``/``slow`` answer after the seconds that the call asks for and heed a cancel; ``deaf`` answers all the same;
``protests`` answers a cancel with an error; ``chatty`` reports progress, and may go on after a cancel; ``restless``
reports progress that does not increase, or of other tokens; ``silent`` never answers; ``twice`` answers again;
``wrong_id`` answers under an id that is nobody's or somebody else's, ``string_id`` under the id as a text; ``asks`` sends
requests of its own, with ids like ours, and takes some back; ``misdirects`` names our ids in cancels of its own;
``malformed`` answers with what is no message; ``input`` asks to be asked again, and again; ``questions`` asks for input a
person gives, and then answers; ``elicits`` asks a person by requests of its own, and takes some back; ``task`` becomes a
task, where the revision has tasks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from tests.simulation.plan import HANDSHAKE, MODERN

if TYPE_CHECKING:
    from tests.simulation.pipes import Process
    from tests.simulation.world import World

Message = dict[str, Any]

_encoder = json.JSONEncoder(ensure_ascii=False)


class Way(Protocol):
    """How something gets back to the client: the pipe, or the stream of one request."""

    def send(self, message: Message | list[Message] | bytes) -> None:
        """Sends a message (of JSON, or bytes as they are)."""
        ...

    def finish(self) -> None:
        """Nothing more comes for this request."""
        ...


def encode(message: Message | list[Message] | bytes) -> bytes:
    return message if isinstance(message, bytes) else _encoder.encode(message).encode("utf-8")


class _Call:
    """A call being worked on."""

    def __init__(self, id: Any, token: Any, way: Way) -> None:
        self.id = id
        self.token = token
        self.way = way
        self.over = False
        self.cancelled = False
        self.count = 0


class _Task:
    """A task: it is done at a time, unless it is cancelled before."""

    def __init__(self, id: str, done_at: float, *, core: bool) -> None:
        self.id = id
        self.done_at = done_at
        self.core = core
        self.cancelled = False


class Server:
    """The logic of a server, whatever carries its messages. ``process`` is set on stdio, ``aside`` by HTTP."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.plan = world.plan
        self.process: Process | None = None
        self.aside: Callable[[], Way | None] = lambda: None
        self.alive = True
        self.calls: dict[Any, _Call] = {}
        self.tasks: dict[str, _Task] = {}
        self.asked = 0

    # -- stdio -----------------------------------------------------------------------------------------------

    def line(self, line: bytes) -> None:
        self.world.say("-> server", line)
        self.take(json.loads(line), self)

    def send(self, message: Message | list[Message] | bytes) -> None:
        """Writes a line to stdout."""
        if self.alive and self.process is not None:
            raw = encode(message)
            self.world.say("server ->", raw)
            self.process.out.write(raw + b"\n")

    def finish(self) -> None:
        """On stdio nothing ends with a request."""

    def ended(self) -> None:
        """It has exited, or forgot everything."""
        self.alive = False
        self.calls.clear()

    # -- what comes in ---------------------------------------------------------------------------------------

    def take(self, message: Message, way: Way) -> None:
        """Takes a message; its answer, if one comes, goes by ``way``."""
        method = message.get("method")
        if method == "notifications/cancelled":
            self._cancelled(message["params"]["requestId"])
        elif method is None or "id" not in message or method == self.plan.mute:
            return
        elif method == "server/discover":
            self._discover(message, way)
        elif method == "initialize":
            self._initialize(message, way)
        elif method == "tools/call":
            self._call(message, way)
        elif method.startswith("tasks/"):
            self._about_task(message, way)
        else:
            self._answer(_Call(message["id"], None, way))

    def _discover(self, message: Message, way: Way) -> None:
        if not self.plan.modern:
            self._error(message["id"], -32601, "Method not found", way)
            return
        offered = [MODERN, *HANDSHAKE] if self.plan.both else [MODERN]
        result: Message = {"resultType": "complete", "supportedVersions": offered, "capabilities": {}}
        self._result(message["id"], result, way)

    def _initialize(self, message: Message, way: Way) -> None:
        if self.plan.modern and not self.plan.both:
            self._error(message["id"], -32022, "Unsupported", way, {"supported": [MODERN]})
            return
        revision = "2025-11-25" if self.plan.modern else self.plan.revision
        server = {"name": "simulated", "version": "1"}
        result: Message = {
            "protocolVersion": revision,
            "capabilities": {"tools": {}, "tasks": {"cancel": {}}},
            "serverInfo": server,
        }
        self._result(message["id"], result, way)

    def _error(self, id: Any, code: int, text: str, way: Way, data: Any = None) -> None:
        error = {"code": code, "message": text} | ({} if data is None else {"data": data})
        self._say_last({"jsonrpc": "2.0", "id": id, "error": error}, way)

    def _result(self, id: Any, result: Message, way: Way) -> None:
        self._say_last({"jsonrpc": "2.0", "id": id, "result": result}, way)

    @staticmethod
    def _say_last(message: Message, way: Way) -> None:
        way.send(message)
        way.finish()

    # -- calls -----------------------------------------------------------------------------------------------

    def _call(self, message: Message, way: Way) -> None:
        params = message["params"]
        call = _Call(message["id"], params.get("_meta", {}).get("progressToken"), way)
        self.calls[call.id] = call
        after: float = params["arguments"]["seconds"]
        tool: str = params["name"]
        later = self.world.later
        match tool:
            case "silent":
                pass
            case "chatty" | "restless":
                self._progress(call, after, tool)
            case "elicits" | "asks" | "misdirects":
                later(after / 2, self._unasked, getattr(self, f"_{tool}"), call)
                later(after, self._answer, call)
            case "questions" if self.plan.modern and not self.plan.both and "requestState" not in params:
                later(after / 2, self._open, self._question, call)
            case "task" if "task" in params or (self.plan.modern and not self.plan.both):
                later(after / 4, self._open, self._begin_task, call, after, "task" in params)
            case "deaf":
                later(after, self._deaf, call)
            case _:
                later(after, self._open, getattr(self, f"_{tool}", self._answer), call)

    def _open(self, then: Callable[..., None], call: _Call, *more: Any) -> None:
        """Goes on with a call, unless it is over."""
        if not call.over:
            then(call, *more)

    def _unasked(self, then: Callable[[_Call, Way], None], call: _Call) -> None:
        """Says something that is about no call, on a stream for such things where there is one."""
        then(call, self.aside() or call.way)

    def _cancelled(self, id: Any) -> None:
        call = self.calls.get(id)
        if call is None or call.over:
            return
        call.cancelled = True
        # What is written into the call decides; a cancel is heeded after a moment, so that an answer may cross it.
        self.world.later(self.world.latency(), self._heed, call)

    def _heed(self, call: _Call) -> None:
        if call.over:
            return
        world = self.world
        if world.chance(0.3):
            call.over = True
            code = world.rng.choice((0, -32800))
            self._error(call.id, code, "Request cancelled", call.way)
        elif world.chance(0.5):
            call.over = True
            call.way.finish()

    def abandoned(self, id: Any) -> None:
        """Its stream was closed by the client."""
        call = self.calls.get(id)
        if call is not None and self.plan.modern and not call.over:
            call.cancelled = True
            call.over = self.world.chance(0.5)

    def _answer(self, call: _Call, text: str = "done") -> None:
        if call.over:
            return
        call.over = True
        result: Message = {"content": [{"type": "text", "text": text}]}
        message: Message = {"jsonrpc": "2.0", "id": call.id, "result": result}
        if self.plan.revision == "2025-03-26" and self.world.chance(0.3):
            call.way.send([{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}, message])
            call.way.finish()
        else:
            self._say_last(message, call.way)

    def _deaf(self, call: _Call) -> None:
        call.over = False
        self._answer(call, "done all the same")

    def _twice(self, call: _Call) -> None:
        call.way.send({"jsonrpc": "2.0", "id": call.id, "result": {"first": True}})
        self.world.later(self.world.latency(), self._answer, call)

    def _wrong_id(self, call: _Call) -> None:
        others = [each for each in self.calls if each != call.id]
        id_ = self.world.rng.choice([None, 99999, True, 1.5, "nobody", *others])
        call.way.send({"jsonrpc": "2.0", "id": id_, "result": {}})
        self.world.later(self.world.latency(), self._answer, call)

    def _string_id(self, call: _Call) -> None:
        call.over = True
        self._result(str(call.id), {}, call.way)

    def _malformed(self, call: _Call) -> None:
        id_ = json.dumps(call.id)
        text = self.world.rng.choice(
            (
                "a log line",
                '{"jsonrpc":"2.0"}',
                f'{{"jsonrpc":"2.0","id":{id_},"result":{{',
                f'{{"jsonrpc":"2.0","id":{id_},"result":{{}},"error":{{"code":1,"message":"both"}}}}',
                f'{{"jsonrpc":"2.0","id":{id_},"error":"not an object"}}',
            )
        )
        call.way.send(text.encode())
        self.world.later(self.world.latency(), self._answer, call)

    def _input(self, call: _Call) -> None:
        call.over = True
        self._result(call.id, {"resultType": "input_required", "inputRequests": {}}, call.way)

    def _question(self, call: _Call) -> None:
        call.over = True
        asks = {key: {"method": "elicitation/create", "params": {"message": key}} for key in ("name", "age")}
        result: Message = {"resultType": "input_required", "inputRequests": asks, "requestState": "s"}
        self._result(call.id, result, call.way)

    def _elicits(self, _call: _Call, way: Way) -> None:
        """Asks a person, twice; what is asked may be taken back at any time, and be answered before that arrives."""
        for _ in range(2):
            self.asked += 1
            params: Message = {"message": "which?", "requestedSchema": {"type": "object", "properties": {}}}
            way.send({"jsonrpc": "2.0", "id": self.asked, "method": "elicitation/create", "params": params})
            if self.world.chance(0.6):
                self.world.later(self.world.rng.expovariate(1.0), self._take_back, self.asked, way)

    # -- tasks -----------------------------------------------------------------------------------------------

    def _begin_task(self, call: _Call, seconds: float, core: bool) -> None:
        call.over = True
        task = _Task(f"task-{call.id}", self.world.loop.now + seconds, core=core)
        self.tasks[task.id] = task
        handle = self._status(task)
        self._result(call.id, {"task": handle} if core else {"resultType": "task", **handle}, call.way)

    def _status(self, task: _Task) -> Message:
        over = "completed" if self.world.loop.now >= task.done_at else "working"
        status: Message = {"taskId": task.id, "status": "cancelled" if task.cancelled else over}
        if task.core:
            return {**status, "ttl": 60000, "pollInterval": 500}
        return {**status, "ttlMs": 60000, "pollIntervalMs": 500}

    def _about_task(self, message: Message, way: Way) -> None:
        task = self.tasks.get(message["params"]["taskId"])
        if task is None:
            self._error(message["id"], -32602, "no such task", way)
            return
        done: Message = {"content": [{"type": "text", "text": "done"}]}
        result = self._status(task)
        over = result["status"] != "working"
        match message["method"]:
            case "tasks/cancel":
                if over and task.core:
                    self._error(message["id"], -32602, "it is over", way)
                    return
                task.cancelled = not over and (task.core or self.world.chance(0.5))
                result = self._status(task) if task.core else {}
            case "tasks/result" if not over:
                self.world.later(task.done_at - self.world.loop.now, self._about_task, message, way)
                return
            case "tasks/result":
                result = done
            case _ if over and not task.core and not task.cancelled:
                result["result"] = done
            case _:
                pass
        self._result(message["id"], result, way)

    def _progress(self, call: _Call, left: float, tool: str) -> None:
        if call.over:
            return
        every = 0.25
        call.count += 1
        token, value = call.token, float(call.count)
        if tool == "restless":
            rng = self.world.rng
            others = [each.token for each in self.calls.values() if each is not call]
            token = rng.choice((token, token, "stranger", None, 99999, *others))
            value = rng.choice((1.0, 1.0, 0.0, -1.0, value))
        params: Message = {"progressToken": token, "progress": value, "total": 40}
        call.way.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
        if left > every:
            self.world.later(every, self._progress, call, left - every, tool)
        elif self.world.chance(0.7):
            self.world.later(max(0.0, left), self._answer, call)

    def _asks(self, _call: _Call, way: Way) -> None:
        """Requests of its own, with ids that are also ours; some are taken back."""
        for method in ("ping", "sampling/createMessage", "roots/list"):
            self.asked += 1
            way.send({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": {}})
            if self.world.chance(0.5):
                self._take_back(self.asked, way)

    def _misdirects(self, call: _Call, way: Way) -> None:
        """A cancel of the server's that names a request of ours: it can only mean one of its own."""
        self._take_back(self.world.rng.choice([call.id, *self.calls]), way)

    @staticmethod
    def _take_back(id: Any, way: Way) -> None:
        params: Message = {"requestId": id, "reason": "never mind"}
        way.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
