"""The check of a tool's arguments: as much of JSON Schema as the demo server's own schemas use."""

from __future__ import annotations

import math
from typing import Any

from mcp_tui.demo.frames import Object


class BadArguments(Exception):
    """The arguments break the schema. The text names the first one that does."""


def _typed(name: str, value: object, schema: Object) -> object:
    """`value` as the type that its schema names. An integer may be written ``5.0`` (JSON Schema, "integer")."""
    match schema["type"], value:
        case ("string", str()) | ("boolean", bool()):
            return value
        case "number" | "integer", bool():
            pass
        case "number", int():
            return value
        case "number", float() if math.isfinite(value):
            return value
        case "integer", int():
            return value
        case "integer", float() if value.is_integer():
            return int(value)
        case _:
            pass
    message = f"{name} must be of type {schema['type']}"
    raise BadArguments(message)


def check_arguments(arguments: Object, schema: Object) -> dict[str, Any]:
    """Return every argument of `schema`, those that are missing with their defaults. Raises `BadArguments`."""
    properties: dict[str, Object] = schema["properties"]
    for name in arguments:
        if name not in properties:
            message = f"there is no argument {name!r}"
            raise BadArguments(message)
    checked: dict[str, Any] = {}
    for name, part in properties.items():
        if name not in arguments:
            if name in schema.get("required", ()):
                message = f"{name} is missing"
                raise BadArguments(message)
            checked[name] = part["default"]
            continue
        value: Any = _typed(name, arguments[name], part)
        if "enum" in part and value not in part["enum"]:
            message = f"{name} must be one of {', '.join(part['enum'])}"
            raise BadArguments(message)
        if "minimum" in part and value < part["minimum"]:
            message = f"{name} must be at least {part['minimum']}"
            raise BadArguments(message)
        if "maximum" in part and value > part["maximum"]:
            message = f"{name} must be at most {part['maximum']}"
            raise BadArguments(message)
        checked[name] = value
    return checked
