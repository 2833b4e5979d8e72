from __future__ import annotations

import json
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mcp_tui.tui.view.text import (
    MARKS,
    SafeText,
    brief,
    clean,
    clip,
    fit,
    join,
    paragraphs,
    pretty,
    width,
    words,
    wrap,
)
from tests.tui.hostile import PAYLOADS, assert_harmless

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=200)
NASTY = st.lists(st.one_of(st.sampled_from(list(PAYLOADS.values())), ANYTHING), max_size=4).map("".join)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("", ""),
        ("plain text", "plain text"),
        ("\x1b[31mred", "␛[31mred"),
        ("a\x00b\x7f", "a␀b␡"),
        ("one\r\ntwo", "one␍␊two"),
        ("a\tb", "a    b"),
        ("\x9b2J", "‹009B›2J"),
        ("user\u202enimda", "user‹202E›nimda"),
        ("zero\u200bwidth", "zero‹200B›width"),
        ("\U000e0041", "‹E0041›"),
        ("\ud800", "‹D800›"),
        ("\u2028", "‹2028›"),
        ("e\u0301", "é"),
        ("\u0301e", "‹0301›e"),
        ("❤\ufe0f", "❤"),
        ("❤\ufe0f\ufe0f", "❤‹FE0F›‹FE0F›"),
        ("a\ufe0f", "a‹FE0F›"),
        ("👩\u200d💻", "👩‹200D›💻"),
        ("漢字 Привет שלום", "漢字 Привет שלום"),
        ("[/foo][@click=x]", "[/foo][@click=x]"),
        ("‹202E›", "‹202E›"),
    ],
)
def test_what_cannot_be_shown_is_named(raw: str, shown: str):
    assert clean(raw) == shown


def test_newlines_stay_where_lines_are_wanted():
    assert clean("one\r\ntwo\nthree\rfour", newlines=True) == "one\ntwo\nthree␍four"


def test_marks_have_something_to_stand_on_at_the_start_of_each_line():
    assert clean("a\n\u0301b", newlines=True) == "a\n‹0301›b"


def test_no_character_carries_more_marks_than_fit_on_a_line():
    shown = clean("Z" + "\u0301" * 50)
    assert shown.count("‹0301›") == 50 - MARKS
    assert clean("Z" + "\u0301" * MARKS) == unicodedata.normalize("NFC", "Z" + "\u0301" * MARKS)


def test_a_run_of_marks_takes_no_quadratic_time():
    # Ordering 200,000 marks as NFC asks for would take minutes.
    shown = clean("a" + "\u0301\u0316" * 100_000)
    assert shown.count("‹0301›") + shown.count("‹0316›") == 200_000 - MARKS


@pytest.mark.parametrize("name", PAYLOADS)
def test_hostile_text_becomes_harmless(name: str):
    assert_harmless(clean(PAYLOADS[name]))
    for text in paragraphs(PAYLOADS[name]):
        assert_harmless(text)


@given(NASTY)
def test_anything_becomes_harmless_and_stays_as_it_is(text: str):
    once = clean(text)
    assert_harmless(once)
    assert clean(once) == once
    once.encode("utf-8")
    assert unicodedata.is_normalized("NFC", once)


@given(NASTY, st.integers(0, 40))
def test_clipping_and_fitting_keep_columns(text: str, cells: int):
    safe = clean(text)
    clipped = clip(safe, cells)
    assert cell_len(clipped) <= cells
    assert cell_len(fit(safe, cells)) == cells
    assert cell_len(fit(safe, cells, right=True)) == cells
    assert (clipped == safe) == (cell_len(safe) <= cells)


