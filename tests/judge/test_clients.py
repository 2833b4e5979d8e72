"""A client that obeys draws no complaint; one that breaks exactly one rule falls by exactly that one; nothing is left."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import httpx
import pytest

from mcp_tui.judge.rules import CLIENT_RULES
from mcp_tui.judge.run import ClientReport, Judge
from mcp_tui.judge.seen import Seen
from mcp_tui.judge.stage import Stage
from mcp_tui.probe.report import BAD, Verdict
from tests.cli.running import MCP_TUI, SERVERS
from tests.servers.stdio_scripted import processes
from tests.slow import slow
from tests.waiting import wait

pytestmark = pytest.mark.sends_anything  # what a client sends is its own

UNSEEN, ABSENT = Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE


def judged(command: Sequence[str], *each: str, **more: Any) -> ClientReport:
    """The report, once no process of the judge's server is left."""
    judge = Judge(command, chosen=each, **more)
    report = asyncio.run(judge.run())
    for pid in (server.pid for seen in judge.runs.values() for server in seen.servers):
        wait(lambda: not is_there(pid))  # noqa: B023 - waited for here
    return report


def is_there(pid: int) -> bool:
    return bool(pid) and Path(f"/proc/{pid}").exists()


def client(vice: str) -> tuple[str, ...]:
    return (sys.executable, "-S", str(SERVERS / "judged_client.py"), vice)


def script(*lines: str) -> tuple[str, ...]:
    """A client of a few lines that finds the command of its server in ``server``."""
    head = "import os, shlex, subprocess, sys, time\nserver = shlex.split(os.environ['MCP_SERVER_COMMAND'])\n"
    return (sys.executable, "-S", "-c", head + "\n".join(lines))


def fallen(report: ClientReport) -> set[str]:
    return {rule for rule, found in report.findings.items() if found.verdict in BAD}


async def test_two_sessions_that_are_opened_at_once_are_told_apart(tmp_path: Path):
    stage = Stage(Seen(experiment="", transport="http"), tmp_path, arguments={})
    await stage.open()
    headers = {"Accept": "application/json, text/event-stream"}
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    async with httpx.AsyncClient(headers=headers) as client:
        opening = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        opened = [await client.post(stage.url, json=opening) for _ in range(2)]
        for each in opened:
            named = {"Mcp-Session-Id": each.headers["Mcp-Session-Id"]}
            await client.post(
                stage.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=named
            )
    await stage.close()
    assert [each.connection for each in stage.seen.sessions] == [0, 1]


@pytest.mark.slow
@pytest.mark.clock("a client has limits, and a server is left behind after seconds")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("vice", ["good", "modern", *CLIENT_RULES])
def test_a_client_that_breaks_one_rule_falls_by_it_and_by_no_other(vice: str):
    report = judged(client(vice), maximum=6.0)
    assert fallen(report) == {vice} & {*CLIENT_RULES}, report.findings
    unseen = {rule for rule, found in report.findings.items() if found.verdict in (UNSEEN, ABSENT)}
    assert unseen == ({"K-05", "K-10"} if vice == "modern" else set()), report.findings


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


