"""Arguments by a schema: typed from text and checked; schemas are hostile."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from mcp_tui.client.arguments import ArgumentError, check_arguments, typed_arguments
from mcp_tui.protocol.messages import Json
from tests.cases import cases


def one(**property_: Json) -> Json:
    return {"type": "object", "properties": {"a": property_}}


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        (one(type="string"), "012", "012"),
        (one(type="string"), "true", "true"),
        (one(type="string"), "", ""),
        (one(type="string"), "a=b", "a=b"),
        (one(type="integer"), "7", 7),
        (one(type="integer"), "7.0", 7.0),
        (one(type="number"), "0.5", 0.5),
        (one(type="boolean"), "false", False),
        (one(type="null"), "null", None),
        (one(type="array"), "[1, 2]", [1, 2]),
        (one(type="object"), '{"b": 1}', {"b": 1}),
        (one(type=["string", "null"]), "null", None),
        (one(type=["string", "integer"]), "5", 5),
        (one(type=["string", "integer"]), "five", "five"),
        (one(anyOf=[{"type": "string"}, {"type": "null"}]), "null", None),
        (one(anyOf=[{"type": "integer"}, {"type": "null"}]), "3", 3),
        (one(enum=["1", "2"]), "1", "1"),
        (one(), "5", 5),
        (one(), "five", "five"),
        ({}, "[1]", [1]),
        (None, "x", "x"),
        ("no schema", "x", "x"),
        ({"properties": []}, "x", "x"),
        ({"properties": {"a": True}}, "1", 1),
        ({"properties": {"a": {"$ref": "#/$defs/s"}}, "$defs": {"s": {"type": "string"}}}, "5", "5"),
        ({"properties": {"a": {"$ref": "#/$defs/s"}}, "$defs": {"s": {"$ref": "#/$defs/s"}}}, "5", 5),
        ({"$ref": "#/$defs/t", "$defs": {"t": {"properties": {"a": {"type": "string"}}}}}, "5", "5"),
        (one(oneOf=[{"const": "1", "title": "One"}, {"const": "2"}]), "1", "1"),
        (one(allOf=[{"type": "string"}]), "1", "1"),
        (one(anyOf=[{"type": "string"}, {}]), "1", 1),
    ],
    ids=repr,
)
def test_typed(schema: Json, text: str, expected: Json):
    value = typed_arguments(schema, [("a", text)])["a"]
    assert value == expected
    assert type(value) is type(expected)


S: Json = {"type": "string"}
E164: Json = {"allOf": [S, {"pattern": "^[0-9]+$"}]}


def with_a(part: Json) -> Json:
    return {"properties": {"a": part}}


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [with_a(S), {"properties": {"b": S}}]},
        {"oneOf": [{"$ref": "#/$defs/T"}, {"properties": {"b": S}}], "$defs": {"T": with_a(S)}},
        {"allOf": [{"$ref": "#/$defs/T"}, {"properties": {"b": S}}], "$defs": {"T": with_a(S)}},
        {"if": {"properties": {"kind": {"const": "x"}}}, "then": with_a(S)},
        {"if": True, "else": {"anyOf": [with_a(S)]}},
        {"dependentSchemas": {"kind": with_a(S)}},
        {"properties": {"b": {"type": "integer"}}, "additionalProperties": S},
        {"patternProperties": {"^a": S, "^b": {"type": "integer"}}},
        with_a({"allOf": [S, {"maxLength": 20}]}),
        with_a({"anyOf": [{"$ref": "#/$defs/E"}, {"type": "null"}]}) | {"$defs": {"E": E164}},
        with_a({"type": ["string", "integer"], "allOf": [S]}),
    ],
    ids=repr,
)
def test_digits_stay_a_text_wherever_the_schema_says_string(schema: Json):
    assert typed_arguments(schema, [("a", "4915112345")]) == {"a": "4915112345"}


@cases(("kind", "expected"), [("number", 5), ("text", "5")])
def test_where_branches_differ_the_valid_reading_counts(kind: str, expected: Json):
    schema: Json = {
        "oneOf": [
            {
                "properties": {"kind": {"const": "number"}, "a": {"type": "integer"}},
                "required": ["kind", "a"],
            },
            {"properties": {"kind": {"const": "text"}, "a": S}, "required": ["kind", "a"]},
        ]
    }
    assert typed_arguments(schema, [("a", "5"), ("kind", kind)])["a"] == expected


def test_a_name_given_twice_is_an_array_where_the_schema_has_one():
    schema: Json = {"properties": {"a": {"type": "array", "items": S}, "b": S}}
    assert typed_arguments(schema, [("a", "1"), ("a", "x")]) == {"a": ["1", "x"]}
    assert typed_arguments({}, [("a", "1"), ("a", "x")]) == {"a": [1, "x"]}
    with pytest.raises(ArgumentError, match="b is given 2 times, but is not an array"):
        typed_arguments(schema, [("b", "1"), ("b", "2")])


def test_a_refused_array_shows_how_it_may_be_written():
    with pytest.raises(ArgumentError) as caught:
        typed_arguments(one(type="array"), [("a", "/x, /y")])
    assert str(caught.value) == """a must be an array, not '/x, /y': write a='["/x", "/y"]'"""


def test_everything_that_is_wrong_is_named():
    schema: Json = {
        "properties": {
            "a": {"type": "integer"},
            "b": {"type": "boolean"},
            "c": {"enum": ["x"]},
            "d": S,
            "e": {"minimum": 3},
        },
        "required": ["a", "d", "f"],
    }
    with pytest.raises(ArgumentError) as caught:
        typed_arguments(schema, [("a", "one"), ("b", "2"), ("c", "y"), ("e", "1")], {"d": 5})
    said = str(caught.value)
    assert sorted(each[0] for each in said.split("; ")) == ["a", "b", "c", "d", "e", "f"]
    wrong = check_arguments(schema, {"a": 1, "c": "y", "e": 1})
    assert sorted(each[0] for each in wrong.split("; ")) == ["c", "d", "e", "f"]


def test_a_hostile_pattern_of_names_takes_no_time():
    schema: Json = {"patternProperties": {"^(.+)+$x": S}}
    assert typed_arguments(schema, [("a" * 60, "5")]) == {"a" * 60: 5}


@cases(
    ("kind", "text", "said"),
    [
        ("integer", "1.5", "a must be a whole number, not '1.5'"),
        ("integer", "true", "a must be a whole number"),
        ("number", "NaN", "a must be a number"),
        ("number", "-Infinity", "a must be a number"),
        ("number", "1e999", "a must be a number"),
        ("number", "9" * 5000, "a must be a number"),
        ("boolean", "1", "a must be true or false"),
        ("array", "1,2", "a must be an array"),
        ("array", "[" * 100_000, "a must be an array"),
        ("object", "[]", "a must be an object"),
    ],
)
def test_typed_refuses(kind: str, text: str, said: str):
    with pytest.raises(ArgumentError) as caught:
        typed_arguments(one(type=kind), [("a", text)])
    assert said in str(caught.value)
    assert len(str(caught.value)) < 200


def deep(levels: int) -> Json:
    made: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        made = {"properties": {"a": made}}
    return made


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        {"type": "nonsense"},
        {"type": 7},
        {"$ref": "#/nowhere"},
        {"properties": {"a": {"pattern": "("}}},
        {"description": "x" * 2_000_000},
        deep(50),
        deep(400),
        deep(50_000),
    ],
    ids=["none", "true", "nonsense", "number", "dangling", "pattern", "huge", "50", "400", "50000"],
)
def test_a_schema_that_cannot_be_used_checks_nothing(schema: Json):
    assert check_arguments(schema, {"a": 1}) == ""


def test_a_remote_reference_is_never_fetched():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.5)
        base = f"http://127.0.0.1:{server.getsockname()[1]}"
        for schema in (
            {"$ref": f"{base}/schema.json"},
            {"$id": f"{base}/root.json", "$ref": "other.json"},
            {"$schema": f"{base}/meta.json", "type": "object"},
            {"properties": {"a": {"$dynamicRef": f"{base}/x#y"}}},
            {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        ):
            assert check_arguments(schema, {"a": 1}) == ""
        with pytest.raises(TimeoutError):
            server.accept()
