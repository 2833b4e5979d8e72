"""Servers that break the rules, as the command line tells of them; ``tests/faults`` has many more."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.cli.running import HANG, Ran, running, scripted


async def call_odd(mode: str, *options: str) -> Ran:
    return await running("call", "odd", "--json", "--no-journal", *options, *scripted(mode))


@pytest.mark.parametrize(
    ("mode", "status", "state", "told"),
    [
        ("pollution", 0, "completed", {"event": "pollution", "line": "not json"}),
        ("invalid", 5, "failed", {"event": "violation", "rule": "malformed-response"}),
        (
            "monstrous",
            0,
            "completed",
            {"event": "unknown", "response_id": "a number out of range", "kind": "result"},
        ),
        ("exits", 8, "lost", {"event": "stderr", "line": "out of cheese"}),
        ("refuses", 5, "failed", {"event": "connected"}),
        ("tool_error", 5, "completed", {"event": "connected"}),
        ("large", 0, "completed", {"event": "connected"}),
    ],
)
async def test_each_is_shown_for_what_it_is(mode: str, status: int, state: str, told: dict[str, Any]):
    ran = await call_odd(mode)
    assert ran.status == status
    assert ran.err == ""
    assert ran.outcome["state"] == state
    assert [each for each in ran.events if told.items() <= each.items()]
    assert (ran.outcome["error"] is None) == (state == "completed")
    if state != "completed":
        assert ran.outcome["result"] is None


async def test_an_error_without_an_id_belongs_to_the_connection_and_answers_no_call():
    ran = await call_odd("nameless", "--timeout", "0.3")
    assert (ran.status, ran.outcome["state"]) == (6, "timed_out")
    (unknown,) = ran.of("unknown")
    assert (unknown["response_id"], unknown["id_type"], unknown["code"]) == (None, "null", -32700)


async def test_a_hostile_error_reaches_the_terminal_cleaned():
    ran = await running("call", "odd", "--no-journal", *scripted("refuses"))
    assert ran.status == 5
    assert "error -32000" in ran.err
    assert "\x1b" not in ran.err + ran.out
    assert "\u202e" not in ran.err + ran.out


async def test_an_answer_above_the_cap_ends_its_request():
    ran = await call_odd("large", "--max-message", "1")
    assert ran.status == 5
    (dropped,) = ran.of("oversize")
    assert dropped["bytes"] > 20_000_000
    assert dropped["id"] == ran.outcome["id"]
    assert ran.outcome["state"] == "failed"
    assert ran.outcome["elapsed"] < HANG


@pytest.mark.slow
async def test_a_late_answer_above_the_cap_is_no_error_but_one_that_was_too_large():
    words = ("--max-message", "1", "--cancel-after", "0.1", "--linger", "20")
    ran, told = await asyncio.gather(
        call_odd("late_large", *words),
        running("call", "odd", "--no-journal", *words, *scripted("late_large")),
    )
    assert ran.status == told.status == 7
    (late,) = ran.of("late")
    assert (late["kind"], late["bytes"] > 20_000_000) == ("oversize", True)
    assert ran.outcome["late"] == [{key: late[key] for key in ("kind", "after", "bytes")}]
    assert ran.outcome["error"] is None
    assert "late message, too large (20.0 MB) at +" in told.err
    assert "late error" not in told.err
