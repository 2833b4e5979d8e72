"""The tools: one coroutine each, with its entry in the list. Each shows one outcome that a client must handle.

A tool answers its call, raises `DemoRefusal` for an error response, or ends without an answer.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import field
from itertools import count as count_up
from typing import Any, Final

from mcp_tui.demo import frames
from mcp_tui.demo.calls import Call
from mcp_tui.demo.frames import DemoCaller, DemoRefusal, Object
from mcp_tui.protocol import error_codes
from mcp_tui.protocol.json_values import as_object, object_or_none
from mcp_tui.protocol.values import frozen

CRASH_STATUS: Final = 3
"""The exit status of the process when `crash` was called."""

_BEAT: Final = 0.25  # seconds between two progress notifications of `chatty`
_RUN_ON: Final = 2.0  # seconds for which `chatty` goes on at least after a cancel
_BREATH: Final = 64  # notifications of `flood` between two looks at what came in
_MEGABYTE_OF_TEXT: Final = "0123456789" * 100_000
_ANSWER_KEY: Final = "answer"  # the key of what `ask` asks for
_STAGES: Final = (
    "looking for sources on {topic}",
    "reading four of them",
    "weighing what they say",
    "writing it up",
)
_SUM: Final[Object] = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}


class BadArguments(Exception):
    """The arguments break the schema. The text names the first one that does."""


def check(value: object, schema: Object) -> None:
    """Raises `BadArguments` if a value breaks a schema."""
    # It takes time to load, and a person waits for the list of tools first.
    import jsonschema_rs

    error = next(jsonschema_rs.validator_for(schema).iter_errors(value), None)
    if error is not None:
        raise BadArguments(": ".join((*map(str, error.instance_path), error.message)))


def check_arguments(arguments: Object, schema: Object) -> dict[str, Any]:
    """Returns every argument of `schema`, those that are missing with their defaults. Raises `BadArguments`."""
    check(arguments, schema)
    given = {name: arguments.get(name, part.get("default")) for name, part in schema["properties"].items()}
    # An integer may be written 5.0 (JSON Schema, "integer").
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in given.items()
    }


Run = Callable[..., Awaitable[None]]


@frozen
class DemoTool:
    """A tool: its coroutine, and the ``Tool`` that a list shows."""

    run: Run
    offered: Object


TOOLS: Final[dict[str, DemoTool]] = {}
"""Every tool by its name, in the order of the list."""

_DAY: Final = 86_400  # seconds
_EXACT: Final = 10**15  # up to here sums of numbers are exact


def _number(low: float, high: float, does: str, default: float | None = None, kind: str = "number") -> Object:
    known = {} if default is None else {"default": default}
    return {"type": kind, "minimum": low, "maximum": high, **known, "description": does}


def _seconds(default: float, does: str) -> Object:
    return _number(0, _DAY, f"{does}, in seconds", default)


def object_schema(properties: dict[str, Object]) -> Object:
    """Returns the schema of an object with these members; those without a default are required."""
    required = [name for name, schema in properties.items() if "default" not in schema]
    made: Object = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**made, "required": required} if required else made


def _tool(
    does: str,
    /,
    *,
    output: Object | None = None,
    destroys: bool = False,
    repeats: bool = True,
    task: bool = False,
    **arguments: Object,
) -> Callable[[Run], Run]:
    """Declares a coroutine as the tool of its name. Arguments without a default are required.

    ``destroys``, and not ``repeats``: it is not safe to call it twice.
    """
    hints = {"readOnlyHint": False, "destructiveHint": True} if destroys else {"readOnlyHint": True}
    if not repeats:
        hints = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False}

    def declare(run: Run) -> Run:
        offered: Object = {
            "name": run.__name__,
            "title": run.__name__.capitalize(),
            "description": does,
            "inputSchema": object_schema(arguments),
            "annotations": {**hints, "openWorldHint": False},
        }
        if output is not None:
            offered["outputSchema"] = output
        if task:
            offered["execution"] = {"taskSupport": "optional"}
        TOOLS[run.__name__] = DemoTool(run, offered)
        return run

    return declare


# -- what the tool ask asks ------------------------------------------------------------------------------------

_SEATS: Final = ["inside", "garden", "bar"]
_FORM_SCHEMA: Final[Object] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "description": "Who is coming"},
        "place": {"type": "string", "title": "Place", "description": "Where to sit", "enum": _SEATS},
        "dog": {"type": "boolean", "title": "Dog", "description": "A dog comes along", "default": False},
    },
    "required": ["name", "place"],
}
_PROMPT: Final = "Say in one sentence why a cancelled request may still be answered."

_STATE_KEY: Final = os.urandom(32)


_ACCEPTED: Final[Object] = {"action": {"const": "accept"}, "content": _FORM_SCHEMA}
_ANSWERED: Final[Object] = {
    "oneOf": [
        {"properties": _ACCEPTED, "required": ["action", "content"]},
        {"properties": {"action": {"enum": ["decline", "cancel"]}}, "required": ["action"]},
    ]
}
_SAMPLED: Final[Object] = {
    "properties": {"model": {"type": "string"}, "content": {"type": ["object", "array"], "minItems": 1}},
    "required": ["model", "content"],
}


@frozen
class DemoQuestion:
    """A request to the client: method, params, the capability that the client must declare, and the result's schema."""

    method: str
    capability: Object
    result: Object
    params: Object = field(default_factory=dict[str, object])

    def asked(self, caller: DemoCaller) -> Object:
        """Returns the params for a client: elicitation has a mode since 2025-11-25."""
        modeless = caller.revision < "2025-11-25"
        return {name: value for name, value in self.params.items() if not (modeless and name == "mode")}

    def answer(self, call: Call, result: Object) -> None:
        """Answers the call with the client's result. Raises `DemoRefusal` if that breaks the schema."""
        try:
            check(result, self.result)
        except BadArguments as error:
            raise frames.bad_params(f"not a valid answer: {error}") from error
        call.answer(f"You answered: {json.dumps(result, ensure_ascii=False)}")


