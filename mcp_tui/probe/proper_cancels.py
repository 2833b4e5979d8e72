"""Experiments with calls that are cancelled rightly: mid-work, at once, at the end, by a timeout, as a task, …"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Final

from mcp_tui.probe import judging
from mcp_tui.probe.connection import CANCELLED, REASON, Arrival, Trace
from mcp_tui.probe.judging import Next, Observation
from mcp_tui.probe.report import EvidenceItem, Finding, Verdict
from mcp_tui.probe.tools import AIM
from mcp_tui.probe.trial import EXTENSION, MID, Trial
from mcp_tui.protocol import messages
from mcp_tui.protocol.messages import Json, as_object
from mcp_tui.protocol.revisions import LATEST_HANDSHAKE
from mcp_tui.transport.base import TransportError

AT_ONCE: Final = 0.03
"""Seconds between a call and its cancel: enough for a server to read the one before the other."""


async def mid_work(trial: Trial) -> None:
    """P-01 to P-04, P-18, P-24 and P-25: cancelled in the middle of its work."""
    trace, seen = await trial.cancelled_call(trial.mid)
    _posted(trial, trace)
    _stream(trial, trace)
    next_ = await trial.next_call(tool=True)
    work = judging.work("P-03", seen, trial.control)
    closing = await _closing(trial, seen, work) if trial.setup.modern_http else None
    if closing is not None and closing.verdict is Verdict.FAIL:
        text = "the close was not taken for a cancel (P-18), so the tool was never told to stop"
        work = Finding("P-03", Verdict.NOT_OBSERVABLE, text, work.evidence)
    trial.findings += [
        judging.response("P-01", seen, trial.level("P-01")),
        judging.progress("P-02", seen, trial.control, trial.level("P-02")),
        work,
        judging.following("P-04", next_, trial.control),
        *([] if closing is None else [closing]),
    ]


def _posted(trial: Trial, trace: Trace) -> None:
    """P-25: the POST of the cancel is accepted, and not only when the tool has ended."""
    connection, control = trial.connection, trial.control
    cancel_at = trace.cancel_at or 0.0
    if connection.refusals:
        told = tuple(EvidenceItem(f"the POST of the cancel: {each}") for each in connection.refusals)
        text = f"the cancel was refused: {connection.refusals[0]}"
        trial.findings.append(Finding("P-25", Verdict.WARNING, text, told))
    elif trace.over() and trace.responses and trace.responses[0].at < cancel_at:
        trial.found("P-25", Verdict.NOT_OBSERVABLE, "the call ended before the cancel")
    elif connection.accepted_at:
        took = connection.accepted_at[0] - cancel_at
        left = control.length - (cancel_at - trace.sent_at)
        if took > max(judging.TRANSIT, judging.END * left):
            text = f"the POST of the cancel was answered after {took:.2f} s, when the tool had ended"
            trial.found("P-25", Verdict.WARNING, text)
        else:
            trial.found("P-25", Verdict.PASS, f"the POST of the cancel was accepted after {took:.2f} s")
    elif connection.ended is not None:
        trial.found("P-25", Verdict.NOT_OBSERVABLE, connection.ended.detail)
    else:
        text = f"the POST of the cancel was not answered for {connection.now() - cancel_at:.1f} s"
        trial.found("P-25", Verdict.WARNING, text)


def _stream(trial: Trial, trace: Trace) -> None:
    """P-24: the call's own POST does not stay open for ever."""
    ended = trial.connection.streams_ended.get(trace.id)
    cancel_at = trace.cancel_at or 0.0
    if ended is None:
        waited = trial.connection.now() - cancel_at
        text = f"the stream of the call was still open {waited:.1f} s after the cancel"
        trial.found("P-24", Verdict.WARNING, text)
    else:
        trial.found("P-24", Verdict.PASS, f"the stream ended {ended - cancel_at:.2f} s after the cancel")


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
    connection = trial.setup.connect("P-18 in the handshake era")
    connection.peer = replace(connection.peer, revision=LATEST_HANDSHAKE, meta={})
    try:
        await connection.open()
        _, again = await Trial(trial.setup, connection).cancelled_call(trial.mid)
        other = judging.work("P-18", again, trial.control)
    except TransportError:
        text = f"{broken}, as in the uncancelled run"
        return replace(found, verdict=Verdict.FAIL, sentence=text)
    finally:
        await connection.close()
    if other.verdict is Verdict.WARNING:
        text = "the tool runs on whatever cancels it, so it cannot be told what the server makes of the close"
        return replace(found, verdict=Verdict.NOT_OBSERVABLE, sentence=text)
    text = f"{broken}; a notification in {LATEST_HANDSHAKE.name} stops the same tool"
    return Finding("P-18", Verdict.FAIL, text, (*work.evidence, *other.evidence))


