"""The log and the wire in one list, by the time at which things happened; and where one tells of what the other does."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any, Final

from mcp_tui.journal.frames import FrameHead
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.requests import Request
from mcp_tui.tui.view.lines import Line
from mcp_tui.tui.view.narrowed import Things
from mcp_tui.tui.view.text import words

Told = ev.Event | FrameHead | None
"""What a line of the log, of the wire, or of both is about; ``None`` for a damaged record."""

LOOKED: Final = 500
"""Lines before a moment, and after it, among which one about the same request is looked for."""


class BothLines:
    """A :class:`~mcp_tui.tui.view.lines.LineSource` of the lines of two others. Its numbers are theirs, added up.

    ``before`` tells how many frames came before a line of the log. Of a session that is ``live`` it is asked once for each
    line, so that lines stay where they are, whatever clocks say of what comes later.
    """

    def __init__(
        self,
        log: Things[ev.Event],
        wire: Things[FrameHead | None],
        before: Callable[[int], int],
        *,
        live: bool = False,
    ) -> None:
        self._log = log
        self._wire = wire
        self._told = before
        self._live = live
        self._first = 0
        self._before: list[int] = []
        self._seen = 0

    @property
    def version(self) -> int:
        return self._log.version + self._wire.version

    @property
    def start(self) -> int:
        self._look()
        said = self._place(self._log.start) if self._log.start < self._log.end else 0
        sent = self._wire.start
        sent += bisect_right(range(self._log.start, self._log.end), sent, key=self._frames) + self._log.start
        return max(said if self._log.start else 0, sent if self._wire.start else 0)

    @property
    def end(self) -> int:
        self._look()
        return self._log.end + self._wire.end

    def item(self, number: int) -> Told:
        """What a line is about."""
        said, at = self._find(number)
        return self._log.item(at) if said else self._wire.item(at)

    def line(self, number: int, width: int) -> Line:
        """A line as its own list has it; times stand below each other."""
        said, at = self._find(number)
        if not said:
            return self._wire.line(at, width)
        made = self._log.line(at, width - 2)
        return Line(((words("  "), ""), *made.segments), made.key)

    def _find(self, number: int) -> tuple[bool, int]:
        """Whether a line is of the log, and its number there or on the wire."""
        log = self._log
        after = log.start + bisect_right(range(log.start, log.end), number, key=self._place)
        if after > log.start and self._place(after - 1) == number:
            return True, after - 1
        return False, number - after

    def _place(self, said: int) -> int:
        """The number here of a line of the log."""
        return said + self._frames(said)

    def _frames(self, said: int) -> int:
        """How many frames came before a line of the log."""
        return self._before[said - self._first] if self._live else self._told(said)

    def _look(self) -> None:
        """Find the places of lines that came since the last look."""
        log = self._log
        if not self._live:
            return
        if log.start > self._first:
            del self._before[: log.start - self._first]
            self._first = log.start
        low, end = self._seen, self._wire.end
        for number in range(self._first + len(self._before), log.end):
            low = max(low, min(self._told(number), end))
            self._before.append(low)
        self._seen = end


def moment(told: Told) -> float:
    """When it happened, in monotonic seconds."""
    return 0.0 if told is None else told.at


def about(event: ev.Event) -> ev.RequestId | None:
    """The id of the request of ours that a line of the log names."""
    return event.id if isinstance(event, ev.RequestEvent | ev.Violation | ev.Oversize) else None


def seq(told: Told) -> int:
    """The number of the frame that it is or came with; 0 for none."""
    return 0 if told is None else int(getattr(told, "seq", 0))


def counterpart(
    lines: Things[Any],
    told: Told,
    row: Request | None = None,
    belongs: Callable[[FrameHead | None], bool] | None = None,
) -> int | None:
    """The number of the line that tells of the same as ``told``, or else the nearest that tells of the same request.

    ``row`` is that request and ``belongs`` says which frames are about it; ``None`` where it tells of none.
    """
    ids = set[object]() if row is None else {(type(each), each) for each in (row.id, *row.round_ids)}
    numbers = range(lines.start, lines.end)
    middle = lines.start + bisect_left(numbers, moment(told), key=lambda number: moment(lines.item(number)))
    found: int | None = None
    for number in sorted(
        range(max(lines.start, middle - LOOKED), min(lines.end, middle + LOOKED)),
        key=lambda number: (abs(number - middle), number),
    ):
        other: Told = lines.item(number)
        if other == told or (seq(told) and seq(other) == seq(told)):
            return number
        if found is None and (
            (type(id_ := about(other)), id_) in ids
            if isinstance(other, ev.Event)
            else belongs is not None and belongs(other)
        ):
            found = number
    return found
