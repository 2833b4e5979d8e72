"""The experiments, in the order of a run: each does something to a server and judges the rules that this shows.

An experiment is a coroutine that takes a `Trial`, and an entry in :data:`EXPERIMENTS`; `rules.py` says which rules it
judges. It works with:

``trial.begin()``         calls the slow tool; the call is a ``Trace``. ``halfway()`` also waits to the middle of its work,
                          ``cancel(trace, after)`` cancels it then, ``cancelled_call(after)`` does it all and watches.
``trial.mid``, ``end()``  seconds from a call to the middle of its work, and to the moment when nothing more is expected.
``trial.seen(trace)``     the observation of a cancelled call until its time and 0.5 s were over (``answers``, ``signs``, …),
                          for `judging.py`, which makes findings of it; ``connection.quiet()`` listens on.
``trial.tell(words)``     notes what was seen. ``passed(rule, sentence, *evidence)``, ``warned()``, ``failed()``, and
                          ``unseen()`` judge a rule by all that was noted and this evidence (``trace.evidence(arrival)``);
                          ``give_up(rule, why)`` ends the experiment with ``unseen()``.
``trial.survives(rule)``  asks for `tools/list`; without any answer the rule is broken and the experiment ends.
                          ``next_call(rule)`` returns the finding instead.
``trial.control``         the run without a cancel: its ``length`` in seconds, its ``signs`` of work.
``trial.connection``      ``ask()`` is `tools/list`, ``echo()`` the lightest request, ``request(method, params)`` any other,
                          ``notify()`` a notification with any params, ``quiet(moment)`` listens, ``refused()`` is why
                          notifications were not delivered; ``heard`` is all that came (`Arrival`: ``at``, ``frame``,
                          ``of``, ``kind``: ``result``, ``error``, ``progress``, ``log``, …; ``result`` and ``code`` of a
                          response); ``lost`` is set when the server is gone.
``trial.server``          the server under test (`Server`); ``connect(name)`` opens one more connection to it.
``trace``                 ``answered(moment)`` waits for its response until ``connection.now() + server.patience``, and
                          ``waited()`` says why none came; ``responses``, ``progress()``, ``sent_at``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, replace
from typing import Final

from mcp_tui.probe import judging, left_behind, tasks
from mcp_tui.probe.connection import CANCEL_METHOD, HANDSHAKE_ID, PROBE_REASON, Arrival, Trace
from mcp_tui.probe.judging import Observation
from mcp_tui.probe.report import BAD, EvidenceItem, Finding, Verdict
from mcp_tui.probe.rules import RULES, UNANSWERED
from mcp_tui.probe.trial import HARM, Judged, Trial
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.evidence import TRANSIT
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.revisions import LATEST_HANDSHAKE
from mcp_tui.protocol.values import frozen
from mcp_tui.transport.base import TransportError

# -- calls that are cancelled rightly: mid-work, at once, at the end, by a timeout, … ----------------------------

NO_END: Final = "the tool did not end by itself"

AT_ONCE_SECONDS: Final = 0.03
"""Seconds between a call and its cancel, so that a server reads one before the other."""


async def mid_work(trial: Trial) -> None:
    """P-01 to P-04, P-18, P-24 and P-25: cancelled in the middle of its work."""
    trace, seen = await trial.cancelled_call(trial.mid)
    if trial.was_quicker(trace):
        trace, seen = await trial.cancelled_call(trial.mid)
    trial.told += seen.quotes[:1]
    _post(trial, trace)
    _stream(trial, trace)
    following = await trial.next_call("P-04", tool=True)
    work = judging.work("P-03", seen, trial.control)
    closing = [await _closing(trial, seen, work)] if trial.server.modern_http else []
    # One fault breaks one rule: a server that does not take the close for a cancel has not told its tool of any.
    if closing and closing[0].verdict is Verdict.FAIL:
        text = "the server did not treat the closed stream as a cancel (P-18), so the tool continued"
        work = Finding("P-03", Verdict.NOT_OBSERVABLE, text, work.evidence)
    trial.findings += [
        judging.response("P-01", seen, trial.control, trial.level("P-01")),
        judging.progress("P-02", seen, trial.control, trial.level("P-02")),
        work,
        following,
        *closing,
    ]


def _post(trial: Trial, trace: Trace) -> None:
    """P-25: the POST of the cancel is accepted, and not only when the tool has ended."""
    connection, cancel_at = trial.connection, trace.cancel_at
    if connection.refusals:
        refused = connection.refused("the POST of the cancel")
        trial.warned("P-25", f"the cancel was refused: {connection.refusals[0]}", *refused)
    elif trace.responses and trace.responses[0].at < cancel_at:
        trial.unseen("P-25", "the call ended before the cancel")
    elif (accepted_at := connection.accepted_at.get(CANCEL_METHOD)) is not None:
        took = accepted_at - cancel_at
        left = trial.control.length - (cancel_at - trace.sent_at)
        if took > max(TRANSIT, judging.END * left):
            trial.warned(
                "P-25", f"the POST of the cancel was answered after {took:.2f} s, when the tool had ended"
            )
        else:
            trial.passed("P-25", f"the POST of the cancel was accepted after {took:.2f} s")
    elif connection.lost:
        trial.unseen("P-25", connection.lost)
    else:
        waited = connection.now() - cancel_at
        trial.warned("P-25", f"the POST of the cancel was not answered for {waited:.1f} s")


def _stream(trial: Trial, trace: Trace) -> None:
    """P-24: the call's own POST does not stay open for ever."""
    if trace.ended_at is None:
        waited = trial.connection.now() - trace.cancel_at
        trial.warned("P-24", f"the stream of the call was still open {waited:.1f} s after the cancel")
    else:
        trial.passed("P-24", f"the stream ended {trace.ended_at - trace.cancel_at:.2f} s after the cancel")


