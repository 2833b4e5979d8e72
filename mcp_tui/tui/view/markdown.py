"""Words of a server's in Markdown: in code, so that they are no markup, no mention and no link there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view.badges import badge
from mcp_tui.tui.view.detail import facts, history
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.text import brief, pretty


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


LONGEST: Final = 16_000
"""Characters of one request's JSON."""


def document(rows: Sequence[Request], exported: Callable[[Request], str], *, now: float) -> str:
    """Requests one after the other: facts, history, and what ``exported`` says of each (JSON)."""
    return "\n".join(_document(rows, exported, now)) + "\n"


def _document(rows: Sequence[Request], exported: Callable[[Request], str], now: float) -> Iterator[str]:
    yield f"# {len(rows)} request{'' if len(rows) == 1 else 's'}"
    for row in rows:
        yield ""
        yield f"## {code(f'{row.id} {request(row)}')}: {badge(row).word}"
        yield ""
        yield from fence(line.text.rstrip() for line in list(facts(row, now))[1:])
        yield ""
        yield "Timeline in seconds:"
        yield ""
        yield from fence(line.text.rstrip() for line in history(row))
        yield ""
        yield from fence(pretty(json.loads(exported(row)), limit=LONGEST), "json")
