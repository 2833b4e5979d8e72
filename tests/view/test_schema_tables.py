from __future__ import annotations

import pytest

from mcp_tui.protocol.messages import Json
from mcp_tui.view.schema_tables import ROWS, schema_lines, schema_rows
from mcp_tui.view.text import width
from tests.cases import cases

ADDRESS: Json = {
    "type": "object",
    "title": "Address",
    "properties": {"street": {"type": "string"}, "zip": {"type": "string", "pattern": "^[0-9]+$"}},
    "required": ["street"],
}
ORDER: Json = {
    "$defs": {"Address": ADDRESS},
    "type": "object",
    "properties": {
        "customer": {"type": "string", "minLength": 1, "description": "Who orders,\nand  pays"},
        "ship_to": {"anyOf": [{"$ref": "#/$defs/Address"}, {"type": "null"}], "default": None},
        "items": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "properties": {"count": {"type": "integer", "default": 1}}},
        },
    },
    "required": ["customer"],
}


def shown(schema: Json, cells: int) -> list[str]:
    return [each.text.rstrip() for each in schema_lines(schema_rows(schema), cells)]


def test_a_schema_is_a_table_with_nested_members_below_theirs():
    assert shown(ORDER, 120) == [
        "Argument  Type                          Required  Default  Description",
        "customer  string, at least 1            yes                Who orders, and pays",
        "          characters",
        "ship_to   object or null                no        null     Address",
        "  street  string                        yes",
        "  zip     string, matches ^[0-9]+$      no",
        "items     array of object, at least 1   no",
        "          items",
        "  count   integer                       no        1",
    ]


def test_without_room_descriptions_have_lines_of_their_own_and_nothing_is_cut():
    lines = shown(ORDER, 50)
    assert lines[0] == "Argument  Type                   Required  Default"
    assert "    Who orders, and pays" in lines
    assert all(width(each) <= 50 for each in lines)
    for cells in (30, 44, 61, 78):
        # as in any table, a cell goes on in the next line
        kept = "".join("".join(shown(ORDER, cells)).split())
        assert all(each in kept for each in ("customer", "Whoorders", "street", "null"))


@cases(
    "part, said",
    [
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"enum": [*range(40)]}, " | ".join([*map(str, range(30)), "10 more"])),
        ({"const": "x"}, '"x"'),
        (
            {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
            'array of "a" | "b", no item twice',
        ),
        ({"type": ["integer", "null"], "minimum": 1, "maximum": 9}, "integer or null, 1 to 9"),
        ({"type": "string", "format": "uri", "maxLength": 5}, "string, at most 5 characters, uri"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "object of number"),
        ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, "integer or string"),
        ({}, "any"),
        (True, "any"),
        ({"type": 5, "enum": "x", "pattern": [], "minimum": "0"}, "any"),
    ],
)
def test_the_type_names_its_values_and_limits(part: Json, said: str):
    [row] = schema_rows({"type": "object", "properties": {"a": part}})
    assert row.cells[1] == said


def test_members_of_alternatives_are_told_apart():
    branches: list[Json] = [
        {"title": "By mail", "properties": {"address": {"type": "string"}}, "required": ["address"]},
        {"properties": {"phone": {"type": "string"}}, "required": ["phone"]},
    ]
    schema: Json = {"type": "object", "properties": {"kind": {"type": "string"}}, "anyOf": branches}
    assert [row.cells[0] for row in schema_rows(schema)] == [
        "kind",
        "either By mail:",
        "address",
        "or:",
        "phone",
    ]


def test_what_names_no_members_has_no_rows():
    assert shown({"type": "object", "properties": {}}, 60) == ["none"]
    assert schema_rows({"type": "object", "additionalProperties": True}) == []
    assert schema_rows({"type": "array"}) == []


@pytest.mark.parametrize("cells", [20, 60, 120])
def test_hostile_schemas_are_text_and_have_an_end(cells: int):
    loop: Json = {"type": "object", "properties": {each: {"$ref": "#"} for each in "abcdefgh"}}
    assert len(schema_rows(loop)) == ROWS + 1
    nasty = "\x1b]0;t\x07[bold]\u202e" + "x" * 5_000
    part: Json = {"enum": [nasty], "default": nasty, "description": nasty, "title": nasty}
    lines = shown({"type": "object", "properties": {nasty: part, "": {"type": nasty}}}, cells)
    assert "[bold]" in "".join("".join(lines).split())
    assert not any(each in text for text in lines for each in "\x1b\x07\u202e")
