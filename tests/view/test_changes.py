"""What a new start of a server changed, in one line."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_tui.protocol.messages import Json
from mcp_tui.view.changes import answer_changes, list_changes
from mcp_tui.view.comparing import Side
from tests.tui.making import completed, row, started


def tool(name: str, **properties: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object", "properties": properties}}


def test_lists_say_what_came_and_went_and_where_a_schema_changed():
    before = {"tools": [tool("a"), tool("b", n={"type": "string"})], "prompts": [{"name": "p"}]}
    after = {"tools": [tool("b", n={"type": "integer"}), tool("c\x1b")], "prompts": [{"name": "p"}]}
    assert list_changes(before, after) == (
        "tools added c␛, removed a, changed b; inputSchema of b: properties.n.type"
    )
    assert list_changes(before, before) == "same lists"


def side(answer: Any, *, is_error: bool = False) -> Side:
    message: Json = {"result": {"content": [], "structuredContent": answer}}
    return Side(row(started(), completed(is_error=is_error)), {"response": message})


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({"n": 1}, {"n": 1}, "same answer"),
        ({"n": 1}, {"n": "\x1b"}, 'answer: n 1 → "\\u001b"'),
        ({}, dict.fromkeys("abcde", 0), "answer: a nothing → 0; also b, c, d and 1 more"),
        ("a\nsix cats\nb\n", "a\nsix dogs\nb\n", "answer: line 2 six [cats → dogs]"),
        ("a\nb", "a\nnew\nnewer\nb", "answer: lines 2 to 3 nothing → new"),
        (
            {"page": "a\n" * 200 + "x " * 200 + "one. " + "x " * 100, "n": 1},
            {"page": "a\n" * 200 + "x " * 200 + "two. " + "x " * 100, "n": 2},
            "answer: page line 201 …x x x x [one. → two.] x x x x…; also n",
        ),
    ],
)
def test_an_answer_says_where_it_differs(before: Any, after: Any, said: str):
    assert answer_changes(side(before), side(after)) == said


def test_another_outcome_is_said_before_any_text():
    assert answer_changes(side({}), side({}, is_error=True)) == "✗ tool error (before: completed)"
