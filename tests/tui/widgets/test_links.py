"""URLs in what is read: which are links of the terminal, and that a link is what is seen."""

from __future__ import annotations

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from mcp_tui.tui.view.text import clean
from mcp_tui.tui.widgets.links import linked


def links(text: str, cells: int = 80) -> list[tuple[str, str]]:
    """The links of a line: the text that is seen, and where each leads."""
    made = linked(Strip([Segment(clean(text), Style(bold=True))]), cells)
    assert made.text == clean(text)
    return [(each.text, each.style.link) for each in made if each.style is not None and each.style.link]


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("see https://example.org/a?b=c#d.", "https://example.org/a?b=c#d"),
        ('"url": "http://127.0.0.1:8080/x"', "http://127.0.0.1:8080/x"),
        ("日本 (https://example.org)", "https://example.org"),
    ],
)
def test_a_whole_url_is_a_link_to_what_is_seen(text: str, url: str):
    assert links(text) == [(url, url)]


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org@evil.example/",
        "https://user:word@evil.example/",
        "https://xn--exmple-cua.org/",
        "https://exаmple.org/",  # a Cyrillic letter
        "https://example.org/\x1b]8;;https://evil.example\x1b\\",
        "https://example.org/\u202egpj.exe",
        "javascript:alert(1) file:///etc/passwd",
        "https://example.org/lo…",
    ],
)
def test_a_hostile_or_cut_url_stays_text(text: str):
    assert links(text) == []


def test_a_url_that_may_go_on_in_the_next_line_stays_text():
    assert links("https://example.org/aaaa", 24) == []
    assert links("https://example.org/aaaa", 28) != []
