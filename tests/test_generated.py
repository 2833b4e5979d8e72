"""The documents say what the code does."""

from __future__ import annotations

from tests import generated

REMAKE = "run: python -m tests.generated"


def test_the_keys_of_the_guide_are_those_of_the_footer() -> None:
    text = generated.GUIDE.read_text()
    assert generated.guide(text) == text, REMAKE


def test_the_page_of_keys_is_up_to_date() -> None:
    assert generated.KEYS_PAGE.read_text() == generated.keys_page(), REMAKE


def test_the_page_of_rules_is_up_to_date() -> None:
    assert generated.RULES_PAGE.read_text() == generated.rules_page(), REMAKE


def test_the_diagram_of_states_is_up_to_date() -> None:
    assert generated.STATES_PAGE.read_text() == generated.states_page(), REMAKE
