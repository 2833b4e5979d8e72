"""Lines of the table that are not rows on their own: what the server asked, and what belongs to a row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from mcp_tui.protocol.asked import Asking
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.badges import Badge, badge
from mcp_tui.tui.view.glyphs import ascii_twin
from mcp_tui.tui.view.rows import RowCells, cells
from mcp_tui.tui.view.text import SafeText, brief, join, words

if TYPE_CHECKING:
    from mcp_tui.tui.view.outline import Item, Leg

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


def cells_of(item: Item, now: float, *, wide: bool = False) -> RowCells:
    """The cells of whatever a line is about."""
    if item.asking is not None:
        return asked_cells(item.asking, now, after=item.after)
    row = item.row
    assert row is not None  # it is one or the other
    if item.leg is not None:
        return _leg_cells(item.leg, row, item.after or 0.0)
    shown = cells(row, now, wide=wide)
    if item.after is None:
        return shown
    return replace(shown, info=join((since(item.after), shown.info), " "))


def _leg_cells(leg: Leg, row: Request, after: float) -> RowCells:
    """A leg says what it went out for; how it goes is what its row says."""
    shown = Badge(SafeText(f"leg {leg.number}"), _OUT, ascii_twin(_OUT), badge(row).style)
    return RowCells(
        badge=shown,
        id=brief(str(leg.id), 40),
        request=brief(row.method, 80),
        info=join((since(after), brief(leg.why, 80)), " "),
        elapsed=_NOTHING,
        limit=_NOTHING,
    )


_OUT: Final = words("→")
