"""The outcome, exit status, and sentence where a server does one thing wrong; ``tests/faults`` has many more."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_tui.cli.output import Exit
from tests.cli.running import HANDSHAKE, Ran, run, running, scripted
from tests.servers.http_scripted import HttpScript, served


def call(mode: str, *options: str) -> Ran:
    return run("call", "odd", "--json", "--no-journal", *options, *scripted(mode))


@pytest.mark.parametrize(
    ("mode", "status", "state", "told"),
    [
        ("pollution", 0, "completed", {"event": "pollution", "line": "not json"}),
        ("invalid", 5, "failed", {"event": "violation", "rule": "malformed-response"}),
        ("monstrous", 0, "completed", {"event": "unknown", "response_id": "a number out of range"}),
        ("exits", 8, "lost", {"event": "stderr", "line": "out of cheese"}),
        ("tool_error", 5, "completed", {"event": "connected"}),
        ("unended", 0, "completed", {"result": {"content": [{"type": "text", "text": "whole"}]}}),
        (
            "error_data",
            5,
            "failed",
            {"error": {"code": -32602, "message": "bad", "data": {"why": ["too", "short"]}}},
        ),
    ],
)
def test_each_mistake_is_shown_for_what_it_is(mode: str, status: int, state: str, told: dict[str, Any]):
    ran = call(mode)
    assert (ran.status, ran.err) == (status, "")
    assert ran.outcome["state"] == state
    assert [each for each in ran.events if told.items() <= each.items()]
    assert (ran.outcome["error"] is None) == (state == "completed")
    assert state == "completed" or ran.outcome["result"] is None


@pytest.mark.parametrize(
    ("words", "mode", "status", "said"),
    [
        (("call", "odd"), "error_empty", 5, ["the server does not say why (error -1)"]),
        (("call", "odd"), "refuses", 5, ["error -32000"]),
        (("info",), "hostile-refusal", 4, ["␛[31m␊way", "-32000"]),
        (("tools", "--json"), "no-list", 5, ["no list 'tools'"]),
        (
            ("call", "odd"),
            "asks",
            5,
            ["requests elicitation/create", "Only the workbench can answer questions."],
        ),
    ],
)
def test_each_error_is_told_in_words_that_no_terminal_obeys(
    words: tuple[str, ...], mode: str, status: int, said: list[str]
):
    ran = run(*words, "--no-journal", *scripted(mode))
    assert (ran.status, ran.out) == (status, "")
    assert all(text in ran.err for text in said), ran.err
    assert not {"\x1b", "\u202e"} & {*ran.err}


def test_an_error_without_an_id_belongs_to_the_connection_and_answers_no_call():
    ran = call("nameless", "--timeout", "0.3")
    assert (ran.status, ran.outcome["state"]) == (6, "timed_out")
    (unknown,) = ran.of("unknown")
    assert (unknown["response_id"], unknown["id_type"], unknown["code"]) == (None, "null", -32700)


def test_a_large_answer_is_printed_whole():
    content = [{"type": "text", "text": "x" * 20_000_000}]
    ran = call("large")
    assert (ran.status, ran.outcome["result"] == {"content": content}) == (0, True)
    plain = run("call", "odd", "--no-journal", *scripted("large"))
    assert (plain.status, plain.out == content[0]["text"] + "\n") == (0, True)


def test_an_answer_above_the_cap_ends_its_request():
    ran = call("large", "--max-message", "1")
    assert (ran.status, ran.outcome["state"]) == (5, "failed")
    (dropped,) = ran.of("oversize")
    assert (dropped["bytes"] > 20_000_000, dropped["id"]) == (True, ran.outcome["id"])


@pytest.mark.parametrize("words", [("call", "odd"), ("tools",)])
async def test_authorization_that_is_missing_later_is_told_with_the_way_out(words: tuple[str, ...]):
    async with HttpScript(served(HANDSHAKE, lambda call: call.respond(401))) as server:
        ran = await running(*words, "--no-journal", server.url)
    assert ran.status == Exit.UNAUTHORIZED
    assert "equires sign-in (HTTP 401)" in ran.err
    assert "or add a token with -H" in ran.err


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
    assert (ran.status, ran.outcome["error"]["code"]) == (5, -32602)
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
