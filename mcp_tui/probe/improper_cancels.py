"""Experiments with cancels that no client should send: twice, too late, for nobody, malformed. A server bears them all."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from mcp_tui.probe import judging
from mcp_tui.probe.connection import ProbeConnection, Trace
from mcp_tui.probe.judging import Control
from mcp_tui.probe.report import Evidence, Finding, Verdict
from mcp_tui.probe.rules import UNANSWERED
from mcp_tui.probe.setup import REASON, Setup
from mcp_tui.protocol.messages import Json, text

PAUSE: Final = 0.25
"""Seconds that a server is given to react to a notification to which it should not react."""

UNKNOWN_ID: Final = 987_654_321

MALFORMED: Final[tuple[tuple[str, Json], ...]] = (
    ("without params", None),
    ("without requestId", {}),
    ("requestId null", {"requestId": None}),
    ("requestId true", {"requestId": True}),
    ("requestId an object", {"requestId": {}}),
    ("requestId an array", {"requestId": [1]}),
)

_NO_CONTROL: Final = Control(duration=None, watched=0.0)


def _control(setup: Setup) -> Control:
    return _NO_CONTROL if setup.control is None else setup.control


async def _ignored(
    connection: ProbeConnection, setup: Setup, rule: str, since: float, *, valid: bool, told: list[Evidence]
) -> Finding:
    """Whether a notification was ignored: no response to it, and the next call works."""
    answered = connection.nameless(since)
    told += [Evidence(f"its POST: {each}") for each in connection.refusals]
    told += [Evidence(f"{each.words} without an id", None, each.frame) for each in answered]
    next_ = await setup.next_call(connection)
    if not next_.works:
        found = judging.following(rule, next_, _control(setup))
        return replace(found, evidence=(*told, *found.evidence))
    if answered:
        # a notification gets no response; one that is no valid request may get one, with the id null (JSON-RPC)
        text = f"it answered a notification: {answered[0].words} without an id"
        if valid:
            return Finding(rule, Verdict.FAIL, text, tuple(told), UNANSWERED)
        return Finding(rule, Verdict.WARNING, text, tuple(told))
    return Finding(rule, Verdict.PASS, "ignored; the next call was answered", tuple(told))


async def twice(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-08: the same cancel again, a moment later."""
    trace = setup.call(connection)
    await trace.written()
    await connection.until(trace.over, trace.sent_at + setup.mid)
    connection.client.cancel(trace.id, reason=REASON)
    await asyncio.sleep(PAUSE / 2)
    at = connection.now()
    connection.notify({"requestId": trace.id, "reason": REASON})
    await setup.watch(trace, trace.sent_at + setup.end(setup.mid))
    told = [Evidence("cancelled for the second time", at - trace.sent_at)]
    return [await _ignored(connection, setup, "P-08", at, valid=True, told=told)]


async def after_completion(connection: ProbeConnection, setup: Setup, done: Trace) -> Finding:
    """P-09: the cancel of a request that was answered. On the line on which that was."""
    at = connection.now()
    connection.notify({"requestId": done.id, "reason": REASON})
    await connection.until(lambda: connection.ended is not None, at + PAUSE)
    told = [Evidence(f"{done.row.label} was answered, then cancelled", at - done.sent_at)]
    again = [each for each in done.responses if each.at > at]
    found = await _ignored(connection, setup, "P-09", at, valid=True, told=told)
    if found.verdict is Verdict.PASS and again:
        told += [done.evidence(each, cancel_at=at) for each in again]
        return Finding("P-09", Verdict.FAIL, "it answered once more after the cancel", tuple(told))
    return found


async def unknown(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-10: an id that was never used."""
    at = connection.now()
    connection.notify({"requestId": UNKNOWN_ID, "reason": REASON})
    connection.notify({"requestId": "no-such-request"})
    await connection.until(lambda: connection.ended is not None, at + PAUSE)
    told = [Evidence(f'cancelled {UNKNOWN_ID} and "no-such-request"')]
    return [await _ignored(connection, setup, "P-10", at, valid=True, told=told)]


async def malformed(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-11: one broken notification after another, each followed by a call."""
    told: list[Evidence] = []
    worst: Finding | None = None
    for name, params in MALFORMED:
        at = connection.now()
        connection.refusals.clear()
        connection.notify(params)
        await connection.until(lambda: connection.ended is not None, at + PAUSE / 2)
        here = [Evidence(f"cancelled {name}", None, text(params) if params is not None else "")]
        found = await _ignored(connection, setup, "P-11", at, valid=False, told=here)
        told += found.evidence
        if found.verdict is not Verdict.PASS:
            found = replace(found, sentence=f"{name}: {found.sentence}")
            worst = found if worst is None else judging.worse(worst, found)
        if found.verdict is Verdict.FAIL:
            break
    if worst is not None:
        return [worst]
    words = f"all {len(MALFORMED)} ignored; a call after each was answered"
    return [Finding("P-11", Verdict.PASS, words, tuple(told))]


async def odd_reasons(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-12: a reason of null, and one of 42, each for a call in flight. To obey or to ignore them is the server's choice."""
    first, second = setup.call(connection), setup.call(connection)
    await second.written()
    await connection.until(lambda: connection.ended is not None, second.sent_at + setup.mid)
    at = connection.now()
    connection.notify({"requestId": first.id, "reason": None})
    connection.notify({"requestId": second.id, "reason": 42})
    await connection.until(
        lambda: connection.ended is not None or bool(first.responses and second.responses),
        second.sent_at + setup.end(setup.mid),
    )
    told = [
        Evidence(f"reason {name}: {_became(trace)}", None)
        for name, trace in (("null", first), ("42", second))
        if connection.ended is None
    ]
    found = await _ignored(connection, setup, "P-12", at, valid=False, told=told)
    if found.verdict is Verdict.PASS:
        return [Finding("P-12", Verdict.PASS, "no harm; the next call was answered", tuple(told))]
    return [found]


def _became(trace: Trace) -> str:
    heard = next(iter(trace.responses), None)
    return "no response came" if heard is None else f"{heard.words} came"


async def string_id(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-13: the id of the call, but as a string. It is another id."""
    _, control = setup.work
    trace = setup.call(connection)
    await trace.written()
    await connection.until(trace.over, trace.sent_at + setup.mid)
    at = connection.now()
    connection.notify({"requestId": str(trace.id), "reason": REASON})
    heard = await trace.answered(trace.sent_at + setup.end(setup.mid) + 1.0)
    seen = setup.seen(trace, at)
    told = [Evidence(f'request {trace.id} in flight; "{trace.id}" was cancelled', at - trace.sent_at)]
    told += [trace.evidence(each, cancel_at=at) for each in trace.responses[:1]]
    found = await _ignored(connection, setup, "P-13", at, valid=True, told=told)
    if found.verdict is not Verdict.PASS:
        return [found]
    if heard is not None and heard.kind == "result":
        return [Finding("P-13", Verdict.PASS, "ignored: the result came", tuple(told))]
    stopped = judging.work("P-13", seen, control).verdict is Verdict.PASS
    if control.duration is None and heard is None and not stopped:
        return [Finding("P-13", Verdict.NOT_OBSERVABLE, "the tool did not end by itself", tuple(told))]
    came = "no result came" if heard is None else f"error {heard.code} came"
    return [Finding("P-13", Verdict.WARNING, f"the string was taken for the number: {came}", tuple(told))]
