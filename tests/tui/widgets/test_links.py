"""URLs in what is read: which are links of the terminal, and that a link is what is seen."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from mcp_tui.tui.widgets.detail_pane import wrapped_lines
from mcp_tui.tui.widgets.links import linked
from mcp_tui.view.detail import Section, fact
from mcp_tui.view.lines import Segments
from mcp_tui.view.markdown import MarkdownPage
from mcp_tui.view.pages import JsonPage, TextPage
from mcp_tui.view.text import clean, words, wrap
from tests.cases import cases


def links(lines: Sequence[Segments], number: int = 0) -> list[tuple[str, str]]:
    """The links of a line: the text that is seen, and where each leads."""
    text = "".join(piece for piece, _ in lines[number])
    made = linked(Strip([Segment(text, Style(bold=True))]), number, lines.__getitem__)
    assert made.text == text
    return [(each.text, each.style.link) for each in made if each.style is not None and each.style.link]


def one(text: str) -> list[Segments]:
    return [((clean(text), ""),)]


@cases(
    ("text", "url"),
    [
        ("see https://example.org/a?b=c#d.", "https://example.org/a?b=c#d"),
        ('"url": "http://127.0.0.1:8080/x"', "http://127.0.0.1:8080/x"),
        ("日本 (https://example.org)", "https://example.org"),
    ],
)
def test_a_whole_url_is_a_link_to_what_is_seen(text: str, url: str):
    assert links(one(text)) == [(url, url)]


@cases(
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
    assert links(one(text)) == []


@pytest.mark.parametrize("piece", ['"http://a\\', "(http://", "http://xn--", "'https://a:1:"])
def test_a_text_of_one_url_again_and_again_is_read_once(piece: str):
    assert links(one(piece * 30_000)) == []  # a search from each of them to the end took minutes


LONG = "https://example.org/a/path/that/is/longer/than/a/line?and=goes&on=over#three"


@pytest.mark.parametrize(
    "page", [TextPage, JsonPage, MarkdownPage, None], ids=["text", "json", "markdown", "facts"]
)
def test_a_url_that_is_broken_over_lines_is_one_link_to_the_whole(
    page: type[TextPage | JsonPage | MarkdownPage] | None,
):
    text = f"see {LONG}, then https://example.org/x."
    if page is None:
        lines = wrapped_lines(Section(words("Error"), [fact("error", clean(text))]), 34)
    else:
        shown = page(text)
        shown.lay_out(34)
        shown.toggle(0)
        lines = [shown.line(number).segments for number in range(shown.count)]
    found = [each for number in range(len(lines)) for each in links(lines, number)]
    parts = [seen for seen, url in found if url == LONG]
    assert ("".join(parts), len(parts) > 2) == (LONG, True)
    assert "".join(seen for seen, url in found if url == "https://example.org/x") == "https://example.org/x"
    assert len(dict(found)) == len(found)


def test_a_url_does_not_take_the_next_line_where_a_word_ends():
    lines = [((each, ""),) for each in wrap(clean("https://example.org/aaaa bbbb"), 24)]
    assert links(lines) == [("https://example.org/aaaa", "https://example.org/aaaa")]
    assert links(lines, 1) == []
