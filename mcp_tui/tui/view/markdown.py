"""Some requests as Markdown. Whatever a server said stands in fences, so that it is no markup, mention or link there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view.badges import badge
from mcp_tui.tui.view.detail import facts, history
from mcp_tui.tui.view.quoted import code, fence
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.text import pretty

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
        yield "What happened when, in seconds:"
        yield ""
        yield from fence(line.text.rstrip() for line in history(row))
        yield ""
        yield from fence(pretty(json.loads(exported(row)), limit=LONGEST), "json")
