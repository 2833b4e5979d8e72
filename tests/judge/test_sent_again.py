"""Whether a client sends a call again on its own: what decides it, and what is not blamed on the client."""

from __future__ import annotations

import re
from typing import Any, Final

import pytest

from mcp_tui.judge.client_rules import CLIENT_RULES
from mcp_tui.judge.observed_run import ObservedCall, ObservedRun, OutputLine
from mcp_tui.judge.sent_again import FAULTS, GONE, LATE, LIMIT, judged, repeats_of, run_name
from mcp_tui.probe.report import Finding, Verdict, is_broken
from mcp_tui.protocol.events import Signal
from mcp_tui.protocol.revisions import LATEST
from tests.cases import cases
from tests.judge.judging import client
from tests.judge.judging import judged as judged_client

pytestmark = pytest.mark.sends_anything  # what a client sends is its own

PASS, WARNING, UNSEEN = Verdict.PASS, Verdict.WARNING, Verdict.NOT_OBSERVABLE


def call(at: float = 10.0, lost_at: float | None = 12.0, **more: Any) -> ObservedCall:
    return ObservedCall("send", at, lost_at=lost_at, key=more.pop("key", "same"), **more)


def run(*calls: ObservedCall, **more: Any) -> ObservedRun:
    """A run whose client ended by itself at 20 s."""
    given: dict[str, Any] = {
        "tool": "send",
        "timeout": 2.0,
        "ended_at": 20.0,
        "exit": 0,
        "requests": 3,
        **more,
    }
    return ObservedRun(experiment="repeat", transport="http", calls=[*calls], **given)


GAVE_UP: Final = OutputLine(12.1, "stdout", "gave up")
ADD: Final = ObservedCall("add", 12.2, answered_at=12.3)


@cases(
    ("fault", "observed", "count", "why"),
    [
        (LIMIT, run(call()), 1, ""),
        (LIMIT, run(call(), call(12.0, 14.0), call(15.0, None)), 3, ""),
        ("HTTP 502", run(call(10.0, 10.5), call(10.6, 11.1, connection=1)), 2, ""),
        # not the client's doing
        (LIMIT, run(call(), call(12.5), gave_up=GAVE_UP), 1, 'it printed "gave up" before it called again'),
        (LIMIT, run(call(), call(12.5), nexts=[ADD]), 1, "it made another call before it called again"),
        (LIMIT, run(call(model_id="a"), call(12.5, model_id="b")), 1, "the second call has another id of its model"),
        (LIMIT, run(call(model_id="a"), call(12.5, model_id="a")), 2, ""),
        (LIMIT, run(call(), call(10.2), ended_at=20.0), 1, ""),
        (LIMIT, run(call(), call(12.5, key="another")), 1, ""),
        # what follows an answer is a call like any other
        ("HTTP 502", run(call(10.0, 10.5), call(10.6, None, answered_at=10.7), call(11.0)), 2, ""),
        # a fault that was not reached shows nothing
        (LIMIT, run(), 0, "it did not call send, and ended with status 0"),
        (LIMIT, run(call(10.0, None, answered_at=40.0)), 0, "it was answered before it gave up"),
        ("HTTP 502", run(call(10.0, None), ended_at=10.1), 0, "the client ended before"),
        (LIMIT, run(call(10.0, 10.3), ended_at=10.3, exit=1), 1, "it ended before its limit, and ended with status 1"),
        (LIMIT, run(call(), ended_at=None, exit=None, stopped=True), 1, "it did not end, and nothing more came"),
        ("HTTP 502", run(call(10.0, 10.5), exit=-11), 1, "was ended by SIGSEGV"),
        (LATE, run(call()), 0, "nothing could reach it any more"),
        (LATE, run(call(answered_at=12.0)), 1, ""),
    ],
)  # fmt: skip
def test_a_repeat_is_a_call_that_nothing_but_the_client_can_have_made(
    fault: str, observed: ObservedRun, count: int, why: str
):
    found = repeats_of(fault, observed)
    assert (len(found.calls), found.why.startswith(why)) == (count, True), found
    assert bool(found.why) is bool(why)


def verdict(**observed: ObservedRun) -> Finding:
    """The finding on a client over stdio, which has three of the faults."""
    faults = {"limit": LIMIT, "late": LATE, "lost": "lost connection"}
    found = judged({run_name(faults[name]): each for name, each in observed.items()}, "stdio")
    assert found is not None
    return found


def test_a_client_passes_only_where_each_fault_was_reached():
    late, again = run(call(answered_at=12.0)), run(call(), call(12.0, 13.0), call(14.5))
    reached: dict[str, Any] = {"limit": run(call()), "late": late, "lost": run(call())}
    assert verdict(**reached) == Finding(
        "K-18", PASS, "not sent again after limit, late answer, lost connection", verdict(**reached).evidence
    )
    closed = run(call(cancelled_at=12.0, signal=Signal.STREAM_CLOSED))
    assert verdict(**{**reached, "late": closed}).verdict is PASS, "a closed stream brings nothing late"
    missing = verdict(limit=reached["limit"], late=late)
    text = "lost connection: not run; not sent again after limit, late answer"
    assert (missing.verdict, missing.sentence) == (UNSEEN, text)
    broken = verdict(limit=again, late=late)
    assert (broken.verdict, broken.sentence) == (
        WARNING,
        "it sends the call again: limit: 3 executions, 2.0 and 2.5 s apart",
    )
    assert [(each.at, each.what) for each in broken.evidence][2:4] == [
        (2.0, "limit: called again in the same session with the same id"),
        (4.5, "limit: called again in the same session with the same id"),
    ]
    assert not is_broken(CLIENT_RULES["K-18"].clause(LATEST, "stdio"), broken, strict=True), (
        "it is information"
    )
    assert judged({}, "stdio") is None


def test_what_the_specification_asks_for_is_reported_and_decides_nothing():
    reached = {
        run_name(fault): run(call(answered_at=11.0 if fault == LATE else None)) for fault, _, _ in FAULTS
    }
    for calls, words in (1, "not sent again"), (2, "sent again"):
        gone = run(*[call(10.0, 10.0), call(10.5, None, answered_at=10.6)][:calls])
        found = judged({**reached, run_name(GONE): gone}, "http")
        assert found is not None
        assert (found.verdict, found.sentence.partition("; ")[2]) == (PASS, f"session gone: {words}")


@pytest.mark.parametrize(("transport", "era"), [("stdio", "modern"), ("http", "legacy")])
def test_a_client_that_never_sends_a_call_again_passes(transport: str, era: str):
    report = judged_client(client("good", era=era), "repeat", limit=0.8, transport=transport)
    found = report.findings["K-18"]
    assert found.verdict is PASS, found
    assert found.sentence.endswith("; session gone: sent again") is ((transport, era) == ("http", "legacy"))
    assert not report.broken(strict=True)


def test_what_a_caller_sends_again_is_not_blamed_on_the_client():
    report = judged_client(client("K-18 asks again"), "repeat", limit=0.8, gave_up=re.compile("gave up"))
    found = report.findings["K-18"]
    assert (found.verdict, "so its caller may have done that" in found.sentence) == (UNSEEN, True), found
    parallel = judged_client(client("K-18 in parallel"), "repeat", limit=0.8).findings["K-18"]
    assert parallel.verdict is PASS, parallel
