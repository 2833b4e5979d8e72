"""The fields of a form in words: what may stand there, where it is filled in and where it is not; and arguments as text."""

from __future__ import annotations

import json
from typing import Final, cast

from mcp_tui.client.forms import Field, FieldEntry, FieldKind, Given
from mcp_tui.client.schemas import TYPE_NAMES, parse_json
from mcp_tui.protocol.messages import Json, as_object, as_text
from mcp_tui.tui.keys import hint
from mcp_tui.tui.view.rows import number
from mcp_tui.tui.view.text import NOTHING, SafeText, brief, clean, join, safe, words

Styled = tuple[SafeText, str]
"""A piece of text and its style in Textual's notation."""

_FORMATS: Final = {
    "date": words("date, as 2026-11-21"),
    "date-time": words("date and time, as 2026-11-21T09:30:00Z"),
    "email": words("e-mail address"),
    "time": words("time, as 09:30:00Z"),
    "uri": words("URI, with its scheme"),
    "uuid": words("UUID"),
}


def kind(field: Field) -> SafeText:
    """What a field takes: ``whole number, 1 to 10``."""
    items = _length(field.schema, "Items", words("items"))
    match field.kind:
        case FieldKind.TEXT:
            format_ = as_text(field.schema.get("format"))
            said = _FORMATS.get(format_) or brief(format_, 40) or words("text")
            return join((said, _length(field.schema, "Length", words("characters"))), ", ")
        case FieldKind.NUMBER | FieldKind.INTEGER:
            return join((clean(field.kind.value), bounds(field.schema)), ", ")
        case FieldKind.BOOLEAN:
            return words("true or false")
        case FieldKind.CHOICE:
            *labels, last = [brief(choice.title or choice.label, 20) for choice in field.choices[:6]]
            few = safe("{} or {}", ", ".join(labels), last) if labels else last
            short = len(labels) < 5 and len(few) <= 40
            return few if short else safe("one of {:,}", len(field.choices))
        case FieldKind.SEVERAL:
            return join((safe("any of {:,}", len(field.choices)), items), ", ")
        case FieldKind.LIST if field.item is not None:
            one = field.item.kind
            plural = words("true or false") if one is FieldKind.BOOLEAN else clean(f"{one.value}s")
            return join((safe("{}, one per line", plural), items), ", ")
        case FieldKind.ANY if field.types:
            names = (TYPE_NAMES.get(each, "value") for each in sorted(field.types))
            types = " or ".join(name.removeprefix("an ").removeprefix("a ") for name in names)
            return safe("{}; quote it for text", types)
        case FieldKind.ANY:
            return words("JSON, or text")
        case FieldKind.OBJECT:
            return words("object")
        case _:
            return safe("JSON: {}", sketch(field.schema))


def bounds(schema: dict[str, Json]) -> SafeText:
    """``0 to 10``, ``at least 1``, ``below 5``."""
    low, high = schema.get("minimum"), schema.get("maximum")
    if _figure(low) and _figure(high):
        return safe("{} to {}", value(low), value(high))
    said = [
        safe("{} {}", words_, value(schema[keyword]))
        for keyword, words_ in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
            ("multipleOf", "in steps of"),
        )
        if _figure(schema.get(keyword))
    ]
    return join(said, ", ")


def _figure(value_: Json) -> bool:
    return isinstance(value_, (int, float)) and not isinstance(value_, bool)


def _length(schema: dict[str, Json], what: str, unit: SafeText) -> SafeText:
    low, high = schema.get(f"min{what}"), schema.get(f"max{what}")
    said = bounds({"minimum": low, "maximum": high}) if low or _figure(high) else NOTHING
    return safe("{} {}", said, unit) if said else NOTHING


def value(value_: Json) -> SafeText:
    """A value in a few characters."""
    if _figure(value_) and abs(cast("float", value_)) < 1e300:
        return number(cast("float", value_))
    return brief(json.dumps(value_, ensure_ascii=False), 60)


