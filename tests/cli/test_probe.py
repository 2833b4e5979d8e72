"""``mcp-tui probe`` as a user meets it: the table, JSON, JUnit XML, Markdown, the exit status, ctrl+c."""

from __future__ import annotations

import json
import signal
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema_rs
import pytest

from mcp_tui import __version__
from mcp_tui.cli.output import Exit
from mcp_tui.judge.client_experiments import CLIENT_EXPERIMENTS
from mcp_tui.judge.client_rules import CLIENT_RULES
from mcp_tui.probe.rules import RULES
from tests.cli.running import HANDSHAKE, MODERN, SERVERS, Command, Ran, run
from tests.cli.test_imports import loaded
from tests.servers.stdio_scripted import processes
from tests.waiting import wait

pytestmark = pytest.mark.sends_anything  # malformed cancels are what some of the experiments are about

SECONDS = "seconds=2"
"""Half of a call must be longer than a busy machine takes to cancel it."""
PROBE_SERVER = str(SERVERS / "probe_server.py")


def scripted(mode: str, *marks: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-S", PROBE_SERVER, mode, *marks)


def report(ran: Ran) -> dict[str, Any]:
    return json.loads(ran.out)


def verdicts(ran: Ran) -> dict[str, str]:
    return {each["id"]: each["verdict"] for each in report(ran)["rules"]}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def runs(files: Path) -> Iterator[dict[str, Future[Ran]]]:
    """Runs that several tests look at, side by side: nearly all of each is waiting."""
    reports = ("--markdown", str(files / "m.md"), "--badge", str(files / "b.json"))
    grumpy = ("probe", "--demo", "--tool", "grumpy", SECONDS, "--no-journal")
    wanted = {
        "handshake": (*grumpy, "--protocol", HANDSHAKE, "--junit", str(files / "j.xml")),
        "strict": (*grumpy, "--protocol", HANDSHAKE, "--strict", "--junit", str(files / "strict.xml")),
        "modern": (*grumpy, "--protocol", MODERN, "--json", *reports),
        "none": ("probe", "--json", *scripted("harmful")),
    }
    with ThreadPoolExecutor(3) as pool:
        yield {name: pool.submit(run, *words) for name, words in wanted.items()}


def test_the_rules_are_listed_without_a_server():
    told = run("probe", "--list")
    assert told.status == Exit.COMPLETED
    assert told.err == ""
    for rule in RULES.values():
        assert f"{rule.id}  " in told.out
        assert rule.title in told.out
    listed = json.loads(run("probe", "--list", "--json").out)
    assert listed == [rule.fields() for rule in RULES.values()]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("probe",), ("No server given.",)),
        (("probe", "count", "--demo"), ("NAME=VALUE", "--tool")),
        (("probe", "seconds=1", "--demo"), ("Add --tool NAME",)),
        (("probe", "--tool", "sloth", "--demo"), ("no tool 'sloth'", "count")),
        (("probe", "--tool", "count", "seconds=soon", "--demo"), ("seconds must be a number",)),
        (("probe", "--tool", "count", "--args", "[]", "--demo"), ("--args must be a JSON object.",)),
        (("probe", "--each", "limit", "--demo"), ("Option --each belongs to probe-client.",)),
        (("probe", "--client", "--", "x"), ("Use mcp-tui probe-client -- COMMAND",)),
        (("probe", "--client", "--by-hand"), ("Use mcp-tui probe-client",)),
        (("probe-client",), ("No client given.",)),
        (("probe-client", "x"), ("Unexpected argument 'x'.", "after --")),
        (("probe-client", "http://h/mcp"), ("after --",)),
        (
            ("probe-client", "--each", "limits", "--", "x"),
            ("Unknown experiment 'limits'", "limit, stop"),
        ),
        (("probe-client", "--gave-up", "(", "--", "x"), ("Invalid --gave-up",)),
        (("probe-client", "--protocol", "1999", "--", "x"), ("Unknown --protocol '1999'",)),
        (("probe-client", "--badge", "/no/where", "--", "x"), ("Cannot write '/no/where' (--badge).",)),
        (("probe", "--junit", "/no/where.xml", "--demo"), ("Cannot write '/no/where.xml' (--junit).",)),
    ],
    ids=" ".join,
)
def test_words_that_do_not_fit_are_refused_in_a_sentence(words: tuple[str, ...], told: tuple[str, ...]):
    ran = run(*words)
    last = ran.err.splitlines()[-1]
    Ran(ran.status, ran.out, last).sentence(Exit.USAGE, *told)


