from __future__ import annotations

from typing import Any

import pytest

from mcp_tui.protocol.messages import Json
from mcp_tui.view import costs, list_filters
from mcp_tui.view.catalogue_entries import ICONS, Catalogue, Entry, entry_sections
from mcp_tui.view.text import words
from tests.waiting import HANG


def catalogue(*names: str) -> Catalogue:
    made = Catalogue()
    schema = {"properties": {"query": {"type": "string"}}, "required": ["query"]}
    made.put("tools", [{"name": name, "inputSchema": schema} for name in names])
    return made


def test_names_and_arguments_stand_in_columns_where_there_is_room():
    made = catalogue("add", "slow_sql")
    assert [made.line(number, 40).text.rstrip() for number in made.numbers] == [
        "Tools 2  189 B, ≈ 48 tokens",
        "  add          ≈ 23  query",
        "  slow_sql     ≈ 25  query",
    ]
    assert [made.line(number, 24).text.rstrip() for number in made.numbers[:2]] == [
        "Tools 2  ≈ 48",
        "  add       query",
    ]


def test_tools_are_sorted_by_what_they_cost_a_model_and_back():
    made = catalogue("add", "slow_sql", "echo")
    made.sort()
    assert [made.line(number, 40).text.split()[0] for number in made.numbers] == [
        "Tools",
        "slow_sql",
        "echo",
        "add",
    ]
    assert "≈ 25" in made.line(made.numbers[1], 24).text
    made.sort()
    assert [made.line(number, 40).text.split()[0] for number in made.numbers[1:]] == [
        "add",
        "slow_sql",
        "echo",
    ]


def test_a_tool_costs_what_a_model_is_given_of_it():
    sent = {"name": "t", "description": "für", "inputSchema": {"type": "object"}}
    assert costs.cost(sent) == len(
        '{"name":"t","description":"für","inputSchema":{"type":"object"}}'.encode()
    )
    assert costs.cost(sent | {"outputSchema": {"a": "b"}, "annotations": {"title": "x"}}) == costs.cost(sent)
    assert costs.costs(4001) == "4.0 kB, ≈ 1,001 tokens"
    deep: Json = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert costs.cost({"name": "\ud800", "inputSchema": deep}) > 0
    shown = said(Entry("tools", sent), 5000)["Tool"]
    assert shown[1:] == [
        "cost    65 B, ≈ 17 tokens of a model's context",
        "size    results up to 5.0 kB in this session",
    ]


def test_a_tool_without_a_name_has_a_line_to_choose():
    made = catalogue("", "add")
    assert [made.line(number, 40).text.split()[0] for number in made.numbers[1:]] == ["(no", "add"]


@pytest.mark.parametrize("cells", [14, 18])
def test_where_there_is_none_names_are_shown_alone(cells: int):
    made = catalogue("add", "get-annotated-message")
    first, second = (made.line(number, cells).text for number in (1, 2))
    assert "query" not in first
    assert "…" not in first
    assert second.startswith("  get-annota")
    assert len(second) == cells


def test_a_kind_that_could_not_be_read_says_why():
    made = Catalogue()
    made.put("prompts", [], words("refused"))
    assert "refused" in made.line(0, 40).text


def test_claims_are_called_unverified():
    made = Entry(
        "tools", {"name": "t", "annotations": {"readOnlyHint": False, "destructiveHint": True, "x": 1}}
    )
    assert made.described()[0].text == "server claims: not read-only, destructive (unverified)"


def test_only_what_says_so_of_itself_is_destructive():
    def destructive(**annotations: Json) -> bool:
        return Entry("tools", {"name": "t", "annotations": annotations}).destructive

    assert destructive(destructiveHint=True)
    assert not destructive(destructiveHint=True, readOnlyHint=True)
    assert not destructive(destructiveHint="yes")
    assert not destructive()


def test_a_definition_changes_with_anything_that_is_said():
    made = {"name": "t", "description": "\ud800", "annotations": {"destructiveHint": True}}
    assert Entry("tools", made).definition == Entry("tools", dict(reversed(made.items()))).definition
    assert Entry("tools", made).definition != Entry("tools", {**made, "title": "t"}).definition


def test_only_tools_claim_to_be_destructive():
    made = {"name": "t", "uriTemplate": "x:{a}", "annotations": {"destructiveHint": True}}
    for kind in ("prompts", "templates", "resources"):
        assert not Entry(kind, made).destructive
        assert not Entry(kind, made).claims


