"""Each tool of the demo server, cancelled from the command line: the outcome, its evidence, and the server's own log.

The server's log is the witness for the signal that it received. It lets a tool go on only after that, so what comes late
comes late on any machine; then the server ends, and with it the lingering.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from dataclasses import dataclass
from typing import Any, Final

import pytest

from tests.cli.running import HANDSHAKE, MODERN, Ran, demo_over_http, running
from tests.control import Control

REASON: Final = "too slow"


@dataclass(frozen=True)
class Case:
    """A tool, the steps that it takes after its cancel, and what these leave where they can: kinds and codes."""

    tool: str
    arguments: tuple[str, ...] = ()
    steps: int = 0
    late: tuple[tuple[str, int | None], ...] = ()
    answers: int = 0


CASES: Final = (
    Case("count"),
    Case("stubborn", steps=4, late=(("result", None),), answers=1),
    Case("grumpy", late=(("error", -32800),), answers=1),
    Case("chatty", steps=2, late=(("progress", None),), answers=2),
    Case("silent"),
    Case("racer", ("milliseconds=800",), steps=1, late=(("result", None),), answers=1),
    Case("twice", steps=1, late=(("result", None),), answers=2),
    Case("flood", ("count=2000000",)),
)


async def played(control: Control, transport: str, revision: str, *words: str, linger: str = "600") -> Ran:
    """Run one call against a demo server whose time is the test's."""
    options = ("call", *words, "--protocol", revision, "--json", "--linger", linger)
    if transport == "stdio":
        return await running(*options, "--demo", *control.options)
    async with demo_over_http(None, **control.env) as url:
        return await running(*options, url)


def check_order(ran: Ran) -> None:
    """One JSON object a line, in order of time, the connection first and the outcome last."""
    events = [each["event"] for each in ran.events]
    times = [each["t"] for each in ran.events]
    assert events[0] == "connected"
    assert times == sorted(times)
    assert events.count("sent") == events.count("outcome") == 1
    if "cancel_requested" in events:
        asked, told = events.index("cancel_requested"), events.index("cancel_signalled")
        assert events.index("sent") < asked < told
        assert all(at > asked for at, each in enumerate(events) if each in ("late", "settled"))
        assert "progress" not in events[asked:]


def check_cancelled(ran: Ran, how: str) -> None:
    outcome, delivered = ran.outcome, how == "notification"
    assert ran.status == 7
    assert (outcome["state"], outcome["cause"], outcome["reason"]) == ("cancelled", "user", REASON)
    assert (outcome["signal"], outcome["reason_delivered"]) == (how, delivered)
    assert (outcome["result"], outcome["error"]) == (None, None)
    (requested,) = ran.of("cancel_requested")
    assert (requested["cause"], requested["reason"], requested["id"]) == ("user", REASON, outcome["id"])
    (signalled,) = ran.of("cancel_signalled")
    assert signalled["signal"] == how


async def check_log(outcome: dict[str, Any], tool: str) -> None:
    """The log says of the cancel what the command said."""
    (entry,) = json.loads((await running("log", "--json")).out)
    known = {name: entry[name] for name in outcome.keys() & entry.keys() if name != "watched"}
    assert known == {name: outcome[name] for name in known}
    assert {"id", "cause", "reason", "signal", "delivery", "state", "elapsed", "late"} <= known.keys()
    assert (entry["tool"], entry["method"]) == (tool, "tools/call")
    assert entry["server"].startswith("mcp-tui-demo")


def evidence(tool: str, outcome: dict[str, Any]) -> tuple[tuple[str, int | None], ...]:
    """Kinds and codes of what came late; progress that was on its way when the cancel left counts for `chatty` only."""
    late = [each for each in outcome["late"] if each["kind"] != "progress" or tool == "chatty"]
    return tuple((each["kind"], each.get("code")) for each in late)


@pytest.mark.parametrize(
    ("transport", "revision", "case"),
    [
        *(("stdio", (HANDSHAKE, MODERN)[number % 2], case) for number, case in enumerate(CASES)),
        *(("http", MODERN, case) for case in CASES[:2]),
    ],
    ids=str,
)
async def test_a_cancelled_tool_leaves_its_evidence(
    control: Control, transport: str, revision: str, case: Case
) -> None:
    closes = transport == "http"
    words = (case.tool, *case.arguments, "--cancel-after", "0.2", "--reason", REASON)
    command = asyncio.gather(played(control, transport, revision, *words, linger="0" if closes else "600"))
    seen = await control.came("cancelled", tool=case.tool)
    if not closes:
        control.step(case.tool, case.steps)
        for _ in range(case.answers):
            kind = case.late[0][0]
            await control.came("sent", id=seen["id"], kind=kind)
        os.kill((await control.came("start"))["pid"], signal.SIGTERM)
    (ran,) = await command
    check_order(ran)
    check_cancelled(ran, "stream_closed" if closes else "notification")
    await check_log(ran.outcome, case.tool)
    assert (seen["how"], seen["reason"]) == (("stream_closed", None) if closes else ("notification", REASON))
    assert evidence(case.tool, ran.outcome) == (() if closes else case.late)
    if not closes:
        *_, lost, last = ran.events
        told = {"detail": "server exited with code 143", "after": lost["after"]}
        assert (lost["event"], last["disconnected"]) == ("disconnected", told)
    assert len(ran.of("duplicate")) == (not closes and case.tool == "twice")
    cancels = [each for each in control.events if each.get("method") == "notifications/cancelled"]
    assert len(cancels) == (not closes)


async def test_a_tool_that_answers_before_its_cancel_completes(control: Control) -> None:
    words = ("echo", "text=hi", "--cancel-after", "600")
    ran = await played(control, "stdio", MODERN, *words, linger="0")
    check_order(ran)
    outcome = ran.outcome
    assert ran.status == 0
    assert (outcome["state"], outcome["cause"], outcome["signal"]) == ("completed", None, None)
    assert (outcome["late"], outcome["error"]) == ([], None)
    assert outcome["result"]["content"][0]["type"] == "text"
    assert not ran.of("cancel_requested")


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_research_in_2026_07_28_is_cancelled_as_a_task(control: Control, transport: str) -> None:
    words = ("research", "--cancel-after", "0.2", "--reason", REASON)
    ran = await played(control, transport, MODERN, *words, linger="1")
    check_order(ran)
    check_cancelled(ran, "tasks_cancel")
    assert ran.outcome["late"] == []
    first, *_, last = ran.of("task")
    assert (first["status"], last["status"]) == ("working", "cancelled")
    seen = control.wait("cancelled")
    assert (seen["how"], seen["id"], seen["reason"]) == ("tasks_cancel", first["task_id"], None)
    assert not [each for each in control.events if each.get("method") == "notifications/cancelled"]
