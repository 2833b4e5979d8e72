"""The names of the arguments that a schema takes, in whatever branch they stand. Schemas are hostile."""

from __future__ import annotations

import pytest

from mcp_tui.client.parameters import usage
from mcp_tui.protocol.messages import Json


def takes(*names: str, **more: Json) -> dict[str, Json]:
    """A schema with members; those without brackets are required."""
    properties: dict[str, Json] = {name.strip("[]"): {"type": "string"} for name in names}
    return {"properties": properties, "required": [name for name in names if name[0] != "["], **more}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (takes("query", "[limit]"), "query [limit]"),
        ({"oneOf": [takes("kind", "address"), takes("kind", "phone")]}, "kind address | kind phone"),
        (takes("text", anyOf=[takes("file"), takes("url")]), "text (file | url)"),
        (takes("text", anyOf=[takes("file"), takes()]), "text [file]"),
        (takes("text", anyOf=[takes("file"), takes("url"), takes()]), "text [file | url]"),
        (takes("a", allOf=[takes("b"), takes("[c]", "d")]), "a b [c] d"),
        (takes("b", allOf=[takes("a")]), "a b"),
        (takes("b", **{"$ref": "#/$defs/a", "$defs": {"a": takes("a")}}), "a b"),
        (takes("[a]", "[b]", anyOf=[{"required": ["a"]}, {"required": ["b"]}]), "a [b] | [a] b"),
        (
            takes("[kind]", **{"if": {}, "then": takes("phone"), "else": takes("mail")}),
            "[kind] [phone] [mail]",
        ),
        (takes("[a]", dependentSchemas={"a": takes("b")}), "[a] [b]"),
        ({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/a"}], "$defs": {"a": takes("a")}}, "a"),
        ({"oneOf": [{"oneOf": [takes("a"), takes("b")]}, takes("c")]}, "a | b | c"),
        ({"oneOf": [takes("type", "value"), takes("type", "value")]}, "type value"),
        (takes("a" * 50), "a" * 39 + "…"),
        ({"additionalProperties": {"type": "string"}}, ""),
        (None, ""),
        (True, ""),
        ({"$ref": "#"}, ""),
        ({"properties": 5, "required": "a", "oneOf": {"a": 1}, "allOf": [None, 5]}, ""),
    ],
    ids=str,
)
def test_names_stand_in_the_order_of_the_schema_and_branches_apart(schema: Json, said: str):
    assert usage(schema) == said


def test_branches_that_refer_to_each_other_have_an_end():
    loop: Json = {"$ref": "#"}
    schema = {"properties": {"a": True}, "anyOf": [loop] * 50, "allOf": [loop] * 50, "oneOf": [loop] * 50}
    assert usage(schema) == "[a]"
