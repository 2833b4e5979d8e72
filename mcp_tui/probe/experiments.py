"""The experiments, in the order of a run: each does something to a server and judges the rules that this shows.

An experiment is a coroutine that takes a `Trial`, and an entry in :data:`EXPERIMENTS`; `rules.py` says which rules it
judges. It works with:

``trial.begin()``         calls the slow tool; the call is a ``Trace``. ``halfway(rule)`` also waits to the middle of its
                          work, ``cancel(trace, after)`` cancels it then, ``cancelled_call(after)`` does it all and watches.
``trial.mid``, ``end()``  seconds from a call to the middle of its work, and to the moment when nothing more is expected.
``trial.observation(trace)``  what was observed of a call until its time and 0.5 s were over (``answers``, ``signs``, …),
                          for `judging.py`, which makes findings of it; ``connection.quiet()`` listens on.
``trial.note(words)``     notes what was seen. ``passed(rule, sentence, *evidence)``, ``warned()``, ``failed()``, and
                          ``unseen()`` judge a rule by all that was noted and this evidence (``trace.evidence(arrival)``);
                          ``give_up(rule, why)`` ends the experiment with ``unseen()``.
``trial.survives(rule)``  asks for `tools/list` and calls the tool; if that is not answered as before any cancel, the rule is
                          broken and the experiment ends; else it returns the words for it. ``next_call(rule)`` returns the
                          finding instead.
``trial.spared(rule, …)`` waits for a call that nobody cancelled, one of ``count`` in flight, and returns in words what is
                          amiss with its answer, compared with the run without a cancel; empty if nothing.
``trial.control``         the run without a cancel: its ``length`` in seconds, its ``signs`` of work, its ``answer``.
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
from typing import Final, NoReturn

from mcp_tui.probe import improper, judging, left_behind, task_experiment
from mcp_tui.probe.judging import Observation
from mcp_tui.probe.raw_connection import CANCEL_METHOD, PROBE_REASON, Trace
from mcp_tui.probe.report import BAD, Finding, Verdict
from mcp_tui.probe.rules import RULES
from mcp_tui.probe.trial import ENDED, NO_END, REACTION_SECONDS, Judged, Trial
from mcp_tui.protocol import messages
from mcp_tui.protocol.events import RequestId
from mcp_tui.protocol.messages import Json
from mcp_tui.protocol.revisions import LATEST_HANDSHAKE
from mcp_tui.protocol.states import TRANSIT
from mcp_tui.protocol.values import frozen
from mcp_tui.transport.base import TransportError

# -- calls that are cancelled rightly: mid-work, at once, at the end, by a timeout, … ----------------------------

SOON_SECONDS: Final = 0.15
"""Seconds after a call from which a cancel is not one at once."""

AT_ONCE_SECONDS: Final = 0.03
"""Seconds between a call and its cancel, so that a server reads one before the other."""


async def mid_work(trial: Trial) -> None:
    """P-01 to P-04, P-18, P-24 and P-25: cancelled in the middle of its work."""
    # What every cancel brings is for this experiment to find out: an attempt before it must not have said so.
    trial.server.nameless = 0
    trace, observation = await trial.cancelled_call(trial.mid)
    if trial.was_quicker(trace):
        trace, observation = await trial.cancelled_call(trial.mid)
    trial.evidence += observation.quotes[:1]
    _post(trial, trace)
    _stream(trial, trace)
    following = await _next_call(trial, "P-04", observation)
    trial.server.nameless = len(trial.connection.nameless(trace.cancel_at))
    observation = await trial.reaction(observation)
    work = judging.work("P-03", observation, trial.control)
    closing = [await _closing(trial, observation, work)] if trial.server.modern_http else []
    # One fault breaks one rule: a server that does not take the close for a cancel has not told its tool of any.
    if closing and closing[0].verdict is Verdict.FAIL:
        text = "the server did not treat the closed stream as a cancel (P-18), so the tool continued"
        work = _explained(work, text)
    trial.findings += [
        judging.response("P-01", observation, trial.control, trial.level("P-01")),
        judging.progress("P-02", observation, trial.control, trial.level("P-02")),
        work,
        following,
        *closing,
    ]


async def _next_call(trial: Trial, rule: str, observation: Observation) -> Finding:
    """Judges the next call behind a cancel, if there was anything to cancel."""
    if observation.early:
        return Finding(rule, Verdict.NOT_OBSERVABLE, f"{ENDED} ({observation.early})", observation.quotes)
    return await trial.next_call(rule)


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


async def _closing(trial: Trial, observation: Observation, work: Finding) -> Finding:
    """P-18 by P-03: where the work went on, the same tool is cancelled by notification, in the handshake era.

    If that stops it, the close was not taken for a cancel. If it runs on there too, the tool itself ignores cancels, and
    nothing shows what the server made of the close. A server without the older era is judged by the control run.
    """
    found = replace(work, rule="P-18")
    if work.verdict is not Verdict.WARNING:
        return found
    how = judging.ran_to_end(observation, trial.control)
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
    _, observation = await trial.cancelled_call(AT_ONCE_SECONDS)
    if observation.cancel > min(SOON_SECONDS, trial.mid):  # on a machine that is busy
        _, observation = await trial.cancelled_call(AT_ONCE_SECONDS)
    trial.findings += [
        await _next_call(trial, "P-06", observation),
        await _nothing_more(trial, "P-05", observation),
    ]


async def _nothing_more(trial: Trial, rule: str, observation: Observation) -> Finding:
    return judging.nothing_more(rule, await trial.reaction(observation), trial.control, trial.level(rule))


async def in_one_write(trial: Trial) -> None:
    """P-27 and P-33: a server that reads both at once may look for the call before it has entered it.

    Or it finds it, and runs a tool whose signal was given before it began.
    """
    choice, connection = trial.choice, trial.connection
    params: dict[str, Json] = {"requestId": connection.next_id, "reason": f"{PROBE_REASON}, in one write"}
    cancel = b"\n" + messages.encode(messages.notification(CANCEL_METHOD, params))
    trace = connection.call(choice.name, choice.arguments, behind=cancel)
    # They share one write, so everything that comes is behind the cancel.
    trace.cancel_at = trace.sent_at
    behind = connection.echo()
    observation = await trial.watched(trace, trace.sent_at + trial.end(), behind)
    message = await _nothing_more(trial, "P-27", observation)
    work = judging.work("P-33", observation, trial.control)
    if work.verdict in BAD:
        # One fault breaks one rule.
        if message.verdict in BAD:
            work = _explained(work, "the server did not take the cancel (P-27), so the tool worked")
        elif trial.server.verdict("P-03") in BAD:
            work = _explained(work, "the tool works on after every cancel (P-03)")
    trial.findings.append(work)
    await trial.survives("P-27")
    trial.findings.append(message)


def _explained(found: Finding, why: str) -> Finding:
    """Returns a finding that another rule explains, and that shows nothing of its own therefore."""
    return replace(found, verdict=Verdict.NOT_OBSERVABLE, sentence=why)


CROSSINGS: Final = (-0.02, 0.0)
"""Seconds after which a call is cancelled, from the moment when it should be done; with 0 when it is done."""


async def at_completion(trial: Trial) -> None:
    """P-07: cancelled at the moment at which it should be done, and at once when it is."""
    server, connection = trial.server, trial.connection
    if trial.control.duration is None:
        trial.give_up("P-07", NO_END)
    # A short call is over sooner, and crosses as well.
    usual, arguments = trial.control.answer, trial.choice.arguments
    if server.briefly is not None and server.brief is not None:
        usual, arguments = server.briefly, server.brief
    length = trial.control.duration if usual is None else usual.took
    next_call = ""
    for offset in CROSSINGS if server.has_time else CROSSINGS[-1:]:
        trace = connection.call(trial.choice.name, arguments)
        await trace.leaves()
        # A little before it is due, so that the answer and the cancel cross. Which comes first is chance; both are allowed.
        due = trace.sent_at + (length + offset if offset else length + server.patience)
        await connection.until(trace.over, due)
        if not trace.responses and (trace.over() or not offset):
            trial.give_up("P-07", f"a call was not answered before any cancel: {trace.waited()}")
        crossed = "cancelled just after its answer" if trace.responses else "cancelled just before its answer"
        at = connection.cancel(trace)
        await connection.quiet(at + REACTION_SECONDS)
        trial.note(crossed, at - trace.sent_at)
        trial.evidence += [trace.evidence(each) for each in trace.responses]
        length = trace.responses[0].at - trace.sent_at if trace.responses else length
        next_call = await trial.survives("P-07")
    trial.passed("P-07", f"the cancel and the answer crossed; {next_call}")


async def timed_out(trial: Trial) -> None:
    """P-16: the signal of a client whose own clock runs out."""
    _, observation = await trial.cancelled_call(trial.mid, f"timed out after {trial.mid:g} s")
    if not observation.early:
        await trial.survives("P-16")
    trial.findings.append(await _nothing_more(trial, "P-16", observation))


async def id_zero(trial: Trial) -> None:
    """P-23: what it does worse than calls with other ids that are cancelled at the same time."""
    passes = Verdict.PASS in (trial.server.verdict("P-01"), trial.server.verdict("P-03"))
    if not passes or trial.server.verdict("P-04") is Verdict.FAIL:
        trial.give_up("P-23", "the cancel of another id has no visible effect either")
    zero = await _effect(trial, 0)
    if zero.observation.early:
        trial.give_up("P-23", f"the call with the id 0 was answered with {zero.observation.early}")
    await trial.survives("P-23")
    trial.evidence += [each.evidence for each in zero.observation.answers] or zero.observation.quotes
    # what a server does now and then, the call of the first rules or one more shows with another id too
    worse = {rule: told for rule, told in zero.broken.items() if trial.server.verdict(rule) not in BAD}
    if worse:
        # One more call, no more: three of them took more time than a whole run over HTTP has.
        other = await _effect(trial, None)
        if trouble := other.observation.early or trial.connection.lost:
            trial.give_up("P-23", f"no call with another id to compare with: {trouble}")
        worse = {rule: told for rule, told in worse.items() if rule not in other.broken}
    if worse:
        trial.warned("P-23", f"only with the id 0: {next(iter(worse.values()))}")
        return
    if not zero.shows:
        trial.give_up("P-23", "the cancel of another id has no visible effect either")
    trial.passed("P-23", "after the cancel of id 0 came what comes after any other")
    trial.findings[-1] = judging.known(trial.findings[-1], zero.observation)


@frozen
class CancelEffect:
    """The effect of a cancel: the rules that were ``broken`` with the reasons, and whether anything ``shows`` an effect."""

    observation: Observation
    broken: dict[str, str]
    shows: bool


async def _effect(trial: Trial, id: RequestId | None) -> CancelEffect:
    """Cancels a call with this id, by default with the next one, in the middle of its work."""
    _, observation = await trial.cancelled_call(trial.mid, id=id)
    observation, control = await trial.reaction(observation), trial.control
    findings = (
        judging.response("P-01", observation, trial.control, trial.level("P-01")),
        judging.progress("P-02", observation, control, trial.level("P-02")),
        judging.work("P-03", observation, control),
    )
    broken = {each.rule: each.sentence for each in findings if each.verdict in BAD}
    # a tool that never answers gives no answer after a cancel either
    telling = findings if control.duration is not None else findings[1:]
    return CancelEffect(observation, broken, any(each.verdict is Verdict.PASS for each in telling))


async def two_in_flight(trial: Trial) -> None:
    """P-14: the call that nobody cancelled answers as if nothing had happened, whichever of the two was called first."""
    if trial.control.answer is None:
        await _endless_pair(trial)
    for first in (True, False) if trial.server.has_time else (True,):
        calls = [await trial.begin(), await trial.begin()]
        cancelled, other = calls if first else reversed(calls)
        await trial.connection.quiet(cancelled.sent_at + trial.mid)
        trial.in_flight("P-14", *calls)
        await trial.cancel(cancelled, trial.mid)
        order = "first" if first else "second"
        trial.note(f"the {order} of two calls was cancelled", cancelled.cancel_at - other.sent_at)
        if how := await trial.spared("P-14", other, 2):
            what = "the call next to the cancelled one"
            trial.findings.append(judging.harmed("P-14", what, how, trial.control, trial.evidence))
            return
        await trial.survives("P-14")
    trial.passed("P-14", "the other call was answered as the uncancelled run was")


async def _endless_pair(trial: Trial) -> NoReturn:
    """Cancels one of two calls of a tool that never ends: that the other goes on cannot be seen, its end can.

    Raises:
        Judged: always.
    """
    cancelled, other = await trial.begin(), await trial.begin()
    await trial.cancel(cancelled, trial.mid)
    await trial.connection.quiet(other.sent_at + trial.end())
    if not trial.connection.lost and not other.responses:
        trial.give_up("P-14", "the tool does not end on its own, so the other call proves nothing")
    how = other.waited() if not other.responses else other.responses[0].quoted
    what = "the call next to the cancelled one ended"
    trial.findings.append(judging.harmed("P-14", what, f"too: {how}", trial.control, trial.evidence))
    raise Judged


async def disconnected(trial: Trial) -> None:
    """P-17: over HTTP until 2025-11-25 the end of a stream says nothing, so the work goes on."""
    connection, control = trial.connection, trial.control
    trace, at = await trial.halfway("P-17")
    connection.close_stream(trace)
    await connection.quiet(trace.sent_at + trial.end(trial.mid))
    observation = trial.observation(trace)
    await trial.survives("P-17")
    trial.note("the client closed the call's stream without a cancel", at - trace.sent_at)
    since = observation.cancel + judging.settling(control)
    on = [beat for beat in observation.times(judging.BEATS) if beat > since]
    # The heartbeat alone can show the work here: progress and log messages came on the stream that was closed.
    if sum(beat > since for beat in control.times(judging.BEATS)) < judging.SOME:
        trial.unseen("P-17", f"nothing shows whether the work continues: {judging.HEARTBEAT}")
    elif len(on) >= judging.SOME:
        trial.passed(
            "P-17", f"the work continued for {on[-1] - observation.cancel:.2f} s after the disconnect"
        )
    else:
        trial.warned("P-17", "the work stopped at the disconnect")


async def notified_over_http(trial: Trial) -> None:
    """P-19: in 2026-07-28 over HTTP only the closing of the stream cancels."""
    trace, at = await trial.halfway("P-19")
    trial.connection.notify(CANCEL_METHOD, {"requestId": trace.id, "reason": PROBE_REASON})
    trial.note("notifications/cancelled was POSTed", at - trace.sent_at)
    how = await trial.untouched("P-19", trace)
    trial.evidence += trial.connection.refused()[:1]
    await trial.survives("P-19")
    if how:
        trial.warned("P-19", f"the cancel took effect: the call {how}")
    elif trial.control.answer is None:
        trial.unseen("P-19", NO_END)
    else:
        trial.passed("P-19", "no effect: the call was answered as the uncancelled run was")


async def session_deleted(trial: Trial) -> None:
    """P-28: the last experiment over HTTP, because a whole server may die of it."""
    server, connection = trial.server, trial.connection
    # A second session, with a call of its own in flight, has to go on; and a third one has to open.
    beside = server.connect("next to DELETE")
    await beside.open()
    spared = await Trial(beside).begin() if server.busy and trial.control.answer is not None else None
    trace = (await trial.halfway("P-28"))[0] if server.busy else None
    at = connection.now()
    status: int | None = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(5.0):
            status = await connection.transport.end_session()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] - HTTP's alone
    text = "DELETE got no answer" if status is None else f"DELETE got HTTP {status}"
    trial.note(text, None if trace is None else at - trace.sent_at)
    until = at if trace is None else trace.sent_at + trial.end(trial.mid)
    found, _ = await asyncio.gather(_in_a_new_session(trial), connection.until(lambda: False, until))
    if trace is not None:
        text += f"; {_of_the_deleted(trial, trace, at)}"
    how = ""
    if spared is not None and found.verdict is Verdict.PASS:
        how = await trial.spared("P-28", spared, 2)
    if how:
        found = judging.harmed("P-28", "the call in flight in another session", how, trial.control)
    if found.verdict is not Verdict.PASS:
        told = (*trial.evidence, *found.evidence)
        trial.findings.append(replace(found, sentence=f"{text}; {found.sentence}", evidence=told))
    elif status is None or status >= 500:
        trial.warned("P-28", text)
    else:
        trial.passed("P-28", f"{text}; another session and a new one work")


def _of_the_deleted(trial: Trial, trace: Trace, at: float) -> str:
    """Returns what became of the call in flight in the session that was deleted ``at`` a time."""
    if trace.responses:
        trial.evidence.append(trace.evidence(trace.responses[0]))
        return (
            f"the call was answered with {trace.responses[0].words} after {trace.responses[0].at - at:.2f} s"
        )
    if trace.ended_at is not None:
        return f"the call's stream ended without a response after {trace.ended_at - at:.2f} s"
    return "the call got no response and its stream stayed open"


async def _in_a_new_session(trial: Trial) -> Finding:
    # In a session of its own, since the deleted one has to be refused. mcp 1.9 answers 500 to everybody after a DELETE.
    other, what = trial.server.connect("after DELETE"), "a call in a new session"
    try:
        await other.open()
        return await Trial(other).next_call("P-28", what, compares=False)
    except TransportError as error:
        return judging.harmed("P-28", what, f"was not answered: {error}", trial.control)
    finally:
        await other.close()


@frozen
class Experiment:
    """An experiment, which is run if one of its :attr:`rules` applies.

    ``alone``: beside no other. ``beats``: it reads the heartbeat, if there is one. ``opened``: on a connection that shook
    hands; ``fresh``: on one on which no id was used yet. ``tool``: it needs the slow tool. ``spares``: it lets a call go on
    uncancelled, so it needs a tool that does not end the connection by itself.
    """

    name: str
    run: Callable[[Trial], Awaitable[None]]
    _: KW_ONLY
    tool: bool = True
    alone: bool = False
    beats: bool = False
    opened: bool = True
    fresh: bool = False
    spares: bool = False

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that it judges."""
        return tuple(rule.id for rule in RULES.values() if rule.experiment == self.name)


