"""Lines made of styled pieces, and where they come from: what the log, the wire and the cancellations are shown as."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, Protocol, TypeVar

from mcp_tui.protocol.values import frozen
from mcp_tui.tui.view.text import SafeText, join, words

Segments = tuple[tuple[SafeText, str], ...]
"""Pieces of a line, each with the name of a style; the empty name is the plain style."""


@frozen
class Line:
    """One line. ``key`` is what the line is about: an id, the number of a frame; it travels in messages."""

    segments: Segments
    key: object = None

    @property
    def text(self) -> SafeText:
        """The line without its styles."""
        return join(text for text, _ in self.segments)


EMPTY: Final = Line(())
"""What is read where there is no line any more."""


def line(*pieces: SafeText | tuple[SafeText, str], key: object = None) -> Line:
    """A line of pieces, plain or with a style: ``line((time, "time"), text)``."""
    return Line(tuple((piece, "") if isinstance(piece, str) else piece for piece in pieces), key)


def texts(lines: Iterable[SafeText], tone: str = "") -> list[Line]:
    """A line of each text, all of one style."""
    return [line((text, tone)) for text in lines]


DAMAGED: Final = line((words("This record of the recording is damaged"), "warning"))
"""What stands in place of a line whose record cannot be read."""


class LineSource(Protocol):
    """Lines by number. A number always means the same line and is never used for another.

    ``numbers`` are those that there are at this moment, the oldest first. ``version`` grows whenever what a line says has
    changed; that lines came at the end or went at the start need not count. Where ``numbers`` are no range, a number that
    is not among them reads as :data:`EMPTY`; nobody asks for another that is outside a range.
    """

    @property
    def numbers(self) -> Sequence[int]: ...

    @property
    def version(self) -> int: ...

    def line(self, number: int, width: int, /) -> Line:
        """The line of one of :attr:`numbers`. There are ``width`` cells to lay it out in."""
        ...


Item = TypeVar("Item")
Item_co = TypeVar("Item_co", covariant=True)


class ItemSource(LineSource, Protocol[Item_co]):
    """Lines that are each about one thing; ones may come at the end, and go at either end."""

    @property
    def numbers(self) -> range: ...

    def item(self, number: int, /) -> Item_co:
        """What the line of one of :attr:`numbers` is about."""
        ...


@frozen
class Lines(Generic[Item]):
    """Lines told by functions: their numbers, what each is about, and each in so many cells; and what a change lets grow."""

    all: Callable[[], range]
    item: Callable[[int], Item]
    line: Callable[[int, int], Line]
    changes: Callable[[], int] = lambda: 0

    @property
    def numbers(self) -> range:
        return self.all()

    @property
    def version(self) -> int:
        return self.changes()


BUDGET: Final = 0.03
"""Seconds that a filter may look at lines before the screen goes on."""


class FilteredLines(Generic[Item]):
    """Those lines of another source that pass a filter, in another order where one is asked for; under their own numbers.

    It may be read at any moment, however the other source has grown or shrunk since the last :meth:`update`: what is not
    there any more reads as :data:`EMPTY`, or as ``None``. What is new comes at the end, in whatever order the rest stands.

    Attributes:
        waiting: lines that were not looked at yet.
        around: changes a line when it is drawn.
    """

    def __init__(self, base: ItemSource[Item], *, around: Callable[[Item, Line], Line] | None = None) -> None:
        self.base = base
        self.around = around
        self.waiting = 0
        self.passes: Callable[[Item], bool] | None = None
        self.order: Callable[[Item], Any] | None = None
        self._found: list[int] = []  # only ever appended to, or replaced: a list widget counts on that
        self._until = 0
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

    def item(self, number: int) -> Item | None:
        """What a line is about; ``None`` where it is not there any more."""
        return self.base.item(number) if number in self.base.numbers else None

    def items(self) -> Iterator[Item]:
        """What all lines are about."""
        return (self.base.item(number) for number in self.numbers if number in self.base.numbers)

    def line(self, number: int, width: int) -> Line:
        if number not in self.base.numbers:
            return EMPTY
        made = self.base.line(number, width)
        return made if self.around is None else self.around(self.base.item(number), made)

    def filter(
        self, passes: Callable[[Item], bool] | None, order: Callable[[Item], Any] | None = None
    ) -> None:
        """Show what passes, in an order: what is least by it stands at the end, where the newest would."""
        self.passes, self.order = passes, order
        self._found, self.waiting = [], 0
        self._version += 1
        self._until = self.base.numbers.start
        self._base_version = self.base.version
        if not self._all:
            self._look_on()
            if order is not None:
                self._found.sort(key=lambda number: order(self.base.item(number)), reverse=True)

    def update(self) -> None:
        """Take in what came, for :data:`BUDGET` seconds at most, and what changed."""
        if self._all:
            return
        numbers = self.base.numbers
        self._until = min(self._until, numbers.stop)  # a recording may go to an earlier moment
        if self.base.version != self._base_version:
            self._base_version = self.base.version
            passing = [number for number in range(numbers.start, self._until) if self._passes(number)]
            if self.order is not None:
                before = {number: at for at, number in enumerate(self._found)}
                passing.sort(key=lambda number: before.get(number, len(before)))
            self._replace(passing)
        elif self.order is not None:
            self._replace([number for number in self._found if number in numbers])
        else:
            first, last = (bisect_left(self._found, edge) for edge in (numbers.start, numbers.stop))
            if first or last < len(self._found):
                self._replace(self._found[first:last])
        self._look_on()

    def _replace(self, found: list[int]) -> None:
        if found != self._found:
            self._found = found
            self._version += 1

    def _look_on(self) -> None:
        until = time.monotonic() + BUDGET
        numbers = self.base.numbers
        number = max(self._until, numbers.start)
        while number < numbers.stop:
            if self._passes(number):
                self._found.append(number)
            number += 1
            if not number % 64 and time.monotonic() > until:
                break
        self._until, self.waiting = number, numbers.stop - number

    def _passes(self, number: int) -> bool:
        return self.passes is None or self.passes(self.base.item(number))
