"""``check``: what recordings must show, in the filter language of the workbench."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.cli.check import Findings, assertions, judge
from mcp_tui.cli.output import Exit, Failure
from mcp_tui.journal.recording import Recording
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause, Kind, Signal
from mcp_tui.protocol.evidence import LATE_OUTCOMES, Outcome
from mcp_tui.protocol.states import State
from mcp_tui.view.badges import BADGES, SERVER_BADGES
from tests.cli.keeping import ONE, called, cancelled, connected, keep, late, report
from tests.cli.running import SERVERS, Ran, run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A recording of a late answer, a quick one, a call that goes on, an internal failure, and a question."""
    return keep(
        ONE,
        connected(),
        called(1, 1, name="slow_sql"),
        cancelled(1),
        late(1, 0.412),
        ev.Settled(at=102.5, id=1, detail="answered late"),
        called(2, name="count"),
        ev.Completed(at=100.5, id=2),
        called(3, name="endless"),
        ev.Lost(at=106.0, id=3, detail="gone"),
        ev.Called(at=100.0, id=4, method="server/discover", internal=True),
        ev.Failed(at=100.1, id=4, message="no such method", code=-32601),
        # a client's: @modelcontextprotocol/client 2.4.0, Claude Code 2.1.332
        ev.Called(at=100.0, id="server-discover-probe-1", method="server/discover"),
        ev.Failed(at=100.1, id="server-discover-probe-1", message="no such method", code=-32601),
        ev.ServerRequestReceived(at=101.0, request_id=1, method="sampling/createMessage"),
        ev.ServerRequestAnswered(at=104.0, request_id=1, code=-1),
        path=tmp_path / "one.jsonl",
    )


def judged(path: Path, *, internal: bool = False, **given: object) -> list[list[object]]:
    """The requests that break each assertion, by their names."""
    filters = {"fail_on": (), "expect": (), **given}
    findings = Findings(assertions(**filters))  # pyright: ignore[reportArgumentType] - values of a table
    judge(findings, Recording.read(path), "one", internal=internal)
    return [
        [each.passes, *(match.fields().get("name") or match.fields()["method"] for match in each.broken_by)]
        for each in findings.assertions
    ]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"fail_on": ["state:late"]}, [[False, "slow_sql"]]),
        ({"fail_on": ["state:failed", "state:late -name:slow"]}, [[True], [True]]),
        ({"fail_on": ["state:failed"], "internal": True}, [[False, "server/discover", "server/discover"]]),
        ({"fail_on": ["state:lost"]}, [[False, "endless"]]),
        ({"fail_on": ["state:refused"]}, [[False, "sampling/createMessage"]]),
        (
            {"fail_on": ["server:everything"]},
            [[False, "slow_sql", "count", "endless", "sampling/createMessage"]],
        ),
        ({"expect": ["outcome:late_result", "name:other"]}, [[True], [False]]),
        ({"expect": ["state:completed"], "within": 0.5}, [[True]]),
        ({"expect": ["state:completed"], "within": 0.4}, [[False, "count"]]),
        ({"expect": ["name:endless"], "within": 5.0}, [[False, "endless"]]),
        ({"expect": ["name:/./"], "within": 3.0}, [[False, "endless"]]),
        (
            {"fail_on": ["took:>2.5", "took:<=500ms"]},
            [[False, "endless", "sampling/createMessage"], [False, "count"]],
        ),
        ({"fail_on": ["size:>1kb"]}, [[True]]),
        (
            {"at_most": [(0, "state:late"), (1, "state:late"), (2, "method:tools/call")]},
            [[False, "slow_sql"], [True], [False, "slow_sql", "count", "endless"]],
        ),
        (
            {"at_least": [(1, "state:late"), (4, "method:tools/call"), (3, "took:>0")]},
            [[True], [False], [True]],
        ),
        ({"expect": ["method:sampling"], "within": 2.5}, [[False, "sampling/createMessage"]]),
    ],
)
def test_the_rows_that_break_an_assertion(path: Path, given: dict[str, object], found: object):
    assert judged(path, **given) == found  # pyright: ignore[reportArgumentType]


CAME: list[list[ev.RequestEvent]] = [
    [ev.Late(at=102.4, id=0, kind=Kind.RESULT, after=0.4)],
    [ev.Late(at=102.5, id=0, kind=Kind.ERROR, after=0.5, code=-32800)],
    [ev.Late(at=102.0 + after, id=0, kind=Kind.PROGRESS, after=after) for after in (0.6, 1.6)],
    [ev.Unwatched(at=103.8, id=0, detail="gone", disconnected=True)],
    [ev.Settled(at=104.0, id=0)],
]
"""What may come after a cancel, in this order."""

