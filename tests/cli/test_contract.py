"""What scripts rely on where a server does one thing wrong: the outcome, the exit status and the sentence."""

from __future__ import annotations

import http.server
import json
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.cli.output import Exit
from tests.cli.running import HANG, MCP_TUI, Ran, run, scripted


class Guarded(http.server.BaseHTTPRequestHandler):
    """Shakes hands with anybody, and wants authorization for all that comes then."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        match message["method"]:
            case "initialize":
                server = {"name": "guarded", "version": "1"}
                result: dict[str, Any] = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {"tools": {}},
                    "serverInfo": server,
                }
                self.answer(
                    200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
                )
            case "notifications/initialized":
                self.answer(202)
            case "server/discover":
                self.answer(400)
            case _:
                self.answer(401)

    def do_GET(self) -> None:
        self.answer(405)

    def answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def guarded() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Guarded) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
        server.shutdown()
        thread.join(HANG)


def call(mode: str, *options: str) -> Ran:
    return run("call", "odd", "--json", "--no-journal", *options, *scripted(mode))


def test_an_answer_that_only_lacks_its_line_feed_counts():
    ran = call("unended")
    assert ran.status == Exit.COMPLETED
    assert ran.outcome["result"]["content"][0]["text"] == "whole"


def test_the_data_of_an_error_is_in_the_outcome():
    ran = call("error_data")
    assert ran.status == Exit.SERVER_ERROR
    assert ran.outcome["error"] == {"code": -32602, "message": "bad", "data": {"why": ["too", "short"]}}


def test_an_error_without_words_is_said_to_have_none():
    ran = run("call", "odd", "--no-journal", *scripted("error_empty"))
    assert ran.status == Exit.SERVER_ERROR
    assert "the server does not say why (error -1)" in ran.err


def test_a_hostile_refusal_is_one_sentence_that_no_terminal_obeys():
    ran = run("info", "--no-journal", *scripted("hostile-refusal"))
    ran.sentence(Exit.UNREACHABLE, "␛[31m␊way", "-32000")
    assert "\x1b" not in ran.err
    assert "\u202e" not in ran.err


@pytest.mark.parametrize("words", [("call", "odd"), ("tools",)])
def test_authorization_that_is_missing_later_is_told_with_the_way_out(words: tuple[str, ...], guarded: str):
    ran = run(*words, "--no-journal", guarded)
    assert ran.status == Exit.UNAUTHORIZED
    assert "equires sign-in (HTTP 401)" in ran.err
    assert "or add a token with -H" in ran.err


def test_a_question_that_nobody_can_answer_fails_the_call_and_names_who_could():
    ran = run("call", "odd", "--no-journal", *scripted("asks"))
    assert ran.status == Exit.SERVER_ERROR
    assert "requests elicitation/create" in ran.err
    assert ran.err.endswith(
        "Only the workbench can answer questions. Open the server without a subcommand.\n"
    )


def test_an_answer_without_a_list_is_no_empty_list():
    run("tools", "--json", "--no-journal", *scripted("no-list")).sentence(
        Exit.SERVER_ERROR, "no list 'tools'"
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ecko", "'ecko' (calling it anyway). Did you mean 'echo'?"),
        ("xyzzy", "'xyzzy' (calling it anyway)."),
        ("ecko\u202e", "(calling it anyway). Did you mean 'echo'?"),
    ],
)
def test_a_tool_that_the_server_does_not_list_is_called_with_a_warning_that_names_the_nearest(
    name: str, said: str
):
    ran = run("call", name, "text=hi", "--json", "--no-journal", "--demo")
    assert ran.status == Exit.SERVER_ERROR
    (line,) = ran.err.splitlines()
    assert line.startswith(f"mcp-tui: The server does not list a tool '{name.removesuffix(chr(0x202E))}")
    assert line.endswith(said)
    assert "\u202e" not in line
    assert [each["method"] for each in ran.of("sent")].count("tools/call") == 1


@pytest.mark.parametrize("mode", ["task-no-cancel", "task-no-handle"])
def test_a_task_that_cannot_be_cancelled_is_left_when_its_time_has_come(mode: str):
    ran = call(mode, "--cancel-after", "0.2", "--linger", "0", "--reason", "enough")
    assert ran.status == Exit.CANCELLED
    assert (ran.outcome["state"], ran.outcome["cause"]) == ("cancelled", "user")
    assert ran.outcome["signal"] == "none"
    assert ran.outcome["reason"] == "enough"
    assert ran.outcome["reason_delivered"] is False
    assert "cannot cancel tasks" in ran.of("settled")[0]["detail"]


def test_an_interrupt_while_such_a_task_runs_tells_the_outcome(tmp_path: Path):
    out = tmp_path / "out"
    words = ("call", "odd", "--json", "--no-journal", "--linger", "0", *scripted("task-no-cancel"))
    with out.open("wb") as file:
        process = subprocess.Popen(
            [*MCP_TUI, *words],
            stdin=subprocess.DEVNULL,
            stdout=file,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509 - as in test_signals
        )
    try:
        while '"task"' not in out.read_text():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        status = process.wait(HANG)
    finally:
        process.kill()
    ran = Ran(status, out.read_text(), "")
    assert ran.status == Exit.INTERRUPTED
    assert (ran.outcome["state"], ran.outcome["cause"]) == ("cancelled", "user")
    assert ran.outcome["reason"] == "interrupted"
