"""Rows of the request table as lines of the screen: in columns that fit what is shown, and painted once for each change."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from rich.segment import Segment
from textual.cache import LRUCache
from textual.strip import Strip

from mcp_tui.tui.view.index import Key
from mcp_tui.tui.view.outline import Item
from mcp_tui.tui.view.rows import RowCells, elapsed, silence
from mcp_tui.tui.view.server_request_lines import cells_of
from mcp_tui.tui.view.text import words
from mcp_tui.tui.widgets.canvas import Canvas
from mcp_tui.tui.widgets.columns import Columns, Look, Needs

_SPACE: Final = ((words(" "), ""),)
_KNOWN: Final = 4096
"""Rows of which it is known what they need; more are measured again."""

_Cached = tuple[Key, int, int]


class RowPainter:
    """Paints on a canvas. Columns only ever grow with what comes into sight, until :meth:`start_over`."""

    def __init__(self, canvas: Canvas) -> None:
        self.columns = Columns.of(80, Needs())
        self._canvas = canvas
        self._needs = Needs()
        self._measured: set[object] = set()
        self._fixed: LRUCache[_Cached, list[Segment]] = LRUCache(512)
        self._whole: LRUCache[_Cached, Strip] = LRUCache(512)

    def start_over(self) -> None:
        """Fit the columns to what is shown from now on alone."""
        self._needs = Needs()
        self._measured.clear()

    def forget(self) -> None:
        """Paint everything anew."""
        self._fixed.clear()
        self._whole.clear()

    def measure(self, items: Iterable[Item], now: float, *, width: int, ids: int) -> bool:
        """Take in what these items need, and ids of so many cells; whether that moves a column."""
        if Columns.of(width, self._needs).wide is not self.columns.wide:
            self.start_over()  # other words stand in rows of another width
        if len(self._measured) > _KNOWN:
            self._measured.clear()
        needs = replace(self._needs, id=max(self._needs.id, ids))
        wide = Columns.of(width, needs).wide
        for item in items:
            known = (item.key, item.children, *_said_by(item, now))
            if known not in self._measured:
                self._measured.add(known)
                needs = needs.grown(cells_of(item, now, wide=wide), _look(item))
        self._needs = needs
        columns = Columns.of(width, needs)
        moved = columns != self.columns
        if moved:
            self.columns = columns
            self.forget()
        return moved

    def strip(self, item: Item, now: float, *, selected: bool, marked: bool, still: bool = False) -> Strip:
        """The line of an item. Where clocks stand ``still``, none is counted down."""
        row, columns, canvas = item.row, self.columns, self._canvas
        internal = row is not None and item.after is None
        version = 0 if row is None else row.version
        cached = item.key, version, selected | marked << 1 | item.expanded << 2 | item.children << 3
        if internal and cached in self._whole:
            return self._whole[cached]
        content = cells_of(item, now, wide=columns.wide)
        if still and row is not None and internal and row.overdue_until is not None:
            content = replace(content, info=words("overdue"))
        fixed = self._fixed.get(cached) if internal else None
        if fixed is None:
            look = _look(item, selected=selected, marked=marked)
            fixed = canvas.paint(columns.fixed(content, look=look), cursor=selected)
            if internal:
                self._fixed[cached] = fixed
        strip = self._completed(fixed, content, selected=selected)
        if row is not None and internal and not row.open:
            self._whole[cached] = strip
        return strip

    def _completed(self, fixed: list[Segment], content: RowCells, *, selected: bool) -> Strip:
        canvas = self._canvas
        strip = Strip([*fixed, *canvas.paint(self.columns.live(content), cursor=selected)])
        rest = canvas.paint(_SPACE, cursor=True)[0].style if selected else canvas.tone("")
        return strip.adjust_cell_length(canvas.inner_width, rest)


def _said_by(item: Item, now: float) -> tuple[object, ...]:
    """What tells whether an item says something else than before, but for the digits of its clocks."""
    if item.row is None:
        return (item.server_request and item.server_request.outcome,)
    return item.row.version, len(silence(item.row, now)), len(elapsed(item.row, now))


def _look(item: Item, *, selected: bool = False, marked: bool = False) -> Look:
    return Look(
        selected=selected,
        marked=marked,
        internal=item.row is not None and item.row.internal,
        below=item.after is not None,
        children=item.children,
        expanded=item.expanded,
    )
