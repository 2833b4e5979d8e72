"""Markdown as lines of text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.view.markdown import MARKDOWN_CHARACTERS, MarkdownLines, is_markdown
from mcp_tui.view.text import width
from tests.cases import cases

TEXT = """# Report
Some **bold** words and a [link](https://example.com/a?b=c).

- one
  - inner item that is long enough to wrap
1. first
2. second

> quoted

```python
def f():
```

| a | bb |
|---|---|
| 1 | two |
"""


def drawn(text: str, cells: int = 32) -> list[str]:
    return [line.text.rstrip() for line in MarkdownLines(text, cells).lines]


def test_blocks_are_drawn_as_a_person_reads_them():
    assert drawn(TEXT) == [
        "Report",
        "",
        "Some bold words and a link",
        "(https://example.com/a?b=c).",
        "",
        "• one",
        "  • inner item that is long",
        "    enough to wrap",
        "",
        "1. first",
        "2. second",
        "",
        "▏ quoted",
        "",
        "  def f():",
        "",
        "a  bb",
        "1  two",
    ]


def test_html_and_images_are_text():
    assert drawn("<b>x</b> ![pic](http://h/p.png)", 60) == ["<b>x</b> [image: pic] (http://h/p.png)"]


@cases(
    ("text", "found"),
    [
        ("# a", True),
        ("- a\n- b", True),
        ("a **b c** d", True),
        ("see [a](https://b)", True),
        ("```\nx\n```", True),
        ("| a | b |\n|---|---|", True),
        ("- a\nb", False),
        ("#!/bin/sh", False),
        ("a * b * c", False),
        ("total 4\n-rw-r--r-- 1 root root 0 a", False),
        ("12:00 done", False),
    ],
)
def test_plain_text_is_not_taken_for_markdown(text: str, found: bool):
    assert is_markdown(text) is found
    assert is_markdown(text, "text/markdown; charset=utf-8")


@pytest.mark.parametrize("piece", ["[", "![", "\n", " ", "-", "|", "[a](", ":- ", "*a_ "])
def test_a_text_of_one_sign_again_and_again_is_plain_text(piece: str):
    text = piece * (MARKDOWN_CHARACTERS // len(piece))
    assert not is_markdown(text)  # a search that went back over what it had seen took minutes
    assert all(width(line.text) <= 80 for line in MarkdownLines(text, 80).lines)


@given(st.text(max_size=300), st.integers(8, 60))
def test_any_text_is_drawn_within_its_cells(text: str, cells: int):
    for line in MarkdownLines(text, cells).lines:
        assert width(line.text) <= max(cells, 8) + 2 * 30
        assert "\x1b" not in line.text