async def _closing(trial: Trial, seen: Observation, work: Finding) -> Finding:
    """P-18 by P-03: where the work went on, the same tool is cancelled by notification, in the handshake era.

    If that stops it, the close was not taken for a cancel. If it runs on there too, the tool itself ignores cancels, and
    nothing shows what the server made of the close. A server without the older era is judged by the control run.
    """
    found = replace(work, rule="P-18")
    if work.verdict is not Verdict.WARNING:
        return found
    how = judging.ran_to_end(seen, trial.control)
    if not how:
        text = f"{work.sentence}, and ended before its time: the tool may take long to stop"
        return replace(found, verdict=Verdict.NOT_OBSERVABLE, sentence=text)
    broken = f"closing the stream did not cancel the call: {how}"
    connection = trial.server.connect("P-18 in the handshake era")
    connection.server = replace(trial.server, revision=LATEST_HANDSHAKE)
    try:
        await connection.open()
        _, again = await Trial(connection).cancelled_call(trial.mid)
        other = judging.work("P-18", again, trial.control)
    except TransportError:
        text = f"{broken}, as in the uncancelled run"
        return replace(found, verdict=Verdict.FAIL, sentence=text)
    finally:
        await connection.close()
    if other.verdict is Verdict.WARNING:
        text = "the tool ignores every cancel, so the effect of closing the stream is unknown"
        return replace(found, verdict=Verdict.NOT_OBSERVABLE, sentence=text)
    text = f"{broken}; a notification in {LATEST_HANDSHAKE.name} stops the same tool"
    return Finding("P-18", Verdict.FAIL, text, (*work.evidence, *other.evidence))


async def at_once(trial: Trial) -> None:
    """P-05 and P-06: cancelled as soon as the server can have read it."""
    _, seen = await trial.cancelled_call(AT_ONCE_SECONDS)
    trial.findings += [_nothing_more(trial, "P-05", seen), await trial.next_call("P-06")]


def _nothing_more(trial: Trial, rule: str, seen: Observation) -> Finding:
    return judging.nothing_more(rule, seen, trial.control, trial.level(rule))


