"""What is known of each frame without its payload, in columns: about 70 bytes a frame, not an object each."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from mcp_tui.protocol.events import RequestId

Direction = Literal["in", "out"]
"""``in``: from the server; ``out``: from us."""

FRAMES: Final = 200_000
"""Frames whose heads are kept."""

SHOWN: Final = 128
"""Characters of a method or an id that are kept: a hostile one may be megabytes."""


class FrameHead(NamedTuple):
    """One frame without its payload.

    ``seq`` is its number, from 1; ``at`` monotonic seconds; ``size`` bytes as they came. ``method`` is empty and
    ``id`` is ``None`` where the frame has none. ``stream`` is the id of our request whose own HTTP stream carried it.
    """

    seq: int
    at: float
    direction: Direction
    method: str = ""
    id: RequestId | float | None = None
    size: int = 0
    stream: RequestId | None = None


class Frames:
    """The heads of the newest frames, oldest first, their numbers without a gap; :attr:`hidden` counts those let go.

    Between ``capacity`` and an eighth more are kept: they are let go in bulk.
    """

    def __init__(self, capacity: int = FRAMES) -> None:
        self.hidden = 0
        self._capacity = capacity
        self._full = capacity + max(1, capacity // 8)
        self._at = array("d")
        self._size = array("Q")
        self._out = bytearray()
        self._method: list[str] = []
        self._id: list[RequestId | float | None] = []
        self._stream: list[RequestId | None] = []

    def append(self, head: FrameHead) -> None:
        """Add the newest frame."""
        _, at, direction, method, id_, size, stream = head
        self._at.append(at)
        self._size.append(size)
        self._out.append(direction == "out")
        self._method.append(sys.intern(method[:SHOWN]) if method else "")
        self._id.append(id_[:SHOWN] if isinstance(id_, str) else id_)
        self._stream.append(stream)
        if len(self._at) >= self._full:
            surplus = len(self._at) - self._capacity
            self.hidden += surplus
            for column in (self._at, self._size, self._out, self._method, self._id, self._stream):
                del column[:surplus]

    def find(self, seq: int) -> int | None:
        """The index of frame ``seq``, or ``None`` when it is not kept."""
        index = seq - self.hidden - 1
        return index if 0 <= index < len(self) else None

    def until(self, at: float) -> int:
        """How many of those kept came before a moment."""
        return bisect_left(self._at, at)

    def __len__(self) -> int:
        return len(self._at)

    def __iter__(self) -> Iterator[FrameHead]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, index: int) -> FrameHead:
        place = range(len(self))[index]
        return FrameHead(
            self.hidden + place + 1,
            self._at[place],
            "out" if self._out[place] else "in",
            self._method[place],
            self._id[place],
            self._size[place],
            self._stream[place],
        )
