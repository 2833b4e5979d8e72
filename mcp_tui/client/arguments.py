"""Arguments of a tool, by its input schema: typed from text and checked. Schemas come from a server and are hostile."""

from __future__ import annotations

import json
import math
from typing import Final, NoReturn

from mcp_tui.client.schemas import Schema, is_of, types_of
from mcp_tui.protocol.messages import Json, as_object

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
    whole = Schema(schema)
    types = types_of(whole, as_object(whole.whole.get("properties")).get(name))
    if "string" in types and not _json_of(text, types - {"string"}):
        return text
    try:
        value = parse(text)
    except ValueError:
        value = text
    if not types:
        return value
    if not any(is_of(value, kind) for kind in types):
        wanted = " or ".join(_NAMES.get(kind, kind) for kind in sorted(types))
        shown = text if len(text) <= 80 else f"{text[:79]}…"
        message = f"{name} must be {wanted}, not {shown!r}"
        raise ArgumentError(message)
    return value


def _json_of(text: str, types: frozenset[str]) -> bool:
    """Whether the text means something else than a string, where the schema permits that as well (``null``, say)."""
    try:
        value = parse(text)
    except ValueError:
        return False
    return any(is_of(value, kind) for kind in types)


def check(schema: Json, arguments: dict[str, Json]) -> str:
    """What is wrong with a tool's arguments, in one sentence, or an empty string.

    A schema that cannot be used (too large, too deep, broken, referring elsewhere) checks nothing:
    the server has the last word.
    """
    found = next(iter(Schema(schema).problems(arguments)), None)
    if found is None or found.advisory:
        return ""
    # the name of an argument and what is wrong with it are one sentence
    return str(found).replace(": is ", " is ", 1)