TALK: Final = """
import http.client, json, os, sys, threading, urllib.request
url, modern, vice = os.environ["MCP_SERVER_URL"], sys.argv[1] == "2026-07-28", sys.argv[2]
headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
meta = {}
if modern:
    key = "io.modelcontextprotocol/"
    meta = {key + "protocolVersion": sys.argv[1], key + "clientCapabilities": {}, key + "clientInfo": {"name": "raw"}}
    headers["MCP-Protocol-Version"] = sys.argv[1]
def post(method, params, **more):
    told = {"Mcp-Method": method, "Mcp-Name": params.get("name", "")} if modern else {}
    if meta:
        params["_meta"] = meta
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
    if vice == "closes" and more["id"] == 1:
        connection = http.client.HTTPConnection(url.split("/")[2], timeout=0.6)
        connection.request("POST", "/mcp", body, {**headers, **told})
        try:
            connection.getresponse().read()
        except TimeoutError:
            connection.close()
        sys.exit()
    answer = urllib.request.urlopen(urllib.request.Request(url, body, {**headers, **told}))
    if answer.headers["Mcp-Session-Id"]:
        headers["Mcp-Session-Id"] = answer.headers["Mcp-Session-Id"]
    return answer
if not modern:
    opening = {"protocolVersion": sys.argv[1], "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    if vice == "K-05":
        threading.Thread(target=post, args=("initialize", opening), kwargs={"id": 0}, daemon=True).start()
        threading.Event().wait(0.6)
        try:
            post("notifications/cancelled", {"requestId": 0})
        finally:
            os._exit(1)
    post("initialize", opening, id=0).read()
    post("notifications/initialized", {}).read()
tool, arguments = os.environ["MCP_TOOL"], json.loads(os.environ["MCP_ARGUMENTS"])
if vice != "K-14":
    called = {"name": tool, "arguments": arguments}
    call = threading.Thread(target=lambda: post("tools/call", called, id=1).read(), daemon=True)
    call.start()
    call.join(None if vice == "closes" else 0.6)
    if vice == "mute":
        os._exit(0)
    id = "1" if vice == "K-04" else 1
    if vice not in ("K-01", "closes"):
        post("notifications/cancelled", {"requestId": id, "reason": "too slow"}).read()
post("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}, id=2).read()
if vice != "K-14" and not modern:
    urllib.request.urlopen(urllib.request.Request(url, None, headers, method="DELETE")).read()
os._exit(0)
"""


@pytest.mark.parametrize(
    ("revision", "vice"),
    [
        ("2025-11-25", "good"),
        ("2025-11-25", "K-01"),
        ("2025-11-25", "K-04"),
        ("2025-11-25", "K-05"),
        ("2025-11-25", "K-14"),
        ("2026-07-28", "K-03"),
    ],
)
def test_over_http_a_client_falls_by_its_one_fault(revision: str, vice: str):
    each = {"K-05": "initialize", "K-14": "exit"}.get(vice, "limit")
    report = judged((sys.executable, "-c", TALK, revision, vice), each, transport="http", speaks=revision)
    assert fallen(report) == {vice} - {"good"}, report.findings
    assert (report.info.transport, report.info.revision.name) == ("http", revision)


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_over_http_a_client_that_says_nothing_passes_nothing_and_breaks_nothing(revision: str):
    report = judged(
        (sys.executable, "-c", TALK, revision, "mute"), "limit", transport="http", speaks=revision
    )
    assert {found.verdict for found in report.findings.values()} == {UNSEEN}, report.findings


def test_over_http_no_late_result_is_judged_where_the_stream_of_the_call_is_closed():
    report = judged((sys.executable, "-c", TALK, "2026-07-28", "closes"), "limit", transport="http")
    assert {rule: report.findings[rule].verdict for rule in ("K-01", "K-03", "K-04", "K-07")} == {
        "K-01": Verdict.PASS,
        "K-03": Verdict.PASS,
        "K-04": ABSENT,
        "K-07": UNSEEN,
    }


def test_over_http_a_session_that_is_deleted_was_ended():
    command = (sys.executable, "-c", TALK, "2025-11-25", "good")
    report = judged(command, "exit", transport="http", speaks="2025-11-25")
    assert report.findings["K-14"].verdict is Verdict.PASS


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


@pytest.mark.slow
@pytest.mark.clock("a client has limits, and a server is left behind after seconds")
@pytest.mark.timeout(600)
def test_mcp_tui_passes_every_rule_that_it_has_a_part_in():
    report = judged((sys.executable, str(SERVERS / "mcp_tui_client.py")), maximum=6.0)
    passed = {rule for rule, found in report.findings.items() if found.verdict is Verdict.PASS}
    # this script answers no questions
    assert passed == {*CLIENT_RULES} - {"K-10"}, report.findings
