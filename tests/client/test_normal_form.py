"""Catalogues in their normal form: listings that mean the same are the same."""

from __future__ import annotations

from typing import Any, cast

from mcp_tui.client.normal_form import canonical, normal_catalogue, normal_schema, text_of
from mcp_tui.protocol.messages import Json
from tests.cases import cases

TEXT: dict[str, Any] = {"type": "string"}
WITHIN: dict[str, Any] = {"properties": {"a/b": {"items": {"$ref": "#/properties/a~1b"}}}}


def of(**members: Any) -> dict[str, Any]:
    return {"type": "object", **members}


@cases(
    ("raw", "made"),
    [
        (of(required=["b", "a", "a"]), of(required=["a", "b"])),
        ({"type": ["null", "string"], "enum": ["b", None]}, {"type": ["null", "string"], "enum": ["b", None]}),
        ({"type": ["string"], "enum": ["b", "a"]}, {"type": "string", "enum": ["a", "b"]}),
        (of(additionalProperties=True, required=[], **{"$schema": "x"}), of()),
        (
            of(properties={"a": {"$ref": "#/$defs/T", "description": "A"}}, **{"$defs": {"T": {**TEXT, "title": "T"}}}),
            of(properties={"a": {**TEXT, "title": "T", "description": "A"}}),
        ),
        ({"allOf": [{"$ref": "#/definitions/T"}], "default": 1, "definitions": {"T": TEXT}}, {**TEXT, "default": 1}),
        (
            {"$ref": "#/$defs/T", "maxLength": 3, "$defs": {"T": TEXT}},
            {"allOf": [TEXT], "maxLength": 3},
        ),
        (
            {"$ref": "#/$defs/Node", "$defs": {"Node": of(properties={"next": {"$ref": "#/$defs/Node"}})}},
            of(properties={"next": {"$ref": "#"}}),
        ),
        (
            {"$ref": "https://a.example/b", "$defs": {"T": {"$id": "https://a.example/b", **TEXT}}},
            {"$ref": "https://a.example/b", "$defs": {"T": TEXT}},
        ),
        (WITHIN, WITHIN),
        ({"$ref": "#/nowhere"}, {"$ref": "#/nowhere"}),
        (True, True),
        ("odd", "odd"),
    ],
)  # fmt: skip
def test_the_normal_form_of_a_schema(raw: Json, made: Json):
    assert normal_schema(raw) == made


def test_definitions_may_have_other_names_and_another_order():
    def tree(name: str, *, turned: bool) -> Json:
        members: dict[str, Any] = {"left": {"$ref": f"#/$defs/{name}"}, "value": TEXT}
        node = of(properties=dict(reversed(members.items())) if turned else members)
        return cast("Json", of(properties={"tree": {"$ref": f"#/$defs/{name}"}}, **{"$defs": {name: node}}))

    first, second = (
        normal_schema(tree(name, turned=turned)) for name, turned in (("Node", True), ("T", False))
    )
    assert text_of(first) == text_of(second)
    assert '"$ref": "#/properties/tree"' in text_of(first)


def test_a_schema_that_grows_without_end_stays_as_it_is():
    defs: dict[str, Any] = {
        f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}", "title": "x"}]}
        for n in range(40)
    }
    bomb = cast("Json", {"$ref": "#/$defs/d0", "$defs": defs})
    assert normal_schema(bomb) == bomb
    deep: Json = {}
    for _ in range(500):
        deep = {"items": deep}
    assert normal_schema(deep) == deep


def test_properties_named_as_keywords_are_kept_without_descriptions():
    raw = cast("Json", of(properties={"description": {**TEXT, "description": "D"}, "title": TEXT}, title="X"))
    assert normal_schema(raw, descriptions=False) == of(properties={"description": TEXT, "title": TEXT})


def test_entries_are_known_by_name_and_without_what_says_nothing():
    tools: list[Any] = [
        {"name": "b", "title": None, "_meta": {"x": 1}, "execution": {"taskSupport": "forbidden"}},
        {"name": "a", "description": "A", "inputSchema": of()},
        {"name": "a"},
    ]
    resources: list[Any] = [
        {"uri": "u:1", "name": "n", "size": 7, "annotations": {"lastModified": "x", "priority": 1}}
    ]
    prompts: list[Any] = [
        {"name": "p", "arguments": [{"name": "z", "required": False}, {"name": "c", "description": "C"}]}
    ]
    made = normal_catalogue({"tools": tools, "resources": resources, "prompts": prompts}, descriptions=False)
    assert made == {
        "tools": {"b": {"name": "b"}, "a": {"name": "a", "inputSchema": of()}, "a (2)": {"name": "a"}},
        "resources": {"u:1": {"uri": "u:1", "name": "n", "annotations": {"priority": 1}}},
        "templates": {},
        "prompts": {"p": {"name": "p", "arguments": [{"name": "c"}, {"name": "z"}]}},
    }
    assert (
        canonical(cast("Json", {"b": "\u200b", "a": 1e999}))
        == '{"a": "a number out of range", "b": "\\u200b"}'
    )
