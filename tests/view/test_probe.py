"""A report in words: what a terminal, an issue and CI are shown of it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from mcp_tui.cli.probe_output import cases as report_cases
from mcp_tui.cli.reports import junit
from mcp_tui.client.connection import ServerInfo
from mcp_tui.probe.report import CalledTool, EvidenceItem, Finding, PassedOver, Report, Verdict
from mcp_tui.probe.rules import RULES
from mcp_tui.probe.tool_choice import Choice
from mcp_tui.protocol.revisions import LATEST
from mcp_tui.view import probe_report as view
from tests.cases import cases
from tests.tui.hostile import PAYLOADS, assert_harmless

INFO = ServerInfo(transport="stdio", revision=LATEST, name="crawler", version="1.2")


def report(*findings: Finding, **more: Any) -> Report:
    made = Report(
        info=INFO,
        probe="0.1.0",
        date="2026-11-21T11:04:31.880Z",
        command="crawler --fast",
        tool="crawl",
        arguments={"seconds": 2},
        duration=2.004,
        seconds=13.2,
        calls=(CalledTool("crawl", {"seconds": 2}, 12), CalledTool("crawl", {"seconds": 0.2}, 2)),
        findings={each.rule: each for each in findings},
    )
    return replace(made, **more)


PASSED = Finding("P-03", Verdict.PASS, "it stopped")
FRAMED = EvidenceItem("result", 2.00049, '{"result":{}}')
LATE = Finding("P-01", Verdict.FAIL, "a result came", (EvidenceItem("cancelled", 0.8), FRAMED))
WORKED_ON = Finding("P-03", Verdict.WARNING, "it worked on")
DIED = Finding("P-04", Verdict.FAIL, "it died", (EvidenceItem("server exited", 1.23456, "{}"),))


@cases(
    ("made", "answer", "badge", "broken"),
    [
        (report(PASSED), "yes – it stopped", "stops", ""),
        (report(PASSED, LATE), "yes – but a result came", "stops, 1 MUST broken", "always"),
        (report(WORKED_ON), "no – it worked on", "keeps working, 1 SHOULD not followed", "where strict"),
        (report(PASSED, DIED), "no – it died", "next call fails, 1 MUST broken", "always"),
        (report(no_tool="name one"), "not observable – name one", "not observable", ""),
        (report(lost="no connection"), "not observable – no connection", "not observable", ""),
        (report(), "not observable – the experiment was not run", "not observable", ""),
    ],
)
def test_last_line_and_badge_claim_only_what_was_seen_and_only_a_must_breaks_it_unless_strict(
    made: Report, answer: str, badge: str, broken: str
):
    assert view.table(made)[-1] == f"stops when told to: {answer}"
    assert made.badge()["message"] == badge
    assert made.broken() is (broken == "always")
    assert made.broken(strict=True) is bool(broken)


def test_for_programs_it_is_one_object_with_a_row_for_every_rule():
    made = report(WORKED_ON, DIED)
    assert made.counts()[Verdict.NOT_OBSERVABLE] == len(RULES) - 2
    fields = json.loads(json.dumps(made.fields()))
    assert [rule["id"] for rule in fields["rules"]] == list(RULES)
    assert sum(fields["counts"].values()) == len(RULES)
    assert fields["calls"][0] == {"tool": "crawl", "arguments": {"seconds": 2}, "times": 12}
    assert fields["rules"][3] == {
        "id": "P-04",
        "title": "the next call works",
        "level": "MUST",
        "clause": "Cancellation (2026-07-28), inferred",
        "inferred": True,
        "verdict": "fail",
        "sentence": "it died",
        "evidence": [{"t": 1.235, "what": "server exited", "frame": "{}"}],
    }


def test_the_table_names_what_was_probed_and_called():
    lines = view.table(report(PASSED, LATE))
    assert lines[0] == "crawler 1.2 · stdio · 2026-07-28 · crawl seconds=2 takes 2.00 s"
    assert lines[1] == "mcp-tui 0.1.0 · 2026-11-21T11:04:31.880Z · crawler --fast · 13.2 s in all"
    assert "Called: crawl seconds=2 × 12; crawl seconds=0.2 × 2" in lines
    assert lines[3].startswith("P-01  ✗ fail            MUST    a call that is cancelled mid-work")
    assert len([line for line in lines if re.match(r"P-\d\d  . ", line)]) == len(RULES)


def test_a_reason_that_rules_share_is_said_once():
    shared = [Finding(rule, Verdict.NOT_OBSERVABLE, "needs a slow tool") for rule in ("P-01", "P-02", "P-27")]
    alone = Finding("P-13", Verdict.NOT_OBSERVABLE, "the tool did not end on its own")
    others = [Finding(rule, Verdict.PASS, "fine") for rule in RULES]
    passed_over = (PassedOver("wait", "it failed", "mcp-tui probe --tool wait -- crawler"),)
    made = report(*others, *shared, alone, passed_over=passed_over)
    lines: list[str] = [*view.table(made)]
    at = lines.index("not observable  P-01 … P-27: needs a slow tool")
    assert lines[at + 1] == "not observable  P-13: the tool did not end on its own"
    assert lines[at + 3 : at + 6] == [
        "Best candidates:",
        "  wait: it failed",
        "    mcp-tui probe --tool wait -- crawler",
    ]
    text = view.markdown(made)
    assert text.count("needs a slow tool") == 1
    assert "- wait: it failed `mcp-tui probe --tool wait -- crawler`" in text


def test_evidence_stands_below_what_is_broken_with_its_moment_and_frame():
    lines: list[str] = [*view.table(report(LATE))]
    at = lines.index("P-01  fail: a result came")
    assert lines[at + 1].strip() == "MUST: stdio, Cancellation (2026-07-28)"
    assert lines[at + 3].split() == ["+2.000", "s", "result", '{"result":{}}']
    assert view.evidence_line(EvidenceItem("it ended", -1.09)) == "  -1.090 s  it ended"


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_whatever_a_server_says_is_shown_and_not_obeyed(payload: str):
    bad = Finding("P-01", Verdict.FAIL, payload, (EvidenceItem(payload, 0.5, payload),))
    texts = dict.fromkeys(("command", "tool"), payload)
    info = replace(INFO, name=payload)
    over = (PassedOver(payload, payload, payload),)
    given = {payload: payload}
    made = report(bad, **texts, info=info, arguments=given, notes=[payload], passed_over=over)
    said = [*view.table(made), view.markdown(made)]
    for element in ET.fromstring(junit("probe", report_cases(made, strict=False))).iter():
        said += [element.text or "", *element.attrib.values()]
    for text in said:
        for line in text.splitlines():
            assert_harmless(line)


def test_markdown_is_not_broken_out_of():
    sneaky = "a | b <script> `code` [x](http://y) @me"
    text = view.markdown(report(Finding("P-01", Verdict.FAIL, sneaky, (EvidenceItem(sneaky, None, sneaky),))))
    rows = [line for line in text.splitlines() if line.startswith("| P-01 ")]
    assert len(re.findall(r"(?<!\\)\|", rows[0])) == 6
    quoted = "`a ¦ b <script> 'code' [x](http://y) @me`"
    assert quoted in text
    rest = text.replace(quoted, "")
    assert not re.search("<script>|://|@me", rest)
    assert re.search(r"(?<!\\)[`\[\]]", rest) is None


def test_warnings_fail_in_junit_only_where_strict():
    made = report(WORKED_ON, LATE)
    loose, strict = (
        ET.fromstring(junit("probe", report_cases(made, strict=strict))) for strict in (False, True)
    )
    assert len(loose.findall("testsuite/testcase/failure")) == 1
    assert len(strict.findall("testsuite/testcase/failure")) == 2
    (case,) = [each for each in loose.iter("testcase") if each.attrib["name"].startswith("P-03")]
    assert "warning: it worked on" in "".join(case.itertext())


@cases(
    ("choices", "says"),
    [
        (None, "a slow and harmless tool that it finds about 25 times"),
        ([], "No tool of this server looks both slow and harmless"),
        ([Choice("nap", {"ms": 900}, seconds=0.9)], "it calls nap ms=900 about 25 times"),
        ([Choice("nap", {"ms": 900}, seconds=0.9)], "Takes at most 39 s, if the tool works for the 0.9 s"),
        ([Choice("crawl", {})], "Takes at most 10× the tool's run time plus 30 s."),
        ([Choice("wipe", {}, destructive=True)], "The server marks this tool as destructive (unverified)."),
        ([Choice("a", {}, why=("its name",)), Choice("b", {})], "Chosen by its name; if unfit: b."),
    ],
)
def test_the_plan_names_tool_arguments_time_and_what_speaks_against_it(
    choices: list[Choice] | None, says: str
):
    assert says in "\n".join(view.plan(choices))


def test_the_plan_shows_hostile_names_as_text():
    for payload in PAYLOADS:
        for each in view.plan([Choice(payload, {payload: payload}, why=(payload,)), Choice(payload, {})]):
            assert_harmless(each)
