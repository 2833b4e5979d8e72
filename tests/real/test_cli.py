"""Headless mcp-tui against servers that nobody here wrote; what it has to say is what `observed.py` says they do."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from tests.real.commands import ECHOED, ENDS_WITHIN, Event, Ran, argv, echo, environment, mcp_tui
from tests.real.observed import LATENCY, OBSERVED, Case, Heartbeat, Transport, until
from tests.real.registry import EVERYTHING_THROUGH_NPX, MODERN, SERVERS_BY_NAME, Server
from tests.servers.stdio_scripted import processes

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

SECONDS = 1.2  # the work that is asked for, in steps of a tenth
STEPS = 12
CANCEL_AFTER = 0.4
LINGER = 1.6  # long enough for the work to end, and its result to come
REASON = "too slow for me"
IDLE = 0.5

COMPLETED, UNREACHABLE, TIMED_OUT, CANCELLED = 0, 4, 6, 7


Reached = Callable[[str, tuple[str, ...], Transport], str | tuple[str, ...]]


@pytest.fixture(scope="module")
def reached() -> Generator[Reached]:
    """How to reach a server: its command line, or over HTTP the URL of one process that serves the whole module."""
    with ExitStack() as stack:

        @cache
        def serve(server: str, flags: tuple[str, ...]) -> str:
            return stack.enter_context(needs(server).serve(*flags))

        def reach(server: str, flags: tuple[str, ...], transport: Transport) -> str | tuple[str, ...]:
            return (*needs(server).stdio, *flags) if transport == "stdio" else serve(server, flags)

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
    ran = mcp_tui("call", case.tool, *arguments, "--json", "--protocol", case.revision, *options, on=on)
    if case.transport == "http":
        following = mcp_tui(*echo(SERVERS_BY_NAME[case.server]), on=on)
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
    seen, heartbeat = OBSERVED[case], Heartbeat(tmp_path / "heartbeat")
    words = ("--cancel-after", str(CANCEL_AFTER), "--reason", REASON, "--linger", str(LINGER))
    ran = call(case, reached, heartbeat.path, *words)
    outcome = ran.outcome
    assert ran.status == CANCELLED
    assert (outcome["state"], outcome["cause"], outcome["reason"]) == ("cancelled", "user", REASON)
    assert outcome["result"] is outcome["error"] is None
    assert CANCEL_AFTER <= outcome["elapsed"] < SECONDS

    assert outcome["signal"] == case.signal
    assert outcome["reason_delivered"] == (case.signal == "notification")
    requested, signalled = ran.events("cancel_requested", "cancel_signalled")
    assert (requested["event"], requested["reason"]) == ("cancel_requested", REASON)
    assert (signalled["event"], signalled["signal"]) == ("cancel_signalled", case.signal)

    assert answers(outcome) == expected_answers(case)
    assert (late_progress(outcome) > LATENCY) == seen.progress
    if case.signal == "stream_closed":
        assert outcome["late"] == []
    assert len(ran.events("late")) == len(answers(outcome)) + late_progress(outcome)

    if case.server == "everything":
        assert len(ran.events("progress")) + late_progress(outcome) == STEPS
    else:
        assert (" done\n" in heartbeat.text()) == seen.ran_on


@pytest.mark.parametrize("case", [each for each in OBSERVED if each.tool == "blocking"], ids=str)
def test_a_tool_that_blocks_times_out(case: Case, reached: Reached, tmp_path: Path):
    ran = call(case, reached, tmp_path / "heartbeat", "--timeout", str(IDLE), "--linger", str(LINGER))
    outcome = ran.outcome
    assert ran.status == TIMED_OUT
    assert (outcome["state"], outcome["cause"], outcome["signal"]) == ("timed_out", "timeout", case.signal)
    assert f"{IDLE:g} s" in outcome["reason"]
    assert IDLE <= outcome["elapsed"] < SECONDS
    assert outcome["result"] is outcome["error"] is None
    assert answers(outcome) == expected_answers(case)


GOOD = ("cooperative", "trigger-long-running-operation")


@pytest.mark.parametrize("case", [each for each in OBSERVED if each.tool in GOOD and not each.flags], ids=str)
def test_a_call_that_nobody_cancels_completes(case: Case, reached: Reached, tmp_path: Path):
    ran = call(case, reached, tmp_path / "heartbeat", "--timeout", "1")
    outcome = ran.outcome
    assert (ran.status, outcome["state"]) == (COMPLETED, "completed")
    begins = "Long running operation completed" if case.server == "everything" else case.tool
    assert outcome["result"]["content"][0]["text"].startswith(begins)
    assert (outcome["late"], outcome["cause"], outcome["signal"], outcome["error"]) == ([], None, None, None)
    # timers of Node may fire a few milliseconds early, once a step
    assert outcome["elapsed"] >= SECONDS - 0.1
    assert [event["progress"] for event in ran.events("progress")] == [*range(1, STEPS + 1)]
    (connected,) = ran.events("connected")
    assert connected["revision"] == case.revision


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("server", SERVERS_BY_NAME)
def test_info_tells_the_newest_revision_and_others_are_refused(
    server: str, transport: Transport, reached: Reached
):
    on, revisions = reached(server, (), transport), SERVERS_BY_NAME[server].revisions
    ran = mcp_tui("info", "--json", on=on)
    told = json.loads(ran.out)
    assert (ran.status, ran.err) == (COMPLETED, "")
    assert (told["transport"], told["revision"]) == (transport, revisions[-1])
    assert told["server"]["name"]
    assert "tools" in told["capabilities"]
    if MODERN not in revisions:
        refused = mcp_tui("info", "--protocol", MODERN, on=on)
        assert (refused.status, refused.out) == (UNREACHABLE, "")
        assert "No common protocol version" in refused.err
        assert refused.err.count("\n") == 1


KILLS = 2


def test_a_client_that_is_killed_leaves_no_server_of_npx_behind(tmp_path: Path):
    needs("everything")
    # stands in every command line: the client's, the guard's, the wrapper's, the server's
    mark = str(tmp_path / "mark")
    words = "call", "trigger-long-running-operation", "duration=60", "steps=300", "--json"
    for _ in range(KILLS):
        with subprocess.Popen(
            argv(*words, on=(*EVERYTHING_THROUGH_NPX, mark)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(tmp_path),
        ) as client:
            assert client.stdout is not None
            assert any(b'"progress"' in line for line in client.stdout)
            assert len(processes(mark)) >= 4
            client.send_signal(signal.SIGKILL)
            client.wait()
        assert until(lambda: not processes(mark), ENDS_WITHIN), processes(mark)