def test_a_server_that_cannot_be_reached_is_4_and_a_header_that_the_protocol_sets_is_told():
    ran = run("probe", "-H", "Mcp-Session-Id: mine", "http://127.0.0.1:9/mcp")
    assert (ran.status, ran.out) == (Exit.UNREACHABLE, "")
    assert "Is the server running?" in ran.err
    assert "mcp-tui: Header 'Mcp-Session-Id' is ignored: the protocol sets it." in ran.err


def test_the_json_report_is_what_its_schema_says(runs: dict[str, Future[Ran]]):
    schema = json.loads((Path(__file__).parents[2] / "docs" / "probe.schema.json").read_text())
    check = jsonschema_rs.Draft202012Validator(schema)
    for name in ("modern", "none"):
        made = report(runs[name].result())
        assert [error.message for error in check.iter_errors(made)] == []
        assert made["mcp_tui"] == __version__
        assert set(made) == set(schema["properties"]) - {"client"}


def test_a_secret_in_the_command_line_is_masked():
    ran = run("probe", "--json", "--no-journal", *scripted("harmful", "API_TOKEN=abcdef1234567890abcd"))
    assert "abcdef1234567890" not in ran.out
    assert report(ran)["server"]["command"].startswith(sys.executable)


def test_each_report_stands_in_its_file(runs: dict[str, Future[Ran]], files: Path):
    for name in ("modern", "handshake", "strict"):
        runs[name].result()
    badge = json.loads((files / "b.json").read_text())
    assert (badge["schemaVersion"], badge["label"], badge["color"]) == (1, "MCP cancellation", "red")
    assert badge["message"].endswith("4 MUST broken")
    text = (files / "m.md").read_text()
    assert text.startswith("# Does mcp-tui-demo")
    assert all(f"| {rule} | " in text for rule in RULES)
    assert '"code":-32800' in text
    for name, failures in (("j.xml", 0), ("strict.xml", 4)):
        (suite,) = ET.fromstring((files / name).read_bytes()).findall("testsuite")
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase")) == len(RULES)
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure")) == failures
        assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped")) > 3


def test_every_connection_of_a_run_has_a_journal_and_a_recording(tmp_path: Path):
    record = ("--record", str(tmp_path / "r.jsonl"))
    ran = run("probe", *record, *scripted("harmful"), MCP_TUI_STATE=str(tmp_path))
    assert ran.status == Exit.USAGE
    journals = [path.read_text() for path in (tmp_path / "journal").glob("*.jsonl")]
    assert len(journals) >= 4
    assert any("notifications/cancelled" in journal for journal in journals)
    names = {path.name for path in tmp_path.iterdir()}
    assert {"r-control.jsonl", "r-an-unknown-id-cancelled.jsonl", "r-malformed-cancels.jsonl"} <= names
    # a server that its client leaves behind was spoken to as well
    assert '"initialize"' in (tmp_path / "r-stdin-closed.jsonl").read_text()


def test_a_should_that_is_not_followed_is_0_and_9_when_strict(runs: dict[str, Future[Ran]]):
    assert runs["handshake"].result().status == Exit.COMPLETED
    assert runs["strict"].result().status == Exit.BROKEN_RULE


def test_a_must_that_is_broken_is_9(runs: dict[str, Future[Ran]]):
    ran = runs["modern"].result()
    assert ran.status == Exit.BROKEN_RULE
    fails = {rule for rule, verdict in verdicts(ran).items() if verdict == "fail"}
    assert fails == {"P-01", "P-05", "P-16", "P-27"}
    told = report(ran)
    assert (told["transport"], told["revision"], told["server"]["name"]) == ("stdio", MODERN, "mcp-tui-demo")
    assert (told["tool"], told["arguments"], told["stops"]) == ("grumpy", {"seconds": 2}, "not observable")
    assert told["calls"][0]["tool"] == "grumpy"
    assert sum(each["times"] for each in told["calls"]) > 5
    assert all(rule["clause"] and rule["sentence"] for rule in told["rules"])
    broken = told["rules"][0]
    assert broken["level"] == "MUST"
    assert broken["clause"] == f"stdio, Cancellation ({MODERN})"
    assert '"code":-32800' in broken["evidence"][0]["frame"]
    assert broken["evidence"][0]["t"] > 0