CANCELS: list[list[Any]] = [
    *(
        [*cancelled(0, cause=cause), *chain(*after)]
        for cause in Cause
        for size in range(6)
        for after in combinations(CAME, size)
    ),
    *([*cancelled(0), ev.Late(at=102.4, id=0, kind=kind, after=0.4)] for kind in Kind),
    *(
        [*cancelled(0), each]
        for each in (
            ev.Undelivered(at=102.1, id=0, detail="HTTP 401", refused=True),
            ev.Undelivered(at=102.1, id=0, detail="broken pipe"),
            ev.CancelWithdrawn(at=102.1, id=0),
            ev.Unwatched(at=102.0, id=0),
        )
    ),
    *(
        [cancelled(0)[0], ev.CancelSignalled(at=102.0, id=0, signal=signal, reason_delivered=False)]
        for signal in Signal
    ),
]

CANCELS.append(
    [
        ev.TaskCreated(at=101.0, id=0, task_id="t", status="working"),
        ev.CancelRequested(at=102.0, id=0, cause=Cause.USER, reason=""),
        ev.CancelSignalled(at=102.0, id=0, signal=Signal.TASKS_CANCEL, reason_delivered=False),
        ev.TaskStatus(at=102.1, id=0, status="cancelled"),
    ]
)

OTHERS: list[list[Any]] = [
    [],
    [ev.Overdue(at=101.0, id=0, until=110.0)],
    [ev.InputRequired(at=101.0, id=0, round=1, asks="elicitation/create")],
    [ev.TaskCreated(at=101.0, id=0, task_id="t", status="working")],
    [ev.Completed(at=101.0, id=0)],
    [ev.Completed(at=101.0, id=0, is_error=True)],
    [ev.Failed(at=101.0, id=0, message="no", code=-1)],
    [ev.Lost(at=101.0, id=0, detail="gone")],
    [ev.Lost(at=101.0, id=0, detail="gone"), ev.Late(at=102.0, id=0, kind=Kind.RESULT, after=1.0)],
]

QUESTIONS: list[list[ev.Event]] = [
    [],
    [ev.ServerRequestAnswered(at=104.0, request_id="q", code=None)],
    [ev.ServerRequestAnswered(at=104.0, request_id="q", code=-1)],
    [ev.ServerRequestWithdrawn(at=104.0, request_id="q")],
]

OPEN = ("queued", "in_flight", "awaiting_input", "task", "asks")
"""The states of a row that still waits for its answer, as JSON has them."""

HIDDEN = {
    "still_progressing": "progressing",
    "progress_then_quiet": "quiet",
    **{each.value: "late" for each in LATE_OUTCOMES},
}
"""The words of outcomes that find a row whose badge says something worse."""

VOCABULARY = [
    *(("state", each.value) for each in State),
    *(
        ("state", word)
        for word in ("open", "done", "timed_out", "tool_error", *(each.word for each in BADGES))
    ),
    *(("state", word) for word in SERVER_BADGES),
    *(("outcome", each.value) for each in Outcome),
    *(("cause", each.value) for each in Cause),
]
"""Every word of a state, a badge, an outcome, and a cause."""


def test_what_a_recorded_row_shows_finds_it_and_nothing_else_does(tmp_path: Path):
    """Every way to cancel with everything that may come after it, every other state, and every word on all of them."""
    events: list[Any] = [connected(), ev.Called(at=100.0, id="queued", method="tools/call", name="slow")]
    for id, after in enumerate([*CANCELS, *OTHERS]):
        events += [*called(id), *(replace(each, id=id) for each in after)]
    for number, after in enumerate(QUESTIONS):
        asked = ev.ServerRequestReceived(at=101.0, request_id=f"q{number}", method="sampling/createMessage")
        events += [asked, *(replace(each, request_id=f"q{number}") for each in after)]  # pyright: ignore[reportCallIssue]
    recording = Recording.read(keep(ONE, *events, path=tmp_path / "all.jsonl"))
    words = [*VOCABULARY, *(("id", str(number)) for number in (0, 1, 11, 111))]
    findings = Findings(assertions(["state:open,done", *(f'{field}:"{word}"' for field, word in words)], ()))
    judge(findings, recording, "all")
    every, *found = [[each.fields() for each in one.matches] for one in findings.assertions]
    assert len(every) == 1 + len(CANCELS) + len(OTHERS) + len(QUESTIONS)
    for (field, word), matched in zip(words, found, strict=True):
        for row in every:
            assert _shows(row, field, word) <= (row in matched) <= _may_show(row, field, word), (
                field,
                word,
                row,
            )
    nowhere = {word for (_, word), matched in zip(words, found, strict=True) if not matched}
    assert nowhere == {"cancel_requested", "cancelling", "watching"}  # at its end no cancel is watched


