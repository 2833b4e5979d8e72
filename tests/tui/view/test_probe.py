"""A report in words: what a terminal, an issue and CI are shown of it."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from mcp_tui.cli.probe import junit
from mcp_tui.probe.report import Calls, EvidenceItem, Finding, Report, Verdict
from mcp_tui.probe.rules import RULES
from mcp_tui.protocol.revisions import LATEST
from mcp_tui.tui.view import probe as view
from tests.tui.hostile import PAYLOADS, assert_harmless


def report(*findings: Finding, **more: object) -> Report:
    known = {finding.rule: finding for finding in findings}
    made: dict[str, object] = {
        "server": "crawler",
        "server_version": "1.2",
        "probe": "0.1.0",
        "date": "2026-11-21T11:04:31.880Z",
        "command": "crawler --fast",
        "transport": "stdio",
        "revision": LATEST,
        "tool": "crawl",
        "arguments": {"seconds": 2},
        "duration": 2.004,
        "seconds": 13.2,
        "calls": (Calls("crawl", {"seconds": 2}, 12), Calls("crawl", {"seconds": 0.2}, 2)),
        "findings": known,
    }
    return Report(**{**made, **more})  # pyright: ignore[reportArgumentType]


PASSED = Finding("P-03", Verdict.PASS, "progress ceased with the cancel")
LATE = Finding(
    "P-01",
    Verdict.FAIL,
    "it answered with a result, 1.20 s after the cancel",
    (EvidenceItem("cancelled by notification", 0.8), EvidenceItem("result", 2.0, '{"result":{}}')),
)
WORKED_ON = Finding("P-03", Verdict.WARNING, "it worked on to its end")
DIED = Finding("P-04", Verdict.FAIL, "the next call was not answered: server exited with code 1")


@pytest.mark.parametrize(
    ("made", "answer"),
    [
        (report(PASSED), "stops when told to: yes – progress ceased with the cancel"),
        (
            report(PASSED, LATE),
            "stops when told to: yes – but it answered with a result, 1.20 s after the cancel",
        ),
        (report(WORKED_ON), "stops when told to: no – it worked on to its end"),
        (
            report(PASSED, DIED),
            "stops when told to: no – the next call was not answered: server exited with code 1",
        ),
        (report(no_tool="name one"), "stops when told to: not observable – name one"),
        (report(lost="no connection"), "stops when told to: not observable – no connection"),
        (report(), "stops when told to: not observable – the experiment was not run"),
    ],
)
def test_the_last_line_answers_the_question(made: Report, answer: str):
    assert view.table(made)[-1] == answer


def test_the_table_names_what_was_probed_and_called():
    lines = view.table(report(PASSED, LATE))
    assert lines[0] == "crawler 1.2 · stdio · 2026-07-28 · crawl seconds=2 takes 2.00 s"
    assert lines[1] == "mcp-tui 0.1.0 · 2026-11-21T11:04:31.880Z · crawler --fast · 13.2 s in all"
    assert "Called: crawl seconds=2 × 12; crawl seconds=0.2 × 2" in lines
    assert lines[3].startswith("P-01  ✗ fail            MUST    a call that is cancelled mid-work")
    assert len([line for line in lines if re.match(r"P-\d\d  . ", line)]) == len(RULES)


def test_evidence_stands_below_what_is_broken_with_its_moment_and_frame():
    lines: list[str] = [*view.table(report(LATE))]
    at = lines.index("P-01  fail: it answered with a result, 1.20 s after the cancel")
    assert lines[at + 1].strip() == "MUST: stdio, Cancellation (2026-07-28)"
    assert lines[at + 3].split() == ["+2.000", "s", "result", '{"result":{}}']


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_whatever_a_server_says_is_shown_and_not_obeyed(payload: str):
    bad = Finding("P-01", Verdict.FAIL, payload, (EvidenceItem(payload, 0.5, payload),))
    made = report(
        bad, server=payload, command=payload, tool=payload, arguments={payload: payload}, notes=[payload]
    )
    for line in view.table(made):
        assert_harmless(line)
    for line in view.markdown(made).splitlines():
        assert_harmless(line)
    root = ET.fromstring(junit(made, strict=False))
    for element in root.iter():
        for text in (element.text or "", *element.attrib.values()):
            for line in text.splitlines():
                assert_harmless(line)


def test_markdown_is_not_broken_out_of():
    sneaky = "a | b <script> `code` [x](http://y)"
    text = view.markdown(report(Finding("P-01", Verdict.FAIL, sneaky, (EvidenceItem(sneaky, None, sneaky),))))
    rows = [line for line in text.splitlines() if line.startswith("| P-01 ")]
    assert len(re.findall(r"(?<!\\)\|", rows[0])) == 6
    quoted = "`a ¦ b <script> 'code' [x](http://y)`"
    assert quoted in text
    rest = text.replace(quoted, "")
    assert "<script>" not in rest
    assert re.search(r"(?<!\\)[`\[\]]", rest) is None


def test_warnings_fail_in_junit_only_where_strict():
    made = report(WORKED_ON, LATE)
    loose, strict = (ET.fromstring(junit(made, strict=strict)) for strict in (False, True))
    assert len(loose.findall("testsuite/testcase/failure")) == 1
    assert len(strict.findall("testsuite/testcase/failure")) == 2
    (case,) = [each for each in loose.iter("testcase") if each.attrib["name"].startswith("P-03")]
    assert "warning: it worked on" in "".join(case.itertext())
