"""What the detail says of a tool, a resource or a prompt: all of it, as text."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_tui.tui.view.catalogue import ICONS, Entry, entry_sections


def said(entry: Entry) -> dict[str, list[str]]:
    return {
        str(section.title): ["".join(text for text, _ in each.segments) for each in section.lines]
        for section in entry_sections(entry)
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
        "name  crawl",
        "title Crawl a site",
        "task  optional",
        'icon  {"src":"https://x.example/i.png","mimeType":"image/png","sizes":["48x48","any"]}',
    ]
    assert shown["Description"] == ["Follows links.", "Slowly."]
    assert "only reads" in shown["Server claims (unverified)"][0] or shown["Server claims (unverified)"]
    assert "Takes" in shown
    assert "Promises" in shown


def test_a_resource_and_a_prompt() -> None:
    resource = Entry(
        "resources", {"uri": "a:b", "mimeType": "text/plain", "size": 7, "annotations": {"priority": 1}}
    )
    shown = said(resource)
    assert shown["Resource"] == ["uri   a:b", "type  text/plain", "bytes 7"]
    assert any("priority" in each for each in shown["Server claims (unverified)"])
    prompt = Entry("prompts", {"name": "p", "arguments": [{"name": "code", "required": True}]})
    assert any("code" in each for each in said(prompt)["Arguments"])


@pytest.mark.parametrize(
    "icons", ["x", [1, None, {}], [{"sizes": "48x48", "src": ["?"]}], [{"src": "a"}] * 99]
)
def test_icons_that_are_none_raise_nothing_and_are_bounded(icons: Any) -> None:
    shown = said(Entry("tools", {"name": "t", "icons": icons}))["Tool"]
    assert len(shown) <= 1 + ICONS
