"""Forms from JSON Schema, without a screen: a schema becomes fields, what is typed becomes arguments, and back.

Strings, numbers, booleans, choices, lists of those, what may be null, and objects two deep have fields; everything else
is typed as JSON, for that part or for the whole. What is absent, what is empty and what is null are told apart.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import Enum
from typing import Final, cast

from mcp_tui.client.schemas import REQUIRED, Problem, Schema, is_of, mistake, parse_json, types_of, wanted
from mcp_tui.protocol.messages import Json, as_list, as_object, as_text, in_range, json_type, texts_in
from mcp_tui.protocol.values import frozen

TEXT: Final = 50_000
"""Characters that a field takes in its own notation."""


class FieldKind(Enum):
    """What a field takes."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "whole number"
    BOOLEAN = "true or false"
    CHOICE = "one of"
    SEVERAL = "some of"
    LIST = "list"
    ANY = "any"
    OBJECT = "object"
    JSON = "JSON"


class Given(Enum):
    """How a field is filled in: left out, null, by text in its own notation, or by JSON."""

    ABSENT = "absent"
    NULL = "null"
    TEXT = "text"
    JSON = "JSON"


@frozen
class FieldEntry:
    """What stands in a field. ``text`` is kept while the field is left out, so that it can come back."""

    given: Given = Given.ABSENT
    text: str = ""

    @property
    def has_text(self) -> bool:
        """Whether the text is what it stands for."""
        return self.given in (Given.TEXT, Given.JSON)


ABSENT: Final = FieldEntry()

FieldPath = tuple[str, ...]
"""The way to a field: names of members. The empty one stands for the members that have no field."""

Draft = dict[FieldPath, FieldEntry]
"""What stands in each field that is no object."""


@frozen
class FieldChoice:
    """A value that may be chosen. ``label`` is what is typed for it, and no other choice's; ``title`` says more."""

    value: Json
    label: str
    title: str = ""


@frozen
class Field:
    """One part of the arguments. ``schema`` is its own, references resolved; texts in it are the server's and hostile."""

    path: FieldPath
    kind: FieldKind
    schema: dict[str, Json] = field(repr=False)
    required: bool = False
    nullable: bool = False
    types: frozenset[str] = frozenset()
    choices: tuple[FieldChoice, ...] = ()
    item: Field | None = None

    @property
    def name(self) -> str:
        """The name of its member. Hostile text."""
        return self.path[-1] if self.path else ""


class Unreadable(ValueError):
    """What stands in a field is no value of its kind. The text is one sentence."""


def read(field: Field, entry: FieldEntry) -> Json:
    """The value that an entry stands for; an absent one has none.

    Raises:
        Unreadable: the text is no value of the field's kind.
    """
    text = entry.text
    if entry.given is Given.NULL:
        return None
    if entry.given is Given.JSON:
        return _json(text)
    match field.kind:
        case FieldKind.TEXT:
            return text
        case FieldKind.CHOICE:
            return next((choice.value for choice in field.choices if choice.label == text), text)
        case FieldKind.LIST | FieldKind.SEVERAL if field.item is not None:
            return _listed(field.item, text)
        case FieldKind.JSON | FieldKind.OBJECT:
            value = _json(text)
        case FieldKind.ANY:
            value = _any(field, text)
        case _:
            try:
                value = parse_json(text.strip())
            except ValueError:
                value = text  # of a type that such a field does not take
    if field.types and not (field.nullable and value is None) and not _is_of(value, field.types):
        raise Unreadable(f"must be {wanted(field.types)}")
    return value


def _sent(field: Field, entry: FieldEntry) -> tuple[Json, str]:
    """The value that an entry stands for; or its text, and what is wrong with that."""
    try:
        return read(field, entry), ""
    except Unreadable as error:
        return entry.text, str(error)


def _reads(field: Field, entry: FieldEntry, value: Json) -> bool:
    sent, wrong = _sent(field, entry)
    return not wrong and same(sent, value)


def _json(text: str) -> Json:
    try:
        return parse_json(text)
    except ValueError as error:
        raise Unreadable(f"not JSON: {mistake(error)}") from None


def _is_of(value: Json, types: Iterable[str]) -> bool:
    return any(is_of(value, kind) for kind in types)


def _any(field: Field, text: str) -> Json:
    """JSON where it is a value of a type permitted, text otherwise."""
    try:
        value = _json(text)
    except Unreadable:
        if text.lstrip()[:1] in ("{", "[", '"'):
            raise
        return text
    return value if not field.types or _is_of(value, field.types) else text


def _listed(item: Field, text: str) -> Json:
    lines = text.removesuffix("\n").split("\n") if text else []
    values: list[Json] = []
    for number, each in enumerate(lines, 1):
        try:
            values.append(read(item, FieldEntry(Given.TEXT, each)))
        except Unreadable as error:
            raise Unreadable(f"line {number}: {error}") from None
    return values