async def at_once(trial: Trial) -> None:
    """P-05 and P-06: cancelled as soon as the server can have read it."""
    _, seen = await trial.cancelled_call(AT_ONCE)
    next_ = await trial.next_call()
    trial.findings += [_nothing_more(trial, "P-05", seen), judging.following("P-06", next_, trial.control)]


def _nothing_more(trial: Trial, rule: str, seen: Observation) -> Finding:
    return judging.nothing_more(rule, seen, trial.control, trial.level(rule))


async def in_one_write(trial: Trial) -> None:
    """P-27: a server that reads both at once may look for the call before it has entered it."""
    choice, connection = trial.choice, trial.connection
    trace = connection.in_one_write(choice.name, choice.arguments)
    trial.setup.called(trace, choice.name, choice.arguments)
    behind = connection.echo()
    await trial.watch(trace, trace.sent_at + trial.end())
    seen = trial.seen(trace, behind)
    if await trial.survives("P-27"):
        trial.findings.append(_nothing_more(trial, "P-27", seen))


async def at_completion(trial: Trial) -> None:
    """P-07: cancelled at the moment at which it should be done."""
    duration, connection = trial.control.duration, trial.connection
    if duration is None:
        trial.found("P-07", Verdict.NOT_OBSERVABLE, "the tool did not end by itself")
        return
    trace = await trial.begin()
    await connection.until(trace.over, trace.sent_at + duration - 0.005)
    crossed = "cancelled just after its answer" if trace.responses else "cancelled just before its answer"
    at = connection.cancel(trace)
    await connection.quiet(at + 0.5)
    trial.tell(crossed, at - trace.sent_at)
    trial.told += [trace.evidence(each) for each in trace.responses]
    came = "its answer and the cancel crossed" if trace.responses else "it was cancelled just in time"
    if await trial.survives("P-07"):
        trial.found("P-07", Verdict.PASS, f"{came}; the next call was answered")


async def timed_out(trial: Trial) -> None:
    """P-16: the signal of a client whose own clock runs out."""
    _, seen = await trial.cancelled_call(trial.mid, f"timed out after {trial.mid:g} s")
    if await trial.survives("P-16"):
        trial.findings.append(_nothing_more(trial, "P-16", seen))


async def id_zero(trial: Trial) -> None:
    """P-23: judged only where another id shows that a cancel has an effect at all."""
    if Verdict.PASS not in (trial.setup.verdict("P-01"), trial.setup.verdict("P-03")):
        text = "the cancel of another id has no visible effect either"
        trial.found("P-23", Verdict.NOT_OBSERVABLE, text)
        return
    _, seen = await trial.cancelled_call(trial.mid, id=0)
    # the heartbeat is that of all experiments that run side by side
    seen, control = replace(seen, beats=()), replace(trial.control, beats=())
    ran = judging.ran_to_end(seen, control)
    if not ran and judging.work("P-23", seen, control).verdict is Verdict.WARNING:
        ran = "the work went on"
    if not (seen.early or ran or await trial.survives("P-23")):
        return
    answers = [] if seen.early else [each.evidence for each in seen.answers]
    trial.told += answers or seen.quotes
    if seen.early:
        text = f"the call with the id 0 was answered with {seen.early}"
        trial.found("P-23", Verdict.NOT_OBSERVABLE, text)
    elif ran:
        trial.found("P-23", Verdict.WARNING, f"the cancel of id 0 had no effect: {ran}")
    else:
        trial.found("P-23", Verdict.PASS, "the cancel of id 0 had the effect that any other has")