# The order is that of a run. The first one comes first: others are compared with its verdicts, and it
# mends a control run that was cold. What reads the heartbeat, one file for all connections, is alone, and so
# is the DELETE: that comes last, because a whole server may die of it.
EXPERIMENTS: Final = (
    Experiment("cancelled mid-work", mid_work, alone=True),
    Experiment("disconnected", disconnected, beats=True),
    Experiment("called and cancelled in one write", in_one_write, beats=True),
    Experiment("the id 0 cancelled", id_zero, beats=True, fresh=True),
    Experiment("a task cancelled", task_experiment.tasks_cancel, tool=False, beats=True),
    Experiment("cancelled at once", at_once),
    Experiment("two in flight, one cancelled", two_in_flight, spares=True),
    Experiment("an unknown id cancelled", improper.unknown, tool=False),
    Experiment("malformed cancels", improper.malformed, tool=False, spares=True, fresh=True),
    Experiment("cancelled twice", improper.twice),
    Experiment("cancelled at completion", at_completion, spares=True),
    Experiment("timed out", timed_out),
    Experiment("a string cancelled for a number", improper.string_id, spares=True),
    Experiment("odd reasons", improper.odd_reasons, spares=True),
    Experiment("notified over HTTP", notified_over_http, spares=True),
    Experiment("initialize cancelled", improper.initialize, tool=False, opened=False),
    Experiment("stdin closed", left_behind.stdin_closed, tool=False, opened=False),
    Experiment("the client killed", left_behind.client_killed, tool=False, opened=False),
    Experiment("stderr broken", left_behind.stderr_broken, tool=False, opened=False),
    Experiment("the wrapper killed", left_behind.wrapper_killed, tool=False, opened=False),
    Experiment("DELETE with a call in flight", session_deleted, tool=False, alone=True),
)
