from __future__ import annotations

from mcp_tui.protocol.messages import Json
from mcp_tui.tui.view.detail import FOLDED, Section, answer_sections


def titles(found: list[Section]) -> list[str]:
    return [section.title for section in found]


def lines(section: Section) -> list[str]:
    return [line.text for line in section.lines]


def test_the_text_of_a_result_is_shown_as_a_person_reads_it():
    found = answer_sections(
        {"content": [{"type": "text", "text": "one\ntwo"}, {"type": "beam"}], "isError": False}
    )
    assert titles(found) == [""]
    assert lines(found[0]) == ["one", "two", '{"type": "beam"}']
    odd = answer_sections(
        {"content": [{"type": "text", "text": "one"}, "odd"], "more": {"n": 1}, "_meta": {}}
    )
    assert titles(odd) == ["", "Also in the result"]
    assert "odd" in "".join(lines(odd[1]))
    assert "more" in "".join(lines(odd[1]))
    assert lines(answer_sections({"contents": [{"uri": "x", "text": "a"}]})[0]) == ["a"]
    assert titles(answer_sections(None)) == titles(answer_sections({"tools": []})) == ["Result"]


def test_structured_content_comes_first_and_its_copy_as_text_is_left_out():
    content: Json = [{"type": "text", "text": '{"n": 1}'}, {"type": "text", "text": "one row"}]
    found = answer_sections({"content": content, "structuredContent": {"n": 1}})
    assert [lines(section) for section in found] == [['{"n": 1}', "one row"]]


def test_long_json_is_folded():
    found = answer_sections({"structuredContent": {"rows": list(range(100))}})
    assert len(found[0].lines) == FOLDED
    assert lines(found[0])[-1] == "… 81 more lines · enter opens all"


def test_a_prompt_says_who_says_what():
    messages: Json = [
        {"role": "user", "content": {"type": "text", "text": "a?"}},
        {"role": "assistant", "content": {"type": "text", "text": "b."}},
    ]
    assert lines(answer_sections({"messages": messages})[0]) == ["user:", "a?", "assistant:", "b."]


def test_what_is_no_text_is_told_by_type_and_size_and_its_data_is_cut_short():
    found = answer_sections(
        {
            "content": [
                {"type": "image", "mimeType": "image/png", "data": "A" * 4000},
                {"type": "resource_link", "uri": "file:///x", "name": "X", "description": "an x"},
                {"type": "resource", "resource": {"uri": "y://y", "blob": "AAAA"}},
            ]
        }
    )
    assert lines(found[0]) == [
        "  image  image/png, 3.0 kB",
        "  link  X  file:///x  an x",
        "  data  3 B  y://y",
        "  enter opens them",
    ]
    assert titles(found) == [""]
    cut = answer_sections(
        {"contents": [], "blob": "A" * 4000, "content": [{"type": "beam", "data": "A" * 4000}]}
    )
    assert "3,880 more characters" in "".join(lines(cut[0]))
    assert len("".join(lines(cut[0]))) < 2000
