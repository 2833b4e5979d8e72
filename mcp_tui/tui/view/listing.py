"""Requests in the words of a question: how many, and which."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view.rows import request
from mcp_tui.tui.view.text import SafeText, brief, safe


def plural(count: int) -> SafeText:
    """``1 request``, ``3 requests``."""
    return safe("{:,} request{}", count, "" if count == 1 else "s")


def listed(rows: Iterable[Request], most: int = 8) -> list[SafeText]:
    """Requests by id and name, a few of them."""
    all_ = list(rows)
    lines = [safe("{}  {}", brief(str(row.id), 40), request(row)) for row in all_[-most:][::-1]]
    if len(all_) > most:
        lines.append(safe("… and {:,} more", len(all_) - most))
    return lines


def safe_name(text: str) -> str:
    """``text`` as a part of a file's name."""
    return "".join(each if each.isascii() and each.isalnum() else "-" for each in text[:40])
