from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.mock.runs import Run, Runs, redacted
from tests.mock.recordings import COUNT, answer, call, cancel, error, progress, session, written


def runs(folder: Path, *sessions: str) -> Runs:
    return Runs([written(folder, *sessions)])


def shape(run: Run) -> list[tuple[float, str]]:
    return [(round(each.at, 3), each.method or "answer") for each in run.steps]


def test_torn_lines_several_sessions_and_ids_used_again_are_read(tmp_path: Path):
    first = session(call(1, 1), progress(1, 1.5, 1), answer(1, 2), call(1, 5), answer(1, 5.5))
    found = runs(
        tmp_path, f"\ufeff{first}", "not JSON\n", session(call(1, 0), answer(1, 3)), '{"record":"fra'
    )
    assert [shape(each) for each in found.find("tools/call", COUNT)] == [
        [(0.5, "notifications/progress"), (1.0, "answer")],
        [(0.5, "answer")],
        [(3.0, "answer")],
    ]
    assert found.damaged == 2


@pytest.mark.parametrize(
    ("asked", "answered"), [(1.5, 1.5), (None, None), ("x", "x"), (7, "7"), (True, True)]
)
def test_an_answer_belongs_to_its_request_whatever_its_id_is(tmp_path: Path, asked: Any, answered: Any):
    found = runs(tmp_path, session(call(asked, 0, method="made/up"), answer(answered, 1)))
    assert [shape(each) for each in found.find("made/up", COUNT)] == [
        [] if asked is None else [(1.0, "answer")]
    ]


def test_a_request_is_the_same_by_method_and_arguments_alone(tmp_path: Path):
    found = runs(tmp_path, session(call(1, 0, {"name": "count", "arguments": {"n": 3.0}}), answer(1, 1)))
    assert found.find("tools/call", {**COUNT, "_meta": {"other": 1}})
    assert not found.find("tools/call", {"name": "count", "arguments": {"n": True}})
    assert not found.find("tools/call", {"name": "count"})
    assert found.nearest("tools/call", {"name": "count", "arguments": {"n": 4}})
    assert not found.nearest("prompts/get", {"name": "count"})


def test_an_argument_that_equals_its_default_may_be_left_out(tmp_path: Path):
    properties = {
        "n": {"type": "integer"},
        "steps": {"type": "number", "default": 10},
        "as": {
            "type": "object",
            "properties": {"json": {"type": "boolean", "default": False}},
            "default": {},
        },
    }
    tools = [{"name": "count", "inputSchema": {"type": "object", "properties": properties}}]
    listed = (0.1, "in", {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}})
    found = runs(tmp_path, session(call(1, 0, {}, "tools/list"), listed, call(2, 1), answer(2, 1)))
    for more, same in (
        ({"steps": 10.0}, True),
        ({"as": {"json": False}}, True),
        ({"steps": 9}, False),
        ({"as": {"json": 0}}, False),
        ({"n": 4}, False),
    ):
        asked = {"name": "count", "arguments": {"n": 3, **more}}
        assert bool(found.find("tools/call", asked)) is same, more


def test_what_changes_may_be_anything(tmp_path: Path):
    recorded = {"id": 7, "path": "/tmp/‹any›/log", "at": "‹any›", "n": 1}
    path = written(tmp_path, session(call(1, 0, {"name": "log", "arguments": recorded}), answer(1, 1)))
    given = {"id": 8, "path": "/tmp/a/b/log", "at": None, "n": 1}
    for more, any_of, same in (
        ({}, ["id"], True),
        ({}, [], False),
        ({"at": {"s": 1}}, ["id"], True),
        ({"path": "/var/a/log"}, ["id"], False),
        ({"n": 2}, ["id"], False),
    ):
        asked = {"name": "log", "arguments": given | more}
        assert bool(Runs([path], any_of=any_of).find("tools/call", asked)) is same, more


@pytest.mark.clock("measures how the time of reading grows")
def test_thousands_of_equal_calls_are_read_in_linear_time(tmp_path: Path):
    """Each of 4,000 calls, every second one cancelled, takes no longer than each of 1,000, within a factor."""
    times = [0.0, 0.0]
    for place, count in enumerate((1000, 4000)):
        calls = (
            moment
            for id_ in range(count)
            for moment in (
                call(id_, id_),
                *([cancel(id_, id_ + 0.1)] if id_ % 2 else []),
                answer(id_, id_ + 0.5, str(id_)),
            )
        )
        path = written(tmp_path, session(*calls))
        began = time.process_time()
        assert len(Runs([path]).all) == count
        times[place] = (time.process_time() - began) / count
    assert times[1] < 3 * times[0]


def test_what_is_redacted_equals_anything_and_is_named(tmp_path: Path):
    login = {"name": "login", "arguments": {"user": "ann", "password": "‹redacted:ab12cd›"}}
    found = runs(tmp_path, session(call(1, 0, login), answer(1, 1)))
    assert found.find("tools/call", {"name": "login", "arguments": {"user": "ann", "password": "x"}})
    assert not found.find("tools/call", {"name": "login", "arguments": {"user": "bob", "password": "x"}})
    assert list(redacted(found.all[0].params)) == ["arguments.password"]


def test_answers_to_a_cancel_are_told_from_those_that_come_anyway(tmp_path: Path):
    found = runs(
        tmp_path,
        session(
            *(call(1, 0), answer(1, 2)),
            *(call(2, 10), cancel(2, 11), answer(2, 12)),
            *(call(3, 20), cancel(3, 21), error(3, 21.1)),
            *(call(4, 30), cancel(4, 31), progress(4, 31.5, 1)),
        ),
    )
    _, late, obeys, continues = found.all
    assert (shape(late), late.replies, late.continues) == ([(2.0, "answer")], [], False)
    assert (obeys.steps, [round(each.at, 3) for each in obeys.replies]) == ([], [0.1])
    assert (continues.continues, continues.replies) == (True, [])


def test_a_message_without_an_id_belongs_to_the_newest_request_in_progress(tmp_path: Path):
    log = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
    found = runs(tmp_path, session(call(1, 0), call(2, 1), answer(2, 2), (3.0, "in", log), answer(1, 4)))
    assert shape(found.all[0]) == [(3.0, "notifications/message"), (4.0, "answer")]