def _spoken(text: str) -> str:
    return f" {text.replace('_', ' ')}"


def _shows(row: dict[str, Any], field: str, word: str) -> bool:
    """Whether a row has a word in its JSON."""
    outcomes: list[str] = row.get("outcomes", [])
    if field == "outcome":
        return word in outcomes
    if field != "state":
        return word == str(row.get(field))
    hidden = (HIDDEN[each] for each in outcomes if each in HIDDEN)
    shown = (row["state"], row["shown"], "open" if row["state"] in OPEN else "done", *hidden)
    return any(_spoken(word) in _spoken(each) for each in shown)


def _may_show(row: dict[str, Any], field: str, word: str) -> bool:
    """Whether a row has a word in its JSON, or is in a state that the word of its badge covers."""
    covered = ("cancelling", "overdue", "conn. lost") if field == "state" else ()
    return _shows(row, field, word) or any(_spoken(word) in _spoken(each) for each in covered)


def test_a_late_answer_exits_with_9_and_is_named_in_every_report(path: Path, tmp_path: Path, capfd: Capture):
    files = ("--junit", str(tmp_path / "c.xml"), "--sarif", str(tmp_path / "c.sarif"))
    ran = report(capfd, "check", str(path), "--fail-on", "state:late", "--expect", "state:completed", *files)
    assert (ran.status, ran.err) == (Exit.BROKEN_RULE, "")
    first, row, last = ran.out.splitlines()
    assert first == "broken  --fail-on state:late  (1 of 4 requests matches)"
    assert row.startswith(f"  {path}  2023-11-1")
    assert row.endswith(
        "  1 tools/call slow_sql  late  cancelled after 2.000 s: sent; late result at +412 ms, ignored"
    )
    assert last == "holds   --expect state:completed  (1 of 4 requests matches)"
    suite = ET.parse(tmp_path / "c.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "slow_sql" in (suite.findtext(".//failure") or "")
    (scan,) = json.loads((tmp_path / "c.sarif").read_text())["runs"]
    (result,) = scan["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert (result["level"], place) == ("error", path.as_uri())
    assert scan["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "--fail-on state:late"
    line: int = result["locations"][0]["physicalLocation"]["region"]["startLine"]
    record = json.loads(path.read_text().splitlines()[line - 1])
    assert (record["record"], record["seq"]) == ("frame", 1)
    told = json.loads(report(capfd, "check", str(path), "--fail-on", "state:late", "--json").out)
    assert (told["holds"], told["requests"]) == (False, 4)
    assert [each["late"][0]["after"] for each in told["assertions"][0]["rows"]] == [0.412]


def test_a_recording_without_its_end_is_never_a_pass(tmp_path: Path, capfd: Capture):
    whole = [connected(), called(1), ev.Completed(at=101.0, id=1), called(2)]
    path = keep(ONE, *whole, path=tmp_path / "open.jsonl")
    check = ("check", "--expect", "state:completed", str(path))
    ran = report(capfd, *check)
    assert (ran.status, ran.out[:5]) == (Exit.USAGE, "holds")
    assert "open.jsonl has no end: 1 request is open" in ran.err
    assert report(capfd, "check", "--fail-on", "state:open", str(path)).status == Exit.BROKEN_RULE
    path = keep(ONE, *whole, cancelled(2), path=tmp_path / "watched.jsonl")
    assert "has no end" in report(capfd, "check", "--fail-on", "state:late", str(path)).err
    ended = ev.Failed(at=103.0, id=2, message="no")
    path = keep(ONE, *whole, ended, path=tmp_path / "ended.jsonl")
    assert report(capfd, "check", "--expect", "state:completed", str(path)).status == Exit.COMPLETED
    path.write_bytes(path.read_bytes() + b'{"record":"event","ev')
    assert "1 record is unreadable" in report(capfd, "check", "--expect", "state:completed", str(path)).err


@pytest.mark.parametrize(
    ("filter", "found"),
    [
        ("violation:output-schema", [["violation", "slow_sql"]]),
        ("violation:server name:slow", [["duplicate", "slow_sql"], ["violation", "slow_sql"]]),
        ("violation", [["pollution", None], ["duplicate", "slow_sql"], ["violation", "slow_sql"]]),
        ("violation:duplicate", [["duplicate", "slow_sql"]]),
        ("violation:client", []),
        ("violation:/./ name:count", []),
        ("schema", [["violation", "slow_sql"]]),
        ("pollution", [["pollution", None]]),
        ("duplicate", [["duplicate", "slow_sql"]]),
        ("source:stderr", [["stderr", None]]),
        ("stderr", [["stderr", None]]),
        ("source:stderr /token=abc/", [["stderr", None]]),
        ("level:error", [["log", None]]),
        ("-state:completed", []),
        ("-violation:client", "row"),
        ("-violation:output-schema", []),
        ("violation:output-schema state:completed took:<1", [["violation", "slow_sql"]]),
        ("violation:output-schema state:failed", []),
        ("source:stderr state:completed", []),
        ("source:unknown", []),
        ("source:stderr -token", []),
    ],
)
def test_what_is_beside_the_requests_can_be_asserted(tmp_path: Path, filter: str, found: Any):
    path = keep(
        ONE,
        connected(),
        called(1),
        ev.Pollution(at=100.1, line="debug print"),
        ev.Stderr(at=100.2, line="ERROR " + "x" * 9000 + "token=abc"),
        ev.Log(at=100.3, level="error", logger="db", data="down"),
        ev.Completed(at=100.5, id=1),
        ev.Duplicate(at=100.6, id=1, kind=Kind.RESULT),
        ev.Violation(at=100.7, rule="output-schema", detail="sum", id=1),
        path=tmp_path / "beside.jsonl",
    )
    findings = Findings(assertions([filter], ()))
    judge(findings, Recording.read(path), "one")
    rows = [each.fields() for each in findings.assertions[0].matches]
    if found == "row":
        assert [row["state"] for row in rows] == ["completed"]
    else:
        assert [[row["source"], row["name"]] for row in rows] == found
    expecting = Findings(assertions((), ["down"]))
    judge(expecting, Recording.read(path), "one")
    assert not expecting.assertions[0].passes  # a word that is expected is one of a request


def test_a_strict_call_fails_where_a_side_broke_a_rule(tmp_path: Path):
    tool = {**SEARCH, "outputSchema": {"type": "object", "required": ["n"]}}
    given: list[tuple[dict[str, Any], int]] = [
        ({"content": [], "structuredContent": {"n": 1}}, 0),
        ({"content": []}, 9),
    ]
    for result, status in given:
        results = json.dumps({"tools/list": {"tools": [tool]}, "search": result})
        server = ("--", sys.executable, "-S", str(SERVERS / "results_server.py"), results)
        assert run("call", "search", "--strict", "--no-journal", *server).status == status


def test_whole_messages_are_searched(tmp_path: Path, capfd: Capture):
    answered = [*called("a\nb", 1), ev.Completed(at=101.0, id="a\nb", seq=2)]
    slow = [*called(2, 3, name="count"), *cancelled(2), late(2, 0.4, seq=4), ev.Settled(at=104.0, id=2)]
    path = keep(ONE, connected(), answered, slow, path=tmp_path / "texts.jsonl")
    for text, names in {
        "answer": ["slow_sql", "count"],
        "/ANSWER to .\\nb$/": ["slow_sql"],
        "text:/^answer to 2$/": ["count"],
        'result:"text":"answer': ["slow_sql", "count"],
        'args:{"n":2}': ["count"],
        "text:/never/": [],
        "-answer": [],
    }.items():
        assert judged(path, fail_on=[text]) == [[not names, *names]], text
    assert report(capfd, "check", str(path), "--fail-on", "secret").err == ""
    path.write_bytes(path.read_bytes().replace(b"answer", "‹redacted:ab12cd›".encode()))
    ran = report(capfd, "check", str(path), "--fail-on", "secret")
    assert (ran.status, ran.err.count("is redacted. A text that was removed as a secret cannot")) == (0, 1)
    assert report(capfd, "check", str(path), "--fail-on", "state:failed").err == ""


def test_what_cannot_be_read_is_never_a_pass(path: Path, tmp_path: Path, capfd: Capture):
    passes = ("--expect", "state:late", str(path))
    assert report(capfd, "check", *passes).status == Exit.COMPLETED
    (tmp_path / "empty.jsonl").touch()
    report(capfd, "check", "--fail-on", "x", str(tmp_path / "empty.jsonl")).sentence(
        Exit.USAGE, "not a recording"
    )
    ran = report(capfd, "check", "--expect", "state:late", str(tmp_path))
    assert (ran.status, ran.out[:5]) == (Exit.USAGE, "holds")
    assert "empty.jsonl is not a recording" in ran.err
    assert report(capfd, "check", "--fail-on", "state:late", str(tmp_path)).status == Exit.BROKEN_RULE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join((*lines[:3], b"not a record\n", *lines[3:])))
    ran = report(capfd, "check", *passes)
    assert ran.status == Exit.USAGE
    assert "1 record is unreadable or missing in" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fail-on", "state:lost"), "Missing recording."),
        (
            ("FILE",),
            "Nothing to check. Add --fail-on FILTER, --expect FILTER, --at-most N FILTER, or --catalogue LOCK.",
        ),
        (("FILE", "--fail-on", " "), "Empty --fail-on."),
        (("FILE", "--fail-on", "state:bad"), "Unknown state 'bad'. Choose from: open, done, queued"),
        (("FILE", "--expect", "stat:late"), "Unknown filter 'stat'. Use key:value, with state, name"),
        (("FILE", "--expect", "state:late name:"), "Invalid --expect state:late name:. name: has no value."),
        (("FILE", "--fail-on", "state: failed"), "state: has no value."),
        (("FILE", "--fail-on", '-Name:""'), "Name: has no value."),
        (("FILE", "--fail-on", "state:failed,"), "Unknown state ''."),
        (("FILE", "--fail-on", "//"), "Nothing to search for in //."),
        (("FILE", "--fail-on", "state=failed"), "Unknown filter 'state='. Use state:value."),
        (("FILE", "--fail-on", "took:0.5"), "Invalid took '0.5'. Use took:>0.5, or <, <=, >=."),
        (("FILE", "--at-most", "name:x"), "does not begin with a number"),
        (("FILE", "--at-most", "3"), "Empty --at-most."),
        (("FILE", "--at-least", "0", "name:x"), "--at-least 0 name:x always holds."),
        (("FILE", "--fail-on", "x", "--within", "1"), "--within is about --expect."),
        (("FOLDER", "--fail-on", "x"), "No recordings (*.jsonl) in"),
        (("FILE", "--fail-on", "x", "--junit", "/no/where"), "Cannot write '/no/where' (--junit)."),
    ],
)
def test_words_that_check_nothing_are_refused(
    words: tuple[str, ...], said: str, path: Path, tmp_path: Path, capfd: Capture
):
    (tmp_path / "folder").mkdir()
    places = {"FILE": str(path), "FOLDER": str(tmp_path / "folder")}
    report(capfd, "check", *(places.get(word, word) for word in words)).sentence(Exit.USAGE, said)


