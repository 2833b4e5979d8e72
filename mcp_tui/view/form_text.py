"""Descriptions of the fields of a form, and arguments as text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Final, cast

from mcp_tui.client.forms import BRANCH, Field, FieldEntry, FieldKind, Given, written
from mcp_tui.client.schemas import TYPE_PHRASES
from mcp_tui.journal.redaction import MASK
from mcp_tui.protocol.messages import Json, as_object, as_text, writable
from mcp_tui.view.keys import hint
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, join, safe, width, words

Styled = tuple[SafeText, str]
"""A piece of text, and its style in Textual's notation."""

_FORMATS: Final = {
    "date": words("date, as 2026-11-21"),
    "date-time": words("date and time, as 2026-11-21T09:30:00Z"),
    "email": words("e-mail address"),
    "time": words("time, as 09:30:00Z"),
    "uri": words("URI, with its scheme"),
    "uuid": words("UUID"),
}


def kind(field: Field) -> SafeText:
    """Returns the kind of value that a field takes: ``whole number, 1 to 10``."""
    items = length(field.schema, "Items", words("items"))
    match field.kind:
        case FieldKind.TEXT:
            format_ = as_text(field.schema.get("format"))
            format_name = _FORMATS.get(format_) or brief(format_, 40) or words("text")
            return join((format_name, length(field.schema, "Length", words("characters"))), ", ")
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
            names = (TYPE_PHRASES.get(each, "value") for each in sorted(field.types))
            types = " or ".join(name.removeprefix("an ").removeprefix("a ") for name in names)
            return safe("{}; quote it for text", types)
        case FieldKind.ANY:
            return words("JSON, or text")
        case FieldKind.OBJECT:
            return words("object")
        case FieldKind.ITEMS:
            return join((words("list of objects"), items), ", ")
        case _:
            return safe("JSON: {}", shape(field.schema))


def shape(schema: Json, depth: int = 3) -> SafeText:
    """Returns the shape of a value in a few characters: ``[{"from": …, "to": …}]``."""
    described = as_object(schema)
    type_ = described.get("type")
    if type_ == "array" and depth:
        return safe("[{}]", shape(described.get("items"), depth - 1))
    members = list(as_object(described.get("properties")))
    if members and depth:
        names = [brief(json.dumps(name, ensure_ascii=False), 30) for name in members[:4]]
        shown = join((safe("{}: …", name) for name in names), ", ")
        return safe("{{{}{}}}", shown, words(", …") if len(members) > 4 else NOTHING)
    return words("{…}") if type_ == "object" else words("…")


def bounds(schema: dict[str, Json]) -> SafeText:
    """Returns the range of a number: ``0 to 10``, ``at least 1``, ``below 5``."""
    low, high = schema.get("minimum"), schema.get("maximum")
    both = _figure(low) and _figure(high)
    texts = [safe("{} to {}", value(low), value(high))] if both else []
    texts += (
        safe("{} {}", words_, value(schema[keyword]))
        for keyword, words_ in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "at most"),
            ("exclusiveMaximum", "below"),
            ("multipleOf", "in steps of"),
        )
        if _figure(schema.get(keyword)) and not (both and keyword in ("minimum", "maximum"))
    )
    return join(texts, ", ")


def _figure(value_: Json) -> bool:
    return isinstance(value_, (int, float)) and not isinstance(value_, bool)


def length(schema: dict[str, Json], what: str, unit: SafeText) -> SafeText:
    """Returns the limits of a length (``what`` is ``Length`` or ``Items``): ``1 to 10 characters``."""
    low, high = schema.get(f"min{what}"), schema.get(f"max{what}")
    text = bounds({"minimum": low, "maximum": high}) if low or _figure(high) else NOTHING
    return safe("{} {}", text, unit) if text else NOTHING


def value(value_: Json) -> SafeText:
    """Returns a value in a few characters; a number that is a limit is exact."""
    if isinstance(value_, float) and value_.is_integer() and abs(value_) < 2**53:
        value_ = int(value_)
    return brief(json.dumps(writable(value_), ensure_ascii=False), 60)


def vacant(field: Field, entry: FieldEntry | None) -> list[Styled]:
    """Returns the placeholder of a field without text, which distinguishes not set, empty, and null."""
    if entry is not None and entry.given is Given.NULL:
        null = words("null"), "italic"
        return [null, (hint(" · {field.take} adds it"), "")] if field.grouped else [null]
    if field.grouped:
        return group(field, entry)
    if entry is not None and field.kind is not FieldKind.CHOICE:
        lists = field.kind in (FieldKind.LIST, FieldKind.SEVERAL)
        return [(words("empty list") if lists else words("empty text"), "italic")]
    if field.required:
        return [(words("required"), "$warning"), (safe(" · {}", kind(field)), "")]
    return [(safe("not set · {}", kind(field)), "")]


