"""Words of a server's in Markdown: in code, so that they are no markup, no mention and no link there."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mcp_tui.tui.view.text import brief


def fence(lines: Iterable[str], language: str = "") -> Iterator[str]:
    """Lines in a fence that nothing inside can close."""
    some = [line.rstrip("\n") for line in lines]
    ticks = "`" * max(3, max(map(_longest, some), default=0) + 1)
    yield f"{ticks}{language}"
    yield from some
    yield ticks


def code(text: str) -> str:
    """A code span of one line; empty for an empty text."""
    shown = brief(text, 1000)
    if not shown.strip():
        return ""
    ticks = "`" * (_longest(shown) + 1)
    space = " " if shown[0] in "` " or shown[-1] in "` " else ""
    return f"{ticks}{space}{shown}{space}{ticks}"


def _longest(text: str) -> int:
    """The longest run of backticks."""
    return max(map(len, re.findall(r"`+", text)), default=0)
