"""Each tool of the demo server, cancelled from the command line: the outcome, its evidence, and the server's own log.

The server's log is the witness for the signal that it received; nothing the client does writes there.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.cli.running import HANDSHAKE, MODERN, Ran, demo_over_http, logged, running

AFTER: Final = 0.4
LINGER: Final = 0.8
AT_ONCE: Final = 4
"""Commands that run at the same time."""


@dataclass(frozen=True)
class Case:
    """A tool, and what comes of it when it is cancelled after :data:`AFTER` seconds.

    ``late`` are the kinds and codes that a notification leaves behind; where the stream is closed nothing can come.
    """

    tool: str
    arguments: tuple[str, ...] = ()
    completes: bool = False
    late: tuple[tuple[str, int | None], ...] = ()
    ends: str | None = None
    duplicates: int = 0


CASES: Final = (
    Case("echo", ("text=hi",), completes=True),
    Case("add", ("a=1", "b=2"), completes=True),
    Case("big", ("megabytes=0.01",), completes=True),
    Case("count"),
    Case("stubborn", ("seconds=0.9",), late=(("result", None),)),
    Case("grumpy", late=(("error", -32800),)),
    Case("chatty", late=(("progress", None),)),
    Case("silent"),
    Case("racer", ("milliseconds=800",), late=(("result", None),)),
    Case("twice", ("seconds=0.8",), late=(("result", None),), duplicates=1),
    Case("flood", ("count=2000000",)),
)
CRASH: Final = Case("crash", ("seconds=0.8",), ends="exited")


@dataclass
class Bench:
    """Where cases run: the transport and the revision, and the logs of the servers."""

    transport: str
    revision: str
    folder: Path
    logs: dict[str, Path] = field(default_factory=dict[str, Path])

    @property
    def closes(self) -> bool:
        """Whether a cancel closes the stream here."""
        return self.transport == "http" and self.revision == MODERN

    async def run(self, cases: tuple[Case, ...], *options: str) -> dict[str, Ran]:
        limit = asyncio.Semaphore(AT_ONCE)
        async with AsyncExitStack() as stack:
            url = ""
            if self.transport == "http":
                log = self.folder / "http.jsonl"
                url = await stack.enter_async_context(demo_over_http(log))
                self.logs = {case.tool: log for case in cases}
            ran = await asyncio.gather(*(self._one(case, url, limit, options) for case in cases))
        return dict(zip((case.tool for case in cases), ran, strict=True))

    async def _one(self, case: Case, url: str, limit: asyncio.Semaphore, options: tuple[str, ...]) -> Ran:
        if url:
            server = (url,)
        else:
            log = self.logs[case.tool] = self.folder / f"{case.tool}.jsonl"
            server = ("--", sys.executable, "-m", "mcp_tui", "demo", "--log", str(log))
        async with limit:
            return await running(
                "call", case.tool, *case.arguments, "--protocol", self.revision, "--json", *options, *server
            )

    def witnessed(self, tool: str, event: str) -> list[dict[str, Any]]:
        """What the server says about a tool, or about its call."""
        return [
            each for each in logged(self.logs[tool]) if each["event"] == event and each.get("tool") == tool
        ]

    def posted(self, tool: str) -> list[dict[str, Any]]:
        """The cancels that came as a notification, of any tool that shares the log."""
        return [each for each in logged(self.logs[tool]) if each.get("method") == "notifications/cancelled"]


def check_order(ran: Ran) -> None:
    """One JSON object a line, in order of time, the connection first and the outcome last."""
    events = [each["event"] for each in ran.events]
    times = [each["t"] for each in ran.events]
    assert events[0] == "connected"
    assert times == sorted(times)
    assert events.count("sent") == events.count("outcome") == 1
    told = [each for each in events if each in ("sent", "cancel_requested", "cancel_signalled")]
    assert told in (["sent"], ["sent", "cancel_requested", "cancel_signalled"])
    if "cancel_requested" in told:
        asked = events.index("cancel_requested")
        assert all(at > asked for at, each in enumerate(events) if each in ("late", "settled"))
        assert "progress" not in events[asked:]


def check_completed(ran: Ran) -> None:
    outcome = ran.outcome
    assert ran.status == 0
    assert (outcome["state"], outcome["cause"], outcome["signal"]) == ("completed", None, None)
    assert outcome["late"] == []
    assert outcome["error"] is None
    assert outcome["result"]["content"][0]["type"] == "text"
    assert "cancel_requested" not in [each["event"] for each in ran.events]


def check_cancelled(bench: Bench, case: Case, ran: Ran, reason: str) -> None:
    outcome, closes = ran.outcome, bench.closes
    assert ran.status == 7
    assert (outcome["state"], outcome["cause"], outcome["reason"]) == ("cancelled", "user", reason)
    assert outcome["signal"] == ("stream_closed" if closes else "notification")
    assert outcome["reason_delivered"] is not closes
    assert outcome["result"] is None
    assert outcome["error"] is None
    assert AFTER <= outcome["elapsed"] < AFTER + 5
    expected = () if closes else case.late
    assert evidence(case.tool, outcome) == expected
    for each in outcome["late"]:
        assert each["after"] >= 0
        assert ("count" in each) == (each["kind"] == "progress")
        if each["kind"] == "progress":
            assert each["count"] == len(ran.of("late")) >= 1
    assert len(ran.of("duplicate")) == (0 if closes else case.duplicates)
    (requested,) = ran.of("cancel_requested")
    assert (requested["cause"], requested["reason"], requested["id"]) == ("user", reason, outcome["id"])
    (signalled,) = ran.of("cancel_signalled")
    assert signalled["signal"] == outcome["signal"]


def evidence(tool: str, outcome: dict[str, Any]) -> tuple[tuple[str, int | None], ...]:
    """Kinds and codes of what came late; progress that was on its way when the cancel left counts for `chatty` only."""
    return tuple(
        (each["kind"], each.get("code"))
        for each in outcome["late"]
        if each["kind"] != "progress" or tool == "chatty"
    )


def check_witness(bench: Bench, case: Case, reason: str) -> None:
    """What the server received, in its own words."""
    cancelled = bench.witnessed(case.tool, "cancelled")
    if case.completes:
        assert cancelled == []
        return
    (seen,) = cancelled
    if bench.closes:
        assert (seen["how"], seen["reason"]) == ("stream_closed", None)
        assert bench.posted(case.tool) == []
        return
    assert (seen["how"], seen["reason"]) == ("notification", reason)
    own = [each for each in bench.posted(case.tool) if each["params"].get("reason") == reason]
    assert len(own) == 1
    assert all(left["t"] >= seen["t"] for left in bench.witnessed(case.tool, "disconnected"))


async def play(bench: Bench, cases: tuple[Case, ...]) -> None:
    reason = f"too slow for {bench.revision}"
    options = ("--cancel-after", str(AFTER), "--reason", reason, "--linger", str(LINGER))
    ran = await bench.run(cases, *options)
    for case in cases:
        this = ran[case.tool]
        try:
            check_order(this)
            if case.completes:
                check_completed(this)
            else:
                check_cancelled(bench, case, this, reason)
            # the tools of one log share the reason, so it is counted once for each that was cancelled
            if bench.transport == "stdio" or bench.closes:
                check_witness(bench, case, reason)
        except Exception as error:
            error.add_note(f"{case.tool}: {this}")
            raise
    if bench.transport == "http" and not bench.closes:
        check_shared_log(bench, cases, reason)


def check_shared_log(bench: Bench, cases: tuple[Case, ...], reason: str) -> None:
    """Over HTTP up to 2025-11-25: one notification for each cancelled tool, and no stream closed in its stead."""
    slow = [case.tool for case in cases if not case.completes]
    for tool in slow:
        (seen,) = bench.witnessed(tool, "cancelled")
        assert (seen["how"], seen["reason"]) == ("notification", reason), tool
        assert all(left["t"] >= seen["t"] for left in bench.witnessed(tool, "disconnected")), tool
    assert len(bench.posted(slow[0])) == len(slow)


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_every_tool_cancelled(transport: str, revision: str, tmp_path: Path):
    await play(Bench(transport, revision, tmp_path), CASES)


RESEARCH: Final = Case("research", ("seconds=6",))


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_research_until_2025_11_25_is_cancelled_as_any_call(transport: str, tmp_path: Path):
    await play(Bench(transport, HANDSHAKE, tmp_path), (RESEARCH,))


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_research_in_2026_07_28_is_cancelled_as_a_task(transport: str, tmp_path: Path):
    bench = Bench(transport, MODERN, tmp_path)
    options = ("--cancel-after", str(AFTER), "--reason", "no more", "--linger", str(LINGER))
    ran = (await bench.run((RESEARCH,), *options))["research"]
    check_order(ran)
    outcome = ran.outcome
    assert ran.status == 7
    assert (outcome["state"], outcome["cause"], outcome["reason"]) == ("cancelled", "user", "no more")
    assert (outcome["signal"], outcome["reason_delivered"]) == ("tasks_cancel", False)
    assert outcome["late"] == []
    first, *_, last = ran.of("task")
    assert (first["status"], last["status"]) == ("working", "cancelled")
    (seen,) = bench.witnessed("research", "cancelled")
    assert (seen["how"], seen["id"], seen["reason"]) == ("tasks_cancel", first["task_id"], None)
    assert bench.posted("research") == []


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_research_that_nobody_cancels_says_what_it_is_at(transport: str, revision: str, tmp_path: Path):
    case = Case("research", ("topic=moons", "seconds=1.5"), completes=True)
    ran = (await Bench(transport, revision, tmp_path).run((case,)))["research"]
    check_completed(ran)
    assert "moons" in ran.outcome["result"]["content"][0]["text"]
    said = ran.of("task" if revision == MODERN else "progress")
    assert {"reading four of them", "weighing what they say"} & {each["message"] for each in said}


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_ask_asks_nobody_where_nobody_is(transport: str, revision: str, tmp_path: Path):
    """A command declares nothing that takes a person; in the workbench the question is a form."""
    ran = (await Bench(transport, revision, tmp_path).run((Case("ask"),)))["ask"]
    check_order(ran)
    assert ran.status == 5
    if revision == MODERN:
        assert ran.outcome["state"] == "failed"
        assert ran.outcome["error"]["code"] == -32021
        assert ran.outcome["error"]["data"]["requiredCapabilities"] == {"elicitation": {"form": {}}}
    else:
        assert ran.outcome["result"]["isError"] is True
        assert "declares no elicitation" in ran.outcome["result"]["content"][0]["text"]


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_older_revisions(transport: str, revision: str, tmp_path: Path):
    cases = (*(case for case in CASES if case.tool in ("stubborn", "count")), RESEARCH)
    await play(Bench(transport, revision, tmp_path), cases)


@pytest.mark.parametrize("revision", [HANDSHAKE, MODERN])
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_server_that_crashes_before_and_after_the_cancel(
    transport: str, revision: str, tmp_path: Path
):
    bench = Bench(transport, revision, tmp_path)
    before = (await bench.run((CRASH,), "--cancel-after", "30"))["crash"]
    assert before.status == 8
    assert before.outcome["state"] == "lost"
    assert before.outcome["cause"] is None
    assert before.outcome["error"]["message"]
    assert bench.witnessed("crash", "cancelled") == []
    if transport == "stdio":
        assert "code 3" in before.outcome["error"]["message"]
        assert any("crash was called" in each["line"] for each in before.of("stderr"))
    later = Bench(transport, revision, tmp_path / "later")
    later.folder.mkdir()
    after = (await later.run((CRASH,), "--cancel-after", str(AFTER), "--linger", str(LINGER)))["crash"]
    check_cancelled(later, CRASH, after, "User requested cancellation")
    if transport == "stdio":
        (settled,) = after.of("settled")
        assert "code 3" in settled["detail"]


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize(
    ("option", "cause", "reason"),
    [
        ("--timeout", "timeout", "timed out after 0.4 s"),
        ("--max-timeout", "max_timeout", "timed out after 0.4 s (maximum)"),
    ],
)
async def test_a_timeout_cancels_and_says_so(
    transport: str, option: str, cause: str, reason: str, tmp_path: Path
):
    bench = Bench(transport, HANDSHAKE, tmp_path)
    tool = {"timeout": ("silent",), "max_timeout": ("stubborn", "seconds=0.9")}[cause]
    case = Case(tool[0], tool[1:])
    ran = (await bench.run((case,), option, "0.4", "--linger", "1"))[case.tool]
    outcome = ran.outcome
    assert ran.status == 6
    assert (outcome["state"], outcome["cause"], outcome["reason"]) == ("timed_out", cause, reason)
    assert (outcome["signal"], outcome["reason_delivered"]) == ("notification", True)
    assert evidence(case.tool, outcome) == ((("result", None),) if case.tool == "stubborn" else ())
    (seen,) = bench.witnessed(case.tool, "cancelled")
    assert (seen["how"], seen["reason"]) == ("notification", reason)


async def test_twice_without_a_cancel_is_a_duplicate(tmp_path: Path):
    bench = Bench("stdio", MODERN, tmp_path)
    ran = (await bench.run((Case("twice", ("seconds=0.1",)),), "--linger", "0.5"))["twice"]
    assert ran.status == 0
    (second,) = ran.of("duplicate")
    assert second["kind"] == "result"
    assert ran.outcome["result"]["content"][0]["text"] == "the first answer"


async def test_a_cancel_at_once_still_names_the_request(tmp_path: Path):
    bench = Bench("stdio", MODERN, tmp_path)
    ran = (await bench.run((Case("silent"),), "--cancel-after", "0", "--linger", "0"))["silent"]
    assert ran.status == 7
    assert ran.outcome["signal"] == "notification"
    assert ran.outcome["elapsed"] < 5
    (seen,) = bench.witnessed("silent", "cancelled")
    assert seen["id"] == ran.outcome["id"]
