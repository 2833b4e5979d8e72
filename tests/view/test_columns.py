from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.view.columns import Column, ColumnNeed, ColumnWidths, allot
from mcp_tui.view.text import SafeText, clean

needed = st.lists(
    st.builds(ColumnNeed, least=st.integers(0, 40), wish=st.integers(0, 300), weight=st.integers(1, 9)),
    min_size=1,
    max_size=8,
)


@given(needed, st.integers(0, 400))
def test_columns_fill_the_room_and_none_is_cut_while_another_has_spare_cells(
    needs: list[ColumnNeed], room: int
):
    widths = allot(needs, room)
    assert sum(widths) == room
    assert min(widths) >= 0
    if any(width < need.wish for width, need in zip(widths, needs, strict=True)):
        assert all(width <= max(need.wish, need.least) for width, need in zip(widths, needs, strict=True))
    enough = allot(needs, room + sum(need.least for need in needs))
    assert all(width >= need.least for width, need in zip(enough, needs, strict=True))


def test_spare_cells_go_to_the_column_for_them_and_the_widest_gives_way():
    needs = [ColumnNeed(24, 30, 6), ColumnNeed(10, 18, 3, spare=True), ColumnNeed(7, 7, 9)]
    assert allot(needs, 65) == [30, 28, 7]
    assert allot(needs, 35) == [18, 10, 7]
    assert allot(needs, 9) == [3, 3, 3]


def cell(name: str) -> Callable[[str], tuple[SafeText, str]]:
    return lambda thing: (clean(f"{name}{thing}"), "")


def test_live_cells_begin_at_the_first_live_column():
    columns = (Column(cell=cell("a")), Column(cell=cell("b"), live=True), Column(cell=cell("c")))
    widths: ColumnWidths[str] = ColumnWidths()
    assert widths.grow(columns, ["1"])
    layout = widths.layout(columns, 8)
    whole = "".join(text for text, _ in layout.pieces("1"))
    assert (whole, whole[: layout.live_at]) == ("a1 b1 c1", "a1")


def test_columns_get_shorter_and_then_leave_where_there_is_no_room():
    columns = (
        Column(cell=cell("long"), shorter=Column(cell=cell("s")), weight=2),
        Column(cell=cell("text"), least=4),
        Column(cell=cell("first"), leaves=1),
        Column(cell=cell("last"), leaves=2),
    )
    widths: ColumnWidths[str] = ColumnWidths()
    widths.grow(columns, ["1"])
    shown = {
        cells: "".join(text for text, _ in widths.fit(columns, cells).pieces("1"))
        for cells in (24, 20, 19, 18, 13, 12)
    }
    assert shown == {
        24: "long1 text1 first1 last1",
        20: "s1 tex… first1 last1",
        19: "long1   text1 last1",
        18: "long1  text1 last1",
        13: "s1 tex… last1",
        12: "long1  text1",
    }
