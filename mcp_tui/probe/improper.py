"""Experiments with improper cancels: twice, too late, for an unknown id, malformed. A server must ignore all of them."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import Final

from mcp_tui.probe import judging
from mcp_tui.probe.raw_connection import CANCEL_METHOD, HANDSHAKE_ID, PROBE_REASON, Trace
from mcp_tui.probe.report import EvidenceItem, Finding, Verdict
from mcp_tui.probe.rules import UNANSWERED, Strength
from mcp_tui.probe.trial import ENDED, HARM, NO_END, REACTION_SECONDS, Judged, Trial
from mcp_tui.protocol import messages
from mcp_tui.protocol.messages import Json

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
"""The malformed cancels: name, id of the call that a lenient server might cancel, and params."""

EQUAL: Final = 3
"""The id of the call that a cancel of 3.0 may stop: 3 and 3.0 are equal in JSON, so obeying that cancel is no fault."""


async def _ignored(trial: Trial, rule: str, since: float, *, valid: bool = True, cancels: int = 0) -> str:
    """Checks that notifications since a time were ignored: no response, and the next call works. Returns a text about both.

    ``valid`` says whether the notifications were valid. ``cancels`` is the number of calls that they cancelled: as many
    responses without an id as after ordinary cancels are permitted.

    Raises:
        Judged: they were not ignored, or ``rule`` cannot be judged; the finding is added.
    """
    connection = trial.connection
    trial.evidence += connection.refused()
    next_call = await trial.survives(rule)
    answered = connection.nameless(since)
    trial.evidence += [EvidenceItem(f"{each.words} without an id", None, each.frame) for each in answered]
    if len(answered) > cancels * trial.server.nameless:
        # A valid notification gets no response. An invalid one may get an error with the id null (JSON-RPC).
        verdict, clause = (Verdict.FAIL, UNANSWERED) if valid else (Verdict.WARNING, None)
        text = f"the server answered a notification: {answered[0].words} without an id"
        trial.findings.append(Finding(rule, verdict, text, tuple(trial.evidence), clause))
        raise Judged
    return f"ignored; {next_call}"


async def twice(trial: Trial) -> None:
    """P-08 and P-26: a call is cancelled twice."""
    connection, traces = trial.connection, trial.server.traces
    trace = await trial.begin()
    await connection.quiet(trace.sent_at + trial.mid)
    if trace.over():
        trial.unseen("P-26", ENDED)
    trial.in_flight("P-08", trace)
    began = connection.now()
    await trial.cancel(trace, trial.mid)
    traces.remove(trace)  # P-26 judges whether this call is answered twice, so P-22 must not
    await asyncio.sleep(REACTION_SECONDS / 2)
    at, before = connection.now(), len(trace.responses)
    connection.notify(CANCEL_METHOD, {"requestId": trace.id, "reason": PROBE_REASON})
    await connection.quiet(at + max(REACTION_SECONDS, trace.sent_at + trial.end(trial.mid) - at))
    trial.note("cancelled for the second time", at - trace.sent_at)
    evidence = [*trial.evidence]
    again = [trace.evidence(each) for each in trace.responses[before:]]
    with contextlib.suppress(Judged):
        trial.passed("P-08", await _ignored(trial, "P-08", began, cancels=1))
    trial.evidence = evidence
    count = len(trace.responses)
    if any(len(each.responses) > 1 for each in traces):
        trial.evidence = []
        trial.unseen("P-26", "this server answers calls twice that are cancelled once")
    elif again and before + len(again) > 1:
        words = f"{before + len(again)} responses to one call: {before} before the second cancel, {len(again)} after it"
        trial.failed("P-26", words, *again)
    else:
        responses = {0: "no response", 1: "one response"}.get(count, f"{count} responses")
        trial.passed("P-26", f"{responses} to a call that was cancelled twice")


async def after_completion(trial: Trial) -> None:
    """P-09: an answered request is cancelled, on the connection of the control run, while another call is in flight."""
    connection, control = trial.connection, trial.control
    if connection.lost:
        trial.give_up("P-09", connection.lost)
    if control.lost:
        trial.give_up("P-09", f"the tool ends the connection without any cancel: {control.lost}")
    calls = (each for each in connection.traces.values() if each.method == "tools/call")
    done = next((each for each in calls if each.responses), None)
    if done is None:
        done = connection.ask()
        await done.answered(connection.now() + trial.server.patience)
    other = await _bystander(trial)
    at = connection.now()
    connection.notify(CANCEL_METHOD, {"requestId": done.id, "reason": PROBE_REASON})
    await connection.quiet(at + REACTION_SECONDS)
    trial.note(f"{done.method} was answered, then cancelled", at - done.sent_at)
    how = "" if other is None else await trial.spared("P-09", other, usual=trial.server.briefly)
    again = [done.evidence(each) for each in done.responses if each.at > at]
    ignored = await _ignored(trial, "P-09", at)
    if again:
        trial.server.again = done
        trial.failed("P-09", "the server answered again after the cancel", *again)
    elif how:
        trial.warned("P-09", f"another call {how}")
    else:
        trial.passed("P-09", ignored)


async def _bystander(trial: Trial) -> Trace | None:
    """Calls the tool, in its short form if possible, to see whether a cancel of no call hits this one.

    Returns ``None`` if the answer of such a call cannot be judged.
    """
    server, connection = trial.server, trial.connection
    if not server.busy or not server.has_time or trial.short_answer is None:
        return None
    trace = connection.call(trial.choice.name, trial.short)
    await trace.leaves()
    length = trial.control.length if server.briefly is None else server.briefly.took
    await connection.quiet(trace.sent_at + min(trial.mid, length / 4))
    return trace


async def unknown(trial: Trial) -> None:
    """P-10: ids that were never used are cancelled, while another call is in flight."""
    connection = trial.connection
    other = await _bystander(trial)
    at = connection.now()
    connection.notify(CANCEL_METHOD, {"requestId": UNKNOWN_ID, "reason": PROBE_REASON})
    connection.notify(CANCEL_METHOD, {"requestId": "no-such-request"})
    await connection.quiet(at + REACTION_SECONDS)
    trial.note(f'cancelled {UNKNOWN_ID} and "no-such-request"')
    how = "" if other is None else await trial.spared("P-10", other, usual=trial.server.briefly)
    ignored = await _ignored(trial, "P-10", at)
    if how:
        trial.warned("P-10", f"another call {how}")
    else:
        trial.passed("P-10", ignored)


async def malformed(trial: Trial) -> None:
    """P-11: malformed cancels are sent one after the other, each while the call that it might hit is in flight."""
    server, connection = trial.server, trial.connection
    calls: dict[int, Trace] = {}
    # The small ids are those of the calls that the malformed cancels might hit; the requests between them get others.
    connection.next_id = 1 + max(id_ for _, id_, _ in MALFORMED)
    worst: Finding | None = None
    sent = 0
    for name, id_, params in MALFORMED:
        # Each call starts just before the first cancel that might hit it. If all calls started before the first cancel,
        # those for the last cancels could have ended already on a slow machine.
        if server.busy and id_ not in calls:
            calls[id_] = await trial.begin(id=id_)
            await connection.quiet(connection.now() + min(REACTION_SECONDS, trial.mid / 2))
        if id_ in calls and calls[id_].responses:
            trial.note(f"not sent, because request {id_} had been answered: {name}")
            continue
        sent += 1
        at = connection.now()
        connection.refusals.clear()
        connection.notify(CANCEL_METHOD, params)
        # This request follows the cancel. Its answer shows that the cancel was read, so a reaction arrives soon if ever.
        response = await connection.echo().answered(at + REACTION_SECONDS)
        await connection.quiet(connection.now() + 0.02)  # an error may arrive after the answer
        trial.note(f"cancelled with {name}", None, "" if params is None else messages.text(params))
        trial.evidence += connection.refused()
        answers = connection.nameless(at)
        for each in answers:
            trial.note(f"{each.words} without an id", None, each.frame)
        usual = server.nameless if id_ == EQUAL else 0
        if len(answers) > usual and worst is None:
            sentence = f"{name}: the server answered a notification: {answers[0].words} without an id"
            worst = Finding("P-11", Verdict.WARNING, sentence)
        if connection.lost and id_ == EQUAL:  # the server exits after a valid cancel
            trial.note(connection.lost)
        # With a call in flight, a missing answer shows nothing: some servers handle one request at a time.
        elif connection.lost or (response is None and not calls):
            found = await trial.next_call("P-11")
            if found.verdict is Verdict.FAIL:
                # The server may exit some time after the cancel that it obeyed.
                hit = "; ".join((*_taken(calls, trial), f"after {name}"))
                evidence = (*trial.evidence, *found.evidence)
                trial.findings.append(replace(found, sentence=f"{hit}: {found.sentence}", evidence=evidence))
                return
    found = await _hit(trial, calls, sent)
    if not connection.lost:
        following = await trial.next_call("P-11")
        found = following if following.verdict is Verdict.FAIL else found
    if worst is None or found.verdict is Verdict.FAIL:
        worst = found
    trial.findings.append(replace(worst, evidence=(*trial.evidence, *found.evidence)))


async def _hit(trial: Trial, calls: dict[int, Trace], sent: int) -> Finding:
    """Judges whether the calls in flight were unharmed, and names the cancels that may have hit them."""
    connection, control = trial.connection, trial.control
    if not sent:
        return Finding("P-11", Verdict.NOT_OBSERVABLE, "every call was answered before it could be cancelled")
    ignored = "all ignored"
    if not connection.lost:
        count = f"all {sent}" if sent == len(MALFORMED) else f"{sent} of {len(MALFORMED)} sent, all"
        ignored = f"{count} were ignored, and the calls in flight were answered"
        if not calls or control.duration is None:
            return Finding("P-11", Verdict.PASS, f"{count} were ignored, and a later call still worked")
        # A server may handle one call at a time. A correctly cancelled call needs only its own time.
        until = connection.now() + len(calls) * control.length + 3.0
        for id_, trace in calls.items():
            await trace.answered(trace.sent_at + trial.end() if id_ == EQUAL else until)
    if hit := _taken(calls, trial):
        if await trial.are_usual([trace for id_, trace in calls.items() if id_ != EQUAL], len(calls)):
            return Finding("P-11", Verdict.NOT_OBSERVABLE, HARM)
        return Finding("P-11", Verdict.WARNING, f"treated as a valid cancel: {'; '.join(hit)}")
    return Finding("P-11", Verdict.PASS, ignored)


def _taken(calls: dict[int, Trace], trial: Trial) -> list[str]:
    """Returns texts about the harmed calls, with the cancels that may have hit them. The end of the server is no hit."""
    hit: list[str] = []
    usual = trial.control.answer
    for id_, trace in calls.items():
        answer = trace.answer()
        if answer is None:
            how = "" if trial.connection.lost or usual is None else "no result"
        else:
            how = answer.in_words() if usual is None else judging.harm(answer, usual)
        if not how:
            continue
        names = ", ".join(name for name, other, _ in MALFORMED if other == id_)
        trial.note(f"request {id_}: {how} ({names})", None, trace.responses[0].frame if answer else "")
        blamed = f"request 4 by one of: {names}" if id_ == 4 else f"request {id_} was cancelled by {names}"
        if id_ != EQUAL:
            hit.append(blamed)
    return hit


async def odd_reasons(trial: Trial) -> None:
    """P-12: of three calls in flight, one is cancelled with the reason null and one with the reason 42.

    The server may obey or ignore both cancels.
    """
    connection = trial.connection
    first, second = await trial.begin(), await trial.begin()
    other = await trial.begin() if trial.control.answer is not None else None
    await connection.quiet(second.sent_at + trial.mid)
    trial.in_flight("P-12", first, second)
    at = connection.now()
    connection.notify(CANCEL_METHOD, {"requestId": first.id, "reason": None})
    connection.notify(CANCEL_METHOD, {"requestId": second.id, "reason": 42})
    await connection.until(
        lambda: bool(connection.lost or (first.responses and second.responses)),
        second.sent_at + trial.end(trial.mid),
    )
    if not connection.lost:
        for reason, trace in (("null", first), ("42", second)):
            response = trace.responses[0].words if trace.responses else "no response"
            trial.note(f"reason {reason}: {response}")
    how = "" if other is None or connection.lost else await trial.spared("P-12", other, 3)
    ignored = await _ignored(trial, "P-12", at, valid=False, cancels=2)
    if how:
        trial.harmed("P-12", "a call next to the cancelled ones", how)
    else:
        trial.passed("P-12", ignored.replace("ignored", "no harm"))


async def string_id(trial: Trial) -> None:
    """P-13: a call is cancelled by its id as a string, which is another id."""
    trace, at = await trial.halfway("P-13")
    trial.connection.notify(CANCEL_METHOD, {"requestId": str(trace.id), "reason": PROBE_REASON})
    trial.note(f'request {trace.id} in flight; "{trace.id}" was cancelled', at - trace.sent_at)
    how = await trial.untouched("P-13", trace)
    observation = trial.observation(trace)
    await _ignored(trial, "P-13", at)
    # A tool that never ends gives no answer anyway, but the end of its progress shows that it stopped.
    progress = judging.progress("P-13", observation, trial.control, Strength.SHOULD)
    if how or (trial.control.answer is None and progress.verdict is Verdict.PASS):
        effect = f"the call {how}" if how else "no more progress"
        trial.warned("P-13", f"the server treated the string as the number: {effect}")
    elif trial.control.answer is None:
        trial.unseen("P-13", NO_END)
    else:
        trial.passed("P-13", "ignored: the call was answered as the uncancelled run was")


async def initialize(trial: Trial) -> None:
    """P-15: ``initialize`` is cancelled. No client may do so, so a server should ignore it."""
    connection, server = trial.connection, trial.server
    await connection.start()
    opening = connection.request(*server.hello(), id=HANDSHAKE_ID)
    connection.notify(CANCEL_METHOD, {"requestId": HANDSHAKE_ID, "reason": PROBE_REASON})
    patience = max(4.0, 4 * server.connecting + 2.0)
    trial.note("initialize was sent, and cancelled at once")
    response = await opening.answered(opening.sent_at + patience)
    if response is None:
        text = f"initialize: {opening.trouble() or f'never answered within {patience:.1f} s'}"
        trial.warned("P-15", f"{text}; the session cannot be used")
        return
    trial.evidence.append(opening.evidence(response))
    if response.fails:
        trial.warned("P-15", f"initialize was answered with {response.words}")
        return
    await connection.greeted()
    await connection.prepare()
    found = await trial.next_call("P-15", "the first call")
    trial.evidence += found.evidence
    if found.verdict is not Verdict.PASS:
        verdict = Verdict.WARNING if found.verdict is Verdict.FAIL else found.verdict
        trial.found("P-15", verdict, f"initialize was answered, but {found.sentence}")
    elif answered := connection.nameless(opening.sent_at):
        trial.warned("P-15", f"the server answered the cancel: {answered[0].words} without an id")
    else:
        trial.passed("P-15", f"ignored: initialize was answered, and {found.sentence}")
