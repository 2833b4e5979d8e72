"""What mcp-tui says: the catalogue is up to date, and every string is plain English as far as a machine can say."""

from __future__ import annotations

import pytest

from tests import strings

ALLOWED = frozenset(
    {
        "reports too little progress to tell",
        "animated, the first frame",
        "kept in the recording of mcp-tui",
        "not kept",
        "the first of {:,} frames",
        "wire messages frames traffic raw json",
        "{}. Check {}, or add {} to no_proxy",
    }
)
"""Strings in which a forbidden word or form is right: words to search for, and a sentence whose end is added later."""


def test_the_catalogue_of_strings_is_up_to_date():
    assert strings.page() == strings.PAGE.read_text(encoding="utf-8"), "run: python -m tests.strings"


def test_every_string_is_plain_english():
    found = [
        f"{module}: {text!r}: {problem}"
        for module, texts in strings.catalogue().items()
        for text in texts
        if text not in ALLOWED and (problem := strings.wrong(text))
    ]
    assert not found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("--args is no JSON", "'is no' is not plain English here"),
        ("what stands in the catalogue", "'stands' is not plain English here"),
        ("Command not found: {}. Install it or give its full path", "two sentences end with a full stop"),
        ("Command not found: {}. Install it or give its full path.", ""),
        ("the server is no longer there", ""),
    ],
)
def test_what_a_machine_can_see_of_a_string(text: str, problem: str):
    assert strings.wrong(text) == problem


def test_strings_are_found_without_docstrings_and_code():
    source = 'def f():\n    """Says it."""\n    tell(f"no {what} here", "SELECT a FROM b", "dict[str, int]", "one two")\n'
    assert list(strings.strings(source)) == ["no {} here", "one two"]
