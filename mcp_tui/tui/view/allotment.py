"""How columns share the cells of a line: nothing is cut while room is left, and the most telling column gets the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Need:
    """What a column needs: the fewest cells that still tell something, and as many as what stands in it takes.

    Columns that cannot all have what they wish share the room by their ``weight``, at least 1. The heaviest is the most
    telling: it has what nobody wishes, and where there is not even room for the fewest it gives way last.
    """

    least: int
    wish: int
    weight: int = 1


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
        widths[by_weight[-1]] += left
    return widths
