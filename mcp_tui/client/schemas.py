"""JSON Schemas of servers, which are hostile: resolves references within a schema, limits its size, and checks values.

Nothing is ever fetched for a ``$ref`` (basic, 2026-07-28: remote references are not to be dereferenced). A schema
that would take a validator long never reaches the validator. The limits are its size, its depth, its patterns, and
the number of times that its parts would be applied to the value.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, islice, product
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import unquote

from mcp_tui.protocol.messages import Json, as_list, as_object, encode, in_range, json_type, texts_in
from mcp_tui.protocol.values import frozen

if TYPE_CHECKING:
    import jsonschema_rs


PROBLEMS: Final = 50
"""The maximum number of problems of one value."""

SENTENCE_CHARACTERS: Final = 300
"""The maximum number of characters of the sentence of a problem, which may quote a long value."""

Path = tuple[str | int, ...]
"""The path of a place in a value: names of members and numbers of items."""


REQUIRED: Final = "required"
"""The text of the problem of a missing value."""


@frozen
class Problem:
    """One problem of a value. ``text`` is one sentence without the place; it quotes hostile values.

    ``advisory`` is a broken ``format``, which a schema does not require (JSON Schema 2020-12, 7.2).
    """

    path: Path
    text: str
    advisory: bool = False

    def __str__(self) -> str:
        place = path_text(self.path)
        if self.text == REQUIRED and place:
            return f"{place} is required"
        return f"{place}: {self.text}" if place else self.text


def path_text(path: Path) -> str:
    """Returns a path in a value as code: ``items[0].price``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


def first_problems(validator: jsonschema_rs.Validator, value: Json) -> list[Problem]:
    """Returns the first :data:`PROBLEMS` problems that a validator finds in a value, each once."""
    found = (each for error in validator.iter_errors(value) for each in _problems(error))
    # Many may be equal, so more are read than are returned; but a hostile schema may have endless ones.
    return list(dict.fromkeys(islice(found, 10 * PROBLEMS)))[:PROBLEMS]


def _problems(error: jsonschema_rs.ValidationError, depth: int = 0) -> Iterable[Problem]:
    path: Path = tuple(error.instance_path)
    kind = error.kind
    match kind.name:
        case "required":
            yield Problem((*path, str(getattr(kind, "property", ""))), REQUIRED)
        case "additionalProperties" | "unevaluatedProperties":
            for name in cast("list[str]", getattr(kind, "unexpected", [])):
                yield Problem((*path, name), "is not in the schema")
        case "anyOf" | "oneOf" if depth < 4:
            branches = cast("list[list[jsonschema_rs.ValidationError]]", getattr(kind, "context", []))
            meant = [each for each in branches if not _other_type(each, len(path))]
            if len(meant) == 1:
                for each in meant[0]:
                    yield from _problems(each, depth + 1)
            else:
                yield Problem(path, _sentence(error.message))
        case _:
            yield Problem(path, _sentence(error.message))


def _other_type(errors: list[jsonschema_rs.ValidationError], depth: int) -> bool:
    """Whether an alternative failed because of another type or constant."""
    kinds = ("type", "const", "enum")
    return any(each.kind.name in kinds and len(each.instance_path) <= depth for each in errors)


def _sentence(text: str) -> str:
    return text if len(text) <= SENTENCE_CHARACTERS else f"{text[: SENTENCE_CHARACTERS - 1]}…"


SCHEMA_BYTES: Final = 1024 * 1024
"""The maximum number of bytes of a schema."""

SCHEMA_DEPTH: Final = 64
MAX_SUBSCHEMAS: Final = 5_000
PATTERN_CHARACTERS: Final = 1_000
"""The maximum number of characters of a regular expression."""

MAX_PATTERNS: Final = 100
MAX_NAMES: Final = 1_000
"""The maximum number of members that one part may require: each missing one is a problem."""

REGEX_BYTES: Final = 256 * 1024
"""The maximum number of bytes of a compiled regular expression: large repetition counts take more."""

WORK: Final = 20_000
"""The maximum number of times that parts of a schema may be applied to parts of one value."""

REFERENCE_HOPS: Final = 16
"""The maximum number of references that are followed in a row."""

RESOLVED: Final = 50_000
"""The maximum number of parts that one schema resolves."""

DATA_KEYWORDS: Final = frozenset({"const", "default", "enum", "examples"})
"""The keywords with values instead of schemas."""

