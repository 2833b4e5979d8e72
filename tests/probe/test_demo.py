"""The demo server's tools: the good one lets no rule fall, each of the others exactly those that its description implies."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from mcp_tui.client.settings import HttpTarget, Target
from mcp_tui.probe.report import Report, Verdict
from tests.probe.probing import DEMO, HANDSHAKE, MODERN, Runs, fallen, probed, probing, side_by_side, unseen

pytestmark = [pytest.mark.sends_anything, pytest.mark.slow, pytest.mark.timeout(400)]

SECONDS: Final = "0.8"
FAIL, WARNING = "fail", "warning"

ANSWERS: Final = ("P-01", "P-05", "P-16")
"""Sends a response in spite of the cancel: mid-work, at once, after a timeout."""


def _worded(rules: tuple[str, ...], verdict: str) -> dict[str, str]:
    return dict.fromkeys(rules, verdict)


# Until 2025-11-25 a server should not answer, from 2026-07-28 on over stdio it must not. To stop is a SHOULD in both.
IMPLIED: Final[dict[str, dict[str, dict[str, str]]]] = {
    tool: {
        era: {**_worded(sends, era_verdict), **others}
        for era, era_verdict in ((HANDSHAKE, WARNING), (MODERN, FAIL))
    }
    for tool, sends, others in (
        ("count", (), {}),
        ("research", (), {}),
        ("stubborn", ANSWERS, {"P-03": WARNING}),
        ("grumpy", ANSWERS, {}),
        ("chatty", ("P-02", "P-05", "P-16"), {"P-03": WARNING}),
        ("silent", (), {}),
        ("racer", ANSWERS, {"P-03": WARNING}),
        ("twice", ANSWERS, {"P-03": WARNING, "P-22": FAIL}),
        # it works on, to its end, which is the end of the server
        ("crash", (), {"P-03": WARNING, **_worded(("P-04", "P-06", "P-08", "P-16"), FAIL)}),
    )
}

STDIO: Final = [(tool, revision) for tool in IMPLIED for revision in (HANDSHAKE, MODERN)]
HTTP: Final = STDIO

CLOSED: Final[dict[str, dict[str, str]]] = {
    **{tool: {} for tool in IMPLIED},
    # its log goes on after its stream was closed; what the others would send is sent into nothing
    "chatty": {"P-03": WARNING, "P-18": WARNING},
    "twice": {"P-22": FAIL},
}
"""What falls over HTTP in 2026-07-28, where the cancel closes the stream and nothing more can be seen on it."""


async def run(target: Target, tool: str, revision: str, heartbeat: Path | None = None) -> Report:
    name, value = ("milliseconds", "800") if tool == "racer" else ("seconds", SECONDS)
    pairs = () if tool == "silent" else ((name, value),)
    return await probing(target, tool, *pairs, revision=revision, heartbeat=heartbeat, patience=2.0)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    servers: list[subprocess.Popen[str]] = []
    over_http: list[tuple[str, str, HttpTarget, Path]] = []
    try:
        for tool, revision in HTTP:
            log = tmp_path_factory.mktemp("demo") / "log"
            process = subprocess.Popen(
                [*DEMO.command, "--http", "0", "--log", str(log)], stdout=subprocess.PIPE, text=True
            )
            servers.append(process)
            assert process.stdout is not None
            line = process.stdout.readline()
            over_http.append((tool, revision, HttpTarget(url=line[line.index("http") :].strip()), log))
        with side_by_side() as runs:
            for tool, revision in STDIO:
                runs.begin(f"stdio {tool} {revision}", run(DEMO, tool, revision))
            for tool, revision, target, log in over_http:
                runs.begin(f"http {tool} {revision}", run(target, tool, revision, log))
            yield runs
    finally:
        for process in servers:
            with process:
                process.terminate()


@pytest.mark.parametrize(("tool", "revision"), STDIO)
def test_over_stdio_exactly_the_rules_fall_that_the_tool_s_description_implies(
    tool: str, revision: str, runs: Runs
):
    report = runs[f"stdio {tool} {revision}"]
    told = {rule: found.sentence for rule, found in report.findings.items()}
    assert fallen(report) == IMPLIED[tool][revision], told
    assert report.broken() == (FAIL in IMPLIED[tool][revision].values())
    assert report.broken(strict=True) == bool(IMPLIED[tool][revision])


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
def test_over_stdio_all_of_the_good_tool_can_be_seen(revision: str, runs: Runs):
    report = runs[f"stdio count {revision}"]
    assert unseen(report) == (
        {"P-20"} if revision == MODERN else set()
    )  # tasks are offered, but count is none
    assert report.stops()[0] == "yes"
    absent = {"P-17", "P-18", "P-19", "P-20"}
    if revision == MODERN:
        absent.add("P-15")
    passed = {rule for rule, found in report.findings.items() if found.verdict is Verdict.PASS}
    assert passed == {f"P-{number:02}" for number in range(1, 23)} - absent


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_what_runs_as_a_task_is_cancelled_as_one_too(transport: str, revision: str, runs: Runs):
    found = runs[f"{transport} research {revision}"].findings["P-20"]
    assert found.verdict is Verdict.PASS, found.sentence


def test_over_http_until_2025_11_25_the_good_tool_passes_and_a_disconnect_is_no_cancel(runs: Runs):
    report = runs[f"http count {HANDSHAKE}"]
    assert fallen(report) == {}
    assert unseen(report) <= {"P-17"}  # the demo server has nowhere to send progress then, and logs that
    assert report.stops()[0] == "yes"


def test_over_http_in_2026_07_28_closing_the_stream_is_seen_to_stop_the_work_by_the_heartbeat(runs: Runs):
    report = runs[f"http count {MODERN}"]
    assert fallen(report) == {}
    assert unseen(report) == {"P-01", "P-02", "P-05", "P-16", "P-20"}
    assert report.findings["P-18"].verdict is Verdict.PASS
    assert report.findings["P-19"].verdict is Verdict.PASS
    assert report.stops() == ("yes", report.findings["P-03"].sentence)


@pytest.mark.parametrize("tool", [tool for tool in IMPLIED if tool != "crash"])
def test_over_http_until_2025_11_25_the_same_rules_fall_as_over_stdio(tool: str, runs: Runs):
    assert fallen(runs[f"http {tool} {HANDSHAKE}"]) == IMPLIED[tool][HANDSHAKE]


@pytest.mark.parametrize("tool", [tool for tool in IMPLIED if tool != "crash"])
def test_over_http_in_2026_07_28_falls_what_can_be_seen_past_the_closed_stream(tool: str, runs: Runs):
    report = runs[f"http {tool} {MODERN}"]
    assert fallen(report) == CLOSED[tool]
    assert {"P-01", "P-02", "P-05", "P-16"} <= unseen(report)


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
def test_over_http_a_server_that_ended_with_its_tool_is_judged_by_nothing_that_it_cannot_do_any_more(
    revision: str, runs: Runs
):
    report = runs[f"http crash {revision}"]
    assert fallen(report) == {}
    assert "connection refused" in report.lost
    assert {"P-01", "P-03", "P-04", "P-05", "P-06", "P-16"} <= unseen(report)


def test_the_probe_finds_the_good_tool_by_itself():
    report = probed(DEMO)
    assert report.tool == "count"
    assert report.arguments == {"seconds": 2, "steps": 10}
    assert fallen(report) == {}
    assert {call.tool for call in report.calls} == {"count"}