async def in_one_write(trial: Trial) -> None:
    """P-27: a server that reads both at once may look for the call before it has entered it."""
    choice, connection = trial.choice, trial.connection
    params: dict[str, Json] = {"requestId": connection.next_id, "reason": f"{PROBE_REASON}, in one write"}
    cancel = b"\n" + messages.encode(messages.notification(CANCEL_METHOD, params))
    trace = connection.call(choice.name, choice.arguments, behind=cancel)
    # They share one write, so everything that comes is behind the cancel.
    trace.cancel_at = trace.sent_at
    behind = connection.echo()
    seen = await trial.watched(trace, trace.sent_at + trial.end(), behind)
    await trial.survives("P-27")
    trial.findings.append(_nothing_more(trial, "P-27", seen))


async def at_completion(trial: Trial) -> None:
    """P-07: cancelled at the moment at which it should be done."""
    duration, connection = trial.control.duration, trial.connection
    if duration is None:
        trial.give_up("P-07", NO_END)
    trace = await trial.begin()
    # A little before it is due, so that the answer and the cancel cross. Which comes first is chance, and both are allowed.
    await connection.until(trace.over, trace.sent_at + duration - 0.005)
    crossed = "cancelled just after its answer" if trace.responses else "cancelled just before its answer"
    at = connection.cancel(trace)
    await connection.quiet(at + 0.5)
    trial.tell(crossed, at - trace.sent_at)
    trial.told += [trace.evidence(each) for each in trace.responses]
    came = "its answer and the cancel crossed" if trace.responses else "the call was cancelled just in time"
    await trial.survives("P-07")
    trial.passed("P-07", f"{came}; the next call was answered")


async def timed_out(trial: Trial) -> None:
    """P-16: the signal of a client whose own clock runs out."""
    _, seen = await trial.cancelled_call(trial.mid, f"timed out after {trial.mid:g} s")
    await trial.survives("P-16")
    trial.findings.append(_nothing_more(trial, "P-16", seen))


async def id_zero(trial: Trial) -> None:
    """P-23: what it does worse than calls with other ids that are cancelled at the same time."""
    passes = Verdict.PASS in (trial.server.verdict("P-01"), trial.server.verdict("P-03"))
    if not passes or trial.server.verdict("P-04") is Verdict.FAIL:
        trial.give_up("P-23", "the cancel of another id has no visible effect either")
    zero = await _effect(trial, 0)
    if zero.seen.early:
        trial.give_up("P-23", f"the call with the id 0 was answered with {zero.seen.early}")
    await trial.survives("P-23")
    trial.told += [each.evidence for each in zero.seen.answers] or zero.seen.quotes
    # what a server does now and then, the call of the first rules or one more shows with another id too
    worse = {rule: told for rule, told in zero.broken.items() if trial.server.verdict(rule) not in BAD}
    if worse:
        # One more call, no more: three of them took more time than a whole run over HTTP has.
        other = await _effect(trial, None)
        if trouble := other.seen.early or trial.connection.lost:
            trial.give_up("P-23", f"no call with another id to compare with: {trouble}")
        worse = {rule: told for rule, told in worse.items() if rule not in other.broken}
    if worse:
        trial.warned("P-23", f"only with the id 0: {next(iter(worse.values()))}")
        return
    if not zero.shows:
        trial.give_up("P-23", "the cancel of another id has no visible effect either")
    trial.passed("P-23", "the cancel of id 0 had the effect that any other has")
    trial.findings[-1] = judging.known(trial.findings[-1], zero.seen)


@frozen
class CancelEffect:
    """The effect of a cancel: the rules that were ``broken`` with the reasons, and whether anything ``shows`` an effect."""

    seen: Observation
    broken: dict[str, str]
    shows: bool


