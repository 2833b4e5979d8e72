"""The line of keys at the bottom."""

from __future__ import annotations

import pytest

from mcp_tui.tui.widgets.bars import KeyBar
from mcp_tui.view.keys import in_footer, keys
from mcp_tui.view.text import words
from tests.tui.widgets.host import Host


@pytest.mark.parametrize("cells", [60, 80, 120])
async def test_every_key_stands_whole_and_the_way_to_all_others_among_them(cells: int):
    bar = KeyBar()
    async with Host(bar).run_test(size=(cells, 5)):
        bar.show(keys(), {"server.sign-in", "server.menu"})  # as long as the server wants none and is there
        text = bar.render_line(0).text
        shown = bar.fitting()
        assert text.rstrip() == " " + "  ".join(f"{in_footer(key)} {key.label}" for key in shown)
        assert "? Help" in text
        assert text.rstrip().endswith("? Help  q Quit")
        assert ("0-6 Pane" in text) == (cells >= 80)
        assert len(shown) >= 5
        bar.show_message(words("Server exited with code 3. Press S to restart it."))
        text = bar.render_line(0).text
        assert text.startswith(" Server exited with code 3.")
        assert text.rstrip().endswith("? Help  q Quit")