SCHEMAS_BY_NAME: Final = frozenset(
    {"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)
"""The keywords with schemas by name."""


_APPLIES: Final = {
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "not", "if", "then", "else"), "itself"),
    **dict.fromkeys(("dependentSchemas", "dependencies"), "itself"),
    **dict.fromkeys(("patternProperties", "additionalProperties", "unevaluatedProperties"), "members"),
    "propertyNames": "names",
    **dict.fromkeys(("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems"), "items"),
}
"""The parts of a value to which the schemas of a keyword apply; a list of items counts for each item."""

_NO_PROBLEM: Final = frozenset(
    {"$schema", "additionalProperties", "description", "properties", "required", "title", "type"}
)

_MAPS: Final = frozenset({"patternProperties", "dependentSchemas", "dependencies"})
"""The keywords with schemas by name."""


class Schema:
    """A schema as the server sent it, even if it is not valid. It resolves at most ``most`` parts."""

    def __init__(self, raw: Json, *, most: int = RESOLVED) -> None:
        self.raw = raw
        self._left = most

    @cached_property
    def whole(self) -> dict[str, Json]:
        """The whole schema, resolved; empty if it is not an object."""
        return self.resolved(self.raw)

    # -- references ------------------------------------------------------------------------------------------

    def target(self, reference: Json) -> Json:
        """Returns the target of a reference within this schema (``#/$defs/x``, ``#``, an anchor), or ``None``."""
        if not isinstance(reference, str) or not reference.startswith("#"):
            return None
        place: Json = self.raw
        pointer = unquote(reference[1:])
        if pointer and not pointer.startswith("/"):
            return self._anchors.get(pointer)
        for part in pointer.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(place, dict):
                place = cast("dict[str, Json]", place).get(name)
            # No list is longer, and int() fails for thousands of digits.
            elif isinstance(place, list) and name.isascii() and name.isdigit() and len(name) < 6:
                items = cast("list[Json]", place)
                place = items[int(name)] if int(name) < len(items) else None
            else:
                return None
        return place

    @cached_property
    def _anchors(self) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for node in _nodes(self.raw, MAX_SUBSCHEMAS):
            for keyword in ("$anchor", "$dynamicAnchor"):
                name = node.get(keyword)
                if isinstance(name, str):
                    found.setdefault(name, node)
        return found

    def resolved(self, node: Json) -> dict[str, Json]:
        """Returns ``node`` with its references replaced by their targets.

        Keywords next to a reference are added to its target; an ``allOf`` with one schema is replaced by that schema.
        A reference outside, to nothing, or to itself stays. After ``most`` calls the answer is empty, because
        alternatives that refer to each other never end.
        """
        self._left -= 1
        made = as_object(node) if self._left >= 0 else {}
        for _ in range(REFERENCE_HOPS):
            keyword = "$ref" if isinstance(made.get("$ref"), str) else "allOf"
            only = as_list(made.get("allOf"))
            if keyword == "allOf" and len(only) != 1:
                break
            inner = self.target(made["$ref"]) if keyword == "$ref" else only[0]
            if keyword == "$ref" and not isinstance(inner, dict):
                break
            beside = {name: value for name, value in made.items() if name != keyword}
            below = as_object(inner)
            made = {**below, **beside}
            if "properties" in below and "properties" in beside:
                made["properties"] = {**as_object(below["properties"]), **as_object(beside["properties"])}
            if "required" in below and "required" in beside:
                made["required"] = [*as_list(below["required"]), *as_list(beside["required"])]
        return made

    def types_of(self, node: Json, depth: int = 8) -> frozenset[str]:
        """Returns the types that a part of this schema permits (``string``, ``null`` …); empty if it names none."""
        described = self.resolved(node)
        kind = described.get("type")
        values = as_list(described.get("enum")) or ([described["const"]] if "const" in described else [])
        parts = [
            frozenset(texts_in(kind if isinstance(kind, list) else [kind])),
            frozenset(json_type(value) for value in values),
        ]
        if depth:
            parts += (self.types_of(each, depth - 1) for each in as_list(described.get("allOf")))
            for keyword in ("anyOf", "oneOf"):
                each_of = [self.types_of(each, depth - 1) for each in as_list(described.get(keyword))]
                parts.append(frozenset[str]().union(*each_of) if all(each_of) else frozenset())
        parts = [each | {"integer"} if "number" in each else each for each in parts if each]
        common = frozenset[str].intersection(*parts) if parts else frozenset[str]()
        return common - {"integer"} if "number" in common else common

    def members(self, node: Json, name: str, depth: int = 8) -> list[Json]:
        """Returns every part of ``node`` that describes the member ``name``, in any branch."""
        described = self.resolved(node)
        found: list[Json] = []
        properties = as_object(described.get("properties"))
        if name in properties:
            found.append(properties[name])
        for pattern, part in as_object(described.get("patternProperties")).items():
            if _matches(pattern, name):
                found.append(part)
        others = described.get("additionalProperties")
        if not found and isinstance(others, dict):
            found.append(others)
        if depth:
            for branch in self.branches(described):
                found += self.members(branch, name, depth - 1)
        return found

    def branches(self, described: dict[str, Json]) -> list[Json]:
        """Returns the parts of a resolved schema that describe the same value, each under its conditions."""
        lists = (as_list(described.get(each)) for each in ("allOf", "anyOf", "oneOf"))
        return [*chain.from_iterable(lists), *self.conditional(described)]

    def conditional(self, described: dict[str, Json]) -> list[Json]:
        """Returns the parts of a resolved schema that apply only if another part of the value meets a condition."""
        chosen = (described[each] for each in ("then", "else") if each in described)
        return [*chosen, *as_object(described.get("dependentSchemas")).values()]

    # -- bounds ----------------------------------------------------------------------------------------------

    @cached_property
    def bounded(self) -> bool:
        """Whether the schema is an object that is small and flat enough for a validator."""
        raw = as_object(self.raw)
        if not isinstance(self.raw, dict) or _deep(raw) or not in_range(raw):
            return False
        return len(encode(raw)) <= SCHEMA_BYTES

    @cached_property
    def usable(self) -> bool:
        """Whether values can be checked against this schema: it is valid, and within all limits."""
        if not self.bounded:
            return False
        nodes = patterns = 0
        for node in _nodes(self.raw, MAX_SUBSCHEMAS + 1):
            needed = [node.get("required"), *as_object(node.get("dependentRequired")).values()]
            found = texts_in([node.get("pattern"), *as_object(node.get("patternProperties"))])
            nodes += 1
            patterns += len(found)
            if any(len(as_list(names)) > MAX_NAMES for names in needed):
                return False
            if any(len(pattern) > PATTERN_CHARACTERS for pattern in found):
                return False
        # Outside of the try block: a broken installation is not a fault of the schema.
        import jsonschema_rs  # noqa: F401 # pyright: ignore[reportUnusedImport]

        try:
            return nodes <= MAX_SUBSCHEMAS and patterns <= MAX_PATTERNS and bool(self._validators)
        except Exception:  # noqa: BLE001 - whatever a hostile schema does to the validator, the call may go on
            return False

    @cached_property
    def _validators(self) -> dict[bool, jsonschema_rs.Validator]:
        """The validator that ignores formats and, if there are any, the one that checks them."""
        # Imported after the first answer: the validator takes time to load.
        import jsonschema_rs

        formats = any(isinstance(node.get("format"), str) for node in _nodes(self.raw, MAX_SUBSCHEMAS))
        raw = cast("dict[str, Any]", self.raw)
        made = partial(jsonschema_rs.validator_for, retriever=_refuse, pattern_options=_bounded())
        return {each: made(raw, validate_formats=each) for each in ([False, True] if formats else [False])}

    def within(self, value: Json) -> bool:
        """Whether checking ``value`` applies parts of the schema at most :data:`WORK` times."""
        work = WORK
        waiting = [(as_object(self.raw), value)]
        while waiting:
            schema, instance = waiting.pop()
            work -= 1
            if work < 0:
                return False
            applied = self._applied(schema, instance)
            waiting.extend((as_object(part), each) for part, each in applied if isinstance(part, dict))
            work -= len(waiting) // 1000
        return True

    def _applied(self, schema: dict[str, Json], instance: Json) -> Iterable[tuple[Json, Json]]:
        """Yields each part that a schema applies, with the part of the value that it is applied to."""
        members = as_object(instance)
        instances: dict[str, Iterable[Json]] = {
            "itself": [instance],
            "members": members.values(),
            "names": members,
            "items": as_list(instance),
        }
        for keyword, value in schema.items():
            if keyword == "properties":
                parts = as_object(value)
                yield from ((parts[name], each) for name, each in members.items() if name in parts)
            elif keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                yield self.target(value), instance
            elif keyword in _APPLIES:
                parts = [*as_object(value).values()] if keyword in _MAPS else as_list(value) or [value]
                yield from product(parts, instances[_APPLIES[keyword]])

    # -- checking --------------------------------------------------------------------------------------------

    def problems(self, value: Json) -> list[Problem]:
        """Returns the first problems of ``value``; advisory ones only if there are no others.

        A schema that is not :attr:`usable`, or that would take too much work, checks nothing: the server decides. A
        value with a number out of range is not checked either, because the validator would take the number for null.
        """
        if not value and isinstance(value, dict) and _asks_nothing(as_object(self.raw)):
            return []  # the validator takes a twentieth of the time of a whole call to load
        if not self.usable or not self.within(value):
            return []
        found: list[Problem] = []
        try:
            for formats, validator in self._validators.items():
                problems = [] if found else first_problems(validator, value)
                found += [replace(each, advisory=formats) for each in problems]
        except Exception:  # noqa: BLE001 - as above; a pattern may give up, say
            return []
        return found if not found or in_range(value) else []


