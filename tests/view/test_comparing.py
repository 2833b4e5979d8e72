"""Where two requests differ."""

from __future__ import annotations

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.protocol.messages import Json
from mcp_tui.view.comparing import (
    ABSENT,
    DIFFERENCE_LINES,
    Side,
    comparison,
    json_differences,
    text_differences,
)
from tests.tui.making import cancelled, completed, late, row, started

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("a", 1, 2)]),
        ({"a": 1}, {"a": True}, [("a", 1, True)]),
        ([1], [True], [("[0]", 1, True)]),
        ({"a": {"b c": 1}}, {"a": {}}, [('a["b c"]', 1, ABSENT)]),
        ({}, {"n": None}, [("n", ABSENT, None)]),
        ([1, 2, 3], [0, 1, 2, 3], [("[0]", ABSENT, 0)]),
        ([{"id": 1, "t": 5}], [{"id": 1, "t": 6}], [("[0].t", 5, 6)]),
        ("x", ["x"], [("", "x", ["x"])]),
    ],
)
def test_json_differs_member_by_member(before: Json, after: Json, found: list[object]):
    assert [*json_differences(before, after)] == found


@given(VALUES)
def test_a_value_does_not_differ_from_its_copy(value: Json):
    assert not [*json_differences(value, copy.deepcopy(value))]


def test_values_of_any_depth_are_compared():
    before: Json = 1
    after: Json = 2
    for _ in range(400):
        before, after = [before], [after]
    ((path, _, _),) = json_differences(before, after)
    assert path == "[0]" * 100


def test_text_differs_word_by_word():
    lines = [*text_differences("one\ntwo cats\nend", "one\ntwo dogs\nend\nmore")]
    assert [each.text for each in lines] == [
        "  … 1 equal line",
        "− two cats",
        "+ two dogs",
        "  … 1 equal line",
        "+ more",
    ]
    assert [text for text, tone in lines[1].segments if tone == "error"] == ["− ", "cats"]


def result(content: Json, **more: Json) -> Side:
    return Side(row(started()), {"request": {}, "response": {"result": {"content": content, **more}}})


def page(word: str) -> str:
    return "Same.\n" * 120 + f"Never return {word} times, {'on and ' * 90}end.\n" + "Same.\n" * 80


def said(before: Side, after: Side) -> list[str]:
    return [each.text for each in comparison(before, after, 9.0)[2].lines]


def text(*texts: str) -> Json:
    return [{"type": "text", "text": each} for each in texts]


def test_of_a_changed_text_only_the_changed_lines_are_shown_wherever_it_is():
    pages = page("one"), page("two")
    wanted = [
        "  … 120 equal lines",
        "− Never return one times, on and on and on and on and on and on and on and on…",
        "+ Never return two times, on and on and on and on and on and on and on and on…",
        "  … 80 equal lines",
    ]
    assert said(*(result(text(each), structuredContent={"result": each}) for each in pages)) == wanted
    assert said(*(result(text(each)) for each in pages)) == wanted
    inside = said(*(result([], structuredContent={"n": 1, "pages": ["", each]}) for each in pages))
    assert inside == ["  pages[1]  ", *wanted]
    as_json = said(*(result(text(json.dumps({"page": each}))) for each in pages))
    assert as_json == ["  page  ", *wanted]


def test_a_value_is_not_cut_before_its_first_difference():
    before, after = ("x" * 5000 + each for each in ("one", "two"))
    shown = said(result([], structuredContent=before), result([], structuredContent=after))
    assert shown == [f"− …{'x' * 60}one", f"+ …{'x' * 60}two"]
    deep: list[Json] = [before, after]
    for _ in range(120):
        deep = [[each] for each in deep]
    (shown,) = said(*(result([], structuredContent=each) for each in deep))
    assert "one" in shown
    assert "two" in shown


def test_what_no_text_and_no_structured_content_says_is_compared_too():
    image: Json = {"type": "image", "mimeType": "image/png", "data": "AAAA"}
    other: Json = {"type": "image", "mimeType": "image/png", "data": "AAAB"}
    assert said(result([image]), result([other])) == ['  data  "AAAA" → "AAAB"']
    both = [result(text(f"Run {each}"), structuredContent={"n": 1}) for each in "12"]
    assert said(*both) == ['  content[0]  "Run 1" → "Run 2"']
    assert said(result(text("a\n")), result(text("a"))) == ["  … 1 equal line", "− "]


def answered(id: int, rows: int) -> Side:
    content = [{"type": "text", "text": f'{{"rows": {rows}}}'}]
    params = {"name": "count", "arguments": {"table": "items"}, "_meta": {"progressToken": id}}
    messages: dict[str, object] = {
        "request": {"params": params},
        "response": {"result": {"content": content}},
    }
    return Side(row(started(id), completed(at=1.0 + id, id=id)), messages)


def test_facts_arguments_and_answers_stand_below_each_other():
    facts, arguments, answers = comparison(answered(1, 3), answered(2, 4), 9.0)
    assert [each.text[:4] for each in facts.lines[:2]] == ["− 1 ", "+ 2 "]
    assert [each.text for each in arguments.lines] == ["the same"]
    assert [each.text for each in answers.lines] == ["  rows  3 → 4"]
    silent = Side(row(started()), {"request": {"params": {}}})
    assert comparison(silent, answered(2, 4), 9.0)[2].lines[0].text == "only the second has one"


def test_time_is_compared_between_two_answers_alone():
    def times(before: Side, after: Side) -> list[str]:
        return [each.text for each in comparison(before, after, 9.0)[0].lines if each.text.startswith("time")]

    fast, slow = (Side(row(started(each), completed(at=1.0 * each, id=each)), {}) for each in (1, 2))
    assert times(fast, slow) == ["time    2.0 × as slow"]
    given_up = Side(row(started(), *cancelled(at=2.2), late(after=2.8, at=5.0)), {})
    assert times(given_up, fast) == ["time    − cancelled after 2.2s; its answer came at 5.0s"]
    assert times(fast, Side(row(started()), {})) == ["time    + still running"]


def test_large_texts_are_compared_up_to_a_bound_and_said_to_go_on():
    before, after = ("\n".join(f"{word} {at}" for at in range(1500)) for word in ("one", "two"))
    sides: list[Side] = []
    for text in (before, after):
        result: Json = {"result": {"content": [{"type": "text", "text": text}]}}
        sides.append(Side(row(started()), {"request": {}, "response": result}))
    *shown, last = comparison(*sides, now=9.0)[2].lines
    assert len(shown) == DIFFERENCE_LINES
    assert last.text == "… more than 500 lines differ"
    long = [each.text for each in text_differences("a " * 1000, "b " * 1000)]
    assert [each[:4] for each in long] == ["− a ", "+ b "]
