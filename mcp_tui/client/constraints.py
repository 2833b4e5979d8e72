"""Numbers the constraints of schemas, regardless of their texts, to find schemas that were only reworded or reordered.

Two schemas have the same constraints if they differ only in annotations, unknown keywords, and the order of
alternatives. Each set of constraints has a number, so that one pass over each part compares schemas of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias, cast

from mcp_tui.client.normal_form import SCHEMA_LISTS, SCHEMA_MEMBERS, canonical
from mcp_tui.client.schemas import SCHEMA_DEPTH, SCHEMAS_BY_NAME, Path
from mcp_tui.protocol.messages import Json, as_list, as_object, texts_in

TYPE_SET: Final = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
LOWER: Final = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
UPPER: Final = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
INNER: Final = ("items", "additionalProperties", "propertyNames")
"""The keywords with a schema; if missing, everything is accepted."""

DEFINITIONS: Final = ("$defs", "definitions")
ALTERNATIVES: Final = ("anyOf", "oneOf")

COMPARED: Final = frozenset(
    {"type", "enum", "const", "properties", "required", "patternProperties", "prefixItems", "allOf"}
    | {*LOWER, *UPPER, *INNER, *DEFINITIONS, *ALTERNATIVES}
)
"""The keywords whose changes are narrower or wider."""

OPAQUE: Final = frozenset(
    (
        "pattern",
        "format",
        "multipleOf",
        "uniqueItems",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "$ref",
        "$dynamicRef",
        "dependentSchemas",
        "dependentRequired",
        "dependencies",
        "additionalItems",
        "contentSchema",
        "unevaluatedItems",
        "unevaluatedProperties",
        "contentEncoding",
        "contentMediaType",
    )
)
"""The keywords that reject values and can only be equal or different."""

_UNORDERED_LISTS: Final = frozenset({"allOf", *ALTERNATIVES})
_UNORDERED_VALUES: Final = frozenset({"enum", "required", "type"})

Placed: TypeAlias = tuple[int, Json]
"""The position and the schema of an element of a list."""

Texts: TypeAlias = Iterator[tuple[Path, Json, Json]]
"""Places where two schemas with the same constraints differ, and both values there."""


class Constraints:
    """Numbers the constraints of schemas, for one comparison."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}
        self._known: dict[int, tuple[Json, int]] = {}
        """The numbers by the identity of a schema. The schema is referenced, so that no other gets its identity."""

    def of(self, node: Json, depth: int = 0) -> int:
        """Returns the number of the constraints of a schema; deep in a schema all keywords count."""
        if not isinstance(node, dict) or depth > SCHEMA_DEPTH:
            return self._number(canonical(node))
        members = cast("dict[str, Json]", node)
        known = self._known.get(id(members))
        if known is None:
            names = sorted(name for name in members if name in COMPARED or name in OPAQUE)
            parts = ((name, self.of_keyword(name, members[name], depth + 1)) for name in names)
            known = self._known[id(members)] = (members, self._number(tuple(parts)))
        return known[1]

    def of_keyword(self, name: str, value: Json, depth: int = 0) -> int:
        """Returns the number of the constraint of a keyword."""
        if name in SCHEMAS_BY_NAME and isinstance(value, dict):
            named = ((key, self.of(each, depth)) for key, each in as_object(value).items())
            return self._number(tuple(sorted(named)))
        if isinstance(value, list):
            values = as_list(value)
            if name in SCHEMA_LISTS or name in SCHEMA_MEMBERS:
                found = [self.of(each, depth) for each in values]
                return self._number(tuple(sorted(found) if name in _UNORDERED_LISTS else found))
            if name in _UNORDERED_VALUES:
                return self._number(tuple(sorted(map(canonical, values))))
        return self.of(value, depth) if name in SCHEMA_MEMBERS else self._number(canonical(value))

    def _number(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))

    def texts(self, old: Json, new: Json, path: Path) -> Texts:
        """Yields each place where two schemas with the same constraints differ, and both values there."""
        if old == new or not isinstance(old, dict):
            return
        before, after = as_object(old), as_object(new)
        for name in sorted(before.keys() | after.keys()):
            if name in COMPARED or name in OPAQUE:
                yield from self.texts_of_keyword(name, before.get(name), after.get(name), (*path, name))
            elif before.get(name) != after.get(name):
                yield (*path, name), before.get(name), after.get(name)

    def texts_of_keyword(self, name: str, old: Json, new: Json, path: Path) -> Texts:
        """Yields the same for the value of a keyword."""
        if old == new:
            return
        if name in SCHEMAS_BY_NAME and isinstance(old, dict):
            for key, value in as_object(old).items():
                yield from self.texts(value, as_object(new).get(key), (*path, key))
        elif isinstance(old, list) and (name in SCHEMA_LISTS or name in SCHEMA_MEMBERS):
            befores, afters = list(enumerate(as_list(old))), list(enumerate(as_list(new)))
            pairs = zip(befores, afters, strict=True)
            if name in _UNORDERED_LISTS:
                pairs, _, _ = self.pairs(as_list(old), as_list(new))
            for (_, was), (at, now) in pairs:
                yield from self.texts(was, now, (*path, at))
        elif name in SCHEMA_MEMBERS:
            yield from self.texts(old, new, path)

    def pairs(
        self, old: list[Json], new: list[Json]
    ) -> tuple[list[tuple[Placed, Placed]], list[Placed], list[Placed]]:
        """Pairs the schemas of two lists that differ but have the same constraints.

        Returns the pairs, and the rest of both lists.
        """
        before, after = apart(old, new)
        waiting: dict[int, list[Placed]] = {}
        for each in reversed(before):
            waiting.setdefault(self.of(each[1]), []).append(each)
        found: list[tuple[Placed, Placed]] = []
        rest: list[Placed] = []
        for each in after:
            same = waiting.get(self.of(each[1]))
            if same:
                found.append((same.pop(), each))
            else:
                rest.append(each)
        paired = {was[0] for was, _ in found}
        return found, [each for each in before if each[0] not in paired], rest


