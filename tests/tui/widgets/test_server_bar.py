from __future__ import annotations

from mcp_tui.tui.view.server import Link, ServerFacts
from mcp_tui.tui.view.text import words
from mcp_tui.tui.widgets.bars import ServerBar
from tests.tui.widgets.host import Host


async def test_the_bar_is_one_line_of_the_whole_width():
    shown = ServerBar()
    async with Host(shown).run_test(size=(80, 5)) as pilot:
        assert shown.render_line(0).text.startswith(" ◌ no server  connecting")
        facts = ServerFacts(
            link=Link.CONNECTED,
            name=words("everything"),
            transport=words("stdio"),
            revision=words("2025-11-25"),
        )
        shown.show(facts)
        assert shown.facts == facts
        assert shown.render_line(0).text.startswith(" ✓ everything  stdio  2025-11-25   ")
        assert shown.size.height == 1
        assert len(shown.render_line(0).text) == 80
        await pilot.resize_terminal(140, 5)
        await pilot.pause()
        assert len(shown.render_line(0).text) == 140
        await pilot.press("tab")
        assert not shown.has_focus
