"""Compact storage of finished requests: the newest rows are kept as they are, older ones are packed.

A packed row is restored with everything, its history included.
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
"""Requests that are not packed, the newest.

The garbage collector walks them all: with 20,000 it blocked the screen for a tenth of a second.
"""

PACKED_ROWS: Final = 128
"""Requests that are packed together."""

UNPACKED: Final = 16
"""The number of blocks that stay unpacked after a read."""

LOOSE: Final = 4096
"""Changed requests of packed blocks that are kept unpacked; more are packed again."""

_LEVEL: Final = 3
"""The zlib level: 6 takes twice the time and saves 5 % of the bytes; 1 saves a quarter of the time and costs 8 %."""


def pack(rows: Sequence[object]) -> bytes:
    """Packs a block of rows, which hold only plain values, enums, and dataclasses."""
    written = io.BytesIO()
    _Packer(written, protocol=5).dump(list(rows))
    return zlib.compress(written.getbuffer(), _LEVEL)


class _Packer(pickle.Pickler):
    """Reads the fields of a dataclass in one step, which is four times as fast as the usual way."""

    def reducer_override(self, obj: object) -> Any:
        kind: Any = type(obj)
        if not hasattr(kind, "__dataclass_fields__") or "__reduce_ex__" in kind.__dict__:
            return NotImplemented
        values = _fields(kind)(obj)
        # a class whose fields are given by name has no positions to match
        return (kind, values[1:]) if kind.__match_args__ else (by_name, values)


@cache
def _fields(kind: type[Any]) -> attrgetter[tuple[Any, ...]]:
    """Returns a getter of the class of an object and its fields."""
    return attrgetter("__class__", *kind.__dataclass_fields__)


def values_of(obj: object) -> tuple[Any, ...]:
    """Returns a dataclass and the values of its fields, from which :func:`by_name` makes it again."""
    return _fields(type(obj))(obj)


def by_name(kind: type[Any], *values: Any) -> Any:
    """Returns an object of a dataclass whose fields are given by name."""
    return kind(**dict(zip(kind.__dataclass_fields__, values, strict=True)))


class Places:
    """The places of rows by id, in 8 bytes for each id that is greater than all before it, as a client's ids are."""

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
        self._ids.append(self._last)
        return True

    def find(self, id: RequestId) -> int | None:
        """Returns the place of an id, by type and value."""
        if self._others:
            other = self._others.get((type(id), id))
            if other is not None:
                return other
        if type(id) is not int or id < 0:
            return None
        place = bisect_left(self._ids, id)
        return place if place < len(self._ids) and self._ids[place] == id else None


class PackedRows(Sequence[Row], Generic[Row]):
    """Rows by place, the oldest packed. A row that is referenced elsewhere is returned as the same object."""

    def __init__(self, is_over: Callable[[Row], bool]) -> None:
        self._is_over = is_over
        self._count = 0
        self._kept: dict[int, Row] = {}
        """Unpacked rows: the newest, and those of packed blocks that are not over or have changed."""
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
        """Packs the oldest block of the :attr:`recent` rows. Rows that are not over stay unpacked as well."""
        begin = len(self._blocks) * PACKED_ROWS
        places = range(begin, begin + PACKED_ROWS)
        self._blocks.append(pack([self._kept[place] for place in places]))
        self._let_go([place for place in places if self._is_over(self._kept[place])])
        self._pack_loose()

    def loose(self, place: int) -> Row:
        """Returns the row at a place, unpacked because it is about to change."""
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
        self._unpacked.cache_clear()
        self._let_go(over)

    def _let_go(self, places: list[int]) -> None:
        # Few rows are in use elsewhere: a weak reference shows that in a tenth of the time.
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
        place = range(self._count)[index]
        row = self._kept.get(place)
        if row is None:
            row = self._live.get(place)
        if row is None:
            row = self._live[place] = self._unpacked(place // PACKED_ROWS)[place % PACKED_ROWS]
        return row

    def _unpack(self, number: int) -> list[Row]:
        return pickle.loads(zlib.decompress(self._blocks[number]))  # noqa: S301 - made here, and never written
