"""Rules that no linter knows: what the source must not contain."""

from __future__ import annotations

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "mcp_tui"
TEXT = PACKAGE / "view" / "text.py"


def casts(source: str) -> list[int]:
    """The lines on which text is called safe without being looked at."""
    if not re.search(r"\bSafeText\s*\(", source):
        return []  # to parse all modules takes seconds
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "SafeText"
    ]


def test_text_becomes_safe_only_in_the_module_that_cleans_it():
    found = {
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in PACKAGE.rglob("*.py")
        if path != TEXT
        for line in casts(path.read_text(encoding="utf-8"))
    }
    assert not found, "use safe(template, *parts), clean(text) or words(literal)"


def test_the_lint_finds_a_cast_in_a_sentence():
    assert casts('x = 1\nsaid = SafeText(f"called {x}")') == [2]


def test_what_starts_a_module_of_ours_takes_none_from_the_working_directory():
    starts = [
        (path.name, flag)
        for path in PACKAGE.rglob("*.py")
        for flag in re.findall(r'("-P", )?"-m", "mcp_tui[\w.]*", ?[^\]]', path.read_text(encoding="utf-8"))
    ]
    assert starts
    assert all(flag for _, flag in starts), "a file there may have the name of a module"


def test_no_handler_of_an_event_calls_that_of_its_base():
    found = [
        f"{path.relative_to(PACKAGE)}: {call}"
        for path in (PACKAGE / "tui").rglob("*.py")
        for call in re.findall(r"super\(\)\._?on_(?!event\b)\w+", path.read_text(encoding="utf-8"))
    ]
    assert not found, "Textual calls the handlers of all classes itself: timers would run twice"
