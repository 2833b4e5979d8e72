from __future__ import annotations

import math
import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mcp_tui.view.text import (
    STACKED_MARKS,
    clean,
    clip,
    fit,
    pretty,
    words,
    wrap,
)
from tests.cases import cases
from tests.tui.hostile import PAYLOADS, assert_harmless

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=200)
NASTY = st.lists(st.one_of(st.sampled_from(list(PAYLOADS.values())), ANYTHING), max_size=4).map("".join)


@cases(
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


def test_no_character_carries_more_marks_than_fit_on_a_line():
    shown = clean("Z" + "\u0301" * 50)
    assert shown.count("‹0301›") == 50 - STACKED_MARKS
    assert clean("Z" + "\u0301" * STACKED_MARKS) == unicodedata.normalize(
        "NFC", "Z" + "\u0301" * STACKED_MARKS
    )


def test_a_run_of_marks_takes_no_quadratic_time():
    # Ordering 200,000 marks as NFC asks for would take minutes.
    shown = clean("a" + "\u0301\u0316" * 100_000)
    assert shown.count("‹0301›") + shown.count("‹0316›") == 200_000 - STACKED_MARKS


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


def test_wrap_breaks_at_spaces():
    assert wrap(words("the quick brown fox"), 10) == ["the quick", "brown fox"]
    assert wrap(words("abcdefghij klm"), 10) == ["abcdefghij", "klm"]
    assert wrap(words("the quick   brown"), 9) == ["the quick", "  brown"]
    assert wrap(words("abcdefghij"), 4) == ["abcd", "efgh", "ij"]
    assert wrap(words(""), 10) == [""]


# -- payloads --------------------------------------------------------------------------------------------------


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
    assert pretty(10**5000) == pretty(math.inf) == ["‹a number out of range›"]
    assert pretty(float("nan")) == ["‹a number out of range›"]
    assert pretty(object()) == ["‹object›"]
