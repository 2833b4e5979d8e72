"""What other clients break on in a list of tools: each rule is broken once, and sound lists break none."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_tui.client.lint import FINDINGS, LINT_RULES, lint
from mcp_tui.protocol.messages import Json
from tests.cases import cases

TEXT: Json = {"type": "string"}


def tool(**more: Any) -> dict[str, Json]:
    """A sound tool with some members replaced; one of ``None`` is left out."""
    made = {"name": "search", "description": "Searches", "inputSchema": {"type": "object"}, **more}
    return {name: value for name, value in made.items() if value is not None}


def takes(properties: Json = None, **more: Json) -> dict[str, Json]:
    return tool(inputSchema={"type": "object", "properties": properties or {}, **more})


@cases(
    ("tools", "rule", "said"),
    [
        ([tool(name=None)], "L-01", "#1  the name is missing"),
        ([tool(name="a b")], "L-01", "a b  many clients refuse this name"),
        ([tool(name="admin.list")], "L-01", "admin.list  many clients refuse this name"),
        ([tool(name="n" * 65)], "L-01", f"{'n' * 65}  many clients refuse this name"),
        ([tool(), tool()], "L-02", "search  2 tools have this name"),
        ([tool(description=" ")], "L-03", "search  the description is missing"),
        ([tool(inputSchema=None)], "L-04", "search  inputSchema: the schema is missing"),
        ([tool(inputSchema=[])], "L-04", "search  inputSchema: the schema is an array, no object"),
        ([tool(inputSchema={})], "L-04", "search  inputSchema.type: the type is missing"),
        ([tool(inputSchema={"type": "string"})], "L-04", "search  inputSchema.type: the type is 'string'"),
        ([tool(outputSchema={"type": "array"})], "L-05", "search  outputSchema.type: the type is 'array'"),
        (
            [takes({"a": {"$ref": "#/$defs/b"}}, **{"$defs": {"a": TEXT}})],
            "L-06",
            "search  inputSchema.properties.a.$ref: '#/$defs/b' leads nowhere",
        ),
        (
            [tool(outputSchema={"type": "object", "items": {"$ref": "https://a.example/b"}})],
            "L-07",
            "search  outputSchema.items.$ref: 'https://a.example/b' leads outside, and no client may fetch it",
        ),
        (
            [takes({"a": {"type": "string", "required": True}})],
            "L-08",
            'search  inputSchema: properties.a.required: true is not of type "array"',
        ),
        ([takes({"$top": TEXT})], "L-09", "search  inputSchema.properties.$top: model APIs refuse this name"),
        (
            [takes({"a": TEXT}, oneOf=[{"required": ["a"]}])],
            "L-10",
            "search  inputSchema.oneOf: model APIs refuse this at the root",
        ),
        (
            [takes({"a": {"type": ["array", "null"]}})],
            "L-11",
            "search  inputSchema.properties.a: an array without items is refused by clients",
        ),
        (
            [takes({"a": TEXT}, required=["b"])],
            "L-12",
            "search  inputSchema.required: 'b' is in no properties",
        ),
    ],
)
def test_each_rule_is_broken_by_one_thing(tools: list[dict[str, Json]], rule: str, said: str):
    assert [(each.rule, str(each)) for each in lint(tools)] == [(rule, said)]


def test_two_names_that_agents_make_one_are_named():
    """Claude Code 2.1.332, opencode 1.18.33, and Kilo 7.7.7 (findings/three-agents-make-one-of-two-tools.sh)."""
    found = lint([tool(name="a_b"), tool(name="a.b"), tool(name="a-b")])
    assert [str(each) for each in found if each.rule == "L-02"] == [
        "a.b  some agents offer this and 'a_b' as one tool"
    ]


def test_a_list_that_was_cut_is_not_whole():
    (found,) = lint([tool()], cut=["tools/list gave the cursor 'a' twice"])
    assert (found.rule, found.tool, str(found)) == ("L-13", "", "tools/list gave the cursor 'a' twice")
    assert found.rule == [*LINT_RULES][-1]


@pytest.mark.parametrize(
    "sound",
    [
        takes({"a": {"$ref": "#"}, "b": {"$ref": "#/properties/a"}}),
        takes({"a": {"$ref": "#/$defs/no%20name"}}, **{"$defs": {"no name": True}}),
        takes({"a": {"default": {"$ref": "#/nowhere"}, "const": {"$ref": "x:y"}}}),
        takes({"default": {"type": "array", "items": TEXT}, "enum": TEXT}, required=["default"]),
        takes(**{"$defs": {"n": {"$id": "n.json", "$defs": {"k": TEXT}, "items": {"$ref": "#/$defs/k"}}}}),
        takes({"a": {"$ref": "n.json#/items"}}, **{"$defs": {"n": {"$id": "n.json", "items": TEXT}}}),
        takes({"a": {"type": "array", "prefixItems": [TEXT]}}),
        takes(required=["a"], additionalProperties=TEXT),
        takes({"a": {"anyOf": [TEXT, {"type": "null"}]}}),
        takes({"a": TEXT}, **{"$schema": "http://json-schema.org/draft-07/schema#"}),
        takes({"a": TEXT}, **{"$schema": "http://127.0.0.1:1/unknown"}),
        takes({"a": TEXT}, required=["a"], dependentSchemas={"a": {"required": ["a"]}}),
    ],
    ids=str,
)
def test_a_sound_tool_breaks_no_rule(sound: dict[str, Json]):
    assert lint([sound]) == []


def test_an_output_of_any_type_is_sound_where_the_protocol_permits_it():
    assert lint([tool(outputSchema={"type": "array", "items": TEXT})], any_output=True) == []


def test_a_hostile_list_has_an_end():
    deep: Json = TEXT
    for _ in range(400):
        deep = {"type": "object", "properties": {"a": deep}}
    odd: Json = {"$ref": "#/nowhere"}
    assert lint([takes({"a": deep})]) == []
    assert len(lint([takes({f"a{number}": odd for number in range(9000)})])) == FINDINGS
