"""Experiments with calls that are cancelled rightly: mid-work, at once, at the end, by a timeout, beside another."""

from __future__ import annotations

import asyncio

from mcp_tui.probe import judging
from mcp_tui.probe.connection import ProbeConnection, Trace
from mcp_tui.probe.judging import Next
from mcp_tui.probe.report import Evidence, Finding, Verdict
from mcp_tui.probe.setup import REASON, Setup
from mcp_tui.protocol import events as ev
from mcp_tui.protocol.ledger import CancelOutcome


async def _begin(connection: ProbeConnection, setup: Setup, *, limits: ev.Limits | None = None) -> Trace:
    trace = setup.call(connection) if limits is None else setup.call(connection, limits=limits)
    await trace.written()
    return trace


async def _until(trace: Trace, offset: float) -> None:
    """Wait until so many seconds after a call; not beyond the end of its connection."""
    connection = trace.connection
    await connection.until(lambda: connection.ended is not None, trace.sent_at + offset)


async def _cancel(trace: Trace) -> float:
    """Cancel a call; the moment at which that was."""
    at = trace.connection.now()
    trace.connection.client.cancel(trace.id, reason=REASON)
    await asyncio.sleep(0)
    return at if trace.row.cancel_at is None else trace.row.cancel_at


async def mid_work(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-01 to P-04 and P-18: cancelled in the middle of its work."""
    _, control = setup.work
    trace = await _begin(connection, setup)
    await _until(trace, setup.mid)
    cancel_at = await _cancel(trace)
    await setup.watch(trace, trace.sent_at + setup.end(setup.mid))
    seen = setup.seen(trace, cancel_at)
    next_ = await setup.next_call(connection, tool=True)
    found = [
        judging.response("P-01", seen, setup.level("P-01")),
        judging.progress("P-02", seen, control, setup.level("P-02")),
        judging.work("P-03", seen, control),
        judging.following("P-04", next_, control),
    ]
    if setup.modern_http:
        found.append(_closing(found[2]))
    return found


def _closing(work: Finding) -> Finding:
    """P-18 by P-03: the closing of the stream must be taken for a cancel, by which the work should stop."""
    if work.verdict is Verdict.WARNING:
        text = f"{work.sentence}; whether the close was taken for a cancel cannot be told from outside"
        return Finding("P-18", Verdict.WARNING, text, work.evidence)
    return Finding("P-18", work.verdict, work.sentence, work.evidence)


async def at_once(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-05 and P-06: cancelled as soon as it was written."""
    _, control = setup.work
    trace = await _begin(connection, setup)
    cancel_at = await _cancel(trace)
    await setup.watch(trace, trace.sent_at + setup.end())
    seen = setup.seen(trace, cancel_at)
    next_ = await setup.next_call(connection)
    return [
        judging.nothing_more("P-05", seen, control, setup.level("P-05")),
        judging.following("P-06", next_, control),
    ]


async def at_completion(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-07: cancelled at the moment at which it should be done."""
    _, control = setup.work
    if control.duration is None:
        return [Finding("P-07", Verdict.NOT_OBSERVABLE, "the tool did not end by itself")]
    trace = await _begin(connection, setup)
    await connection.until(trace.over, trace.sent_at + control.duration - 0.005)
    at, crossed = connection.now(), "cancelled as it was about to answer"
    if connection.client.cancel(trace.id, reason=REASON) is CancelOutcome.ALREADY_DONE:
        crossed = "cancelled as it had just answered"
        if not connection.modern_http:
            connection.notify({"requestId": trace.id, "reason": REASON})
    await connection.until(lambda: connection.ended is not None, at + 0.5)
    told = [Evidence(crossed, at - trace.sent_at)]
    told += [trace.evidence(each, cancel_at=at) for each in trace.responses]
    next_ = await setup.next_call(connection)
    if not next_.works:
        return [judging.following("P-07", Next(False, next_.words, (*told, *next_.evidence)), control)]
    came = "its answer and the cancel crossed" if trace.responses else "it was cancelled just in time"
    return [Finding("P-07", Verdict.PASS, f"{came}; the next call was answered", tuple(told))]


async def timed_out(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-16: the client's own clock runs out."""
    _, control = setup.work
    trace = await _begin(connection, setup, limits=ev.Limits(timeout=None, max_timeout=setup.mid))
    await connection.until(
        lambda: not trace.row.open or connection.ended is not None, trace.sent_at + setup.mid + 2.0
    )
    cancel_at = connection.now() if trace.row.cancel_at is None else trace.row.cancel_at
    await setup.watch(trace, trace.sent_at + setup.end(setup.mid))
    seen = setup.seen(trace, cancel_at)
    next_ = await setup.next_call(connection)
    if not next_.works:
        return [judging.following("P-16", next_, control)]
    return [judging.nothing_more("P-16", seen, control, setup.level("P-16"))]


async def two_in_flight(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-14: the call that nobody cancelled answers as if nothing had happened."""
    _, control = setup.work
    cancelled, kept = await _begin(connection, setup), await _begin(connection, setup)
    await _until(cancelled, setup.mid)
    at = await _cancel(cancelled)
    told = [Evidence("the first of two calls was cancelled", at - kept.sent_at)]
    if control.duration is None:
        await _until(kept, setup.end())
        if connection.ended is None:
            why = "the tool does not end by itself, so the other call has nothing to show"
            return [Finding("P-14", Verdict.NOT_OBSERVABLE, why)]
        heard = None
    else:  # a server that works on one thing at a time needs the time of both
        heard = await kept.answered(kept.sent_at + 2 * control.length + 3.0)
    if heard is None:
        return [
            judging.following(
                "P-14",
                Next(False, kept.waited(), tuple(told)),
                control,
                what="the call beside the cancelled one",
            )
        ]
    told.append(kept.evidence(heard))
    if heard.kind == "error":
        text = f"the call beside the cancelled one failed with error {heard.code}"
        return [Finding("P-14", Verdict.FAIL, text, tuple(told))]
    next_ = await setup.next_call(connection)
    if not next_.works:
        return [judging.following("P-14", next_, control)]
    text = f"the other call was answered after {heard.at - kept.sent_at:.2f} s"
    return [Finding("P-14", Verdict.PASS, text, tuple(told))]


async def disconnected(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-17: over HTTP until 2025-11-25 the end of a stream says nothing, so the work goes on."""
    _, control = setup.work
    trace = await _begin(connection, setup)
    await _until(trace, setup.mid)
    at = connection.now()
    if connection.client.transport is not None:
        connection.client.transport.release(trace.id)
    await _until(trace, setup.end(setup.mid))
    seen = setup.seen(trace, at)
    next_ = await setup.next_call(connection)
    told = (Evidence("the call's stream was closed by the client, without a cancel", at - trace.sent_at),)
    if not next_.works:
        return [judging.following("P-17", next_, control)]
    since = seen.cancel + judging.settling(control)
    on = [beat for beat in seen.beats if beat > since]
    expected = [beat for beat in control.beats if beat > since]
    if len(expected) < judging.SOME:
        text = f"nothing shows whether the work goes on: {judging.HEARTBEAT}"
        return [Finding("P-17", Verdict.NOT_OBSERVABLE, text, told)]
    if len(on) >= judging.SOME:
        text = f"the work went on for {on[-1] - seen.cancel:.2f} s after the disconnect"
        return [Finding("P-17", Verdict.PASS, text, told)]
    return [Finding("P-17", Verdict.WARNING, "the work stopped with the disconnect", told)]


async def notified_over_http(connection: ProbeConnection, setup: Setup) -> list[Finding]:
    """P-19: in 2026-07-28 over HTTP only the closing of the stream cancels."""
    _, control = setup.work
    trace = await _begin(connection, setup)
    await _until(trace, setup.mid)
    at = connection.now()
    connection.notify({"requestId": trace.id, "reason": REASON})
    heard = await trace.answered(trace.sent_at + setup.end(setup.mid) + 1.0)
    told = [Evidence("notifications/cancelled was POSTed", at - trace.sent_at)]
    told += [Evidence(f"its POST: {each}") for each in connection.refusals[:1]]
    if heard is not None:
        told.append(trace.evidence(heard, cancel_at=at))
    next_ = await setup.next_call(connection)
    if not next_.works:
        return [judging.following("P-19", next_, control)]
    if heard is not None and heard.kind == "result":
        return [Finding("P-19", Verdict.PASS, "it had no effect: the result came", tuple(told))]
    if control.duration is None:
        return [Finding("P-19", Verdict.NOT_OBSERVABLE, "the tool did not end by itself", tuple(told))]
    came = "no result came" if heard is None else f"error {heard.code} came in place of the result"
    return [Finding("P-19", Verdict.WARNING, f"it took effect: {came}", tuple(told))]
