"""Columns of a list, orders of its rows, and how columns share the cells of a line."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from mcp_tui.protocol.values import frozen
from mcp_tui.view.lines import Segments
from mcp_tui.view.text import NOTHING, SafeText, clean, clip, fit, join, width

Thing = TypeVar("Thing")

StyledPiece = tuple[SafeText, str]
"""Text and the name of its style."""


@frozen
class Sort:
    """A sort order of rows. ``key`` takes a row and the time; without a key, rows stay in order of arrival."""

    value: str
    key: Callable[[Any, float], Any] | None = None

    def at(self, now: float) -> Callable[[Any], Any] | None:
        """Returns a key function that sorts the rows as they are at ``now``."""
        key = self.key
        return None if key is None else lambda row: key(row, now)


NEWEST: Final = Sort("newest")
BY_NAME: Final = Sort("name", lambda row, _: (row.name or row.method).casefold())


def after(sort: Sort, among: Sequence[Sort]) -> Sort:
    """Returns the order after ``sort``; after the last one, the first."""
    return among[(among.index(sort) + 1) % len(among)]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Column(Generic[Thing]):
    """One column of a list.

    Args:
        cell: returns the text of the column for one thing, and the name of its style.
        title: text above the column.
        tail: returns text for the end of the cell; this text is never cut.
        weight: the column's share of the cells while columns are cut, at least 1.
        least: cells that the column keeps while it is cut; 0 for a column that is not cut.
        usual: cells that the column has even if its texts are shorter.
        step: cells by which the column grows beyond ``usual``; larger steps move the columns after it less often.
        most: cells that the column has at most; 0 for no limit.
        right: aligns the text to the right.
        gap: blank cells before the column.
        spare: the column gets the cells that no column needs. Without such a column, the one with the most weight does.
        live: the text changes with the time alone.
        sort: the order of rows by this column.
        leaves: the order in which columns are left out while a line is too narrow for ``least`` of each, 1 first; 0 for
            never.
    """

    cell: Callable[[Thing], StyledPiece]
    title: SafeText = NOTHING
    tail: Callable[[Thing], SafeText] | None = None
    weight: int = 1
    least: int = 0
    usual: int = 0
    step: int = 1
    most: int = 0
    right: bool = False
    gap: int = 1
    spare: bool = False
    live: bool = False
    sort: Sort | None = None
    leaves: int = 0


class ColumnNeed(NamedTuple):
    """The cells that a column needs: ``least`` to be useful at all, ``wish`` for its longest text."""

    least: int
    wish: int
    weight: int = 1
    spare: bool = False


Columns = Sequence[Column[Thing]]


@frozen
class Layout(Generic[Thing]):
    """Columns with their widths in cells.

    ``cut``: a column is narrower than its longest text. ``squeezed``: a column is narrower than its least width.
    """

    columns: Columns[Thing] = ()
    widths: Sequence[int] = ()
    cut: bool = False
    squeezed: bool = False

    def header(self) -> Segments:
        """Returns the titles."""
        return tuple((self._fitted(at, column.title), "header") for at, column in enumerate(self.columns))

    def pieces(self, thing: Thing) -> Segments:
        """Returns the line of a thing."""
        made: list[StyledPiece] = []
        for at, column in enumerate(self.columns):
            text, tone = column.cell(thing)
            tail = NOTHING if column.tail is None else column.tail(thing)
            made.append((self._fitted(at, text, tail), tone))
        return tuple(made)

    def _fitted(self, at: int, text: SafeText, tail: SafeText = NOTHING) -> SafeText:
        column, cells = self.columns[at], self.widths[at]
        if tail:
            text = join((clip(text, max(0, cells - width(tail))), tail))
        return join((clean(" " * self._gap(at)), fit(text, cells, right=column.right)))

    def _gap(self, at: int) -> int:
        return self.columns[at].gap if at else 0

    @property
    def live_at(self) -> int:
        """The cells before the first live column."""
        live = next((at for at, column in enumerate(self.columns) if column.live), len(self.columns))
        return sum(self._gap(at) + self.widths[at] for at in range(live))


class ColumnWidths(Generic[Thing]):
    """The widths of columns that fit every thing measured so far. Widths only grow, until :meth:`reset`."""

    def __init__(self) -> None:
        self._longest: dict[Callable[[Thing], StyledPiece], int] = {}

    def reset(self) -> None:
        """Forgets all measured widths."""
        self._longest.clear()

    def grow(self, columns: Columns[Thing], things: Iterable[Thing]) -> bool:
        """Measures more things; returns whether a column became wider."""
        before = dict(self._longest)
        for thing in things:
            for cell, tail in ((column.cell, column.tail) for column in columns):
                cells = width(cell(thing)[0]) + (width(tail(thing)) if tail else 0)
                if cells > self._longest.get(cell, -1):
                    self._longest[cell] = cells
        return before != self._longest

    def layout(self, columns: Columns[Thing], cells: int) -> Layout[Thing]:
        """Lays out all of the columns in a line of ``cells`` cells."""
        needs = [self._need(column) for column in columns]
        space = cells - sum(column.gap for column in columns[1:])
        widths = tuple(allot(needs, space))
        cut = any(width < need.wish for width, need in zip(widths, needs, strict=True))
        least = sum(max(column.least, need.least) for column, need in zip(columns, needs, strict=True))
        return Layout(columns, widths, cut, cut and least > space)

    def _need(self, column: Column[Thing]) -> ColumnNeed:
        longest = self._longest.get(column.cell, 0)
        grown = column.usual + -(-max(0, longest - column.usual) // column.step) * column.step
        wish = max(column.usual, min(grown, column.most or grown))
        return ColumnNeed(min(column.least or wish, wish), wish, column.weight, column.spare)

    def fit(self, columns: Columns[Thing], cells: int) -> Layout[Thing]:
        """Lays out columns in a line of ``cells`` cells; leaves out columns if there is no room for all."""
        made = self.layout(columns, cells)
        for column in sorted(columns, key=lambda column: column.leaves):
            if made.squeezed and column.leaves:
                columns = [each for each in columns if each is not column]
                made = self.layout(columns, cells)
        return made


def allot(needs: Sequence[ColumnNeed], space: int) -> list[int]:
    """Returns the widths of columns in cells. Their sum is ``space``, unless there is no column.

    If ``space`` is less than the sum of the least widths, the widest columns get narrower. Otherwise the columns share
    the remaining cells by weight.
    """
    widths = [need.least for need in needs]
    for _ in range(sum(widths) - max(0, space)):
        widths[widths.index(max(widths))] -= 1
    by_weight = sorted(range(len(needs)), key=lambda at: -needs[at].weight)
    while (unused := space - sum(widths)) > 0 and needs:
        cut = [at for at in by_weight if widths[at] < needs[at].wish]
        if not cut:
            widths[next((at for at, need in enumerate(needs) if need.spare), by_weight[0])] += unused
        total = sum(needs[at].weight for at in cut)
        for at in cut:
            share = math.ceil(unused * needs[at].weight / total)
            widths[at] += min(share, needs[at].wish - widths[at], space - sum(widths))
    return widths


def narrowed(widths: Sequence[int], space: int, least: int) -> list[int]:
    """Returns widths of columns that fit into ``space`` cells: the widest get narrower, but not below ``least`` cells.

    Of equally wide columns, the first ones get narrower first. If ``least`` cells are too many, the sum exceeds ``space``.
    """
    if sum(widths) <= space:
        return [*widths]
    cap = bisect_left(
        range(max(widths, default=0)),
        True,
        lo=least,
        key=lambda each: sum(min(one, each + 1) for one in widths) > space,
    )
    spare = space - sum(min(one, cap) for one in widths)
    made: list[int] = []
    for one in reversed(widths):
        wider = one > cap and spare > 0
        made.append(min(one, cap) + wider)
        spare -= wider
    return made[::-1]
