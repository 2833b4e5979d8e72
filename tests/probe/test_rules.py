"""The table of rules, and which clause holds where."""

from __future__ import annotations

from mcp_tui.probe.experiments import EXPERIMENTS
from mcp_tui.probe.rules import RULES, Strength
from mcp_tui.protocol.revisions import LATEST, LATEST_HANDSHAKE


def test_the_ids_are_numbered_without_a_gap():
    assert list(RULES) == [f"P-{number:02}" for number in range(1, len(RULES) + 1)]


def test_the_experiment_of_every_rule_is_made():
    judged = [rule.id for each in EXPERIMENTS for rule in RULES.values() if rule.experiment == each.name]
    assert sorted(judged) == [rule.id for rule in RULES.values() if rule.experiment]
    assert all(each.rules for each in EXPERIMENTS)


def test_to_answer_a_cancelled_call_is_worse_in_2026_07_28():
    rule = RULES["P-01"]
    assert rule.clause(LATEST_HANDSHAKE, "stdio").level is Strength.SHOULD
    assert rule.clause(LATEST, "stdio").level is Strength.MUST
    assert rule.clause(LATEST, "http").name == "Streamable HTTP, Cancellation"
    # a rule of the other era still has its clause
    assert RULES["P-15"].clause(LATEST, "stdio").name == "Cancellation, Error Handling"
    assert RULES["P-18"].clause(LATEST_HANDSHAKE, "stdio").name == "Streamable HTTP, Cancellation"


def test_for_programs_every_rule_has_a_level_and_a_clause_with_its_revision():
    for rule in RULES.values():
        fields = rule.fields()
        assert fields["level"] in ("MUST", "SHOULD", "MAY")
        assert "(20" in str(fields["clause"])
    assert RULES["P-18"].fields()["clause"] == "Streamable HTTP, Cancellation (2026-07-28)"
    assert RULES["P-04"].fields()["clause"] == "Cancellation (2025-11-25), inferred"
    assert RULES["P-04"].fields()["modern"] is None  # nothing differs
    assert RULES["P-15"].fields()["modern"] is None or RULES["P-15"].handshake is not None
