from __future__ import annotations

from mcp_tui.tui.view.server import Counts, Link, ServerFacts
from mcp_tui.tui.view.text import clean, words
from mcp_tui.tui.widgets.bars import ServerBar
from tests.tui.hostile import PAYLOADS, assert_harmless
from tests.tui.widgets.host import Host, whole


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


async def test_the_ascii_bar():
    shown = ServerBar()
    shown.ascii = True
    async with Host(shown).run_test(size=(80, 5)):
        shown.show(ServerFacts(link=Link.CONNECTED, counts=Counts(1, 2, 3)))
        assert shown.render_line(0).text.endswith("> 1 in flight  ~ 2 requested  ! 3 late  ")


async def test_hostile_text_is_harmless():
    shown = ServerBar()
    async with Host(shown).run_test(size=(80, 5)):
        for payload in PAYLOADS.values():
            text = clean(payload)
            shown.show(ServerFacts(name=text, transport=text, detail=text))
            assert_harmless(whole(shown))
            assert shown.render_line(0).cell_length == 80
