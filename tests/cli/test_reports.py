"""The reports of the commands that judge: written however a run ends, and obeyed by no platform that reads them."""

from __future__ import annotations

import json
import re
import signal
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, Final

import pytest

from mcp_tui.cli import reports
from mcp_tui.cli.output import Exit, without_commands
from mcp_tui.cli.reports import ReportCase, ReportFinding, ReportRule
from mcp_tui.cli.snapshot import line_in_lock
from tests.cases import cases
from tests.cli.keeping import ONE, connected, keep, report
from tests.cli.running import SERVERS, Command, Ran, run
from tests.servers.stdio_scripted import processes
from tests.waiting import wait

Capture = pytest.CaptureFixture[str]

JENKINS: Final = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "time", "skipped"},
        {"properties", "testcase", "system-out"},
    ),
    "properties": (set[str](), {"property"}),
    "property": ({"name", "value"}, set[str]()),
    "testcase": ({"name", "time", "classname"}, {"skipped", "error", "failure", "system-out"}),
    **dict.fromkeys(("failure", "error", "skipped"), ({"type", "message"}, set[str]())),
    "system-out": (set[str](), set[str]()),
}
"""The elements of Jenkins' schema (junit-10.xsd) that we use: the attributes and the elements that they may have."""


def suite_of(data: bytes) -> ET.Element:
    """Returns the suite of a JUnit report that Jenkins takes, and whose counts are right."""
    root = ET.fromstring(data)
    for element in root.iter():
        attributes, below = JENKINS[element.tag]
        assert set(element.attrib) <= attributes, element.tag
        assert {each.tag for each in element} <= below, element.tag
    (suite,) = root
    for name, tag in {"tests": "", "failures": "/failure", "errors": "/error", "skipped": "/skipped"}.items():
        assert int(suite.attrib[name]) == len(suite.findall(f"testcase{tag}")), name
    assert {name: suite.get(name) for name in root.attrib} == root.attrib
    assert all(re.fullmatch(r"\d+\.\d+", each.attrib["time"]) for each in suite.iter("testcase"))
    return suite


def scan_of(data: bytes) -> dict[str, Any]:
    """Returns the run of a SARIF report that has what GitHub's code scanning asks for."""
    (scan,) = json.loads(data)["runs"]
    rules = scan["tool"]["driver"]["rules"]
    for rule in rules:
        assert rule["id"]
        assert rule["helpUri"].startswith("https://")
        for text in (rule["shortDescription"], rule["fullDescription"], rule["help"]):
            assert text["text"]
        assert rule["help"]["markdown"]
    for result in scan["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"]
        assert set(place["region"]) == {"startLine", "startColumn", "endLine", "endColumn"}
        assert place["region"]["startLine"] >= 1
    return scan


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """The files of an earlier run, in the current folder: all is well."""
    monkeypatch.chdir(tmp_path)
    made = {each: tmp_path / f"report.{each}" for each in ("junit", "sarif", "markdown")}
    for path in made.values():
        path.write_text("passed")
    return made


def asked(files: dict[str, Path]) -> list[str]:
    return [word for name, path in files.items() for word in (f"--{name}", str(path))]


