"""One field of a form: what it takes, what stands in it, and the value that this is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, cast

from mcp_tui.client.arguments import parse
from mcp_tui.client.schemas import is_of
from mcp_tui.protocol.messages import Json

TEXT: Final = 50_000
"""Characters that a field takes in its own notation."""

_NAMES: Final = {
    "array": "an array",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "an object",
    "string": "a text",
}


class Kind(Enum):
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


@dataclass(frozen=True, slots=True)
class FieldEntry:
    """What stands in a field. ``text`` is kept while the field is left out, so that it can come back."""

    given: Given = Given.ABSENT
    text: str = ""


ABSENT: Final = FieldEntry()

FieldPath = tuple[str, ...]
"""The way to a field: names of members. The empty one stands for the members that have no field."""

Draft = dict[FieldPath, FieldEntry]
"""What stands in each field that is no object."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that may be chosen. ``label`` is what is typed for it, and no other choice's; ``title`` says more."""

    value: Json
    label: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """One part of the arguments. ``schema`` is its own, references resolved; texts in it are the server's and hostile."""

    path: FieldPath
    kind: Kind
    schema: dict[str, Json] = field(repr=False)
    required: bool = False
    nullable: bool = False
    types: frozenset[str] = frozenset()
    choices: tuple[Choice, ...] = ()
    item: Field | None = None
    fields: tuple[Field, ...] = ()

    @property
    def name(self) -> str:
        """The name of its member. Hostile text."""
        return self.path[-1] if self.path else ""

    def said(self, keyword: str) -> str:
        """What the schema says under ``title``, ``description`` or ``format``, or an empty text. Hostile."""
        value = self.schema.get(keyword)
        return value if isinstance(value, str) else ""

    @property
    def lines(self) -> bool:
        """Whether its text has a line for each item, or lines of JSON."""
        return self.kind in (Kind.LIST, Kind.SEVERAL, Kind.JSON)


class Unreadable(ValueError):
    """What stands in a field is no value of its kind. The text is one sentence."""


def read(field: Field, entry: FieldEntry) -> Json:
    """The value that an entry stands for; an absent one has none.

    Raises:
        Unreadable: the text is no value of the field's kind.
    """
    if entry.given is Given.NULL:
        return None
    text = entry.text
    if entry.given is Given.JSON or field.kind in (Kind.JSON, Kind.OBJECT):
        value = _json(text)
        if entry.given is Given.TEXT and field.types and not _fits(value, field):
            raise Unreadable(f"must be {_wanted(field)}")
        return value
    match field.kind:
        case Kind.TEXT:
            return text
        case Kind.LIST | Kind.SEVERAL if field.item is not None:
            return _listed(field.item, text)
        case Kind.CHOICE:
            return _chosen(field, text)
        case Kind.ANY:
            return _any(field, text)
        case _:
            return _scalar(field, text)


def _json(text: str) -> Json:
    try:
        return parse(text)
    except json.JSONDecodeError as error:
        said = f"{error.msg[:1].lower()}{error.msg[1:]}"
        raise Unreadable(f"no JSON: line {error.lineno}, column {error.colno}: {said}") from None
    except ValueError as error:
        raise Unreadable(f"no JSON: {error}") from None


def _scalar(field: Field, text: str) -> Json:
    try:
        value = parse(text.strip())
    except ValueError:
        raise Unreadable(f"must be {_wanted(field)}") from None
    if not _fits(value, field):
        raise Unreadable(f"must be {_wanted(field)}")
    return value


def _fits(value: Json, field: Field) -> bool:
    return (field.nullable and value is None) or any(is_of(value, kind) for kind in field.types)


def _wanted(field: Field) -> str:
    return " or ".join(_NAMES.get(kind, kind) for kind in sorted(field.types))


def _chosen(field: Field, text: str) -> Json:
    for choice in field.choices:
        if choice.label == text:
            return choice.value
    titled = [choice for choice in field.choices if choice.title and choice.title == text]
    if len(titled) == 1:
        return titled[0].value
    few = ", ".join(choice.label for choice in field.choices[:6])
    raise Unreadable(f"must be one of {few}{' …' if len(field.choices) > 6 else ''}")


def _any(field: Field, text: str) -> Json:
    """JSON where it is a value of a type permitted, text otherwise."""
    try:
        value = parse(text)
    except ValueError as error:
        if text.lstrip()[:1] in ("{", "[", '"'):
            raise Unreadable(f"no JSON: {error}") from None
        value = text
    else:
        if field.types and not any(is_of(value, kind) for kind in field.types):
            value = text
    if field.types and not _fits(value, field):
        raise Unreadable(f"must be {_wanted(field)}")
    return value


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
        try:
            if same(read(field, entry), value):
                return entry
        except Unreadable:
            pass
    return FieldEntry(Given.JSON, written(value))


def _text_of(field: Field, value: Json) -> str | None:
    match field.kind:
        case Kind.TEXT:
            return value if isinstance(value, str) else None
        case Kind.CHOICE:
            return next((choice.label for choice in field.choices if same(choice.value, value)), None)
        case Kind.LIST | Kind.SEVERAL if isinstance(value, list) and field.item is not None:
            items = [_text_of(field.item, item) for item in cast("list[Json]", value)]
            if any(item is None or "\n" in item for item in items):
                return None
            return "\n".join(cast("list[str]", items))
        case Kind.ANY if isinstance(value, str):
            try:
                if same(_any(field, value), value):
                    return value
            except Unreadable:
                pass
            return written(value)
        case Kind.OBJECT:
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