def entry_of(field: Field, value: Json) -> FieldEntry:
    """The entry that stands for a value: in the field's own notation where that says it, as JSON elsewhere."""
    if value is None:
        return FieldEntry(Given.NULL)
    text = _text_of(field, value)
    if text is not None and len(text) <= TEXT and _editable(text):
        entry = FieldEntry(Given.TEXT, text)
        if _reads(field, entry, value):
            return entry
    return FieldEntry(Given.JSON, written(value))


def _text_of(field: Field, value: Json) -> str | None:
    match field.kind:
        case FieldKind.TEXT:
            return value if isinstance(value, str) else None
        case FieldKind.CHOICE:
            return next((choice.label for choice in field.choices if same(choice.value, value)), None)
        case FieldKind.LIST | FieldKind.SEVERAL if isinstance(value, list) and field.item is not None:
            items = [_text_of(field.item, item) for item in cast("list[Json]", value)]
            if any(item is None or "\n" in item for item in items):
                return None
            return "\n".join(cast("list[str]", items))
        case FieldKind.ANY if isinstance(value, str) and _reads(field, FieldEntry(Given.TEXT, value), value):
            return value
        case FieldKind.OBJECT:
            return None
        case _:
            return written(value)


def _editable(text: str) -> bool:
    """Whether lines of a text can be parted and joined again without a change: line feeds part them, and nothing else."""
    return all(len(line.splitlines()) <= 1 for line in text.split("\n"))


def written(value: Json) -> str:
    """A value as JSON, indented where it is long, with escapes for what an editor would take for the end of a line."""
    try:
        text = json.dumps(value, ensure_ascii=False)
        plain = not _editable(text)
        indent = None if len(text) <= 60 else 2
        return json.dumps(value, ensure_ascii=plain, indent=indent) if plain or indent else text
    except (TypeError, ValueError, RecursionError):
        return ""


def same(one: Json, other: Json) -> bool:
    """Whether two values are the same JSON: ``1``, ``1.0`` and ``true`` are three."""
    try:
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return False


FIELDS: Final = 100
"""Fields of a form; what has more is typed as JSON."""

CHOICES: Final = 2_000
"""Values to choose from; of more the first are offered."""

OBJECTS: Final = 2
"""Levels of objects that have fields of their own."""

_SCALARS: Final = frozenset({"boolean", "integer", "number", "string"})
_STRUCTURE: Final = frozenset({"properties", "items", "prefixItems", "not", "if", "$dynamicRef"})
_OPEN: Final = frozenset({"anyOf", "oneOf", "allOf", "patternProperties", "$ref", "if"})
_PLAIN: Final[dict[tuple[str, ...], FieldKind]] = {
    ("boolean",): FieldKind.BOOLEAN,
    ("integer",): FieldKind.INTEGER,
    ("number",): FieldKind.NUMBER,
    ("integer", "number"): FieldKind.NUMBER,
    ("string",): FieldKind.TEXT,
}
"""The kind of a field by its types."""


