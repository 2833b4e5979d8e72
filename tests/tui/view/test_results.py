from __future__ import annotations

from mcp_tui.protocol.messages import Json
from mcp_tui.tui.view.detail import Section
from mcp_tui.tui.view.results import received


def titles(found: list[Section]) -> list[str]:
    return [section.title for section in found]


def lines(section: Section) -> list[str]:
    return [line.text for line in section.lines]


def test_the_text_of_a_result_is_shown_as_a_person_reads_it():
    found = received({"content": [{"type": "text", "text": "one\ntwo"}, {"type": "beam"}, "odd"]})
    assert titles(found) == ["Result: text", "Result"]
    assert lines(found[0]) == ["one", "two"]
    assert titles(received({"code": 1, "message": "m"}, error=True)) == ["Error"]
    assert titles(received({"contents": [{"uri": "x", "text": "a"}]})) == ["Result: text", "Result"]
    assert titles(received(None)) == ["Result"]


def test_a_prompt_says_who_says_what():
    messages: Json = [
        {"role": "user", "content": {"type": "text", "text": "a?"}},
        {"role": "assistant", "content": {"type": "text", "text": "b."}},
    ]
    assert lines(received({"messages": messages})[0]) == ["user:", "a?", "assistant:", "b."]


def test_what_is_no_text_is_told_by_type_and_size_and_its_data_is_cut_short():
    found = received(
        {
            "content": [
                {"type": "image", "mimeType": "image/png", "data": "A" * 4000},
                {"type": "resource_link", "uri": "file:///x", "name": "X", "description": "an x"},
                {"type": "resource", "resource": {"uri": "y://y", "blob": "AAAA"}},
            ]
        }
    )
    assert titles(found) == ["Result: parts", "Result"]
    assert lines(found[0]) == [
        "  image  image/png, 3.0 kB",
        "  link  X  file:///x  an x",
        "  data  3 B  y://y",
        "  enter opens, saves and follows them",
    ]
    assert "3,880 more characters" in "".join(lines(found[1]))
    assert len("".join(lines(found[1]))) < 2000