QUESTIONS: Final = {
    "form": DemoQuestion(
        "elicitation/create",
        {"elicitation": {"form": {}}},
        _ANSWERED,
        {
            "mode": "form",
            "message": "A table for tonight: for whom, and where?",
            "requestedSchema": _FORM_SCHEMA,
        },
    ),
    "sampling": DemoQuestion(
        "sampling/createMessage",
        {"sampling": {}},
        _SAMPLED,
        {"messages": [{"role": "user", "content": {"type": "text", "text": _PROMPT}}], "maxTokens": 100},
    ),
    "roots": DemoQuestion(
        "roots/list",
        {"roots": {}},
        {"properties": {"roots": {"type": "array"}}, "required": ["roots"]},
    ),
}
"""The questions by the argument of ``ask``."""


def sealed(about: Object) -> str:
    """Returns the ``requestState`` of a request with these params, signed by this process.

    The client, which sends it back, could change it (multi round-trip requests, "Server Requirements").
    """
    asked = json.dumps([about.get("name"), about.get("arguments", {})], sort_keys=True)
    return hmac.new(_STATE_KEY, asked.encode(), hashlib.sha256).hexdigest()


# -- the tools -------------------------------------------------------------------------------------------------


def _plain(value: float) -> str:
    """Formats a number as people write it: ``5``, not ``5.0``."""
    return str(int(value)) if float(value).is_integer() else repr(value)


@_tool("Responds immediately with the given text.", text={"type": "string", "description": "Text to return"})
async def echo(call: Call, *, text: str) -> None:
    """Answers with the text."""
    call.answer(text)


@_tool(
    "Responds immediately with the sum of two numbers.",
    output=_SUM,
    a=_number(-_EXACT, _EXACT, "The first number"),
    b=_number(-_EXACT, _EXACT, "The second number"),
)
async def add(call: Call, *, a: float, b: float) -> None:
    """Answers with the sum."""
    total = a + b
    call.answer(_plain(total), {"sum": total})


