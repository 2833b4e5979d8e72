"""Whole servers that break one rule each: exactly that rule falls, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mcp_tui.probe.report import Report, Verdict
from mcp_tui.probe.rules import Level
from tests.probe.probing import Runs, fallen, probed, probing, scripted, side_by_side, unseen

pytestmark = [pytest.mark.sends_anything, pytest.mark.slow, pytest.mark.timeout(300)]

FAIL, WARNING = "fail", "warning"

SERVERS: dict[str, dict[str, str]] = {
    "good": {},
    # a cancel that is valid comes with a second one, in a pair, at a timeout and with an odd reason too
    "dies": dict.fromkeys(("P-04", "P-06", "P-08", "P-12", "P-14", "P-16"), FAIL),
    "deaf": dict.fromkeys(("P-04", "P-06", "P-08", "P-12", "P-14", "P-16"), FAIL),
    "selfish": {"P-14": FAIL},
    "literal": {"P-13": WARNING},
    # the second of two cancels and one after the response are for no call either
    "talkative": dict.fromkeys(("P-08", "P-09", "P-10", "P-13"), FAIL),
    "brittle": {"P-11": FAIL},
    "hasty": {"P-15": WARNING},
    "stays": {"P-21": WARNING},
    # the cancel is read when the work is done
    "one-at-a-time": dict.fromkeys(("P-01", "P-02", "P-03", "P-05", "P-16"), WARNING),
    "tasks": {},
    "endless-tasks": {"P-20": FAIL},
    "modern-tasks": {},
    # from then on a server acknowledges the cancel, and may be unable to stop
    "modern-endless-tasks": {"P-20": WARNING},
}


@pytest.fixture(scope="module")
def runs() -> Iterator[Runs]:
    with side_by_side() as runs:
        for mode in SERVERS:
            runs.begin(mode, probing(scripted(mode), "slow_work", ("seconds", "0.8")))
        for mode in ("needs-tasks", "modern-needs-tasks"):
            runs.begin(mode, probing(scripted(mode), "slow_work", ("seconds", "0.8")))
        yield runs


def crossing(report: Report, fell: dict[str, str]) -> dict[str, str]:
    """Without P-07: whether the cancel or the answer is first there is chance."""
    return {rule: verdict for rule, verdict in fell.items() if rule != "P-07"}


@pytest.mark.parametrize("mode", SERVERS)
def test_exactly_the_rule_that_a_server_breaks_falls(mode: str, runs: Runs):
    report = runs[mode]
    told = {rule: found.sentence for rule, found in report.findings.items()}
    assert crossing(report, fallen(report)) == SERVERS[mode], told
    assert report.broken() == (FAIL in SERVERS[mode].values() or "P-07" in fallen(report))
    assert report.tool == "slow_work"


def test_a_good_server_leaves_nothing_that_cannot_be_seen(runs: Runs):
    assert unseen(runs["good"]) == set()
    assert runs["good"].stops()[0] == "yes"


@pytest.mark.parametrize("mode", ["tasks", "needs-tasks", "modern-tasks", "modern-needs-tasks"])
def test_a_task_is_cancelled_by_its_own_request(mode: str, runs: Runs):
    report = runs[mode]
    assert report.findings["P-20"].verdict is Verdict.PASS
    methods = [each.what.partition(":")[0] for each in report.findings["P-20"].evidence]
    again = [] if mode.startswith("modern") else ["tasks/cancel"]  # refused, where the task is over
    first = ["tasks/get"] if "needs" in mode else []  # nobody knows how long it takes
    assert methods == ["tools/call", *first, "tasks/cancel", "tasks/get", *again]
    assert report.revision is not None
    assert report.revision.name == ("2026-07-28" if mode.startswith("modern") else "2025-11-25")


@pytest.mark.parametrize("mode", ["needs-tasks", "modern-needs-tasks"])
def test_a_tool_that_runs_as_a_task_only_is_judged_by_its_task_alone(mode: str, runs: Runs):
    report = runs[mode]
    assert fallen(report) == {}
    assert {"P-01", "P-03", "P-05", "P-16"} <= unseen(report)
    assert report.tool == ""
    assert "slow_work" in report.no_tool


def test_that_other_calls_wait_is_noted(runs: Runs):
    assert runs["one-at-a-time"].notes == ("while slow_work works the server answers nothing else",)
    assert runs["good"].notes == ()


def test_a_server_that_dies_says_how(runs: Runs):
    answer, why = runs["dies"].stops()
    assert answer == "no"
    assert "server exited (code 1)" in why
    evidence = runs["dies"].findings["P-04"].evidence
    assert evidence[0].at is not None
    assert "s from the cancel" in evidence[0].what


def test_what_is_broken_is_named_by_its_own_clause(runs: Runs):
    clauses = {rule.id: clause for rule, clause, _ in runs["dies"].rows()}
    assert clauses["P-08"].text("2025-11-25") == "Cancellation (2025-11-25), inferred"
    assert clauses["P-10"].name == "Cancellation, Error Handling"
    clauses = {rule.id: clause for rule, clause, _ in runs["talkative"].rows()}
    assert (clauses["P-10"].level, clauses["P-10"].name) == (Level.MUST, "Base protocol, Notifications")


def test_a_run_takes_at_most_ten_times_the_tool_and_thirty_seconds(runs: Runs):
    for mode in SERVERS:
        report = runs[mode]
        assert report.duration is not None
        assert report.seconds < 10 * report.duration + 30


@pytest.mark.parametrize("mode", ["needs-tasks", "modern-needs-tasks"])
def test_a_task_that_is_over_before_its_cancel_breaks_nothing(mode: str):
    report = probed(scripted(mode), "slow_work", ("seconds", "0.01"))
    found = report.findings["P-20"]
    assert fallen(report) == {}
    assert found.verdict is Verdict.NOT_OBSERVABLE
    assert found.sentence == "the task was over before it could be cancelled"