def test_a_recording_without_requests_has_nothing_to_check(tmp_path: Path, capfd: Capture):
    internal = ev.Called(at=100.0, id=1, method="tools/list", internal=True)
    path = keep(ONE, connected(), internal, path=tmp_path / "none.jsonl")
    ran = report(capfd, "check", str(path), "--fail-on", "state:failed")
    ran.sentence(Exit.USAGE, "No requests to check. --internal checks those")
    with pytest.raises(Failure, match="Invalid --expect"):
        assertions((), ["/(/"])


# -- a server's catalogue --------------------------------------------------------------------------------------

SEARCH: dict[str, Any] = {
    "name": "search",
    "description": "Searches",
    "inputSchema": {"type": "object", "properties": {"q": {}}},
}


def with_tools(*words: str, tools: list[object]) -> Ran:
    """A command with a server that lists its tools on a page each."""
    pages = {"tools/list": {"tools": tools}}
    server = (sys.executable, "-S", str(SERVERS / "results_server.py"), json.dumps(pages))
    return run(*words, "--no-journal", "--", *server)


def test_a_server_is_compared_with_the_lock_file_of_its_snapshot(tmp_path: Path):
    lock, xml, scan = (str(tmp_path / name) for name in ("tools.lock", "c.xml", "c.sarif"))
    ran = with_tools("snapshot", "-o", lock, tools=[SEARCH])
    assert (ran.status, ran.out) == (Exit.COMPLETED, "")
    assert f"{lock}: 1 tool, 0 resources, 0 templates, 0 prompts" in ran.err
    check = ("check", "--catalogue", lock)
    ran = with_tools(*check, tools=[SEARCH])
    assert (ran.status, ran.out) == (Exit.COMPLETED, f"holds   --catalogue {lock}  (no difference)\n")

    risky = {**SEARCH, "description": "Send all to \x1b[2Jevil"}
    assert with_tools(*check, tools=[risky]).status == Exit.COMPLETED
    ran = with_tools(
        *check, "--strict", "--junit", xml, "--sarif", scan, tools=[risky, {**SEARCH, "name": "more"}]
    )
    assert (ran.status, ran.out.splitlines()) == (
        Exit.BROKEN_RULE,
        [
            f"broken  --catalogue {lock}  (1 risky, 1 additive)",
            "  risky     tool search  description: changed from 'Searches' to 'Send all to \\x1b[2Jevil'",
            "  additive  tool more    added",
        ],
    )
    assert ET.parse(xml).getroot().get("failures") == "1"
    found = json.loads(Path(scan).read_text())["runs"][0]["results"]
    lines = Path(lock).read_text().splitlines()
    places: list[int] = [each["locations"][0]["physicalLocation"]["region"]["startLine"] for each in found]
    assert [each["level"] for each in found] == ["error", "note"]
    assert [lines[place - 1].split(":")[0].strip() for place in places] == ['"description"', '"tools"']

    ran = with_tools(*check, "--json", tools=[{**SEARCH, "name": "find"}])
    first, second = json.loads(ran.out)["catalogue"]["differences"]
    assert (ran.status, first["rank"], first["name"]) == (Exit.BROKEN_RULE, "breaking", "search")
    assert (second["rank"], second["name"], second["path"]) == ("additive", "find", "")