def _asks_nothing(schema: dict[str, Json]) -> bool:
    """Whether a schema has only keywords to which an empty object has no problem."""
    return schema.get("type") == "object" and schema.keys() <= _NO_PROBLEM and not schema.get("required")


def is_of(value: Json, kind: str) -> bool:
    """Whether a value has a type of JSON Schema; a number without a fraction is an integer."""
    if kind == "number":
        return json_type(value) in ("integer", "number")
    return json_type(value) == kind or (kind == "integer" and isinstance(value, float) and value.is_integer())


def _bounded() -> jsonschema_rs.FancyRegexOptions:
    """Returns the limits of regular expressions: a hostile one could search for years."""
    # Imported after the first answer: the validator takes time to load.
    import jsonschema_rs

    return jsonschema_rs.FancyRegexOptions(backtrack_limit=100_000, size_limit=REGEX_BYTES)


def _matches(pattern: str, name: str) -> bool:
    """Whether a name matches a pattern of the schema; false for a pattern that is broken or takes too long."""
    # Imported after the first answer: the validator takes time to load.
    import jsonschema_rs

    try:
        return len(pattern) <= PATTERN_CHARACTERS and jsonschema_rs.validator_for(
            {"pattern": pattern}, pattern_options=_bounded()
        ).is_valid(name)
    except Exception:  # noqa: BLE001 - whatever a hostile pattern does to the validator
        return False


