"""The normal form of a server's catalogue, which is the same for all listings with the same meaning.

Entries are keyed by name, and unordered lists are sorted. Members that only repeat a default are left out. References
in a schema are replaced by their targets; a reference to a surrounding schema becomes its place in the normal form.
The definitions are hostile: nothing is fetched, and a schema that would grow without end stays unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, cast

from mcp_tui.client.schemas import REFERENCE_HOPS, SCHEMA_DEPTH, SCHEMAS_BY_NAME, Schema
from mcp_tui.protocol.messages import Json, as_list, as_object, as_text, objects_in, texts_in, writable

KEYS: Final = {"tools": "name", "resources": "uri", "templates": "uriTemplate", "prompts": "name"}
"""The lists of a catalogue, and the member that identifies an entry."""

PARTS: Final = 10_000
"""The maximum number of schemas in the normal form of one schema."""

DESCRIBING_MEMBERS: Final = frozenset({"title", "description"})
"""The members that are left out without descriptions."""

ANNOTATIONS: Final = frozenset(
    (
        *DESCRIBING_MEMBERS,
        "default",
        "examples",
        "example",
        "deprecated",
        "readOnly",
        "writeOnly",
    )
)
"""The keywords that neither permit nor forbid any value."""

_DEFINITIONS: Final = frozenset({"$defs", "definitions"})
_LEFT_OUT: Final = _DEFINITIONS | {"$schema", "$id", "$comment", "$anchor", "$dynamicAnchor"}
SCHEMA_LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SCHEMA_MEMBERS: Final = frozenset(
    (
        "items",
        "additionalProperties",
        "additionalItems",
        "propertyNames",
        "contains",
        "not",
        "if",
        "then",
        "else",
        "unevaluatedItems",
        "unevaluatedProperties",
        "contentSchema",
    )
)


class _TooLarge(Exception):
    """The normal form of a schema is endless or too large."""


def normal_catalogue(
    lists: Mapping[str, list[dict[str, Json]]], *, descriptions: bool = True
) -> dict[str, dict[str, dict[str, Json]]]:
    """Returns the normal form of lists: the entries of each list by name. ``descriptions=False`` also leaves titles out."""
    made: dict[str, dict[str, dict[str, Json]]] = {}
    for kind, member in KEYS.items():
        entries = made.setdefault(kind, {})
        for raw in lists.get(kind, []):
            name = known = as_text(raw.get(member))
            times = 1
            while name in entries:  # a server may list one name twice
                times += 1
                name = f"{known} ({times})"
            entries[name] = _entry(raw, descriptions=descriptions)
    return made


def _entry(raw: dict[str, Json], *, descriptions: bool) -> dict[str, Json]:
    made: dict[str, Json] = {}
    for name, value in raw.items():
        if value is None or name in ("_meta", "size") or (name in DESCRIBING_MEMBERS and not descriptions):
            continue
        match name:
            case "inputSchema" | "outputSchema":
                made[name] = normal_schema(value, descriptions=descriptions)
            case "execution" if as_object(value).get("taskSupport") == "forbidden":
                pass
            case "annotations":  # the time of the last change is not part of the catalogue
                made[name] = {key: each for key, each in as_object(value).items() if key != "lastModified"}
            case "arguments":
                arguments = sorted(objects_in(value), key=lambda each: as_text(each.get("name")))
                made[name] = [_argument(each, descriptions=descriptions) for each in arguments]
            case _:
                made[name] = value
    return made


def _argument(raw: dict[str, Json], *, descriptions: bool) -> Json:
    return {
        name: value
        for name, value in raw.items()
        if value is not None
        and (name, value) != ("required", False)
        and (descriptions or name not in DESCRIBING_MEMBERS)
    }


def text_of(value: Json) -> str:
    """Returns JSON with sorted members, in ASCII, so that invisible characters can be seen."""
    return json.dumps(writable(value), indent=2, sort_keys=True)


def canonical(value: Json) -> str:
    """Returns :func:`text_of` on one line."""
    return json.dumps(writable(value), sort_keys=True)


def normal_schema(raw: Json, *, descriptions: bool = True) -> Json:
    """Returns the normal form of a JSON Schema, or the schema itself if that would be too large."""
    try:
        return _Normalizer(raw, descriptions=descriptions).whole()
    except (_TooLarge, RecursionError):
        return raw


class _Normalizer:
    """Makes the normal form of one schema. ``_open`` has the surrounding raw schemas with their places in the normal
    form.
    """

    def __init__(self, raw: Json, *, descriptions: bool) -> None:
        self._schema = Schema(raw)
        self._descriptions = descriptions
        self._left = PARTS
        self._open: dict[int, str] = {}
        self._foreign = False

    def whole(self) -> Json:
        """Returns the normal form. Definitions stay if a reference could not be replaced, because it may refer to them."""
        raw = self._schema.raw
        made = self._node(raw, "")
        kept: dict[str, Json] = {
            keyword: self._keyword(keyword, value, f"/{keyword}")
            for keyword, value in as_object(raw).items()
            if self._foreign and keyword in _DEFINITIONS
        }
        return as_object(made) | kept if kept else made

    def _node(self, node: Json, place: str) -> Json:
        self._left -= 1
        if self._left < 0 or place.count("/") > 2 * SCHEMA_DEPTH:
            raise _TooLarge
        if not isinstance(node, dict):
            return node
        opened: list[int] = []
        try:
            members = self._resolved(cast("dict[str, Json]", node), place, opened)
            return {
                name: made
                for name, value in members.items()
                if name not in _LEFT_OUT and (self._descriptions or name not in DESCRIBING_MEMBERS)
                if (made := self._keyword(name, value, f"{place}/{_escaped(name)}")) is not None
            }
        finally:
            for each in opened:
                del self._open[each]

    def _resolved(self, node: dict[str, Json], place: str, opened: list[int]) -> dict[str, Json]:
        """Returns the members of a schema with its reference replaced. Members next to a reference override its target."""
        beside: dict[str, Json] = {}
        for _ in range(REFERENCE_HOPS):
            if id(node) in self._open:
                back: dict[str, Json] = {"$ref": f"#{self._open[id(node)]}"}
                return back | beside
            self._open[id(node)] = place
            opened.append(id(node))
            reference, parts = node.get("$ref"), as_list(node.get("allOf"))
            keyword, inner = "allOf", parts[0] if len(parts) == 1 else None
            if "$ref" in node:
                keyword, inner = "$ref", self._schema.target(reference)
            rest = {name: value for name, value in node.items() if name != keyword}
            if not isinstance(inner, dict):
                self._foreign |= "$ref" in node or "$dynamicRef" in node
                return node | beside
            if rest.keys() - ANNOTATIONS - _LEFT_OUT:
                both: list[Json] = [*parts, {"$ref": reference}] if keyword == "$ref" else parts
                return {**rest, "allOf": both, **beside}
            beside = {**{name: value for name, value in rest.items() if name not in _LEFT_OUT}, **beside}
            node = as_object(inner)
        raise _TooLarge

    def _keyword(self, name: str, value: Json, place: str) -> Json:
        """Returns the normal form of a keyword's value; ``None`` if the keyword has no effect."""
        if name in SCHEMAS_BY_NAME and isinstance(value, dict):
            members = as_object(value).items()
            return {key: self._node(each, f"{place}/{_escaped(key)}") for key, each in members}
        if (name in SCHEMA_LISTS or name in SCHEMA_MEMBERS) and isinstance(value, list):
            return [self._node(each, f"{place}/{at}") for at, each in enumerate(as_list(value))]
        if name in ("items", "additionalProperties") and value in (True, {}):
            return None
        if name in SCHEMA_MEMBERS:
            return self._node(value, place)
        match name:
            case "required":
                return cast("Json", sorted(set(texts_in(value)))) or None
            case "type" if isinstance(value, list):
                kinds = sorted(set(texts_in(value)))
                return kinds[0] if len(kinds) == 1 else cast("Json", kinds)
            case "enum":
                return sorted(as_list(value), key=canonical)
            case _:
                return value


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