def assert_not_judged(files: dict[str, Path], why: str) -> None:
    (case,) = suite_of(files["junit"].read_bytes()).iter("testcase")
    (error,) = case.findall("error")
    assert why in error.attrib["message"]
    scan = scan_of(files["sarif"].read_bytes())
    assert [each["ruleId"] for each in scan["results"]] == ["not-judged"]
    assert scan["invocations"][0]["executionSuccessful"] is False
    text = files["markdown"].read_text()
    assert "not judged" in text.splitlines()[0]
    assert why.replace("'", "") in text.replace("'", "")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("doctor -- /no/server", "No such file: /no/server"),
        ("doctor", "No server given."),
        ("tools --strict http://127.0.0.1:9/mcp", "Connection refused"),
        ("tools --demo", "Nothing is judged without --strict."),
        ("tools --strict --demmo", "Unknown option '--demmo'."),
        ("check none.jsonl --fail-on state:failed", "No session"),
        ("check empty.jsonl --fail-on state:failed", "not a recording"),
        ("check empty.jsonl --fail-on stat:failed", "Unknown filter 'stat'."),
        ("check --fail-on", "--fail-on needs a value."),
        ("check --catalogue none.lock --demo", "Cannot read 'none.lock'"),
        ("probe -- /no/server", "No such file: /no/server"),
        ("probe --demo --tool none", "no tool 'none'"),
        ("probe --list", "--list judges nothing."),
        ("probe-client -- /no/client", "Cannot start '/no/client'"),
        ("probe-client --by-hand", "stdin is not a terminal"),
    ],
)
def test_what_judges_nothing_replaces_the_reports_of_an_earlier_run(
    words: str, why: str, files: dict[str, Path], capfd: Capture
):
    Path("empty.jsonl").touch()
    first, *others = words.split()
    ran = report(capfd, first, *asked(files), *others)
    assert ran.status in (Exit.USAGE, Exit.UNREACHABLE), ran
    assert why in ran.err
    assert_not_judged(files, why)


@pytest.mark.parametrize(
    ("number", "why"), [(signal.SIGINT, "Interrupted."), (signal.SIGKILL, "did not end")]
)
def test_a_run_that_is_cut_short_leaves_no_report_of_an_earlier_one(
    number: signal.Signals, why: str, files: dict[str, Path]
):
    badge, mark = Path("badge.json"), str(files["junit"].parent)
    badge.write_text("passed")
    server = ("--", sys.executable, "-S", "-c", "import sys; sys.stdin.read()", mark)
    command = Command("probe", *asked(files), "--badge", str(badge), "--no-journal", *server)
    wait(lambda: bool(processes(mark)))
    command.process.send_signal(number)
    status, _ = command.end()
    assert status == (Exit.INTERRUPTED if number == signal.SIGINT else -number)
    assert_not_judged(files, why)
    assert json.loads(badge.read_text())["message"] == "not judged"


def test_a_report_that_cannot_be_written_or_is_read_is_refused_before_the_run(
    files: dict[str, Path], capfd: Capture
):
    path = keep(ONE, connected(), path=Path("one.jsonl"))
    before = path.read_bytes()
    for words in (("--junit", str(path)), ("--junit", "a.xml", "--sarif", "./a.xml")):
        report(capfd, "check", str(path), "--fail-on", "x", *words).sentence(Exit.USAGE, "is named twice (--")
    assert path.read_bytes() == before
    del files["markdown"]
    words = (*asked(files), "--markdown", "/no/where")
    report(capfd, "check", str(path), "--fail-on", "x", *words).sentence(
        Exit.USAGE, "Cannot write '/no/where' (--markdown)."
    )
    suite_of(files["junit"].read_bytes())
    assert "Cannot write" in files["sarif"].read_text()


BAD_TOOLS: Final = [
    {"name": "a\n::error::b", "description": "x", "inputSchema": {"type": "object"}},
    {"name": "c", "description": "##[stop-commands]x [y](http://z)", "inputSchema": {"type": "array"}},
    {"name": "d\ud800\x00\ufffe", "inputSchema": {"type": "object"}},
]


def judged(*words: str) -> Ran:
    results = json.dumps({"tools/list": {"tools": BAD_TOOLS}, "ping": {}})
    server = Path("server.py")
    server.write_text((SERVERS / "results_server.py").read_text())
    return run(*words, "--no-journal", "--", sys.executable, "-S", str(server), results)


