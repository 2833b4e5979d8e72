"""Experiments with cancels that no client should send: twice, too late, for nobody, malformed. A server ignores them all."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from mcp_tui.probe import judging
from mcp_tui.probe.connection import CANCELLED, OPENING, REASON, Trace
from mcp_tui.probe.report import EvidenceItem, Finding, Verdict
from mcp_tui.probe.rules import UNANSWERED
from mcp_tui.probe.trial import Trial
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


async def _ignored(trial: Trial, rule: str, since: float, passed: str, *, valid: bool = True) -> bool:
    """Whether a notification was ignored: no response to it, and the next call works; then the rule is ``passed``."""
    connection = trial.connection
    answered = connection.nameless(since)
    trial.told += connection.refused()
    trial.told += [EvidenceItem(f"{each.words} without an id", None, each.frame) for each in answered]
    if not await trial.survives(rule):
        return False
    if answered:
        # a notification gets no response; one that is no valid request may get one, with the id null (JSON-RPC)
        verdict, clause = (Verdict.FAIL, UNANSWERED) if valid else (Verdict.WARNING, None)
        text = f"it answered a notification: {answered[0].words} without an id"
        trial.findings.append(Finding(rule, verdict, text, tuple(trial.told), clause))
    elif passed:
        trial.found(rule, Verdict.PASS, passed)
    return not answered


IGNORED: Final = "ignored; the next call was answered"


async def twice(trial: Trial) -> None:
    """P-08 and P-26: the same cancel again, a moment later."""
    connection, setup = trial.connection, trial.setup
    trace = await trial.begin()
    setup.traces.remove(trace)  # that it is answered twice is what P-26 tells
    await trial.cancel(trace, trial.mid)
    await asyncio.sleep(PAUSE / 2)
    at, before = connection.now(), len(trace.responses)
    connection.notify(CANCELLED, {"requestId": trace.id, "reason": REASON})
    await connection.quiet(at + max(PAUSE, trace.sent_at + trial.end(trial.mid) - at))
    trial.tell("cancelled for the second time", at - trace.sent_at)
    told = [*trial.told]
    again = [trace.evidence(each) for each in trace.responses[before:]]
    await _ignored(trial, "P-08", at, IGNORED)
    trial.told = told
    count = len(trace.responses)
    if any(len(each.responses) > 1 for each in setup.traces):
        trial.told = []
        trial.found("P-26", Verdict.NOT_OBSERVABLE, "this server answers calls twice that are cancelled once")
    elif again and before + len(again) > 1:
        trial.told += again
        text = f"{before + len(again)} responses to one call: {before} before the second cancel, {len(again)} after it"
        trial.found("P-26", Verdict.FAIL, text)
    else:
        came = {0: "no response", 1: "one response"}.get(count, f"{count} responses")
        trial.found("P-26", Verdict.PASS, f"{came} to a call that was cancelled twice")


async def after_completion(trial: Trial, done: Trace) -> None:
    """P-09: the cancel of a request that was answered. On the connection on which that was."""
    connection = trial.connection
    at = connection.now()
    connection.notify(CANCELLED, {"requestId": done.id, "reason": REASON})
    await connection.quiet(at + PAUSE)
    trial.tell(f"{done.method} was answered, then cancelled", at - done.sent_at)
    again = [done.evidence(each) for each in done.responses if each.at > at]
    if await _ignored(trial, "P-09", at, "" if again else IGNORED) and again:
        trial.told += again
        trial.found("P-09", Verdict.FAIL, "it answered once more after the cancel")


async def unknown(trial: Trial) -> None:
    """P-10: an id that was never used."""
    connection = trial.connection
    at = connection.now()
    connection.notify(CANCELLED, {"requestId": UNKNOWN_ID, "reason": REASON})
    connection.notify(CANCELLED, {"requestId": "no-such-request"})
    await connection.quiet(at + PAUSE)
    trial.tell(f'cancelled {UNKNOWN_ID} and "no-such-request"')
    await _ignored(trial, "P-10", at, IGNORED)


async def malformed(trial: Trial) -> None:
    """P-11: one broken notification after another, each while the call that it might hit is in flight."""
    setup, connection = trial.setup, trial.connection
    calls: dict[int, Trace] = {}
    connection.skip_ids(max(id_ for _, id_, _ in MALFORMED))
    worst: Finding | None = None
    sent = 0
    for name, id_, params in MALFORMED:
        if setup.busy and not setup.modern_http and id_ not in calls:
            calls[id_] = await trial.begin(id=id_)
            await connection.quiet(connection.now() + min(PAUSE, trial.mid / 2))
        if id_ in calls and calls[id_].responses:
            trial.tell(f"not sent, because request {id_} had been answered: {name}")
            continue
        sent += 1
        at = connection.now()
        connection.refusals.clear()
        connection.notify(CANCELLED, params)
        heard = await trial.sent(connection.echo()).answered(at + PAUSE)
        await connection.quiet(connection.now() + 0.02)  # an error may come behind it
        trial.tell(f"cancelled with {name}", None, "" if params is None else text(params))
        trial.told += connection.refused()
        for each in connection.nameless(at):
            trial.tell(f"{each.words} without an id", None, each.frame)
        if connection.ended is not None and id_ == EQUAL:  # it dies of a valid cancel
            trial.tell(connection.ended.detail)
            found = _verdict(_taken(_answered(calls), trial), "all ignored")
            found = found if worst is None else judging.worse(worst, found)
            trial.found("P-11", found.verdict, found.sentence)
            return
        if connection.ended is not None or (heard is None and not calls):
            aside = Trial(setup, connection)
            if not await _ignored(aside, "P-11", at, "", valid=False):
                # a server may die some time after the one that it took for valid
                hit = "; ".join((*_taken(_answered(calls), trial), f"after {name}"))
                (found,) = aside.findings
                evidence = (*trial.told, *found.evidence)
                worst = replace(found, sentence=f"{hit}: {found.sentence}", evidence=evidence)
                break
        if connection.nameless(at) and worst is None:
            sentence = f"{name}: it answered a notification: {connection.nameless(at)[0].words} without an id"
            worst = Finding("P-11", Verdict.WARNING, sentence)
    if worst is None or worst.verdict is not Verdict.FAIL:
        found = await _hit(trial, calls, sent)
        next_ = await trial.next_call()
        if not next_.works:
            found = judging.following("P-11", next_, setup.control)
        worst = found if worst is None else judging.worse(worst, found)
        worst = replace(worst, evidence=tuple(trial.told))
    trial.findings.append(worst)


async def _hit(trial: Trial, calls: dict[int, Trace], sent: int) -> Finding:
    """Whether the calls in flight were left alone. Each that was not names what hit it."""
    connection, control = trial.connection, trial.setup.control
    if not sent:
        return Finding("P-11", Verdict.NOT_OBSERVABLE, "every call was answered before it could be cancelled")
    count = f"all {sent}" if sent == len(MALFORMED) else f"{sent} of {len(MALFORMED)} sent, all"
    if not calls or control is None or control.duration is None:
        return Finding("P-11", Verdict.PASS, f"{count} ignored; a call after them was answered")
    until = connection.now() + len(calls) * control.length + 3.0  # a server may work on one thing at a time
    for trace in calls.values():
        await trace.answered(until)
    return _verdict(_taken(calls, trial), f"{count} ignored; the calls in flight were answered")


def _verdict(hit: list[str], ignored: str) -> Finding:
    if hit:
        return Finding("P-11", Verdict.WARNING, f"taken for a valid cancel: {'; '.join(hit)}")
    return Finding("P-11", Verdict.PASS, ignored)


def _answered(calls: dict[int, Trace]) -> dict[int, Trace]:
    return {id_: trace for id_, trace in calls.items() if trace.responses}


def _taken(calls: dict[int, Trace], trial: Trial) -> list[str]:
    """Which of the calls got no result, and by which notifications that may be."""
    hit: list[str] = []
    for id_, trace in calls.items():
        heard = next(iter(trace.responses), None)
        if heard is not None and heard.kind == "result":
            continue
        names = ", ".join(name for name, other, _ in MALFORMED if other == id_)
        frame = "" if heard is None else heard.frame
        trial.tell(f"request {id_}: {_became(trace, 'no result')} ({names})", None, frame)
        if id_ != EQUAL:
            one = f"request {id_} was cancelled by {names}"
            hit.append(one if id_ != 4 else f"request 4 by one of: {names}")
    return hit


def _became(trace: Trace, nothing: str) -> str:
    heard = next(iter(trace.responses), None)
    return f"{nothing} came" if heard is None else f"{heard.words} came"


async def odd_reasons(trial: Trial) -> None:
    """P-12: a reason of null, and one of 42, each for a call in flight. The server may obey or ignore them."""
    connection = trial.connection
    first, second = await trial.begin(), await trial.begin()
    await connection.quiet(second.sent_at + trial.mid)
    at = connection.now()
    connection.notify(CANCELLED, {"requestId": first.id, "reason": None})
    connection.notify(CANCELLED, {"requestId": second.id, "reason": 42})
    await connection.until(
        lambda: connection.ended is not None or bool(first.responses and second.responses),
        second.sent_at + trial.end(trial.mid),
    )
    if connection.ended is None:
        trial.tell(f"reason null: {_became(first, 'no response')}")
        trial.tell(f"reason 42: {_became(second, 'no response')}")
    await _ignored(trial, "P-12", at, "no harm; the next call was answered", valid=False)


async def string_id(trial: Trial) -> None:
    """P-13: the id of the call, but as a string. It is another id."""
    trace, at = await trial.halfway()
    trial.connection.notify(CANCELLED, {"requestId": str(trace.id), "reason": REASON})
    heard = await trace.answered(trace.sent_at + trial.end(trial.mid) + 1.0)
    seen = trial.seen(trace)
    trial.tell(f'request {trace.id} in flight; "{trace.id}" was cancelled', at - trace.sent_at)
    trial.told += [trace.evidence(each) for each in trace.responses[:1]]
    if not await _ignored(trial, "P-13", at, ""):
        return
    stopped = judging.work("P-13", seen, trial.control).verdict is Verdict.PASS
    if heard is not None and heard.kind == "result":
        trial.found("P-13", Verdict.PASS, "ignored: the result came")
    elif trial.control.duration is None and heard is None and not stopped:
        trial.found("P-13", Verdict.NOT_OBSERVABLE, "the tool did not end by itself")
    else:
        came = "no result came" if heard is None else f"error {heard.code} came"
        trial.found("P-13", Verdict.WARNING, f"the string was taken for the number: {came}")


async def initialize(trial: Trial) -> None:
    """P-15: no client may cancel ``initialize``, so a server does best to ignore it. On a connection without handshake."""
    connection, setup = trial.connection, trial.setup
    await connection.start()
    opening = connection.request(*connection.peer.hello(), id=OPENING)
    connection.notify(CANCELLED, {"requestId": OPENING, "reason": REASON})
    patience = max(4.0, 2 * setup.connecting + 2.0)
    trial.tell("initialize was sent, and cancelled at once")
    heard = await opening.answered(opening.sent_at + patience)
    if heard is None:
        text = f"initialize: {opening.trouble() or f'never answered within {patience:.1f} s'}"
        trial.found("P-15", Verdict.WARNING, f"{text}; the session cannot be used")
        return
    trial.told.append(opening.evidence(heard))
    if heard.kind == "error":
        trial.found("P-15", Verdict.WARNING, f"initialize was answered with error {heard.code}")
        return
    await connection.greeted()
    if await connection.ask().answered(connection.now() + setup.patience) is None:
        trial.found("P-15", Verdict.WARNING, "initialize was answered, but no call after it")
    else:
        trial.found("P-15", Verdict.PASS, "ignored: initialize and the next call were answered")
