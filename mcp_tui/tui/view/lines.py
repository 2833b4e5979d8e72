"""Lines made of styled pieces, and a bounded ring of them: what the log, the wire and the cancellations are shown as."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

from mcp_tui.tui.view.text import SafeText, join

Segments = tuple[tuple[SafeText, str], ...]
"""Pieces of a line, each with the name of a style; the empty name is the plain style."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line. ``key`` is what the line is about: an id, the number of a frame; it travels in messages."""

    segments: Segments
    key: object = None

    @property
    def text(self) -> SafeText:
        """The line without its styles."""
        return join(text for text, _ in self.segments)


def line(*pieces: SafeText | tuple[SafeText, str], key: object = None) -> Line:
    """A line of pieces, plain or with a style: ``line((time, "time"), text)``."""
    return Line(tuple((piece, "") if isinstance(piece, str) else piece for piece in pieces), key)


class LineSource(Protocol):
    """Lines by number, oldest first, from ``start`` up to but without ``end``. Numbers are never used again.

    ``version`` grows whenever what a line says has changed; growth of ``end`` alone need not count.
    """

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...

    @property
    def version(self) -> int: ...

    def line(self, number: int, width: int) -> Line:
        """The line of a number from ``start`` up to ``end``. There are ``width`` cells to lay it out in."""
        ...


class Ring:
    """The last ``size`` lines. Older ones fall out and are counted by ``start``."""

    def __init__(self, size: int = 10_000) -> None:
        self.size = size
        self.start = 0
        self.version = 0
        self._lines: deque[Line] = deque(maxlen=size)

    @property
    def end(self) -> int:
        """One more than the number of the newest line."""
        return self.start + len(self._lines)

    def append(self, line: Line) -> None:
        """Add a line, letting the oldest go where the ring is full."""
        if len(self._lines) == self.size:
            self.start += 1
        self._lines.append(line)

    def clear(self) -> None:
        """Let all lines go; numbers go on."""
        self.start = self.end
        self._lines.clear()
        self.version += 1

    def line(self, number: int, width: int = 0) -> Line:
        return self._lines[number - self.start]
