from __future__ import annotations

import pytest

from mcp_tui.protocol.messages import Json
from mcp_tui.view.pages import KIDS, JsonPage, Page, PartsPage, TextPage
from mcp_tui.view.text import words


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


ROWS: Json = [{"id": at, "name": f"n{at}", "tags": ["a"]} for at in range(3)]


def test_an_array_of_objects_is_a_table_whose_rows_unfold():
    page = JsonPage({"rows": ROWS})
    assert laid(page, 40)[2:4] == ["      id  name  tags", "    ▸  0  n0    [1] "]
    assert page.toggle(3)
    assert laid(page, 40)[3:6] == ["    ▾  0  n0    [1] ", '        "id": 0', '        "name": "n0"']
    assert page.toggle(1)
    assert laid(page, 40) == ["▾ { 1 }", '  ▸ "rows": [ 3 ]']
    at = page.reveal((0, 2, 1))
    assert laid(page, 40)[at] == '        "name": "n2"'


@pytest.mark.parametrize(
    "value",
    [[], [{"a": 1}], [{"a": 1}, 2], [{"a": 1}, {}], [{"a": 1}, {"b": 2}, {"c": 3}], [{"a": []}, {"a": []}]],
)
def test_what_has_no_columns_in_common_is_no_table(value: Json):
    assert not any("header" in tone for tone in tones(JsonPage(value)))


def tones(page: JsonPage) -> list[str]:
    page.lay_out(60)
    return [tone for number in range(page.count) for _, tone in page.line(number).segments]


def test_columns_give_way_before_they_are_left_out():
    wide: Json = [{f"column{at}": "x" * 30 for at in range(12)} for _ in range(2)]
    shown = laid(JsonPage(wide), 70)
    assert all(len(line) <= 70 for line in shown)
    assert shown[1].endswith(("+3", "+4", "+5"))
    assert "colum…" in shown[1]


def test_each_kind_of_json_value_has_a_tone_of_its_own():
    found = tones(JsonPage({"t": "x", "n": 1, "b": True, "z": None}))
    assert {"json-name", "json-text", "json-number", "json-word"} <= {*found}
