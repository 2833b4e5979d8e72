"""``mcp-tui log``: what was cancelled, in which session, and what came of it."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from mcp_tui import __version__, clock
from mcp_tui.cli.output import Exit, csv_lines
from mcp_tui.journal.journal_files import journal_folder
from mcp_tui.journal.shortening import shorten
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Cause
from tests.cli.keeping import ONE, TWO, WALL, called, cancelled, connected, keep, kept, late, report
from tests.cli.running import run
from tests.tui.hostile import PAYLOADS, assert_harmless

Capture = pytest.CaptureFixture[str]


def array(capfd: Capture, *words: str) -> list[dict[str, Any]]:
    ran = report(capfd, "log", "--json", *words)
    assert ran.status == 0, ran
    return json.loads(ran.out)


# -- as text ---------------------------------------------------------------------------------------------------


def test_the_log_says_what_the_screen_says(capfd: Capture):
    kept()
    ran = report(capfd, "log")
    assert (ran.status, ran.err) == (0, "")
    at = clock.local_stamp(WALL + 2.0)
    assert ran.out.splitlines() == [
        f"{ONE} · Everything 1.0 · stdio · 2025-11-25",
        f"  {at}  1  slow_sql  you      sent; no reply (watched 2.0 s)                                wrong table",
        f"  {at}  2  slow_sql  you      sent; no reply (watched 2.0 s)                                wrong table",
        f"  {at}  3  slow_sql  you      sent; no reply (watched 2.0 s)                                wrong table",
        f"  {at}  4  slow_sql  you      sent; late result at +2.4 s, ignored                          wrong table",
        f"  {at}  5  count     timeout  sent; still progressing: 2 messages, last at +1.5 s of 2.0 s  no progress for 60 s",
        f"{TWO} · Other 2 · http · 2026-07-28",
        f"  {clock.local_stamp(WALL + 40_002.0)}  a  slow_sql  you      stream closed; nothing more can be seen",
    ]


def test_a_recording_with_a_bom_is_read_as_without_it(capfd: Capture, tmp_path: Path):
    kept()
    plain, marked = (tmp_path / name / "r.jsonl" for name in ("plain", "marked"))
    for path, bom in ((plain, b""), (marked, b"\xef\xbb\xbf")):
        path.parent.mkdir()
        path.write_bytes(bom + (journal_folder() / f"{ONE}.jsonl").read_bytes())
    for words in (
        ["log"],
        ["export", "--format", "csv"],
        ["export", "--format", "jsonl"],
        ["check", "--expect", "name:count"],
    ):
        ran, same = (report(capfd, words[0], str(path), *words[1:]) for path in (marked, plain))
        told = (text.replace("marked", "plain") for text in (ran.err, ran.out))
        assert ran.out
        assert (ran.status, *told) == (same.status, same.err, same.out)


def test_sums_by_tool(capfd: Capture):
    kept()
    assert report(capfd, "log", "--sums").out.splitlines() == [
        "slow_sql  6 calls  p50 4.0 s  p95 4.0 s  max 4.0 s  no reply 3, late result 1 (worst 2.4 s), stream closed 1",
        "count     1 call                                    still progressing 1 (worst 1.5 s)",
    ]
    times = {"p50": 4.0, "p95": 4.0, "max": 4.0}
    outcomes = {"no_reply": {"count": 3}, "late_result": {"count": 1, "worst": 2.4}}
    slow, count = array(capfd, "--sums", "--server", "everything")
    assert slow == {
        "tool": "slow_sql", "calls": 5, "answers": 1, **times, "total": 4, "outcomes": outcomes, "violations": 0,
        "repeats": 0, "ran_twice": 0
    }  # fmt: skip
    assert (count["calls"], count["answers"], count["p95"], count["total"]) == (1, 0, None, 1)
    assert count["outcomes"] == {"still_progressing": {"count": 1, "worst": 1.5}}
    table = list(csv.reader(io.StringIO(report(capfd, "log", "--sums", "--csv").out)))
    assert table[0] == ["tool", "outcome", "count", "worst", "calls", "answers", "p50", "p95", "max"]
    assert ["slow_sql", "late_result", "1", "2.4", "6", "1", "4.0", "4.0", "4.0"] in table


def test_sums_are_of_the_calls_of_a_tool_cancelled_or_not(capfd: Capture):
    answered = [[*called(id), ev.Completed(at=100.0 + id, id=id)] for id in range(1, 21)]
    refused = [*called(21), ev.Failed(at=121.0, id=21, message="no", code=-1)]
    lost = [*called(22), ev.Lost(at=190.0, id=22, detail="gone")]
    own = [ev.Called(at=100.0, id=23, method="tools/list", internal=True), ev.Completed(at=100.1, id=23)]
    again = called(24, name="add", at=400.0)
    keep(ONE, connected(), *answered, refused, lost, own, again)
    shown = [
        "slow_sql  22 calls  p50 11.0 s  p95 20.0 s  max 21.0 s",
        "add       1 call",
    ]
    assert report(capfd, "log", "--sums").out.splitlines() == shown
    assert [each["tool"] for each in array(capfd, "--sums", "--internal")] == [
        "slow_sql",
        "add",
        "tools/list",
    ]
    for words, tools in {
        ("--tool", "add"): ["add"],
        ("--since", clock.utc_stamp(WALL + 200)): ["add"],
        ("--server", "other"): [],
        ("--outcome", "late"): [],
        ("--cause", "user"): [],
    }.items():
        assert [each["tool"] for each in array(capfd, "--sums", *words)] == tools, words
    rows = list(csv.DictReader(io.StringIO(report(capfd, "log", "--sums", "--csv").out)))
    assert [(row["tool"], row["outcome"], row["count"], row["answers"]) for row in rows] == [
        ("slow_sql", "", "0", "21"), ("add", "", "0", "0")
    ]  # fmt: skip
    assert report(capfd, "log", "--sums", "--tool", "no").out == "No matching requests in 1 session.\n"


def broken(rule: str, id: ev.RequestId | None, detail: str, at: float = 105.0) -> ev.Event:
    return ev.Violation(at=at, rule=rule, detail=detail, id=id, by=ev.Origin.CLIENT)


def test_what_a_client_broke_has_a_line_and_counts_as_no_cancel(capfd: Capture):
    over = broken("cancel-over", 1, "a cancel of 1, which was over 3.000 s before")
    unknown = broken("cancel-unknown", None, "a cancel of 9, which it did not send", 106.0)
    servers = ev.Violation(at=105.5, rule="batch", detail="a batch")
    done = ev.Completed(at=102.0, id=1)
    keep(ONE, connected(), called(1), [done, over, servers], called(2), cancelled(2, at=107.0), unknown)
    clause = "(MUST: Cancellation, Behavior Requirements)"
    lines = [each.split("  ", 2)[2].strip() for each in report(capfd, "log").out.splitlines()[1:]]
    assert lines[0].split("  ") == [
        "1",
        "slow_sql",
        "client",
        f"violation by the client: a cancel of 1, which was over 3.000 s before {clause}",
    ]
    assert lines[1].endswith(
        f"client  violation by the client: a cancel of 9, which it did not send {clause}"
    )
    assert lines[2].startswith("2  slow_sql  you     sent; ")
    found = array(capfd)
    assert [(each["id"], each["violation"], each.get("outcome")) for each in found] == [
        (1, "cancel-over", None),
        (None, "cancel-unknown", None),
        (2, None, found[2]["outcome"]),
    ]
    assert found[0]["details"] == "a cancel of 1, which was over 3.000 s before"
    table = list(csv.DictReader(io.StringIO(report(capfd, "log", "--csv").out)))
    assert [table[0][name] for name in ("id", "cause", "violation")] == ["1", "client", "cancel-over"]
    assert "slow_sql" in report(capfd, "log", "--sums").out
    sums = {each["tool"]: (each["total"], each["violations"]) for each in array(capfd, "--sums")}
    assert sums == {"slow_sql": (1, 1), None: (0, 1)}
    assert [each["violation"] for each in array(capfd, "--cause", "client")] == [
        "cancel-over",
        "cancel-unknown",
    ]
    assert [each["violation"] for each in array(capfd, "--outcome", found[2]["outcome"])] == [None]
    assert (
        "- `violation by the client: a cancel of 9"
        in report(capfd, "export", "last", "--format", "markdown", "--cancellations").out
    )


def test_the_cancels_of_the_client_itself_are_told_only_when_they_are_asked_for(capfd: Capture):
    keep(ONE, called(1), cancelled(1, cause=Cause.SHUTDOWN))
    assert array(capfd) == []
    assert [(each["calls"], each["total"]) for each in array(capfd, "--sums")] == [(1, 0)]
    assert [each["cause"] for each in array(capfd, "--internal")] == ["shutdown"]


@pytest.mark.parametrize("words", [(), ("--sums",), ("--sessions",)])
def test_where_nothing_was_kept_one_sentence_says_so(capfd: Capture, words: tuple[str, ...]):
    ran = report(capfd, "log", *words)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == f"No recorded sessions in {journal_folder()}.\n"
    assert array(capfd, *words) == []
    assert not journal_folder().exists()


# -- which -----------------------------------------------------------------------------------------------------


def test_last_is_the_last_session_of_the_workbench_else_the_last_run(capfd: Capture):
    runs = [keep(f"2023-11-1{day}T091500-demo-{day}", called(day), cancelled(day)) for day in (4, 6)]
    assert [each["id"] for each in array(capfd, "last")] == [6]
    keep("2023-11-15T091500-demo-5", called(5), cancelled(5), purpose="workbench")
    assert [each["id"] for each in array(capfd, "last")] == [5]
    runs[1].write_text("broken")
    assert [each["id"] for each in array(capfd, "last")] == [5]


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ((), [1, 2, 3, 4, 5, "a"]),
        ((ONE,), [1, 2, 3, 4, 5]),
        (("2023-11-14",), [1, 2, 3, 4, 5]),
        (("last",), ["a"]),
        (("--server", "EXAMPLE"), ["a"]),
        (("--server", "%"), []),
        (("--tool", "cou"), []),
        (("--server", "everything", "--limit", "1"), [5]),
        (("--tool", "count"), [5]),
        (("--outcome", "no-reply"), [1, 2, 3]),
        (("--outcome", "late"), [4]),
        (("--outcome", "late-result,still progressing"), [4, 5]),
        (("--outcome", "late,stream_closed"), [4, "a"]),
        (("--cause", "timeout,max-timeout"), [5]),
        (("--since", "2023-11-15T00:00Z"), ["a"]),
        (("--until", "2023-11-15T00:00:00+00:00"), [1, 2, 3, 4, 5]),
        (("--since", "3d"), []),
        (("--until", "3d"), [1, 2, 3, 4, 5, "a"]),
    ],
    ids=str,
)
def test_which_are_wanted(capfd: Capture, words: tuple[str, ...], ids: list[object]):
    kept()
    assert [each["id"] for each in array(capfd, *words)] == ids


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nope",), "No session in"),
        (("2023",), "2 sessions start with '2023'"),
        (("/no/such/file.jsonl",), "File not found: /no/such/file.jsonl."),
        (("/etc/passwd",), "/etc/passwd is not a recording of mcp-tui"),
        (("/etc",), "is a directory"),
        (("a", "b"), "No session in"),
        (("http://127.0.0.1:1/mcp",), "log takes no server."),
        (("--", "server"), "log takes no server."),
        (("--outcome", "x"), "Unknown outcome 'x'. Choose from: still_progressing,"),
        (("--outcome", "late,x"), "Unknown outcome 'x'. Choose from: still_progressing,"),
        (("--cause", "me"), "Unknown cause 'me'. Choose from: user,"),
        (("--since", "yesterday"), "--since 'yesterday'"),
        (("--until", "2023-99-99"), "--until '2023-99-99'"),
        (("--limit", "-1"), "--limit -1"),
        (("--limit", "few"), "is not a whole number"),
        (("--json", "--csv"), "Use either --csv or --json"),
        (("--sums", "--sessions"), "Use either --sums or --sessions"),
    ],
    ids=str,
)
def test_what_cannot_be_is_said_in_one_sentence(capfd: Capture, words: tuple[str, ...], said: str):
    kept()
    report(capfd, "log", *words).sentence(Exit.USAGE, said)


def test_several_files_are_read_and_each_line_of_json_names_its_own(capfd: Capture, tmp_path: Path):
    kept()
    other, bad = tmp_path / "other.jsonl", tmp_path / "bad.jsonl"
    other.write_bytes((journal_folder() / f"{ONE}.jsonl").read_bytes())
    bad.write_text("not a recording\n")
    found = array(capfd, str(other), TWO, str(other))
    files = {each["session"]: each["file"] for each in found}
    assert files == {str(other): str(other), TWO: str(journal_folder() / f"{TWO}.jsonl")}
    ids = [each["id"] for name in (str(other), TWO) for each in array(capfd, name)]
    assert sorted(map(str, ids)) == sorted(str(each["id"]) for each in found)
    ran = report(capfd, "log", str(other), str(bad), TWO)
    assert ran.status == Exit.USAGE
    assert [line.split(" · ")[0] for line in ran.out.splitlines() if line[0] != " "] == [str(other), TWO]
    assert "Skipped 1 session" in ran.err


# -- damage ----------------------------------------------------------------------------------------------------


def test_a_format_of_another_version_is_refused_with_a_sentence(capfd: Capture, tmp_path: Path):
    kept()
    path = journal_folder() / f"{ONE}.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"v":1', b'"v":7'))
    ran = report(capfd, "log", "--json")
    assert [each["id"] for each in json.loads(ran.out)] == ["a"]
    refused = f"{path} is a recording of format 7; mcp-tui {__version__} reads format 1."
    assert ran.err == f"mcp-tui: Skipped 1 session. {refused}\n"
    report(capfd, "log", ONE).sentence(Exit.USAGE, refused)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(path.read_bytes())
    report(capfd, "log", str(copy)).sentence(Exit.USAGE, "is a recording of format 7")


# -- hostile text ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAYLOADS)
def test_hostile_text_does_not_reach_the_terminal(capfd: Capture, name: str):
    text = PAYLOADS[name]
    events = [connected(text, text, text), *called(text, name=text), *cancelled(text, reason=text)]
    keep(ONE, *events, ev.Settled(at=104.0, id=text, detail=text), target=text)
    for words in ((), ("--csv",), ("--json",), ("--sums",), ("--sessions",)):
        ran = report(capfd, "log", *words)
        assert ran.status == 0
        assert len(ran.out) > 15
        for line in ran.out.splitlines():
            assert_harmless(line)


# -- CSV -------------------------------------------------------------------------------------------------------


def test_the_csv_is_one_that_others_read(capfd: Capture):
    keep(ONE, called(1, name='a,b"c'), cancelled(1, reason="line one\nline two"), late(1, 0.25))
    ran = report(capfd, "log", "--csv")
    head, row = csv.reader(io.StringIO(ran.out, newline=""), strict=True)
    made = dict(zip(head, row, strict=True))
    assert made["name"] == 'a,b"c'
    assert made["reason"] == "line one\nline two"
    assert (made["id"], made["elapsed"], made["late"], made["worst"]) == ("1", "2.0", "result+0.25", "0.25")
    assert ran.out.count("\r\n") == 2


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "  =1+1", "＝1", "=cmd|'/c calc'!A0"]
)
def test_no_cell_is_a_formula(text: str):
    _, (cell,) = csv.reader(csv_lines(["text"], [[text]]))
    assert cell.startswith("'")


@pytest.mark.parametrize("words", [("log",), ("export", "--format", "csv"), ("replay",)])
def test_what_is_no_regular_file_is_refused_and_not_waited_for(words: tuple[str, ...], tmp_path: Path):
    os.mkfifo(tmp_path / "fifo.jsonl")
    for name in ("/dev/stdin", str(tmp_path / "fifo.jsonl"), "/dev/zero"):
        run(*words, name, input="{}").sentence(Exit.USAGE, f"Cannot read {name}: not a regular file")


def test_that_messages_were_removed_is_told_by_log_export_and_check(capfd: Capture):
    path = keep(ONE, connected(), called(1), cancelled(1))
    header = path.read_bytes().partition(b"\n")[0] + b"\n"
    for _ in shorten(path, range(1, 2), header, "the journal reached its size", space=10_000, since=0.0):
        pass
    at = clock.local_stamp(WALL + 2.0)
    for words in (("log",), ("export", "--format", "csv", ONE), ("check", "--fail-on", "state:late", ONE)):
        ran = report(capfd, *words)
        assert f"messages before {at} were removed: the journal reached its size." in ran.err
        assert ran.status == (Exit.USAGE if words[0] == "check" else 0), "it holds, as far as that is known"