def apart(old: list[Json], new: list[Json]) -> tuple[list[Placed], list[Placed]]:
    """Returns the elements that only one of two lists has, with their positions."""
    before, after = [canonical(each) for each in old], [canonical(each) for each in new]
    olds, news = set(before), set(after)
    return (
        [(at, each) for at, each in enumerate(old) if before[at] not in news],
        [(at, each) for at, each in enumerate(new) if after[at] not in olds],
    )


# -- discriminators ------------------------------------------------------------------------------------------------

NESTED_ALTERNATIVES: Final = 8
"""The maximum levels of nested alternatives that are searched for tags."""

Tags: TypeAlias = dict[str, frozenset[str]]
"""The permitted values of the properties of an alternative, by property."""


class Discriminators:
    """The tags of alternatives of one schema. ``resolve`` follows references."""

    def __init__(self, resolve: Callable[[Json], Json]) -> None:
        self._resolve = resolve
        self._known: dict[int, tuple[Json, Tags | None]] = {}

    def tags(self, node: Json, depth: int = 0) -> Tags | None:
        """Returns the tags of an alternative; ``None`` if it accepts no object."""
        node = self._resolve(node)
        if not isinstance(node, dict) or depth > NESTED_ALTERNATIVES:
            return None if node is False else {}
        node = cast("dict[str, Json]", node)
        known = self._known.get(id(node))
        if known is None:
            self._known[id(node)] = (node, {})  # for an alternative that contains itself
            known = self._known[id(node)] = (node, self._tags(node, depth + 1))
        return known[1]

    def _tags(self, node: dict[str, Json], depth: int) -> Tags | None:
        if "object" not in types_of(node):
            return None
        found: Tags = {}
        for name, each in as_object(node.get("properties")).items():
            _, values = values_of(as_object(self._resolve(each)))
            if values is not None:
                found[name] = frozenset(values)
        for each in as_list(node.get("allOf")):
            found |= self.tags(each, depth) or {}
        for word in ALTERNATIVES:
            inner = [tags for each in as_list(node.get(word)) if (tags := self.tags(each, depth)) is not None]
            for name in set[str]().union(*inner) if inner else ():
                if all(name in tags for tags in inner):
                    found[name] = frozenset[str]().union(*(tags[name] for tags in inner))
        return found

    def owners(self, alternatives: list[Json]) -> dict[str, dict[str, int]]:
        """Returns, for each property that distinguishes all alternatives with objects, the alternative of each value."""
        tagged = [(at, tags) for at, each in enumerate(alternatives) if (tags := self.tags(each)) is not None]
        found: dict[str, dict[str, int]] = {}
        for name in tagged[0][1] if tagged else ():
            owners = {value: at for at, tags in tagged for value in tags.get(name, ())}
            known = [tags[name] for _, tags in tagged if name in tags]
            if len(known) == len(tagged) and len(owners) == sum(map(len, known)):
                found[name] = owners
        return found


def matches(old: dict[str, dict[str, int]], new: dict[str, dict[str, int]]) -> dict[int, int]:
    """Returns the position in a newer list of each alternative of an older one, from the results of
    :meth:`Discriminators.owners`.

    Only alternatives that share values with exactly one of the other list have a position.
    """
    for name in sorted(old.keys() & new.keys()):
        shared = [(at, new[name][value]) for value, at in old[name].items() if value in new[name]]
        there, back = dict[int, set[int]](), dict[int, set[int]]()
        for was, now in shared:
            there.setdefault(was, set()).add(now)
            back.setdefault(now, set()).add(was)
        found = {was: now for was, nows in there.items() for now in nows if len(nows) == len(back[now]) == 1}
        if found:
            return found
    return {}


def types_of(node: dict[str, Json]) -> frozenset[str]:
    """Returns the types that a schema names; all types if it names none."""
    kind = node.get("type")
    if kind is None:
        return TYPE_SET
    kinds = frozenset(texts_in(kind if isinstance(kind, list) else [kind]))
    return kinds | {"integer"} if "number" in kinds else kinds


def values_of(node: dict[str, Json]) -> tuple[str, list[str] | None]:
    """Returns the keyword that lists the only values, and these as canonical texts; ``None`` if there is none."""
    if "const" in node:
        return "const", [canonical(node["const"])]
    return ("enum", [canonical(each) for each in as_list(node["enum"])]) if "enum" in node else ("", None)