@_tool(
    "Counts up and reports progress. Stops when cancelled and sends nothing more, as the specification asks.",
    seconds=_seconds(10, "Duration"),
    steps=_number(1, 1_000_000, "Number of progress reports", 10, "integer"),
)
async def count(call: Call, *, seconds: float, steps: int) -> None:
    """Reports each step; stops silently when cancelled."""
    began = call.now()
    for step in range(1, steps + 1):
        if await call.until(began + seconds * step / steps):
            return
        call.progress(step, steps, f"step {step} of {steps}")
    call.answer(f"counted to {steps}")


@_tool("Ignores a cancel: works to the end and sends its result.", seconds=_seconds(20, "Duration"))
async def stubborn(call: Call, *, seconds: float) -> None:
    """Works to the end. After a cancel it sends no progress, only the result."""
    began = call.now()
    for quarter in (1, 2, 3):
        await call.sleep_until(began + seconds * quarter / 4)
        if not call.cancelled.is_set():
            call.progress(quarter, 4, f"{quarter} of 4")
    await call.sleep_until(began + seconds)
    call.answer("finished (cancel ignored)")


@_tool("Responds to a cancel with an error (-32800).", seconds=_seconds(5, "Duration without a cancel"))
async def grumpy(call: Call, *, seconds: float) -> None:
    """Answers a cancel with an error."""
    if await call.until(call.now() + seconds):
        raise DemoRefusal(error_codes.REQUEST_CANCELLED, "Request cancelled")
    call.answer("finished without a cancel")


@_tool(
    "Keeps sending progress after a cancel, four times a second for at least two seconds, and never responds.",
    seconds=_seconds(5, "Duration"),
)
async def chatty(call: Call, *, seconds: float) -> None:
    """Sends progress without a total to the end, which a cancel postpones."""
    began = call.now()
    end = began + seconds
    beat = 0
    while call.now() < end:
        beat += 1
        await call.sleep_until(min(began + beat * _BEAT, end))
        call.progress(beat, None, f"still talking, {beat} times now")
        if call.cancelled_at is not None:
            end = max(end, call.cancelled_at + _RUN_ON)
    if not call.cancelled.is_set():
        call.answer(f"talked {beat} times")


@_tool("Never responds, cancelled or not, and leaves its stream open.")
async def silent(call: Call) -> None:
    """Never answers. Over HTTP it ends when the client closes the stream."""
    await call.channel.disconnected.wait()


_letters: Final = count_up(1)


@_tool(
    "Sends a letter, cancelled or not, and says how many it has sent. To see what happens to a call that is sent again.",
    repeats=False,
    to={"type": "string", "description": "Whom to send it to", "default": "Ada"},
    seconds=_seconds(3, "Duration"),
)
async def send(call: Call, *, to: str, seconds: float) -> None:
    """Counts how often it ran."""
    number = next(_letters)
    await call.sleep_until(call.now() + seconds)
    call.answer(f"letter {number} sent to {to}")


@_tool(
    "Responds after exactly the given time, cancelled or not. Makes a cancel and a result cross.",
    milliseconds=_number(0, _DAY * 1000, "Time until the response, in milliseconds"),
)
async def racer(call: Call, *, milliseconds: float) -> None:
    """Answers at the time given."""
    await call.sleep_until(call.now() + milliseconds / 1000)
    call.answer(f"answered after {_plain(milliseconds)} ms")


@_tool("Responds twice, cancelled or not.", seconds=_seconds(1, "Time until the first response"))
async def twice(call: Call, *, seconds: float) -> None:
    """Answers twice."""
    await call.sleep_until(call.now() + seconds)
    call.answer("the first answer")
    call.answer("the second answer")


