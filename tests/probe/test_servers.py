"""A server that obeys passes every rule; one that breaks exactly one rule falls by exactly that one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import pytest

from mcp_tui.probe.report import Verdict
from mcp_tui.probe.rules import RULES
from tests.probe.probing import (
    DEMO,
    Runs,
    fallen,
    probed,
    probing,
    scripted,
    serving,
    serving_command,
    side_by_side,
    unseen,
)

pytestmark = [
    pytest.mark.sends_anything,
    pytest.mark.slow,
    pytest.mark.clock("a server is judged by tenths of a second"),
    pytest.mark.timeout(600),
]

FAIL, WARNING = "fail", "warning"
STDIO, HTTP = "stdio", "http"
OLD, NEW = "2025-11-25", "2026-07-28"

BROKEN: Final[tuple[tuple[str, str, str, dict[str, str]], ...]] = (
    ("good", STDIO, OLD, {}),
    ("good", STDIO, NEW, {}),
    ("good", HTTP, OLD, {}),
    ("good", HTTP, NEW, {}),
    ("cold", STDIO, OLD, {}),
    ("exclusive", STDIO, OLD, {}),
    ("tasks", STDIO, OLD, {}),
    ("tasks", STDIO, NEW, {}),
    # until 2025-11-25 nothing more should come, from 2026-07-28 on nothing more must come
    ("P-01", STDIO, OLD, {"P-01": WARNING}),
    ("P-01", STDIO, NEW, {"P-01": FAIL}),
    ("P-02", STDIO, OLD, {"P-02": WARNING, "P-03": WARNING}),
    ("P-02", STDIO, NEW, {"P-02": FAIL, "P-03": WARNING}),
    ("P-03", STDIO, OLD, {"P-03": WARNING}),
    ("P-04", STDIO, OLD, {"P-04": FAIL}),
    ("P-05", STDIO, NEW, {"P-05": FAIL}),
    ("P-06", STDIO, OLD, {"P-06": FAIL}),
    ("P-07", STDIO, OLD, {"P-07": FAIL}),
    ("P-08", STDIO, OLD, {"P-08": FAIL}),
    ("P-09", STDIO, OLD, {"P-09": FAIL}),
    ("P-10", STDIO, OLD, {"P-10": FAIL}),
    ("P-11:null", STDIO, OLD, {"P-11": WARNING}),
    ("P-11:array", STDIO, OLD, {"P-11": WARNING}),
    ("P-11:dies", STDIO, OLD, {"P-11": FAIL}),
    ("P-12", STDIO, OLD, {"P-12": FAIL}),
    ("P-13", STDIO, OLD, {"P-13": WARNING}),
    ("P-14", STDIO, OLD, {"P-14": FAIL}),
    ("P-15", STDIO, OLD, {"P-15": WARNING}),
    ("P-16", STDIO, NEW, {"P-16": FAIL}),
    ("P-17", HTTP, OLD, {"P-17": WARNING}),
    ("P-18", HTTP, NEW, {"P-18": FAIL}),
    ("P-19", HTTP, NEW, {"P-19": WARNING}),
    ("endless-tasks", STDIO, OLD, {"P-20": FAIL}),
    ("endless-tasks", STDIO, NEW, {"P-20": WARNING}),
    ("P-21", STDIO, OLD, {"P-21": WARNING}),
    ("P-22", STDIO, OLD, {"P-22": FAIL}),
    ("P-23", STDIO, OLD, {"P-23": WARNING}),
    ("P-24", HTTP, OLD, {"P-24": WARNING}),
    ("P-25", HTTP, OLD, {"P-25": WARNING}),
    ("P-26", STDIO, OLD, {"P-26": FAIL}),
    ("P-27", STDIO, NEW, {"P-27": FAIL}),
    ("P-28", HTTP, OLD, {"P-28": FAIL}),
    ("P-29", STDIO, OLD, {"P-29": WARNING}),
    ("P-30", STDIO, OLD, {"P-30": WARNING}),
    ("P-31", STDIO, OLD, {"P-31": WARNING}),
    ("P-32", STDIO, OLD, {"P-32": FAIL}),
    # a server that breaks many at once
    (
        "dies",
        STDIO,
        OLD,
        dict.fromkeys(["P-04", "P-06", "P-07", "P-08", "P-12", "P-14", "P-16", "P-27"], FAIL),
    ),
    ("one-at-a-time", STDIO, OLD, dict.fromkeys(["P-01", "P-02", "P-03", "P-05", "P-16", "P-27"], WARNING)),
)

UNBROKEN: Final = ("good", "cold")
BY_CHANCE: Final = {"dies": {"P-07"}, "P-01": {"P-05"}, "P-02": {"P-05"}}
"""Where the cancel or the answer may come first, or a cancel at once may reach the server in the middle of its work."""


def name(mode: str, transport: str, revision: str) -> str:
    return f"{mode} {transport} {revision}"


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """The runs that are asked for, a few at a time."""
    specs = [
        item.callspec
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.path == request.path and hasattr(item, "callspec")
    ]
    asked = [case for case in BROKEN if any(spec.params.get("case") is case for spec in specs)]
    with ExitStack() as stack:
        runs = stack.enter_context(side_by_side())
        for mode, transport, revision, _ in asked:
            heartbeat = tmp_path_factory.mktemp("probe") / "heartbeat"
            flags = ("--heartbeat", str(heartbeat), *(("--modern",) if revision == NEW else ()))
            over_http = transport == HTTP
            target = stack.enter_context(serving(mode, *flags)) if over_http else scripted(mode, *flags)
            # a halted machine hides most from a short call, and where no rule is broken all must be seen
            seconds = "1.4" if mode in UNBROKEN else "0.8"
            run = probing(target, "slow_work", ("seconds", seconds), revision=revision, heartbeat=heartbeat)
            runs.begin(name(mode, transport, revision), run)
        yield runs


@pytest.mark.clock("the probe cancels when half of a call's time, or all of it, is over")
@pytest.mark.parametrize("case", BROKEN, ids=lambda case: name(*case[:3]))
def test_exactly_the_rule_that_a_server_breaks_falls(case: tuple[str, str, str, dict[str, str]], runs: Runs):
    mode, transport, revision, expected = case
    report = runs[name(mode, transport, revision)]
    told = {rule: (found.verdict.value, found.sentence) for rule, found in report.findings.items()}
    chance = BY_CHANCE.get(mode, set[str]())
    fell = {rule: verdict for rule, verdict in fallen(report).items() if rule not in chance}
    assert fell == {rule: verdict for rule, verdict in expected.items() if rule not in chance}, told
    assert set(report.findings) == set(RULES)
    assert report.info.transport == transport
    assert report.info.revision.name == revision
    assert report.duration is not None
    assert report.seconds < 10 * report.duration + 30
    if mode in UNBROKEN:
        closed = {"P-01", "P-02", "P-05", "P-16"} if transport == HTTP and revision == NEW else set[str]()
        assert unseen(report) == closed, told
        assert report.stops()[0] == "yes"


def test_each_rule_is_broken_by_a_server_that_breaks_no_other():
    # progress that goes on (P-02) is work that goes on (P-03)
    alone = [fell for mode, *_, fell in BROKEN if len(fell) == 1 or mode == "P-02"]
    assert {rule for fell in alone for rule in fell} == set(RULES)


@pytest.mark.parametrize("shape", ["text", "float", "own"])
def test_progress_under_another_token_gives_the_same_verdicts_or_none(shape: str):
    report = probed(scripted(f"P-02:{shape}"), "slow_work", ("seconds", "0.8"))
    (note,) = report.notes
    assert note.startswith("Violation: ")
    about_progress = {"P-02", "P-03", "P-05", "P-16", "P-23", "P-27"}
    assert fallen(report) == ({} if shape == "own" else {"P-02": WARNING, "P-03": WARNING})
    assert unseen(report) == (about_progress if shape == "own" else set[str]())
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
    assert report.stops()[0] == "yes"
    assert report.findings["P-25"].verdict is Verdict.PASS
