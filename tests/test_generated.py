"""The documents say what the code does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_tui.cli.manual import EXAMPLES, GROUPS, overview
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


def test_the_help_has_every_command_once_and_an_example_of_it() -> None:
    listed = [name for rows in GROUPS.values() for names in rows for name in names.split(", ")]
    assert sorted(listed) == sorted(COMMANDS)
    assert [name for name in COMMANDS if not EXAMPLES.get(name)] == []
    assert len(overview().splitlines()) <= 40


@pytest.mark.parametrize(
    ("page", "make"),
    [
        (generated.CONNECTING_PAGE, generated.connecting_page),
        (generated.INDEX_PAGE, generated.index_page),
        (generated.CHECKS_PAGE, generated.checks_page),
    ],
    ids=lambda it: getattr(it, "stem", ""),
)
def test_a_page_has_the_table_of_the_command_line(page: Path, make: Callable[[str], str]) -> None:
    text = page.read_text()
    assert make(text) == text, REMAKE
