from __future__ import annotations

from mcp_tui.client.schemas import Problem
from mcp_tui.journal.records import FrameHead
from mcp_tui.tui.view.wire import frame_sections, wire_line

HEAD = FrameHead(seq=7, at=1.0, direction="in", method="", id=3, size=20, stream=None)


def texts(
    raw: bytes | None, broken: tuple[Problem, ...] = (), head: FrameHead = HEAD
) -> dict[str, list[str]]:
    sections = frame_sections(head, raw, broken, origin=0.0, revision="2025-11-25")
    return {section.title: [line.text for line in section.lines] for section in sections}


def test_a_frame_is_told_as_json_and_as_it_came():
    found = texts(b'{"id":3,"result":{}}')
    assert found[""][0].split() == ["way", "←", "from", "the", "server"]
    assert found["JSON"] == ["{", '  "id": 3,', '  "result": {}', "}"]
    assert found["Bytes"] == ['{"id":3,"result":{}}']


def test_what_it_breaks_stands_under_it():
    found = texts(b"{}", (Problem(("result", "content"), "required"),))
    assert found["Schema violation"] == [
        "✗ result.content is required",
        "by the official schema of 2025-11-25",
    ]


def test_what_is_no_json_says_so():
    assert "not JSON" in texts(b"nonsense")["JSON"][0]


def test_a_line_of_the_wire_is_marked_after_its_arrow():
    made = wire_line(HEAD, 80, origin=0.0)
    assert made == wire_line(HEAD, 80, origin=0.0, broken=[])
    shown = wire_line(HEAD, 80, origin=0.0, broken=[Problem((), "x")])
    assert shown.text[:2] == "←✗"
    assert len(shown.text) == len(made.text)
    assert shown.key == made.key
