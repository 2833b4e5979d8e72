"""The tools as a list shows them: name, description, the schema of their arguments, and whether they run as tasks."""

from __future__ import annotations

from typing import Final

from mcp_tui.demo.asking import QUESTIONS
from mcp_tui.demo.frames import Object

_DAY: Final = 86_400  # seconds
_EXACT: Final = 10**15  # up to here sums of numbers are exact


def _addend(description: str) -> Object:
    return {"type": "number", "minimum": -_EXACT, "maximum": _EXACT, "description": description}


def _seconds(default: float, description: str) -> Object:
    return {
        "type": "number",
        "minimum": 0,
        "maximum": _DAY,
        "default": default,
        "description": f"{description}, in seconds",
    }


def _tool(
    name: str,
    title: str,
    description: str,
    properties: Object | None = None,
    *,
    required: tuple[str, ...] = (),
    output: Object | None = None,
    destructive: bool = False,
    task: bool = False,
) -> Object:
    schema: Object = {"type": "object", "properties": properties or {}, "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    annotations: Object = (
        {"readOnlyHint": False, "destructiveHint": True} if destructive else {"readOnlyHint": True}
    )
    tool: Object = {
        "name": name,
        "title": title,
        "description": description,
        "inputSchema": schema,
        "annotations": {**annotations, "openWorldHint": False},
    }
    if output is not None:
        tool["outputSchema"] = output
    if task:
        tool["execution"] = {"taskSupport": "optional"}
    return tool


TOOLS_OFFERED: Final = [
    _tool(
        "echo",
        "Echo",
        "Answers at once with the text it was given.",
        {"text": {"type": "string", "description": "The text to send back"}},
        required=("text",),
    ),
    _tool(
        "add",
        "Add",
        "Answers at once with the sum of two numbers.",
        {"a": _addend("The first number"), "b": _addend("The second number")},
        required=("a", "b"),
        output={"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]},
    ),
    _tool(
        "count",
        "Count",
        "Counts up and reports progress. Stops silently when cancelled, as a good server does.",
        {
            "seconds": _seconds(10, "How long it takes"),
            "steps": {
                "type": "integer",
                "minimum": 1,
                "maximum": 1_000_000,
                "default": 10,
                "description": "How many steps it reports",
            },
        },
    ),
    _tool(
        "stubborn",
        "Stubborn",
        "Ignores a cancel: works to its end and sends its result.",
        {"seconds": _seconds(5, "How long it takes")},
    ),
    _tool(
        "grumpy",
        "Grumpy",
        "Answers a cancel with an error (-32800).",
        {"seconds": _seconds(5, "How long it takes when nobody cancels")},
    ),
    _tool(
        "chatty",
        "Chatty",
        "After a cancel goes on sending progress, four times a second for at least two seconds more, "
        "and never answers.",
        {"seconds": _seconds(5, "How long it takes")},
    ),
    _tool("silent", "Silent", "Never answers, cancelled or not, and leaves its stream open."),
    _tool(
        "racer",
        "Racer",
        "Answers after just the time given, cancel or no cancel: for a cancel and an answer that cross.",
        {
            "milliseconds": {
                "type": "number",
                "minimum": 0,
                "maximum": _DAY * 1000,
                "description": "When it answers, in milliseconds",
            }
        },
        required=("milliseconds",),
    ),
    _tool(
        "twice",
        "Twice",
        "Answers twice, cancel or no cancel.",
        {"seconds": _seconds(1, "When it answers")},
    ),
    _tool(
        "crash",
        "Crash",
        "Ends the server's process with status 3, cancel or no cancel.",
        {"seconds": _seconds(1, "When the process exits")},
        destructive=True,
    ),
    _tool(
        "big",
        "Big",
        "Answers at once with a text of the size given.",
        {
            "megabytes": {
                "type": "number",
                "minimum": 0,
                "maximum": 1024,
                "default": 1,
                "description": "The size of the text, in megabytes (1,000,000 bytes)",
            }
        },
    ),
    _tool(
        "flood",
        "Flood",
        "Sends log messages (info) as fast as they are taken, then answers. Where none are wanted it sends "
        "progress in their stead: 2026-07-28 has a request ask for them by a logLevel in its _meta.",
        {
            "count": {
                "type": "integer",
                "minimum": 0,
                "maximum": 10_000_000,
                "default": 10_000,
                "description": "How many",
            }
        },
    ),
    _tool(
        "ask",
        "Ask",
        "Asks you something, and answers with what you said. Cancelled, it takes its question back.",
        {
            "what": {
                "type": "string",
                "enum": list(QUESTIONS),
                "default": "form",
                "description": "A form to fill in, a prompt for a model, or the folders that it may see",
            }
        },
    ),
    _tool(
        "research",
        "Research",
        "Takes a while and says what it is at, as a task where the client knows tasks. Stops when cancelled.",
        {
            "topic": {"type": "string", "default": "tides", "description": "What to look into"},
            "seconds": _seconds(8, "How long it takes"),
            "keep": {
                "type": "integer",
                "minimum": 1,
                "maximum": _DAY,
                "default": 300,
                "description": "How long a task is kept from its beginning, where the client does not say",
            },
        },
        task=True,
    ),
]