class FormLayout:
    """The fields of a schema whose value is an object.

    Attributes:
        fields: in the schema's order, each object before what is in it; empty where the whole is typed as JSON.
        whole: why the whole has to be typed as JSON, one clause; empty where it has fields, or needs none.
        other: what takes the members that have no field.
    """

    def __init__(self, schema: Json, *, most: int = FIELDS) -> None:
        self.schema = Schema(schema)
        self._left = 4 * most
        too_many = f"more than {most} arguments"
        members = as_object(self.schema.whole.get("properties"))
        self.whole = too_many if len(members) > most else "" if members else self._unnamed()
        self.fields: tuple[Field, ...] = (
            () if self.whole else tuple(self._members(self.schema.whole, (), frozenset()))
        )
        if self._left < 0 or sum(each.kind is not FieldKind.OBJECT for each in self.fields) > most:
            self.fields, self.whole = (), too_many
        self.other = Field(
            (), FieldKind.JSON, {"description": "Arguments without a field."}, types=frozenset(("object",))
        )

    def _unnamed(self) -> str:
        """Why a schema that names no arguments takes some; empty where it takes none."""
        whole = self.schema.whole
        kinds = types_of(self.schema, whole)
        if kinds and "object" not in kinds:
            return "the schema is not for an object"
        more = whole.get("additionalProperties")
        free = _OPEN & whole.keys() or more is True or isinstance(more, dict)
        return "the schema allows arguments but names none" if free else ""

    # -- filling in ------------------------------------------------------------------------------------------

    def first(self) -> Draft:
        """The defaults, and what can only be one thing. Within an object that may be left out there are none.

        A default of null is what a server takes when nothing is sent: it is left out, whether or not null may be sent.
        """
        defaults: dict[str, Json] = {}
        objects: dict[FieldPath, dict[str, Json]] = {(): defaults}
        for each in self.fields:
            members = objects.get(each.path[:-1])
            default = each.schema.get("default")
            optional = each.kind is FieldKind.OBJECT and not each.required
            if members is None:
                continue
            if default is not None and in_range(default) and not (default == {} and optional):
                members[each.name] = default
            elif each.kind is FieldKind.OBJECT and each.required:
                members[each.name] = objects[each.path] = {}
            elif each.required and each.kind is FieldKind.CHOICE and len(each.choices) == 1:
                members[each.name] = each.choices[0].value
            elif each.required and "const" in each.schema and in_range(each.schema["const"]):
                members[each.name] = each.schema["const"]
        return self.spread(defaults)

    def spread(self, arguments: Mapping[str, Json], known: Draft | None = None) -> Draft:
        """A draft that stands for ``arguments``; entries of ``known`` that mean the same are kept as they were typed."""
        draft: Draft = {}
        objects: dict[FieldPath, dict[str, Json]] = {(): dict(arguments)}
        for each in self.fields:
            members = objects.get(each.path[:-1], {})
            before = ABSENT if known is None else known.get(each.path, ABSENT)
            if each.name not in members:
                if before.given is Given.ABSENT and before.text:
                    draft[each.path] = before
                continue
            value = members.pop(each.name)
            if each.kind is FieldKind.OBJECT and _fits(each, value):
                objects[each.path] = dict(as_object(value))
            elif before.given is not Given.ABSENT and same(_sent(each, before)[0], value):
                draft[each.path] = before
            else:
                draft[each.path] = entry_of(each, value)
        if objects[()]:
            draft[()] = FieldEntry(Given.JSON, written(objects[()]))
        return draft

    # -- reading ---------------------------------------------------------------------------------------------

    def read(self, draft: Draft) -> tuple[dict[str, Json], list[Problem]]:
        """The arguments that a draft stands for, and which fields cannot be read: their text stands in the arguments."""
        wrong: list[Problem] = []
        arguments: dict[str, Json] = {}
        objects: dict[FieldPath, dict[str, Json]] = {(): arguments}
        for each in self.rows(draft):
            members = objects[each.path[:-1]]
            entry = draft.get(each.path, ABSENT)
            if each.kind is FieldKind.OBJECT:
                members[each.name] = objects[each.path] = {}
            elif entry.given is not Given.ABSENT:
                value, said = _sent(each, entry if each.path else FieldEntry(Given.TEXT, entry.text))
                members.update({each.name: value} if each.path else as_object(value))
                wrong += [Problem(each.path, said)] if said else []
        for each in reversed(self.fields):
            if objects.get(each.path) == {} and not each.required:
                del objects[each.path[:-1]][each.name]
        return arguments, wrong

    def problems(self, draft: Draft) -> list[Problem]:
        """What is wrong with a draft: first what cannot be read, else what the schema refuses."""
        arguments, wrong = self.read(draft)
        found = self.schema.problems(arguments)
        return [*wrong, *(each for each in found if each.text == REQUIRED)] if wrong else found

    def rows(self, draft: Draft) -> Iterable[Field]:
        """The fields in the order of a form: an object, then what is in it; one that holds what has no field, as JSON."""
        as_json = {path for path, entry in draft.items() if entry.given in (Given.JSON, Given.NULL)}
        for each in self.fields:
            if as_json.isdisjoint(each.path[:length] for length in range(1, len(each.path))):
                typed = each.kind is FieldKind.OBJECT and each.path in as_json
                yield replace(each, kind=FieldKind.JSON) if typed else each
        if draft.get((), ABSENT).given is not Given.ABSENT:
            yield self.other

    # -- from a schema to fields -----------------------------------------------------------------------------

    def _members(self, node: dict[str, Json], path: FieldPath, trail: frozenset[str]) -> Iterable[Field]:
        needed = set(texts_in(node.get("required")))
        for name, property_ in as_object(node.get("properties")).items():
            self._left -= 1
            if self._left < 0:
                return
            made, inner = self._field((*path, name), property_, trail, required=name in needed)
            yield made
            if made.kind is FieldKind.OBJECT:
                yield from self._members(made.schema, made.path, inner)

    def _field(
        self, path: FieldPath, node: Json, trail: frozenset[str], *, required: bool = False
    ) -> tuple[Field, frozenset[str]]:
        """The field of one part of the schema, and the references that led to it."""
        described, trail = self.schema.resolved(node, trail)
        described, trail, nullable = self._without_null(described, trail)
        types = types_of(self.schema, described, trail)
        nullable = nullable or "null" in types
        made = Field(path, FieldKind.JSON, described, required, nullable, types - {"null"})
        if "$ref" in described or len(as_list(described.get("allOf"))) > 1:
            return made, trail
        choices = _distinct(self._values(described, trail))
        kept = tuple(choice for choice in choices if choice.value is not None)
        if choices and all(json_type(choice.value) in _SCALARS for choice in kept):
            kind = FieldKind.CHOICE if kept else FieldKind.JSON
            return replace(made, kind=kind, choices=kept, nullable=nullable or kept != choices), trail
        return self._of_types(made, trail), trail

    def _of_types(self, made: Field, trail: frozenset[str]) -> Field:
        described, types = made.schema, made.types
        kinds = tuple(sorted(types))
        branches = as_list(described.get("anyOf")) or as_list(described.get("oneOf"))
        if not branches and kinds == ("array",):
            return self._list_of(made, trail)
        if not branches and kinds == ("object",) and len(made.path) <= OBJECTS:
            open_ = made.nullable or isinstance(described.get("patternProperties"), dict)
            fits = as_object(described.get("properties")) and not open_
            return replace(made, kind=FieldKind.OBJECT) if fits else made
        kind = _PLAIN.get(kinds)
        if kind is FieldKind.TEXT:
            offered = [choice for each in branches for choice in self._values(as_object(each), trail)]
            return replace(made, kind=kind, choices=_distinct(offered))
        mixed = "string" in types or (types and types <= _SCALARS)
        free = not types and not branches and not _STRUCTURE & described.keys()
        return replace(made, kind=kind or FieldKind.ANY) if mixed or free else made

    def _list_of(self, made: Field, trail: frozenset[str]) -> Field:
        items = made.schema.get("items")
        if not isinstance(items, dict) or "prefixItems" in made.schema:
            return made
        item, _ = self._field(made.path, items, trail, required=True)
        if item.nullable or item.kind not in (*_PLAIN.values(), FieldKind.CHOICE):
            return made
        kind = FieldKind.SEVERAL if item.kind is FieldKind.CHOICE else FieldKind.LIST
        return replace(made, kind=kind, item=item, choices=item.choices)

    def _without_null(
        self, described: dict[str, Json], trail: frozenset[str]
    ) -> tuple[dict[str, Json], frozenset[str], bool]:
        """The one alternative beside ``null`` in the place of a choice of those two."""
        for keyword in ("anyOf", "oneOf"):
            branches = as_list(described.get(keyword))
            rest = [each for each in branches if not _null(as_object(each))]
            if len(branches) <= 2 and len(rest) == 1:
                inner, trail = self.schema.resolved(rest[0], trail)
                beside = {name: value for name, value in described.items() if name != keyword}
                return {**inner, **beside}, trail, len(branches) == 2
        return described, trail, False

    def _values(self, described: dict[str, Json], trail: frozenset[str], depth: int = 3) -> list[FieldChoice]:
        """The values that are all a schema permits, with their titles; none where it permits others."""
        if "const" in described:
            return [_choice(described["const"], described.get("title"))]
        values = as_list(described.get("enum"))
        if values:
            titles = as_list(described.get("enumNames"))
            padded = [*titles, *[None] * len(values)]
            return [_choice(value, title) for value, title in zip(values[:CHOICES], padded, strict=False)]
        branches = as_list(described.get("oneOf")) or as_list(described.get("anyOf"))
        if not depth or len(branches) > CHOICES:
            return []
        found: list[FieldChoice] = []
        for each in branches:
            branch, inner = self.schema.resolved(each, trail)
            choices = [_choice(None)] if _null(branch) else self._values(branch, inner, depth - 1)
            if not choices:
                return []
            found.extend(choices)
        return found


def _fits(field: Field, value: Json) -> bool:
    """Whether the fields of an object say all of a value."""
    named = as_object(field.schema.get("properties"))
    members = as_object(value)
    return isinstance(value, dict) and members.keys() <= named.keys() and bool(members or field.required)


def _null(schema: dict[str, Json]) -> bool:
    return schema.get("type") == "null" or ("const" in schema and schema["const"] is None)


def _choice(value: Json, title: Json = None) -> FieldChoice:
    text = value if isinstance(value, str) else written(value)
    return FieldChoice(value, text, as_text(title))


def _distinct(choices: list[FieldChoice]) -> tuple[FieldChoice, ...]:
    """The choices, each with a label of its own of one line: as JSON where it would look like another, or like nothing."""
    seen = Counter(choice.label for choice in choices)
    made: dict[str, FieldChoice] = {}
    for choice in (each for each in choices if in_range(each.value)):
        plain = seen[choice.label] == 1 and choice.label.strip() and len(choice.label.splitlines()) == 1
        label = choice.label if plain else json.dumps(choice.value)
        made.setdefault(label, replace(choice, label=label))
    return tuple(made.values())