async def two_in_flight(trial: Trial) -> None:
    """P-14: the call that nobody cancelled answers as if nothing had happened."""
    connection, control = trial.connection, trial.control
    cancelled, other = await trial.begin(), await trial.begin()
    await trial.cancel(cancelled, trial.mid)
    at = cancelled.cancel_at or 0.0
    if control.duration is None:
        await connection.quiet(other.sent_at + trial.end())
        if connection.ended is None:
            why = "the tool does not end by itself, so the other call has nothing to show"
            trial.found("P-14", Verdict.NOT_OBSERVABLE, why)
            return
        heard = None
    else:  # a server that works on one thing at a time needs the time of both
        heard = await other.answered(other.sent_at + 2 * control.length + 3.0)
    trial.tell("the first of two calls was cancelled", at - other.sent_at)
    what = "the call beside the cancelled one"
    if heard is None:
        next_ = Next(False, other.waited(), tuple(trial.told))
        trial.findings.append(judging.following("P-14", next_, control, what=what))
        return
    trial.told.append(other.evidence(heard))
    if heard.kind == "error":
        trial.found("P-14", Verdict.FAIL, f"{what} failed with error {heard.code}")
    elif await trial.survives("P-14"):
        after = heard.at - other.sent_at
        trial.found("P-14", Verdict.PASS, f"the other call was answered after {after:.2f} s")


async def disconnected(trial: Trial) -> None:
    """P-17: over HTTP until 2025-11-25 the end of a stream says nothing, so the work goes on."""
    connection, control = trial.connection, trial.control
    trace, at = await trial.halfway()
    trace.closed_stream = True
    assert connection.transport is not None
    connection.transport.release(trace.id)
    await connection.quiet(trace.sent_at + trial.end(trial.mid))
    seen = trial.seen(trace)
    if not await trial.survives("P-17"):
        return
    trial.tell("the client closed the call's stream without a cancel", at - trace.sent_at)
    since = seen.cancel + judging.settling(control)
    on = [beat for beat in seen.beats if beat > since]
    if sum(beat > since for beat in control.beats) < judging.SOME:
        text = f"nothing shows whether the work goes on: {judging.HEARTBEAT}"
        trial.found("P-17", Verdict.NOT_OBSERVABLE, text)
    elif len(on) >= judging.SOME:
        text = f"the work went on for {on[-1] - seen.cancel:.2f} s after the disconnect"
        trial.found("P-17", Verdict.PASS, text)
    else:
        trial.found("P-17", Verdict.WARNING, "the work stopped at the disconnect")


async def notified_over_http(trial: Trial) -> None:
    """P-19: in 2026-07-28 over HTTP only the closing of the stream cancels."""
    connection = trial.connection
    trace, at = await trial.halfway()
    connection.notify(CANCELLED, {"requestId": trace.id, "reason": REASON})
    heard = await trace.answered(trace.sent_at + trial.end(trial.mid) + 1.0)
    trial.tell("notifications/cancelled was POSTed", at - trace.sent_at)
    trial.told += connection.refused()[:1]
    if heard is not None:
        trial.told.append(trace.evidence(heard))
    if not await trial.survives("P-19"):
        return
    if heard is not None and heard.kind == "result":
        trial.found("P-19", Verdict.PASS, "it had no effect: the result came")
    elif trial.control.duration is None:
        trial.found("P-19", Verdict.NOT_OBSERVABLE, "the tool did not end by itself")
    else:
        came = "no result came" if heard is None else f"error {heard.code} came in place of the result"
        trial.found("P-19", Verdict.WARNING, f"it took effect: {came}")


async def session_deleted(trial: Trial) -> None:
    """P-28: the last experiment over HTTP, because a whole server may die of it."""
    setup, connection = trial.setup, trial.connection
    transport = connection.transport
    assert transport is not None
    trace = (await trial.halfway())[0] if setup.busy else None
    at = connection.now()
    status: int | None = None
    try:
        async with asyncio.timeout(5.0):
            status = await transport.end_session()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] - HTTP's alone
    except TimeoutError:
        pass
    text = "DELETE got no answer" if status is None else f"DELETE got HTTP {status}"
    trial.tell(text, None if trace is None else at - trace.sent_at)
    if trace is not None:
        heard = await trace.answered(trace.sent_at + trial.end(trial.mid))
        ended = connection.streams_ended.get(trace.id)
        if heard is not None:
            trial.told.append(trace.evidence(heard))
            text += f"; the call was answered with {heard.words} after {heard.at - at:.2f} s"
        elif ended is not None:
            text += f"; the call's stream ended without a response after {ended - at:.2f} s"
        else:
            text += "; the call got no response and its stream stayed open"
    other = setup.connect("after DELETE")
    try:
        await other.open()
        next_ = await Trial(setup, other).next_call()
    except TransportError as error:
        next_ = Next(False, str(error))
    finally:
        await other.close()
    if not next_.works:
        found = judging.following("P-28", next_, setup.control, what="a call in a new session")
        told = (*trial.told, *found.evidence)
        trial.findings.append(replace(found, sentence=f"{text}; {found.sentence}", evidence=told))
    elif status is None or status >= 500:
        trial.found("P-28", Verdict.WARNING, text)
    else:
        trial.found("P-28", Verdict.PASS, f"{text}; a new session works")