def test_the_table_is_on_stdout_and_the_progress_on_stderr(runs: dict[str, Future[Ran]]):
    ran = runs["handshake"].result()
    lines = ran.out.splitlines()
    assert lines[0].startswith("mcp-tui-demo")
    assert any(line.startswith("P-01  ↯ warning") for line in lines)
    assert lines[-1].startswith("stops when told to: not observable")
    assert "grumpy seconds=2 ×" in lines[-3]
    assert "\x1b" not in ran.out
    for step in ("control run of grumpy seconds=2", "cancelled mid-work", "P-10 ✓ pass"):
        assert step in ran.err


def test_without_a_slow_tool_the_status_is_2_and_the_way_out_is_told(runs: dict[str, Future[Ran]]):
    ran = runs["none"].result()
    assert ran.status == Exit.USAGE
    assert report(ran)["tool"] is None
    assert report(ran)["calls"] == []
    assert "--tool NAME ARG=VALUE" in report(ran)["why"]
    assert verdicts(ran)["P-10"] == "pass"
    assert verdicts(ran)["P-01"] == "not observable"


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, Exit.INTERRUPTED), (signal.SIGTERM, Exit.TERMINATED)]
)
def test_a_signal_cancels_what_is_in_flight_and_ends_the_servers(
    number: signal.Signals, status: Exit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MCP_TUI_STATE", str(tmp_path))
    mark = f"mark-{uuid.uuid4()}"
    command = Command("probe", "--tool", "slow_work", "seconds=30", *scripted("good", mark))

    def journals() -> list[str]:
        return [path.read_text() for path in (tmp_path / "journal").glob("*.jsonl")]

    wait(lambda: any('"tools/call"' in each for each in journals()))
    command.process.send_signal(number)
    ended, err = command.end()
    assert (ended, command.lines) == (status, [])
    assert "Interrupted." in err
    assert processes(mark) == []
    assert any("notifications/cancelled" in each for each in journals())


def test_tools_before_the_slow_one_have_arguments_of_their_own_and_their_errors_are_told():
    words = ("probe", "--before", "open_page", "url=1", "--before", "open_page", "--tool", "slow_work")
    ran = run(*words, "seconds=0.4", *scripted("needs-page"))
    assert ran.status == Exit.USAGE
    assert "mcp-tui: open_page: url is required.\n" in ran.err
    ran = run("probe", "--before", "slow_work", "seconds=1", *scripted("needs-page"))
    assert ran.status == Exit.SERVER_ERROR
    assert 'slow_work (--before) failed: tool error: "No page is open"' in ran.err
    ran = run("probe", "--before", "url=1", *scripted("needs-page"))
    assert (ran.status, ran.err) == (
        Exit.USAGE,
        "mcp-tui: --before without a tool. Use --before TOOL url=1\n",
    )


def test_over_stdio_it_loads_neither_textual_nor_http():
    status, modules = loaded(("probe", "--no-journal", *scripted("harmful")))
    assert status == [Exit.USAGE]
    assert not modules & {"textual", "httpx", "httpcore", "anyio", "pydantic"}


def test_the_rules_for_clients_are_listed_with_the_experiments():
    told = run("probe-client", "--list")
    assert (told.status, told.err) == (Exit.COMPLETED, "")
    assert all(f"{rule.id}  " in told.out and rule.title in told.out for rule in CLIENT_RULES.values())
    assert all(f"  {each.name} " in told.out for each in CLIENT_EXPERIMENTS)
    listed = json.loads(run("probe-client", "--list", "--json").out)
    assert listed == [rule.fields() for rule in CLIENT_RULES.values()]


def test_a_judged_client_has_the_reports_and_the_exit_status_of_a_server(files: Path):
    words = ("--each", "limit", "--timeout", "0.5", "--junit", str(files / "c.xml"), "--json")
    ran = run(
        "probe-client",
        *words,
        "--",
        sys.executable,
        "-S",
        str(SERVERS / "judged_client.py"),
        "K-03 another kind",
    )
    schema = json.loads((Path(__file__).parents[2] / "docs" / "probe.schema.json").read_text())
    made = report(ran)
    assert [error.message for error in jsonschema_rs.Draft202012Validator(schema).iter_errors(made)] == []
    assert (ran.status, verdicts(ran)["K-03"], made["client"]["name"]) == (
        Exit.BROKEN_RULE,
        "fail",
        "judged",
    )
    suite = ET.parse(files / "c.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == (str(len(CLIENT_RULES)), "1")


def test_a_client_that_cannot_be_started_is_4():
    run("probe-client", "--", "no-such-client").sentence(Exit.UNREACHABLE, "Cannot start 'no-such-client'")
