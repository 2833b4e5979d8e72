"""Finished requests in a compact form: a session keeps its newest rows as they are, and packs the older ones.

Nothing is lost by that: a row comes back from its block with all that is known of it, its history included.
"""

from __future__ import annotations

import pickle
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, Generic, TypeVar, overload
from weakref import WeakValueDictionary

from mcp_tui.protocol.states import RequestId

Row = TypeVar("Row")

KEEP: Final = 4_000
"""Requests that are kept as they are, the newest; older ones that are finished are packed.

More of them are more for the garbage collector to go through: with 20,000 it held the screen up for a tenth of a second.
"""

BLOCK: Final = 128
"""Requests that are packed together."""

UNPACKED: Final = 16
"""Blocks that are kept unpacked after somebody looked into them."""

LOOSE: Final = 4096
"""Requests of packed blocks that something happened to since; more are packed anew."""

_LEVEL: Final = 3
"""How hard zlib tries: 6 takes twice the time for a twentieth of the bytes, 1 a quarter less for a twelfth more."""


def pack(rows: Sequence[object]) -> bytes:
    """A block of rows as bytes. They hold nothing but plain values, enums, and dataclasses."""
    return zlib.compress(pickle.dumps(list(rows), protocol=5), _LEVEL)


class Places:
    """Where the row of an id stands: 8 bytes for each id that is greater than those before it, as a client's own are."""

    def __init__(self) -> None:
        self._ids = array("q")
        self._others: dict[tuple[type, RequestId], int] = {}

    def append(self, id: RequestId) -> None:
        """Give the next place to an id."""
        last = self._ids[-1] if self._ids else -1
        if type(id) is int and last < id < 1 << 63:
            self._ids.append(id)
        else:
            self._others[type(id), id] = len(self._ids)
            self._ids.append(last)

    def find(self, id: RequestId) -> int | None:
        """The place of an id, by type and value."""
        if self._others:
            other = self._others.get((type(id), id))
            if other is not None:
                return other
        if type(id) is not int or id < 0:
            return None
        place = bisect_left(self._ids, id)
        return place if place < len(self._ids) and self._ids[place] == id else None


class PackedRows(Sequence[Row], Generic[Row]):
    """Rows by their place, the oldest of them packed. As long as anybody holds a row, it is the one that is found here."""

    def __init__(self, is_over: Callable[[Row], bool]) -> None:
        self._is_over = is_over
        self._count = 0
        self._kept: dict[int, Row] = {}
        """Rows as they are: the newest, and those of packed blocks that are not over, or changed since."""
        self._blocks: list[bytes] = []
        self._held: WeakValueDictionary[int, Row] = WeakValueDictionary()
        self._unpacked = lru_cache(UNPACKED)(self._unpack)

    def append(self, row: Row) -> None:
        """Add the newest row."""
        self._kept[self._count] = row
        self._count += 1

    @property
    def recent(self) -> int:
        """Rows of which no block was packed, or not yet."""
        return self._count - len(self._blocks) * BLOCK

    def is_over(self, place: int) -> bool:
        """Whether a row is over: all others are at hand, so none is unpacked for that."""
        row = self._kept.get(place)
        return row is None or self._is_over(row)

    def pack_oldest(self) -> None:
        """Pack the oldest block of :attr:`recent`. Of its rows those that are not over stay as they are besides."""
        begin = len(self._blocks) * BLOCK
        places = range(begin, begin + BLOCK)
        self._blocks.append(pack([self._kept[place] for place in places]))
        self._let_go([place for place in places if self._is_over(self._kept[place])])
        self._pack_loose()

    def loose(self, place: int) -> Row:
        """The row at a place, out of its block, because it is about to change."""
        row = self._kept.get(place)
        if row is None:
            self._pack_loose()
            row = self._kept[place] = self[place]
        return row

    def _pack_loose(self) -> None:
        """Pack anew the blocks of rows that changed since and are over, where those are many."""
        if len(self._kept) - self.recent < LOOSE:
            return
        packed = len(self._blocks) * BLOCK
        over = [place for place, row in self._kept.items() if place < packed and self._is_over(row)]
        for number in {place // BLOCK for place in over}:
            self._blocks[number] = pack(self[number * BLOCK : (number + 1) * BLOCK])
        self._unpacked.cache_clear()
        self._let_go(over)

    def _let_go(self, places: list[int]) -> None:
        self._held.update({place: self._kept.pop(place) for place in places})

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(self._count))]
        place = range(self._count)[index]
        row = self._kept.get(place)
        if row is None:
            row = self._held.get(place)
        if row is None:
            row = self._held[place] = self._unpacked(place // BLOCK)[place % BLOCK]
        return row

    def _unpack(self, number: int) -> list[Row]:
        return pickle.loads(zlib.decompress(self._blocks[number]))  # noqa: S301 - made here, and never written