def sketch(schema: Json, depth: int = 3) -> SafeText:
    """The shape of a value in a few characters: ``[{"from": …, "to": …}]``."""
    described = as_object(schema)
    kind_ = described.get("type")
    if kind_ == "array" and depth:
        return safe("[{}]", sketch(described.get("items"), depth - 1))
    properties = as_object(described.get("properties"))
    if properties and depth:
        shown = (brief(json.dumps(name, ensure_ascii=False), 30) for name in list(properties)[:4])
        names = [safe("{}: …", name) for name in shown]
        more = words(" …") if len(properties) > 4 else NOTHING
        return safe("{{{}{}}}", join(names, ", "), more)
    return words("{…}") if kind_ == "object" else words("…")


def vacant(field: Field, entry: FieldEntry) -> list[Styled]:
    """What stands in a field in which no text stands: left out, empty and null are three things."""
    match entry.given:
        case Given.NULL:
            return [(words("null"), "italic")]
        case Given.TEXT if field.kind in (FieldKind.LIST, FieldKind.SEVERAL):
            return [(words("empty list"), "italic")]
        case Given.TEXT | Given.JSON if field.kind is not FieldKind.CHOICE:
            return [(words("empty text"), "italic")]
        case _ if field.required:
            return [(words("required"), "$warning"), (safe(" · {}", kind(field)), "")]
        case _:
            return [(safe("not set · {}", kind(field)), "")]


def about(field: Field, entry: FieldEntry) -> list[Styled]:
    """What the schema says of a field: its type, its default, its description."""
    said = [kind(field)]
    if entry.given is Given.JSON and field.kind is not FieldKind.JSON:
        said = [safe("{} (type JSON here)", said[0])]
    if "default" in field.schema:
        said.append(safe("default {}", value(field.schema["default"])))
    if field.nullable:
        said.append(hint("{form.null} null"))
    pattern = as_text(field.schema.get("pattern"))
    if pattern and field.kind is FieldKind.TEXT:
        said.append(safe("matches {}", brief(pattern, 60)))
    name = brief(".".join(field.path), 80) or words("other arguments")
    title = brief(as_text(field.schema.get("title")), 80)
    if title.casefold().replace(" ", "_") == field.name.casefold():
        title = NOTHING
    description = brief(" ".join(as_text(field.schema.get("description"))[:1000].split()), 600)
    pieces: list[Styled] = [
        (name, "bold"),
        (safe(" {}", title) if title else title, ""),
        (safe("  {}", join(said, " · ")), "$text-muted"),
    ]
    if description:
        pieces.append((safe("\n{}", description), ""))
    return pieces


# -- arguments as text -----------------------------------------------------------------------------------------


EDITABLE: Final = 100_000
"""Characters of arguments that the editor takes."""


def editable(arguments: dict[str, Json]) -> str:
    """``arguments`` as indented JSON in which every character can be seen: what cannot is escaped, so the value is the same.

    Raises:
        ValueError: more than :data:`EDITABLE` characters, or no JSON.
    """
    try:
        text = json.dumps(arguments, ensure_ascii=False, indent=2)
    except (TypeError, ValueError, RecursionError):
        raise ValueError("The defaults are not JSON that can be edited") from None
    if len(text) > EDITABLE:
        raise ValueError(f"The defaults are too long to edit ({len(text):,} characters)")
    if text.isascii() and "\x7f" not in text:
        return text
    return "".join(each if each == "\n" or clean(each) == each else json.dumps(each)[1:-1] for each in text)


def parsed(text: str) -> dict[str, Json]:
    """The arguments that a text stands for; an empty one stands for none.

    Raises:
        ValueError: it is not a JSON object, or has a name twice; :func:`~mcp_tui.client.schemas.mistake` says which.
    """
    value: Json = parse_json(text, once=True) if text.strip() else {}
    if not isinstance(value, dict):
        raise ValueError("Arguments must be a JSON object: { … }")  # noqa: TRY004 - the text is wrong, no type
    return as_object(value)


def first_value(text: str) -> tuple[int, int]:
    """Where the first value of an object begins: row and column, within the quotes of an empty string."""
    lines = text.split("\n")
    if len(lines) < 2 or '": ' not in lines[1]:
        return 0, len(lines[0])
    column = lines[1].index('": ') + 3
    return 1, column + (1 if lines[1].startswith('""', column) else 0)
