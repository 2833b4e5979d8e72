from __future__ import annotations

import json

import pytest

from mcp_tui.client.schemas import mistake
from mcp_tui.protocol.messages import Json
from mcp_tui.tui.view.catalogue import Entry, found, tools
from mcp_tui.tui.view.forms import EDITABLE, editable, parsed
from mcp_tui.tui.view.text import clean
from tests.tui.hostile import PAYLOADS, assert_harmless


def test_claims_are_called_unverified():
    made = Entry(
        "tools", {"name": "t", "annotations": {"readOnlyHint": False, "destructiveHint": True, "x": 1}}
    )
    assert made.described()[0].text == "server claims: not read-only, destructive (unverified)"


def test_only_what_says_so_of_itself_is_destructive():
    def destructive(**annotations: Json) -> bool:
        return Entry("tools", {"name": "t", "annotations": annotations}).destructive

    assert destructive(destructiveHint=True)
    assert not destructive(destructiveHint=True, readOnlyHint=True)
    assert not destructive(destructiveHint="yes")
    assert not destructive()


def test_a_definition_changes_with_anything_that_is_said():
    made = {"name": "t", "description": "\ud800", "annotations": {"destructiveHint": True}}
    assert Entry("tools", made).definition == Entry("tools", dict(reversed(made.items()))).definition
    assert Entry("tools", made).definition != Entry("tools", {**made, "title": "t"}).definition


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
    with pytest.raises(ValueError, match="too long"):
        editable({"x": "y" * EDITABLE})
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
