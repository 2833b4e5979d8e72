"""Some of the lines of a list: those that pass a filter, in another order where one is asked for."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar

from mcp_tui.tui.view.lines import Line, LineSource

Thing = TypeVar("Thing")
Told_co = TypeVar("Told_co", covariant=True)

BUDGET: Final = 0.03
"""Seconds that a filter may look at lines before the screen goes on."""


class Things(LineSource, Protocol[Told_co]):
    """Lines that are each about one thing."""

    def item(self, number: int) -> Told_co:
        """What a line is about."""
        ...


class Narrowed(Generic[Thing]):
    """A :class:`~mcp_tui.tui.view.lines.LineSource` of those lines of another that pass.

    Its numbers are its own, and never used again: where what was shown is not shown any more, or stands elsewhere, all
    lines get new ones. What is new comes at the end, in whatever order the rest stands. ``waiting`` lines were not looked
    at yet. ``around`` may change a line when it is drawn.
    """

    def __init__(self, base: Things[Thing], *, around: Callable[[Thing, Line], Line] | None = None) -> None:
        self.base = base
        self.waiting = 0
        self.passes: Callable[[Thing], bool] | None = None
        self.order: Callable[[Thing], Any] | None = None
        self._around = around
        self._found: list[int] = []
        self._gone = 0
        self._until = 0
        self._base_version: int = -1
        self._version = 0

    @property
    def version(self) -> int:
        return self._version + self.base.version

    @property
    def start(self) -> int:
        if self._all:
            return self.base.start
        self.update()
        return self._gone

    @property
    def end(self) -> int:
        return self.base.end if self._all else self._gone + len(self._found)

    @property
    def _all(self) -> bool:
        return self.passes is None and self.order is None

    def narrow(
        self, passes: Callable[[Thing], bool] | None, order: Callable[[Thing], Any] | None = None
    ) -> None:
        """Show what passes, in an order: what is least by it stands at the end, where the newest would."""
        self.passes, self.order = passes, order
        self._renumber([])
        self._until = self.base.start
        self._base_version = self.base.version
        self.waiting = 0
        if not self._all:
            self._look_on()
            if order is not None:
                self._renumber(sorted(self._found, key=self._place, reverse=True))

    def update(self) -> None:
        """Take in what came, for :data:`BUDGET` seconds at most, and what changed."""
        if self._all:
            return
        back = self.base.end < self._until  # a recording that was put to an earlier moment
        if self.base.version != self._base_version or (back and self.order is not None):
            self._base_version = self.base.version
            self._look_again()
        elif back:
            del self._found[bisect_left(self._found, self.base.end) :]
            self._until = self.base.end
            self._version += 1
        before = 0
        if self.order is None:
            before = bisect_left(self._found, self.base.start)
        elif self._found and min(self._found) < self.base.start:
            self._renumber([number for number in self._found if number >= self.base.start])
        if before:
            del self._found[:before]
            self._gone += before
        self._look_on()

    def _look_on(self) -> None:
        until = time.monotonic() + BUDGET
        number = max(self._until, self.base.start)
        end = self.base.end
        while number < end:
            if self._shown(number):
                self._found.append(number)
            number += 1
            if not number % 64 and time.monotonic() > until:
                break
        self._until, self.waiting = number, end - number

    def _look_again(self) -> None:
        self._until = min(self._until, self.base.end)
        passing = [number for number in range(self.base.start, self._until) if self._shown(number)]
        if self.order is not None:
            still = set(passing)
            kept = [number for number in self._found if number in still]
            known = set(kept)
            passing = [*kept, *(number for number in passing if number not in known)]
        if passing != self._found:
            self._renumber(passing)

    def _renumber(self, found: list[int]) -> None:
        self._gone += len(self._found)
        self._found = found
        self._version += 1

    def _shown(self, number: int) -> bool:
        return self.passes is None or self.passes(self.base.item(number))

    def _place(self, number: int) -> Any:
        assert self.order is not None
        return self.order(self.base.item(number))

    def item(self, number: int) -> Thing:
        """What a line is about."""
        return self.base.item(number if self._all else self._found[number - self._gone])

    def line(self, number: int, width: int) -> Line:
        internal = number if self._all else self._found[number - self._gone]
        made = self.base.line(internal, width)
        return made if self._around is None else self._around(self.base.item(internal), made)
