"""``mcp-tui export``: a session in another form, for others to read."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
from pathlib import Path

import pytest

from mcp_tui.cli.output import Exit
from mcp_tui.journal.journal_files import journal_folder
from mcp_tui.journal.records import Header
from mcp_tui.journal.store import Store
from mcp_tui.journal.writer import Writer
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Kind
from tests.cli.keeping import ONE, TWO, called, cancelled, connected, keep, late, report
from tests.tui.hostile import PAYLOADS, assert_harmless

Capture = pytest.CaptureFixture[str]
FORMS = ("jsonl", "markdown", "csv")


def session(*, transport: str = "stdio", target: str = "npx everything") -> Path:
    """A session with a call that completed, one that came late, one that failed, and one that goes on."""
    return keep(
        ONE,
        connected(transport=transport),
        called(1, 1),
        ev.Completed(at=100.5, id=1, seq=2, size=80, summary="answer to 1"),
        called(2, 3),
        cancelled(2),
        late(2, 0.412, seq=4),
        ev.Settled(at=102.5, id=2, detail="answered late"),
        called(3, 5),
        ev.Failed(at=103.0, id=3, message="it failed", code=-32603, seq=6),
        called(4, 7, name="slow_sql"),
        ev.Progress(at=103.5, id=4, progress=1.0, total=4.0, message="on it"),
        target=target,
    )


def export(capfd: Capture, form: str, *words: str, which: str = "last") -> str:
    ran = report(capfd, "export", which, "--format", form, *words)
    assert (ran.status, ran.err) == (0, ""), ran
    return ran.out


# -- several -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_of_several_sessions_each_piece_names_its_file(form: str, capfd: Capture, tmp_path: Path):
    first, second, bad = (
        session(transport="http", target="https://x.example"),
        tmp_path / "b.jsonl",
        tmp_path / "bad.jsonl",
    )
    second.write_bytes(first.read_bytes())
    bad.write_text("not a recording\n")
    ran = report(capfd, "export", str(first), str(bad), str(second), "--format", form)
    assert ran.status == Exit.USAGE
    assert "bad.jsonl is not a recording" in ran.err
    names = [ONE, str(second)]
    alone = export(capfd, form, which=str(second))
    match form:
        case "jsonl":
            lines = [json.loads(line) for line in ran.out.splitlines()]
            assert [line.pop("file") for line in lines] == [
                each for each in names for _ in alone.splitlines()
            ]
            assert lines == 2 * [json.loads(line) for line in alone.splitlines()]
        case "csv":
            rows, kept = (list(csv.reader(io.StringIO(text))) for text in (ran.out, alone))
            assert rows == [["file", *kept[0]], *([name, *row] for name in names for row in kept[1:])]
        case _:
            assert ran.out == "".join(f"## `{name}`\n\n{alone}\n" for name in names)


# -- JSON lines ------------------------------------------------------------------------------------------------


def test_json_lines_are_the_recording_as_it_was_kept(capfd: Capture):
    path = session()
    assert export(capfd, "jsonl") == path.read_text()


@pytest.mark.parametrize("form", FORMS)
def test_a_file_is_its_owner_s_alone_and_holds_what_would_be_printed(
    form: str, capfd: Capture, tmp_path: Path
):
    session()
    shown = export(capfd, form)
    assert export(capfd, form, "-o", str(tmp_path / form)) == ""
    assert (tmp_path / form).read_bytes().decode() == shown
    assert stat.S_IMODE((tmp_path / form).stat().st_mode) == 0o600


# -- Markdown --------------------------------------------------------------------------------------------------


def test_one_request_as_markdown(capfd: Capture):
    session()
    shown = export(capfd, "markdown", "--id", "2")
    head, *_ = shown.splitlines()
    assert head == "### `tools/call slow_sql`: late"
    assert (
        "`npx everything`, `Everything 1.0`, `stdio`, `2025-11-25`, 2023-11-14T22:13:20.000Z, `mcp-tui 0.1.0`"
        in shown
    )
    fenced = re.findall(r"```(\w*)\n(.*?)\n```", shown, re.DOTALL)
    assert [language for language, _ in fenced] == ["", "", "json", "json"]
    facts, timeline, sent, answered = (text for _, text in fenced)
    assert "then    late result at +412 ms, ignored" in facts
    assert timeline.splitlines() == [
        "  +0.000 → tools/call",
        "  +2.000 ! cancel requested by user: wrong table",
        "  +2.000 → cancel sent via notifications/cancelled",
        "  +2.412 ← late result at +412 ms, ignored",
        "  +2.500 ! no longer watched: answered late",
    ]
    assert json.loads(sent) == {"name": "of 2", "arguments": {"n": 2}}
    assert json.loads(answered) == {"content": [{"type": "text", "text": "answer to 2"}]}
    assert "#### Late, ignored" in shown


def test_one_request_as_an_issue_with_the_command_that_does_the_same(capfd: Capture):
    session(target="npx everything --token=s3cr3t-t0ken-0123456789")
    shown = export(capfd, "issue", "--id", "2")
    head, *_ = shown.splitlines()
    assert head == "### `tools/call slow_sql`: late"
    server = "- server: `Everything 1.0`\n- protocol: `2025-11-25`\n- transport: `stdio`"
    assert f"{server}\n- recorded by mcp-tui: `0.1.0`\n- mcp-tui: `" in shown
    fenced = dict(re.findall(r"```(\w*)\n(.*?)\n```", shown, re.DOTALL))
    assert fenced["sh"] == "mcp-tui call 'of 2' n=2 -- npx everything '--token=‹redacted›'"
    assert '"method": "tools/call"' in shown.partition("#### Request")[2]
    assert "answer to 2" in shown.partition("#### Late, ignored")[2]
    assert "+2.000 → cancel sent via notifications/cancelled" in shown.partition("#### Timeline")[2]
    assert "s3cr3t" not in shown
    assert report(capfd, "export", "last", "--id", "2").out == shown


def test_without_a_format_the_newest_request_is_an_issue(capfd: Capture):
    session()
    ran = report(capfd, "export", "last")
    assert (ran.status, ran.out) == (Exit.COMPLETED, export(capfd, "issue", "--id", "4"))
    assert "the newest of 4 requests" in ran.err
    assert "--id N" in ran.err
    cancels = report(capfd, "export", "last", "--cancellations")
    assert (cancels.out, cancels.err) == (export(capfd, "issue", "--id", "2"), "")
    keep(TWO, connected())
    report(capfd, "export", TWO).sentence(Exit.USAGE, "No requests in ")
    report(capfd, "export", TWO, "--cancellations").sentence(Exit.USAGE, "No cancellations in ")


def test_one_cancelled_request_says_for_how_long_it_was_watched(capfd: Capture):
    keep(ONE, connected(), called(1), cancelled(1), ev.Unwatched(at=104.0, id=1), ev.Settled(at=104.0, id=1))
    assert "then    no reply (watched 2.0 s)" in export(capfd, "markdown", "--id", "1")


def test_cancellations_as_markdown(capfd: Capture):
    session()
    shown = export(capfd, "markdown", "--cancellations")
    assert shown.startswith("### Cancellations: 1\n")
    row = "| `2` | `tools/call slow_sql` | you | `wrong table` | sent | `late result at +412 ms, ignored` |"
    assert row in shown.splitlines()
    assert "#### `tools/call slow_sql (2)`: late" in shown
    keep(TWO, called(1), wall=1_800_000_000.0)
    assert "No cancellations." in export(capfd, "markdown", "--cancellations", which=TWO)


ESCAPES = [
    "```\n# out\n```", "`" * 30, "a`b``c", "` x `", "| a | b |\n|---|---|", "</code><script>alert(1)</script>",
    "@everyone #1 fixes #2", "![x](http://example.com/x.png)", "~~~", "    indented", "\\|", "x\\",
]  # fmt: skip


@pytest.mark.parametrize("text", ESCAPES, ids=range(len(ESCAPES)))
def test_nothing_that_a_server_said_is_markup(capfd: Capture, text: str):
    connection = ev.Connected(at=100.0, server=text, transport=text, revision=text)
    store = Store(Writer(_path(), header=Header(wall=1.7e9, mono=100.0, app=text, target=text)))
    raw = json.dumps({"id": 1, "result": {"content": [{"type": "text", "text": text}], text: text}})
    for event in (connection, *called(1, name=text), *cancelled(1, reason=text)):
        store.event(event)
    seq = store.frame("in", raw.encode(), at=102.5, id=1)
    store.event(ev.Late(at=102.5, id=1, kind=Kind.RESULT, after=0.5, seq=seq, summary=text))
    store.event(ev.Settled(at=102.5, id=1, detail=text))
    store.close()
    for form, *words in (
        ("markdown", "--id", "1"),
        ("markdown", "--cancellations"),
        ("markdown",),
        ("issue", "--id", "1"),
    ):
        shown = export(capfd, form, *words)
        outside = _outside_of_code(shown)
        for mark in ("script", "out", "everyone", "example.com", "indented", "---|---|\n|---", "fixes"):
            assert mark not in outside
        rows = [line for line in shown.splitlines() if line.startswith("| ")]
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in rows}) <= 1


def _path() -> Path:
    path = journal_folder() / f"{ONE}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _outside_of_code(text: str) -> str:
    """The text without its fences and code spans, as CommonMark finds them."""
    left: list[str] = []
    fence_of = ""
    for line in text.splitlines():
        if fence_of:
            if line.strip() == fence_of:
                fence_of = ""
            continue
        opening = re.match(r"(`{3,})[^`]*$", line)
        if opening is not None:
            fence_of = opening[1]
            continue
        left.append(re.sub(r"(?<!`)(`+)(?!`)(.*?[^`])\1(?!`)", "", line))
    assert not fence_of
    return "\n".join(left)


# -- CSV -------------------------------------------------------------------------------------------------------


def test_the_requests_as_csv(capfd: Capture):
    session()
    rows = list(csv.DictReader(io.StringIO(export(capfd, "csv"))))
    assert [(row["id"], row["state"], row["elapsed"], row["outcome"]) for row in rows] == [
        ("1", "completed", "0.5", ""),
        ("2", "cancelled", "2.0", "late_result"),
        ("3", "failed", "3.0", ""),
        ("4", "in_flight", "", ""),
    ]
    assert rows[1]["late"] == "result+0.412000"
    assert (rows[2]["code"], rows[2]["error"]) == ("-32603", "it failed")
    only = list(csv.DictReader(io.StringIO(export(capfd, "csv", "--cancellations"))))
    assert [row["id"] for row in only] == ["2"]


def test_no_cell_of_a_request_is_a_formula(capfd: Capture):
    keep(ONE, called("=1+1", name="=HYPERLINK(0)"), cancelled("=1+1", reason="+1\t@x"))
    (row,) = csv.DictReader(io.StringIO(export(capfd, "csv")))
    assert [row[name][:2] for name in ("id", "name", "reason")] == ["'=", "'=", "'+"]


# -- what cannot be --------------------------------------------------------------------------------------------


def test_what_is_exported_is_not_written_over(capfd: Capture, tmp_path: Path):
    path = session()
    before = path.read_bytes()
    link = tmp_path / "link"
    os.link(path, link)
    symlink = tmp_path / "symlink"
    symlink.symlink_to(tmp_path / "precious")
    for out, said in (
        (path, "Choose another file."),
        (link, "Choose another file."),
        (symlink, "symbolic link"),
    ):
        report(capfd, "export", "last", "--format", "csv", "-o", str(out)).sentence(Exit.USAGE, said)
    assert path.read_bytes() == before
    assert not (tmp_path / "precious").exists()


@pytest.mark.parametrize("name", PAYLOADS)
def test_hostile_text_does_not_reach_the_terminal(capfd: Capture, name: str):
    text = PAYLOADS[name]
    events = [connected(text, "http", text), *called(text, name=text), *cancelled(text, reason=text)]
    more = ev.Settled(at=104.0, id=text, detail=text), ev.Stderr(at=105.0, line=text)
    keep(ONE, *events, *more, target=text)
    for form in ("markdown", "csv"):
        for words in ((), ("--cancellations",)):
            for line in export(capfd, form, *words).splitlines():
                assert_harmless(line)
