"""Words about one run of a client: how it ended, and what was seen of a call and of its servers, in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mcp_tui.judge.harm import Sign, next_call
from mcp_tui.judge.observed_run import SIGNALS, ObservedCall, ObservedRun, signal_name
from mcp_tui.probe.report import EvidenceItem
from mcp_tui.protocol.events import Signal
from mcp_tui.protocol.messages import shown

EXACT_SECONDS: Final = 0.2
"""Seconds by which a time may be wrong that is told as exact."""


def not_called(seen: ObservedRun) -> str:
    """Returns why there was no call to be judged."""
    end = ended(seen)
    if not seen.servers and seen.transport == "stdio":
        return f"it did not start the server{end}"
    if not seen.requests:
        return f"it sent no request{end}"
    others = seen.tools or [each.tool for each in (*seen.calls, *seen.nexts)]
    if others and seen.tool not in others:
        other = others[0] if others[0].isidentifier() else shown(others[0])
        return f"it called {other} instead of {seen.tool}{end}"
    return f"it did not call {seen.tool or 'a tool'}{end}"


def ended(seen: ObservedRun) -> str:
    """Returns how the client ended, as the end of a sentence; empty where the judge ended it."""
    if seen.exit is None or seen.stopped:
        return ""
    if seen.exit < 0:
        return f", and was ended by {signal_name(-seen.exit)}"
    return f", and ended with status {seen.exit}"


def client_ended(seen: ObservedRun) -> str:
    """Returns that the client ended, with its status where that was seen."""
    return "the client ended" if seen.exit is None else f"the client ended (status {seen.exit})"


def crashed(seen: ObservedRun) -> bool:
    """Whether a signal ended the client that the judge did not send."""
    return seen.exit is not None and seen.exit < 0 and not seen.stopped and seen.experiment not in SIGNALS


def lag(call: ObservedCall) -> str:
    """Returns the seconds between a call and its cancel, as a range where both were read too late to be exact."""
    at = call.cancelled_at or call.at
    least = (call.cancelled_since or at) - call.at
    most = at - (call.since or call.at)
    if most - least > EXACT_SECONDS:
        return f"between {max(0.0, least):.1f} and {most:.1f} s"
    return f"{at - call.at:.2f} s"


def way(call: ObservedCall) -> str:
    """Returns how a call was cancelled."""
    words = {
        Signal.NOTIFICATION: "by notifications/cancelled",
        Signal.STREAM_CLOSED: "by closing its stream",
        Signal.TASKS_CANCEL: "by tasks/cancel",
    }
    return words.get(call.signal or Signal.NONE, "")


def given_up_after(seen: ObservedRun, call: ObservedCall) -> float | None:
    """Returns the seconds after which a call was seen to be given up."""
    sign = seen.sign(call)
    times = [each for each in (call.cancelled_at, None if sign is None else sign[0]) if each is not None]
    return min(times) - call.at if times else None


def went_on_before(seen: ObservedRun, call: ObservedCall, gone: float) -> bool:
    """Whether the client made its next call on the same connection, before it ended that."""
    return any(each.connection == call.connection and call.at < each.at < gone for each in seen.nexts)


def answered_before(seen: ObservedRun, call: ObservedCall, gone: float) -> bool:
    """Whether the client had its answer before it ended its connection and itself."""
    return call.answered_at is not None and call.answered_at < min(gone, seen.ended_at or gone)


def timeline(seen: ObservedRun, call: ObservedCall) -> Iterator[EvidenceItem]:
    """Yields what was seen of a call, in order."""
    marks: list[tuple[float, str]] = [(call.at, f"{call.tool} was called")]
    if call.cancelled_at is not None:
        told = f": {shown(call.reason)}" if call.reason is not None else ""
        marks.append((call.cancelled_at, f"cancelled {way(call)}{told}"))
    if (sign := seen.sign(call)) is not None:
        marks.append(sign)
    if (gone := seen.gone_at(call)) is not None:
        http = seen.transport == "http"
        marks.append((gone, "the client deleted its session" if http else "the client ended the server"))
    if call.closed_at is not None:
        marks.append((call.closed_at, "the client closed the stream of the call"))
    elif (answered := call.answered_at) is not None:
        if not any(call.at < at <= answered for at, _ in marks):
            marks.append((answered, "the judge answered"))
        elif seen.transport == "http":
            marks.append((answered, "the stream of the call was still open"))
    for at, what in sorted(marks):
        yield EvidenceItem(what, at - call.at)


def harmed_timeline(
    seen: ObservedRun, call: ObservedCall, what: str, found: list[Sign]
) -> list[EvidenceItem]:
    """Returns what was seen of a call and of its harm, in order; ``what`` is what the judge did."""
    items = [*timeline(seen, call), *(EvidenceItem(each.words, each.at - call.at) for each in found)]
    if seen.acted_at is not None:
        items.append(EvidenceItem(what, seen.acted_at - call.at))
    following = next_call(seen)
    if following is not None and following.answered_at is not None:
        items.append(
            EvidenceItem(f"its next call, {following.tool}, was answered", following.answered_at - call.at)
        )
    return sorted(items, key=lambda each: each.at or 0.0)


def ends(seen: ObservedRun) -> Iterator[EvidenceItem]:
    """Yields in order how each server ended, from what was done to the client or else from the start of the run."""
    since = seen.acted_at or seen.began
    marks = [] if seen.ended_at is None else [(seen.ended_at, client_ended(seen))]
    for each in seen.servers:
        if each.stdin_closed_at is not None:
            marks.append((each.stdin_closed_at, f"stdin of process {each.pid} was closed"))
        marks += [(at, f"process {each.pid} got {signal_name(number)}") for at, number in each.signals]
        if each.ended_at is not None and not each.left:
            marks.append((each.ended_at, f"process {each.pid} was killed"))
    for at, what in sorted(marks):
        yield EvidenceItem(what, at - since)
    for each in seen.servers:
        if each.left:
            yield EvidenceItem(f"process {each.pid} still ran when the judge looked last")