async def _effect(trial: Trial, id: RequestId | None) -> CancelEffect:
    """Cancels a call with this id, by default with the next one, in the middle of its work."""
    _, seen = await trial.cancelled_call(trial.mid, id=id)
    # the heartbeat is that of all experiments that run side by side
    seen = replace(seen, signs={name: times for name, times in seen.signs.items() if name != judging.BEATS})
    control = trial.control
    findings = (
        judging.response("P-01", seen, trial.control, trial.level("P-01")),
        judging.progress("P-02", seen, control, trial.level("P-02")),
        judging.work("P-03", seen, control),
    )
    broken = {each.rule: each.sentence for each in findings if each.verdict in BAD}
    # a tool that never answers gives no answer after a cancel either
    telling = findings if control.duration is not None else findings[1:]
    return CancelEffect(seen, broken, any(each.verdict is Verdict.PASS for each in telling))


async def two_in_flight(trial: Trial) -> None:
    """P-14: the call that nobody cancelled answers as if nothing had happened."""
    connection, control = trial.connection, trial.control
    cancelled, other = await trial.begin(), await trial.begin()
    await trial.cancel(cancelled, trial.mid)
    if control.duration is None:
        await connection.quiet(other.sent_at + trial.end())
        if not connection.lost:
            trial.give_up("P-14", "the tool does not end by itself, so the other call proves nothing")
        heard = None
    else:  # a server that works on one thing at a time needs the time of both
        heard = await other.answered(other.sent_at + 2 * control.length + trial.server.patience)
    trial.tell("the first of two calls was cancelled", cancelled.cancel_at - other.sent_at)
    what = "the call beside the cancelled one"
    if control.duration is not None and (heard is None or heard.fails) and await trial.harm_each_other(2):
        trial.give_up("P-14", HARM)
    if heard is None:
        trial.findings.append(judging.unanswered("P-14", what, other.waited(), control, trial.told))
        return
    trial.told.append(other.evidence(heard))
    if heard.kind == "error":
        trial.failed("P-14", f"{what} failed with error {heard.code}")
        return
    await trial.survives("P-14")
    trial.passed("P-14", f"the other call was answered after {heard.at - other.sent_at:.2f} s")


async def disconnected(trial: Trial) -> None:
    """P-17: over HTTP until 2025-11-25 the end of a stream says nothing, so the work goes on."""
    connection, control = trial.connection, trial.control
    trace, at = await trial.halfway()
    connection.close_stream(trace)
    await connection.quiet(trace.sent_at + trial.end(trial.mid))
    seen = trial.seen(trace)
    await trial.survives("P-17")
    trial.tell("the client closed the call's stream without a cancel", at - trace.sent_at)
    since = seen.cancel + judging.settling(control)
    on = [beat for beat in seen.times(judging.BEATS) if beat > since]
    # The heartbeat alone can show the work here: progress and log messages came on the stream that was closed.
    if sum(beat > since for beat in control.times(judging.BEATS)) < judging.SOME:
        trial.unseen("P-17", f"nothing shows whether the work goes on: {judging.HEARTBEAT}")
    elif len(on) >= judging.SOME:
        trial.passed("P-17", f"the work continued for {on[-1] - seen.cancel:.2f} s after the disconnect")
    else:
        trial.warned("P-17", "the work stopped at the disconnect")


async def notified_over_http(trial: Trial) -> None:
    """P-19: in 2026-07-28 over HTTP only the closing of the stream cancels."""
    trace, at = await trial.halfway()
    heard = await _cancelled_by(trial, trace, trace.id)
    trial.tell("notifications/cancelled was POSTed", at - trace.sent_at)
    trial.told += trial.connection.refused()[:1]
    trial.told += [trace.evidence(each) for each in trace.responses[:1]]
    await trial.survives("P-19")
    if heard is not None and heard.kind == "result":
        trial.passed("P-19", "no effect: the server sent the result")
    elif trial.control.duration is None:
        trial.unseen("P-19", NO_END)
    else:
        came = "no result" if heard is None else f"error {heard.code} instead of the result"
        trial.warned("P-19", f"the cancel took effect: {came}")


async def _cancelled_by(trial: Trial, trace: Trace, id: RequestId) -> Arrival | None:
    """Sends a cancel that must have no effect on a call; returns the response of the call, waiting long enough."""
    trial.connection.notify(CANCEL_METHOD, {"requestId": id, "reason": PROBE_REASON})
    return await trace.answered(trace.sent_at + trial.end(trial.mid) + 1.0)


