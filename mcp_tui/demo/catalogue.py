"""What the demo server offers: tools, resources, prompts, each as the revision of the request knows it."""

from __future__ import annotations

from typing import Any, Final

from mcp_tui import __version__
from mcp_tui.demo.frames import INVALID_PARAMS, MODERN, RESOURCE_NOT_FOUND, Object, Refusal

_INSTRUCTIONS: Final = (
    "Every outcome of a call, on demand. Call count and cancel it; then stubborn, grumpy, chatty and silent "
    "to see servers that take a cancel otherwise."
)

_CACHE_MS: Final = 60_000
"""How long lists and resources, which never change here, may be kept (caching, 2026-07-28)."""


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
    return tool


_TOOLS: Final = [
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
]

_STORY: Final = (
    "A client called a server and waited. After a while it sent word that the answer was no longer needed.\n"
    "The server had just sent it. Both messages met halfway, and neither knew.\n"
)
_DOT: Final = (  # one red pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)

_RESOURCES: Final[list[Object]] = [
    {
        "uri": "demo://story",
        "name": "story",
        "title": "A story",
        "description": "Of a cancel that crossed an answer",
        "mimeType": "text/plain",
    },
    {
        "uri": "demo://dot",
        "name": "dot",
        "title": "A dot",
        "description": "An image of one pixel",
        "mimeType": "image/png",
    },
]
_CONTENTS: Final[dict[str, Object]] = {
    "demo://story": {"uri": "demo://story", "mimeType": "text/plain", "text": _STORY},
    "demo://dot": {"uri": "demo://dot", "mimeType": "image/png", "blob": _DOT},
}
_SQUARE: Final = "demo://square/"
_TEMPLATES: Final[list[Object]] = [
    {
        "uriTemplate": "demo://square/{n}",
        "name": "square",
        "title": "The square of a number",
        "description": "n times n, for an integer n",
        "mimeType": "text/plain",
    }
]
_PROMPTS: Final[list[Object]] = [
    {
        "name": "review",
        "title": "Review code",
        "description": "Asks for a review of a piece of code",
        "arguments": [
            {"name": "code", "title": "Code", "description": "The code to review", "required": True},
            {"name": "focus", "title": "Focus", "description": "What to look at first", "required": False},
        ],
    },
    {"name": "greeting", "title": "Greeting", "description": "Says hello"},
]

_LISTS: Final = {
    "tools/list": ("tools", _TOOLS),
    "resources/list": ("resources", _RESOURCES),
    "resources/templates/list": ("resourceTemplates", _TEMPLATES),
    "prompts/list": ("prompts", _PROMPTS),
}

_SINCE: Final = {"annotations": "2025-03-26", "title": "2025-06-18", "outputSchema": "2025-06-18"}
"""Fields of what is listed, and the revision that brought them."""


def _as_of(item: Object, revision: str) -> Object:
    """`item` without the fields that `revision` does not know yet."""
    known = {field: value for field, value in item.items() if _SINCE.get(field, "") <= revision}
    if "arguments" in known:
        known["arguments"] = [_as_of(argument, revision) for argument in known["arguments"]]
    return known


def server_info(revision: str) -> Object:
    """The ``Implementation`` of this server (lifecycle; ``title`` from 2025-06-18)."""
    info = {"name": "mcp-tui-demo", "title": "mcp-tui demo server", "version": __version__}
    return _as_of(info, revision)


def introduction() -> Object:
    """What ``initialize`` and ``server/discover`` both tell: capabilities and instructions."""
    capabilities: Object = {"logging": {}, "prompts": {}, "resources": {}, "tools": {}}
    return {"capabilities": capabilities, "instructions": _INSTRUCTIONS}


def complete(result: Object, revision: str) -> Object:
    """`result` with what 2026-07-28 wants in every one: its type, and who sent it."""
    if revision < MODERN:
        return result
    meta: Object = {**result.get("_meta", {}), "io.modelcontextprotocol/serverInfo": server_info(revision)}
    return {**result, "resultType": "complete", "_meta": meta}


def cacheable(result: Object, revision: str) -> Object:
    """`result` with how long it may be kept (caching, 2026-07-28)."""
    return result if revision < MODERN else {**result, "ttlMs": _CACHE_MS, "cacheScope": "public"}


def page(method: str, params: Object, revision: str, size: int | None) -> Object | None:
    """One page of the list that `method` asks for, or ``None`` where it asks for no list (pagination).

    Raises `Refusal` for a cursor that this server has not given out.
    """
    if method not in _LISTS:
        return None
    field, items = _LISTS[method]
    size = size or len(items)
    starts = {f"from-{start}": start for start in range(size, len(items), size)}
    cursor = params.get("cursor")
    if cursor is not None and (not isinstance(cursor, str) or cursor not in starts):
        raise Refusal(INVALID_PARAMS, "Invalid params: unknown cursor")
    start = 0 if cursor is None else starts[cursor]
    result: Object = {field: [_as_of(item, revision) for item in items[start : start + size]]}
    if start + size < len(items):
        result["nextCursor"] = f"from-{start + size}"
    return cacheable(result, revision)


def read(params: Object, revision: str) -> Object:
    """The result of ``resources/read``. Raises `Refusal` for a URI that names nothing."""
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise Refusal(INVALID_PARAMS, "Invalid params: uri must be a string")
    content = _CONTENTS.get(uri)
    digits = uri.removeprefix(_SQUARE).removeprefix("-")
    if (
        content is None
        and uri.startswith(_SQUARE)
        and digits.isascii()
        and digits.isdigit()
        and len(digits) < 1000
    ):
        square = int(uri.removeprefix(_SQUARE)) ** 2
        content = {"uri": uri, "mimeType": "text/plain", "text": str(square)}
    if content is None:
        code = INVALID_PARAMS if revision >= MODERN else RESOURCE_NOT_FOUND
        raise Refusal(code, "Resource not found", {"uri": uri})
    return cacheable({"contents": [content]}, revision)


def prompt(params: Object) -> Object:
    """The result of ``prompts/get``. Raises `Refusal` for an unknown prompt or a missing argument."""
    arguments: Any = params.get("arguments", {})
    match params.get("name"), arguments:
        case "review", {"code": str(code)}:
            focus = arguments.get("focus")
            begin = f"Please review this code, {focus} first:" if focus else "Please review this code:"
            text, description = f"{begin}\n\n{code}", "A review of a piece of code"
        case "review", _:
            raise Refusal(INVALID_PARAMS, "Invalid params: the prompt review needs code, a string")
        case "greeting", _:
            text, description = "Hello! Which outcome would you like to see?", "A greeting"
        case _:
            raise Refusal(INVALID_PARAMS, "Invalid params: no such prompt")
    message: Object = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": description, "messages": [message]}


def input_schema(tool: str) -> Object | None:
    """The input schema of a tool, or ``None`` where there is no such tool."""
    return next((item["inputSchema"] for item in _TOOLS if item["name"] == tool), None)
