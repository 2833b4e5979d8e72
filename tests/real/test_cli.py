"""Headless mcp-tui against servers that nobody here wrote; what it has to say is what `observed.py` says they do."""

from __future__ import annotations

import json
import signal
import subprocess
import tempfile
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real.commands import ECHOED, ENDS_WITHIN, Event, Ran, argv, echo, environment, mcp_tui
from tests.real.observed import LATENCY, OBSERVED, Case, Heartbeat, Transport, until
from tests.real.registry import EVERYTHING_THROUGH_NPX, MODERN, SERVERS_BY_NAME, Server
from tests.servers.stdio_scripted import processes

pytestmark = pytest.mark.real

AT_ONCE = 2  # nearly all of a cancelled call is waiting

SECONDS = 1.2  # the work that is asked for, in steps of a tenth
STEPS = 12
CANCEL_AFTER = 0.4
LINGER = 1.6  # long enough for the work to end, and its result to come
REASON = "too slow for me"
IDLE = 0.5

COMPLETED, UNREACHABLE, TIMED_OUT, CANCELLED = 0, 4, 6, 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Errand:
    """A command to run on a server. In `words`, HEARTBEAT stands for the file that the tool is to write.

    `then` says that on the same server, still running, `echo` is called by a second command. `case` is the
    observation that tells what will be seen.
    """

    server: str
    transport: Transport
    words: tuple[str, ...]
    flags: tuple[str, ...] = ()
    then: bool = False
    case: Case | None = None

    def __str__(self) -> str:
        return str(self.case) if self.case else " ".join((self.server, *self.flags, self.transport))

    @property
    def way(self) -> tuple[str, tuple[str, ...], str]:
        return self.server, self.flags, self.transport


@dataclass(frozen=True, slots=True)
class Done:
    """An errand that was run: its command, the second one, and the heartbeat file."""

    ran: Ran
    following: Ran | None
    heartbeat: str


Errands = dict[Errand, Future[Done]]


def call(case: Case, *options: str) -> tuple[str, ...]:
    """The words that call the slow tool of a case."""
    if case.server == "everything":
        arguments = f"duration={SECONDS}", f"steps={STEPS}"
    else:
        arguments = f"seconds={SECONDS}", "heartbeat=HEARTBEAT"
    return "call", case.tool, *arguments, "--json", "--protocol", case.revision, *options


def run(errand: Errand, on: str | tuple[str, ...]) -> Done:
    server = SERVERS_BY_NAME[errand.server]
    with tempfile.TemporaryDirectory() as folder:
        heartbeat = Heartbeat(Path(folder) / "heartbeat")
        ran = mcp_tui(*(word.replace("HEARTBEAT", str(heartbeat.path)) for word in errand.words), on=on)
        following = mcp_tui(*echo(server), on=on) if errand.then else None
        return Done(ran, following, heartbeat.text())


def run_all(errands: dict[Errand, Future[Done]]) -> None:
    """Run errands that reach the same server the same way, one after the other; over HTTP all on one process."""
    first = next(iter(errands))
    server = SERVERS_BY_NAME[first.server]
    reached = (
        nullcontext((*server.stdio, *first.flags))
        if first.transport == "stdio"
        else server.serve(*first.flags)
    )
    try:
        with reached as on:
            for errand, future in errands.items():
                try:
                    future.set_result(run(errand, on))
                except Exception as error:  # noqa: BLE001 - it is the test's that asks for this errand
                    future.set_exception(error)
    except RuntimeError as error:
        for future in errands.values():
            if not future.done():
                future.set_exception(error)


@pytest.fixture(scope="module")
def errands(request: pytest.FixtureRequest) -> Generator[Errands]:
    """The errands of this run, under way: those to different servers at the same time."""
    specs = [
        item.callspec
        for item in request.session.items
        if isinstance(item, pytest.Function) and hasattr(item, "callspec") and item.path == request.path
    ]
    asked = [errand for spec in specs if isinstance(errand := spec.params.get("errand"), Errand)]
    futures: Errands = {errand: Future() for errand in asked if not SERVERS_BY_NAME[errand.server].missing()}
    by_way: dict[tuple[str, tuple[str, ...], str], Errands] = {}
    for errand, future in futures.items():
        by_way.setdefault(errand.way, {})[errand] = future
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for group in by_way.values():
            pool.submit(run_all, group)
        yield futures
        pool.shutdown(cancel_futures=True)


