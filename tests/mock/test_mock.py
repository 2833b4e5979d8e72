"""The mock as a process, on both transports."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from mcp_tui.cli.output import Exit
from tests.cli.running import MCP_TUI, run, running
from tests.mock.recordings import COUNT, Frame, answer, call, session, written
from tests.probe.probing import serving_command


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A call of the demo server that was recorded."""
    path = tmp_path / "demo.jsonl"
    assert run("call", "echo", "text=hi", "--demo", "--record", str(path)).status == 0
    return path


@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25", "2024-11-05"])
def test_a_recorded_call_is_answered_in_every_protocol_version(recording: Path, revision: str):
    server = ("--protocol", revision, "--", *MCP_TUI, "mock", str(recording))
    ran = run("call", "echo", "text=hi", "--json", *server)
    assert (ran.status, ran.outcome["result"]["content"][0]["text"]) == (0, "hi")
    assert ran.of("violation") == []


def test_an_unknown_call_is_refused_with_what_is_recorded_or_gets_the_nearest(recording: Path):
    words = ("call", "echo", "text=ho", "--json", "--")
    ran = run(*words, *MCP_TUI, "mock", str(recording))
    said = 'Not recorded: tools/call echo {"text":"ho"}. Recorded for tools/call: echo {"text":"hi"}.'
    assert (ran.status, ran.outcome["error"]["message"]) == (Exit.SERVER_ERROR, said)
    ran = run(*words, *MCP_TUI, "mock", "--nearest", str(recording))
    assert ran.outcome["result"]["content"][0]["text"] == "hi"
    (said,) = ran.of("stderr")
    assert said["line"].endswith('Answered as tools/call echo {"text":"hi"} (--nearest).')
    ran = run("call", "drop", "--json", "--", *MCP_TUI, "mock", "--nearest", str(recording))
    assert ran.status == Exit.SERVER_ERROR


def test_the_report_tells_what_was_refused_and_what_nobody_asked_for(tmp_path: Path, recording: Path):
    path = tmp_path / "report.json"
    options = ("--strict", "--report", str(path))
    ran = run("mock", str(recording), *options)
    assert (ran.status, "Recorded and never asked: tools/call echo" in ran.err) == (Exit.BROKEN_RULE, True)
    asked = {"name": "echo", "arguments": {"text": "hi"}}
    whole: Frame = {
        "ended": True,
        "counts": {"refused": 0, "nearest": 0, "unasked": 1},
        "refused": [],
        "nearest": [],
    }
    assert json.loads(path.read_text()) == {**whole, "unasked": [{"method": "tools/call", "params": asked}]}
    run("call", "echo", "text=ho", "--", *MCP_TUI, "mock", "--nearest", str(recording), "--report", str(path))
    told = json.loads(path.read_text())
    assert told["counts"] == {"refused": 0, "nearest": 1, "unasked": 0}
    assert (told["nearest"][0]["params"]["arguments"], told["ended"]) == ({"text": "ho"}, True)
    run("call", "echo", "text=ho", "--", *MCP_TUI, "mock", str(recording), *options)
    (refused,) = json.loads(path.read_text())["refused"]
    assert (refused["params"]["arguments"], "Not recorded" in refused["why"]) == ({"text": "ho"}, True)
    run("call", "echo", "text=hi", "--", *MCP_TUI, "mock", str(recording), *options)
    assert json.loads(path.read_text())["counts"] == {"refused": 0, "nearest": 0, "unasked": 0}


