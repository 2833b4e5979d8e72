"""Experiments with calls that are cancelled rightly: mid-work, at once, at the end, by a timeout, beside another."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Final

from mcp_tui.probe import judging
from mcp_tui.probe.connection import CANCELLED, REASON, ProbeConnection, Trace
from mcp_tui.probe.judging import Next, Observation
from mcp_tui.probe.report import EvidenceItem, Finding, Verdict
from mcp_tui.probe.setup import Setup
from mcp_tui.protocol.revisions import LATEST_HANDSHAKE
from mcp_tui.transport.base import TransportError

AT_ONCE: Final = 0.03
"""Seconds between a call and its cancel: enough for a server to read the one before the other."""


async def mid_work(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-01 to P-04, P-18, P-24 and P-25: cancelled in the middle of its work."""
    _, control = setup.work
    trace, seen = await setup.cancelled_call(connection, setup.mid)
    found = [_posted(connection, trace, setup), _stream(connection, trace)]
    next_ = await setup.next_call(connection, tool=True)
    found += [
        judging.response("P-01", seen, setup.level("P-01")),
        judging.progress("P-02", seen, control, setup.level("P-02")),
        judging.work("P-03", seen, control),
        judging.following("P-04", next_, control),
    ]
    if setup.modern_http:
        work = found[4]
        closing = await _closing(seen, work, setup)
        found.append(closing)
        if closing.verdict is Verdict.FAIL:
            text = "the close was not taken for a cancel (P-18), so the tool was never told to stop"
            found[4] = Finding("P-03", Verdict.NOT_OBSERVABLE, text, work.evidence)
    return found


def _posted(connection: ProbeConnection, trace: Trace, setup: Setup) -> Finding:
    """P-25: the POST of the cancel is accepted, and not only when the tool has ended."""
    _, control = setup.work
    cancel_at = trace.cancel_at or 0.0
    told = tuple(EvidenceItem(f"the POST of the cancel: {each}") for each in connection.refusals)
    if connection.refusals:
        return Finding("P-25", Verdict.WARNING, f"the cancel was refused: {connection.refusals[0]}", told)
    if trace.over() and trace.responses and trace.responses[0].at < cancel_at:
        return Finding("P-25", Verdict.NOT_OBSERVABLE, "the call ended before the cancel")
    if not connection.accepted_at:
        if connection.ended is not None:
            return Finding("P-25", Verdict.NOT_OBSERVABLE, connection.ended.detail)
        text = f"the POST of the cancel was not answered for {connection.now() - cancel_at:.1f} s"
        return Finding("P-25", Verdict.WARNING, text)
    took = connection.accepted_at[0] - cancel_at
    left = control.length - (cancel_at - trace.sent_at)
    if took > max(judging.TRANSIT, judging.END * left):
        text = f"the POST of the cancel was answered after {took:.2f} s, when the tool had ended"
        return Finding("P-25", Verdict.WARNING, text)
    return Finding("P-25", Verdict.PASS, f"the POST of the cancel was accepted after {took:.2f} s")


def _stream(connection: ProbeConnection, trace: Trace) -> Finding:
    """P-24: the call's own POST does not stay open for ever."""
    ended = connection.streams_ended.get(trace.id)
    cancel_at = trace.cancel_at or 0.0
    if ended is None:
        text = f"the stream of the call was still open {connection.now() - cancel_at:.1f} s after the cancel"
        return Finding("P-24", Verdict.WARNING, text)
    return Finding("P-24", Verdict.PASS, f"the stream ended {ended - cancel_at:.2f} s after the cancel")


async def _closing(seen: Observation, work: Finding, setup: Setup) -> Finding:
    """P-18 by P-03: where the work went on, the same tool is cancelled by notification, in the handshake era.

    If that stops it, the close was not taken for a cancel. If it runs on there too, the tool itself ignores cancels, and
    nothing shows what the server made of the close. A server without the older era is judged by the control run.
    """
    _, control = setup.work
    if work.verdict is not Verdict.WARNING:
        return Finding("P-18", work.verdict, work.sentence, work.evidence)
    how = judging.ran_to_end(seen, control)
    if not how:
        text = f"{work.sentence}, and ended before its time: the tool may take long to stop"
        return Finding("P-18", Verdict.NOT_OBSERVABLE, text, work.evidence)
    broken = f"closing the stream did not cancel the call: {how}"
    connection = setup.connect("P-18 in the handshake era")
    connection.peer = replace(connection.peer, revision=LATEST_HANDSHAKE, meta={})
    try:
        await connection.open()
        _, again = await setup.cancelled_call(connection, setup.mid)
        other = judging.work("P-18", again, control)
    except TransportError:
        text = f"{broken}, as in the uncancelled run"
        return Finding("P-18", Verdict.FAIL, text, work.evidence)
    finally:
        await connection.close()
    if other.verdict is Verdict.WARNING:
        text = "the tool runs on whatever cancels it, so it cannot be told what the server makes of the close"
        return Finding("P-18", Verdict.NOT_OBSERVABLE, text, work.evidence)
    text = f"{broken}; a notification in {LATEST_HANDSHAKE.name} stops the same tool"
    return Finding("P-18", Verdict.FAIL, text, (*work.evidence, *other.evidence))