def test_a_template_that_is_not_valid_is_searched_by_its_other_texts():
    entry = Entry("templates", {"name": "map", "uriTemplate": "map://{city"})
    assert [*entry.searched] == ["map", "map://{city", ""]


def found(among: list[Entry], text: str) -> list[Entry]:
    search = list_filters.Search(among, text)
    assert search.step(HANG)
    return search.found


def test_a_search_goes_on_in_steps_and_a_longer_word_looks_at_less():
    listed = [
        Entry("tools", {"name": f"tool_{number}", "description": "x" * (number % 7)})
        for number in range(5_000)
    ]
    search = list_filters.Search(listed, "tool_4")
    assert not search.step(0.0)
    assert 0 < len(search.passed) < len(found(listed, "tool_4"))
    again = list_filters.Search(listed, "tool_49", search)  # of one that is not done nothing follows
    assert search.step(HANG)
    assert again.step(HANG)
    longer = list_filters.Search(listed, "tool_49", search)
    assert longer.step(HANG)
    assert longer.found == again.found == found(listed, "tool_49")
    for text in ("tool_4 -9", "tool_4 kind:tools", "tool_4 /9/", "tool"):
        after = list_filters.Search(listed, text, search)
        assert after.step(HANG)
        assert after.found == found(listed, text)


def test_names_come_before_mentions():
    catalogue = Catalogue()
    catalogue.put(
        "tools",
        [
            {"name": "a", "description": "like count"},
            {"name": "recount"},
            {"name": "count"},
            {"name": ""},
            {"uri": "count"},
        ],
    )
    listed = catalogue.tools
    assert [tool.name for tool in found(listed, "COUNT")] == [
        "count",
        "recount",
        "a",
    ]
    assert [tool.name for tool in found(listed, "count like")] == ["a"]
    assert [tool.name for tool in found(listed, "-count")] == []
    assert [tool.name for tool in found(listed, "/^re/")] == ["recount"]
    assert [tool.name for tool in found(listed, " ")] == [
        "a",
        "recount",
        "count",
    ]


def said(entry: Entry, results: int = 0) -> dict[str, list[str]]:
    return {
        str(section.title): [
            each.text for each in (*section.lines, *(section.table(60) if section.table else ()))
        ]
        for section in entry_sections(entry, results)
    }


def test_a_tool_with_all_that_it_may_say() -> None:
    raw: dict[str, Any] = {
        "name": "crawl",
        "title": "Crawl a site",
        "description": "Follows links.\nSlowly.",
        "icons": [{"src": "https://x.example/i.png", "mimeType": "image/png", "sizes": ["48x48", "any"]}],
        "annotations": {"readOnlyHint": True, "title": "Crawler"},
        "execution": {"taskSupport": "optional"},
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object"},
    }
    shown = said(Entry("tools", raw))
    assert shown["Tool"] == [
        "name    crawl",
        "title   Crawl a site",
        "task    optional",
        'icon    {"src":"https://x.example/i.png","mimeType":"image/png","sizes":["48x48","any"]}',
        "cost    88 B, ≈ 22 tokens of a model's context",
    ]
    assert shown["Description"] == ["Follows links.", "Slowly."]
    assert shown["Server claims (unverified)"] == ["read-only"]
    assert shown["Input schema"] == ["t shows the raw schema", "none"]
    assert "Output schema" in shown
    raw_sections = entry_sections(Entry("tools", raw), raw_schemas=True)
    assert '  "type": "object"' in [each.text for each in raw_sections[-1].lines]


def test_a_resource_and_a_prompt() -> None:
    resource = Entry(
        "resources", {"uri": "a:b", "mimeType": "text/plain", "size": 7, "annotations": {"priority": 1}}
    )
    shown = said(resource)
    assert shown["Resource"] == ["uri     a:b", "type    text/plain", "bytes   7"]
    assert any("priority" in each for each in shown["Server claims (unverified)"])
    prompt = Entry("prompts", {"name": "p", "arguments": [{"name": "code", "required": True}]})
    assert any("code" in each for each in said(prompt)["Arguments"])


@pytest.mark.parametrize(
    "icons", ["x", [1, None, {}], [{"sizes": "48x48", "src": ["?"]}], [{"src": "a"}] * 99]
)
def test_icons_that_are_none_raise_nothing_and_are_bounded(icons: Any) -> None:
    shown = said(Entry("tools", {"name": "t", "icons": icons}))["Tool"]
    assert len(shown) <= 2 + ICONS
