"""Every race that the code or a test names by its number is explained in docs/explanation/races.md."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/explanation/races.md").read_text("utf-8")
EXPLAINED = re.findall(r"^### (C-\d\d) .+\n\S", PAGE, re.MULTILINE)


def _named(folder: str, pattern: str) -> set[str]:
    found: set[str] = set()
    for file in (ROOT / folder).rglob("*.py"):
        found |= set(re.findall(pattern, file.read_text("utf-8")))
    return found


def test_numbers_in_the_code_are_explained():
    assert _named("mcp_tui", r"\bC-\d\d\b") - set(EXPLAINED) == set()


def test_explained_races_are_played_by_a_test_and_explained_once():
    names = _named("tests", r"\bdef (test_c\d\d_\w+)")
    played = {f"C-{number}" for name in names for number in re.findall(r"(?<=[_])c(\d\d)(?=_)", name)}
    assert set(EXPLAINED) == played
    assert len(EXPLAINED) == len(set(EXPLAINED))
