"""The frames of a recording: their number, and where each is, in a few bytes for a chunk of hundreds of frames."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from functools import lru_cache
from typing import Final

_FRAME_START: Final = re.compile(rb'\n\{"record":"frame",')

_MOST_BYTES: Final = 1024 * 1024
"""The most bytes of a chunk that are read again to find a frame in it."""

_FEWEST: Final = 16
"""The fewest frames of which the chunk takes less memory than the frames."""

_CHUNKS: Final = 16
"""The number of chunks whose offsets are cached."""


class FrameIndex:
    """The offsets and sequence numbers of frames by their numbers from 0.

    Of a chunk in which the sequence numbers grow by one, only the place is in memory, and ``read`` returns its bytes again.
    Of other frames, the offset and the sequence number are.
    """

    def __init__(self, read: Callable[[int, int], bytes]) -> None:
        self._count = 0
        self._firsts = array(
            "I"
        )  # of each chunk: the first frame, its sequence number, and the offset and size
        self._seqs = array("I")
        self._starts = array("Q")
        self._sizes = array("I")
        self._listed: dict[int, tuple[array[int], array[int]]] = {}
        self._new = array("Q"), array("I")
        self._in_order, self._last_seq = True, -1
        self._read = read
        self._found = lru_cache(_CHUNKS)(self._find_offsets)

    def __len__(self) -> int:
        return self._count

    def adders(self) -> tuple[Callable[[int], None], Callable[[int], None]]:
        """Returns functions that add the offset and the sequence number of a frame; :meth:`close_chunk` has to follow.

        The latter raises an ``OverflowError`` for a number that is negative, or has more than 32 bits.
        """
        return self._new[0].append, self._new[1].append

    def add(self, offset: int, seq: int) -> None:
        """Adds one frame; :meth:`close_chunk` has to follow."""
        self._new[0].append(offset)
        self._new[1].append(seq)

    def close_chunk(self, start: int, size: int, *, is_regular: bool) -> None:
        """Ends a chunk of the file. In a regular one, all records of frames begin as this version writes them."""
        new, count = self._new, len(self._new[0])
        if not count:
            return
        first, last = new[1][0], self._listed.get(len(self._firsts) - 1)
        self._in_order &= [self._last_seq, *new[1]] == sorted({self._last_seq, *new[1]})
        self._last_seq = new[1][-1]
        is_regular = is_regular and size <= _MOST_BYTES and count >= _FEWEST
        if is_regular and new[1] == array("I", range(first, first + count)):
            self._start_chunk(start, size, first)
        elif last is not None:
            last[0].extend(new[0])
            last[1].extend(new[1])
        else:
            self._start_chunk(new[0][0], 0, first)
            self._listed[len(self._firsts) - 1] = new
        self._count += count
        self._new = array("Q"), array("I")

    def _start_chunk(self, start: int, size: int, seq: int) -> None:
        self._firsts.append(self._count)
        self._seqs.append(seq)
        self._starts.append(start)
        self._sizes.append(size)

    def _offsets(self, chunk: int) -> array[int]:
        listed = self._listed.get(chunk)
        return self._found(chunk) if listed is None else listed[0]

    def _find_offsets(self, chunk: int) -> array[int]:
        start = self._starts[chunk]
        text = b"\n" + self._read(start, self._sizes[chunk])
        return array("Q", (start + match.start() for match in _FRAME_START.finditer(text)))

    def offset(self, frame: int) -> int:
        """Returns the offset of a frame.

        Raises:
            OSError: the file cannot be read.
            ValueError: the file was closed, or changed.
        """
        chunk = bisect_right(self._firsts, frame) - 1
        offsets, at = self._offsets(chunk), frame - self._firsts[chunk]
        if at >= len(offsets):
            raise ValueError("the recording has changed")
        return offsets[at]

    def before(self, offset: int) -> int:
        """Returns the number of frames before an offset."""
        chunk = bisect_left(self._starts, offset) - 1
        return self._firsts[chunk] + bisect_left(self._offsets(chunk), offset) if chunk >= 0 else 0

    def find(self, seq: int) -> int | None:
        """Returns the number, from 0, of the frame with a sequence number; ``None`` if there is none."""
        likely = bisect_right(self._seqs, seq) - 1
        # Only a journal of several recorders may have frames in another order.
        chunks = range(max(0, likely), likely + 1) if self._in_order else range(len(self._seqs))
        return next((found for each in chunks if (found := self._find_in(each, seq)) is not None), None)

    def _find_in(self, chunk: int, seq: int) -> int | None:
        at = seq - self._seqs[chunk]
        if chunk in self._listed:
            seqs = self._listed[chunk][1]
            at = bisect_left(seqs, seq) if self._in_order else seqs.index(seq) if seq in seqs else -1
            at = at if at < len(seqs) and seqs[at] == seq else -1
        return self._firsts[chunk] + at if 0 <= at < self._end(chunk) - self._firsts[chunk] else None

    def _end(self, chunk: int) -> int:
        """Returns the number of the first frame after a chunk."""
        return self._firsts[chunk + 1] if chunk + 1 < len(self._firsts) else self._count