async def session_deleted(trial: Trial) -> None:
    """P-28: the last experiment over HTTP, because a whole server may die of it."""
    server, connection = trial.server, trial.connection
    trace = (await trial.halfway())[0] if server.busy else None
    at = connection.now()
    status: int | None = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(5.0):
            status = await connection.transport.end_session()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] - HTTP's alone
    text = "DELETE got no answer" if status is None else f"DELETE got HTTP {status}"
    trial.tell(text, None if trace is None else at - trace.sent_at)
    if trace is not None:
        heard = await trace.answered(trace.sent_at + trial.end(trial.mid))
        if heard is not None:
            trial.told.append(trace.evidence(heard))
            text += f"; the call was answered with {heard.words} after {heard.at - at:.2f} s"
        elif trace.ended_at is not None:
            text += f"; the call's stream ended without a response after {trace.ended_at - at:.2f} s"
        else:
            text += "; the call got no response and its stream stayed open"
    # In a session of its own, since the deleted one has to be refused. mcp 1.9 answers 500 to everybody after a DELETE.
    other, what = server.connect("after DELETE"), "a call in a new session"
    try:
        await other.open()
        found = await Trial(other).next_call("P-28", what)
    except TransportError as error:
        found = judging.unanswered("P-28", what, str(error), trial.control)
    finally:
        await other.close()
    if found.verdict is Verdict.FAIL:
        told = (*trial.told, *found.evidence)
        trial.findings.append(replace(found, sentence=f"{text}; {found.sentence}", evidence=told))
    elif status is None or status >= 500:
        trial.warned("P-28", text)
    else:
        trial.passed("P-28", f"{text}; a new session works")


# -- cancels that no client should send: twice, too late, for nobody, malformed. A server ignores them all ------

REACTION_SECONDS: Final = 0.25
"""Seconds in which a wrong reaction to a notification should show."""

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
"""The malformed cancels, and the id of the call in flight that a careless server might cancel for each."""

EQUAL: Final = 3
"""In JSON, 3 and 3.0 are equal, so obeying that cancel breaks nothing."""


async def _ignored(trial: Trial, rule: str, since: float, passed: str = "", *, valid: bool = True) -> None:
    """Checks that a notification was ignored: no response to it, and the next call works. Then the rule is ``passed``.

    Raises:
        Judged: it was not, and ``rule`` is judged so.
    """
    connection = trial.connection
    answered = connection.nameless(since)
    trial.told += connection.refused()
    trial.told += [EvidenceItem(f"{each.words} without an id", None, each.frame) for each in answered]
    await trial.survives(rule)
    if answered:
        # a notification gets no response; one that is no valid request may get one, with the id null (JSON-RPC)
        verdict, clause = (Verdict.FAIL, UNANSWERED) if valid else (Verdict.WARNING, None)
        text = f"the server answered a notification: {answered[0].words} without an id"
        trial.findings.append(Finding(rule, verdict, text, tuple(trial.told), clause))
        raise Judged
    if passed:
        trial.passed(rule, passed)


IGNORED: Final = "ignored; the next call was answered"


async def twice(trial: Trial) -> None:
    """P-08 and P-26: the same cancel again, a moment later."""
    connection, traces = trial.connection, trial.server.traces
    trace = await trial.begin()
    await trial.cancel(trace, trial.mid)
    traces.remove(trace)  # P-26 says whether it is answered twice
    await asyncio.sleep(REACTION_SECONDS / 2)
    at, before = connection.now(), len(trace.responses)
    connection.notify(CANCEL_METHOD, {"requestId": trace.id, "reason": PROBE_REASON})
    await connection.quiet(at + max(REACTION_SECONDS, trace.sent_at + trial.end(trial.mid) - at))
    trial.tell("cancelled for the second time", at - trace.sent_at)
    told = [*trial.told]
    again = [trace.evidence(each) for each in trace.responses[before:]]
    with contextlib.suppress(Judged):
        await _ignored(trial, "P-08", at, IGNORED)
    trial.told = told
    count = len(trace.responses)
    if any(len(each.responses) > 1 for each in traces):
        trial.told = []
        trial.unseen("P-26", "this server answers calls twice that are cancelled once")
    elif again and before + len(again) > 1:
        words = f"{before + len(again)} responses to one call: {before} before the second cancel, {len(again)} after it"
        trial.failed("P-26", words, *again)
    else:
        came = {0: "no response", 1: "one response"}.get(count, f"{count} responses")
        trial.passed("P-26", f"{came} to a call that was cancelled twice")