# -- tasks -----------------------------------------------------------------------------------------------------

SOON: Final = 0.2
"""Seconds after which a task is cancelled of which nobody knows how long it takes."""

_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"


async def _ask(trial: Trial, method: str, params: dict[str, Json]) -> tuple[Arrival | None, dict[str, Json]]:
    """Send a request about a task; its response, which is told, and the result of it."""
    if trial.setup.revision.modern:
        params = {**params, "_meta": {_CAPABILITIES: {"extensions": {EXTENSION: {}}}}}
    trace = trial.connection.request(method, params)
    heard = await trace.answered(trial.connection.now() + trial.setup.patience)
    words = "no answer" if heard is None else heard.words
    trial.tell(f"{method}: {words}", None, "" if heard is None else heard.frame)
    return heard, {} if heard is None else heard.result


async def tasks_cancel(trial: Trial) -> None:
    """P-20: a call that runs as a task is cancelled by ``tasks/cancel``."""
    trial.found("P-20", *await _task(trial))


async def _task(trial: Trial) -> tuple[Verdict, str]:
    setup, modern = trial.setup, trial.setup.revision.modern
    choice = (setup.choice or setup.task) if modern else setup.task
    if choice is None:
        return Verdict.NOT_OBSERVABLE, "it takes a slow tool, and none was found"
    # how long a tool takes that was never run without a task nobody knows: then it is cancelled soon
    known = setup.control is not None and setup.choice == choice
    length = setup.length if known else AIM
    middle = MID * length if known else SOON
    params: dict[str, Json] = {"name": choice.name, "arguments": choice.arguments}
    if not modern:
        params["task"] = {"ttl": 60_000}
    setup.calls[choice.name, messages.text(choice.arguments)] += 1
    began = time.monotonic()
    heard, result = await _ask(trial, "tools/call", params)
    task = (result if modern else as_object(result.get("task"))).get("taskId")
    if heard is None or not isinstance(task, str):
        return Verdict.NOT_OBSERVABLE, "the call did not become a task"
    await asyncio.sleep(max(0.0, began + middle - time.monotonic()))
    if not known and await _is_over(trial, task):
        return Verdict.NOT_OBSERVABLE, "the task was over before it could be cancelled"
    heard, result = await _ask(trial, "tasks/cancel", {"taskId": task})
    if heard is None or heard.kind == "error":
        words = "no answer" if heard is None else heard.words
        if await _is_over(trial, task):
            return Verdict.NOT_OBSERVABLE, "the task was over before it could be cancelled"
        return Verdict.FAIL, f"tasks/cancel of a working task: {words}"
    status = result.get("status", "")
    if not modern and status != "cancelled":
        return Verdict.FAIL, f"tasks/cancel was answered with the status {status!r}"
    await asyncio.sleep(max(0.0, began + length + 0.5 - time.monotonic()))
    heard, result = await _ask(trial, "tasks/get", {"taskId": task})
    status = result.get("status", "")
    if heard is None or heard.kind == "error":
        return Verdict.NOT_OBSERVABLE, "the task is gone after its cancel"
    if status != "cancelled":
        bad = Verdict.WARNING if modern else Verdict.FAIL
        return bad, f"after its cancel the task became {status!r}"
    if not modern:
        heard, _ = await _ask(trial, "tasks/cancel", {"taskId": task})
        if heard is not None and heard.kind == "result":
            return Verdict.FAIL, "a task that was cancelled could be cancelled again"
    return Verdict.PASS, "the task was cancelled, and stayed so"


async def _is_over(trial: Trial, task: str) -> bool:
    _, result = await _ask(trial, "tasks/get", {"taskId": task})
    return result.get("status") in ("completed", "failed")
