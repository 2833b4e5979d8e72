"""How a server ended, as far as what was done to it before may have to do with it."""

from __future__ import annotations

from typing import Final

from mcp_tui.protocol.events import Cause, Signal
from mcp_tui.protocol.requests import Book

SHORTLY: Final = 2.0
"""Seconds after a cancel within which a server's exit is told together with it."""


def ending(detail: str, book: Book, at: float) -> str:
    """Why the connection is gone at ``at``, for a person; says so where a process ended shortly after a cancel left.

    Some servers cannot bear to be cancelled. That the one came after the other is all that is claimed.
    """
    last = None
    for row in book.order:
        signalled = row.signalled_at
        if signalled is None or row.signal in (None, Signal.NONE) or at - signalled > SHORTLY:
            continue
        if last is None or signalled >= (last.signalled_at or 0.0):
            last = row
    if last is None or last.signalled_at is None:
        return detail
    whose = "your cancel" if last.cause is Cause.USER else "the cancel"
    return f"{detail} {max(0.0, at - last.signalled_at):.2f} s after {whose} of {last.id}"
