"""Lines of the table that are not rows on their own: what the server asked, and what belongs to a row."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from mcp_tui.protocol.requests import Request, ServerRequest
from mcp_tui.tui.view import durations
from mcp_tui.tui.view.badges import Badge, badge
from mcp_tui.tui.view.glyphs import ascii_twin
from mcp_tui.tui.view.rows import RowCells, cells
from mcp_tui.tui.view.text import SafeText, brief, join, safe, words

if TYPE_CHECKING:
    from mcp_tui.tui.view.outline import Item, RoundLine

GLYPH: Final = words("◂")
"""What comes from the server to us."""

_NOTHING: Final = words("")


def server_request_badge(server_request: ServerRequest) -> Badge:
    """What became of a request of the server's; ``asks`` while it waits for an answer."""
    word, style = words("asks"), "awaiting-input"
    if server_request.ended_at is not None:
        match server_request.outcome.partition(" ")[0]:
            case "withdrawn":
                word, style = words("withdrawn"), "cancelled"
            case "lost":
                word, style = words("lost"), "lost"
            case _ if server_request.code is not None:
                word, style = words("refused"), "failed"
            case _:
                word, style = words("answered"), "completed"
    return Badge(word, GLYPH, ascii_twin(GLYPH), style)


def server_request_cells(
    server_request: ServerRequest, now: float, *, after: float | None = None
) -> RowCells:
    """The cells of a request of the server's at ``now``; ``after`` is how many seconds after our request it came."""
    return RowCells(
        badge=server_request_badge(server_request),
        id=brief(str(server_request.request_id), 40),
        request=brief(server_request.method, 80),
        info=join((_NOTHING if after is None else since(after), outcome(server_request)), " "),
        elapsed=durations.elapsed(server_request.elapsed(now)),
        limit=_NOTHING,
    )


def outcome(server_request: ServerRequest) -> SafeText:
    """What became of it, as it was told."""
    return (
        brief(server_request.outcome, 80)
        if server_request.ended_at is not None
        else words("waits for an answer")
    )


def since(seconds: float) -> SafeText:
    """How long after a request was written something of it came: ``+45 ms``, ``+4.1 s``, ``+2:05``."""
    if seconds < 0.9995:
        return safe("{:+.0f} ms", seconds * 1000)
    if seconds < 59.95:
        return safe("+{:.1f} s", seconds)
    return safe("+{}", durations.elapsed(seconds))


def cells_of(item: Item, now: float, *, wide: bool = False) -> RowCells:
    """The cells of whatever a line is about."""
    if item.server_request is not None:
        return server_request_cells(item.server_request, now, after=item.after)
    row = item.row
    assert row is not None  # it is one or the other
    if item.round_ is not None:
        return _round_cells(item.round_, row, item.after or 0.0)
    shown = cells(row, now, wide=wide)
    if item.after is None:
        return shown
    return replace(shown, info=join((since(item.after), shown.info), " "))


def _round_cells(round_: RoundLine, row: Request, after: float) -> RowCells:
    """A round says what it went out for; how it goes is what its row says."""
    shown = Badge(safe("round {}", round_.number), _OUT, ascii_twin(_OUT), badge(row).style)
    return RowCells(
        badge=shown,
        id=brief(str(round_.id), 40),
        request=brief(row.method, 80),
        info=join((since(after), brief(round_.why, 80)), " "),
        elapsed=_NOTHING,
        limit=_NOTHING,
    )


_OUT: Final = words("→")
