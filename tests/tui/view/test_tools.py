from __future__ import annotations

import json

import pytest

from mcp_tui.protocol.messages import Json
from mcp_tui.tui.view.text import clean
from mcp_tui.tui.view.tools import EDITABLE, NotArguments, Tool, editable, found, parsed, tools
from tests.tui.hostile import PAYLOADS, assert_harmless


def described(properties: dict[str, Json], **more: Json) -> list[str]:
    made = Tool({"name": "t", "inputSchema": {"properties": properties, **more}})
    return [line.text for line in made.described()]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string"}, "a  string"),
        ({"type": ["string", "null"]}, "a  string or null"),
        ({"type": "array", "items": {"type": "number"}}, "a  array of number"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "a  string or null"),
        ({"enum": ["x", 1, None]}, 'a  "x" or 1 or null'),
        ({"const": True}, "a  true"),
        ({"type": "number", "minimum": 0, "maximum": 1.5}, "a  number, 0 to 1.5"),
        ({"type": "integer", "minimum": 1}, "a  integer, at least 1"),
        ({"type": "integer", "maximum": 9}, "a  integer, at most 9"),
        ({"type": "integer", "default": 3, "description": "how\n many"}, "a  integer  default 3  how many"),
        ({}, "a  anything"),
        ("no schema", "a  anything"),
        ({"type": 7, "enum": [], "anyOf": {}, "items": 3}, "a  anything"),
        ({"type": "number", "minimum": 10**400}, f"a  number, at least {'1' + '0' * 59}…"),
    ],
)
def test_an_argument_in_words(schema: Json, said: str):
    assert described({"a": schema})[-1] == said


def test_what_must_be_there_is_marked():
    assert described({"a": {"type": "string"}}, required=["a", 7])[-1] == "a  string  required"


def test_a_tool_without_arguments_says_so():
    assert described({}) == ["It names no arguments."]


def test_claims_are_called_unverified():
    made = Tool({"name": "t", "annotations": {"readOnlyHint": False, "destructiveHint": True, "x": 1}})
    assert made.described()[0].text == "says of itself, unverified: changes things, destructive"


def test_a_schema_that_refers_to_itself_ends():
    nested: dict[str, Json] = {"type": "array"}
    for _ in range(100):
        nested = {"type": "array", "items": nested}
    assert len(described({"a": nested})[-1]) < 100


def test_names_come_before_mentions():
    listed = tools(
        [
            {"name": "a", "description": "like count"},
            {"name": "recount"},
            {"name": "count"},
            {"name": ""},
        ]
    )
    assert [tool.name for tool in found(listed, "COUNT")] == ["count", "recount", "a"]
    assert [tool.name for tool in found(listed, "count like")] == ["a"]
    assert [tool.name for tool in found(listed, " ")] == ["a", "recount", "count"]


@pytest.mark.parametrize("name", PAYLOADS)
def test_editable_text_shows_every_character_and_means_the_same(name: str):
    value = {PAYLOADS[name]: [PAYLOADS[name]]}
    text = editable(value)
    assert_harmless(text.replace("\n", ""))
    assert clean(text, newlines=True) == text or name in {"zalgo", "selectors", "emoji", "marks-first"}
    assert json.loads(text) == value
    assert parsed(text) == value


def test_what_cannot_be_edited_says_so():
    with pytest.raises(NotArguments, match="too long"):
        editable({"x": "y" * EDITABLE})
    deep: Json = {}
    for _ in range(100_000):
        deep = {"x": deep}
    with pytest.raises(NotArguments, match="no JSON"):
        editable(deep)


def test_a_mistake_has_a_place():
    with pytest.raises(NotArguments, match="line 2, column 8: ") as wrong:
        parsed('{\n  "a": }')
    assert (wrong.value.line, wrong.value.column) == (2, 8)
