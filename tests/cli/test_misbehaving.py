"""Servers that break the rules: each is shown for what it is, nothing hangs, and the next call of the session works."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcp_tui.client import Client, ClientSettings, StdioTarget
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.events import Limits
from mcp_tui.protocol.requests import State
from tests.cli.running import HANG, Ran, running, scripted


def result_text(ran: Ran) -> str:
    return ran.outcome["result"]["content"][0]["text"]


async def call_odd(mode: str, *options: str) -> Ran:
    return await running("call", "odd", "--json", "--no-journal", *options, *scripted(mode))


@pytest.mark.parametrize(
    ("mode", "status", "state", "told"),
    [
        ("pollution", 0, "completed", {"event": "pollution", "line": "not json"}),
        ("invalid", 5, "failed", {"event": "violation", "rule": "malformed-response"}),
        ("surrogate", 0, "completed", {"event": "connected"}),
        ("stringly", 0, "completed", {"event": "violation", "rule": "response-id-type"}),
        ("unknown", 0, "completed", {"event": "unknown", "response_id": 987654, "kind": "result"}),
        (
            "monstrous",
            0,
            "completed",
            {"event": "unknown", "response_id": "a number out of range", "kind": "result"},
        ),
        ("exits", 8, "lost", {"event": "stderr", "line": "out of cheese"}),
        ("both", 5, "failed", {"event": "violation", "rule": "malformed-response"}),
        ("nameless", 5, "failed", {"event": "connected"}),
        ("strange_progress", 0, "completed", {"event": "violation", "rule": "unknown-progress-token"}),
        ("numbers", 0, "completed", {"event": "connected"}),
        ("refuses", 5, "failed", {"event": "connected"}),
        ("tool_error", 5, "completed", {"event": "connected"}),
        ("worded_error", 5, "completed", {"event": "violation", "rule": "malformed-result"}),
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


async def test_what_the_errors_say():
    exits, both, nameless, refuses = await asyncio.gather(
        *(call_odd(mode) for mode in ("exits", "both", "nameless", "refuses"))
    )
    assert exits.outcome["error"] == {"code": None, "message": "server exited (code 7)"}
    assert both.outcome["error"]["code"] == -1
    assert nameless.outcome["error"] == {"code": -32700, "message": "I could not read that"}
    assert refuses.outcome["error"]["message"] == "\x1b[31mno\x1b[0m\u202e way"
    assert refuses.out.isascii()
    assert "\x1b" not in refuses.out


async def test_a_hostile_error_reaches_the_terminal_cleaned():
    ran = await running("call", "odd", "--no-journal", *scripted("refuses"))
    assert ran.status == 5
    assert "error -32000" in ran.err
    assert "\x1b" not in ran.err + ran.out
    assert "\u202e" not in ran.err + ran.out


async def test_twenty_megabytes_arrive_whole():
    ran = await call_odd("large")
    assert result_text(ran) == "x" * 20_000_000


async def test_numbers_that_json_does_not_have_are_printed_as_text():
    ran = await call_odd("numbers")
    assert ran.outcome["result"]["n"][:2] == ["nan", "inf"]


async def test_an_answer_above_the_cap_ends_its_request():
    ran = await call_odd("large", "--max-message", "1")
    assert ran.status == 5
    (dropped,) = ran.of("oversize")
    assert dropped["bytes"] > 20_000_000
    assert dropped["id"] == ran.outcome["id"]
    assert ran.outcome["state"] == "failed"
    assert ran.outcome["elapsed"] < HANG


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
    assert f"late response of {late['bytes']:,} bytes, too large to be read" in told.err
    assert "late error" not in told.err


async def test_an_answer_above_the_cap_is_known_by_the_id_behind_it_while_others_wait():
    settings = ClientSettings(max_message=1_000_000, grace=0.1)
    client = Client(StdioTarget(command=tuple(scripted("id_last")[1:])), settings)
    async with asyncio.timeout(HANG):
        await client.connect()
        try:
            waiting, odd = client.call("nothing/like/it", {}), client.call_tool("odd", {})
            await client.wait(odd)
            row, other = client.book.get(odd), client.book.get(waiting)
        finally:
            await client.close()
    assert row is not None
    assert other is not None
    assert (row.state, row.rule) == (State.FAILED, "oversize")
    assert other.state is not State.FAILED


async def test_a_second_answer_is_a_duplicate():
    ran = await call_odd("duplicate", "--linger", "0.5")
    assert ran.status == 0
    (second,) = ran.of("duplicate")
    assert second["kind"] == "result"
    assert result_text(ran) == "first"


async def test_no_answer_ends_by_the_timeout():
    ran = await call_odd("never", "--timeout", "0.3", "--linger", "0")
    assert ran.status == 6
    assert ran.outcome["cause"] == "timeout"


@pytest.mark.parametrize(
    "mode",
    [
        "both",
        "duplicate",
        "invalid",
        "large",
        "nameless",
        "never",
        "numbers",
        "pollution",
        "refuses",
        "strange_progress",
        "stringly",
        "surrogate",
        "unknown",
    ],
)
async def test_the_next_call_works(mode: str):
    settings = ClientSettings(
        limits=Limits(timeout=0.3, max_timeout=None)
        if mode == "never"
        else Limits(timeout=30, max_timeout=None),
        max_message=1_000_000,
        grace=0.1,
    )
    client = Client(StdioTarget(command=tuple(scripted(mode)[1:])), settings)
    told: list[ev.Event] = []
    client.listen(told.append)
    async with asyncio.timeout(HANG):
        await client.connect()
        try:
            odd = client.call_tool("odd", {})
            await client.wait(odd)
            assert client.connected
            good = client.call_tool("ok", {})
            frame = await client.wait(good)
        finally:
            await client.close()
    assert frame is not None
    assert frame.result["content"][0]["text"] == "ok"
    row = client.book.get(good)
    assert row is not None
    assert row.state is State.COMPLETED
    first = client.book.get(odd)
    assert first is not None
    assert not first.open


async def test_nobody_listens_on_to_a_server_that_is_gone():
    ran = await call_odd("exits", "--linger", "600")
    assert (ran.status, ran.outcome["state"]) == (8, "lost")