async def at_once(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-05 and P-06: cancelled as soon as the server can have read it."""
    _, control = setup.work
    _, seen = await setup.cancelled_call(connection, AT_ONCE)
    next_ = await setup.next_call(connection)
    return [
        judging.nothing_more("P-05", seen, control, setup.level("P-05")),
        judging.following("P-06", next_, control),
    ]


async def in_one_write(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-27: a server that reads both at once may look for the call before it has entered it."""
    choice, control = setup.work
    trace = setup.called(
        connection.in_one_write(choice.name, choice.arguments), choice.name, choice.arguments
    )
    behind = connection.echo()
    await setup.watch(trace, trace.sent_at + setup.end())
    seen = setup.seen(trace, behind)
    await setup.survives("P-27", connection)
    return [judging.nothing_more("P-27", seen, control, setup.level("P-27"))]


async def at_completion(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-07: cancelled at the moment at which it should be done."""
    _, control = setup.work
    if control.duration is None:
        return [Finding("P-07", Verdict.NOT_OBSERVABLE, "the tool did not end by itself")]
    trace = await setup.begin(connection)
    await connection.until(trace.over, trace.sent_at + control.duration - 0.005)
    crossed = "cancelled just after its answer" if trace.responses else "cancelled just before its answer"
    at = connection.cancel(trace)
    await connection.quiet(at + 0.5)
    told = [EvidenceItem(crossed, at - trace.sent_at)]
    told += [trace.evidence(each) for each in trace.responses]
    await setup.survives("P-07", connection, told)
    came = "its answer and the cancel crossed" if trace.responses else "it was cancelled just in time"
    return [Finding("P-07", Verdict.PASS, f"{came}; the next call was answered", tuple(told))]


async def timed_out(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-16: the signal of a client whose own clock runs out."""
    _, control = setup.work
    _, seen = await setup.cancelled_call(connection, setup.mid, f"timed out after {setup.mid:g} s")
    await setup.survives("P-16", connection)
    return [judging.nothing_more("P-16", seen, control, setup.level("P-16"))]


async def id_zero(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-23: judged only where another id shows that a cancel has an effect at all."""
    _, control = setup.work
    if setup.verdict("P-01") is not Verdict.PASS and setup.verdict("P-03") is not Verdict.PASS:
        return [
            Finding("P-23", Verdict.NOT_OBSERVABLE, "the cancel of another id has no visible effect either")
        ]
    _, seen = await setup.cancelled_call(connection, setup.mid, id=0)
    # the heartbeat is that of all experiments that run side by side
    seen, control = replace(seen, beats=()), replace(control, beats=())
    if seen.early:
        words = f"the call with the id 0 was answered with {seen.early}"
        return [Finding("P-23", Verdict.NOT_OBSERVABLE, words, seen.quotes)]
    told = tuple(each.evidence for each in seen.answers) or seen.quotes
    if judging.work("P-23", seen, control).verdict is Verdict.WARNING or judging.ran_to_end(seen, control):
        how = judging.ran_to_end(seen, control) or "the work went on"
        return [Finding("P-23", Verdict.WARNING, f"the cancel of id 0 had no effect: {how}", told)]
    await setup.survives("P-23", connection)
    return [Finding("P-23", Verdict.PASS, "the cancel of id 0 had the effect that any other has", told)]


async def two_in_flight(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-14: the call that nobody cancelled answers as if nothing had happened."""
    _, control = setup.work
    cancelled, other = await setup.begin(connection), await setup.begin(connection)
    await setup.cancel(cancelled, setup.mid)
    at = cancelled.cancel_at or 0.0
    told = [EvidenceItem("the first of two calls was cancelled", at - other.sent_at)]
    if control.duration is None:
        await connection.quiet(other.sent_at + setup.end())
        if connection.ended is None:
            why = "the tool does not end by itself, so the other call has nothing to show"
            return [Finding("P-14", Verdict.NOT_OBSERVABLE, why)]
        heard = None
    else:  # a server that works on one thing at a time needs the time of both
        heard = await other.answered(other.sent_at + 2 * control.length + 3.0)
    what = "the call beside the cancelled one"
    if heard is None:
        return [judging.following("P-14", Next(False, other.waited(), tuple(told)), control, what=what)]
    told.append(other.evidence(heard))
    if heard.kind == "error":
        text = f"{what} failed with error {heard.code}"
        return [Finding("P-14", Verdict.FAIL, text, tuple(told))]
    await setup.survives("P-14", connection)
    text = f"the other call was answered after {heard.at - other.sent_at:.2f} s"
    return [Finding("P-14", Verdict.PASS, text, tuple(told))]


async def disconnected(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-17: over HTTP until 2025-11-25 the end of a stream says nothing, so the work goes on."""
    _, control = setup.work
    trace = await setup.begin(connection)
    await connection.quiet(trace.sent_at + setup.mid)
    at = trace.cancel_at = connection.now()
    trace.closed_stream = True
    assert connection.transport is not None
    connection.transport.release(trace.id)
    await connection.quiet(trace.sent_at + setup.end(setup.mid))
    seen = setup.seen(trace)
    await setup.survives("P-17", connection)
    told = (EvidenceItem("the client closed the call's stream without a cancel", at - trace.sent_at),)
    since = seen.cancel + judging.settling(control)
    on = [beat for beat in seen.beats if beat > since]
    expected = [beat for beat in control.beats if beat > since]
    if len(expected) < judging.SOME:
        text = f"nothing shows whether the work goes on: {judging.HEARTBEAT}"
        return [Finding("P-17", Verdict.NOT_OBSERVABLE, text, told)]
    if len(on) >= judging.SOME:
        text = f"the work went on for {on[-1] - seen.cancel:.2f} s after the disconnect"
        return [Finding("P-17", Verdict.PASS, text, told)]
    return [Finding("P-17", Verdict.WARNING, "the work stopped at the disconnect", told)]


async def notified_over_http(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-19: in 2026-07-28 over HTTP only the closing of the stream cancels."""
    _, control = setup.work
    trace = await setup.begin(connection)
    await connection.quiet(trace.sent_at + setup.mid)
    at = trace.cancel_at = connection.now()
    connection.notify(CANCELLED, {"requestId": trace.id, "reason": REASON})
    heard = await trace.answered(trace.sent_at + setup.end(setup.mid) + 1.0)
    told = [EvidenceItem("notifications/cancelled was POSTed", at - trace.sent_at)]
    told += connection.refused()[:1]
    if heard is not None:
        told.append(trace.evidence(heard))
    await setup.survives("P-19", connection)
    if heard is not None and heard.kind == "result":
        return [Finding("P-19", Verdict.PASS, "it had no effect: the result came", tuple(told))]
    if control.duration is None:
        return [Finding("P-19", Verdict.NOT_OBSERVABLE, "the tool did not end by itself", tuple(told))]
    came = "no result came" if heard is None else f"error {heard.code} came in place of the result"
    return [Finding("P-19", Verdict.WARNING, f"it took effect: {came}", tuple(told))]


async def session_deleted(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-28: the last experiment over HTTP, because a whole server may die of it."""
    transport = connection.transport
    assert transport is not None
    trace = await setup.begin(connection) if setup.busy else None
    if trace is not None:
        await connection.quiet(trace.sent_at + setup.mid)
        trace.cancel_at = connection.now()
    at = connection.now()
    status: int | None = None
    try:
        async with asyncio.timeout(5.0):
            status = await transport.end_session()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] - HTTP's alone
    except TimeoutError:
        pass
    answer = "DELETE got no answer" if status is None else f"DELETE got HTTP {status}"
    told = [EvidenceItem(answer, None if trace is None else at - trace.sent_at)]
    became = ""
    if trace is not None:
        heard = await trace.answered(trace.sent_at + setup.end(setup.mid))
        ended = connection.streams_ended.get(trace.id)
        if heard is not None:
            told.append(trace.evidence(heard))
            became = f"; the call was answered with {heard.words} after {heard.at - at:.2f} s"
        elif ended is not None:
            became = f"; the call's stream ended without a response after {ended - at:.2f} s"
        else:
            became = "; the call got no response and its stream stayed open"
    other = setup.connect("after DELETE")
    try:
        await other.open()
        next_ = await setup.next_call(other)
    except TransportError as error:
        next_ = Next(False, str(error))
    finally:
        await other.close()
    if not next_.works:
        found = judging.following("P-28", next_, setup.control, what="a call in a new session")
        text = f"{answer}{became}; {found.sentence}"
        return [replace(found, sentence=text, evidence=(*told, *found.evidence))]
    if status is None or status >= 500:
        return [Finding("P-28", Verdict.WARNING, f"{answer}{became}", tuple(told))]
    return [Finding("P-28", Verdict.PASS, f"{answer}{became}; a new session works", tuple(told))]
