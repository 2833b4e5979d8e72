"""Which tools the probe calls by itself, and what it does without one."""

from __future__ import annotations

import pytest

from mcp_tui.probe.experiments import EXPERIMENTS
from mcp_tui.probe.report import Finding, Verdict
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
    assert note == "Other candidates: sleep_long, sleep_more (choose one with --tool)"


def test_a_destructive_tool_is_never_called_unless_it_is_named():
    report = probed(scripted("harmful"))
    assert report.calls == ()
    told: list[str] = []

    def tell(news: str | Finding) -> None:
        if isinstance(news, str):
            told.append(news)

    named = probed(scripted("harmful"), "wipe_slowly", tell=tell)
    assert named.calls[0].tool == "wipe_slowly"
    assert any("marked as destructive" in text for text in told)
    assert any("marked as destructive" in note for note in named.notes)
