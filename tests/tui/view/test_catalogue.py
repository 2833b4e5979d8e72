from __future__ import annotations

import pytest

from mcp_tui.tui.view.catalogue import Catalogue
from mcp_tui.tui.view.text import words


def catalogue(*names: str) -> Catalogue:
    made = Catalogue()
    schema = {"properties": {"query": {"type": "string"}}, "required": ["query"]}
    made.put("tools", [{"name": name, "inputSchema": schema} for name in names])
    return made


def test_names_and_arguments_stand_in_columns_where_there_is_room():
    made = catalogue("add", "slow_sql")
    assert [made.line(number, 40).text.rstrip() for number in made.numbers] == [
        "Tools 2",
        "  add       query",
        "  slow_sql  query",
    ]


@pytest.mark.parametrize("cells", [14, 18])
def test_where_there_is_none_names_are_shown_alone(cells: int):
    made = catalogue("add", "get-annotated-message")
    first, second = (made.line(number, cells).text for number in (1, 2))
    assert "query" not in first
    assert "…" not in first
    assert second.startswith("  get-annota")
    assert len(second) == cells


def test_a_kind_that_could_not_be_read_says_why():
    made = Catalogue()
    made.put("prompts", [], words("refused"))
    assert "refused" in made.line(0, 40).text
