from __future__ import annotations

import pytest

from mcp_tui.tui.view.shares import LEAST, Border, Shares, shares


def parts(text: str) -> list[int]:
    return [int(each.removesuffix("fr")) for each in text.split()]


def test_the_shares_are_of_a_whole():
    made = Shares()
    assert sum(parts(made.columns())) == 1000
    assert sum(parts(made.rows(wide=True))) == 1000
    assert parts(made.rows(wide=False)) == [550, 450]


@pytest.mark.parametrize("border", ["left", "right", "split", "lower", "tabs"])
@pytest.mark.parametrize("to", [-1.0, 0.0, 0.3, 0.5, 0.7, 1.0, 2.0])
def test_no_border_takes_the_room_of_a_pane(border: Border, to: float):
    moved = Shares().moved(border, to)
    assert all(each >= 1000 * LEAST - 1 for each in parts(moved.columns()) + parts(moved.rows(wide=True)))
    assert [
        getattr(moved, each) for each in ("left", "right", "split", "lower", "tabs") if each != border
    ] == [getattr(Shares(), each) for each in ("left", "right", "split", "lower", "tabs") if each != border]


def test_a_border_goes_where_it_is_put():
    moved = Shares().moved("left", 0.3).moved("lower", 0.4)
    assert (moved.left, moved.lower) == (0.3, 0.4)
    assert parts(moved.columns())[0] == 300


@pytest.mark.parametrize(
    "told", [{}, {"left": "wide", "right": None}, {"left": 7, "lower": True}, {"split": -1}]
)
def test_what_is_no_share_is_left_as_it_comes(told: dict[str, object]):
    assert shares(told) == Shares()


def test_shares_that_leave_no_room_are_brought_into_order():
    found = shares({"left": 0.9, "split": 0.2, "right": 0.1})
    assert found.left < found.split < found.right
    assert shares({"left": 0.25, "lower": 0.5}) == Shares().moved("left", 0.25).moved("lower", 0.5)
