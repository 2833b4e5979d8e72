"""The columns of the request table: for each column a function that returns a cell, and an entry of :func:`columns`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple

from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.states import State
from mcp_tui.view import badges, durations, rows
from mcp_tui.view.columns import BY_NAME, NEWEST, Column, Columns, Sort, StyledPiece
from mcp_tui.view.outline import Item
from mcp_tui.view.text import NOTHING, SafeText, brief, clean, join, safe, words

LONG_TEXT_CELLS: Final = 104
"""The least width of a row with longer texts."""


class TableLine(NamedTuple):
    """A line of the table at the time ``now``.

    ``item`` is a request, a later round of a request (``item.round_``), a child of a request (``item.after``), or a request
    from the server. ``wide`` selects longer texts; ``still`` leaves out countdowns. ``loss`` is the reason why the
    connection was lost, as in the server bar. ``logged_at`` has the times of all log messages. ``server`` is the name of
    the server if there are several.
    """

    item: Item
    now: float
    wide: bool = False
    still: bool = False
    loss: str = ""
    logged_at: Sequence[float] = ()
    server: str = ""

    @property
    def row(self) -> Request | None:
        """The request; ``None`` for a round of a request, and for a request from the server."""
        return None if self.item.round_ is not None else self.item.row

    @property
    def badge(self) -> badges.Badge:
        """The state as a word, a glyph, and a style."""
        item = self.item
        if item.server_request is not None:
            return badges.server_request_badge(item.server_request)
        assert item.row is not None  # an item without a server request has one
        if item.round_ is None:
            return badges.badge(item.row, self.now)
        return replace(badges.ROUND, style=badges.badge(item.row, self.now).style)


# -- the cells --------------------------------------------------------------------------------------------------


def _state(line: TableLine) -> StyledPiece:
    return line.badge.word, line.badge.style


def _id(line: TableLine) -> StyledPiece:
    item = line.item
    if item.server_request is not None:
        id_ = item.server_request.request_id
    elif item.round_ is not None:
        id_ = item.round_.wire_id
    else:
        id_ = "" if item.row is None else item.row.id
    return brief(str(id_), 40), "muted"


def _request(line: TableLine) -> StyledPiece:
    """Returns the method and the name, indented for a child."""
    item = line.item
    if item.server_request is not None:
        text = brief(item.server_request.method, 80)
    else:
        assert item.row is not None  # as above
        text = rows.request(item.row) if item.round_ is None else safe("round {}", item.round_.number)
    internal = item.row is not None and item.row.internal
    text = text if item.after is None else safe("  {}", text)
    return text, "muted" if internal else ""


def _children(line: TableLine) -> SafeText:
    """Returns the number of children, with a minus sign while they are shown: `` [+3]``."""
    item = line.item
    return safe(" [{}{:,}]", "-" if item.expanded else "+", item.children) if item.children else NOTHING


def _name(line: TableLine) -> StyledPiece:
    """Returns the cell of :func:`_request` without ``tools/call``."""
    text, tone = _request(line)
    return clean(
        text.replace("tools/call ", "", 1) if text.lstrip().startswith("tools/call ") else text
    ), tone


_MUTED_STYLES: Final = frozenset({"cancelled", "completed", "lost", "queued"})
"""The styles of badges with a muted result."""

_KEPT_STYLES: Final = frozenset({"late", "overdue"})
"""The styles of badges whose result has the style of the badge."""


def _info(line: TableLine) -> StyledPiece:
    item, row, style = line.item, line.row, line.badge.style
    if item.server_request is not None:
        text = badges.outcome_of(item.server_request)
    elif row is None:
        text = brief(item.round_.why, 80) if item.round_ is not None else NOTHING
    elif line.still and item.after is None and row.overdue_until is not None:
        text = words("overdue")
    elif row.state is State.LOST and _repeats(line.loss, row.error) and not row.late:
        text = NOTHING
    else:
        text = rows.info(row, line.now, wide=line.wide)
    since = NOTHING if item.after is None else durations.lag(item.after)
    return join(
        (since, text), " "
    ), "muted" if style in _MUTED_STYLES else style if style in _KEPT_STYLES else ""


def _repeats(loss: str, error: str) -> bool:
    """Whether the reason of a loss begins with an error: ``Exited with code 7 (1 s after …)``."""
    begins, end = loss.casefold().startswith(error.casefold()), loss[len(error) :]
    return bool(error) and begins and not end[:1].isalnum()


def _elapsed(line: TableLine) -> StyledPiece:
    if line.item.server_request is not None:
        return durations.elapsed(line.item.server_request.elapsed(line.now)), ""
    if line.row is None or line.row.sent_at is None:
        return NOTHING, ""
    shown = durations.elapsed(line.row.elapsed(line.now))
    return (safe("{}!", shown), "warning") if rows.near_limit(line.row, line.now) else (shown, "")


def _limit(line: TableLine) -> StyledPiece:
    row = line.row
    return NOTHING if row is None else rows.limit(row, wide=line.wide), "muted"


def _server(line: TableLine) -> StyledPiece:
    return brief(line.server, 40), "muted"


# -- the columns -----------------------------------------------------------------------------------------------

_BY_ELAPSED: Final = Sort("elapsed", lambda row, now: -row.elapsed(now))
_BY_STATE: Final = Sort("state", lambda row, now: badges.BADGES.index(badges.badge(row, now)))
"""The order of :data:`~mcp_tui.view.badges.BADGES`: open requests first."""


@lru_cache(8)
def columns(cells: int, *, servers: bool = False) -> Columns[TableLine]:
    """Returns the columns of a line of ``cells`` cells; ``servers`` adds a column with the name of the server."""
    wide = cells >= LONG_TEXT_CELLS
    server = Column(title=words("Server"), cell=_server, usual=6, most=16, leaves=3)
    return (
        Column(title=words("State"), cell=_state, usual=11, most=11, sort=_BY_STATE),
        Column(title=words("Id"), cell=_id, usual=4, most=12, right=True),
        *([server] if servers else []),
        Column(
            title=words("Request"),
            cell=_request if wide else _name,
            tail=_children,
            least=14,
            usual=28 if wide else 16,
            step=8,
            most=max(28, cells * 2 // 5),
            gap=2,
            sort=BY_NAME,
        ),
        Column(
            title=words("Result or progress") if wide else words("Result"),
            cell=_info,
            least=18,
            usual=18,
            most=18,
            live=True,
            spare=True,
        ),
        Column(title=words("Elapsed"), cell=_elapsed, usual=7, right=True, live=True, sort=_BY_ELAPSED),
        Column(title=words("Timeout"), cell=_limit, usual=13 if wide else 7, most=23, live=True, leaves=2),
    )


COLUMNS: Final = columns(LONG_TEXT_CELLS)
"""The columns of a wide line."""

SORTS: Final = (NEWEST, *(column.sort for column in reversed(COLUMNS) if column.sort is not None))
"""The sort orders of rows, in the order in which a key switches between them."""