def group(field: Field, entry: FieldEntry | None) -> list[Styled]:
    """Returns what is there of an object or an array of objects, and the keys that add and remove it."""
    if field.is_item or (field.kind is FieldKind.OBJECT and entry is not None):
        return [(hint("{form.leave-out} removes it"), "$text-muted")]
    adds = hint("{field.take} adds it" if field.kind is FieldKind.OBJECT else "{field.take} adds an item")
    if entry is None:
        lacking = (words("required"), "$warning") if field.required else (words("not set"), "")
        return [lacking, (safe(" · {} · {}", adds, kind(field)), "")]
    if entry.text == "0":
        return [(words("empty list"), "italic"), (safe(" · {}", adds), "")]
    count = safe("{} item{}", entry.text, "" if entry.text == "1" else "s")
    return [(count, ""), (safe(" · {} · {}", adds, hint("{form.leave-out} removes all")), "$text-muted")]


def place(field: Field) -> SafeText:
    """Returns the path of a field: ``items[0].name``."""
    return brief(re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", ".".join(field.path)), 80)


def about(field: Field, entry: FieldEntry | None) -> list[Styled]:
    """Returns the description of a field by its schema: name, type, default, and description."""
    texts = [kind(field)]
    if entry is not None and entry.given is Given.JSON and field.kind is not FieldKind.JSON:
        texts = [safe("{} (type JSON here)", texts[0])]
    if "default" in field.schema:
        texts.append(safe("default {}", value(field.schema["default"])))
    if field.nullable:
        texts.append(hint("{form.null} null"))
    pattern = as_text(field.schema.get("pattern"))
    if pattern and field.kind is FieldKind.TEXT:
        texts.append(safe("matches {}", brief(pattern, 60)))
    title = brief(as_text(field.schema.get("title")), 80)
    if title.casefold().replace(" ", "_") == field.name.casefold():
        title = NOTHING
    description = brief(" ".join(as_text(field.schema.get("description"))[:1000].split()), 600)
    return [
        (place(field) if field.path != BRANCH else NOTHING, "bold"),
        (safe(" {}", title) if title else title, ""),
        (safe("  {}", join(texts, " · ")), "$text-muted"),
        (safe("\n{}", description) if description else NOTHING, ""),
    ]


# -- arguments as text -----------------------------------------------------------------------------------------


EDITABLE_CHARACTERS: Final = 100_000
"""The most characters of arguments that the editor accepts."""


def editable(arguments: dict[str, Json]) -> str:
    """Returns ``arguments`` as JSON in which every character is visible.

    Raises:
        ValueError: the arguments have more than :data:`EDITABLE_CHARACTERS` characters, or are not JSON.
    """
    text = written(arguments)
    if not text:
        raise ValueError("The defaults are not JSON that can be edited")
    if len(text) > EDITABLE_CHARACTERS:
        raise ValueError(f"The defaults are too long to edit ({len(text):,} characters)")
    return "".join(each if each == "\n" or clean(each) == each else json.dumps(each)[1:-1] for each in text)


_JSON_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{},:]|[^\s"\[\]{},:]+', re.DOTALL)
"""A token of JSON; the JSON may be incomplete or invalid."""


def dots(text: str) -> str:
    """Returns dots of the same width as ``text``, line by line."""
    return "".join(each if each == "\n" else "•" * max(1, width(each)) for each in text)


def veiled(text: str, is_secret: Callable[[str], bool]) -> str:
    """Returns JSON, which may be incomplete, with dots in place of the values of secret members."""
    made: list[str] = []
    at, depth, hidden, name = 0, 0, -1, ""
    for token in _JSON_TOKEN.finditer(text):
        part = token[0]
        depth -= part in "]}"
        if depth < hidden or (depth == hidden and part == ","):
            hidden = -1
        made.append(text[at : token.start()])
        made.append(dots(part) if hidden >= 0 and part not in "[]{},:" else part)
        if part != ":":
            name = part[1:-1] if part[0] == '"' else ""
        elif hidden < 0 and is_secret(name):
            hidden = depth
        depth += part in "[{"
        at = token.end()
    return "".join((*made, text[at:]))


def masked_members(value: dict[str, Json], is_secret: Callable[[str], bool]) -> dict[str, Json]:
    """Returns an object with a mask in place of the values of its secret members."""

    def masked(name: str, part: Json) -> Json:
        if is_secret(name):
            return MASK
        if isinstance(part, list):
            return [masked("", each) for each in cast("list[Json]", part)]
        return masked_members(as_object(part), is_secret) if isinstance(part, dict) else part

    return {name: masked(name, part) for name, part in value.items()}
