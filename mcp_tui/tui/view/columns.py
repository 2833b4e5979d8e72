"""Columns of a list: what stands in each, and how they share the cells of a line.

A column is one :class:`Column`, and a list is a sequence of them: who adds one adds it there and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

from mcp_tui.protocol.requests import Request
from mcp_tui.protocol.values import frozen
from mcp_tui.tui.view.lines import Segments
from mcp_tui.tui.view.text import NOTHING, SafeText, clip, fit, join, width, words

Thing = TypeVar("Thing")

Piece = tuple[SafeText, str]
"""Text and the name of its style."""


@frozen
class Sort:
    """An order of rows, by what ``key`` makes of one at a moment; without a key they stand as they came."""

    value: str
    key: Callable[[Request, float], Any] | None = None

    def at(self, now: float) -> Callable[[Request], Any] | None:
        """What rows are put in order by at a moment, the least first."""
        key = self.key
        return None if key is None else lambda row: key(row, now)


NEWEST: Final = Sort("newest")
BY_NAME: Final = Sort("name", lambda row, _: (row.name or row.method).casefold())


def after(sort: Sort, among: Sequence[Sort]) -> Sort:
    """The order that comes after one."""
    return among[(among.index(sort) + 1) % len(among)]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Column(Generic[Thing]):
    """One column.

    Columns that cannot all be as wide as what stands in them share the room by their ``weight``, at least 1. Where there is
    not even room for the least, the heaviest gives way last.

    Args:
        cell: what stands in it, for one thing.
        title: stands above it.
        tail: what stands at its end and is not cut.
        least: cells that still tell something; 0 for a column that is never cut as long as others can be.
        usual: cells that it has even where what stands in it takes fewer.
        most: cells that it has at most; 0 for as many as what stands in it takes.
        right: what stands in it is aligned to the right.
        gap: blank cells before it, at most 3.
        spare: it gets the cells that no column needs; the heaviest does where none is so.
        live: what stands in it changes with the time alone.
        sort: the order of rows by this column.
    """

    cell: Callable[[Thing], Piece]
    title: SafeText = NOTHING
    tail: Callable[[Thing], SafeText] | None = None
    weight: int = 1
    least: int = 0
    usual: int = 0
    most: int = 0
    right: bool = False
    gap: int = 1
    spare: bool = False
    live: bool = False
    sort: Sort | None = None

    def need(self, longest: int) -> Need:
        """What it needs where the longest that stands in it takes so many cells."""
        wish = max(self.usual, min(longest, self.most) if self.most else longest)
        return Need(min(self.least, wish) if self.least else wish, wish, self.weight, self.spare)


class Need(NamedTuple):
    """The fewest cells of a column that still tell something, as many as what stands in it takes, and its weight."""

    least: int
    wish: int
    weight: int = 1
    spare: bool = False


Columns = Sequence[Column[Thing]]


@frozen
class Layout(Generic[Thing]):
    """Columns with their widths in cells.

    ``cut`` says that something is cut off in one; ``squeezed`` says that one has less than still tells something.
    """

    columns: Columns[Thing] = ()
    widths: Sequence[int] = ()
    cut: bool = False
    squeezed: bool = False

    def header(self) -> Segments:
        """The titles."""
        pairs = zip(self.columns, self.widths, strict=True)
        return tuple((_placed(column, column.title, cells), "header") for column, cells in pairs)

    def pieces(self, thing: Thing, *, live: bool | None = None) -> Segments:
        """The line of a thing. With ``live`` only from the first column on that changes with the time alone, or up to it."""
        first = 0 if live is None else self._live
        part = slice(0, first) if live is False else slice(first, None)
        made: list[Piece] = []
        for column, cells in zip(self.columns[part], self.widths[part], strict=True):
            text, tone = column.cell(thing)
            tail = NOTHING if column.tail is None else column.tail(thing)
            made.append((_placed(column, text, cells, tail), tone))
        return tuple(made)

    @property
    def _live(self) -> int:
        """The place of the first column that changes with the time alone."""
        return next((at for at, column in enumerate(self.columns) if column.live), len(self.columns))

    @property
    def live_at(self) -> int:
        """The cells before that column."""
        return sum(column.gap for column in self.columns[: self._live]) + sum(self.widths[: self._live])


def _placed(column: Column[Any], text: SafeText, cells: int, tail: SafeText = NOTHING) -> SafeText:
    if tail:
        text = join((clip(text, max(0, cells - width(tail))), tail))
    return join((_GAPS[column.gap], fit(text, cells, right=column.right)))


_GAPS: Final = (NOTHING, words(" "), words("  "), words("   "))


class ColumnWidths(Generic[Thing]):
    """The widths of columns for all that was shown so far: they only grow, until :meth:`reset`."""

    def __init__(self) -> None:
        self._longest: dict[Callable[[Thing], Piece], int] = {}

    def reset(self) -> None:
        """Fit the columns to what is shown from now on alone."""
        self._longest.clear()

    def grow(self, columns: Sequence[Column[Thing]], things: Iterable[Thing]) -> bool:
        """Take in more things; whether any of the columns needs more than before."""
        before = dict(self._longest)
        for thing in things:
            for column in columns:
                taken = width(column.cell(thing)[0]) + (width(column.tail(thing)) if column.tail else 0)
                if taken > self._longest.get(column.cell, -1):
                    self._longest[column.cell] = taken
        return before != self._longest

    def layout(self, columns: Columns[Thing], cells: int) -> Layout[Thing]:
        """Columns in a line of so many cells."""
        needs = [column.need(self._longest.get(column.cell, 0)) for column in columns]
        room = cells - sum(column.gap for column in columns)
        widths = tuple(allot(needs, room))
        cut = any(width < need.wish for need, width in zip(needs, widths, strict=True))
        return Layout(columns, widths, cut, sum(need.least for need in needs) > room)

    def fit(
        self, whole: Iterable[Columns[Thing]], tight: Iterable[Columns[Thing]], cells: int
    ) -> Layout[Thing]:
        """The first columns that a line of so many cells has room for.

        Of ``whole`` the first that fit without a cut; else of ``tight`` the first in which each still tells something, or
        the last.
        """
        made: Layout[Thing] = Layout()
        for columns in whole:
            made = self.layout(columns, cells)
            if not made.cut:
                return made
        for columns in tight:
            made = self.layout(columns, cells)
            if not made.squeezed:
                break
        return made


def allot(needs: Sequence[Need], room: int) -> list[int]:
    """The widths of columns in cells, together as wide as ``room`` where there is a column."""
    widths = [need.least for need in needs]
    left = room - sum(widths)
    by_weight = sorted(range(len(needs)), key=lambda at: needs[at].weight)
    for at in by_weight:
        if left >= 0:
            break
        given = min(widths[at], -left)
        widths[at] -= given
        left += given
    cut: list[int] = [at for at, need in enumerate(needs) if need.wish > widths[at]]
    while cut and left > 0:
        total = sum(needs[at].weight for at in cut)
        content = [at for at in cut if (needs[at].wish - widths[at]) * total <= left * needs[at].weight]
        if not content:
            shares = [left * needs[at].weight // total for at in cut]
            for at, share in zip(cut, shares, strict=True):
                widths[at] += share
            for at in sorted(cut, key=lambda at: -needs[at].weight)[: left - sum(shares)]:
                widths[at] += 1
            return widths
        for at in content:
            left -= needs[at].wish - widths[at]
            widths[at] = needs[at].wish
        cut = [at for at in cut if at not in content]
    if by_weight and left > 0:
        widths[next((at for at, need in enumerate(needs) if need.spare), by_weight[-1])] += left
    return widths
