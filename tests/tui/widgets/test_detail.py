from __future__ import annotations

import pytest

from mcp_tui.tui.widgets.detail_pane import Detail
from mcp_tui.view.detail import Section
from mcp_tui.view.lines import line
from mcp_tui.view.pages import JsonPage
from mcp_tui.view.text import SafeText, words
from tests.tui.painted import widget_text
from tests.tui.widgets.host import Host, inside


def text(shown: Detail) -> list[str]:
    return [made.rstrip() for made in inside(shown)]


def numbered(count: int) -> list[Section]:
    return [Section(words("Numbers"), tuple(line(SafeText(str(number))) for number in range(count)))]


async def test_the_place_is_kept_for_the_same_thing_only():
    shown = Detail()
    async with Host(shown).run_test(size=(40, 8)) as pilot:
        shown.show(words("a"), numbered(100), key=1)
        shown.focus()
        await pilot.press("pagedown")
        await pilot.pause()
        before = text(shown)
        assert before[0] != "Numbers"
        shown.show(words("a"), numbered(200), key=1)
        assert text(shown) == before
        shown.show(words("b"), numbered(200), key=2)
        assert text(shown)[0] == "Numbers"
        await pilot.press("G")
        await pilot.pause()
        assert text(shown)[-1] == "199"
        shown.show(words("Detail"), ())
        assert text(shown)[0] == " Nothing selected."


async def test_sections_that_stay_are_not_wrapped_again(monkeypatch: pytest.MonkeyPatch):
    import mcp_tui.tui.widgets.detail_pane as module

    shown = Detail()
    wrapped: list[Section] = []
    wrap = module.wrapped_lines

    def counted(section: Section, cells: int) -> object:
        wrapped.append(section)
        return wrap(section, cells)

    monkeypatch.setattr(module, "wrapped_lines", counted)
    async with Host(shown).run_test(size=(40, 8)) as pilot:
        (large,), (first,), (second,) = numbered(1000), numbered(1), numbered(2)
        shown.show(words("a"), [first, large])
        shown.show(words("a"), [second, large])
        assert wrapped == [first, large, second]
        await pilot.resize_terminal(60, 8)
        await pilot.pause()
        assert wrapped.count(large) == 2


async def test_a_text_is_found_from_place_to_place():
    shown = Detail()
    host = Host(shown)
    async with host.run_test(size=(40, 10)) as pilot:
        shown.show(words("a"), numbered(300))
        shown.focus()
        await pilot.press("slash", *"77")
        await pilot.pause()
        assert shown.check_consume_key("n", "n")
        assert "/77▏  1 of 3" in widget_text(shown)
        assert any(made.strip() == "77" for made in text(shown))
        await pilot.press("enter", "n", "n")
        await pilot.pause()
        assert "3 of 3" in widget_text(shown)
        assert any(made.strip() == "277" for made in text(shown))
        await pilot.press("n", "N")
        assert "3 of 3" in widget_text(shown)
        assert shown.check_consume_key("n", "n")
        assert shown.check_consume_key("slash", "/")
        assert not shown.check_consume_key("c", "c")
        await pilot.press("escape")
        await pilot.pause()
        assert "of 3" not in widget_text(shown)
        assert not shown.check_consume_key("n", "n")


async def test_a_page_folds_under_the_cursor_and_is_searched_where_it_is_folded():
    shown = Detail()
    opened: list[Detail.Opened] = []

    class Hears(Host):
        def on_detail_opened(self, event: Detail.Opened) -> None:
            opened.append(event)

    page = JsonPage({"rows": [{"id": at, "name": f"n{at}"} for at in range(3)], "more": 1})
    facts = Section(words(""), (line(words("fact")),))
    answer = Section(words("Answer"), page=page)
    async with Hears(shown).run_test(size=(40, 16)) as pilot:
        shown.show(words("a"), [facts, answer], key=1)
        shown.focus()
        await pilot.press(*["down"] * 6)
        assert text(shown)[shown.cursor or 0] == "    ▸  0  n0"
        await pilot.press("enter")
        assert text(shown)[7:9] == ['        "id": 0', '        "name": "n0"']
        two = Section(words(""), (line(words("fact")), line(words("one more"))))
        shown.show(words("a"), [two, answer], key=1)
        assert text(shown)[shown.cursor or 0] == "    ▾  0  n0"
        await pilot.press("slash", *"n2", "enter")
        assert text(shown)[shown.cursor or 0] == '        "name": "n2"'
        assert not opened
        await pilot.press("home", "enter")
        assert len(opened) == 1
