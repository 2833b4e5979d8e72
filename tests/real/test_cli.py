"""Headless mcp-tui against servers that nobody here wrote; what it has to say is what `observed.py` says they do."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import MCP_TUI, Ran, run
from tests.real.observed import LATENCY, OBSERVED
from tests.real.registry import EVERYTHING_THROUGH_NPX, MODERN, SERVERS_BY_NAME, Case, Server
from tests.servers.stdio_scripted import processes
from tests.waiting import until

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

SECONDS = 1.2  # the work that is asked for, in steps of a tenth
STEPS = 12
CANCEL_AFTER = 0.4
LINGER = 1.6  # long enough for the work to end, and its result to come
REASON = "too slow for me"
ECHOED = "still there?"

COMPLETED, UNREACHABLE, CANCELLED = 0, 4, 7

Event = dict[str, Any]
Reached = Callable[[str, tuple[str, ...], str], tuple[str, ...]]


@pytest.fixture(scope="module")
def reached() -> Generator[Reached]:
    """The words that name a server: its command line, or over HTTP the URL of one process that serves the whole module."""
    with ExitStack() as stack:

        @cache
        def serve(server: str, flags: tuple[str, ...]) -> str:
            return stack.enter_context(needs(server).serve(*flags))

        def reach(server: str, flags: tuple[str, ...], transport: str) -> tuple[str, ...]:
            return ("--", *needs(server).stdio) if transport == "stdio" else (serve(server, flags),)

        yield reach


def needs(server: str) -> Server:
    found = SERVERS_BY_NAME[server]
    if reason := found.missing():
        pytest.skip(reason)
    return found


def call(case: Case, reached: Reached, heartbeat: Path, *options: str) -> Ran:
    """Call the slow tool of a case; over HTTP the same process still answers afterwards."""
    on = reached(case.server, case.flags, case.transport)
    if case.server == "everything":
        arguments = f"duration={SECONDS}", f"steps={STEPS}"
    else:
        arguments = f"seconds={SECONDS}", f"heartbeat={heartbeat}"
    ran = run("call", case.tool, *arguments, "--json", "--protocol", case.revision, *options, *on)
    if case.transport == "http":
        following = run(
            "call", "echo", f"{'message' if case.server == 'everything' else 'text'}={ECHOED}", *on
        )
        assert (following.status, following.out.count(ECHOED)) == (COMPLETED, 1), following
    return ran


def answers(outcome: Event) -> list[tuple[str, int | None]]:
    """What came late and is no progress: kinds, with the codes of errors."""
    return [(it["kind"], it.get("code")) for it in outcome["late"] if it["kind"] != "progress"]


def late_progress(outcome: Event) -> int:
    return sum(it["count"] for it in outcome["late"] if it["kind"] == "progress")


def expected_answers(case: Case) -> list[tuple[str, int | None]]:
    """The words of an observation, as the command line tells them."""
    word, _, code = OBSERVED[case].answer.partition(" ")
    return [] if word == "silent" else [(word, int(code) if code else None)]


@pytest.mark.parametrize("case", OBSERVED, ids=str)
def test_a_cancel_is_told_as_it_was_seen_to_end(case: Case, reached: Reached, tmp_path: Path):
    seen, heartbeat = OBSERVED[case], tmp_path / "heartbeat"
    words = ("--cancel-after", str(CANCEL_AFTER), "--reason", REASON, "--linger", str(LINGER))
    ran = call(case, reached, heartbeat, *words)
    outcome = ran.outcome
    assert ran.status == CANCELLED
    assert (outcome["state"], outcome["cause"], outcome["reason"]) == ("cancelled", "user", REASON)
    assert outcome["result"] is outcome["error"] is None
    assert CANCEL_AFTER <= outcome["elapsed"] < SECONDS

    signal = "stream_closed" if case.closes else "notification"
    assert outcome["signal"] == signal
    assert outcome["reason_delivered"] != case.closes
    (requested,), (signalled,) = ran.of("cancel_requested"), ran.of("cancel_signalled")
    assert (requested["reason"], signalled["signal"]) == (REASON, signal)

    assert answers(outcome) == expected_answers(case)
    assert (late_progress(outcome) > LATENCY) == seen.progress
    if case.closes:
        assert outcome["late"] == []
    assert len(ran.of("late")) == len(answers(outcome)) + late_progress(outcome)

    if case.server == "everything":
        assert len(ran.of("progress")) + late_progress(outcome) == STEPS
    else:
        assert (" done\n" in heartbeat.read_text()) == seen.ran_on


GOOD = ("cooperative", "trigger-long-running-operation")


@pytest.mark.parametrize("case", [each for each in OBSERVED if each.tool in GOOD and not each.mode], ids=str)
def test_a_call_that_nobody_cancels_completes(case: Case, reached: Reached, tmp_path: Path):
    ran = call(case, reached, tmp_path / "heartbeat", "--timeout", "1")
    outcome = ran.outcome
    assert (ran.status, outcome["state"]) == (COMPLETED, "completed")
    begins = "Long running operation completed" if case.server == "everything" else case.tool
    assert outcome["result"]["content"][0]["text"].startswith(begins)
    assert (outcome["late"], outcome["cause"], outcome["signal"], outcome["error"]) == ([], None, None, None)
    # timers of Node may fire a few milliseconds early, once a step
    assert outcome["elapsed"] >= SECONDS - 0.1
    assert [event["progress"] for event in ran.of("progress")] == [*range(1, STEPS + 1)]
    (connected,) = ran.of("connected")
    assert connected["revision"] == case.revision


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("server", SERVERS_BY_NAME)
def test_info_tells_the_newest_revision_and_others_are_refused(server: str, transport: str, reached: Reached):
    on, revisions = reached(server, (), transport), SERVERS_BY_NAME[server].revisions
    ran = run("info", "--json", *on)
    told = json.loads(ran.out)
    assert (ran.status, ran.err) == (COMPLETED, "")
    assert (told["transport"], told["revision"]) == (transport, revisions[-1])
    assert told["server"]["name"]
    assert "tools" in told["capabilities"]
    if MODERN not in revisions and transport == "http":  # where the server runs already
        refused = run("info", "--protocol", MODERN, *on)
        assert (refused.status, refused.out) == (UNREACHABLE, "")
        assert "No common protocol version" in refused.err
        assert refused.err.count("\n") == 1


KILLS = 2


async def test_a_client_that_is_killed_leaves_no_server_of_npx_behind(tmp_path: Path):
    needs("everything")
    # stands in every command line: the client's, the guard's, the wrapper's, the server's
    mark = str(tmp_path / "mark")
    words = "call", "trigger-long-running-operation", "duration=60", "steps=300", "--json"
    for _ in range(KILLS):
        with subprocess.Popen(
            [*MCP_TUI, *words, "--", *EVERYTHING_THROUGH_NPX, mark],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as client:
            assert client.stdout is not None
            assert any(b'"progress"' in line for line in client.stdout)
            assert len(processes(mark)) >= 4
            client.send_signal(signal.SIGKILL)
            client.wait()
        await until(lambda: not processes(mark), lambda: str(processes(mark)))
