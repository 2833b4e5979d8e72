"""``doctor``: one page about a server, and one exit status."""

from __future__ import annotations

import http.server
import json
import re
import sys
import threading
from pathlib import Path

import httpx
import pytest

from mcp_tui.cli.output import Exit
from tests.cli.running import HANDSHAKE, MCP_TUI, SERVERS, run
from tests.probe.probing import serving_command

HALF_LINE = """
import runpy, sys
sys.stderr.write("a whole line\\nhalf a l")
sys.stderr.flush()
runpy.run_path({!r}, run_name="__main__")
"""


def test_each_thing_that_is_wrong_with_a_server_is_told_on_one_page():
    results = json.dumps({"tools/list": {"tools": [{"name": "a b", "inputSchema": {"type": "object"}}]}})
    server = ("--", sys.executable, "-S", str(SERVERS / "results_server.py"), results)
    ran = run("doctor", "--json", "--no-journal", *server)
    made = json.loads(ran.out)
    verdicts = {each["check"]: each["verdict"] for each in made["checks"]}
    said = {each["check"]: each["sentence"] for each in made["checks"]}
    assert (ran.status, made["holds"], made["server"]) == (Exit.BROKEN_RULE, False, "results 1")
    assert verdicts == {
        "start": "pass",
        "stdout": "pass",
        "stderr": "pass",
        "tools": "pass",
        "lint": "fail",
        "ping": "fail",
        "cancel": "not observable",
        "exit": "pass",
    }
    assert {"count": 1, "bytes": 46, "tokens_estimated": 12}.items() <= made["checks"][3].items()
    cost = "46 B, ≈ 12 tokens"
    assert said["tools"] == f"1 on 1 page: {cost} of a model's context; the largest: a b ({cost})"
    assert said["lint"].startswith("broken: L-01 a tool has a name")
    assert "no such method (error -32601)" in said["ping"]
    assert "it exited after" in said["exit"]


def test_the_page_advises_whole_commands_and_has_no_half_line_of_stderr(tmp_path: Path):
    results = json.dumps({"tools/list": {"tools": [{"name": "a b", "inputSchema": {"type": "object"}}]}})
    server = tmp_path / "server.py"
    server.write_text(HALF_LINE.format(str(SERVERS / "results_server.py")))
    ran = run("doctor", "--no-journal", "--", sys.executable, "-S", str(server), results)
    assert "mcp-tui probe --tool NAME" in ran.out
    assert set(re.findall(r"(\S*) \S+ --[a-z]", ran.out.replace("(", ""))) == {"mcp-tui"}
    assert "the last line is 'a whole line'" in ran.out
    assert "half" not in ran.out + ran.err


@pytest.mark.parametrize("after", ["", "ready\n"])
def test_an_error_on_stderr_is_a_warning_and_the_last_line_is_the_last(tmp_path: Path, after: str):
    server = tmp_path / "server.py"
    trace = f"Traceback (most recent call last):\n  File x\nRuntimeError: database is down\n{after}"
    runs = f"import runpy, sys\nsys.stderr.write({trace!r})\nsys.stderr.flush()\n"
    server.write_text(f"{runs}runpy.run_path({str(SERVERS / 'results_server.py')!r}, run_name='__main__')\n")
    results = json.dumps({"tools/list": {"tools": []}})
    ran = run("doctor", "--json", "--no-journal", "--", sys.executable, "-S", str(server), results)
    (stderr,) = [each for each in json.loads(ran.out)["checks"] if each["check"] == "stderr"]
    last = after.strip() or "RuntimeError: database is down"
    assert stderr["verdict"] == "warning"
    assert stderr["sentence"].startswith(f"an error is reported: the last line is '{last}'")
    assert "database is down" in stderr["sentence"]


@pytest.mark.slow
def test_a_server_that_stops_when_told_to_is_sound():
    ran = run("doctor", "--demo", "--no-journal", "--strict", "--protocol", HANDSHAKE)
    first, *lines = ran.out.splitlines()
    assert (ran.status, ran.err) == (Exit.COMPLETED, "")
    assert first.startswith("mcp-tui-demo ")
    assert {line.split()[0]: line.split()[2] for line in lines if "✓ pass" not in line} == {"cancel": "not"}
    assert len(lines) == 11
    assert "count stops when told to: not observable, nothing about this request arrives" in ran.out
    assert "mcp-tui probe --heartbeat FILE" in ran.out  # an option of the command that it names


def test_a_tap_whose_program_is_gone_fails_the_server_behind_it(tmp_path: Path):
    code = ["tap", "--", sys.executable, "-S", str(SERVERS / "results_server.py"), "{}"]
    gone = {"command": "/no/mcp-tui", "args": code}
    config = tmp_path / "mcp.json"
    config.write_text(
        json.dumps({"mcpServers": {"a": gone, "b": {"command": "/no/mcp-tui", "args": ["tap", "/no"]}}})
    )
    ran = run("doctor", "--server", "a", "--config", str(config), "--json", "--no-journal")
    first = json.loads(ran.out)["checks"][0]
    assert (ran.status, first["check"], first["verdict"]) == (Exit.BROKEN_RULE, "tap", "fail")
    assert first["sentence"].endswith("No such file: /no/mcp-tui")
    ran = run("doctor", "--server", "b", "--config", str(config), "--no-journal")
    assert ran.status == Exit.UNREACHABLE
    assert "No such file: /no/mcp-tui" in ran.err


def test_a_server_that_cannot_be_started_is_4():
    run("doctor", "--", "no-such-server").sentence(Exit.UNREACHABLE, "Command not found: no-such-server")


class Relay(http.server.BaseHTTPRequestHandler):
    """A proxy that names itself."""

    target = ""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        kept = {name: value for name, value in self.headers.items() if name != "Host"}
        with httpx.stream("POST", self.target, content=body, headers=kept, timeout=None) as answer:
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers.get("Content-Type", ""))
            self.send_header("Via", "1.1 edge (Varnish)")
            self.end_headers()
            for piece in answer.iter_raw():
                self.wfile.write(piece)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.slow
def test_a_proxy_that_may_hold_a_cancel_back_is_named():
    with (
        serving_command(*MCP_TUI, "demo", "--http", "0") as target,
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), Relay) as relay,
    ):
        Relay.target = target.url
        thread = threading.Thread(target=relay.serve_forever)
        thread.start()
        ran = run("doctor", "--no-journal", "--json", f"http://127.0.0.1:{relay.server_port}/mcp")
        relay.shutdown()
        thread.join()
    said = {each["check"]: each["sentence"] for each in json.loads(ran.out)["checks"]}
    assert said["proxy"].startswith("answers come through Varnish: a cancel closes the stream"), ran
