from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.view import lines as module
from mcp_tui.view.lines import EMPTY, FilteredLines, Line, line
from mcp_tui.view.text import clean, words


class Values:
    """Numbers as lines; some of the first may be dropped, and what they are may change."""

    def __init__(self, *values: int) -> None:
        self.values = list(values)
        self.dropped = 0
        self.version = 0

    @property
    def numbers(self) -> range:
        return range(self.dropped, len(self.values))

    def add(self, count: int) -> None:
        """Go on with whole numbers."""
        self.values += range(len(self.values), len(self.values) + count)

    def drop(self) -> None:
        self.dropped = min(self.dropped + 1, len(self.values))

    def back(self) -> None:
        """Take the last one away, as a recording does that is put to an earlier moment."""
        del self.values[max(self.dropped, len(self.values) - 1) :]

    def change(self) -> None:
        if self.numbers:
            self.values[self.dropped] += 1
            self.version += 1

    def item(self, number: int) -> int:
        assert number in self.numbers
        return self.values[number]

    def line(self, number: int, width: int) -> Line:
        if number not in self.numbers:
            return EMPTY
        return line((clean(f"t{self.item(number)}"), "muted"), words(" said"), key=self.item(number))


def shown(lines: FilteredLines[int]) -> list[object]:
    return [lines.line(number, 80).key for number in lines.numbers]


def even(value: int) -> bool:
    return value % 2 == 0


def test_what_was_dropped_between_two_looks_reads_as_nothing():
    base = Values(2, 4, 6)
    lines = FilteredLines(base)
    lines.filter(even)
    base.drop()
    assert lines.line(0, 80) == EMPTY
    assert list(lines.items()) == [4, 6]


def test_an_order_holds_until_it_is_asked_for_again():
    base = Values(3, 1, 2)
    lines = FilteredLines(base)
    lines.filter(None, lambda value: value)
    assert shown(lines) == [3, 2, 1]
    base.values += [0, 9]
    lines.update()
    assert shown(lines) == [3, 2, 1, 0, 9]
    lines.filter(None, lambda value: value)
    assert shown(lines) == [9, 3, 2, 1, 0]


def test_a_long_list_is_looked_at_in_turns():
    base = Values(*range(1000))
    lines = FilteredLines(base)
    budget, module.FILTER_SECONDS = module.FILTER_SECONDS, 0.0  # type: ignore[misc]
    try:
        lines.filter(even)
        assert lines.waiting
        turns = 0
        while lines.waiting:
            lines.update()
            turns += 1
    finally:
        module.FILTER_SECONDS = budget  # type: ignore[misc]
    assert turns > 5
    assert shown(lines) == list(range(0, 1000, 2))


def test_a_long_list_that_changes_is_looked_at_in_turns_and_shown_meanwhile(monkeypatch: pytest.MonkeyPatch):
    base = Values(*range(1000))
    lines = FilteredLines(base)
    lines.filter(even)
    lines.update()
    assert not lines.waiting
    base.values[0], base.values[999] = 1, 0
    base.version += 1
    monkeypatch.setattr(module, "FILTER_SECONDS", 0.0)
    lines.update()
    assert lines.waiting > 900
    assert (lines.numbers[0], lines.numbers[-1]) == (0, 999), "the newest is looked at first"
    base.version += 1  # meanwhile: the oldest has its turn all the same
    for _ in range(40):
        lines.update()
    assert not lines.waiting
    assert list(lines.numbers) == [*range(2, 1000, 2), 999]


STEPS = st.lists(st.sampled_from(["add", "drop", "change", "back", "look"]), max_size=40)


@given(STEPS, st.booleans())
def test_it_shows_what_looking_at_all_lines_finds(steps: list[str], ordered: bool):
    base = Values(1, 2)
    lines = FilteredLines(base)
    lines.filter(even, (lambda value: value) if ordered else None)
    for count, step in enumerate(steps, 3):
        if step == "add":
            base.values.append(count)
        elif step != "look":
            getattr(base, step)()
        assert all(lines.line(number, 80) is not None for number in lines.numbers)
        lines.update()
        expected = [number for number in base.numbers if even(base.values[number])]
        found = list(lines.numbers)
        assert (sorted(found) if ordered else found) == expected
