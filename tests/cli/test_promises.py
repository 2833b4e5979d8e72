"""``call`` holds a structured result to the output schema of its tool, and says what differs; the status stays."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mcp_tui.cli.status import Exit
from tests.cli.running import SERVERS, Ran, run

Call = Callable[..., Ran]

TEXT: list[dict[str, Any]] = [{"type": "text", "text": "said"}]


@pytest.fixture
def call(tmp_path: Path) -> Call:
    """Call a tool that answers what it is told to."""

    def called(result: dict[str, Any], *options: str) -> Ran:
        (tmp_path / "result.json").write_text(json.dumps(result), encoding="utf-8")
        server = (sys.executable, "-S", str(SERVERS / "promising_server.py"), str(tmp_path / "result.json"))
        return run("call", "odd", *options, "--", *server)

    return called


@pytest.mark.parametrize(
    ("result", "detail"),
    [
        (
            {"content": TEXT, "structuredContent": {"n": "many"}},
            'odd: n: "many" is not of type "number"',
        ),
        ({"content": TEXT, "structuredContent": {}}, "odd: n: is required"),
        ({"content": TEXT}, "odd: there is no structured content, and the tool promised some"),
    ],
)
def test_what_was_not_promised_is_told_on_stderr_and_as_an_event_and_the_status_stays(
    call: Call, result: dict[str, Any], detail: str
):
    ran = call(result, "--no-journal")
    assert (ran.status, ran.out) == (Exit.COMPLETED, "said\n")
    told, done = ran.err.splitlines()
    assert told == f"violation: output-schema: {detail}"
    assert done.startswith("completed after")

    ran = call(result, "--no-journal", "--json")
    assert (ran.status, ran.err) == (Exit.COMPLETED, "")
    (violation,) = ran.of("violation")
    assert (violation["rule"], violation["detail"]) == ("output-schema", detail)
    assert violation["id"] == ran.outcome["id"]
    assert ran.outcome["result"] == result


def test_the_first_of_several_differences_is_told_with_the_number_of_the_others(call: Call):
    ran = call({"content": TEXT, "structuredContent": {"n": "many", "unit": 3}}, "--no-journal")
    assert "is not of type" in ran.err
    assert "(and 1 more)" in ran.err


def test_a_large_result_is_held_to_its_promise_and_the_journal_has_it(call: Call, tmp_path: Path):
    result = {"content": TEXT, "structuredContent": {"n": "x" * 1_000_000}}
    ran = call(result, "--json", "--record", str(tmp_path / "session.jsonl"))
    assert [each["rule"] for each in ran.of("violation")] == ["output-schema"]
    assert "output-schema" in (tmp_path / "session.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ({"content": TEXT, "structuredContent": {"n": 4}}, Exit.COMPLETED),
        ({"content": TEXT, "isError": True}, Exit.SERVER_ERROR),
    ],
)
def test_what_was_promised_and_an_error_break_nothing(call: Call, result: dict[str, Any], status: Exit):
    ran = call(result, "--no-journal", "--json")
    assert ran.status == status
    assert ran.of("violation") == []
    assert ran.err == ""


def test_a_hostile_value_reaches_the_terminal_cleaned(call: Call):
    ran = call({"content": TEXT, "structuredContent": {"n": "\x1b[2J\u202e"}}, "--no-journal")
    assert "violation: output-schema" in ran.err
    assert "\x1b" not in ran.err
    assert "\u202e" not in ran.err