def _refuse(uri: str) -> Json:
    raise ValueError(f"remote reference {uri}")


def _deep(value: Json) -> bool:
    level: list[Json] = [value]
    for _ in range(SCHEMA_DEPTH):
        level = [below for each in level for below in (*as_object(each).values(), *as_list(each))]
    return bool(level)


def _nodes(value: Json, most: int) -> Iterable[dict[str, Json]]:
    """Yields at most ``most`` objects of a schema, without those in plain values such as defaults."""
    waiting: list[Json] = [value]
    while waiting and most > 0:
        each = waiting.pop()
        if isinstance(each, dict):
            members = cast("dict[str, Json]", each)
            most -= 1
            yield members
            waiting.extend(member for name, member in members.items() if name not in DATA_KEYWORDS)
        else:
            waiting.extend(as_list(each))


TYPE_PHRASES: Final = {
    "array": "an array",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a text",
}
"""The names of types for a person."""


def parse_json(text: str, *, once: bool = False) -> Json:
    """Parses JSON that a person typed, strictly: only finite numbers and, with ``once``, no duplicate names in an object.

    Raises:
        ValueError: it is not JSON; :func:`mistake` says where.
    """
    pairs = _once if once else None
    try:
        return json.loads(
            text, parse_constant=_finite, parse_float=_finite, parse_int=_whole, object_pairs_hook=pairs
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def mistake(error: ValueError) -> str:
    """Returns the error in a text that :func:`parse_json` rejected, and its place."""
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno}, column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
    return str(error)


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("number with too many digits") from None


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is not a JSON number")
    return value


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    for name, count in Counter(name for name, _ in pairs).items():
        if count > 1:
            raise ValueError(f"{json.dumps(name)} appears twice")
    return dict(pairs)


def type_words(types: Iterable[str]) -> str:
    """Returns types in words: ``a number or null``."""
    return " or ".join(TYPE_PHRASES.get(kind, kind) for kind in sorted(types))
