"""The page of findings: it tells of every line and of every rule that there is."""

from __future__ import annotations

import pytest

from mcp_tui.probe.rules import RULES
from tests.real.findings import FINDINGS, linked, version
from tests.real.probing import cases
from tests.real.registry import Case

PAGE = FINDINGS.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", cases(), ids=str)
def test_every_run_has_its_row_or_is_named_as_not_run(case: Case):
    transport = f"{case.transport}, {case.mode}" if case.mode else case.transport
    begins = f"| {version(case.entry)} | {transport} | {'' if case.revision == 'auto' else case.revision}"
    rows = [
        line for line in PAGE.splitlines() if line.startswith(begins) and line.count("|") == len(RULES) + 6
    ]
    assert rows or f"- {version(case.entry)}: {case}" in PAGE, "run make findings"


def test_every_rule_is_explained():
    for rule in RULES.values():
        assert f"- **{rule.id}** {rule.title}" in PAGE


def test_every_number_of_a_rule_leads_to_its_rule():
    line = "- **P-01**, `P-02` is quoted, [P-03](#p-03)"
    assert linked(line) == "- **[P-01](#p-01)**, `P-02` is quoted, [P-03](#p-03)"
    assert linked(PAGE) == PAGE, "run make findings"
    assert [rule for rule in RULES if f'<a id="{rule.lower()}"></a>' not in PAGE] == []