async def after_completion(trial: Trial) -> None:
    """P-09: the cancel of a request that was answered, on the connection of the control run."""
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
    at = connection.now()
    connection.notify(CANCEL_METHOD, {"requestId": done.id, "reason": PROBE_REASON})
    await connection.quiet(at + REACTION_SECONDS)
    trial.tell(f"{done.method} was answered, then cancelled", at - done.sent_at)
    again = [done.evidence(each) for each in done.responses if each.at > at]
    await _ignored(trial, "P-09", at, "" if again else IGNORED)
    if again:
        trial.failed("P-09", "the server answered again after the cancel", *again)


async def unknown(trial: Trial) -> None:
    """P-10: an id that was never used."""
    connection = trial.connection
    at = connection.now()
    connection.notify(CANCEL_METHOD, {"requestId": UNKNOWN_ID, "reason": PROBE_REASON})
    connection.notify(CANCEL_METHOD, {"requestId": "no-such-request"})
    await connection.quiet(at + REACTION_SECONDS)
    trial.tell(f'cancelled {UNKNOWN_ID} and "no-such-request"')
    await _ignored(trial, "P-10", at, IGNORED)


async def malformed(trial: Trial) -> None:
    """P-11: one broken notification after another, each while the call that it might hit is in flight."""
    server, connection = trial.server, trial.connection
    calls: dict[int, Trace] = {}
    # The small ids are those of the calls that the malformed cancels might hit; the requests between them get others.
    connection.next_id = 1 + max(id_ for _, id_, _ in MALFORMED)
    worst: Finding | None = None
    sent = 0
    for name, id_, params in MALFORMED:
        # Each call begins with the first cancel that might hit it. When all began before the first cancel, on a slow
        # machine the last ones met calls that were over, and "all ignored" was said of what nobody had seen.
        if server.busy and not server.modern_http and id_ not in calls:
            calls[id_] = await trial.begin(id=id_)
            await connection.quiet(connection.now() + min(REACTION_SECONDS, trial.mid / 2))
        if id_ in calls and calls[id_].responses:
            trial.tell(f"not sent, because request {id_} had been answered: {name}")
            continue
        sent += 1
        at = connection.now()
        connection.refusals.clear()
        connection.notify(CANCEL_METHOD, params)
        # Sent behind the cancel: once it is answered, the cancel was read, and a reaction to it is here or close behind.
        heard = await connection.echo().answered(at + REACTION_SECONDS)
        await connection.quiet(connection.now() + 0.02)  # an error may come behind it
        trial.tell(f"cancelled with {name}", None, "" if params is None else messages.text(params))
        trial.told += connection.refused()
        answers = connection.nameless(at)
        for each in answers:
            trial.tell(f"{each.words} without an id", None, each.frame)
        if answers and worst is None:
            sentence = f"{name}: the server answered a notification: {answers[0].words} without an id"
            worst = Finding("P-11", Verdict.WARNING, sentence)
        if connection.lost and id_ == EQUAL:  # it dies of a valid cancel
            trial.tell(connection.lost)
        # Beside a call in flight, an echo without an answer is no sign: some servers do one thing at a time.
        elif connection.lost or (heard is None and not calls):
            found = await trial.next_call("P-11")
            if found.verdict is Verdict.FAIL:
                # a server may die some time after the one that it took for valid
                hit = "; ".join((*_taken(calls, trial), f"after {name}"))
                evidence = (*trial.told, *found.evidence)
                trial.findings.append(replace(found, sentence=f"{hit}: {found.sentence}", evidence=evidence))
                return
    found = await _hit(trial, calls, sent)
    if not connection.lost:
        following = await trial.next_call("P-11")
        found = following if following.verdict is Verdict.FAIL else found
    if worst is None or found.verdict is Verdict.FAIL:
        worst = found
    trial.findings.append(replace(worst, evidence=tuple(trial.told)))


