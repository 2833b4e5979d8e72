"""Which tools the probe calls by itself, and what it does without one."""

from __future__ import annotations

import pytest

from mcp_tui.probe.experiments import EXPERIMENTS, Experiment
from mcp_tui.probe.raw_connection import Unprepared
from mcp_tui.probe.report import Finding, Verdict
from mcp_tui.probe.tool_choice import NamedTool
from mcp_tui.probe.trial import Trial
from mcp_tui.view.probe_report import counted
from tests.probe.probing import fallen, probed, scripted, unseen

pytestmark = pytest.mark.sends_anything  # malformed cancels are what some of the experiments are about


@pytest.mark.parametrize(
    ("mode", "words"),
    [("harmful", "no tool of the server looks both slow and harmless"), ("quick", "slow_work took 0.0")],
)
def test_without_a_slow_tool_the_other_rules_are_tried_and_the_way_out_is_told(mode: str, words: str):
    report = probed(scripted(mode))
    assert report.no_tool.startswith(words)
    assert report.no_tool.endswith("--tool NAME ARG=VALUE")
    assert report.stops() == ("not observable", report.no_tool)
    assert fallen(report) == {}
    absent = {rule for rule, found in report.findings.items() if found.verdict is Verdict.NOT_APPLICABLE}
    assert unseen(report) == {rule for each in EXPERIMENTS if each.tool for rule in each.rules} - absent
    assert {"P-09", "P-10", "P-21", "P-22", "P-32"}.isdisjoint(unseen(report) | absent)


@pytest.mark.slow
def test_of_several_tools_the_first_that_reports_progress_is_taken_and_the_others_named():
    report = probed(scripted("several"))
    assert report.tool == "sleep_well"
    assert {call.tool for call in report.calls} == {"sleep_long", "sleep_well"}
    (note,) = report.notes
    assert note == "Other candidates: sleep_long, sleep_more (mcp-tui probe --tool NAME chooses)"


def test_a_destructive_tool_is_never_called_unless_it_is_named():
    report = probed(scripted("harmful"))
    assert report.calls == ()
    told: list[str] = []

    def on_progress(news: str | Finding) -> None:
        if isinstance(news, str):
            told.append(news)

    named = probed(scripted("harmful"), "wipe_slowly", on_progress=on_progress)
    assert named.calls[0].tool == "wipe_slowly"
    assert any("marked as destructive" in text for text in told)
    assert any("marked as destructive" in note for note in named.notes)


def test_where_no_tool_is_used_the_best_candidates_are_named_with_reason_and_command():
    report = probed(scripted("needs-page"), experiments=())
    assert report.no_tool.startswith('slow_work answered that it failed: "No page is open"')
    slow, page = report.passed_over
    assert (slow.tool, slow.why) == ("slow_work", 'answered that it failed: "No page is open"')
    command = f"-- {report.command}"
    assert slow.command == f"mcp-tui probe --before TOOL NAME=VALUE… --tool slow_work seconds=2 {command}"
    assert (page.tool, page.why) == ("open_page", "nothing in its name and schema says how long it takes")
    assert page.command == f"mcp-tui probe --tool open_page url=VALUE {command}"


OPEN = NamedTool("open_page", (("url", "1"),))


def test_what_the_tool_needs_is_prepared_on_every_connection():
    experiments = [each for each in EXPERIMENTS if each.name in ("cancelled at once", "odd reasons")]
    report = probed(
        scripted("needs-page"), "slow_work", ("seconds", "0.6"), before=[OPEN], experiments=experiments
    )
    assert report.no_tool == ""
    assert report.findings["P-05"].verdict is Verdict.PASS
    assert report.findings["P-12"].verdict is Verdict.PASS
    assert {call.tool: call.times for call in report.calls}["open_page"] == 3


def test_a_preparing_tool_that_fails_is_quoted():
    with pytest.raises(Unprepared, match=r'slow_work \(--before\) failed: tool error: "No page is open"'):
        probed(scripted("needs-page"), before=[NamedTool("slow_work")], experiments=())


def test_rules_that_were_not_run_for_lack_of_time_are_named_and_a_must_among_them_counts():
    experiments = [each for each in EXPERIMENTS if each.name in ("cancelled mid-work", "cancelled at once")]
    report = probed(scripted("good"), "slow_work", ("seconds", "0.4"), limit=0.1, experiments=experiments)
    assert report.not_run == ["P-01", "P-02", "P-03", "P-04", "P-05", "P-06"]
    assert report.unjudged()
    assert report.findings["P-04"].sentence == "not run: time was over (mcp-tui probe --time S gives more)"
    assert "6 of them not run because time was over" in counted(report)
    assert report.badge()["message"] == "not observable, 6 not run"
    report.not_run[:] = ["P-03"]
    assert not report.unjudged()
    assert report.unjudged(strict=True)


def test_each_call_that_checks_a_reused_connection_has_an_id_of_its_own():
    # @modelcontextprotocol/server-memory 2026.8.31 (npm) takes 2 s to start: P-22 then counted two answers to one id.
    async def doubts(trial: Trial) -> None:
        trial.server.doubt = "planted"
        trial.passed("P-10", "planted")

    planted = Experiment("an unknown id cancelled", doubts, alone=True)
    report = probed(scripted("good"), "slow_work", ("seconds", "1"), experiments=[planted] * 3, reuse=True)
    assert report.findings["P-22"].sentence.startswith("none of ")
