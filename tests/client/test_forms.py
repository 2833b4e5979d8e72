"""Schemas as fields, drafts as arguments, and back."""

from __future__ import annotations

import pytest

from mcp_tui.client.forms import (
    BRANCH,
    Draft,
    Field,
    FieldEntry,
    FieldKind,
    FormLayout,
    Given,
    Unreadable,
    read,
    same,
    secret_members,
)
from mcp_tui.protocol.messages import Json
from tests.cases import cases
from tests.tui.hostile import PAYLOADS


def one(schema: Json, **defs: Json) -> FormLayout:
    return FormLayout({"properties": {"a": schema}, "$defs": defs})


def spread(layout: FormLayout, arguments: dict[str, Json]) -> Draft:
    draft = layout.spread(arguments)
    assert draft is not None
    return draft


def leaves(layout: FormLayout) -> list[Field]:
    return [each for each in layout.fields if each.kind is not FieldKind.OBJECT]


def kind(schema: Json, **defs: Json) -> FieldKind:
    return one(schema, **defs).fields[0].kind


KINDS: list[tuple[Json, FieldKind]] = [
    ({"type": "string"}, FieldKind.TEXT),
    ({"type": "number"}, FieldKind.NUMBER),
    ({"type": ["integer", "number"]}, FieldKind.NUMBER),
    ({"type": "integer"}, FieldKind.INTEGER),
    ({"type": "boolean"}, FieldKind.BOOLEAN),
    ({"enum": ["a", 1, None]}, FieldKind.CHOICE),
    ({"const": 3}, FieldKind.CHOICE),
    ({"oneOf": [{"const": 1, "title": "One"}, {"const": 2}]}, FieldKind.CHOICE),
    ({"anyOf": [{"enum": ["a"]}, {"const": "b"}, {"type": "null"}]}, FieldKind.CHOICE),
    ({"enum": [[1], {"a": 1}]}, FieldKind.JSON),
    ({"type": "array", "items": {"type": "integer"}}, FieldKind.LIST),
    ({"type": "array", "items": {"enum": ["a", "b"]}}, FieldKind.SEVERAL),
    (
        {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b"}]}},
        FieldKind.SEVERAL,
    ),
    ({"type": "array"}, FieldKind.JSON),
    ({"type": "array", "items": {"type": ["string", "null"]}}, FieldKind.JSON),
    ({"type": "array", "items": {"type": "object"}}, FieldKind.JSON),
    ({"type": "array", "prefixItems": [{}], "items": {"type": "string"}}, FieldKind.JSON),
    ({"type": "object", "properties": {"b": {}}}, FieldKind.OBJECT),
    ({"type": "object"}, FieldKind.JSON),
    ({"anyOf": [{"type": "string"}, {"type": "null"}]}, FieldKind.TEXT),
    ({"anyOf": [{"type": "string"}, {"enum": ["a"]}]}, FieldKind.TEXT),
    ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, FieldKind.ANY),
    ({"anyOf": [{"type": "string"}, {"type": "array"}]}, FieldKind.ANY),
    ({"anyOf": [{"type": "object"}, {"type": "array"}]}, FieldKind.JSON),
    ({}, FieldKind.ANY),
    (True, FieldKind.ANY),
    ({"description": "whatever"}, FieldKind.ANY),
    ({"not": {}}, FieldKind.JSON),
    ({"allOf": [{"type": "string"}]}, FieldKind.TEXT),
    ({"allOf": [{"type": "string"}, {"minLength": 1}]}, FieldKind.JSON),
    ("nonsense", FieldKind.ANY),
    ({"type": 7}, FieldKind.ANY),
    ({"$ref": "#/$defs/s"}, FieldKind.TEXT),
    ({"$ref": "#/$defs/nothing"}, FieldKind.JSON),
    ({"$ref": "#/properties/a"}, FieldKind.JSON),
    ({"$ref": "http://x.example/"}, FieldKind.JSON),
]


@pytest.mark.parametrize(("schema", "expected"), KINDS, ids=repr)
def test_what_a_property_becomes(schema: Json, expected: FieldKind):
    assert kind(schema, s={"type": "string"}) is expected


