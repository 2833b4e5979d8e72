"""The catalogue of what mcp-tui says: every string of the code that has words, by module, without docstrings.

``python -m tests.strings`` writes it anew to ``tests/strings.txt``; a test fails while they differ, so that whoever adds a
string sees it among the others.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "tests" / "strings.txt"

_WORDED: Final = re.compile(r"[A-Za-z]{2,}\S* +\S*[A-Za-z]{2,}|[A-Za-z]{2,}\S* \{\}|\{\} [A-Za-z]{2,}")
_CODE: Final = re.compile(
    r"\w+\[\w+, |^(SELECT|INSERT|CREATE|DELETE|UPDATE|PRAGMA|BEGIN|DROP|REPLACE) |\{[^}]*;|\(\?P<"
)

FORBIDDEN: Final = re.compile(
    r"\b(is|are) (no|none)\b(?! (longer|more))|\bstands?\b|\bwants?\b|\btells?\b|\bis to be\b|\bof it all\b"
    r"|\bkept\b(?! working)|\bnobody\b|\blet go\b|\bdoes so\b|\banew\b|\bunder way\b|\bkeeps to\b|\bput aside\b"
    r"|\bframes?\b|\blegs?\b|\berrands?\b",
    re.IGNORECASE,
)
"""Words of ours that are not plain English, or have another name on the screen."""

_TWO: Final = re.compile(r"[a-z)'\"}]\. [A-Z]")


def strings(source: str) -> Iterator[str]:
    """The strings of a module that have words. What is put in at run time is ``{}``."""
    nodes = [*ast.walk(ast.parse(source))]
    skipped: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(id(node.value))
        elif isinstance(node, ast.JoinedStr):
            skipped.update(id(part) for part in node.values)
    for node in nodes:
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            continue
        text = " ".join(text.split())
        if _WORDED.search(text) and not _CODE.search(text):
            yield text


@cache
def catalogue() -> dict[str, list[str]]:
    """The strings of every module, sorted."""
    found = {
        str(path.relative_to(ROOT)): sorted(set(strings(path.read_text(encoding="utf-8"))))
        for path in sorted((ROOT / "mcp_tui").rglob("*.py"))
    }
    return {module: texts for module, texts in found.items() if texts}


def page() -> str:
    """The catalogue as a text."""
    parts = ["\n".join((module, *(f"    {text}" for text in texts))) for module, texts in catalogue().items()]
    return "\n\n".join([*parts, ""]).rstrip("\n") + "\n"


def wrong(text: str) -> str:
    """What is wrong with a string, as far as a machine can say; empty for nothing."""
    found = FORBIDDEN.search(text)
    if found is not None:
        return f"{found[0]!r} is not plain English here"
    if _TWO.search(text) and not text.rstrip(")'\"").endswith((".", "?", "!", ":", "…", "{}", "--")):
        return "two sentences end with a full stop"
    return ""


def main() -> int:
    """Write it."""
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
