"""The page of findings: it tells of every server and of every rule that there is."""

from __future__ import annotations

import pytest

from mcp_tui.probe.rules import RULES
from tests.real.findings import FINDINGS, version
from tests.real.probing import OWN_TOOL, Probed, cases

PAGE = FINDINGS.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", cases(), ids=str)
def test_every_run_has_its_row(case: Probed):
    tool = "" if case.tool == OWN_TOOL else f" {case.tool} |"
    begins = f"| {version(case.package)} | {case.transport} | {case.revision} |{tool}"
    rows = [line for line in PAGE.splitlines() if line.startswith(begins)]
    assert len(rows) == 1, "run python -m tests.real.findings"
    assert rows[0].count("|") == len(RULES) + 6


def test_every_rule_is_explained():
    for rule in RULES.values():
        assert f"- **{rule.id}** {rule.title}" in PAGE