def test_objects_have_fields_two_deep_and_json_below():
    inner: dict[str, Json] = {"type": "object", "properties": {"d": {"type": "string"}}}
    for name in ("c", "b", "a"):
        inner = {"type": "object", "properties": {name: inner}}
    layout = FormLayout(inner)
    assert [(leaf.path, leaf.kind) for leaf in leaves(layout)] == [(("a", "b", "c"), FieldKind.JSON)]
    tree: Json = {"type": "object", "properties": {"n": {"type": "integer"}, "next": {"$ref": "#"}}}
    assert [(".".join(leaf.path), leaf.kind) for leaf in leaves(FormLayout(tree))] == [
        ("n", FieldKind.INTEGER),
        ("next.n", FieldKind.INTEGER),
        ("next.next.n", FieldKind.INTEGER),
        ("next.next.next", FieldKind.JSON),
    ]


def test_references_resolve_within_the_schema_and_what_stands_beside_comes_on_top():
    layout = one(
        {"$ref": "#/$defs/x~1y", "description": "mine"},
        **{"x/y": {"$ref": "#deep"}, "z": {"$anchor": "deep", "type": "boolean", "description": "theirs"}},
    )
    assert layout.fields[0].kind is FieldKind.BOOLEAN
    assert layout.fields[0].schema["description"] == "mine"


def test_defaults_are_filled_in_where_they_are_sent():
    layout = FormLayout(
        {
            "properties": {
                "plain": {"type": "integer", "default": 3},
                "null": {"type": ["string", "null"], "default": None},
                "odd": {"type": "integer", "default": "x"},
                "only": {"const": "v1"},
                "optional": {"type": "object", "properties": {"x": {"default": 1}}},
                "needed": {"type": "object", "properties": {"x": {"default": 1}}},
                "whole": {"type": "object", "properties": {"x": {}}, "default": {"x": 2}},
                "empty": {"type": "object", "properties": {"x": {"default": 1}}, "default": {}},
            },
            "required": ["only", "needed", "empty"],
        }
    )
    arguments, wrong = layout.read(spread(layout, layout.defaults()))
    assert arguments == {
        "plain": 3,
        "odd": "x",
        "only": "v1",
        "needed": {"x": 1},
        "whole": {"x": 2},
        "empty": {},
    }
    assert wrong == []
    assert [str(each) for each in layout.problems(spread(layout, layout.defaults()))] == [
        'odd: "x" is not of type "integer"'
    ]


VALUES: list[Json] = [
    "",
    "x",
    "012",
    "null",
    "true",
    '"quoted"',
    "[1]",
    "a\nb",
    "a\r\nb",
    "\u2028",
    0,
    1,
    1.0,
    1.5,
    10**30,
    True,
    False,
    None,
    [],
    [""],
    ["a", ""],
    ["a\nb"],
    ["a", 1],
    [1, 2],
    {},
    {"b": 1},
    {"b": {"c": [None]}},
]

OBJECT: Json = {"type": "object", "properties": {"b": {"type": "integer"}}}

SCHEMAS: list[Json] = [
    {"type": "string"},
    {"type": ["string", "null"]},
    {"type": "number"},
    {"type": "boolean"},
    {"enum": ["x", "true", True, 1, "1", None, ""]},
    {"type": "array", "items": {"type": "string"}},
    {"type": "array", "items": {"enum": ["a", "b"]}},
    {"type": ["string", "integer"]},
    {"type": ["string", "array"]},
    {},
    OBJECT,
    {"type": "object"},
]


@pytest.mark.parametrize("schema", SCHEMAS, ids=repr)
def test_whatever_stands_in_a_field_is_sent_as_it_was_put_in(schema: Json):
    layout = one(schema)
    for value in [*VALUES, *PAYLOADS.values()]:
        draft = layout.spread({"a": value})
        assert draft is not None, value
        arguments, wrong = layout.read(draft)
        assert wrong == [], value
        assert same(arguments, {"a": value}), value
    assert layout.spread({"unknown": 1}) is None


def test_what_cannot_be_read_is_told_and_kept():
    layout = FormLayout(
        {"properties": {"n": {"type": "integer"}, "l": {"type": "array", "items": {"type": "number"}}}}
    )
    draft: Draft = {("n",): FieldEntry(Given.TEXT, "1.5"), ("l",): FieldEntry(Given.TEXT, "1\nx")}
    arguments, wrong = layout.read(draft)
    assert arguments == {"n": "1.5", "l": "1\nx"}
    assert [str(each) for each in wrong] == ["n: must be a whole number", "l: line 2: must be a number"]


