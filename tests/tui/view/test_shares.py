from __future__ import annotations

import pytest

from mcp_tui.tui.view.shares import LEAST, Border, Shares, shares


def parts(text: str) -> list[int]:
    return [int(each.removesuffix("fr")) for each in text.split()]


BORDERS: list[Border] = ["left", "right", "split", "lower", "tabs"]


def test_no_border_takes_the_room_of_a_pane():
    for border in BORDERS:
        for to in (-1.0, 0.0, 0.3, 0.5, 0.7, 1.0, 2.0):
            moved = Shares().moved(border, to)
            shown = parts(moved.columns()) + parts(moved.rows(wide=True))
            assert all(each >= 1000 * LEAST - 1 for each in shown)
            others = [each for each in BORDERS if each != border]
            assert [getattr(moved, each) for each in others] == [getattr(Shares(), each) for each in others]


@pytest.mark.parametrize(
    "told", [{}, {"left": "wide", "right": None}, {"left": 7, "lower": True}, {"split": -1}]
)
def test_what_is_no_share_is_left_as_it_comes(told: dict[str, object]):
    assert shares(told) == Shares()


def test_shares_that_leave_no_room_are_brought_into_order():
    found = shares({"left": 0.9, "split": 0.2, "right": 0.1})
    assert found.left < found.split < found.right
    assert shares({"left": 0.25, "lower": 0.5}) == Shares().moved("left", 0.25).moved("lower", 0.5)
