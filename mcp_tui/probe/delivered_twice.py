"""The experiment with a request that is delivered twice, as by a client or a proxy that sends a POST again.

The second delivery uses a separate connection, the same session, and the same id: once while the tool works, and once after
its answer. Only another run can explain work after the answer, progress that begins again, a different result, or an answer
that takes as long as a run. Silence shows nothing.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from mcp_tui.probe.arrivals import Arrival
from mcp_tui.probe.judging import BEATS, END, HEARTBEAT, SOME
from mcp_tui.probe.raw_connection import HEARTBEAT_SECONDS, REPEATED_SECONDS, Trace
from mcp_tui.probe.trial import NO_END, Trial

REPEAT_RULE: Final = "P-34"

WORK_SECONDS: Final = 3 * HEARTBEAT_SECONDS
"""Seconds after an answer in which signs of the work before it may still arrive."""

_STEP: Final = re.compile(r'"progress":\s*(-?[\d.]+)')


async def delivered_twice(trial: Trial) -> None:
    """Judges P-34: sends the same request again, in the same session."""
    if trial.control.answer is None:
        trial.give_up(REPEAT_RULE, NO_END)
    if trial.control.answer.fails:
        trial.give_up(REPEAT_RULE, "the tool fails without any repeat")
    first = await trial.begin()
    await trial.connection.quiet(first.sent_at + trial.mid)
    trial.in_flight(REPEAT_RULE, first)
    trial.server.traces.remove(first)  # two answers are no fault here, because the request was sent twice
    words = [await _again(trial, first, "while the tool worked")]
    if not words[0].startswith("ran") and trial.control.length <= REPEATED_SECONDS:
        words.append(await _again(trial, first, "after its answer"))
    await trial.survives(REPEAT_RULE)
    if twice := next((each for each in words if each.startswith("ran")), ""):
        trial.warned(REPEAT_RULE, f"the tool {twice}")
    elif blind := next((each for each in words if each.startswith("nothing")), ""):
        trial.unseen(REPEAT_RULE, blind)
    else:
        trial.passed(REPEAT_RULE, f"the second delivery {'; '.join(dict.fromkeys(words))}")


async def _again(trial: Trial, first: Trace, when: str) -> str:
    """Delivers a request again; returns in words whether it ran again, or why that cannot be known."""
    connection, control, session = trial.connection, trial.control, trial.connection.transport
    other = trial.server.connect(f"delivered again {when}")
    try:
        await other.start()
        other.transport.session_id = session.session_id  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - HTTP's alone
        other.transport.negotiated(trial.server.revision)
        second = other.call(trial.choice.name, trial.choice.arguments, id=first.id)
        trial.server.traces.remove(second)
        await second.leaves()
        trial.note(f"the same request was delivered again {when}", second.sent_at - first.sent_at)
        # A server that works on one request at a time needs the time of both calls.
        end = second.sent_at + control.length
        await second.answered(end + control.length + trial.server.patience)
        if not (first.over() or second.responses):
            await first.answered(connection.now() + trial.server.patience)
        await connection.quiet(end + WORK_SECONDS)
        for each in (first, second):
            trial.evidence += map(each.evidence, each.responses[:2])
        return _words(trial, first, second, when)
    finally:
        await other.close()


def _words(trial: Trial, first: Trace, second: Trace, when: str) -> str:
    """Returns in words what happened to a request that was delivered again."""
    answers = sorted((*first.responses, *second.responses), key=lambda each: each.at)
    results = [each for each in answers if not each.fails]
    refusal = next((each for each in second.responses if each.fails), None)
    if refusal is not None:
        return f"was refused: {refusal.quoted}"
    if not second.responses and second.failure:
        return f"was refused: {second.failure}"
    if not results:
        return f"nothing shows whether it ran again: the request delivered again {when} got no result"
    if how := _ran(trial, first, second, results):
        return f"ran again {when}: {how}"
    if len(trial.control.times(BEATS)) > SOME:
        return "brought no work"
    took = second.responses[0].at - second.sent_at if second.responses else trial.control.length
    if took < END * trial.control.length:
        return f"got its answer after {took:.2f} s, sooner than a run of {trial.control.length:.2f} s"
    return f"nothing shows whether the tool ran again {when} ({HEARTBEAT})"


def _ran(trial: Trial, first: Trace, second: Trace, results: list[Arrival]) -> str:
    """Returns in words what only another run can explain; empty if there is nothing."""
    ends = [each.at for each in results if each.at >= first.sent_at]
    if second.sent_at - first.sent_at > trial.control.length:
        # The first run is over. Its answer may be known to none of the two: @modelcontextprotocol/sdk 1.32.2 (npm) sends it
        # where the id was delivered last.
        ends.append(second.sent_at)
    done = min(ends)
    since = max(done, second.sent_at) + WORK_SECONDS
    beats = [each for each in trial.server.beats if each > since]
    if len(beats) >= SOME:
        return f"the heartbeat continued until {beats[-1] - second.sent_at:.2f} s after it was delivered"
    progress = [each for each in (*first.progress(), *second.progress()) if each.at > since]
    spread = max((each.at for each in progress), default=0.0) - since
    if len(progress) >= SOME and spread >= WORK_SECONDS:  # a stored answer arrives immediately
        return f"{len(progress)} progress messages came after the answer"
    for trace in (first, second):
        found = (_STEP.search(each.frame) for each in trace.progress())
        steps = [float(each[1]) for each in found if each is not None]
        if any(late <= early for early, late in pairwise(steps)):
            return "its progress began again"
    own = [each for each in second.responses if not each.fails]
    others = [each for each in results if each not in own]
    if own and others and _content(own[0]) != _content(others[0]):
        return "the two results differ"
    if own and own[0].at - second.sent_at >= END * trial.control.length and own[0].at - done > WORK_SECONDS:
        return f"it was answered after {own[0].at - second.sent_at:.2f} s, as long as a run takes"
    return ""


def _content(response: Arrival) -> tuple[object, object]:
    return response.result.get("content"), response.result.get("structuredContent")
