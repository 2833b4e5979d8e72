"""Where the columns of the request table stand, for one width."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from mcp_tui.tui.view.lines import Segments
from mcp_tui.tui.view.rows import LIMIT, RowCells
from mcp_tui.tui.view.text import SafeText, clip, fit, width, words

WIDE: Final = 104
"""Cells from which on a row has room for more words."""

_GAP: Final = (words("  "), "")
_MARK: Final = words("▪")
_NOTHING: Final = words("")
_INDENT: Final = words("  ")
_STATE: Final = 16
_ELAPSED: Final = 8

_WIDE_LIMIT: Final = 18

_OVER: Final = frozenset({"cancelled", "completed", "lost", "queued"})
"""Styles of badges whose information is muted as well."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a row's line says beyond the row: the cursor, a mark, and what belongs to it or what it belongs to."""

    selected: bool = False
    marked: bool = False
    own: bool = False
    below: bool = False
    children: int = 0
    expanded: bool = False


@dataclass(frozen=True, slots=True)
class Columns:
    """Widths in cells. Elapsed and limit keep theirs; the request and the information share what is left."""

    width: int
    id: int
    request: int
    info: int
    limit: int
    wide: bool

    @staticmethod
    @lru_cache(maxsize=32)
    def of(width: int, id_width: int) -> Columns:
        """The columns for a line of ``width`` cells and ids of ``id_width``."""
        wide = width >= WIDE
        limit = _WIDE_LIMIT if wide else LIMIT
        id_width = max(3, min(12, id_width))
        # cursor, glyph, space · state · space, id · gap · request · space, info · space, elapsed · space, limit
        left = width - (3 + _STATE + 1 + id_width + 2 + 1 + 1 + _ELAPSED + 1 + limit)
        if left < 16:
            limit, left = 0, left + limit + 1
        request = max(4, min(left * 4 // 7, 36 if wide else 28))
        return Columns(width, id_width, request, max(6, left - request), limit, wide)

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
            fit(words("Elapsed"), _ELAPSED + 1, right=True),
            words(" "),
            fit(words("Limit"), self.limit),
        )
        return tuple((name, "header") for name in names)

    def fixed(self, row: RowCells, *, look: Look) -> Segments:
        """What of a row stays until its next event."""
        tone = row.badge.style
        request = SafeText(f"{_INDENT}{row.request}") if look.below else row.request
        group = _NOTHING
        if look.children:
            group = SafeText(f" [{'-' if look.expanded else '+'}{look.children:,}]")
            if width(request) + len(group) > self.request:
                request = SafeText(request.removeprefix("tools/call "))  # the name is what tells rows apart
        name = max(0, self.request - len(group))
        glyph = ("›" if look.selected else " ") + row.badge.glyph
        # one piece where there is no mark: each is drawn by itself
        gutter = (
            ((SafeText(glyph), tone), (_MARK, "accent")) if look.marked else ((SafeText(f"{glyph} "), tone),)
        )
        return (
            *gutter,
            (fit(row.badge.word, _STATE + 1), tone),
            (fit(row.id, self.id, right=True), "muted"),
            _GAP,
            (fit(SafeText(clip(request, name) + group), self.request), "muted" if look.own else ""),
        )

    def live(self, row: RowCells) -> Segments:
        """What of a row changes as time goes by."""
        tone = row.badge.style
        limit = () if not self.limit else ((words(" "), ""), (fit(row.limit, self.limit), "muted"))
        return (
            (words(" "), ""),
            (fit(row.info, self.info), "muted" if tone in _OVER else tone if tone in _TELLING else ""),
            (fit(row.elapsed, _ELAPSED + 1, right=True), "warning" if row.warn else ""),
            *limit,
        )


_TELLING: Final = frozenset({"late", "overdue"})
"""Styles of badges whose information is the news."""