@cases(
    ("schema", "text", "said"),
    [
        ({"type": "number"}, "NaN", "must be a number"),
        ({"type": "number"}, "1e999", "must be a number"),
        ({"type": "integer"}, "9" * 5000, "must be a whole number"),
        ({"type": "boolean"}, "yes", "must be true or false"),
        (
            {"type": "object"},
            "{",
            "not JSON: line 1, column 2: expecting property name enclosed in double quotes",
        ),
        ({}, "{", "not JSON: line 1, column 2: expecting property name enclosed in double quotes"),
        ({"type": ["boolean", "integer"]}, "x", "must be true or false or a whole number"),
    ],
)
def test_what_is_no_value_says_so_in_one_sentence(schema: Json, text: str, said: str):
    field = one(schema).fields[0]
    given = Given.JSON if field.kind is FieldKind.JSON and text == "{" else Given.TEXT
    with pytest.raises(Unreadable) as caught:
        read(field, FieldEntry(given, text))
    assert str(caught.value) == said


@cases(
    ("name", "more", "secret"),
    [
        ("password", {}, True),
        ("loginPassword", {}, True),
        ("answer", {"format": "password"}, True),
        ("answer", {"writeOnly": True}, True),
        ("answer", {"title": "Your API key"}, True),
        ("answer", {"description": "the pass phrase of your key"}, True),
        ("digits", {"type": "integer", "title": "PIN"}, True),
        ("answer", {"title": "API-Schlüssel"}, True),
        ("answer", {"title": "Ihr Zugangspasswort"}, True),
        ("answer", {"title": "暗証番号（4桁）"}, True),
        ("answer", {"title": "新しいパスワードを入力"}, True),
        ("answer", {"title": "APIキー"}, True),
        ("answer", {"title": "Введите пароль"}, True),
        ("answer", {"title": "Your pass\u200bword"}, True),
        ("answer", {"title": "ＰＩＮ"}, True),
        ("answer", {"title": "Contrasen\u0303a"}, True),
        ("answer", {"title": "Schlüsselwörter"}, False),
        ("answer", {"title": "キーワード"}, False),
        ("answer", {"description": "Max tokens, a passing grade"}, False),
        ("answer", {"type": "boolean", "description": "Reset your password?"}, False),
        ("answer", {"enum": ["a", "b"], "title": "Password policy"}, False),
        ("name", {"description": "Your name, pinned to the top"}, False),
        ("format", {"format": "email"}, False),
    ],
)
def test_a_field_that_asks_for_a_secret_is_known(name: str, more: dict[str, Json], secret: bool):
    (field,) = FormLayout({"type": "object", "properties": {name: {"type": "string", **more}}}).fields
    assert field.secret is secret


MAIL: Json = {"title": "By mail", "properties": {"kind": {"const": "mail"}, "to": {"type": "string"}}}
CALL: Json = {
    "properties": {"kind": {"const": "call"}, "phone": {"type": "string"}, "to": {"type": "integer"}}
}
BRANCHED: Json = {
    "type": "object",
    "properties": {"text": {"type": "string", "default": "hi"}, "kind": {"enum": ["mail", "call"]}},
    "oneOf": [{**MAIL, "required": ["kind", "to"]}, {"allOf": [CALL, {"required": ["kind", "phone"]}]}],
    "required": ["text"],
}


def names(layout: FormLayout, draft: Draft) -> list[str]:
    return [each.name for each in layout.fields_of(draft)]


def test_branches_are_a_choice_and_then_their_fields():
    layout = FormLayout(BRANCHED)
    assert layout.choice is not None
    assert [(each.label, each.title) for each in layout.choice.choices] == [
        ("kind=mail to", "By mail"),
        ("kind=call phone [to]", ""),
    ]
    draft = layout.started()
    assert draft is not None
    assert (names(layout, draft), layout.read(draft)) == (
        ["text", "kind", "to"],
        ({"text": "hi", "kind": "mail"}, []),
    )
    assert [str(each) for each in layout.problems(draft)] == ["to is required"]
    typed = {**draft, ("text",): FieldEntry(Given.TEXT, "ho"), ("to",): FieldEntry(Given.TEXT, "me")}
    assert layout.problems(typed) == []
    chosen = {**typed, BRANCH: FieldEntry(Given.TEXT, "kind=call phone [to]")}
    turned = layout.turned(chosen, before=typed)
    assert (names(layout, turned), layout.read(turned)[0]) == (
        ["text", "kind", "phone", "to"],
        {"text": "ho", "kind": "call"},
    )


