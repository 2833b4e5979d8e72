"""Experiments with cancels that no client should send: twice, too late, for nobody, malformed. A server ignores them all."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from mcp_tui.probe import judging
from mcp_tui.probe.connection import CANCELLED, REASON, ProbeConnection, Trace
from mcp_tui.probe.report import EvidenceItem, Finding, Judged, Verdict
from mcp_tui.probe.rules import UNANSWERED
from mcp_tui.probe.setup import Setup
from mcp_tui.protocol.messages import Json, text

PAUSE: Final = 0.25
"""Seconds that a server is given to react to a notification to which it should not react."""

UNKNOWN_ID: Final = 987_654_321

MALFORMED: Final[tuple[tuple[str, int, Json], ...]] = (
    ("no params", 4, None),
    ("params as an array", 4, [4]),
    ("no requestId", 4, {}),
    ("requestId null", 4, {"requestId": None}),
    ("requestId an empty string", 4, {"requestId": ""}),
    ("requestId an object", 4, {"requestId": {"id": 4}}),
    ("requestId an array", 4, {"requestId": [4]}),
    ("requestId true for the request 1", 1, {"requestId": True}),
    ("requestId 2.5 for the request 2", 2, {"requestId": 2.5}),
    ("requestId 3.0 for the request 3", 3, {"requestId": 3.0}),
)
"""What is sent, and the id of the call in flight that a careless server might cancel for it."""

EQUAL: Final = 3
"""JSON makes no difference between 3 and 3.0: to obey that one is no offence."""


async def _ignored(
    connection: ProbeConnection,
    setup: Setup,
    rule: str,
    since: float,
    *,
    valid: bool,
    told: list[EvidenceItem],
) -> Finding:
    """Whether a notification was ignored: no response to it, and the next call works."""
    answered = connection.nameless(since)
    told += connection.refused()
    told += [EvidenceItem(f"{each.words} without an id", None, each.frame) for each in answered]
    try:
        await setup.survives(rule, connection, told)
    except Judged as dead:  # some have two rules to judge
        return dead.finding
    if answered:
        # a notification gets no response; one that is no valid request may get one, with the id null (JSON-RPC)
        text = f"it answered a notification: {answered[0].words} without an id"
        if valid:
            return Finding(rule, Verdict.FAIL, text, tuple(told), UNANSWERED)
        return Finding(rule, Verdict.WARNING, text, tuple(told))
    return Finding(rule, Verdict.PASS, "ignored; the next call was answered", tuple(told))


async def twice(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-08 and P-26: the same cancel again, a moment later."""
    trace = await setup.begin(connection)
    setup.traces.remove(trace)  # that it is answered twice is what P-26 tells
    await setup.cancel(trace, setup.mid)
    await asyncio.sleep(PAUSE / 2)
    at, before = connection.now(), len(trace.responses)
    connection.notify(CANCELLED, {"requestId": trace.id, "reason": REASON})
    await connection.quiet(at + max(PAUSE, trace.sent_at + setup.end(setup.mid) - at))
    told = [EvidenceItem("cancelled for the second time", at - trace.sent_at)]
    again = [trace.evidence(each) for each in trace.responses[before:]]
    found = await _ignored(connection, setup, "P-08", at, valid=True, told=told)
    if any(len(each.responses) > 1 for each in setup.traces):
        text = "this server answers calls twice that are cancelled once"
        return [found, Finding("P-26", Verdict.NOT_OBSERVABLE, text)]
    if again and before + len(again) > 1:
        text = f"{before + len(again)} responses to one call: {before} before the second cancel, {len(again)} after it"
        return [found, Finding("P-26", Verdict.FAIL, text, (told[0], *again))]
    count = {0: "no response", 1: "one response"}.get(
        len(trace.responses), f"{len(trace.responses)} responses"
    )
    return [found, Finding("P-26", Verdict.PASS, f"{count} to a call that was cancelled twice", (told[0],))]


async def after_completion(connection: ProbeConnection, setup: Setup, done: Trace) -> Finding:
    """P-09: the cancel of a request that was answered. On the connection on which that was."""
    at = connection.now()
    connection.notify(CANCELLED, {"requestId": done.id, "reason": REASON})
    await connection.quiet(at + PAUSE)
    told = [EvidenceItem(f"{done.method} was answered, then cancelled", at - done.sent_at)]
    again = [each for each in done.responses if each.at > at]
    found = await _ignored(connection, setup, "P-09", at, valid=True, told=told)
    if found.verdict is Verdict.PASS and again:
        told += [done.evidence(each) for each in again]
        return Finding("P-09", Verdict.FAIL, "it answered once more after the cancel", tuple(told))
    return found


