"""Arguments of a tool as a person types them, ``NAME=VALUE``: converts them by the tool's schema, and checks them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from itertools import islice, product
from typing import Final

from mcp_tui.client.schemas import Schema, is_of, parse_json, type_words
from mcp_tui.protocol.messages import Json

COMBINATIONS: Final = 64
"""The maximum number of combinations of readings that are checked against the whole schema."""


class ArgumentError(ValueError):
    """The arguments do not fit. The text is one sentence that names each wrong one."""


def typed_arguments(
    schema: Json, pairs: Iterable[tuple[str, str]], given: dict[str, Json] | None = None
) -> dict[str, Json]:
    """Returns a tool's arguments: those ``given``, overridden by ``NAME=VALUE`` converted by its ``inputSchema``.

    Every part of the schema that describes a name counts, in any branch. If the parts agree on the type, the value
    has that type: a string stays as typed (``012`` too); numbers, booleans, arrays, and objects are parsed as JSON.
    If they differ, the reading that makes the whole valid counts. Without a type, the value is JSON if it parses,
    else text. A name that is given several times becomes an array.

    Raises:
        ArgumentError: a text is not a value of the type in the schema, or a name is given twice and is not an array.
    """
    whole = Schema(schema)
    texts: dict[str, list[str]] = {}
    for name, text in pairs:
        texts.setdefault(name, []).append(text)
    readings: dict[str, list[Json]] = {}
    wrong: dict[str, str] = {}
    for name, each in texts.items():
        try:
            readings[name] = _readings(whole, name, each)
        except ArgumentError as error:
            wrong[name] = str(error)
    made = {**(given or {}), **{name: each[0] for name, each in readings.items()}}
    if wrong:
        raise ArgumentError("; ".join([*wrong.values(), *_problems(schema, made, but=wrong)]))
    if all(len(each) == 1 for each in readings.values()):
        return made
    for values in islice(product(*readings.values()), COMBINATIONS):
        tried = {**made, **dict(zip(readings, values, strict=True))}
        if not check_arguments(schema, tried):
            return tried
    return made


def _readings(whole: Schema, name: str, texts: list[str]) -> list[Json]:
    """Returns the possible values of the texts of one name, the likeliest first."""
    parts = whole.members(whole.raw, name)
    kinds = [whole.types_of(part) for part in parts]
    known = [each for each in kinds if each]
    if len(texts) > 1:
        arrays = [part for part, each in zip(parts, kinds, strict=True) if "array" in each or not each]
        if parts and not arrays:
            raise ArgumentError(f"{name} is given {len(texts)} times, but is not an array")
        items = [whole.resolved(part).get("items") for part in arrays]
        return [[_typed(name, text, [whole.types_of(each) for each in items if each])[0] for text in texts]]
    return _typed(name, texts[0], known if len(known) == len(kinds) else [*known, frozenset()])


def _typed(name: str, text: str, kinds: list[frozenset[str]]) -> list[Json]:
    """Returns the possible values of one text for the types that parts of the schema permit; an empty set permits all.

    Raises:
        ArgumentError: the text is a value of none of these types.
    """
    try:
        value = parse_json(text)
    except ValueError:
        value = text
    types = frozenset[str]().union(*kinds)
    as_json = not types or any(is_of(value, kind) for kind in types - {"string"})
    as_text = "string" in types
    if not all(kinds) and not as_json:
        return [text] if as_text else [value, text]
    if not as_json and not as_text:
        shown = text if len(text) <= 80 else f"{text[:79]}…"
        raise ArgumentError(f"{name} must be {type_words(types)}, not {shown!r}{_way(name, text, types)}")
    found = [value] if as_json else []
    return [*found, text] if as_text and value != text else found or [text]


def _way(name: str, text: str, types: frozenset[str]) -> str:
    """Returns how to write an array or object, for a short text that is neither."""
    if len(text) > 40 or "'" in text or not types <= {"array", "object", "null"}:
        return ""
    written: Json = [each.strip() for each in text.split(",")] if "array" in types else {"key": text}
    return f": write {name}='{json.dumps(written, ensure_ascii=False)}'"


def check_arguments(schema: Json, arguments: dict[str, Json]) -> str:
    """Returns the problems of a tool's arguments in one sentence, or an empty string.

    A schema that cannot be used (too large, too deep, broken, with outside references) checks nothing: the server
    decides.
    """
    return "; ".join(_problems(schema, arguments))


def _problems(schema: Json, arguments: dict[str, Json], but: Collection[str] = ()) -> Iterator[str]:
    """Yields the problems of arguments, except those named ``but``."""
    for found in Schema(schema).problems(arguments):
        if not found.advisory and not (found.path and found.path[0] in but):
            # The name of an argument and its problem form one sentence.
            yield str(found).replace(": is ", " is ", 1)
