from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.tui.view.columns import Column, ColumnWidths, Need, allot
from mcp_tui.tui.view.text import clean

needed = st.lists(
    st.builds(Need, least=st.integers(0, 40), wish=st.integers(0, 300), weight=st.integers(1, 9)),
    min_size=1,
    max_size=8,
)
rooms = st.integers(0, 400)


@given(needed, rooms)
def test_columns_are_together_as_wide_as_the_room(needs: list[Need], room: int):
    widths = allot(needs, room)
    assert sum(widths) == room
    assert min(widths) >= 0


@given(needed, rooms)
def test_nothing_is_cut_while_cells_stand_empty(needs: list[Need], room: int):
    widths = allot(needs, room)
    if any(width < need.wish for width, need in zip(widths, needs, strict=True)):
        assert all(width <= max(need.wish, need.least) for width, need in zip(widths, needs, strict=True))


@given(needed, rooms)
def test_every_column_has_its_fewest_where_there_is_room_for_them(needs: list[Need], room: int):
    widths = allot(needs, room + sum(need.least for need in needs))
    assert all(width >= need.least for width, need in zip(widths, needs, strict=True))


def test_what_changes_with_the_time_alone_begins_at_its_first_column():
    def column(name: str, *, live: bool = False) -> Column[str]:
        return Column(title=clean(name), cell=lambda thing: (clean(f"{name}{thing}"), ""), live=live)

    columns = (column("a"), column("b", live=True), column("c"))
    widths: ColumnWidths[str] = ColumnWidths()
    assert widths.grow(columns, ["1"])
    layout = widths.layout(columns, 9)
    whole = "".join(text for text, _ in layout.pieces("1"))
    assert (whole, whole[: layout.live_at]) == (" a1 b1 c1", " a1")


def test_what_no_column_needs_goes_to_the_one_for_it_and_the_heaviest_is_cut_last():
    needs = [Need(24, 30, 6), Need(10, 18, 3, spare=True), Need(7, 7, 9)]
    assert allot(needs, 65) == [30, 28, 7]
    assert allot(needs, 35) == [24, 4, 7]
    assert allot(needs, 9) == [2, 0, 7]
