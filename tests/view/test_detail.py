from __future__ import annotations

import base64
from collections.abc import Sequence

from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, Limits, Origin, Signal
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.server_requests import ServerRequest
from mcp_tui.view.detail import (
    Section,
    answer_sections,
    facts,
    history,
    late_sections,
    params_sections,
    plain,
    sections,
    server_request_sections,
)
from mcp_tui.view.text import words
from tests.cases import cases
from tests.protocol.test_pixels import PNG
from tests.tui.making import called, cancelled, completed, late, progress, row, started


def told(*events: ev.Event | Sequence[ev.Event]) -> list[str]:
    return [line.text for line in history(row(*events))]


def known(*events: ev.Event | Sequence[ev.Event], now: float = 9.0) -> dict[str, str]:
    lines = [line.text for line in facts(row(*events), now)]
    return {"badge": lines[0], **{line[:8].strip(): line[8:] for line in lines[1:]}}


def test_history_counts_from_the_writing():
    assert told(started(at=5.0), progress(30, 100, at=7.104), cancelled(at=13.512, reason="wrong table")) == [
        "  +0.000 → tools/call",
        "  +2.104 ← progress 30 of 100",
        "  +8.512 ! cancel requested by user: wrong table",
        "  +8.519 → cancel sent via notifications/cancelled",
    ]


def test_history_has_what_the_server_asked_meanwhile():
    server_request = ServerRequest("s-1", "sampling/createMessage", 0.045, parent=1)
    made = row(started(), progress(1, at=0.5))
    assert [line.text for line in history(made, [server_request])] == [
        "  +0.000 → tools/call",
        "  +0.045 ← asks sampling/createMessage (s-1)",
        "  +0.500 ← progress 1",
    ]
    server_request.ended_at, server_request.outcome = 0.7, "accept"
    assert [line.text for line in history(made, [server_request])][
        -1
    ] == "  +0.700 → sampling/createMessage (s-1): accept"
    server_request.outcome = "withdrawn no need"
    assert (
        "← sampling/createMessage (s-1): withdrawn"
        in [line.text for line in history(made, [server_request])][-1]
    )


def test_a_request_of_the_servers_is_told_with_what_it_sent():
    server_request = ServerRequest("s-1", "roots/list", 1.0, parent=7)
    made = server_request_sections(server_request, 3.0, params_sections({"a": 1}))
    assert [line.text for line in made[0].lines] == [
        "◂ asks",
        "what  roots/list",
        "id    s-1 (server's id)",
        "ran   2.0s",
        "came  waits for an answer",
        "for   request 7",
    ]
    assert [section.title for section in made] == ["", "Request"]


def test_every_event_of_a_request_has_its_words():
    silent = [
        ev.Progress(at=1.0, id=1, progress=1, message="rows", rearmed=False),
        ev.Overdue(at=2.0, id=1, until=3.0),
        ev.Extended(at=3.0, id=1, limits=Limits(timeout=90.0, max_timeout=None)),
        ev.Paused(at=4.0, id=1),
        ev.Resumed(at=5.0, id=1),
    ]
    assert told(started(), silent)[1:] == [
        "  +1.000 ← progress 1 rows (progress did not increase)",
        "  +2.000 ! overdue: you are asked",
        "  +3.000 ! limits now 90s, max none",
        "  +4.000 ! timers paused: waiting for you",
        "  +5.000 ! clocks run again",
    ]
    end = ev.Settled(at=4.0, id=1)
    assert told(started(), cancelled(), end, late(), ev.Duplicate(at=5.0, id=1, kind=Kind.ERROR))[-3:] == [
        "  +4.000 ! no longer watched",
        "  +2.412 ← late result at +412 ms, ignored",
        "  +5.000 ← error again, ignored",
    ]
    assert told(started(), completed())[-1] == "  +2.000 ← result 1.8 kB"
    assert told(started(), ev.Failed(at=1.0, id=1, message="no b", code=-1))[-1] == "  +1.000 ← error -1 no b"
    ours = ev.Failed(at=1.0, id=1, message="m", origin=Origin.CLIENT, rule="malformed")
    assert told(started(), ours)[-1] == "  +1.000 ! malformed: m"
    assert told(started(), ev.Lost(at=1.0, id=1, detail="exit 3"))[-1] == "  +1.000 ! lost: exit 3"
    withdrawn = [*cancelled(signal=None), ev.CancelWithdrawn(at=2.1, id=1)]
    assert told(started(), withdrawn)[-1] == "  +2.100 ! cancel withdrawn: the reply came first"
    undelivered = ev.Undelivered(at=2.1, id=1, detail="HTTP 503")
    assert (
        told(started(), cancelled(signal=None), undelivered)[-1]
        == "  +2.100 ! cancel not delivered: HTTP 503"
    )
    assert told(called(), cancelled(signal=Signal.NONE))[-1].endswith("! nothing was sent to the server")