def test_arguments_go_into_the_branch_that_they_fit():
    layout = FormLayout(BRANCHED)
    for arguments in ({"text": "a", "kind": "call", "phone": "1"}, {"text": "a", "kind": "mail", "to": "b"}):
        draft = spread(layout, arguments)
        assert draft[BRANCH].text.startswith(f"kind={arguments['kind']}")
        assert layout.read(draft) == (arguments, [])
        assert layout.problems(draft) == []
    assert layout.spread({"more": 1}) is None


def test_branches_that_differ_in_what_they_require_have_the_same_fields():
    either: Json = [{"required": ["a"]}, {"required": ["b"]}]
    layout = FormLayout({"properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "anyOf": either})
    assert (layout.choice, names(layout, {})) == (None, ["a", "b"])
    assert layout.problems({})
    assert not layout.problems({("b",): FieldEntry(Given.TEXT, "x")})


def test_members_of_all_parts_of_a_schema_are_fields():
    part: Json = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    layout = FormLayout({"allOf": [{"$ref": "#/$defs/p"}], "properties": {"b": {}}, "$defs": {"p": part}})
    assert [(each.name, each.required) for each in layout.fields] == [("a", True), ("b", False)]


LISTED: Json = {
    "type": "object",
    "properties": {
        "who": {
            "type": "object",
            "properties": {"name": {"type": "string", "default": "me"}, "pin": {"type": "string"}},
        },
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"a": {"type": "integer", "default": 1}, "b": {"type": "string"}},
            },
        },
    },
}


def test_an_object_that_was_not_added_is_absent_and_one_that_was_has_its_defaults():
    layout = FormLayout(LISTED)
    who, rows = layout.fields_of({})
    draft = layout.added({}, who)
    assert layout.read(draft)[0] == {"who": {"name": "me"}}
    draft = {path: entry for path, entry in draft.items() if path != ("who", "name")}
    assert layout.read(draft)[0] == {"who": {}}, "what is seen is sent"
    assert layout.read(layout.removed(draft, who))[0] == {}
    for _ in range(3):
        draft = layout.added(draft, rows)
    draft[("rows", "2", "b")] = FieldEntry(Given.TEXT, "third")
    assert layout.read(draft)[0] == {"who": {}, "rows": [{"a": 1}, {"a": 1}, {"a": 1, "b": "third"}]}
    second = next(each for each in layout.fields_of(draft) if each.path == ("rows", "1"))
    draft = layout.removed(draft, second)
    assert layout.read(draft)[0] == {"who": {}, "rows": [{"a": 1}, {"a": 1, "b": "third"}]}
    for _ in range(2):
        first = next(each for each in layout.fields_of(draft) if each.path == ("rows", "0"))
        draft = layout.removed(draft, first)
    assert layout.read(draft)[0] == {"who": {}}, "without its last item a list is absent"


@cases(
    "rows, fields",
    [
        ([{"a": 1}, {}], True),
        ([], True),
        (None, False),
        ("x", False),
        ([{"a": 1, "c": 2}], False),
        ([{"a": 1}, None], False),
        ([{"a": number} for number in range(1000)], False),
    ],
)
def test_items_have_fields_if_these_can_hold_them_and_are_not_too_many(rows: Json, fields: bool):
    layout = FormLayout(LISTED)
    draft = layout.spread({"rows": rows})
    assert draft is not None
    assert layout.read(draft) == ({"rows": rows}, [])
    assert (draft[("rows",)].given is Given.TEXT) is fields


def test_secrets_are_found_in_objects_and_items():
    items: Json = {
        "type": "array",
        "items": {"type": "object", "properties": {"password": {"type": "string"}}},
    }
    found = secret_members({"type": "object", "properties": {"x": items}}, {"x": [{"password": "p"}, {}]})
    assert [*found] == [("password", "p")]
