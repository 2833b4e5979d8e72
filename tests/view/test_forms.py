from __future__ import annotations

import json

import pytest

from mcp_tui.client.forms import Field, FieldEntry, FormLayout, Given, parsed
from mcp_tui.client.schemas import mistake
from mcp_tui.protocol.messages import Json
from mcp_tui.view.form_text import EDITABLE_CHARACTERS, about, bounds, editable, kind, vacant, veiled
from mcp_tui.view.text import clean
from tests.cases import cases
from tests.tui.hostile import PAYLOADS, assert_harmless


def field(schema: Json, *, required: bool = False) -> Field:
    needed: list[Json] = ["a"] if required else []
    return FormLayout({"properties": {"a": schema}, "required": needed}).fields[0]


def nested(levels: int) -> Json:
    return {"type": "array", "items": nested(levels - 1)} if levels else {}


@cases(
    ("schema", "said"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "format": "date"}, "date, as 2026-11-21"),
        ({"type": "string", "format": "email"}, "e-mail address"),
        ({"type": "string", "format": "color"}, "color"),
        ({"type": "string", "minLength": 2, "maxLength": 5}, "text, 2 to 5 characters"),
        ({"type": "integer", "minimum": 1}, "whole number, at least 1"),
        ({"type": "number", "minimum": 0, "maximum": 1.5}, "number, 0 to 1.5"),
        ({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5}, "number, above 0, in steps of 0.5"),
        ({"type": "integer", "maximum": 2**63 - 1}, "whole number, at most 9223372036854775807"),
        ({"type": "number", "minimum": 0.1234567, "maximum": 2.0}, "number, 0.1234567 to 2"),
        (
            {"type": "integer", "minimum": 0, "maximum": 60, "multipleOf": 15},
            "whole number, 0 to 60, in steps of 15",
        ),
        ({"type": "boolean"}, "true or false"),
        ({"enum": ["a", "b", "c"]}, "a, b or c"),
        ({"enum": [f"value {number}" for number in range(9)]}, "one of 9"),
        (
            {"type": "array", "items": {"type": "number"}, "minItems": 1},
            "numbers, one per line, at least 1 items",
        ),
        ({"type": "array", "items": {"enum": ["a", "b"]}}, "any of 2"),
        ({"type": ["string", "integer"]}, "whole number or text; quote it for text"),
        ({}, "JSON, or text"),
        ({"type": "array", "items": {"type": "object"}}, "JSON: [{…}]"),
        ({"type": "array", "items": {"properties": {"x": {}, "y": {}}}}, 'JSON: [{"x": …, "y": …}]'),
        (nested(100), "JSON: [[[…]]]"),
    ],
)
def test_what_a_field_takes(schema: Json, said: str):
    assert kind(field(schema)) == said


def test_bounds_that_are_no_numbers_are_not_told():
    assert bounds({"minimum": "x", "maximum": True}) == ""
    assert bounds({"minimum": 10**400}).startswith("at least 1000")


def said(pieces: list[tuple[str, str]]) -> str:
    return "".join(text for text, _ in pieces)


def test_left_out_empty_and_null_are_told_apart():
    text, several = field({"type": "string"}), field({"type": "array", "items": {"type": "string"}})
    assert said([*vacant(text, None)]) == "not set · text"
    assert said([*vacant(field({"type": "string"}, required=True), None)]) == "required · text"
    assert said([*vacant(text, FieldEntry(Given.TEXT))]) == "empty text"
    assert said([*vacant(several, FieldEntry(Given.TEXT))]) == "empty list"
    assert said([*vacant(text, FieldEntry(Given.NULL))]) == "null"


def test_all_that_a_schema_says_of_a_field():
    made = field(
        {
            "type": ["string", "null"],
            "title": "The A",
            "description": "first\n\n  and more",
            "default": "x",
            "pattern": "^x",
        }
    )
    assert said([*about(made, None)]) == 'a The A  text · default "x" · ^n null · matches ^x\nfirst and more'
    number = field({"type": "integer"})
    assert said([*about(number, FieldEntry(Given.JSON, '"x"'))]) == "a  whole number (type JSON here)"


@cases("name", PAYLOADS)
def test_editable_text_shows_every_character_and_means_the_same(name: str):
    value = {PAYLOADS[name]: [PAYLOADS[name]]}
    text = editable(value)
    assert_harmless(text.replace("\n", ""))
    assert clean(text, newlines=True) == text or name in {"zalgo", "selectors", "emoji", "marks-first"}
    assert json.loads(text) == value
    assert parsed(text) == value


def test_what_cannot_be_edited_says_so():
    with pytest.raises(ValueError, match="too long"):
        editable({"x": "y" * EDITABLE_CHARACTERS})
    deep: Json = {}
    for _ in range(100_000):
        deep = {"x": deep}
    with pytest.raises(ValueError, match="not JSON"):
        editable(deep)


def test_a_mistake_has_a_place():
    with pytest.raises(json.JSONDecodeError) as wrong:
        parsed('{\n  "a": }')
    assert mistake(wrong.value) == "line 2, column 8: expecting value"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "a": 2}', '"a" appears twice'),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": 1e999}', "1e999 is not a JSON number"),
        (f'{{"a": {"9" * 5000}}}', "number with too many digits"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "Arguments must be a JSON object"),
    ],
    ids=range(6),
)
def test_what_cannot_be_sent_as_it_is_typed_is_refused(text: str, said: str):
    with pytest.raises(ValueError, match=said):
        parsed(text)


@cases(
    ("text", "shown"),
    [
        ('{"pin": "12", "a": "b"}', '{"pin": ••••, "a": "b"}'),
        ('{"pin":\n  ["1", {"x": 2}],\n "a": 3}', '{"pin":\n  [•••, {•••: •}],\n "a": 3}'),
        ('{"o": {"pin": "漢"}, "a": 1}', '{"o": {"pin": ••••}, "a": 1}'),
        ('{"pin": "1, \\"2', '{"pin": ' + "•" * 7),
        ('{"a": "pin", "b": 1', '{"a": "pin", "b": 1'),
        ('{"pin": 1}}, {"a": 2}', '{"pin": •}}, {"a": 2}'),
    ],
)
def test_values_of_secret_members_are_hidden_in_any_json(text: str, shown: str) -> None:
    assert veiled(text, lambda name: name == "pin") == shown
