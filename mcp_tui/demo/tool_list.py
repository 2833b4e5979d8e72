"""The tools as a list shows them: name, description, the schema of their arguments, and whether they run as tasks."""

from __future__ import annotations

from typing import Any, Final

from mcp_tui.demo.asking import QUESTIONS
from mcp_tui.demo.frames import Object

_DAY: Final = 86_400  # seconds
_EXACT: Final = 10**15  # up to here sums of numbers are exact


def _number(low: float, high: float, does: str, default: float | None = None, kind: str = "number") -> Object:
    known = {} if default is None else {"default": default}
    return {"type": kind, "minimum": low, "maximum": high, **known, "description": does}


def _seconds(default: float, does: str) -> Object:
    return _number(0, _DAY, f"{does}, in seconds", default)


def _tool(name: str, does: str, /, output: Object | None = None, **arguments: Object) -> Object:
    """A tool. Arguments without a default are required."""
    required = [argument for argument, schema in arguments.items() if "default" not in schema]
    schema: Object = {"type": "object", "properties": arguments, "additionalProperties": False}
    hints: Object = (
        {"readOnlyHint": False, "destructiveHint": True} if name == "crash" else {"readOnlyHint": True}
    )
    tool: Object = {
        "name": name,
        "title": name.capitalize(),
        "description": does,
        "inputSchema": {**schema, "required": required} if required else schema,
        "annotations": {**hints, "openWorldHint": False},
    }
    more: dict[str, Any] = {} if output is None else {"outputSchema": output}
    return {**tool, **more, **({"execution": {"taskSupport": "optional"}} if name == "research" else {})}


_SUM: Final[Object] = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}

TOOLS_OFFERED: Final = [
    _tool(
        "echo",
        "Answers at once with the text it was given.",
        text={"type": "string", "description": "The text to send back"},
    ),
    _tool(
        "add",
        "Answers at once with the sum of two numbers.",
        _SUM,
        a=_number(-_EXACT, _EXACT, "The first number"),
        b=_number(-_EXACT, _EXACT, "The second number"),
    ),
    _tool(
        "count",
        "Counts up and reports progress. Stops silently when cancelled, as a good server does.",
        seconds=_seconds(10, "How long it takes"),
        steps=_number(1, 1_000_000, "How many steps it reports", 10, "integer"),
    ),
    _tool(
        "stubborn",
        "Ignores a cancel: works to its end and sends its result.",
        seconds=_seconds(5, "How long it takes"),
    ),
    _tool(
        "grumpy",
        "Answers a cancel with an error (-32800).",
        seconds=_seconds(5, "How long it takes when nobody cancels"),
    ),
    _tool(
        "chatty",
        "After a cancel goes on sending progress, four times a second for at least two seconds more, "
        "and never answers.",
        seconds=_seconds(5, "How long it takes"),
    ),
    _tool("silent", "Never answers, cancelled or not, and leaves its stream open."),
    _tool(
        "racer",
        "Answers after just the time given, cancel or no cancel: for a cancel and an answer that cross.",
        milliseconds=_number(0, _DAY * 1000, "When it answers, in milliseconds"),
    ),
    _tool("twice", "Answers twice, cancel or no cancel.", seconds=_seconds(1, "When it answers")),
    _tool(
        "crash",
        "Ends the server's process with status 3, cancel or no cancel.",
        seconds=_seconds(1, "When the process exits"),
    ),
    _tool(
        "big",
        "Answers at once with a text of the size given.",
        megabytes=_number(0, 1024, "The size of the text, in megabytes (1,000,000 bytes)", 1),
    ),
    _tool(
        "flood",
        "Sends log messages (info) as fast as they are taken, then answers. Sends progress instead if the client did "
        "not request logs.",
        count=_number(0, 10_000_000, "How many", 10_000, "integer"),
    ),
    _tool(
        "ask",
        "Asks you something, and answers with what you said. Cancelled, it takes its question back.",
        what={
            "type": "string",
            "enum": list(QUESTIONS),
            "default": "form",
            "description": "A form to fill in, a prompt for a model, or the folders that it may see",
        },
    ),
    _tool(
        "research",
        "Takes a while and says what it is at, as a task where the client knows tasks. Stops when cancelled.",
        topic={"type": "string", "default": "tides", "description": "What to look into"},
        seconds=_seconds(8, "How long it takes"),
        keep=_number(
            1,
            _DAY,
            "How long a task is kept from its beginning, where the client does not say",
            300,
            "integer",
        ),
    ),
]
