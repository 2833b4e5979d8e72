"""What a run comes to."""

from __future__ import annotations

import json

import pytest

from mcp_tui.probe.report import EvidenceItem, Finding, Report, Verdict
from mcp_tui.probe.rules import RULES
from mcp_tui.protocol.revisions import LATEST


def report(*findings: Finding) -> Report:
    return Report(
        server="crawler", transport="stdio", revision=LATEST, findings={each.rule: each for each in findings}
    )


WARNED = Finding("P-03", Verdict.WARNING, "it worked on")
FAILED = Finding("P-04", Verdict.FAIL, "it died", (EvidenceItem("server exited", 1.23456, "{}"),))


def test_only_a_must_breaks_it_and_strict_a_should_as_well():
    assert not report().broken(strict=True)
    assert not report(WARNED).broken()
    assert report(WARNED).broken(strict=True)
    assert report(FAILED).broken()


@pytest.mark.parametrize(
    ("findings", "message"),
    [
        ([WARNED], "keeps working, 1 SHOULD not followed"),
        ([FAILED], "next call fails, 1 MUST broken"),
        ([Finding("P-03", Verdict.PASS, "it stopped")], "stops"),
        ([], "not observable"),
    ],
)
def test_the_badge_claims_only_what_was_seen(findings: list[Finding], message: str):
    assert report(*findings).badge()["message"] == message


def test_every_rule_has_a_row_and_is_counted_once():
    made = report(WARNED, FAILED)
    assert [rule.id for rule, _, _ in made.rows()] == list(RULES)
    assert sum(made.counts().values()) == len(RULES)
    assert made.counts()[Verdict.NOT_OBSERVABLE] == len(RULES) - 2


def test_for_programs_it_is_one_object():
    fields = json.loads(json.dumps(report(FAILED).fields()))
    assert set(fields) >= {"server", "revision", "transport", "tool", "calls", "rules", "stops"}
    (rule,) = [each for each in fields["rules"] if each["id"] == "P-04"]
    assert rule == {
        "id": "P-04",
        "title": "the next call works",
        "level": "MUST",
        "clause": "Cancellation (2026-07-28), inferred",
        "inferred": True,
        "verdict": "fail",
        "sentence": "it died",
        "evidence": [{"t": 1.235, "what": "server exited", "frame": "{}"}],
    }
