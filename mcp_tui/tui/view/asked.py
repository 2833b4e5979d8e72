"""What the server asked, in the cells of one table row: its own requests have a glyph of their own."""

from __future__ import annotations

from typing import Final

from mcp_tui.protocol.asked import Asking
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.badges import Badge
from mcp_tui.tui.view.glyphs import ascii_twin
from mcp_tui.tui.view.rows import RowCells
from mcp_tui.tui.view.text import SafeText, brief, join, words

GLYPH: Final = words("◂")
"""What comes from the server to us."""

_NOTHING: Final = words("")


def asked_badge(asking: Asking) -> Badge:
    """What became of a request of the server's; ``asks`` while it waits for an answer."""
    word, style = words("asks"), "awaiting-input"
    if asking.ended_at is not None:
        match asking.outcome.partition(" ")[0]:
            case "withdrawn":
                word, style = words("withdrawn"), "cancelled"
            case "lost":
                word, style = words("lost"), "lost"
            case _ if asking.code is not None:
                word, style = words("refused"), "failed"
            case _:
                word, style = words("answered"), "completed"
    return Badge(word, GLYPH, ascii_twin(GLYPH), style)


def asked_cells(asking: Asking, now: float, *, after: float | None = None) -> RowCells:
    """The cells of a request of the server's at ``now``; ``after`` is how many seconds after our request it came."""
    return RowCells(
        badge=asked_badge(asking),
        id=brief(str(asking.request_id), 40),
        request=brief(asking.method, 80),
        info=join((_NOTHING if after is None else since(after), outcome(asking)), " "),
        elapsed=durations.elapsed(asking.elapsed(now)),
        limit=_NOTHING,
    )


def outcome(asking: Asking) -> SafeText:
    """What became of it, as it was told."""
    return brief(asking.outcome, 80) if asking.ended_at is not None else words("waits for an answer")


def since(seconds: float) -> SafeText:
    """How long after a request was written something of it came: ``+45 ms``, ``+4.1 s``, ``+2:05``."""
    if seconds < 0.9995:
        return SafeText(f"{seconds * 1000:+.0f} ms")
    if seconds < 59.95:
        return SafeText(f"+{seconds:.1f} s")
    return SafeText(f"+{durations.elapsed(seconds)}")