def test_facts_of_a_cancel():
    found = known(started(), cancelled(at=8.5), now=8.72)
    assert found["badge"] == "◔ cancelling 0.2s ago · after 8.5s"
    assert found["why"] == "you: wrong table"
    assert found["via"] == "notifications/cancelled: sent"
    assert found["timeout"] == "60s · max 10m"
    assert known(started(), cancelled(), late())["then"] == "late result at +412 ms, ignored"
    big = late(Kind.OVERSIZE, size=191_000_000)
    assert (
        known(started(), cancelled(), big)["then"] == "late message, too large (191.0 MB) at +412 ms, ignored"
    )
    again = ev.Duplicate(at=5.0, id=1, kind=Kind.OVERSIZE)
    assert told(started(), cancelled(), big, again)[-2:] == [
        "  +2.412 ← late oversize response 191.0 MB at +412 ms, ignored",
        "  +5.000 ← oversize response again, ignored",
    ]
    closed = known(started(), cancelled(signal=Signal.STREAM_CLOSED, settled=""))
    assert closed["via"] == "closing the stream; the reason is logged locally only"
    assert known(started(), cancelled(cause=Cause.TIMEOUT, reason=""))["why"] == "timeout"
    assert known(started(), cancelled(signal=None))["via"] == "not sent yet"


def titles(found: list[Section]) -> list[str]:
    return [section.title for section in found]


def test_sections_in_their_order():
    made = row(started(), cancelled(), late())
    payloads = [
        *late_sections(answer_sections({"content": []}), Kind.RESULT),
        *params_sections({"name": "slow_sql"}),
    ]
    found = sections(made, 3.0, payloads, command=words("mcp-tui call slow_sql"))
    assert titles(found) == ["", "Late result, not used", "Request", "About", "History", "Headless"]
    assert found[-1].lines[0].text == "mcp-tui call slow_sql"


def test_large_texts_are_counted():
    found = answer_sections({"content": [{"type": "text", "text": "x" * 20_000_000}] * 3})
    assert sum(len(line.text) for section in found for line in section.lines) < 140_000
    assert "more characters" in found[0].lines[-1].text


def test_an_error_is_told_once_and_in_full():
    error: Json = {"code": -32602, "message": "no b\n" + "x" * 500, "data": {"field": "b"}}
    failed = row(started(), ev.Failed(at=1.0, id=1, message="no b", code=-32602))
    found = sections(failed, 3.0, [*answer_sections(error, error=True), *params_sections({"a": 1})])
    assert titles(found) == ["", "Error", "Request", "About", "History"]
    assert [line.text for line in found[0].lines] == ["✗ failed 2.0s ago · took 1.0s"]
    assert [line.text for line in found[1].lines] == [
        "no b",
        "x" * 500,
        '{"code": -32602, "data": {"field": "b"}}',
    ]
    assert "-32602 no b" in sections(failed, 3.0)[0].lines[-1].text


def lines(section: Section, cells: int = 80) -> list[str]:
    shown: list[str] = [line.text for line in section.lines]
    if section.page is not None:
        section.page.lay_out(cells)
        shown += [section.page.line(number).text.rstrip() for number in range(section.page.count)]
    return shown