@_tool(
    "Exits the server process with status 3, cancelled or not.",
    destroys=True,
    seconds=_seconds(1, "Time until the process exits"),
)
async def crash(call: Call, *, seconds: float) -> None:
    """Writes a line to standard error and exits."""
    await call.sleep_until(call.now() + seconds)
    call.log.event("exit", cause=call.tool, status=CRASH_STATUS)
    sys.stderr.write("demo: tool crash called, exiting\n")
    sys.stderr.flush()
    os._exit(CRASH_STATUS)


@_tool(
    "Responds immediately with a text of the given size.",
    megabytes=_number(0, 1024, "The size of the text, in megabytes (1,000,000 bytes)", 1),
)
async def big(call: Call, *, megabytes: float) -> None:
    """Answers with as much text as was asked for."""
    whole, part = divmod(round(megabytes * len(_MEGABYTE_OF_TEXT)), len(_MEGABYTE_OF_TEXT))
    call.answer(_MEGABYTE_OF_TEXT * whole + _MEGABYTE_OF_TEXT[:part])


@_tool(
    "Sends log messages (info) as fast as possible, then responds. Sends progress instead if the client did "
    "not request logs.",
    count=_number(0, 10_000_000, "Number of messages", 10_000, "integer"),
)
async def flood(call: Call, *, count: int) -> None:
    """Sends log messages, or progress if the client wants no logs; stops silently when cancelled."""
    messages = call.wants_messages("info")
    for number in range(1, count + 1):
        text = f"message {number} of {count}"
        if messages:
            call.message("info", text)
        else:
            call.progress(number, count, text)
        if number % _BREATH == 0:
            await call.channel.drain()
            if call.cancelled.is_set():
                return
    call.answer(f"flooded with {count}")


@_tool(
    "Asks you a question and returns your answer. Withdraws the question when cancelled.",
    what={
        "type": "string",
        "enum": list(QUESTIONS),
        "default": "form",
        "description": "A form (elicitation), a prompt for a model (sampling), or folders (roots)",
    },
)
async def ask(call: Call, *, what: str) -> None:
    """Asks the person by a request, or in 2026-07-28 by an input-required result."""
    question = QUESTIONS[what]
    (capability,) = question.capability
    if not call.caller.declares(capability):
        if call.caller.modern:
            raise frames.missing(question.capability)
        call.answer(f"Cannot ask: this client does not declare {capability}.", is_error=True)
        return
    params = question.asked(call.caller)
    if call.caller.modern:
        _round(call, question, params)
        return
    response = await call.ask(question.method, params)
    if response is None:
        return
    if (result := object_or_none(response.get("result"))) is not None:
        question.answer(call, result)
    else:
        call.answer(f"The question was refused: {json.dumps(response.get('error'), ensure_ascii=False)}")


def _round(call: Call, question: DemoQuestion, params: Object) -> None:
    """Handles one round (multi round-trip requests, 2026-07-28)."""
    state = sealed(call.params)
    if "requestState" in call.params:
        if call.params["requestState"] != state:
            raise frames.bad_params("this requestState belongs to another request")
        answer = object_or_none(as_object(call.params.get("inputResponses")).get(_ANSWER_KEY))
        if answer is not None:
            question.answer(call, answer)
            return
    asked: Object = {_ANSWER_KEY: {"method": question.method, "params": params}}
    call.finish({"resultType": "input_required", "inputRequests": asked, "requestState": state})


@_tool(
    "Reports what it is doing; runs as a task if the client supports tasks. Stops when cancelled.",
    task=True,
    topic={"type": "string", "default": "tides", "description": "Topic to research"},
    seconds=_seconds(8, "Duration"),
)
async def research(call: Call, *, topic: str, seconds: float) -> None:
    """Reports its stages; stops silently when cancelled."""
    began = call.now()
    for number, stage in enumerate(_STAGES):
        call.progress(number, len(_STAGES), stage.format(topic=topic))
        if await call.until(began + seconds * (number + 1) / len(_STAGES)):
            return
    call.answer(f"Of four sources on {topic} three agree, and one was cancelled.")
