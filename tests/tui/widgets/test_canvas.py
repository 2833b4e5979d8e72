"""What every widget of the workbench has from the one that they are all made from."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.widget import Widget

from mcp_tui.protocol.requests import Book
from mcp_tui.tui.host import STYLESHEET
from mcp_tui.tui.view.catalogue import Catalogue
from mcp_tui.tui.widgets.bars import KeyBar, ServerBar
from mcp_tui.tui.widgets.detail import Detail
from mcp_tui.tui.widgets.line_list import LineList
from mcp_tui.tui.widgets.request_table import RequestTable


class Showing(App[None]):
    CSS_PATH = STYLESHEET

    def __init__(self, *widgets: Widget) -> None:
        super().__init__()
        self.widgets = widgets

    def compose(self) -> ComposeResult:
        yield from self.widgets


def panes() -> list[Widget]:
    return [
        RequestTable(Book(), now=lambda: 0.0, id="requests"),
        Detail(id="detail"),
        LineList(Catalogue(), id="catalogue"),
    ]


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_pane_has_a_border_that_says_whether_it_has_the_focus(place: int):
    widgets = panes()
    async with Showing(*widgets).run_test() as pilot:
        pane, other = widgets[place], widgets[place - 1]
        other.focus()
        await pilot.pause()
        edge, colour = pane.styles.border_top
        pane.focus()
        await pilot.pause()
        edge_in_focus, colour_in_focus = pane.styles.border_top
        assert edge == edge_in_focus == "round"
        assert colour != colour_in_focus
        assert (pane.styles.border_top, pane.styles.border_left) == (
            pane.styles.border_bottom,
            pane.styles.border_right,
        )


async def test_a_bar_is_one_line_and_has_none():
    bars: list[Widget] = [ServerBar(id="server"), KeyBar()]
    async with Showing(*bars).run_test():
        for bar in bars:
            assert not bar.styles.border_top[0]
            assert bar.outer_size == (80, 1)
            assert not bar.can_focus
