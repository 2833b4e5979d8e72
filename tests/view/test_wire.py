from __future__ import annotations

from mcp_tui.client.schemas import Problem
from mcp_tui.journal.records import FrameHead
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.descriptions import describe
from mcp_tui.view.wire import event_pieces, frame_sections, wire_line

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


def test_a_change_of_a_resource_is_told_with_its_uri() -> None:
    source, said, _ = event_pieces(
        ev.Notified(at=1.0, method="notifications/resources/updated", about="demo://a")
    )
    assert source == "server"
    assert said == "notifications/resources/updated demo://a"


def test_a_change_of_a_list_is_told_by_its_name_alone() -> None:
    assert event_pieces(ev.Notified(at=1.0, method="notifications/tools/list_changed"))[1].endswith(
        "list_changed"
    )


def test_codes_that_colour_a_line_are_dropped_and_all_others_stay_in_sight() -> None:
    painted = "\x1b[1;33mWARN\x1b[0m disk 90%\x1b[K"
    for event in (
        ev.Stderr(at=1.0, line=painted),
        ev.Log(at=1.0, level="", data=painted),
        ev.Pollution(at=1.0, line=painted),
    ):
        assert event_pieces(event)[1].endswith("WARN disk 90%")
    assert event_pieces(ev.Stderr(at=1.0, line="\x1b[2J\x1b]0;title\x07"))[1] == "␛[2J␛]0;title␇"


def test_a_progress_message_that_repeats_the_numbers_is_not_said_twice() -> None:
    for message, said in (("1 of 4", "progress 1 of 4"), ("files", "progress 1 of 4 files")):
        event = ev.Progress(at=1.0, id=1, progress=1, total=4, message=message)
        assert describe(event).words(event) == said
