"""The experiments, in the order of a run. Each makes calls on a server, and judges some rules by the result.

An experiment is a coroutine that takes a `Trial`, and an entry in :data:`EXPERIMENTS`; `rules.py` names the experiment of
each rule. An experiment uses:

``trial.begin()``         calls the slow tool, and returns the call as a ``Trace``. ``halfway(rule)`` also waits until the
                          middle of its work. ``cancel(trace, after)`` cancels a call. ``cancelled_call(after)`` calls,
                          cancels, and returns the observation.
``trial.mid``, ``end()``  seconds from a call to the middle of its work, and until no more message is expected.
``trial.observation(trace)``  the observation of a call so far (``answers``, ``signs``, …), from which `judging.py` makes
                          findings.
``trial.note(words)``      adds evidence. ``passed(rule, sentence, *evidence)``, ``warned()``, ``failed()``, and
                          ``unseen()`` judge a rule, with the evidence so far and that given
                          (``trace.evidence(arrival)``). ``give_up(rule, why)`` ends the experiment with ``unseen()``.
``trial.survives(rule)``  requests `tools/list` and calls the tool. If the answers differ from those before any cancel, the
                          rule is broken and the experiment ends; otherwise it returns a text about the success.
                          ``next_call(rule)`` returns a finding instead.
``trial.harmed(rule, …)``   judges that a call failed that must work. ``trial.short`` has the arguments of a short call.
``trial.spared(rule, …)``  waits for a call that was not cancelled, one of ``count`` in flight. Returns the difference of
                          its answer from the uncancelled run as a text; empty if there is none.
``trial.control``         the uncancelled run: its ``length`` in seconds, its ``signs`` of work, its ``answer``.
``trial.connection``      ``ask()`` sends `tools/list`, ``echo()`` the lightest request, ``request(method, params)`` any
                          other, ``notify()`` a notification with any params. ``quiet(moment)`` listens. ``refused()``
                          says why notifications were not delivered. ``arrivals`` has all received messages (`Arrival`).
                          ``lost`` is the reason if the connection ended.
``trial.server``          the server under test (`ServerUnderTest`); ``connect(name)`` makes another connection to it.
``trace``                 ``answered(moment)`` waits for the response until that time, usually
                          ``connection.now() + server.patience``. ``waited()`` says why there is none. It also has
                          ``responses``, ``progress()``, and ``sent_at``.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Final, NoReturn

from mcp_tui.probe import improper, judging, left_behind, task_experiment
from mcp_tui.probe.delivered_twice import delivered_twice
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

# -- calls that are cancelled correctly: mid-work, at once, at the end, by a timeout, … ----------------------------

SOON_SECONDS: Final = 0.15
"""The most seconds between a call and a cancel "at once"."""

AT_ONCE_SECONDS: Final = 0.03
"""The seconds between a call and a cancel at once, so that the server reads them one after the other."""


async def mid_work(trial: Trial) -> None:
    """P-01 to P-04, P-18, P-24, and P-25: the call is cancelled in the middle of its work."""
    # This experiment measures the responses without an id after an ordinary cancel; a first attempt must not count.
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
    # One fault breaks one rule: if the server does not treat the close as a cancel, its tool was never cancelled.
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
    """Judges the next call after a cancel, unless the cancelled call had already ended."""
    if observation.early:
        return Finding(rule, Verdict.NOT_OBSERVABLE, f"{ENDED} ({observation.early})", observation.quotes)
    return await trial.next_call(rule)


def _post(trial: Trial, trace: Trace) -> None:
    """P-25: the POST of the cancel is accepted before the tool has ended."""
    connection, cancel_at = trial.connection, trace.cancel_at
    if connection.refusals:
        refused = connection.refused("the POST of the cancel")
        trial.warned("P-25", f"the cancel was refused: {connection.refusals[0]}", *refused)
    elif trace.responses and trace.responses[0].at < cancel_at:
        trial.unseen("P-25", "the call ended before the cancel")
    elif (accepted_at := connection.accepted_at.get(CANCEL_METHOD)) is not None:
        took = accepted_at - cancel_at
        remaining = trial.control.length - (cancel_at - trace.sent_at)
        after = f"after {took:.2f} s"
        if took > max(TRANSIT, judging.END * remaining):
            trial.warned("P-25", f"the POST of the cancel was answered {after}, when the tool had ended")
        else:
            trial.passed("P-25", f"the POST of the cancel was accepted {after}")
    elif connection.lost:
        trial.unseen("P-25", connection.lost)
    else:
        waited = connection.now() - cancel_at
        trial.warned("P-25", f"the POST of the cancel was not answered for {waited:.1f} s")


def _stream(trial: Trial, trace: Trace) -> None:
    """P-24: the response stream of the call does not stay open forever."""
    if trace.ended_at is None:
        waited = trial.connection.now() - trace.cancel_at
        trial.warned("P-24", f"the stream of the call was still open {waited:.1f} s after the cancel")
    else:
        trial.passed("P-24", f"the stream ended {trace.ended_at - trace.cancel_at:.2f} s after the cancel")


async def _closing(trial: Trial, observation: Observation, work: Finding) -> Finding:
    """P-18, derived from P-03. If the work continued, the same tool is cancelled by a notification, in an older revision.

    If the notification stops the tool, the server did not treat the close as a cancel. If the tool keeps running, it ignores
    all cancels, and the effect of the close is unknown. A server without older revisions is judged by the control run.
    """
    found = replace(work, rule="P-18")
    if work.verdict is not Verdict.WARNING:
        return found
    how = judging.ran_to_end(observation, trial.control)
    if not how:
        text = f"{work.sentence}, and ended before its time: the tool may take long to stop"
        return _explained(found, text)
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
        return _explained(found, text)
    text = f"{broken}; a notification in {LATEST_HANDSHAKE.name} stops the same tool"
    return Finding("P-18", Verdict.FAIL, text, (*work.evidence, *other.evidence))


async def at_once(trial: Trial) -> None:
    """P-05 and P-06: the call is cancelled as soon as the server can have read it."""
    _, observation = await trial.cancelled_call(AT_ONCE_SECONDS)
    if observation.cancel > min(SOON_SECONDS, trial.mid):  # the machine was too busy to cancel at once
        _, observation = await trial.cancelled_call(AT_ONCE_SECONDS)
    trial.findings += [
        await _next_call(trial, "P-06", observation),
        await _nothing_more(trial, "P-05", observation),
    ]


async def _nothing_more(trial: Trial, rule: str, observation: Observation) -> Finding:
    return judging.nothing_more(rule, await trial.reaction(observation), trial.control, trial.level(rule))


async def in_one_write(trial: Trial) -> None:
    """P-27 and P-33: the call and its cancel are in one write.

    A server that reads both at once may handle the cancel before it has registered the call. Or it cancels the call, and
    then starts the tool anyway.
    """
    choice, connection = trial.choice, trial.connection
    params: dict[str, Json] = {"requestId": connection.next_id, "reason": f"{PROBE_REASON}, in one write"}
    cancel = b"\n" + messages.encode(messages.notification(CANCEL_METHOD, params))
    trace = connection.call(choice.name, choice.arguments, behind=cancel)
    # Call and cancel share one write, so every message arrives after the cancel.
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
    """Returns a finding as not observable, because the fault of another rule explains it."""
    return replace(found, verdict=Verdict.NOT_OBSERVABLE, sentence=why)


CROSSINGS: Final = (-0.02, 0.0)
"""The times of the cancels, in seconds relative to the expected end of the call; 0 means just after its answer."""


async def at_completion(trial: Trial) -> None:
    """P-07: the call is cancelled shortly before its expected answer, and again just after it."""
    server, connection = trial.server, trial.connection
    if trial.control.duration is None:
        trial.give_up("P-07", NO_END)
    # The short form of the call takes less time, and its answer crosses the cancel as well.
    length = trial.control.duration if trial.short_answer is None else trial.short_answer.took
    next_call = ""
    for offset in CROSSINGS if server.has_time else CROSSINGS[-1:]:
        trace = connection.call(trial.choice.name, trial.short)
        await trace.leaves()
        # The cancel is sent shortly before the answer is due, so that they cross. Either may come first; both are allowed.
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
    """P-16: the call is cancelled with the reason of a timeout."""
    _, observation = await trial.cancelled_call(trial.mid, f"timed out after {trial.mid:g} s")
    if not observation.early:
        await trial.survives("P-16")
    trial.findings.append(await _nothing_more(trial, "P-16", observation))


async def id_zero(trial: Trial) -> None:
    """P-23: the cancel of a call with the id 0, compared with cancels of other ids."""
    passes = Verdict.PASS in (trial.server.verdict("P-01"), trial.server.verdict("P-03"))
    if not passes or trial.server.verdict("P-04") is Verdict.FAIL:
        trial.give_up("P-23", "the cancel of another id has no visible effect either")
    zero = await _effect(trial, 0)
    if zero.observation.early:
        trial.give_up("P-23", f"the call with the id 0 was answered with {zero.observation.early}")
    await trial.survives("P-23")
    trial.evidence += [each.evidence for each in zero.observation.answers] or zero.observation.quotes
    # A fault that occurs with any id, at least now and then, is not a fault of the id 0.
    worse = {rule: found for rule, found in zero.broken.items() if trial.server.verdict(rule) not in BAD}
    if worse:
        # Only one more call, because three took more time than a whole run over HTTP has.
        other = await _effect(trial, None)
        if trouble := other.observation.early or trial.connection.lost:
            trial.give_up("P-23", f"no call with another id to compare with: {trouble}")
        worse = {rule: found for rule, found in worse.items() if rule not in other.broken}
    if worse:
        trial.warned("P-23", f"only with the id 0: {next(iter(worse.values()))}")
        return
    if not zero.shows:
        trial.give_up("P-23", "the cancel of another id has no visible effect either")
    trial.passed("P-23", "after the cancel of id 0 came what comes after any other")
    trial.findings[-1] = judging.known(trial.findings[-1], zero.observation)


@frozen
class CancelEffect:
    """The effect of a cancel: the ``broken`` rules with the reasons, and whether any sign ``shows`` that it was obeyed."""

    observation: Observation
    broken: dict[str, str]
    shows: bool


async def _effect(trial: Trial, id: RequestId | None) -> CancelEffect:
    """Cancels a call in the middle of its work; ``id`` is its id, by default the next one."""
    _, observation = await trial.cancelled_call(trial.mid, id=id)
    observation, control = await trial.reaction(observation), trial.control
    findings = (
        judging.response("P-01", observation, control, trial.level("P-01")),
        judging.progress("P-02", observation, control, trial.level("P-02")),
        judging.work("P-03", observation, control),
    )
    broken = {each.rule: each.sentence for each in findings if each.verdict in BAD}
    # If the tool never answers, a missing answer after a cancel shows nothing.
    telling = findings if control.duration is not None else findings[1:]
    return CancelEffect(observation, broken, any(each.verdict is Verdict.PASS for each in telling))


async def two_in_flight(trial: Trial) -> None:
    """P-14: of two calls one is cancelled, first the earlier, then the later; the other must be answered as usual."""
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
            trial.harmed("P-14", "the call next to the cancelled one", how)
            return
        await trial.survives("P-14")
    trial.passed("P-14", "the other call was answered as the uncancelled run was")


async def _endless_pair(trial: Trial) -> NoReturn:
    """Cancels one of two calls of a tool that never ends. An end of the other call is a fault.

    Raises:
        Judged: always.
    """
    cancelled, other = await trial.begin(), await trial.begin()
    await trial.cancel(cancelled, trial.mid)
    await trial.connection.quiet(other.sent_at + trial.end())
    if not trial.connection.lost and not other.responses:
        trial.give_up("P-14", "the tool does not end on its own, so the other call proves nothing")
    how = other.waited() if not other.responses else other.responses[0].quoted
    trial.harmed("P-14", "the call next to the cancelled one ended", f"too: {how}")
    raise Judged


async def disconnected(trial: Trial) -> None:
    """P-17: over HTTP until 2025-11-25, the end of a stream is not a cancel, so the work continues."""
    connection, control = trial.connection, trial.control
    trace, at = await trial.halfway("P-17")
    connection.close_stream(trace)
    await connection.quiet(trace.sent_at + trial.end(trial.mid))
    observation = trial.observation(trace)
    await trial.survives("P-17")
    trial.note("the client closed the call's stream without a cancel", at - trace.sent_at)
    since = observation.cancel + judging.settling(control)
    on = [beat for beat in observation.times(judging.BEATS) if beat > since]
    # Only the heartbeat can show the work here, because progress and log messages use the closed stream.
    if sum(beat > since for beat in control.times(judging.BEATS)) < judging.SOME:
        trial.unseen("P-17", f"nothing shows whether the work continues: {judging.HEARTBEAT}")
    elif len(on) >= judging.SOME:
        lag = on[-1] - observation.cancel
        trial.passed("P-17", f"the work continued for {lag:.2f} s after the disconnect")
    else:
        trial.warned("P-17", "the work stopped at the disconnect")


async def notified_over_http(trial: Trial) -> None:
    """P-19: over HTTP in 2026-07-28, only closing the stream cancels, not a notification."""
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
    """P-28: the session is deleted with a call in flight. It is the last experiment over HTTP, because a server may exit."""
    server, connection = trial.server, trial.connection
    # A second session, with a call in flight, must continue to work, and a third one must open.
    second = server.connect("next to DELETE")
    await second.open()
    spared = await Trial(second).begin() if server.busy and trial.control.answer is not None else None
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
        evidence = (*trial.evidence, *found.evidence)
        trial.findings.append(replace(found, sentence=f"{text}; {found.sentence}", evidence=evidence))
    elif status is None or status >= 500:
        trial.warned("P-28", text)
    else:
        trial.passed("P-28", f"{text}; another session and a new one work")


def _of_the_deleted(trial: Trial, trace: Trace, at: float) -> str:
    """Returns a text about the call that was in flight when its session was deleted, at the time ``at``."""
    if trace.responses:
        response = trace.responses[0]
        trial.evidence.append(trace.evidence(response))
        return f"the call was answered with {response.words} after {response.at - at:.2f} s"
    if trace.ended_at is not None:
        return f"the call's stream ended without a response after {trace.ended_at - at:.2f} s"
    return "the call got no response and its stream stayed open"


async def _in_a_new_session(trial: Trial) -> Finding:
    # In a new session, because the server must refuse the deleted one. mcp 1.9 answers every request after a DELETE with
    # 500.
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
    """An experiment, which runs if one of its :attr:`rules` applies.

    Attributes:
        name: the name in :attr:`Rule.experiment`, which is also shown while the experiment runs.
        run: the coroutine.
        tool: whether it needs the slow tool.
        alone: whether no other experiment may run at the same time.
        beats: whether it reads the heartbeat, if there is one.
        opened: whether the handshake on its connection is done.
        fresh: whether it needs a connection on which no id was used.
        spares: whether it leaves a call uncancelled, which needs a tool that does not end the connection by itself.
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
        """The ids of the rules that the experiment judges."""
        return tuple(rule.id for rule in RULES.values() if rule.experiment == self.name)


# The experiments run in this order. "cancelled mid-work" is first, because others are compared with its verdicts, and
# because it corrects a control run that was slow. Experiments that read the heartbeat run alone, because one file
# serves all connections. The DELETE runs alone, and only what is information follows, because the whole server may exit.
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
    Experiment("stdin closed", partial(left_behind.abandoned, rule="P-21"), tool=False, opened=False),
    Experiment("the client killed", partial(left_behind.abandoned, rule="P-29"), tool=False, opened=False),
    Experiment("stderr broken", left_behind.stderr_broken, tool=False, opened=False),
    Experiment("the wrapper killed", partial(left_behind.abandoned, rule="P-31"), tool=False, opened=False),
    Experiment("DELETE with a call in flight", session_deleted, tool=False, alone=True),
    Experiment("delivered twice", delivered_twice, alone=True, beats=True, spares=True),
)