def test_the_text_of_a_result_is_shown_as_a_person_reads_it():
    found = answer_sections(
        {"content": [{"type": "text", "text": "one\ntwo"}, {"type": "beam"}], "isError": False}
    )
    assert titles(found) == [""]
    assert lines(found[0]) == ["one", "two", "▾ { 1 }", '    "type": "beam"']
    odd = answer_sections(
        {"content": [{"type": "text", "text": "one"}, "odd"], "more": {"n": 1}, "_meta": {}}
    )
    assert titles(odd) == ["", "Other content"]
    assert "odd" in "".join(lines(odd[1]))
    assert "more" in "".join(lines(odd[1]))
    assert lines(answer_sections({"contents": [{"uri": "x", "text": "a"}]})[0]) == ["a"]
    assert titles(answer_sections(None)) == titles(answer_sections({"tools": []})) == ["Result"]


def test_structured_content_comes_last_and_its_copy_as_text_is_left_out():
    content: Json = [{"type": "text", "text": '{"n": 1}'}, {"type": "text", "text": "one row"}]
    found = answer_sections({"content": content, "structuredContent": {"n": 1}})
    assert titles(found) == ["Text", "Structured content"]
    assert [lines(section) for section in found] == [["one row"], ["▾ { 1 }", '    "n": 1']]


@cases(
    ("texts", "wrapped", "shown"),
    [
        (["one\ntwo"], "one\ntwo", ["one", "two"]),
        (["one", "two"], ["one", "two"], ["one", "two"]),
        (["one", "two"], "one\ntwo", ["one", "two"]),
        (["[1, 2]"], [1, 2], ["▾ [ 2 ]", "    0: 1", "    1: 2"]),
        (['{"a": 1}', '{"a": 2}'], [{"a": 1}, {"a": 2}], ["▾ [ 2 ]", "    a", "  ▸ 1", "  ▸ 2"]),
        (["5"], 5, ["  5"]),
    ],
)
def test_what_a_server_wraps_and_repeats_as_text_is_shown_once(
    texts: list[str], wrapped: Json, shown: list[str]
):
    content: list[Json] = [{"type": "text", "text": text} for text in texts]
    result: Json = {"content": content, "structuredContent": {"result": wrapped}}
    (section,) = answer_sections(result)
    assert lines(section) == shown
    assert "result" not in plain({"result": result})


def test_a_text_that_is_json_or_markdown_is_shown_as_what_it_is():
    content: Json = [{"type": "text", "text": '[{"a": 1, "b": "x"}, {"a": 22, "b": "y"}]'}]
    (table,) = answer_sections({"content": content})
    assert lines(table) == ["▾ [ 2 ]", "     a  b", "  ▸  1  x", "  ▸ 22  y"]
    (markdown,) = answer_sections({"content": [{"type": "text", "text": "# Rows\n\n- **one**\n- two"}]})
    assert lines(markdown) == ["Rows", "", "• one", "• two"]
    (late_table,) = late_sections([table], Kind.PROGRESS)
    assert (late_table.title, late_table.page) == ("Late progress", table.page)


def test_a_prompt_says_who_says_what():
    messages: Json = [
        {"role": "user", "content": {"type": "text", "text": "a?"}},
        {"role": "assistant", "content": {"type": "text", "text": "b."}},
    ]
    assert lines(answer_sections({"messages": messages})[0]) == ["user:", "a?", "assistant:", "b."]


def test_what_is_no_text_is_described_by_type_and_size_and_its_data_is_cut_short():
    found = answer_sections(
        {
            "content": [
                {
                    "type": "image",
                    "mimeType": "image/png",
                    "data": base64.b64encode(PNG).decode() + "A" * 3968,
                },
                {"type": "resource_link", "uri": "file:///x", "name": "X", "description": "an x"},
                {"type": "resource", "resource": {"uri": "y://y", "blob": "AAAA"}},
            ]
        }
    )
    assert lines(found[0]) == [
        "  image  image/png, 3.0 kB, 300 × 200 pixels",
        "  link  X  file:///x  an x",
        "  data  3 B  y://y",
        "  enter opens them",
    ]
    assert titles(found) == [""]
    cut = answer_sections(
        {"contents": [], "blob": "A" * 4000, "content": [{"type": "beam", "data": "A" * 4000}]}
    )
    assert all(len(line) <= 80 for section in cut for line in lines(section))
