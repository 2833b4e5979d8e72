from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.tui.view import narrowed
from mcp_tui.tui.view.lines import Line, line
from mcp_tui.tui.view.narrowed import Narrowed
from mcp_tui.tui.view.text import SafeText


class Numbers:
    """Numbers as lines; some of the first may be let go, and what they are may change."""

    def __init__(self, *values: int) -> None:
        self.values = dict(enumerate(values))
        self.start = 0
        self.version = 0

    @property
    def end(self) -> int:
        return self.start + len(self.values)

    def append(self, value: int) -> None:
        self.values[self.end] = value

    def let_go(self) -> None:
        del self.values[self.start]
        self.start += 1

    def item(self, number: int) -> int:
        return self.values[number]

    def line(self, number: int, width: int) -> Line:
        return line(SafeText(str(self.values[number])), key=self.values[number])


def shown(lines: Narrowed[int]) -> list[object]:
    return [lines.line(number, 80).key for number in range(lines.start, lines.end)]


def even(value: int) -> bool:
    return value % 2 == 0


def test_without_a_filter_lines_and_numbers_are_those_of_the_list():
    base = Numbers(1, 2, 3)
    lines: Narrowed[int] = Narrowed(base)
    base.let_go()
    assert (lines.start, lines.end) == (1, 3)
    assert shown(lines) == [2, 3]


def test_what_passes_is_shown_and_what_comes_too():
    base = Numbers(1, 2, 3, 4)
    lines: Narrowed[int] = Narrowed(base)
    lines.narrow(even)
    assert shown(lines) == [2, 4]
    base.append(5)
    base.append(6)
    lines.update()
    assert shown(lines) == [2, 4, 6]
    before = lines.start
    for _ in range(3):
        base.let_go()
    lines.update()
    assert shown(lines) == [4, 6]
    assert lines.start == before + 1


def test_numbers_are_never_used_again_when_other_lines_are_shown():
    base = Numbers(1, 2, 3, 4)
    lines: Narrowed[int] = Narrowed(base)
    lines.narrow(even)
    used = set(range(lines.start, lines.end))
    version = lines.version
    base.values[2] = 8
    base.version += 1
    lines.update()
    assert shown(lines) == [2, 8, 4]
    assert not used & set(range(lines.start, lines.end))
    assert lines.version > version


def test_an_order_holds_until_it_is_asked_for_again():
    base = Numbers(3, 1, 2)
    lines: Narrowed[int] = Narrowed(base)
    lines.narrow(None, lambda value: value)
    assert shown(lines) == [3, 2, 1]
    base.append(0)
    base.append(9)
    lines.update()
    assert shown(lines) == [3, 2, 1, 0, 9]
    lines.narrow(None, lambda value: value)
    assert shown(lines) == [9, 3, 2, 1, 0]


def test_a_recording_may_go_back():
    base = Numbers(2, 4, 6)
    lines: Narrowed[int] = Narrowed(base)
    lines.narrow(even)
    del base.values[2]
    lines.update()
    assert shown(lines) == [2, 4]


def test_a_long_list_is_looked_at_in_turns():
    base = Numbers(*range(1000))
    lines: Narrowed[int] = Narrowed(base)
    budget, narrowed.BUDGET = narrowed.BUDGET, 0.0  # type: ignore[misc]
    try:
        lines.narrow(even)
        assert lines.waiting
        turns = 0
        while lines.waiting:
            lines.update()
            turns += 1
    finally:
        narrowed.BUDGET = budget  # type: ignore[misc]
    assert turns > 5
    assert shown(lines) == list(range(0, 1000, 2))


STEPS = st.lists(st.sampled_from(["add", "go", "change", "look"]), max_size=40)


@given(STEPS, st.booleans())
def test_it_shows_what_looking_at_all_lines_finds(steps: list[str], ordered: bool):
    base = Numbers(1, 2)
    lines: Narrowed[int] = Narrowed(base)
    lines.narrow(even, (lambda value: value) if ordered else None)
    for count, step in enumerate(steps, 3):
        if step == "add":
            base.append(count)
        elif step == "go" and base.values:
            base.let_go()
        elif step == "change" and base.values:
            base.values[base.start] += 1
            base.version += 1
        lines.update()
        expected = [value for value in base.values.values() if even(value)]
        assert shown(lines) == expected or (
            ordered and sorted(map(str, shown(lines))) == sorted(map(str, expected))
        )
