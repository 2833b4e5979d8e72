"""Lines of styled pieces, and sources of lines: the log, the messages, the cancellations."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from mcp_tui.protocol.values import frozen
from mcp_tui.view.text import SafeText, join, words

Segments = tuple[tuple[SafeText, str], ...]
"""Pieces of a line, each with the name of a style; the empty name is the plain style."""


@frozen
class Line:
    """One line. ``key`` identifies the subject of the line, such as a request id or the number of a frame."""

    segments: Segments
    key: object = None

    @property
    def text(self) -> SafeText:
        """The line without its styles."""
        return join(text for text, _ in self.segments)


EMPTY: Final = Line(())
"""The line for a number that no longer exists."""


def line(*pieces: SafeText | tuple[SafeText, str], key: object = None) -> Line:
    """Returns a line of pieces, plain or with a style: ``line((time, "time"), text)``."""
    return Line(tuple((piece, "") if isinstance(piece, str) else piece for piece in pieces), key)


def texts(lines: Iterable[SafeText], tone: str = "") -> list[Line]:
    """Returns a line for each text, all of one style."""
    return [line((text, tone)) for text in lines]


DAMAGED: Final = line((words("This record of the recording is damaged"), "warning"))
"""The line for a record that cannot be read."""


class LineSource(Protocol):
    """A source of lines by number. A number always means the same line.

    ``numbers`` has the numbers of the lines that exist, oldest first. ``version`` increases when the text of a line changes;
    it need not increase when lines are added at the end or removed at the start.
    """

    @property
    def numbers(self) -> Sequence[int]: ...

    @property
    def version(self) -> int: ...

    def line(self, number: int, width: int, /) -> Line:
        """Returns a line, laid out in ``width`` cells; :data:`EMPTY` if the number no longer exists."""
        ...


Matter = TypeVar("Matter")
Matter_co = TypeVar("Matter_co", covariant=True)


class ItemSource(LineSource, Protocol[Matter_co]):
    """A source of lines with one subject each, such as :class:`Lines` and the cancellations of a session.

    Lines are added at the end, and removed at either end.
    """

    @property
    def numbers(self) -> range: ...

    def item(self, number: int, /) -> Matter_co:
        """Returns the subject of a line; ``number`` must be one of :attr:`numbers`."""
        ...


@frozen
class Lines(Generic[Matter]):
    """A source made of functions, which return the numbers, the subject of a number, its line, and the version."""

    all: Callable[[], range]
    item: Callable[[int], Matter]
    made: Callable[[int, int], Line]
    changes: Callable[[], int] = lambda: 0

    def line(self, number: int, width: int) -> Line:
        return self.made(number, width) if number in self.numbers else EMPTY

    @property
    def numbers(self) -> range:
        return self.all()

    @property
    def version(self) -> int:
        return self.changes()


FILTER_SECONDS: Final = 0.03
"""The most seconds that a filter takes in one update of the screen."""


class FilteredLines(Generic[Matter]):
    """The lines of another source that pass a filter; they keep their numbers, and may be sorted.

    The other source may grow or shrink at any time. Lines added after the filter was set are at the end, in any sort order.

    Attributes:
        waiting: the number of lines that the filter has not checked, or not since the source changed.
    """

    def __init__(self, base: ItemSource[Matter]) -> None:
        self.base = base
        self.line = base.line
        self.waiting = 0
        self.passes: Callable[[Matter], bool] | None = None
        self.order: Callable[[Matter], Any] | None = None
        self._found: list[int] = []
        self._checked_until = 0
        self._to_recheck = range(0)
        self._base_version = -1
        self._version = 0

    @property
    def version(self) -> int:
        return self._version + self.base.version

    @property
    def numbers(self) -> Sequence[int]:
        return self.base.numbers if self._all else self._found

    @property
    def _all(self) -> bool:
        return self.passes is None and self.order is None

    def items(self) -> Iterator[Matter]:
        """Returns the subjects of all lines."""
        return (self.base.item(number) for number in self.numbers if number in self.base.numbers)

    def filter(
        self, passes: Callable[[Matter], bool] | None, order: Callable[[Matter], Any] | None = None
    ) -> None:
        """Shows the lines that pass, sorted by ``order`` in descending order, so that the lowest is at the end."""
        self.passes, self.order = passes, order
        self._found, self.waiting = [], 0
        self._version += 1
        self._checked_until = self.base.numbers.start
        self._to_recheck = range(0)
        self._base_version = self.base.version
        if not self._all:
            self._check_new()
            if order is not None:
                self._found.sort(key=lambda number: order(self.base.item(number)), reverse=True)

    def update(self) -> None:
        """Checks new lines and changed lines, for at most :data:`FILTER_SECONDS` seconds each."""
        if self._all:
            return
        numbers = self.base.numbers
        self._checked_until = min(
            self._checked_until, numbers.stop
        )  # a recording may go to an earlier moment
        if not self._to_recheck and self.base.version != self._base_version:
            self._base_version = self.base.version
            self._to_recheck = range(numbers.start, self._checked_until)
        if self.order is not None:
            self._replace([number for number in self._found if number in numbers])
        else:
            first, last = (bisect_left(self._found, edge) for edge in (numbers.start, numbers.stop))
            self._replace(self._found[first:last])
        if self._to_recheck:
            self._check_changed()
        self._check_new()

    def _replace(self, found: list[int]) -> None:
        if found != self._found:
            self._found = found
            self._version += 1

    def _check_changed(self) -> None:
        """Checks lines again that may have changed, the newest first."""
        until = time.monotonic() + FILTER_SECONDS
        start = min(self._to_recheck.start, self._checked_until)
        again = range(max(start, self.base.numbers.start), min(self._to_recheck.stop, self._checked_until))
        passing = list[int]()
        number = again.stop
        while number > again.start:
            number -= 1
            if self._passes(number):
                passing.append(number)
            if not number % 64 and time.monotonic() > until:
                break
        checked = range(number, again.stop)
        self._to_recheck = range(again.start, number)
        still = set(passing)
        found = [each for each in self._found if each not in checked or each in still]
        found += sorted(still.difference(found))
        self._replace(found if self.order is not None else sorted(found))

    def _check_new(self) -> None:
        until = time.monotonic() + FILTER_SECONDS
        numbers = self.base.numbers
        number = max(self._checked_until, numbers.start)
        while number < numbers.stop:
            if self._passes(number):
                self._found.append(number)
            number += 1
            if not number % 64 and time.monotonic() > until:
                break
        self._checked_until, self.waiting = number, numbers.stop - number + len(self._to_recheck)

    def _passes(self, number: int) -> bool:
        return self.passes is None or self.passes(self.base.item(number))