async def _hit(trial: Trial, calls: dict[int, Trace], sent: int) -> Finding:
    """Judges whether the calls in flight were left alone, and names the cancels that hit them."""
    connection, control = trial.connection, trial.control
    if not sent:
        return Finding("P-11", Verdict.NOT_OBSERVABLE, "every call was answered before it could be cancelled")
    count = f"all {sent}" if sent == len(MALFORMED) else f"{sent} of {len(MALFORMED)} sent, all"
    ignored = (
        "all ignored" if connection.lost else f"{count} were ignored, and the calls in flight were answered"
    )
    if not connection.lost:
        if not calls or control.duration is None:
            return Finding("P-11", Verdict.PASS, f"{count} were ignored, and a later call still worked")
        # a server may work on one thing at a time
        until = connection.now() + len(calls) * control.length + 3.0
        for trace in calls.values():
            await trace.answered(until)
    if hit := _taken(calls, trial):
        if await trial.harm_each_other(len(calls)):
            return Finding("P-11", Verdict.NOT_OBSERVABLE, HARM)
        return Finding("P-11", Verdict.WARNING, f"treated as a valid cancel: {'; '.join(hit)}")
    return Finding("P-11", Verdict.PASS, ignored)


def _taken(calls: dict[int, Trace], trial: Trial) -> list[str]:
    """Returns the calls that got no result, with the cancels that may have hit them. The end of the server is no hit."""
    hit: list[str] = []
    for id_, trace in calls.items():
        heard = next(iter(trace.responses), None)
        if trial.connection.lost if heard is None else heard.kind == "result":
            continue
        names = ", ".join(name for name, other, _ in MALFORMED if other == id_)
        text = f"request {id_}: {_became(trace, 'no result')} ({names})"
        trial.tell(text, None, heard.frame if heard else "")
        blamed = f"request 4 by one of: {names}" if id_ == 4 else f"request {id_} was cancelled by {names}"
        if id_ != EQUAL:
            hit.append(blamed)
    return hit


def _became(trace: Trace, nothing: str) -> str:
    heard = next(iter(trace.responses), None)
    return nothing if heard is None else f"{heard.words} received"


async def odd_reasons(trial: Trial) -> None:
    """P-12: a reason of null, and one of 42, each for a call in flight. The server may obey or ignore them."""
    connection = trial.connection
    first, second = await trial.begin(), await trial.begin()
    await connection.quiet(second.sent_at + trial.mid)
    at = connection.now()
    connection.notify(CANCEL_METHOD, {"requestId": first.id, "reason": None})
    connection.notify(CANCEL_METHOD, {"requestId": second.id, "reason": 42})
    await connection.until(
        lambda: bool(connection.lost or (first.responses and second.responses)),
        second.sent_at + trial.end(trial.mid),
    )
    if not connection.lost:
        trial.tell(f"reason null: {_became(first, 'no response')}")
        trial.tell(f"reason 42: {_became(second, 'no response')}")
    await _ignored(trial, "P-12", at, "no harm; the next call was answered", valid=False)


async def string_id(trial: Trial) -> None:
    """P-13: the id of the call, but as a string. It is another id."""
    trace, at = await trial.halfway()
    heard = await _cancelled_by(trial, trace, str(trace.id))
    seen = trial.seen(trace)
    trial.tell(f'request {trace.id} in flight; "{trace.id}" was cancelled', at - trace.sent_at)
    trial.told += [trace.evidence(each) for each in trace.responses[:1]]
    await _ignored(trial, "P-13", at)
    # A tool that never ends gives no result anyway, but its work may be seen to stop.
    stopped = judging.work("P-13", seen, trial.control).verdict is Verdict.PASS
    if heard is not None and heard.kind == "result":
        trial.passed("P-13", "ignored: the server sent the result")
    elif trial.control.duration is None and heard is None and not stopped:
        trial.unseen("P-13", NO_END)
    else:
        trial.warned("P-13", f"the server treated the string as the number: {_became(trace, 'no result')}")