def test_tools_and_doctor_have_every_report(files: dict[str, Path]):
    assert judged("tools", "--strict", *asked(files)).status == Exit.BROKEN_RULE
    suite = suite_of(files["junit"].read_bytes())
    failed = [each.attrib["name"][:4] for each in suite.iter("testcase") if each.find("failure") is not None]
    assert failed == ["L-01", "L-03", "L-04", "L-11"]
    assert all(float(each.attrib["time"]) < float(suite.attrib["time"]) for each in suite.iter("testcase"))
    scan = scan_of(files["sarif"].read_bytes())
    assert [each["ruleId"] for each in scan["results"]] == ["L-01", "L-01", "L-03", "L-04", "L-11"]
    place = scan["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "server.py"
    assert "| `L-02 no two tools have the same name` | ✓ pass |" in files["markdown"].read_text()

    assert judged("doctor", *asked(files)).status == Exit.BROKEN_RULE
    suite = suite_of(files["junit"].read_bytes())
    named = {each.attrib["name"]: each for each in suite.iter("testcase")}
    assert [name for name, each in named.items() if each.find("failure") is not None] == ["lint"]
    assert named["cancel"].find("skipped") is not None
    assert sum(float(each.attrib["time"]) for each in named.values()) > 0
    assert [each["ruleId"] for each in scan_of(files["sarif"].read_bytes())["results"]] == ["doctor lint"]


def test_a_workflow_gets_annotations_and_a_summary_and_obeys_no_server(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
):
    summary = files["markdown"].with_name("summary.md")
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    ran = judged("tools", "--strict", *asked(files))
    commands = [each for each in (ran.out + ran.err).splitlines() if re.match(r"\s*::|.*##\[", each)]
    assert len(commands) == 5
    for each in commands:
        assert re.fullmatch(r"::error title=mcp-tui tools%3A L-\d\d [^:]*::.*", each)
    assert summary.read_text() == f"before\n{files['markdown'].read_text()}\n"
    code = "import sys; sys.exit(' ::stop-commands::x\\n##[add-mask]y')"
    ran = run("tools", "--strict", "--no-journal", "--", sys.executable, "-c", code)
    assert ran.status == Exit.UNREACHABLE
    assert "\\::stop-commands::x" in ran.err
    assert [each[:14] for each in ran.err.splitlines() if re.match(r"\s*::|.*##\[", each)] == [
        "::error title="
    ]
    assert "not judged" in summary.read_text()
    ran = run("check", "--frob")
    assert "::error title=mcp-tui check%3A check::Unknown option '--frob'." in ran.err


def test_findings_stand_at_their_places_and_the_first_of_each_level_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    rule = ReportRule("r", "a rule", "mend it")
    file = str(tmp_path / "a,b:c%.lock")
    broken = [ReportFinding(f"{number}% [x](y)", file=file, line=number) for number in range(1, 14)]
    made = [ReportCase("one", rule, "failure", "r", "13", (), [*broken, ReportFinding("z", "warning")])]
    first, *_, more, warning = reports.workflow_commands("check", made)
    assert first == "::error file=a%2Cb%3Ac%25.lock,line=1,title=mcp-tui check%3A one::1%25 [x](y)"
    assert more == "::error title=mcp-tui check::And 4 more. The output of this step has them all."
    assert warning == "::warning title=mcp-tui check%3A one::z"
    scan = scan_of(json.dumps(reports.sarif("check", made, "server.py")).encode())
    first, *_, last = scan["results"]
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%2Cb%3Ac%25.lock"
    assert "](" not in first["message"]["text"]
    assert last["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "server.py"
    assert without_commands("a\n \t::b::\n::") == "a\n \t\\::b::\n\\::"
    assert json.loads(without_commands(json.dumps("##[x]"))) == "##[x]"


LOCK: Final = '{"b": {"a": 1},\n "tools":\n {"x": {"tools": {"y": 0}},\n  "y": {"in": {"p":\n [1]}}}}'


@cases(
    ("path", "line"),
    [
        (("tools", "x"), 3),
        (("tools", "y"), 4),
        (("tools", "y", "in", "p"), 4),
        (("tools", "y", "in", "q"), 4),
        (("tools", "z"), 2),
        (("none", "z"), 1),
        (("tools", "y", "in", "p", 0), 4),
    ],
)
def test_the_line_in_lock_a_member_is_that_of_its_name(path: tuple[str | int, ...], line: int):
    assert line_in_lock(LOCK, path) == line
