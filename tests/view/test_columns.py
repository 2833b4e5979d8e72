from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mcp_tui.protocol import events as ev
from mcp_tui.view.columns import Column, ColumnNeed, ColumnWidths, allot, narrowed
from mcp_tui.view.outline import Item, row_key
from mcp_tui.view.table_columns import LONG_TEXT_CELLS, TableLine, columns
from mcp_tui.view.text import SafeText, clean
from tests.cases import cases
from tests.tui.making import cancelled, completed, late, progress, row, started

CHANGES: list[list[ev.Event]] = [
    [],
    [progress(3, 4, "a message that is longer than what there is room for in a narrow table")],
    [ev.InputRequired(at=1.0, id=1, round=1, asks="elicitation/create")],
    [ev.TaskCreated(at=1.0, id=1, task_id="t", status="working")],
    cancelled(),
    [*cancelled(), late()],
    [*cancelled(settled=""), late()],
    [completed()],
    [completed(is_error=True)],
    [ev.Lost(at=1.0, id=1, detail="the server exited with code 137")],
]


def item(*events: ev.Event) -> Item:
    made = row([*events])
    return Item(row_key(made), made)


FEW_WORDS = [
    item(*started(id, limits=limits, name=name), *(replace(each, id=id) for each in change))
    for id, name in ((1, "echo"), (9999, "price_history"))
    for limits in (ev.Limits(), ev.Limits(timeout=60.0), ev.Limits(timeout=60.0, max_timeout=600.0))
    for change in CHANGES
]
"""Rows in every state, with ids and names that fit."""

needed = st.lists(
    st.builds(ColumnNeed, least=st.integers(0, 40), wish=st.integers(0, 300), weight=st.integers(1, 9)),
    min_size=1,
    max_size=8,
)


@given(needed, st.integers(0, 400))
def test_columns_fill_the_room_and_none_is_cut_while_another_has_spare_cells(
    needs: list[ColumnNeed], space: int
):
    widths = allot(needs, space)
    assert sum(widths) == space
    assert min(widths) >= 0
    if any(width < need.wish for width, need in zip(widths, needs, strict=True)):
        assert all(width <= max(need.wish, need.least) for width, need in zip(widths, needs, strict=True))
    enough = allot(needs, space + sum(need.least for need in needs))
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


@given(st.lists(st.sampled_from(FEW_WORDS), max_size=40), st.sampled_from((78, 98, 138)))
def test_no_column_of_the_requests_moves_whatever_becomes_of_them(seen: list[Item], cells: int):
    widths: ColumnWidths[TableLine] = ColumnWidths()
    shown = columns(cells)
    widths.grow(shown, [])
    before = widths.fit(shown, cells)
    for item in seen:
        widths.grow(shown, [TableLine(item, 12.5, wide=cells >= LONG_TEXT_CELLS)])
        assert widths.fit(shown, cells) == before
    assert not before.squeezed


def test_a_long_name_moves_the_columns_once_and_leaves_the_result_its_least():
    widths: ColumnWidths[TableLine] = ColumnWidths()
    shown = columns(98)
    names = ["a", "resources/read_me_first", "resources/read_me_second", "x" * 90]
    seen: list[list[int]] = []
    for name in names:
        widths.grow(shown, [TableLine(item(*started(name=name)), 2.0)])
        seen.append([*widths.fit(shown, 98).widths])
    assert seen[1] == seen[2] != seen[0]
    assert seen[3][3] >= 18


def test_columns_leave_in_their_order_where_there_is_no_room():
    columns = (
        Column(cell=cell("long"), weight=2),
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
        20: "long1    text1 last1",
        19: "long1   text1 last1",
        18: "long1  text1 last1",
        13: "long1   text1",
        12: "long1  text1",
    }


@cases(
    ("widths", "space", "made"),
    [
        ([3, 9, 5], 20, [3, 9, 5]),
        ([3, 9, 9], 16, [3, 6, 7]),
        ([30, 2, 30], 4, [4, 2, 4]),
        ([1_000_000] * 400, 80, [4] * 400),
        ([], -2, []),
    ],
)
def test_the_widest_columns_get_narrower(widths: list[int], space: int, made: list[int]):
    assert narrowed(widths, space, 4) == made