async def initialize(trial: Trial) -> None:
    """P-15: no client may cancel ``initialize``, so a server does best to ignore it. On a connection without handshake."""
    connection, server = trial.connection, trial.server
    await connection.start()
    opening = connection.request(*server.hello(), id=HANDSHAKE_ID)
    connection.notify(CANCEL_METHOD, {"requestId": HANDSHAKE_ID, "reason": PROBE_REASON})
    patience = max(4.0, 4 * server.connecting + 2.0)
    trial.tell("initialize was sent, and cancelled at once")
    heard = await opening.answered(opening.sent_at + patience)
    if heard is None:
        text = f"initialize: {opening.trouble() or f'never answered within {patience:.1f} s'}"
        trial.warned("P-15", f"{text}; the session cannot be used")
        return
    trial.told.append(opening.evidence(heard))
    if heard.kind == "error":
        trial.warned("P-15", f"initialize was answered with error {heard.code}")
        return
    await connection.greeted()
    if await connection.ask().answered(connection.now() + server.patience) is None:
        trial.warned("P-15", "initialize was answered, but no call after it")
    else:
        trial.passed("P-15", "ignored: initialize and the next call were answered")


@frozen
class Experiment:
    """An experiment, which is run if one of its :attr:`rules` applies.

    ``alone``: beside no other. ``opened``: on a connection that shook hands; ``fresh``: on one on which no id was used yet.
    ``tool``: it needs the slow tool. ``spares``: it lets a call go on uncancelled, so it needs a tool that does not end the
    connection by itself.
    """

    name: str
    run: Callable[[Trial], Awaitable[None]]
    _: KW_ONLY
    tool: bool = True
    alone: bool = False
    opened: bool = True
    fresh: bool = False
    spares: bool = False

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that it judges."""
        return tuple(rule.id for rule in RULES.values() if rule.experiment == self.name)


# The order is that of a run. The first one comes first: id 0 is compared with its verdicts, and it
# mends a control run that was cold. What is `alone` reads the heartbeat, one file for all connections,
# or is the DELETE: that comes last, because a whole server may die of it.
EXPERIMENTS: Final = (
    Experiment("cancelled mid-work", mid_work, alone=True),
    Experiment("disconnected", disconnected, alone=True),
    Experiment("cancelled at once", at_once),
    Experiment("two in flight, one cancelled", two_in_flight, spares=True),
    Experiment("an unknown id cancelled", unknown, tool=False),
    Experiment("malformed cancels", malformed, tool=False, spares=True, fresh=True),
    Experiment("cancelled twice", twice),
    Experiment("cancelled at completion", at_completion, spares=True),
    Experiment("timed out", timed_out),
    Experiment("a string cancelled for a number", string_id, spares=True),
    Experiment("odd reasons", odd_reasons, spares=True),
    Experiment("notified over HTTP", notified_over_http, spares=True),
    Experiment("a task cancelled", tasks.tasks_cancel, tool=False),
    Experiment("initialize cancelled", initialize, tool=False, opened=False),
    Experiment("the id 0 cancelled", id_zero),
    Experiment("called and cancelled in one write", in_one_write),
    Experiment("stdin closed", left_behind.stdin_closed, tool=False, opened=False),
    Experiment("the client killed", left_behind.client_killed, tool=False, opened=False),
    Experiment("stderr broken", left_behind.stderr_broken, tool=False, opened=False),
    Experiment("the wrapper killed", left_behind.wrapper_killed, tool=False, opened=False),
    Experiment("DELETE with a call in flight", session_deleted, tool=False, alone=True),
)
