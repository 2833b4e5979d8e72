"""Finished requests in a compact form: a session keeps its newest rows as they are, and packs the older ones.

Nothing is lost by that: a row comes back from its block with all that is known of it, its history included.
"""

from __future__ import annotations

import io
import pickle
import zlib
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any, Final, Generic, TypeVar, overload
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
    written = io.BytesIO()
    _Packer(written, protocol=5).dump(list(rows))
    return zlib.compress(written.getbuffer(), _LEVEL)


def unpack(block: bytes) -> list[Any]:
    """The rows of a block that :func:`pack` made in this process."""
    return pickle.loads(zlib.decompress(block))  # noqa: S301 - made by this process, and never written anywhere


class _Packer(pickle.Pickler):
    """Takes the fields of a dataclass in one step, which is four times faster than its own way."""

    def reducer_override(self, obj: object) -> Any:
        kind = type(obj)
        if not hasattr(kind, "__dataclass_fields__"):
            return NotImplemented
        by_name, read = _fields(kind)
        values = read(obj)
        return (_by_name, values) if by_name else (kind, values[1:])


@cache
def _fields(kind: type[Any]) -> tuple[tuple[str, ...], attrgetter[tuple[Any, ...]]]:
    """The names of fields where they must be given by name, and what reads the class and the fields of an object."""
    all_ = fields(kind)
    names = tuple(each.name for each in all_)
    return (names if any(each.kw_only for each in all_) else ()), attrgetter("__class__", *names)


def _by_name(kind: type[Any], *values: Any) -> object:
    return kind(**dict(zip(_fields(kind)[0], values, strict=True)))


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
        self._recent: list[Row] = []
        self._blocks: list[bytes] = []
        self._packed = 0
        self._loose: dict[int, Row] = {}
        self._held: WeakValueDictionary[int, Row] = WeakValueDictionary()
        self._unpacked: OrderedDict[int, list[Row]] = OrderedDict()

    def append(self, row: Row) -> None:
        """Add the newest row."""
        self._recent.append(row)

    @property
    def recent(self) -> int:
        """Rows that are not packed, or not yet."""
        return len(self._recent)

    def is_over(self, place: int) -> bool:
        """Whether a row is over: all others are at hand, so none is unpacked for that."""
        row = self._loose.get(place) if place < self._packed else self._recent[place - self._packed]
        return row is None or self._is_over(row)

    def pack_oldest(self) -> list[Row]:
        """Pack the oldest block of :attr:`recent`; returns what is packed and over now. The others stay as they are."""
        rows = self._recent[:BLOCK]
        del self._recent[:BLOCK]
        self._blocks.append(pack(rows))
        over: list[Row] = []
        for place, row in enumerate(rows, self._packed):
            if self._is_over(row):
                self._held[place] = row
                over.append(row)
            else:
                self._loose[place] = row
        self._packed += BLOCK
        return over if len(self._loose) < LOOSE else over + self._pack_loose()

    def loosen(self, place: int) -> list[Row]:
        """Take a row out of its block, because it is about to change; returns those that were packed anew instead."""
        if place >= self._packed or place in self._loose:
            return []
        again = self._pack_loose() if len(self._loose) >= LOOSE else []
        self._loose[place] = self[place]
        return again

    def _pack_loose(self) -> list[Row]:
        over = [place for place, row in self._loose.items() if self._is_over(row)]
        for number in {place // BLOCK for place in over}:
            begin = number * BLOCK
            self._blocks[number] = pack([self[place] for place in range(begin, begin + BLOCK)])
            self._unpacked.pop(number, None)
        rows: list[Row] = []
        for place in over:
            row = self._held[place] = self._loose.pop(place)
            rows.append(row)
        return rows

    def __len__(self) -> int:
        return self._packed + len(self._recent)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return self._old(place) if place < self._packed else self._recent[place - self._packed]

    def _old(self, place: int) -> Row:
        """A row that was packed."""
        row = self._loose.get(place)
        if row is None:
            row = self._held.get(place)
        if row is None:
            row = self._block(place // BLOCK)[place % BLOCK]
            self._held[place] = row
        return row

    def _block(self, number: int) -> list[Row]:
        rows = self._unpacked.pop(number, None)
        if rows is None:
            rows = unpack(self._blocks[number])
        self._unpacked[number] = rows
        if len(self._unpacked) > UNPACKED:
            self._unpacked.popitem(last=False)
        return rows