ANNOUNCED: Frame = {
    "tools": {},
    "prompts": {},
    "resources": {"subscribe": True},
    "completions": {},
    "logging": {},
}
WANTED: list[tuple[str, Frame]] = [
    ("initialize", {"protocolVersion": "2025-11-25"}),
    ("tools/list", {}),
    ("tools/list", {"cursor": "2"}),
    ("tools/list", {"cursor": "3"}),
    ("prompts/list", {}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/subscribe", {"uri": "x:y"}),
    ("completion/complete", {"ref": {"type": "ref/prompt", "name": "p"}}),
    ("logging/setLevel", {"level": "info"}),
    ("tasks/list", {}),
]


def test_what_was_announced_and_not_asked_for_is_empty_but_not_with_strict(tmp_path: Path):
    start = call(1, 0, {"protocolVersion": "2025-11-25"}, "initialize")
    told: Frame = {"protocolVersion": "2025-11-25", "capabilities": ANNOUNCED, "serverInfo": {"name": "x"}}
    page: Frame = {"tools": [{"name": "count"}], "nextCursor": "2"}
    results = [
        (0.1, "in", {"jsonrpc": "2.0", "id": id_, "result": each}) for id_, each in ((1, told), (2, page))
    ]
    path = written(tmp_path, session(start, results[0], call(2, 0.1, {}, "tools/list"), results[1]))
    asked = [{"jsonrpc": "2.0", "id": id_, "method": m, "params": p} for id_, (m, p) in enumerate(WANTED)]
    for options, refused in (((), {3, 10}), (("--strict",), {*range(2, 9), 10})):
        ran = run("mock", str(path), *options, input="".join(f"{json.dumps(each)}\n" for each in asked))
        answers = {each["id"]: each for each in map(json.loads, ran.out.splitlines())}
        assert {id_ for id_, each in answers.items() if "error" in each} == refused


@pytest.mark.slow
def test_the_doctor_finds_no_fault_in_a_mock(recording: Path):
    ran = run("doctor", "--no-journal", "--", *MCP_TUI, "mock", str(recording))
    assert (ran.status, "resources  ✓ pass" in ran.out) == (0, True), ran


def test_strict_answers_once_and_fails_in_the_end(tmp_path: Path):
    path = written(tmp_path, session(call(1, 0, method="x/y"), answer(1, 0.01)))
    asked = [
        {"jsonrpc": "2.0", "id": id_, "method": "initialize", "params": {"protocolVersion": "2025-11-25"}}
        for id_ in (1,)
    ]
    asked += [{"jsonrpc": "2.0", "id": id_, "method": "x/y", "params": COUNT} for id_ in (2, 3)]
    text = "".join(f"{json.dumps(each)}\n" for each in asked)
    ran = run("mock", str(path), "--strict", "--speed", "max", input=text)
    assert ran.status == Exit.BROKEN_RULE
    assert "Recorded 1 time only: x/y" in ran.err
    assert run("mock", str(path), input=text).status == 0


async def test_what_came_after_a_notification_comes_again_and_harms_no_session(tmp_path: Path):
    begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    roots = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
    path = written(tmp_path, session((0.0, "out", begun), (0.0, "in", roots), call(1, 1), answer(1, 1)))
    asked: list[tuple[str, Frame]] = [
        ("initialize", {"protocolVersion": "2025-11-25"}),
        *[("notifications/initialized", {})] * 2,
    ]
    frames = [{"jsonrpc": "2.0", "method": method, "params": params} for method, params in asked]
    text = "".join(f"{json.dumps(each)}\n" for each in [{**frames[0], "id": 1}, *frames[1:]])
    ran = run("mock", str(path), "--speed", "max", input=text)
    assert (ran.status, ran.err) == (0, "")
    with serving_command(*MCP_TUI, "mock", "--http", "0", str(path)) as target:
        words = ("call", "count", "n=3", "--protocol", "2025-11-25", target.url)
        assert [(await running(*words)).status for _ in range(2)] == [0, 0]


@pytest.mark.parametrize("command", ["demo", "mock"])
def test_further_hosts_and_origins_are_answered(tmp_path: Path, command: str):
    files = [str(written(tmp_path, session(call(1, 1), answer(1, 1))))] if command == "mock" else []
    options = (
        "--allow-host",
        "box",
        "--allow-origin",
        "vscode-file://vscode-app/",
        "--allow-origin",
        "app://-",
    )
    with serving_command(*MCP_TUI, command, *files, "--http", "0", *options) as target:
        answered = [
            httpx.post(target.url, headers={"Accept": "text/event-stream", **headers}).status_code != 403
            for headers in (
                {"Host": "box:7000"},
                {"Origin": "vscode-file://vscode-app", "Sec-Fetch-Site": "cross-site"},
                {"Origin": "app://-"},
                {"Host": "other"},
                {"Sec-Fetch-Site": "cross-site"},
            )
        ]
    assert answered == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--allow-origin", "null"),
        ("--allow-origin", "*"),
        ("--allow-origin", "https://box/path"),
        ("--allow-host", "http://box"),
        ("--allow-host", "*"),
    ],
)
def test_what_is_no_host_or_origin_is_a_usage_error(option: str, value: str):
    run("demo", "--http", "0", option, value).sentence(Exit.USAGE, option)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a recording"),
        (session(answer(1, 1)), "has no requests to answer"),
    ],
)
def test_a_file_without_requests_is_refused(tmp_path: Path, text: str, said: str):
    path = written(tmp_path, text)
    run("mock", str(path)).sentence(Exit.USAGE, said)


def test_redacted_values_are_named_with_the_way_to_keep_them(tmp_path: Path):
    words = ("call", "echo", "text=password=Tr0ub4dor&3x", "--demo", "--record", str(tmp_path / "x.jsonl"))
    run(*words)
    ran = run("mock", str(tmp_path / "x.jsonl"))
    assert "tools/call echo: arguments.text" in ran.err
    assert "--keep-secrets" in ran.err
    again = run(*words, "--keep-secrets")
    assert "mcp-tui: recording to" in again.err
    assert "Tr0ub4dor" not in (tmp_path / "x.jsonl").read_text()
    assert "Tr0ub4dor" in (tmp_path / "x-2.jsonl").read_text()
    assert run("mock", str(tmp_path / "x-2.jsonl")).err == ""


def verdicts(*words: str) -> dict[str, str]:
    ran = run("probe", "--json", *words)
    return {rule["id"]: rule["verdict"] for rule in json.loads(ran.out)["rules"]}


@pytest.mark.sends_anything
@pytest.mark.slow
@pytest.mark.clock("the probe judges by the clock")
@pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_probe_judges_the_mock_as_the_server_that_was_recorded(
    tmp_path: Path, transport: str, revision: str
):
    options = ("--protocol", revision, "--time", "300")
    recording = ("--record", str(tmp_path / "r.jsonl"))
    if transport == "stdio":
        demo = verdicts(*options, *recording, "--demo")
        files = map(str, tmp_path.glob("r-*.jsonl"))
        assert verdicts(*options, "--", *MCP_TUI, "mock", *files) == demo
        return
    with serving_command(*MCP_TUI, "demo", "--http", "0") as target:
        demo = verdicts(*options, *recording, target.url)
    with serving_command(*MCP_TUI, "mock", "--http", "0", *map(str, tmp_path.glob("r-*.jsonl"))) as target:
        assert verdicts(*options, target.url) == demo
