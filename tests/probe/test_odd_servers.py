"""Servers that a probe cannot judge by everything, or not at once, and what its report says of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest

from mcp_tui.client.client_settings import StdioTarget
from mcp_tui.probe.experiments import EXPERIMENTS
from mcp_tui.probe.report import Report, Verdict
from tests.probe.probing import DEMO, fallen, probed, scripted, serving, serving_command, unseen

pytestmark = [
    pytest.mark.sends_anything,
    pytest.mark.slow,
    pytest.mark.clock("a server is judged by tenths of a second"),
    pytest.mark.timeout(1200),
]

WARNING: Final = "warning"


@pytest.mark.parametrize("shape", ["text", "float", "own"])
def test_progress_under_another_token_gives_the_same_verdicts_or_none(shape: str):
    report = probed(scripted(f"P-02:{shape}"), "slow_work", ("seconds", "0.8"))
    (violation,) = report.violations
    assert violation.startswith("Violation: ")
    assert violation in report.notes
    about_progress = {"P-02", "P-03", "P-05", "P-16", "P-23", "P-27"}
    assert fallen(report) == ({} if shape == "own" else {"P-02": WARNING, "P-03": WARNING})
    assert unseen(report) == {"P-33", *(about_progress if shape == "own" else set[str]())}
    assert (report.broken(), report.broken(strict=True)) == (False, True)
    if shape == "own":
        assert report.findings["P-02"].sentence == "progress under the unknown token 'work-1'"


def test_a_stream_that_breaks_at_the_cancel_is_no_call_that_ended_before_it():
    with serving("cuts") as target:
        found = probed(target, "slow_work", ("seconds", "0.8")).findings
    assert {found[rule].verdict for rule in ("P-01", "P-05", "P-16", "P-24")} == {Verdict.PASS}


def test_the_last_malformed_cancel_is_not_blamed_for_one_before_it():
    found = probed(scripted("P-11:later"), "slow_work", ("seconds", "0.8")).findings["P-11"]
    assert found.verdict is Verdict.FAIL
    blamed = "request 1 was cancelled by requestId true for the request 1"
    assert found.sentence.startswith(
        f"{blamed}; after requestId 2.5 for the request 2: the next call was not answered"
    )


@pytest.mark.parametrize("flags", [(), ("--modern",)], ids=["2025-11-25", "2026-07-28"])
def test_a_tool_that_runs_as_a_task_only_is_judged_by_its_task_alone(flags: tuple[str, ...]):
    report = probed(scripted("needs-tasks", *flags), "slow_work", ("seconds", "0.8"))
    assert fallen(report) == {}
    assert report.findings["P-20"].verdict is Verdict.PASS
    assert {"P-01", "P-03", "P-05", "P-16"} <= unseen(report)
    assert report.tool == ""
    assert "slow_work" in report.no_tool


def test_a_task_that_is_over_before_its_cancel_breaks_nothing():
    report = probed(scripted("needs-tasks"), "slow_work", ("seconds", "0.01"))
    assert fallen(report) == {}
    assert report.findings["P-20"].sentence == "the task was over before it could be cancelled"


def test_the_probe_finds_the_good_tool_of_the_demo_server_by_itself():
    report = probed(DEMO)
    assert (report.tool, report.arguments) == ("count", {"seconds": 2, "steps": 10})
    assert fallen(report) == {}
    assert {call.tool for call in report.calls} == {"count"}


def test_over_sse_a_good_server_passes_whatever_can_be_seen():
    with serving_command(*scripted("good", "--sse").command) as url:
        report = probed(url, "slow_work", ("seconds", "0.8"), revision="2024-11-05", patience=3.0)
    assert (report.info.transport, report.info.revision.name, report.lost) == ("sse", "2024-11-05", "")
    assert fallen(report) == {}
    assert unseen(report) == {"P-03"}
    assert report.findings["P-25"].verdict is Verdict.PASS


NOTHING: Final = "nothing about this request arrives after its cancel"


def test_silence_is_no_stopped_work_but_a_heartbeat_and_what_comes_after_the_cancel_are(tmp_path: Path):
    def work(mode: str, heartbeat: Path | None = None) -> tuple[Report, Verdict, str]:
        flags = () if heartbeat is None else ("--heartbeat", str(heartbeat))
        chosen = [each for each in EXPERIMENTS if each.name == "cancelled mid-work"]
        target = scripted(mode, *flags)
        report = probed(target, "slow_work", ("seconds", "1.4"), heartbeat=heartbeat, experiments=chosen)
        return report, report.findings["P-03"].verdict, report.findings["P-03"].sentence

    for mode in ("good", "drops"):
        report, verdict, sentence = work(mode)
        assert (verdict, sentence.partition(" (")[0]) == (Verdict.NOT_OBSERVABLE, NOTHING)
        assert "--heartbeat FILE" in sentence
        assert report.findings["P-02"].verdict is report.findings["P-01"].verdict is Verdict.PASS
        assert (report.stops()[0], report.badge()["color"]) == ("not observable", "yellow")
    assert work("good", tmp_path / "good")[1] is Verdict.PASS
    assert work("drops", tmp_path / "drops")[1] is Verdict.WARNING
    _, verdict, sentence = work("cleans")
    assert (verdict, sentence.startswith("the log stopped 0.")) == (Verdict.PASS, True), sentence


def test_progress_in_events_that_no_client_reads_is_a_violation_and_no_silence():
    with serving("named") as target:
        report = probed(target, "slow_work", ("seconds", "0.8"))
    assert fallen(report) == {}
    assert {"P-02", "P-03", "P-05", "P-16"} <= unseen(report)
    said = "progress in an event named 'progress', which no client reads"
    assert report.findings["P-02"].sentence == said
    (violation,) = report.violations
    assert violation.startswith("Violation: progress in an event named 'progress', ")
    assert report.fields()["violations"] == [violation]
    assert report.broken(strict=True)


def test_a_tool_that_cannot_be_called_twice_is_not_held_against_the_cancel_before():
    report = probed(scripted("once"), "slow_work", ("seconds", "0.8"))
    assert fallen(report) == {}
    assert "the second of two calls without any cancel" in report.findings["P-04"].sentence


SILENT = """\
import json, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    tools = [{"name": "slow_work", "inputSchema": {"type": "object"}}]
    info = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    results = {"initialize": info, "tools/list": {"tools": tools}, "tools/call": {"content": []}, "ping": {}}
    if asked["method"] == "tools/call":
        time.sleep(0.8)
    found = results.get(asked["method"])
    answer = {"error": {"code": -32601, "message": "no"}} if found is None else {"result": found}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""


def test_a_client_killed_is_not_judged_where_nothing_shows_that_the_call_was_read():
    """A server that says nothing while it works exits also without having read the call."""
    left = [each for each in EXPERIMENTS if {"P-21", "P-29", "P-31"} & set(each.rules)]
    found = probed(
        StdioTarget(command=(sys.executable, "-Sc", SILENT)), "slow_work", experiments=left
    ).findings
    assert (found["P-21"].verdict, found["P-31"].verdict) == (Verdict.PASS, Verdict.PASS), found
    assert found["P-29"].verdict is Verdict.NOT_OBSERVABLE
    assert "nothing shows that it had read the call" in found["P-29"].sentence
