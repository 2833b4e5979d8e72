"""Stores finished requests compactly: the newest rows stay objects, older ones are packed.

A packed row is restored with all its data, including its history.
"""

from __future__ import annotations

import io
import pickle
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar, overload
from weakref import WeakValueDictionary, ref

from mcp_tui.protocol.states import RequestId

Row = TypeVar("Row")

KEEP: Final = 4_000
"""The number of newest requests that are not packed.

The garbage collector visits every unpacked row: with 20,000 it blocked the screen for a tenth of a second.
"""

PACKED_ROWS: Final = 128
"""The number of requests in one packed block."""

UNPACKED: Final = 16
"""The number of blocks that stay unpacked after they were read."""

LOOSE: Final = 4096
"""The number of changed requests of packed blocks that stay unpacked; above it they are packed again."""

_LEVEL: Final = 3
"""The zlib level. Level 6 takes twice the time and saves 5 % of the bytes; level 1 saves a quarter of the time and costs
8 %.
"""


def pack(rows: Sequence[object]) -> bytes:
    """Packs a block of rows. They have only plain values, enums, and dataclasses."""
    written = io.BytesIO()
    _Packer(written, protocol=5).dump(list(rows))
    return zlib.compress(written.getbuffer(), _LEVEL)


class _Packer(pickle.Pickler):
    """Pickles a dataclass by reading all its fields in one step, which is four times as fast as the default."""

    def reducer_override(self, obj: object) -> Any:
        kind: Any = type(obj)
        if not hasattr(kind, "__dataclass_fields__") or "__reduce_ex__" in kind.__dict__:
            return NotImplemented
        values = _fields(kind)(obj)
        # A class with keyword-only fields cannot be made from positional values.
        return (kind, values[1:]) if kind.__match_args__ else (by_name, values)


@cache
def _fields(kind: type[Any]) -> attrgetter[tuple[Any, ...]]:
    """Returns a getter of an object's class and fields."""
    return attrgetter("__class__", *kind.__dataclass_fields__)


def values_of(obj: object) -> tuple[Any, ...]:
    """Returns the class of an object and the values of its fields; :func:`by_name` makes the object again from them."""
    return _fields(type(obj))(obj)


def by_name(kind: type[Any], *values: Any) -> Any:
    """Makes an object of a dataclass from the values of its fields."""
    return kind(**dict(zip(kind.__dataclass_fields__, values, strict=True)))


class Places:
    """The places of rows by id. An id greater than all before it takes 8 bytes; the ids of our client always are."""

    def __init__(self) -> None:
        self._ids = array("q")
        self._last = -1
        self._others: dict[tuple[type, RequestId], int] = {}

    def append(self, id: RequestId) -> bool:
        """Assigns the next place to an id; returns false for one that has a place."""
        if type(id) is int and self._last < id < 1 << 63:
            self._last = id
        elif self.find(id) is not None:
            return False
        else:
            self._others[type(id), id] = len(self._ids)
        # Any other id repeats the last number here, which keeps the array sorted for the binary search.
        self._ids.append(self._last)
        return True

    def find(self, id: RequestId) -> int | None:
        """Returns the place of an id, by type and value; ``None`` for an unknown id."""
        if self._others:
            other = self._others.get((type(id), id))
            if other is not None:
                return other
        if type(id) is not int or id < 0:
            return None
        place = bisect_left(self._ids, id)
        return place if place < len(self._ids) and self._ids[place] == id else None


class PackedRows(Sequence[Row], Generic[Row]):
    """Rows by place, the oldest packed. A row that other code still references is returned as the same object."""

    def __init__(self, is_over: Callable[[Row], bool]) -> None:
        self._is_over = is_over
        self._count = 0
        self._kept: dict[int, Row] = {}
        """The unpacked rows: the newest ones, and those of packed blocks that are not over or have changed."""
        self._blocks: list[bytes] = []
        self._live: WeakValueDictionary[int, Row] = WeakValueDictionary()
        self._unpacked = lru_cache(UNPACKED)(self._unpack)

    def append(self, row: Row) -> None:
        """Adds the newest row."""
        self._kept[self._count] = row
        self._count += 1

    @property
    def recent(self) -> int:
        """The number of rows that are in no block yet."""
        return self._count - len(self._blocks) * PACKED_ROWS

    def pack_oldest(self) -> None:
        """Packs the oldest block of the :attr:`recent` rows. Rows that are not over also stay unpacked."""
        begin = len(self._blocks) * PACKED_ROWS
        places = range(begin, begin + PACKED_ROWS)
        self._blocks.append(pack([self._kept[place] for place in places]))
        self._drop([place for place in places if self._is_over(self._kept[place])])
        self._pack_loose()

    def loose(self, place: int) -> Row:
        """Returns the row at a place and keeps it unpacked, because it is about to change."""
        row = self._kept.get(place)
        if row is None:
            self._pack_loose()
            row = self._kept[place] = self[place]
        return row

    def _pack_loose(self) -> None:
        """Packs the blocks of changed rows again, if there are many."""
        if len(self._kept) - self.recent < LOOSE:
            return
        packed = len(self._blocks) * PACKED_ROWS
        over = [place for place, row in self._kept.items() if place < packed and self._is_over(row)]
        for number in {place // PACKED_ROWS for place in over}:
            self._blocks[number] = pack(self[number * PACKED_ROWS : (number + 1) * PACKED_ROWS])
        # The cached blocks have the rows as they were before their change.
        self._unpacked.cache_clear()
        self._drop(over)

    def _drop(self, places: list[int]) -> None:
        # Few rows are in use elsewhere. A weak reference finds those in a tenth of the time of counting references.
        watched = {place: ref(self._kept.pop(place)) for place in places}
        self._live.update({place: row for place, each in watched.items() if (row := each()) is not None})

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(self._count))]
        # A range handles negative indexes, and raises IndexError like a list.
        place = range(self._count)[index]
        row = self._kept.get(place)
        if row is None:
            row = self._live.get(place)
        if row is None:
            row = self._live[place] = self._unpacked(place // PACKED_ROWS)[place % PACKED_ROWS]
        return row

    def _unpack(self, number: int) -> list[Row]:
        return pickle.loads(zlib.decompress(self._blocks[number]))  # noqa: S301 - made here, and never written
