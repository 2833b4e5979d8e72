from __future__ import annotations

from mcp_tui.view.pane_sizes import LEAST_SHARE, Border, Shares, shares
from tests.cases import cases

BORDERS: list[Border] = ["requests", "catalogue", "tabs"]


@cases(
    ("screen", "lines", "narrow", "height"),
    [(40, 3, False, 8), (40, 12, False, 12), (40, 99, False, 18), (24, 99, True, 13), (8, 99, False, 3)],
)
def test_the_requests_are_as_high_as_their_rows_within_bounds(
    screen: int, lines: int, narrow: bool, height: int
):
    assert Shares().height(screen, lines, narrow=narrow) == height


def test_the_catalogue_is_as_wide_as_its_longest_name_within_bounds():
    assert [Shares().catalogue_width(140, cells) for cells in (0, 28, 90)] == [26, 28, 30]
    assert [Shares().catalogue_width(200, cells) for cells in (0, 45, 90)] == [26, 45, 54]


@cases(("screen", "catalogue"), [(100, 0), (120, 0), (140, 0), (159, 30), (200, 54), (200, 20)])
def test_the_detail_has_most_of_the_width(screen: int, catalogue: int):
    detail = screen - catalogue - Shares().tabs_width(screen, catalogue)
    assert 100 * detail >= (55 if screen < 160 else 42) * screen


def test_no_border_takes_the_room_of_a_pane():
    for border in BORDERS:
        for to in (-1.0, 0.0, 0.3, 0.5, 0.7, 1.0, 2.0):
            moved = Shares().moved(border, to)
            assert moved.height(40, 10, narrow=False) in range(3, 38)
            catalogue = moved.catalogue_width(200, 20)
            tabs = moved.tabs_width(200, catalogue)
            assert min(catalogue, tabs, 200 - catalogue - tabs) >= 200 * LEAST_SHARE - 1


@cases("told", [{}, {"catalogue": "wide", "tabs": None}, {"tabs": 7, "requests": True}, {"requests": -1}])
def test_what_is_no_share_leaves_the_size_to_the_content(told: dict[str, object]):
    assert shares(told) == Shares()


def test_shares_that_leave_no_room_are_brought_into_order():
    found = shares({"catalogue": 0.9, "tabs": 0.9})
    assert (found.catalogue or 0) + (found.tabs or 0) <= 1 - LEAST_SHARE
    assert shares({"tabs": 0.25, "requests": 0.5}) == Shares().moved("tabs", 0.25).moved("requests", 0.5)
