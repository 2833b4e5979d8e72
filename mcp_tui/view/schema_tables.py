"""A JSON Schema as a table: the members of an object, their types with all limits, defaults, and descriptions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from typing import Final, NamedTuple

from mcp_tui.client.forms import Field, FieldKind, FormLayout
from mcp_tui.client.parameters import Variant, ways
from mcp_tui.protocol.messages import Json, as_object, as_text
from mcp_tui.view.columns import narrowed
from mcp_tui.view.form_text import bounds, length, value
from mcp_tui.view.lines import Line, line
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, clip, fit, join, safe, width, words, wrap

ROWS: Final = 300
"""Rows of a table, at most."""

LEVELS: Final = 6
"""Levels of objects within objects that have rows."""

VALUES: Final = 30
"""Values of a choice that are listed."""

WIDEST_CELLS: Final = 28
"""Cells of a column, at most; that of the descriptions has the rest."""

NARROWEST_CELLS: Final = 8
"""Cells that a column keeps while others have to give way."""

DESCRIPTION_CELLS: Final = 24
"""Cells below which descriptions have lines of their own."""

_TITLES: Final = words("Argument"), words("Type"), words("Required"), words("Default")
_DESCRIPTION: Final = words("Description")
_TONES: Final = "json-name", "json-word", "", "muted"
_GAP: Final = "  "


class SchemaRow(NamedTuple):
    """A member with the texts of its columns, or a heading in ``cells[0]`` alone; ``level`` is its indent."""

    level: int
    cells: tuple[SafeText, ...]
    description: SafeText = NOTHING


def schema_rows(schema: Json) -> list[SchemaRow]:
    """Returns the rows of a schema for an object; a heading if it permits no members, none if it names none."""
    layout = FormLayout(schema)
    rows = [*islice(_members(layout, layout.schema.raw, 0), ROWS + 1)]
    if not rows:
        return [] if layout.whole else [SchemaRow(0, (words("none"),))]
    return rows if len(rows) <= ROWS else [*rows[:ROWS], SchemaRow(0, (words("… and more"),))]


def _members(layout: FormLayout, node: Json, level: int) -> Iterator[SchemaRow]:
    """Yields the members of an object: those that all alternatives share, then those of each alternative."""
    found = ways(layout.schema, node)
    first = found[0]
    shared = [
        name
        for name in first.properties
        if all(
            each.properties.get(name) == first.properties[name]
            and (name in each.required) is (name in first.required)
            for each in found
        )
    ]
    yield from _named(layout, first, shared, level)
    for number, way in enumerate(found if len(found) > 1 else ()):
        head = join((words("or" if number else "either"), brief(way.title, 60)), " ")
        yield SchemaRow(level, (safe("{}:", head),))
        yield from _named(layout, way, [name for name in way.properties if name not in shared], level + 1)
    more = as_object(layout.schema.resolved(node)).get("additionalProperties")
    if any(way.properties for way in found) and isinstance(more, dict):
        field = layout.field(("*",), more)
        yield SchemaRow(level, (words("(other names)"), _type(layout, field), NOTHING, NOTHING))


def _named(layout: FormLayout, way: Variant, names: Iterable[str], level: int) -> Iterator[SchemaRow]:
    for name in names:
        field = layout.field((name,), way.properties[name], required=name in way.required)
        schema = field.schema
        default = value(schema["default"]) if "default" in schema else NOTHING
        needed = words("yes" if field.required else "no")
        title = as_text(schema.get("title"))
        same = title.casefold().replace(" ", "_") == name.casefold()
        described = as_text(schema.get("description")) or ("" if same else title)
        yield SchemaRow(
            level,
            (brief(name, 120), _type(layout, field), needed, default),
            brief(" ".join(described[:2000].split()), 1000),
        )
        if level < LEVELS:
            yield from _members(layout, _object_in(layout, schema), level + 1)


def _object_in(layout: FormLayout, node: Json) -> Json:
    """Returns the object that a schema is for, or that the items of its array are."""
    for _ in range(3):
        described = layout.schema.resolved(node)
        if "items" not in described:
            break
        node = described["items"]
    return node


def _type(layout: FormLayout, field: Field, depth: int = 3) -> SafeText:
    """Returns a type with its limits: ``integer, 1 to 10``, ``"a" | "b"``, ``array of string, at most 5 items``."""
    schema = field.schema
    if field.kind is FieldKind.CHOICE:
        some = [value(each.value) for each in field.choices[:VALUES]]
        more = len(field.choices) - len(some)
        some += [safe("{:,} more", more)] if more else []
        return join((*some, words("null") if field.nullable else NOTHING), " | ")
    inner = {"array": schema.get("items"), "object": schema.get("additionalProperties")}
    names: list[SafeText] = []
    for kind in sorted(field.types):
        part = inner.get(kind)
        item = (
            _type(layout, layout.field(("*",), part), depth - 1)
            if isinstance(part, dict) and depth
            else NOTHING
        )
        has_rows = kind == "object" and "properties" in schema
        names.append(safe("{} of {}", kind, item) if item and not has_rows else brief(kind, 40))
    names += [words("null")] if field.nullable else []
    pattern = as_text(schema.get("pattern"))
    limits = (
        bounds(schema),
        length(schema, "Length", words("characters")),
        length(schema, "Items", words("items")),
        words("no item twice") if schema.get("uniqueItems") is True else NOTHING,
        brief(as_text(schema.get("format")), 40),
        safe("matches {}", brief(pattern, 80)) if pattern else NOTHING,
    )
    return join((join(names, " or ") or words("any"), *limits), ", ")


def schema_lines(rows: Sequence[SchemaRow], cells: int) -> Iterator[Line]:
    """Yields the lines of a table in ``cells`` cells. Nothing is cut; without room, descriptions are on separate lines."""
    members = [row for row in rows if len(row.cells) > 1]
    if not members:
        yield from (line((row.cells[0], "muted")) for row in rows)
        return
    used = [at for at in range(len(_TITLES)) if at < 3 or any(row.cells[at] for row in members)]
    natural = [
        min(WIDEST_CELLS, max(width(_TITLES[at]), *(_cells(row, at) for row in members))) for at in used
    ]
    described = any(row.description for row in rows)
    widths = (
        _fitted(natural, cells - DESCRIPTION_CELLS - len(_GAP), 2 * NARROWEST_CELLS) if described else None
    )
    has_columns = widths is not None
    widths = widths or _fitted(natural, cells, NARROWEST_CELLS) or natural
    rest = cells - sum(widths) - len(_GAP) * len(widths)
    spaces = [*widths, rest] if has_columns else widths
    titles = [*(_TITLES[at] for at in used), _DESCRIPTION][: len(spaces)]
    yield _line(titles, spaces, ["header"] * len(spaces))
    tones = [*(_TONES[at] for at in used), ""]
    for row in rows:
        indent = "  " * min(row.level, spaces[0] // 4)
        if len(row.cells) == 1:
            yield line((clip(clean(indent + row.cells[0]), cells), "muted"))
            continue
        texts = [*(row.cells[at] for at in used), row.description]
        parts = [wrap(text, space) for text, space in zip(texts, spaces, strict=False)]
        parts[0] = [clean(indent + each) for each in wrap(texts[0], spaces[0] - len(indent))]
        for pieces in zip_longest(*parts, fillvalue=NOTHING):
            yield _line(pieces, spaces, tones)
        under = clean(indent + "    ")
        for text in () if has_columns else wrap(row.description, cells - len(under)):
            yield line(under, (text, "muted"))


def _line(texts: Sequence[SafeText], spaces: Sequence[int], tones: Sequence[str]) -> Line:
    padded = [safe("{}{}", fit(text, space), _GAP) for text, space in zip(texts, spaces, strict=True)]
    return line(*zip([*padded[:-1], texts[-1]], tones, strict=False))


def _cells(row: SchemaRow, at: int) -> int:
    return width(row.cells[at]) + (2 * row.level if at == 0 else 0)


def _fitted(widths: Sequence[int], cells: int, least: int) -> list[int] | None:
    """Reduces the greatest widths until all columns fit into ``cells`` cells; returns ``None`` if they cannot."""
    space = cells - len(_GAP) * (len(widths) - 1)
    made = narrowed(widths, space, least)
    return made if sum(made) <= space else None
