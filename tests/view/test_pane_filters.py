from __future__ import annotations

from mcp_tui.journal.records import FrameHead
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.server_requests import ServerRequest
from mcp_tui.tui.screens.parts.details import Belonging
from mcp_tui.view import list_filters
from mcp_tui.view.filters import MESSAGE_FIELDS, parse, request_fields
from tests.cases import cases
from tests.tui.making import cancelled, completed, late, requests, started

EVENTS = [
    ev.Stderr(at=0.0, line="worker 3 slow"),
    ev.Log(at=0.0, level="info", logger="db.pool", data="rows=17"),
    ev.Log(at=0.0, level="warning", logger="web", data="slow"),
    ev.Log(at=0.0, level="critical", logger="db", data="gone"),
    ev.Note(at=0.0, text="client says"),
    ev.Log(at=0.0, level="odd", logger="db", data="x"),
]


@cases(
    ("text", "found"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        ("level:warning", [2, 3]),
        ("level:warn", [2, 3]),
        ("level:info", [1, 2, 3]),
        ("odd", [5]),
        ("-level:info", [0, 4, 5]),
        ("logger:db", [1, 3, 5]),
        ("level:warning logger:db", [3]),
        ("source:stderr", [0]),
        ("slow", [0, 2]),
        ("/rows=[0-9]+/", [1]),
        ("level:info slow", [2]),
    ],
)
def test_the_log(text: str, found: list[int]):
    wanted = list_filters.log(text)
    assert [at for at, event in enumerate(EVENTS) if wanted.matches(event)] == found


def test_the_log_knows_the_fields_of_the_requests_that_its_messages_name():
    (row,) = requests(*started(1, name="slow_sql"), *cancelled(id=1), late(id=1)).order
    events = [
        ev.Violation(at=1.0, rule="output-schema", detail="sum", id=1),
        ev.Violation(at=1.0, rule="cancel-over", detail="2", id=2, by=ev.Origin.CLIENT),
        ev.Pollution(at=1.0, line="debug"),
    ]
    for text, found in {
        "violation:schema": [0],
        "violation:client": [1],
        "violation:/./": [0, 1, 2],
        "-violation:server": [1],
        "state:late": [0],
        "-state:late": [1, 2],
        "name:slow violation:server": [0],
        "id:2": [1],
        "server:demo": [0, 1, 2],
        "violation": [0, 1, 2],
    }.items():
        wanted = list_filters.log(
            text,
            lambda event: row if event is events[0] else None,
            request_fields(),
            server=lambda: "Demo",
        )
        assert [at for at, each in enumerate(events) if wanted.matches(each)] == found, text


def test_check_and_the_workbench_know_the_same_fields():
    requests, both = request_fields(), {*request_fields(), *MESSAGE_FIELDS}
    values = {
        "state": "late",
        "outcome": "late",
        "cause": "user",
        "took": ">1",
        "size": ">1",
        "level": "error",
    }
    for field in both:
        text = f"{field}:{values.get(field, 'x')}"
        assert not parse(text, broken=lambda _: ()).problem, text
        assert not list_filters.log(text, fields=requests, typing=False).problem, text
        assert not list_filters.log(text, fields=requests).problem, text
        assert bool(parse(text).problem) == (field in MESSAGE_FIELDS), text


def head(
    seq: int, direction: str, method: str = "", id: int | str | None = None, stream: int | None = None
) -> FrameHead:
    return FrameHead(seq, 0.0, "in" if direction == "in" else "out", method, id, 100, stream)


def test_the_wire():
    heads = [
        head(1, "out", "tools/call", 7),
        head(2, "in", "", 7),
        head(3, "in", "notifications/progress"),
        None,
    ]
    for text, seqs in {
        "dir:out": [1],
        "dir:in": [2, 3],
        "id:7": [1, 2],
        "method:progress": [3],
        "response": [2],
        "/^tools/": [1],
    }.items():
        assert [
            each.seq for each in heads if list_filters.wire(text).matches(each) and each is not None
        ] == seqs, text


def test_what_belongs_to_a_request_on_the_wire():
    row = requests(
        started(7),
        ev.Progress(at=1.0, id=7, progress=1, seq=40),
        ev.InputRequired(at=1.0, id=7, round=1),
        ev.Round(at=2.0, id=7, wire_id=9, number=2),
    ).order[0]
    poll = requests(started(8)).order[0]
    server_request = ServerRequest(request_id=7, method="roots/list", at=0.0, parent=7)
    answers = {60: b'{"id":7,"result":{}}', 61: b'{"id":8,"result":{}}'}
    mine = Belonging(row, lambda: ([poll], [server_request]), answers.get)
    yes = [
        head(1, "out", "tools/call", 7),
        head(2, "in", "", 7),
        head(3, "out", "tools/call", 9),
        head(4, "in", "", 9),
        head(5, "out", "tasks/get", 8),
        head(6, "in", "roots/list", 7),
        head(7, "in", "notifications/message", None, 7),
        head(40, "in", "notifications/progress"),
        head(60, "out", ""),
    ]
    no = [
        head(11, "out", "tools/call", 10),
        head(12, "in", "roots/list", 9),
        head(13, "in", "", "7"),
        head(41, "in", "notifications/progress"),
        head(61, "out", ""),
        None,
    ]
    assert [mine(each) for each in yes] == [True] * len(yes)
    assert [mine(each) for each in no] == [False] * len(no)


def test_the_cancellations():
    rows = requests(
        [*started(1, name="slow_sql"), *cancelled(id=1, settled="")],
        [*started(2, name="crawl"), *cancelled(id=2, reason="too slow"), late(id=2)],
        [*started(3, name="hang"), *cancelled(id=3, cause=ev.Cause.TIMEOUT)],
        [*started(4), completed(id=4)],
    ).order[:3]
    for text, ids in {
        "outcome:no_reply": [1],
        "outcome:late": [2],
        "outcome:late_result": [2],
        "outcome:result": [2],
        "-outcome:no_reply": [2, 3],
        "cause:timeout": [3],
        "cause:user": [1, 2],
        "name:crawl": [2],
        "reason:slow": [2],
        "id:3": [3],
        "slow": [1, 2],
    }.items():
        assert [row.id for row in rows if list_filters.cancellations(text).matches(row)] == ids, text


def test_an_unknown_level_is_refused_with_the_choices():
    wanted = list_filters.log("-level:odd")
    assert wanted.problem.startswith("Unknown level 'odd'. Choose from: debug, info, ")
    assert not any(map(wanted.matches, EVENTS))
