from __future__ import annotations

from mcp_tui.tui.view.pages import KIDS, JsonPage, Page, TextPage


def never() -> bool:
    return False


def laid(page: Page, cells: int = 20) -> list[str]:
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