async def unknown(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-10: an id that was never used."""
    at = connection.now()
    connection.notify(CANCELLED, {"requestId": UNKNOWN_ID, "reason": REASON})
    connection.notify(CANCELLED, {"requestId": "no-such-request"})
    await connection.quiet(at + PAUSE)
    told = [EvidenceItem(f'cancelled {UNKNOWN_ID} and "no-such-request"')]
    return [await _ignored(connection, setup, "P-10", at, valid=True, told=told)]


async def malformed(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-11: one broken notification after another, each while the call that it might hit is in flight."""
    calls: dict[int, Trace] = {}
    connection.skip_ids(max(id_ for _, id_, _ in MALFORMED))
    told: list[EvidenceItem] = []
    worst: Finding | None = None
    sent = 0
    for name, id_, params in MALFORMED:
        if setup.busy and not setup.modern_http and id_ not in calls:
            calls[id_] = await setup.begin(connection, id=id_)
            await connection.quiet(connection.now() + min(PAUSE, setup.mid / 2))
        if id_ in calls and calls[id_].responses:
            told.append(EvidenceItem(f"not sent, because request {id_} had been answered: {name}"))
            continue
        sent += 1
        at = connection.now()
        connection.refusals.clear()
        connection.notify(CANCELLED, params)
        behind = connection.echo()
        setup.traces.append(behind)
        heard = await behind.answered(at + PAUSE)
        await connection.quiet(connection.now() + 0.02)  # an error may come behind it
        told.append(EvidenceItem(f"cancelled with {name}", None, "" if params is None else text(params)))
        told += connection.refused()
        told += [
            EvidenceItem(f"{each.words} without an id", None, each.frame) for each in connection.nameless(at)
        ]
        if connection.ended is not None and id_ == EQUAL:  # it dies of a valid cancel
            told.append(EvidenceItem(connection.ended.detail))
            hit = _taken(_answered(calls), told)
            found = _verdict(hit, "all ignored")
            return [replace(found if worst is None else judging.worse(worst, found), evidence=tuple(told))]
        if connection.ended is not None or (heard is None and not calls):
            found = await _ignored(connection, setup, "P-11", at, valid=False, told=[])
            if found.verdict is not Verdict.PASS:
                # a server may die some time after the one that it took for valid
                hit = "; ".join((*_taken(_answered(calls), told), f"after {name}"))
                worst = replace(found, sentence=f"{hit}: {found.sentence}", evidence=(*told, *found.evidence))
                break
        if connection.nameless(at) and worst is None:
            sentence = f"{name}: it answered a notification: {connection.nameless(at)[0].words} without an id"
            worst = Finding("P-11", Verdict.WARNING, sentence)
    if worst is None or worst.verdict is not Verdict.FAIL:
        found = await _hit(connection, setup, calls, told, sent)
        next_ = await setup.next_call(connection)
        if not next_.works:
            found = judging.following("P-11", next_, setup.control)
        worst = found if worst is None else judging.worse(worst, found)
        worst = replace(worst, evidence=tuple(told))
    return [worst]


async def _hit(
    connection: ProbeConnection,
    setup: Setup,
    calls: dict[int, Trace],
    told: list[EvidenceItem],
    sent: int,
) -> Finding:
    """Whether the calls in flight were left alone. Each that was not names what hit it."""
    if not sent:
        return Finding("P-11", Verdict.NOT_OBSERVABLE, "every call was answered before it could be cancelled")
    count = f"all {sent}" if sent == len(MALFORMED) else f"{sent} of {len(MALFORMED)} sent, all"
    if not calls or setup.control is None or setup.control.duration is None:
        return Finding("P-11", Verdict.PASS, f"{count} ignored; a call after them was answered")
    patience = len(calls) * setup.control.length + 3.0  # a server may work on one thing at a time
    until = connection.now() + patience
    for trace in calls.values():
        await trace.answered(until)
    return _verdict(_taken(calls, told), f"{count} ignored; the calls in flight were answered")


def _verdict(hit: list[str], ignored: str) -> Finding:
    if hit:
        return Finding("P-11", Verdict.WARNING, f"taken for a valid cancel: {'; '.join(hit)}")
    return Finding("P-11", Verdict.PASS, ignored)


def _answered(calls: dict[int, Trace]) -> dict[int, Trace]:
    return {id_: trace for id_, trace in calls.items() if trace.responses}


def _taken(calls: dict[int, Trace], told: list[EvidenceItem]) -> list[str]:
    """Which of the calls got no result, and by which notifications that may be."""
    hit: list[str] = []
    for id_, trace in calls.items():
        heard = next(iter(trace.responses), None)
        if heard is not None and heard.kind == "result":
            continue
        became = "no result came" if heard is None else f"{heard.words} came"
        names = ", ".join(name for name, other, _ in MALFORMED if other == id_)
        told.append(
            EvidenceItem(f"request {id_}: {became} ({names})", None, "" if heard is None else heard.frame)
        )
        if id_ != EQUAL:
            hit.append(
                f"request {id_} was cancelled by {names}" if id_ != 4 else f"request 4 by one of: {names}"
            )
    return hit


async def odd_reasons(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-12: a reason of null, and one of 42, each for a call in flight. The server may obey or ignore them."""
    first, second = await setup.begin(connection), await setup.begin(connection)
    await connection.quiet(second.sent_at + setup.mid)
    at = connection.now()
    connection.notify(CANCELLED, {"requestId": first.id, "reason": None})
    connection.notify(CANCELLED, {"requestId": second.id, "reason": 42})
    await connection.until(
        lambda: connection.ended is not None or bool(first.responses and second.responses),
        second.sent_at + setup.end(setup.mid),
    )
    told = [
        EvidenceItem(f"reason {name}: {_became(trace)}", None)
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
    trace = await setup.begin(connection)
    await connection.until(trace.over, trace.sent_at + setup.mid)
    at = trace.cancel_at = connection.now()
    connection.notify(CANCELLED, {"requestId": str(trace.id), "reason": REASON})
    heard = await trace.answered(trace.sent_at + setup.end(setup.mid) + 1.0)
    seen = setup.seen(trace)
    told = [EvidenceItem(f'request {trace.id} in flight; "{trace.id}" was cancelled', at - trace.sent_at)]
    told += [trace.evidence(each) for each in trace.responses[:1]]
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
