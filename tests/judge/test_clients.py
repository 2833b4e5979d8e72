"""A client that obeys draws no complaint; one that breaks exactly one rule falls by exactly that one; nothing is left."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, NamedTuple

import httpx
import pytest

from mcp_tui.judge.client_rules import CLIENT_RULES
from mcp_tui.judge.client_run import ClientReport
from mcp_tui.judge.client_trial import ClientTrial
from mcp_tui.judge.observed_run import ObservedRun
from mcp_tui.probe.report import Verdict
from tests.cli.running import MCP_TUI, SERVERS
from tests.judge.judging import CELLS, PLANTED, client, fallen, judged, side_by_side
from tests.servers.stdio_scripted import processes
from tests.slow import slow
from tests.waiting import wait

pytestmark = pytest.mark.sends_anything  # what a client sends is its own

UNSEEN, ABSENT = Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE


def script(*lines: str) -> tuple[str, ...]:
    """A client of a few lines that finds the command of its server in ``server``."""
    head = "import os, shlex, subprocess, sys, time\nserver = shlex.split(os.environ['MCP_SERVER_COMMAND'])\n"
    return (sys.executable, "-S", "-c", head + "\n".join(lines))


async def test_two_sessions_that_are_opened_at_once_are_told_apart(tmp_path: Path):
    trial = ClientTrial(ObservedRun(experiment="", transport="http"), tmp_path, arguments={})
    await trial.open()
    headers = {"Accept": "application/json, text/event-stream"}
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    async with httpx.AsyncClient(headers=headers) as client:
        opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        opened = [await client.post(trial.url, json=opening) for _ in range(2)]
        for each in opened:
            named = {"Mcp-Session-Id": each.headers["Mcp-Session-Id"]}
            await client.post(
                trial.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=named
            )
    await trial.close()
    assert [each.connection for each in trial.observed.sessions] == [0, 1]


class Whole(NamedTuple):
    """A run of all experiments. ``client`` is a fault, or the revision that mcp-tui speaks as the client."""

    client: str
    language: str = "python"
    transport: str = "stdio"
    era: str = "legacy"


def _judged(run: Whole) -> ClientReport:
    if run.language == "mcp-tui":
        command = (sys.executable, str(SERVERS / "mcp_tui_client.py"), run.client)
        return judged(command, maximum=6.0, transport=run.transport)
    command = client(run.client, run.language, run.era)
    return judged(command, maximum=6.0, gave_up=re.compile("gave up"), transport=run.transport)


@pytest.fixture(scope="module")
def reports(request: pytest.FixtureRequest) -> Iterator[dict[Whole, Future[ClientReport]]]:
    with side_by_side(request, 2, _judged) as reports:
        yield reports


def whole(*runs: Any) -> Callable[[Any], Any]:
    """A test of whole runs, each with what else it is given."""

    def marked(test: Any) -> Any:
        for mark in (
            pytest.mark.slow,
            pytest.mark.clock("a client has limits, and a server is left behind after seconds"),
            pytest.mark.timeout(900),
            pytest.mark.parametrize(
                "run" if isinstance(runs[0], Whole) else ("run", "absent"),
                runs,
                ids=lambda given: " ".join(given) if isinstance(given, Whole) else "",
            ),
        ):
            test = mark(test)
        return test

    return marked


@whole(Whole("good"), *(Whole(f"{rule} {faults[0]}") for rule, faults in PLANTED.items()))
def test_a_client_that_breaks_one_rule_falls_by_it_and_by_no_other(
    run: Whole, reports: dict[Whole, Future[ClientReport]]
):
    report = reports[run].result()
    assert fallen(report) == {run.client.partition(" ")[0]} & {*CLIENT_RULES}, report.findings
    unseen = {rule for rule, found in report.findings.items() if found.verdict in (UNSEEN, ABSENT)}
    assert unseen == set(), report.findings


@whole(*(Whole("good", *cell) for cell in CELLS))
def test_a_good_client_draws_no_complaint_in_any_cell(run: Whole, reports: dict[Whole, Future[ClientReport]]):
    report = reports[run].result()
    assert fallen(report) == set(), report.findings
    closes = {"K-07", "K-08", "K-09", "K-17"} if run[2:] == ("http", "modern") else set[str]()
    assert {rule for rule, found in report.findings.items() if found.verdict is UNSEEN} == closes, (
        report.findings
    )


def test_a_client_that_says_nothing_passes_nothing():
    report = judged(client("mute"), "limit", limit=0.5)
    assert {
        rule: report.findings[rule].verdict for rule in ("K-01", "K-03", "K-04", "K-17")
    } == dict.fromkeys(("K-01", "K-03", "K-04", "K-17"), UNSEEN)
    assert report.stops()[0] == "not observable"


ODD: Final = {
    "crashes": (script("sys.exit(3)"), "it did not start the server, and ended with status 3"),
    "starts ten servers": (
        script("for _ in range(10): subprocess.Popen(server, stdin=-1, stdout=-1)", "time.sleep(1)", "os._exit(0)"),
        "it sent no request, and ended with status 0",
    ),
    "writes megabytes": (
        script("os.write(1, b'x' * 3_000_000 + b'\\n' * 100_000)"),
        "it did not start the server, and ended with status 0",
    ),
    "cannot do it": (script("sys.exit(77)"), "the command cannot do this (exit status 77)"),
    "sends no message": (
        script("subprocess.run(server, input=b'\\xff{]\\n[]\\n' * 1000, stdout=-3)"),
        "it sent no request, and ended with status 0",
    ),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD)
def test_a_client_that_does_something_else_gets_a_sentence_and_no_verdict(odd: str):
    command, sentence = ODD[odd]
    report = judged(command, "limit")
    assert (report.findings["K-01"].verdict, report.findings["K-01"].sentence) == (UNSEEN, sentence)
    assert fallen(report) == set()


def test_a_client_that_leaves_its_server_behind_is_ended_with_everything_that_it_started():
    lines = (
        "subprocess.Popen(['sleep', '61.253'], start_new_session=True)",
        "subprocess.Popen(server, stdin=-1, stdout=-1, start_new_session=True)",
        "time.sleep(600)",
    )
    report = judged(script(*lines), "ids", time=2.0)
    assert report.not_run == ["K-12"]
    assert report.unjudged()
    wait(lambda: processes("61.253") == [])


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_over_http_a_client_that_says_nothing_passes_nothing_and_breaks_nothing(era: str):
    report = judged(client("mute", era=era), "limit", limit=0.5, transport="http")
    assert {found.verdict for found in report.findings.values()} == {UNSEEN}, report.findings


def test_over_http_no_late_result_is_judged_where_the_stream_of_the_call_is_closed():
    report = judged(client("good", era="modern"), "limit", limit=0.5, transport="http")
    assert {rule: report.findings[rule].verdict for rule in ("K-01", "K-03", "K-04", "K-07")} == {
        "K-01": Verdict.PASS,
        "K-03": Verdict.PASS,
        "K-04": ABSENT,
        "K-07": UNSEEN,
    }
    assert (report.info.transport, report.info.revision.name) == ("http", "2026-07-28")


def test_over_http_a_session_that_is_deleted_was_ended():
    report = judged(client("good"), "exit", transport="http")
    assert report.findings["K-14"].verdict is Verdict.PASS
    assert (report.info.transport, report.info.revision.name) == ("http", "2025-11-25")


@pytest.mark.parametrize("revision", ["", *slow("2025-11-25")])
def test_mcp_tui_draws_no_complaint_over_http(revision: str):
    words = ("call", "{tool}", "--args", "{arguments}", "--timeout", "{timeout}", "--no-journal", "{url}")
    report = judged(
        [*MCP_TUI, *words],
        "limit",
        "exit",
        limit=0.8,
        gave_up=re.compile("timed out"),
        transport="http",
        speaks=revision,
    )
    assert fallen(report) == set(), report.findings
    assert report.findings["K-03"].verdict is Verdict.PASS, report.findings
    assert report.findings["K-14"].verdict is (Verdict.PASS if revision else ABSENT)


def test_mcp_tui_draws_no_complaint(tmp_path: Path):
    words = (
        "call",
        "{tool}",
        "--args",
        "{arguments}",
        "--timeout",
        "{timeout}",
        "--no-journal",
        "--",
        "{server}",
    )
    report = judged([*MCP_TUI, *words], "limit", "exit", gave_up=re.compile("timed out"))
    assert fallen(report) == set(), report.findings
    for rule in ("K-01", "K-03", "K-04", "K-14", "K-17"):
        assert report.findings[rule].verdict is Verdict.PASS, report.findings[rule]
    assert report.info.name == "mcp-tui"


@whole(
    (Whole("2025-11-25", "mcp-tui", "stdio"), set[str]()),
    (Whole("2026-07-28", "mcp-tui", "stdio"), {"K-05", "K-10"}),
    (Whole("2025-11-25", "mcp-tui", "http"), {"K-05", "K-15"}),
    (
        Whole("2026-07-28", "mcp-tui", "http"),
        {"K-04", "K-05", "K-07", "K-08", "K-09", "K-10", "K-14", "K-15", "K-17"},
    ),
)
def test_mcp_tui_passes_every_rule_that_a_cell_has(
    run: Whole, absent: set[str], reports: dict[Whole, Future[ClientReport]]
):
    report = reports[run].result()
    passed = {rule for rule, found in report.findings.items() if found.verdict is Verdict.PASS}
    assert passed == {*CLIENT_RULES} - absent, report.findings
