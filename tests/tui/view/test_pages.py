from __future__ import annotations

import pytest

from mcp_tui.tui.view.pages import KIDS, JsonPage, Page, PartsPage, TextPage
from mcp_tui.tui.view.text import words


def never() -> bool:
    return False


def laid(page: Page | PartsPage, cells: int = 20) -> list[str]:
    page.lay_out(cells)
    return [page.line(number).text for number in range(page.count)]


def test_found_text_is_where_it_is_shown():
    page = TextPage("a\n" + "." * 25 + "NEEDLE\nneedle needle")
    page.lay_out(10)
    places = page.find("Needle", never)
    assert [page.reveal(place) for place in places] == [3, 5, 5]
    assert "NEEDL" in page.line(3).text


def test_json_folds():
    page = JsonPage({"a": [1, {"b": None}], "s": "t"})
    assert laid(page, 40) == [
        "▾ { 2 }",
        '  ▾ "a": [ 2 ]',
        "      0: 1",
        "    ▾ 1: { 1 }",
        '        "b": null',
        '    "s": "t"',
    ]
    assert page.toggle(1)
    assert laid(page, 40) == ["▾ { 2 }", '  ▸ "a": [ 2 ]', '    "s": "t"']
    assert not page.toggle(2)
    place = page.find("NULL", never)[0]
    assert page.line(page.reveal(place)).text.strip() == '"b": null'
    assert page.find('"t"', never) == []
    assert [page.reveal(each) for each in page.find("b", never)] == [4]


@pytest.mark.slow
def test_a_million_items_are_shown_as_ranges_and_found():
    page = JsonPage(list(range(1_000_000)))
    assert 1 < page.count <= KIDS + 1
    assert "0 … " in page.line(1).text
    at = page.reveal(page.find("765432", never)[0])
    assert page.line(at).text.strip() == "765432: 765432"
    assert page.count <= 4 * KIDS


def test_a_long_text_in_json_unfolds_into_its_lines():
    text = "abcdefghij" * 30
    page = JsonPage({"s": text})
    page.lay_out(40)
    folded = [page.line(number).text for number in range(page.count)]
    assert len(folded) == 2
    assert page.toggle(1)
    rest = "".join(page.line(number).text.strip() for number in range(2, page.count))
    assert rest == text


def test_several_pages_are_one_and_found_text_is_in_its_own():
    folded = JsonPage({"a": "two"}, folded=True)
    page = PartsPage(
        [(words(""), TextPage("one")), (words("more"), TextPage("two\nthree")), (words("all"), folded)]
    )
    assert laid(page) == ["one", "", "more", "two", "three", "", "all", "▸ { 1 }"]
    assert [page.part_at(at) for at in (0, 2, 4, 7)] == [(0, 0), (1, -1), (1, 1), (2, 0)]
    assert [page.reveal(place) for place in page.find("two", never)] == [3]
    assert page.line(page.reveal(page.find("a", never)[0])).text.strip() == '"a": "two"'
    page.replace(0, TextPage("1\n2"))
    assert page.start_of(1) == 4
