"""Where the columns of the request table stand, for one width and what is shown in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from mcp_tui.tui.view.allotment import Need, allot
from mcp_tui.tui.view.lines import Segments
from mcp_tui.tui.view.rows import RowCells
from mcp_tui.tui.view.text import SafeText, clean, clip, fit, safe, width, words

WIDE: Final = 104
"""Cells from which on a row has room for more words."""

_GAP: Final = (words("  "), "")
_MARK: Final = words("▪")
_NOTHING: Final = words("")
_INDENT: Final = words("  ")
_STATE: Final = 16
_WIDE_LIMIT: Final = 18
_TOLD: Final = 16
"""Cells that the information has at least, where there is room: what running clocks put there."""

_OVER: Final = frozenset({"cancelled", "completed", "lost", "queued"})
"""Styles of badges whose information is muted as well."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a row's line says beyond the row: the cursor, a mark, and what belongs to it or what it belongs to."""

    selected: bool = False
    marked: bool = False
    internal: bool = False
    below: bool = False
    children: int = 0
    expanded: bool = False


@dataclass(frozen=True, slots=True)
class Needs:
    """The most cells that anything shown so far takes in each column; ``name`` is a request without ``tools/call``."""

    id: int = 0
    request: int = len("Request")
    name: int = len("Request")
    info: int = 0
    elapsed: int = 0
    limit: int = 0

    def grown(self, row: RowCells, look: Look) -> Needs:
        """These, and those of one more row."""
        around = width(_group(look)) + (len(_INDENT) if look.below else 0)
        return Needs(
            max(self.id, width(row.id)),
            max(self.request, width(row.request) + around),
            max(self.name, width(_name(row.request)) + around),
            max(self.info, width(row.info)),
            max(self.elapsed, width(row.elapsed)),
            max(self.limit, width(row.limit)),
        )


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths in cells. ``named`` says that requests go without ``tools/call``, for want of room."""

    width: int
    id: int
    request: int
    info: int
    elapsed: int
    limit: int
    wide: bool
    named: bool

    @staticmethod
    @lru_cache(maxsize=64)
    def of(width: int, needs: Needs) -> Columns:
        """The columns for a line of ``width`` cells in which this is to be shown."""
        wide = width >= WIDE
        # cursor, glyph, space · state · space, id · gap · request · space, info · space, elapsed · space, limit
        room = width - (3 + _STATE + 1 + 2 + 1 + 1)
        id_, told = max(2, min(12, needs.id)), max(_TOLD, needs.info)
        elapsed, limit = max(7, needs.elapsed), max(5, min(needs.limit, _WIDE_LIMIT))
        if room - id_ - elapsed - 1 - limit < _TOLD:
            limit = 0
        room -= bool(limit)
        if wide and id_ + needs.request + told + elapsed + _WIDE_LIMIT <= room:
            limit = _WIDE_LIMIT  # before it is said how long nothing was heard

        def shared(request: int) -> list[int]:
            return allot(
                (
                    Need(id_, id_, 4),
                    Need(min(12, request), request, 3),
                    Need(_TOLD - 1, told, 5),
                    Need(elapsed, elapsed, 2),
                    Need(limit, limit, 1),
                ),
                room,
            )

        widths = shared(needs.request)
        named = widths[1] < needs.request
        id_, request, info, elapsed, limit = shared(needs.name) if named else widths
        return Columns(width, id_, request, info, elapsed, limit, wide, named)

    @property
    def live_at(self) -> int:
        """The cell from which on an open row changes with the time alone."""
        return 3 + _STATE + 1 + self.id + 2 + self.request

    def header(self) -> Segments:
        """The names of the columns."""
        names = (
            words("   "),
            fit(words("State"), _STATE + 1),
            fit(words("Id"), self.id, right=True),
            words("  "),
            fit(words("Request"), self.request),
            words(" "),
            fit(words("Progress"), self.info),
            fit(words("Elapsed"), self.elapsed + 1, right=True),
            words(" "),
            fit(words("Limit"), self.limit),
        )
        return tuple((name, "header") for name in names)

    def fixed(self, row: RowCells, *, look: Look) -> Segments:
        """What of a row stays until its next event."""
        tone = row.badge.style
        request = _name(row.request) if self.named else row.request
        request = safe("{}{}", _INDENT, request) if look.below else request
        group = _group(look)
        name = max(0, self.request - len(group))
        glyph = ("›" if look.selected else " ") + row.badge.glyph
        # one piece where there is no mark: each is drawn by itself
        gutter = ((clean(glyph), tone), (_MARK, "accent")) if look.marked else ((safe("{} ", glyph), tone),)
        return (
            *gutter,
            (fit(row.badge.word, _STATE + 1), tone),
            (fit(row.id, self.id, right=True), "muted"),
            _GAP,
            (fit(clean(clip(request, name) + group), self.request), "muted" if look.internal else ""),
        )

    def live(self, row: RowCells) -> Segments:
        """What of a row changes as time goes by."""
        tone = row.badge.style
        limit = () if not self.limit else ((words(" "), ""), (fit(row.limit, self.limit), "muted"))
        return (
            (words(" "), ""),
            (fit(row.info, self.info), "muted" if tone in _OVER else tone if tone in _TELLING else ""),
            (fit(row.elapsed, self.elapsed + 1, right=True), "warning" if row.warn else ""),
            *limit,
        )


_TELLING: Final = frozenset({"late", "overdue"})
"""Styles of badges whose information is the news."""


def _name(request: SafeText) -> SafeText:
    """What tells calls of tools apart; of other requests the whole."""
    return clean(request.removeprefix("tools/call "))


def _group(look: Look) -> SafeText:
    """How much belongs to a row, and whether it is shown."""
    return safe(" [{}{:,}]", "-" if look.expanded else "+", look.children) if look.children else _NOTHING