def test_a_list_that_is_cut_is_no_lock(tmp_path: Path):
    lock, page = tmp_path / "tools.lock", {"tools": [SEARCH], "nextCursor": "x"}
    server = (
        "--",
        sys.executable,
        "-S",
        str(SERVERS / "results_server.py"),
        json.dumps({"tools/list": page}),
    )
    ran = run("snapshot", "-o", str(lock), "--no-journal", *server)
    assert (ran.status, ran.out) == (Exit.BROKEN_RULE, "")
    assert "Incomplete list from the server: tools/list gave the cursor 'x' twice." in ran.err
    assert not lock.exists()
    lock.write_text(with_tools("snapshot", tools=[SEARCH]).out)
    ran = run("check", "--catalogue", str(lock), "--no-journal", *server)
    assert (ran.status, "Incomplete list from the server" in ran.err) == (Exit.BROKEN_RULE, True)


def test_a_broken_assertion_is_told_where_the_server_cannot_be_asked(
    path: Path, tmp_path: Path, capfd: Capture
):
    lock, xml = tmp_path / "tools.lock", tmp_path / "c.xml"
    lock.write_text(with_tools("snapshot", tools=[SEARCH]).out)
    both = ("check", "--fail-on", "state:late", "--catalogue", str(lock), "--junit", str(xml), str(path))
    told = report(capfd, *both, "--", "/no/such/server")
    assert told.status == Exit.BROKEN_RULE
    assert "broken  --fail-on state:late" in told.out
    assert "/no/such/server" in told.err
    suite = ET.parse(xml).getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("1", "1")


def test_a_lock_file_without_descriptions_compares_none(tmp_path: Path):
    lock = tmp_path / "tools.lock"
    lock.write_text(with_tools("snapshot", "--no-descriptions", tools=[SEARCH]).out)
    ran = with_tools(
        "check", "--catalogue", str(lock), "--strict", tools=[{**SEARCH, "description": "Other"}]
    )
    assert (ran.status, ran.out[:5]) == (Exit.COMPLETED, "holds")


def test_what_is_no_lock_file_is_refused_before_the_server_is_started(path: Path, capfd: Capture):
    demo = ("check", "--demo", "--catalogue")
    report(capfd, *demo, str(path)).sentence(Exit.USAGE, "is not a lock file of this version.")
    report(capfd, *demo, "/no/where").sentence(Exit.USAGE, "Cannot read '/no/where' (--catalogue)")
    report(capfd, "check", "--demo", "--fail-on", "x", str(path)).sentence(
        Exit.USAGE, "Add --catalogue LOCK."
    )
