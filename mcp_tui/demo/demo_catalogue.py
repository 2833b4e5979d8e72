"""The tools, resources, and prompts of the demo server, as each revision defines them."""

from __future__ import annotations

import re
from typing import Any, Final

from mcp_tui.demo import frames
from mcp_tui.demo.demo_tools import TOOLS
from mcp_tui.demo.frames import DemoRefusal, Object
from mcp_tui.protocol import error_codes

_INSTRUCTIONS: Final = (
    "Every outcome of a call, on demand. Call count and cancel it; then try stubborn, grumpy, chatty, and silent, "
    "which do not stop when cancelled. ask asks you a question; research runs as a task."
)

_CACHE_MS: Final = 60_000
"""Milliseconds that lists and resources, which never change, may be cached (caching, 2026-07-28)."""

_STORY: Final = (
    "A client called a server and waited. After a while it sent word that the answer was no longer needed.\n"
    "The server had just sent it. Both messages met halfway, and neither knew.\n"
)
_DOT: Final = (  # one red pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)

_KNOWN: Final[dict[str, tuple[str, str, Object]]] = {
    "story": ("A story", "About a cancel that crossed an answer", {"mimeType": "text/plain", "text": _STORY}),
    "dot": ("A dot", "An image of one pixel", {"mimeType": "image/png", "blob": _DOT}),
}
_CONTENTS: Final[dict[str, Object]] = {
    f"demo://{name}": {"uri": f"demo://{name}", **content} for name, (_, _, content) in _KNOWN.items()
}
_RESOURCES: Final[list[Object]] = [
    {
        "uri": f"demo://{name}",
        "name": name,
        "title": title,
        "description": description,
        "mimeType": content["mimeType"],
    }
    for name, (title, description, content) in _KNOWN.items()
]
_SQUARE: Final = re.compile(r"demo://square/(-?[0-9]{1,999})")
_TEMPLATES: Final[list[Object]] = [
    {
        "uriTemplate": "demo://square/{n}",
        "name": "square",
        "title": "The square of a number",
        "description": "n times n, for an integer n",
        "mimeType": "text/plain",
    }
]
_DEMO_PROMPTS: Final[list[Object]] = [
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

_LIST_ANSWERS: Final = {
    "tools/list": ("tools", [tool.offered for tool in TOOLS.values()]),
    "resources/list": ("resources", _RESOURCES),
    "resources/templates/list": ("resourceTemplates", _TEMPLATES),
    "prompts/list": ("prompts", _DEMO_PROMPTS),
}

_SINCE: Final = {
    "annotations": "2025-03-26",
    "title": "2025-06-18",
    "outputSchema": "2025-06-18",
    "execution": frames.CORE_TASKS,
}
"""Fields of what is listed, and the revision that brought them."""

_UNTIL: Final = {"execution": frames.CORE_TASKS}
"""Those that a later revision took away again, and the last that has them."""


def as_of(item: Object, revision: str) -> Object:
    """Returns `item` without the fields that `revision` does not define."""
    known = {
        field: value
        for field, value in item.items()
        if _SINCE.get(field, "") <= revision <= _UNTIL.get(field, frames.MODERN)
    }
    if "arguments" in known:
        known["arguments"] = [as_of(argument, revision) for argument in known["arguments"]]
    return known


def introduction(revision: str) -> Object:
    """Returns the capabilities and instructions for ``initialize`` and ``server/discover``."""
    capabilities: Object = {"logging": {}, "prompts": {}, "resources": {}, "tools": {}}
    if revision == frames.CORE_TASKS:
        capabilities["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
    if revision >= frames.MODERN:
        capabilities["extensions"] = {frames.TASKS_EXTENSION: {}}
    return {"capabilities": capabilities, "instructions": _INSTRUCTIONS}


def cacheable(result: Object, revision: str) -> Object:
    """Returns `result` with its cache lifetime (caching, 2026-07-28)."""
    return result if revision < frames.MODERN else {**result, "ttlMs": _CACHE_MS, "cacheScope": "public"}


def listing(method: str, params: Object, revision: str) -> Object | None:
    """Returns the list that `method` asks for in one page, or ``None`` for other methods (pagination).

    Raises `DemoRefusal` for a cursor, because there are no further pages.
    """
    if method not in _LIST_ANSWERS:
        return None
    if params.get("cursor") is not None:
        raise frames.bad_params("unknown cursor")
    field, items = _LIST_ANSWERS[method]
    return cacheable({field: [as_of(item, revision) for item in items]}, revision)


def read(params: Object, revision: str) -> Object:
    """Returns the result of ``resources/read``. Raises `DemoRefusal` for an unknown URI."""
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise frames.bad_params("uri must be a string")
    content = _CONTENTS.get(uri)
    if square := _SQUARE.fullmatch(uri):
        content = {"uri": uri, "mimeType": "text/plain", "text": str(int(square[1]) ** 2)}
    if content is None:
        code = error_codes.INVALID_PARAMS if revision >= frames.MODERN else error_codes.RESOURCE_NOT_FOUND
        raise DemoRefusal(code, "Resource not found", {"uri": uri})
    return cacheable({"contents": [content]}, revision)


def prompt(params: Object) -> Object:
    """Returns the result of ``prompts/get``. Raises `DemoRefusal` for an unknown prompt or a missing argument."""
    arguments: Any = params.get("arguments", {})
    match params.get("name"), arguments:
        case "review", {"code": str(code)}:
            focus = arguments.get("focus")
            begin = f"Please review this code, {focus} first:" if focus else "Please review this code:"
            text, description = f"{begin}\n\n{code}", "A review of a piece of code"
        case "review", _:
            raise frames.bad_params("the prompt review needs code, a string")
        case "greeting", _:
            text, description = "Hello! Which outcome would you like to see?", "A greeting"
        case _:
            raise frames.bad_params("no such prompt")
    message: Object = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": description, "messages": [message]}