@given(NASTY, st.integers(2, 40))
def test_wrapping_loses_nothing_but_spaces(text: str, cells: int):
    safe = clean(text)
    lines = wrap(safe, cells)
    assert all(cell_len(line) <= cells for line in lines)
    assert "".join(lines).replace(" ", "") == safe.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "cells", "shown"),
    [
        ("slow_sql", 8, "slow_sql"),
        ("slow_sql", 7, "slow_s…"),
        ("slow_sql", 1, "…"),
        ("slow_sql", 0, ""),
        ("漢字かな", 8, "漢字かな"),
        ("漢字かな", 7, "漢字か…"),
        ("漢字かな", 6, "漢字…"),
        ("e\u0323\u0301xyz", 3, "ẹ́x…"),
    ],
)
def test_clip(text: str, cells: int, shown: str):
    assert clip(clean(text), cells) == clean(shown)


def test_fit_fills_on_either_side():
    assert fit(words("ab"), 4) == "ab  "
    assert fit(words("ab"), 4, right=True) == "  ab"
    assert fit(SafeText("漢字"), 4) == "漢字"
    assert fit(SafeText("漢字"), 3) == "漢…"
    assert fit(SafeText("漢字"), 2) == "… "


def test_width_is_what_rich_measures():
    for text in ("abc", "漢字", "é", "👍", "‹202E›"):
        assert width(SafeText(text)) == cell_len(text)


def test_wrap_breaks_at_spaces():
    assert wrap(words("the quick brown fox"), 10) == ["the quick", "brown fox"]
    assert wrap(words("abcdefghij klm"), 10) == ["abcdefghij", "klm"]
    assert wrap(words("the quick   brown"), 9) == ["the quick", "  brown"]
    assert wrap(words("abcdefghij"), 4) == ["abcd", "efgh", "ij"]
    assert wrap(words(""), 10) == [""]


def test_brief_looks_at_the_start_only():
    assert brief("x" * 10_000_000, 5) == "xxxxx…"
    assert brief("short") == "short"


def test_join_leaves_out_what_is_empty():
    assert join((words("a"), words(""), words("b")), " · ") == "a · b"


# -- payloads --------------------------------------------------------------------------------------------------


def test_pretty_is_json_with_nothing_lost():
    value: dict[str, object] = {
        "name": "slow_sql",
        "arguments": {"query": 'say "ä"', "n": [1, 2.5, None, True]},
        "e": {},
        "l": [],
    }
    lines = pretty(value)
    assert json.loads("\n".join(lines)) == value
    assert lines[1] == '  "name": "slow_sql",'


@pytest.mark.parametrize("name", PAYLOADS)
def test_pretty_shows_hostile_keys_and_values(name: str):
    for line in pretty({PAYLOADS[name]: [PAYLOADS[name]]}):
        assert_harmless(line)


def test_pretty_counts_what_it_does_not_show():
    assert pretty([1] * 100, limit=20)[-2:] == ["  … 95 more items", "]"]
    assert pretty({str(n): n for n in range(100)}, limit=30)[-2] == "  … 96 more members"
    assert pretty("x" * 100, limit=70) == [SafeText('"' + "x" * 70 + '" … 30 more characters')]


def test_pretty_does_not_read_twenty_megabytes():
    reads = 0

    class Watched(list[int]):
        def __iter__(self):
            nonlocal reads
            for item in super().__iter__():
                reads += 1
                yield item

    lines = pretty({"text": "x" * 20_000_000, "after": 1})
    assert sum(map(len, lines)) < 70_000
    assert "19,934,4" in lines[1]
    pretty(Watched(range(1_000_000)))
    assert reads < 20_000


def test_pretty_survives_what_is_no_ordinary_json():
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    assert any("…" in line for line in pretty(deep))
    assert pretty(10**5000) == ["‹int›"]
    assert pretty(float("nan")) == ["NaN"]
    assert pretty(object()) == ["‹object›"]


def test_paragraphs_counts_the_rest():
    assert paragraphs("a\nb") == ["a", "b"]
    assert paragraphs("x" * 100, limit=10) == ["x" * 10, "… 90 more characters"]


def test_the_sanitiser_needs_no_textual():
    code = "import sys, mcp_tui.tui.view.text; print([m for m in sys.modules if m.split('.')[0] in ('textual', 'rich')])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert out.stdout.strip() == "[]"
