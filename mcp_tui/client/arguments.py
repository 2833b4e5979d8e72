"""Arguments of a tool, by its input schema: typed from text, prefilled, checked.

Schemas come from a server and are hostile: their size and depth are bounded, and nothing is ever fetched for a ``$ref``
(basic, 2026-07-28: remote references are not to be dereferenced).
"""

from __future__ import annotations

import json
import math
from typing import Any, Final, NoReturn, cast

from mcp_tui.protocol.messages import Json, as_object, encode

MAX_SCHEMA: Final = 1024 * 1024
MAX_DEPTH: Final = 64

SENTENCE: Final = 300
"""Characters of a sentence that says what is wrong with an argument: values of any length stand in it."""


_NAMES: Final = {
    "array": "an array",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "object": "an object",
    "string": "a text",
}


class ArgumentError(ValueError):
    """The arguments do not fit. The text is one sentence that names the argument."""


def parse(text: str) -> Json:
    """JSON that a person typed, strictly: no ``NaN``, nothing that is not finite.

    Raises:
        ValueError: it is no JSON; the text says where.
    """
    try:
        return json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except RecursionError:
        message = "too deep"
        raise ValueError(message) from None


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _no_number(text)


def _no_number(text: str) -> NoReturn:
    message = f"{text} is no number that JSON has"
    raise ValueError(message)


def typed(schema: Json, name: str, text: str) -> Json:
    """The value that ``NAME=VALUE`` means under a tool's ``inputSchema``.

    A string stays as it is typed (``012`` too); numbers, booleans, arrays and objects are read as JSON; without a type, JSON
    where it parses and text otherwise.

    Raises:
        ArgumentError: the text is no value of the type that the schema asks for.
    """
    property_ = as_object(as_object(as_object(schema).get("properties")).get(name))
    types = _types(property_)
    if "string" in types and not _json_of(text, types - {"string"}):
        return text
    try:
        value = parse(text)
    except ValueError:
        value = text
    if not types:
        return value
    if not any(_is(value, kind) for kind in types):
        wanted = " or ".join(_NAMES.get(kind, kind) for kind in sorted(types))
        shown = text if len(text) <= 80 else f"{text[:79]}…"
        message = f"{name} must be {wanted}, not {shown!r}"
        raise ArgumentError(message)
    return value


def _json_of(text: str, types: set[str]) -> bool:
    """Whether the text means something else than a string, where the schema permits that as well (``null``, say)."""
    try:
        value = parse(text)
    except ValueError:
        return False
    return any(_is(value, kind) for kind in types)


def _types(schema: dict[str, Json]) -> set[str]:
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind}
    if isinstance(kind, list):
        return {item for item in cast("list[Any]", kind) if isinstance(item, str)}
    alternatives = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(alternatives, list):
        return {name for each in cast("list[Json]", alternatives) for name in _types(as_object(each))}
    values = schema.get("enum")
    if (
        isinstance(values, list)
        and values
        and all(isinstance(each, str) for each in cast("list[Any]", values))
    ):
        return {"string"}
    return set()


def _is(value: Json, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return not isinstance(value, bool) and (
                isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            )
        case "number":
            return isinstance(value, (int, float)) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return False


def prefilled(schema: Json) -> dict[str, Json]:
    """Arguments to begin with: every default, and for required ones without a default an empty value of their type."""
    whole = as_object(schema)
    required = whole.get("required")
    needed = cast("list[Any]", required) if isinstance(required, list) else []
    filled: dict[str, Json] = {}
    for name, property_ in as_object(whole.get("properties")).items():
        described = as_object(property_)
        if "default" in described:
            filled[name] = described["default"]
        elif name in needed:
            filled[name] = _blank(described)
    return filled


def _blank(schema: dict[str, Json]) -> Json:
    if "const" in schema:
        return schema["const"]
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return cast("list[Json]", values)[0]
    types = _types(schema)
    blanks: tuple[tuple[str, Json], ...] = (
        ("string", ""),
        ("integer", 0),
        ("number", 0),
        ("boolean", False),
        ("array", []),
        ("object", {}),
    )
    return next((blank for kind, blank in blanks if kind in types), None)


def check(schema: Json, arguments: dict[str, Json]) -> str:
    """What is wrong with a tool's arguments, in one sentence, or an empty string.

    A schema that cannot be used (too large, too deep, broken, referring elsewhere) checks nothing:
    the server has the last word.
    """
    if not isinstance(schema, dict) or not schema or not _bounded(cast("dict[str, Json]", schema)):
        return ""
    import jsonschema_rs

    try:
        validator = jsonschema_rs.validator_for(cast("dict[str, Any]", schema), retriever=_refuse)
        error = next(iter(validator.iter_errors(arguments)), None)
    except Exception:  # noqa: BLE001 - whatever a hostile schema does to the validator, the call may go on
        return ""
    if error is None:
        return ""
    path = ".".join(str(part) for part in error.instance_path)
    text = error.message if len(error.message) <= SENTENCE else f"{error.message[: SENTENCE - 1]}…"
    return f"{path}: {text}" if path else text


def _refuse(uri: str) -> Json:
    message = f"remote reference {uri}"
    raise ValueError(message)


def _bounded(schema: dict[str, Json]) -> bool:
    try:
        if len(encode(schema)) > MAX_SCHEMA:
            return False
    except (RecursionError, ValueError):
        return False
    level: list[Json] = [schema]
    for _ in range(MAX_DEPTH):
        below: list[Json] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(cast("dict[str, Json]", value).values())
            elif isinstance(value, list):
                below.extend(cast("list[Json]", value))
        if not below:
            return True
        level = below
    return False
