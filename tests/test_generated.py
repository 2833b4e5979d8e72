"""The documents say what the code does."""

from __future__ import annotations

from mcp_tui.cli.options import COMMANDS
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


def test_every_command_has_a_page_with_its_options() -> None:
    pages = {page.stem: page.read_text() for page in generated.COMMAND_PAGES.glob("*.md")}
    assert pages.keys() == COMMANDS.keys()
    assert [name for name, text in pages.items() if generated.command_page(name, text) != text] == [], REMAKE
    text = generated.CONNECTING_PAGE.read_text()
    assert generated.connecting_page(text) == text, REMAKE