def needs(server: str) -> Server:
    found = SERVERS_BY_NAME[server]
    if reason := found.missing():
        pytest.skip(reason)
    return found


def done(errands: Errands, errand: Errand) -> Done:
    needs(errand.server)
    return errands[errand].result(ENDS_WITHIN * 10)


def only(events: Iterable[Event]) -> Event:
    (event,) = events
    return event


def answers(outcome: Event) -> list[tuple[str, int | None]]:
    """What came late and is no progress: kinds, with the codes of errors."""
    return [(it["kind"], it.get("code")) for it in outcome["late"] if it["kind"] != "progress"]


def late_progress(outcome: Event) -> int:
    return sum(it["count"] for it in outcome["late"] if it["kind"] == "progress")


def expected_answers(case: Case) -> list[tuple[str, int | None]]:
    """The words of an observation, as the command line tells them."""
    word, _, code = OBSERVED[case].answer.partition(" ")
    return [] if word == "silent" else [(word, int(code) if code else None)]


# -- a cancel ----------------------------------------------------------------------------------------------------

CANCELS = [
    Errand(
        server=case.server,
        transport=case.transport,
        flags=case.flags,
        words=call(case, "--cancel-after", str(CANCEL_AFTER), "--reason", REASON, "--linger", str(LINGER)),
        then=case.transport == "http",
        case=case,
    )
    for case in OBSERVED
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("errand", CANCELS, ids=str)
def test_a_cancel_is_told_as_it_was_seen_to_end(errand: Errand, errands: Errands):
    assert errand.case is not None
    case, seen = errand.case, OBSERVED[errand.case]
    it = done(errands, errand)
    outcome = it.ran.outcome
    assert it.ran.status == CANCELLED
    assert (outcome["state"], outcome["cause"], outcome["reason"]) == ("cancelled", "user", REASON)
    assert outcome["result"] is outcome["error"] is None
    assert CANCEL_AFTER <= outcome["elapsed"] < SECONDS

    assert outcome["signal"] == case.signal
    assert outcome["reason_delivered"] == (case.signal == "notification")
    requested, signalled = it.ran.events("cancel_requested", "cancel_signalled")
    assert (requested["event"], requested["reason"]) == ("cancel_requested", REASON)
    assert (signalled["event"], signalled["signal"]) == ("cancel_signalled", case.signal)

    assert answers(outcome) == expected_answers(case)
    assert (late_progress(outcome) > LATENCY) == seen.progress
    if case.signal == "stream_closed":
        assert outcome["late"] == []
    told = it.ran.events("late")
    assert len(told) == len(answers(outcome)) + late_progress(outcome)

    if case.server == "everything":
        assert len(it.ran.events("progress")) + late_progress(outcome) == STEPS
    else:
        assert (" done\n" in it.heartbeat) == seen.ran_on
    if it.following is not None:
        assert (it.following.status, it.following.out.count(ECHOED)) == (COMPLETED, 1), it.following


# -- a timeout ---------------------------------------------------------------------------------------------------

TIMEOUTS = [
    Errand(
        server=case.server,
        transport=case.transport,
        words=call(case, "--timeout", str(IDLE), "--linger", str(LINGER)),
        then=case.transport == "http",
        case=case,
    )
    for case in OBSERVED
    if case.tool == "blocking"
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("errand", TIMEOUTS, ids=str)
def test_a_tool_that_blocks_times_out(errand: Errand, errands: Errands):
    assert errand.case is not None
    it = done(errands, errand)
    outcome = it.ran.outcome
    assert it.ran.status == TIMED_OUT
    assert (outcome["state"], outcome["cause"]) == ("timed_out", "timeout")
    assert f"{IDLE:g} s" in outcome["reason"]
    assert outcome["signal"] == errand.case.signal
    assert IDLE <= outcome["elapsed"] < SECONDS
    assert outcome["result"] is outcome["error"] is None
    assert answers(outcome) == expected_answers(errand.case)
    if it.following is not None:
        assert (it.following.status, it.following.out.count(ECHOED)) == (COMPLETED, 1), it.following


# -- no cancel ---------------------------------------------------------------------------------------------------

COMPLETIONS = [
    Errand(server=case.server, transport=case.transport, words=call(case, "--timeout", "1"), case=case)
    for case in OBSERVED
    if case.tool in ("cooperative", "trigger-long-running-operation") and not case.flags
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("errand", COMPLETIONS, ids=str)
def test_a_call_that_nobody_cancels_completes(errand: Errand, errands: Errands):
    assert errand.case is not None
    it = done(errands, errand)
    outcome = it.ran.outcome
    assert (it.ran.status, outcome["state"]) == (COMPLETED, "completed")
    text = outcome["result"]["content"][0]["text"]
    assert text.startswith(
        "Long running operation completed" if errand.server == "everything" else errand.case.tool
    )
    assert (outcome["late"], outcome["cause"], outcome["signal"], outcome["error"]) == ([], None, None, None)
    # timers of Node may fire a few milliseconds early, once a step
    assert outcome["elapsed"] >= SECONDS - 0.1
    steps = [event["progress"] for event in it.ran.events("progress")]
    assert steps == [*range(1, STEPS + 1)]
    assert only(it.ran.events("connected"))["revision"] == errand.case.revision


WAYS: list[tuple[str, Transport]] = [
    (name, transport) for name in SERVERS_BY_NAME for transport in ("stdio", "http")
]


def on_each(ways: list[tuple[str, Transport]], *words: str) -> pytest.MarkDecorator:
    made = [Errand(server=name, transport=transport, words=words) for name, transport in ways]
    return pytest.mark.parametrize("errand", made, ids=str)


@pytest.mark.timeout(600)
@on_each(WAYS, "info", "--json")
def test_info_tells_the_newest_revision_that_the_server_speaks(errand: Errand, errands: Errands):
    ran = done(errands, errand).ran
    told = json.loads(ran.out)
    assert (ran.status, ran.err) == (COMPLETED, "")
    assert (told["transport"], told["revision"]) == (
        errand.transport,
        SERVERS_BY_NAME[errand.server].revisions[-1],
    )
    assert told["server"]["name"]
    assert "tools" in told["capabilities"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "errand",
    [
        Errand(server=name, transport=transport, words=("info", "--protocol", MODERN))
        for name, transport in WAYS
        if MODERN not in SERVERS_BY_NAME[name].revisions
    ],
    ids=str,
)
def test_a_revision_that_a_server_does_not_speak_is_refused_in_one_sentence(errand: Errand, errands: Errands):
    ran = done(errands, errand).ran
    assert (ran.status, ran.out) == (UNREACHABLE, "")
    assert "No common protocol version" in ran.err
    assert ran.err.count("\n") == 1


# -- processes ---------------------------------------------------------------------------------------------------

KILLS = 2
EVERYTHING = SERVERS_BY_NAME["everything"].stdio
WRAPPED = {
    "npx": EVERYTHING_THROUGH_NPX,
    "shell": ("sh", "-c", '"$@"; exit $?', "sh", *EVERYTHING),
    "shell of a shell": ("sh", "-c", 'sh -c \'"$@"; exit $?\' sh "$@"; exit $?', "sh", *EVERYTHING),
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("wrapper", WRAPPED)
def test_a_client_that_is_killed_leaves_no_server_behind(wrapper: str, tmp_path: Path):
    needs("everything")
    mark = str(
        tmp_path / "mark"
    )  # stands in every command line: the client's, the guard's, wrappers', the server's
    words = "call", "trigger-long-running-operation", "duration=60", "steps=300", "--json"
    for _ in range(KILLS):
        with subprocess.Popen(
            argv(*words, on=(*WRAPPED[wrapper], mark)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(tmp_path),
        ) as client:
            assert client.stdout is not None
            assert any(b'"progress"' in line for line in client.stdout)
            assert len(processes(mark)) >= 4  # the client, the guard, the wrapper, the server
            client.send_signal(signal.SIGKILL)
            client.wait()
        assert until(lambda: not processes(mark), ENDS_WITHIN), processes(mark)
